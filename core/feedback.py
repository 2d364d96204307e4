"""What people think of an answer: one vote each, kept with the job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.job import ResearchJob

MAX_REASON_CHARS = 1000


@dataclass(frozen=True)
class Rating:
    """`reason` is what went wrong, in the asker's words; "" when nothing was said."""

    asker: str
    is_good: bool
    reason: str
    at: datetime


class Ratings(Protocol):
    """Each method raises `StoreError`."""

    async def put(self, job: ResearchJob, rating: Rating) -> bool:
        """Keep it in place of the asker's earlier one; whether the vote is new or another one than before."""
        ...

    async def of(self, job_id: str) -> list[Rating]:
        """Oldest first."""
        ...
