"""Forgetting goes through every place, and time does it by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from core.model.errors import GorkdError, JobNotFound, StoreError
from core.tenancy.forgetting import (
    RETRY_SWEEP,
    SWEEP_EVERY,
    TOLD_S,
    Filed,
    Retention,
    Whose,
    forget,
    keep_sweeping,
    sweep,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINE = Whose(user_id="U1")


class Shelf:
    """An `Archive` over a set of job ids, which also knows them. `late` are asked while the others are forgotten."""

    def __init__(self, *jobs: Filed, error: GorkdError | None = None, late: Sequence[Filed] = ()) -> None:
        self.name = "shelf"
        self.jobs = {job.job_id: job for job in jobs}
        self.error = error
        self.late = list(late)
        self.expired: list[tuple[datetime | None, datetime]] = []

    async def jobs_of(self, whose: Whose) -> list[Filed]:
        return list(self.jobs.values())

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        if self.error:
            raise self.error
        gone = [self.jobs.pop(job_id) for job_id in job_ids if job_id in self.jobs]
        self.jobs |= {job.job_id: job for job in self.late}
        self.late = []
        return len(gone)

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        if self.error:
            raise self.error
        self.expired.append((answers_before, traces_before))
        return 1


async def test_what_runs_is_cancelled_and_everything_is_erased_everywhere() -> None:
    """Cancelled first, and its followers told, so that nothing new is written behind the eraser."""
    pauses: list[tuple[bool, float]] = []
    records, journal = Shelf(Filed("job_1", True), Filed("job_2", False)), Shelf(Filed("job_2", False))
    cancelled: list[tuple[str, bool]] = []

    async def cancel(job_id: str) -> None:
        cancelled.append((job_id, job_id in records.jobs))

    async def sleep(seconds: float) -> None:
        pauses.append(("job_2" in records.jobs, seconds))

    gone = await forget(MINE, records.jobs_of, [records, journal], cancel=cancel, condemn=_nothing, sleep=sleep)

    assert cancelled == [("job_2", True)]
    assert pauses == [(True, TOLD_S)]
    assert records.jobs == journal.jobs == {}
    assert (gone.jobs, gone.entries, dict(gone.failures)) == (2, 3, {})


async def test_a_question_asked_meanwhile_is_forgotten_too() -> None:
    """It is looked for again until nothing is found."""
    records = Shelf(Filed("job_1", True), late=[Filed("job_2", True)])

    gone = await forget(MINE, records.jobs_of, [records], cancel=_never, condemn=_nothing)

    assert records.jobs == {}
    assert gone.jobs == 2


async def test_an_archive_that_fails_keeps_no_other_from_forgetting_and_is_named() -> None:
    """Whoever asked learns where something may still be."""
    records = Shelf(Filed("job_1", True))
    away = Shelf(error=StoreError("connection refused", user_message="Redis does not answer."))

    gone = await forget(MINE, records.jobs_of, [away, records], cancel=_never, condemn=_nothing)

    assert records.jobs == {}
    assert dict(gone.failures) == {"shelf": "Redis does not answer."}


@pytest.mark.parametrize("error", [JobNotFound("job_1"), StoreError("away")], ids=["gone", "queue away"])
async def test_a_job_that_cannot_be_cancelled_is_erased_all_the_same(error: GorkdError) -> None:
    """What it still does, it cannot store any more."""
    records = Shelf(Filed("job_1", False))

    async def cancel(job_id: str) -> None:
        raise error

    gone = await forget(
        Whose(job_id="job_1"), records.jobs_of, [records], cancel=cancel, condemn=_nothing, sleep=_at_once
    )

    assert records.jobs == {}
    assert gone.jobs == 1


async def test_a_job_that_is_no_longer_filed_is_still_erased_from_the_other_places() -> None:
    """Its events may have outlived its record."""
    leftover = Shelf(Filed("job_1", True))

    gone = await forget(Whose(job_id="job_1"), Shelf().jobs_of, [leftover], cancel=_never, condemn=_nothing)

    assert leftover.jobs == {}
    assert (gone.jobs, gone.entries) == (0, 1)


@pytest.mark.parametrize(
    ("days", "answers", "traces"),
    [
        pytest.param(0, None, 30, id="kept until forgotten"),
        pytest.param(90, 90, 30, id="answers outlive their traces"),
        pytest.param(7, 7, 7, id="traces never outlive their answer"),
    ],
)
async def test_retention_counts_from_now(days: int, answers: int | None, traces: int) -> None:
    """Prompts, traces and events stay 30 days at most, answers as long as the operator says."""
    shelf = Shelf()

    is_clean = await sweep([shelf], Retention.of_days(days), now=NOW)

    before = NOW - timedelta(days=answers) if answers else None
    assert shelf.expired == [(before, NOW - timedelta(days=traces))]
    assert is_clean


async def test_sweeping_goes_on_every_day_and_sooner_after_a_failure() -> None:
    """At the start, then daily; a database that is away for an hour delays it by an hour."""
    shelf = Shelf(error=StoreError("away"))
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        shelf.error = None
        if len(waits) == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keep_sweeping([shelf], Retention(), clock=lambda: NOW, sleep=sleep)

    assert waits == [RETRY_SWEEP.total_seconds(), SWEEP_EVERY.total_seconds(), SWEEP_EVERY.total_seconds()]
    assert len(shelf.expired) == 2


async def _at_once(seconds: float) -> None:
    pass


async def _nothing(job_ids: Sequence[str]) -> None: ...


async def _never(job_id: str) -> None:
    raise AssertionError(f"{job_id} had ended")
