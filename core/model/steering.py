"""What people say to a job that is running: add this, drop that, go deeper, answer now.

Kept with the job, so that whoever runs it next knows it too; read between its rounds (core/deep).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import regex

from core.presentation.render import one_line

SteeringKind = Literal["add_item", "drop_item", "go_deeper", "answer_now", "constraint", "cancel"]
MAX_STEERING_CHARS = 500  # a wish, not an essay: it goes into every prompt of the rounds to come
MAX_STEERINGS = 50  # of one job


@dataclass(frozen=True)
class Steering:
    """One thing said to a job. `text` names the item to add or to drop (its number or words) or is the constraint."""

    kind: SteeringKind
    text: str = ""


class SteeringStore(Protocol):
    """What was said to each job, in order. Each method raises `StoreError`."""

    async def add(self, job_id: str, steering: Steering) -> int:
        """Keep it behind what was said before; its number, from 1. Raises `StoreError` when the job is not stored."""
        ...

    async def read(self, job_id: str, *, after: int = 0) -> list[Steering]:
        """Everything said after number `after`."""
        ...


def read_steering(words: str) -> Steering:
    """What somebody means who writes `words` to a running job: a command by its first words, else a constraint."""
    text = one_line(words)[:MAX_STEERING_CHARS]
    for pattern, kind in _COMMANDS:
        match = pattern.fullmatch(text)
        if match:
            return Steering(kind, (match.groupdict().get("text") or "").strip(" .\"'“”"))
    return Steering("constraint", text)


_END = r"[\s.!]*"
_COMMANDS: tuple[tuple[regex.Pattern[str], SteeringKind], ...] = (
    (regex.compile(r"(?:please )?(?:also )?add(?: an?)?(?: item| point)?\s*:?\s+(?P<text>.+)", regex.I), "add_item"),
    (regex.compile(r"(?:please )?(?:drop|remove|skip)(?: item| point)?\s*:?\s*#?(?P<text>.+)", regex.I), "drop_item"),
    (regex.compile(rf"(?:please )?(?:go |dig )?deeper{_END}", regex.I), "go_deeper"),
    (regex.compile(rf"(?:please )?(?:answer|finish|wrap up)(?: it)?(?: now)?{_END}", regex.I), "answer_now"),
    (regex.compile(rf"(?:please )?(?:cancel|stop)(?: it)?{_END}", regex.I), "cancel"),
)
