"""A claim and the text it is checked against, as every rule sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from core.verification.alignment import Alignment, align
from core.verification.reading import Reading, read


@dataclass(frozen=True)
class Pair:
    """`window` is the 1–3 sentences nearest the claim; `wider` is all that may be drawn on, `window` included."""

    claim: Reading
    window: Reading
    wider: Reading

    @cached_property
    def alignment(self) -> Alignment:
        return align(self.claim.text, self.window.text)


def pair(claim: str, window: str, wider: str) -> Pair:
    return Pair(read(claim), read(window), read(wider))
