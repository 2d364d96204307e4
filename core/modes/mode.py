"""What a mode is: a name, words for people, a deadline, choices, and how it turns a job into an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import get_args

from core.model.answer import AnswerFile, JobResult
from core.model.errors import InvalidQuery
from core.model.job import MAX_ROUNDS, Depth, ResearchRequest
from core.pipeline.work import Work
from core.text.saying import later, say

FilesOf = Callable[[JobResult], tuple[AnswerFile, ...]]


@dataclass(frozen=True)
class Mode:
    """`run` ends within `deadline_s`; it raises a `GorkdError` when the job has failed.

    One that `is_steerable` hears what people say to it while it runs (`read_steering`). `files` are those that its
    result has, `options` what can be chosen within it. One that `needs_files` is not to be asked for in words
    alone; one that `needs_model` fails without a language model.
    """

    name: str
    title: str
    description: str
    deadline_s: float
    run: Callable[[Work], Awaitable[JobResult]] = field(repr=False)
    is_steerable: bool = False
    files: FilesOf = field(default=lambda result: (), repr=False)
    options: tuple[Option, ...] = ()
    needs_files: bool = False
    needs_model: bool = False


# What can be chosen within a mode: its words, its bounds and its default, for every interface


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
            told = "{name} must be a number from {least} to {most}."
            said = say(told, name=self.name, least=self.least, most=self.most)
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
        said = say("{name} must be {one} or {other}.", name=self.name, one=self.choices[0], other=self.choices[1])
        raise InvalidQuery(said, rule=self.name)


@dataclass(frozen=True)
class WordsOption:
    """Free words, or yes and no."""

    name: str
    title: str
    description: str


Option = NumberOption | DepthOption

TOP_K = NumberOption("top_k", later("Results"), later("How many results to list"), 1, MAX_ITEMS, ResearchRequest.top_k)
DEPTH = DepthOption(
    "depth", later("Depth"), later("deep searches in more rounds and reads more pages"), ResearchRequest.depth
)  # S004-04
ROUNDS = NumberOption(
    "max_iterations", later("Rounds"), later("How many rounds at most"), 1, MAX_ROUNDS, ResearchRequest.max_iterations
)
MODE = WordsOption("mode", later("Mode"), later("How to research it; several can be chosen and run at once"))
CONTEXT = WordsOption("context", later("Context"), later("What the question is about, or for whom"))
PRIVATE = WordsOption("private", later("Private"), later("Only you see the answer; you can share it later"))
FRESH = WordsOption("fresh", later("Fresh"), later("Do not repeat an earlier answer"))

# Everything that can be said besides the question, on every interface.
ASKED = (MODE, DEPTH, TOP_K, ROUNDS, CONTEXT, PRIVATE, FRESH)
