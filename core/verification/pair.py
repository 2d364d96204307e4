"""A claim and the text it is checked against, as every rule sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from core.verification.alignment import Alignment, align
from core.verification.reading import Reading, read

CLOSE = 0.7  # share of the claim's words that stand in order in the window; by judgement


@dataclass(frozen=True)
class Pair:
    """`window` is the 1–3 sentences nearest the claim; `wider` is all that may be drawn on, `window` included."""

    claim: Reading
    window: Reading
    wider: Reading

    @cached_property
    def alignment(self) -> Alignment:
        return align(self.claim.text, self.window.text)

    @cached_property
    def is_close(self) -> bool:
        """Whether the claim keeps the window's wording, so that a word in another's place says something else."""
        return self.alignment.matched >= CLOSE


def pair(claim: str, window: str, wider: str) -> Pair:
    return Pair(read(claim), read(window), read(wider))
