"""A claim and the text it is checked against, as every rule sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import regex

from core.evidence.alignment import Alignment, align
from core.evidence.words import Reading, read

_LINE_END = regex.compile(r"(?<![,;:\-–])\n(?=\p{Lu})")  # a heading, a caption or a date has no full stop
CLOSE = 0.7  # share of the claim's plain words that stand in order beside it; by judgement


@dataclass(frozen=True)
class Pair:
    """`window` is the 1–3 sentences nearest the claim; `wider` is all that may be drawn on, `window` included.

    `beside` is what the claim is laid beside word by word: one sentence of the window where the claim
    keeps its wording, else the whole window. `home` is the one sentence of the window that has most of the
    claim's words, in whatever order.
    """

    claim: Reading
    beside: Reading
    home: Reading
    window: Reading
    wider: Reading

    @cached_property
    def alignment(self) -> Alignment:
        return align(self.claim.text, self.beside.text)

    @cached_property
    def at_home(self) -> Alignment:
        """The claim laid beside its home."""
        return align(self.claim.text, self.home.text)

    @cached_property
    def is_close(self) -> bool:
        """Whether the claim keeps the wording beside it, so that a word in another's place says something else."""
        return _is_close(self.alignment)


def make_pair(claim: str, sentences: list[str], wider: str) -> Pair:
    """`sentences` are those of the window, in order; at least one."""
    window = "\n".join(sentences)
    nearest = max(sentences, key=lambda sentence: align(claim, sentence).matched)
    beside = nearest if _is_close(align(claim, nearest)) else window
    return Pair(read(claim), read(beside), read(_home(claim, sentences, window)), read(window), read(wider))


def _home(claim: str, sentences: list[str], window: str) -> str:
    """The whole window where the claim stands in it word for word, however that was cut into sentences."""
    if " ".join(claim.split()).rstrip(".") in " ".join(window.split()):
        return window
    lines = [line for sentence in sentences for line in _LINE_END.split(sentence)]
    return max(lines, key=lambda line: (_found(read(claim), read(line)), align(claim, line).matched))


def _found(claim: Reading, text: Reading) -> float:
    return sum(text.match(word) for word in claim.content)


def _is_close(alignment: Alignment) -> bool:
    return max(alignment.matched, alignment.matched_words) >= CLOSE
