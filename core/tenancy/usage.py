"""How gorkd is used: questions, how fast and how surely they were answered, what people thought, what it cost.

Counted from what is kept of jobs and votes, by tenant and by day (UTC) of the question; no question's text is among
it. What was forgotten, or is no longer kept, is not counted. How often High, Medium and Low were right is counted
here, too, with how sure that is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from math import sqrt
from typing import Literal, Protocol

from core.model.answer import Confidence, Rating
from core.model.job import ResearchJob
from core.presentation.render import csv_table, one_line
from core.text.saying import say

UsageKey = Literal["day", "tenant", "tenant and day"]
MAX_DAYS = 3_660  # of a period


@dataclass(frozen=True)
class Period:
    """Whole days, `first` and `last` among them. Raises `ValueError` unless it has 1…`MAX_DAYS` days."""

    first: date
    last: date

    def __post_init__(self) -> None:
        if not 1 <= self.days <= MAX_DAYS:
            raise ValueError(f"a period of {self.days} days")

    @classmethod
    def of_days(cls, days: int, *, now: datetime) -> Period:
        """Today and the days before it, `days` in all."""
        today = now.astimezone(UTC).date()
        return cls(today - timedelta(days=days - 1), today)

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def begins_at(self) -> datetime:
        return datetime.combine(self.first, time(), UTC)

    @property
    def ends_at(self) -> datetime:
        """The first moment after it."""
        return datetime.combine(self.last + timedelta(days=1), time(), UTC)


@dataclass(frozen=True)
class Usage:
    """Of one tenant ("" for all) on one day as an ISO date ("" for the whole period).

    `questions` are those that ended `answered`, `failed` or `cancelled`, and those still `running`. Of the answered,
    so many were given from the cache, and had which confidence. `good` and `bad` are votes on them. `cost_usd` is what
    the answers' model calls cost that were made for them, without those of questions that failed, and without the
    `unpriced` answers, whose model has no price. `p50_s` and `p95_s` are the median and the 95th percentile (nearest
    rank) of the answered ones' seconds, None where there is none.
    """

    tenant: str = ""
    day: str = ""
    questions: int = 0
    answered: int = 0
    failed: int = 0
    cancelled: int = 0
    running: int = 0
    cached: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0
    insufficient: int = 0
    good: int = 0
    bad: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    p50_s: float | None = None
    p95_s: float | None = None


# One entry a key with a question in it, by tenant, then day; of a tenant, "" for all of them. Raises `StoreError`.
CountUsage = Callable[[Period, str, UsageKey], Awaitable[list[Usage]]]


def days_of(period: Period, entries: Sequence[Usage]) -> list[Usage]:
    """One entry for every day of the period, in order, from entries by day."""
    known = {entry.day: entry for entry in entries}
    days = (f"{period.first + timedelta(days=number):%F}" for number in range(period.days))
    return [known.get(day) or Usage(day=day) for day in days]


def cost_words(entry: Usage) -> str:
    """`$0.012`, `over $0.012` where the price of some answers is not known, `unknown` where that of none is."""
    if entry.unpriced and not entry.cost_usd:
        return "unknown"
    return f"{'over ' if entry.unpriced else ''}${entry.cost_usd:.3f}"


def usage_csv(entries: Sequence[Usage]) -> str:
    """As `csv_table` gives it, a column for each field."""
    names = [one.name for one in fields(Usage)]
    return csv_table(names, ([_cell(getattr(entry, name)) for name in names] for entry in entries))


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


# How often High, Medium and Low were right, told by people's votes and by evaluations, with how sure that is


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
            return say("too few to say: {few} of at least {most}", few=self.judged, most=MIN_JUDGED)
        parts = {"share": self.share, "low": self.low, "high": self.high}
        shares = {name: f"{100 * part:.0f} %" for name, part in parts.items()}
        return say("{share} of {number} right (95 %: {low} to {high})", number=self.judged, **shares)


@dataclass(frozen=True)
class Grade:
    """Whether an evaluation found an answer right. `key` names the case of a run, and tells nothing of its question.

    `job_id` is the job that the question was taken from, with which the grade goes; "" for a question of a file.
    """

    key: str
    level: Confidence
    is_right: bool
    job_id: str = ""


MAX_MUST_CHARS = 600  # of what a good answer must say, as of a claim for the judge


@dataclass(frozen=True)
class VotedCase:
    """A question that somebody made a test of a bad answer; `must` is what a good one says, "" where nobody said."""

    job_id: str
    must: str
    at: datetime

    @classmethod
    def of(cls, job: ResearchJob, said: str, at: datetime) -> VotedCase:
        """With what somebody `said` that a good answer says."""
        return cls(job.id, one_line(said)[:MAX_MUST_CHARS], at)


class EvaluationStore(Protocol):
    """People's votes, questions made of them, which go with their jobs, and evaluations. All raise `StoreError`."""

    async def rate(self, job: ResearchJob, rating: Rating) -> bool:
        """Keep it in place of the asker's earlier one; whether the vote is new or another one than before."""

    async def ratings(self, job_id: str) -> list[Rating]:
        """Oldest first."""

    async def put_case(self, job: ResearchJob, case: VotedCase) -> None:
        """Add or replace. Raises `JobNotFound`."""

    async def drop_case(self, job_id: str) -> None: ...

    async def cases(self, tenant: str) -> list[VotedCase]:
        """Of one tenant, "" for all, oldest first."""

    async def votes(self, job_id: str) -> tuple[int, int]:
        """Good and bad ones."""

    async def put_grades(self, grades: Sequence[Grade], at: datetime) -> None:
        """Each in place of an earlier one of its key; none of a job that is no longer kept."""

    async def judged(self, tenant: str) -> list[JudgedAnswers]:
        """By level and origin. Votes are of one tenant, "" for all; evaluations are nobody's, and only among all."""


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
