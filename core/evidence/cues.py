"""Small words that decide what a sentence claims, in the languages that the rules know; negations are in core/text.

`cues.txt` has a line for each class and language: `_` stands for a blank, `*` for any ending.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib.resources import files

import regex


class Cue(Enum):
    """What the words do to their sentence."""

    HEDGE = "hedge"
    SAID = "said"
    DENIED = "denied"
    SOME = "some"
    MOST = "most"
    ALL = "all"
    ONLY = "only"
    CONDITION = "condition"
    LIMIT = "limit"
    ABOVE = "above"
    BELOW = "below"
    BACK = "back"  # points to what was named before
    CONNECTIVE = "connective"  # joins a sentence to the one before it
    FRAMING = "framing"  # in a heading: takes back or limits what stands under it

    def find(self, language: str, text: str) -> Iterator[regex.Match[str]]:
        """Where its words stand; nowhere in a language without a line."""
        pattern = _patterns().get((self.value, language))
        return pattern.finditer(text) if pattern else iter(())

    def end_at(self, language: str, text: str, start: int) -> int:
        """Where one of its words that begins at `start` ends; 0 where none does."""
        pattern = _patterns().get((self.value, language))
        match = pattern.match(text, start) if pattern else None
        return match.end() if match else 0

    def first(self, language: str, text: str) -> str:
        """The first of its words; "" where there is none."""
        return next((match.group() for match in self.find(language, text)), "")


@cache
def _patterns() -> dict[tuple[str, str], regex.Pattern[str]]:
    lines = files(__package__).joinpath("cues.txt").read_text(encoding="utf-8").splitlines()
    return {(cue, language): _pattern(words) for cue, language, *words in map(str.split, lines)}


def _pattern(words: list[str]) -> regex.Pattern[str]:
    escaped = sorted((regex.escape(word).replace("_", r"\s+").replace(r"\*", r"\p{L}*") for word in words), key=len)
    # "May" is a month; a sentence may begin with any of the others.
    return regex.compile(rf"(?<!\p{{L}})(?!(?-i:May)\b)(?:{'|'.join(escaped[::-1])})(?!\p{{L}})", regex.IGNORECASE)
