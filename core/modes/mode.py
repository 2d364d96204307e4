"""What a mode is: a name, words for people, a deadline, and how it turns a job into an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from core.model.answer import AnswerFile, JobResult
from core.modes.options import Option
from core.pipeline.work import Work

FilesOf = Callable[[JobResult], tuple[AnswerFile, ...]]


def no_files(result: JobResult) -> tuple[AnswerFile, ...]:
    return ()


@dataclass(frozen=True)
class Mode:
    """`run` ends within `deadline_s`; it raises a `GorkdError` when the job has failed.

    One that `is_steerable` hears what people say to it while it runs (core/model/steering.py). `files` are those that
    its result has, `options` what can be chosen within it. One that `needs_files` is not to be asked for in words
    alone; one that `needs_model` fails without a language model.
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
