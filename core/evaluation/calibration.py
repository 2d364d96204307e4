"""How often High, Medium and Low were right, told by people's votes and by evaluations, with how sure that is.

A few answers say little: each share has its interval, and below `MIN_JUDGED` no share is told at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Literal, Protocol

from core.model.answer import Confidence
from core.model.job import ResearchJob

LEVELS = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)
MIN_JUDGED = 10  # by judgement: the interval of 10 of 10 still reaches down to 72 %
Z_95 = 1.959964  # of the normal distribution, two-sided 95 %
Origin = Literal["votes", "evaluations"]


@dataclass(frozen=True)
class JudgedAnswers:
    """Of the answers of one level, so many were judged, so many of them right."""

    level: Confidence
    origin: Origin
    right: int
    judged: int


@dataclass(frozen=True)
class CalibrationRow:
    """`share` and the interval from `low` to `high` are 0…1, None where too few were judged to say anything."""

    level: Confidence
    right: int
    judged: int
    share: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def says(self) -> str:
        if self.share is None or self.low is None or self.high is None:
            return f"too few to say: {self.judged} of at least {MIN_JUDGED}"
        return f"{self.share:.0%} of {self.judged} right (95 %: {self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True)
class Grade:
    """Whether an evaluation found an answer right. `key` names the case of a run, and tells nothing of its question.

    `job_id` is the job that the question was taken from, with which the grade goes; "" for a question of a file.
    """

    key: str
    level: Confidence
    is_right: bool
    job_id: str = ""


@dataclass(frozen=True)
class VotedCase:
    """A question that somebody made a test of a bad answer; `must` is what a good one says, "" where nobody said."""

    job_id: str
    must: str
    at: datetime


class EvaluationStore(Protocol):
    """Questions made of votes, which go with their jobs, and what evaluations found. Raises `StoreError`."""

    async def put_case(self, job: ResearchJob, case: VotedCase) -> None:
        """Add or replace. Raises `JobNotFound`."""
        ...

    async def drop_case(self, job_id: str) -> None: ...

    async def cases(self, tenant: str) -> list[VotedCase]:
        """Of one tenant, "" for all, oldest first."""
        ...

    async def votes(self, job_id: str) -> tuple[int, int]:
        """Good and bad ones."""
        ...

    async def put_grades(self, grades: Sequence[Grade], at: datetime) -> None:
        """Each in place of an earlier one of its key; none of a job that is no longer kept."""
        ...

    async def judged(self, tenant: str) -> list[JudgedAnswers]:
        """By level and origin. Votes are of one tenant, "" for all; evaluations are nobody's, and only among all."""
        ...


def wilson(right: int, judged: int) -> tuple[float, float]:
    """The 95 % interval of a share, 0…1. Raises `ValueError` unless 0 ≤ right ≤ judged and judged > 0.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927), 209–212.
    """
    if not 0 <= right <= judged or not judged:
        raise ValueError(f"{right} of {judged}")
    share, spread = right / judged, Z_95**2 / judged
    middle = (share + spread / 2) / (1 + spread)
    half = Z_95 / (1 + spread) * sqrt(share * (1 - share) / judged + spread / (4 * judged))
    # Rounding apart it holds the share.
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def calibration(judged: Iterable[JudgedAnswers], *origins: Origin) -> list[CalibrationRow]:
    """A row for High, Medium and Low, of what these origins told; of all of them where none is named."""
    wanted = [one for one in judged if not origins or one.origin in origins]
    rows = []
    for level in LEVELS:
        right = sum(one.right for one in wanted if one.level is level)
        count = sum(one.judged for one in wanted if one.level is level)
        if count < MIN_JUDGED:
            rows.append(CalibrationRow(level, right, count))
        else:
            rows.append(CalibrationRow(level, right, count, right / count, *wilson(right, count)))
    return rows
