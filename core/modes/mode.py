"""What a mode is: a name, words for people, a deadline, and how it turns a job into an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from core.answer import JobResult
from core.answer_files import AnswerFile
from core.deps import Deps
from core.job import ResearchJob
from core.modes.options import Option
from core.ports import Steps
from core.progress import Progress
from core.source import Source
from core.stages.gathering import Gathering


@dataclass(frozen=True)
class Deadline:
    """When a job must have ended, in the event loop's time (seconds)."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(asyncio.get_running_loop().time() + seconds)

    def remaining(self, *, reserve_s: float = 0.0) -> float:
        """Seconds left, less `reserve_s` for what must still be done afterwards; never below 0."""
        return max(0.0, self.ends_at - reserve_s - asyncio.get_running_loop().time())


@dataclass(frozen=True)
class Work:
    """One attempt at one job, as a mode sees it."""

    job: ResearchJob
    deps: Deps
    steps: Steps
    progress: Progress
    gathering: Gathering
    deadline: Deadline


FilesOf = Callable[[ResearchJob, JobResult, Sequence[Source]], tuple[AnswerFile, ...]]


def no_files(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> tuple[AnswerFile, ...]:
    return ()


@dataclass(frozen=True)
class Mode:
    """`run` ends within `deadline_s`; it raises a `GorkdError` when the job has failed.

    One that `is_steerable` hears what people say to it while it runs (core/steering.py). `files` are those that its
    result has, `options` what can be chosen within it. One that `needs_files` is not to be asked for in words alone;
    one that `needs_model` fails without a language model.
    """

    name: str
    title: str
    description: str
    deadline_s: float
    run: Callable[[Work], Awaitable[JobResult]] = field(repr=False)
    is_steerable: bool = False
    files: FilesOf = field(default=no_files, repr=False)
    options: tuple[Option, ...] = ()
    needs_files: bool = False
    needs_model: bool = False
