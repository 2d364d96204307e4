"""What can be chosen within a mode: its words, its bounds and its default, for every interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from core.model.errors import InvalidQuery
from core.model.job import MAX_ROUNDS, Depth, ResearchRequest

MAX_ITEMS = 20


@dataclass(frozen=True)
class NumberOption:
    """A whole number from `least` to `most`."""

    name: str
    title: str
    description: str
    least: int
    most: int
    default: int

    def read(self, text: str) -> int:
        """Raises `InvalidQuery`."""
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and self.least <= int(text) <= self.most):
            said = f"{self.name} must be a number from {self.least} to {self.most}."
            raise InvalidQuery(said, rule=self.name)
        return int(text)


@dataclass(frozen=True)
class DepthOption:
    name: str
    title: str
    description: str
    default: Depth

    @property
    def choices(self) -> tuple[Depth, ...]:
        return get_args(Depth)

    def read(self, text: str) -> Depth:
        """Raises `InvalidQuery`."""
        for choice in self.choices:
            if choice == text.strip().casefold():
                return choice
        raise InvalidQuery(f"{self.name} must be {' or '.join(self.choices)}.", rule=self.name)


@dataclass(frozen=True)
class WordsOption:
    """Free words, or yes and no."""

    name: str
    title: str
    description: str


Option = NumberOption | DepthOption

TOP_K = NumberOption("top_k", "Results", "How many results to list", 1, MAX_ITEMS, ResearchRequest.top_k)
DEPTH = DepthOption(
    "depth", "Depth", "deep searches in more rounds and reads more pages", ResearchRequest.depth
)  # S004-04
ROUNDS = NumberOption(
    "max_iterations", "Rounds", "How many rounds at most", 1, MAX_ROUNDS, ResearchRequest.max_iterations
)
MODE = WordsOption("mode", "Mode", "How to research it; several can be chosen and run at once")
CONTEXT = WordsOption("context", "Context", "What the question is about, or for whom")
PRIVATE = WordsOption("private", "Private", "Only you see the answer; you can share it later")
FRESH = WordsOption("fresh", "Fresh", "Do not repeat an earlier answer")

# Everything that can be said besides the question, on every interface.
ASKED = (MODE, DEPTH, TOP_K, ROUNDS, CONTEXT, PRIVATE, FRESH)
