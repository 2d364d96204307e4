"""What makes a process ready: records, journal and a worker, in that order."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from adapters.records.jobs import SqlHeartbeats
from core.model.errors import StoreError
from core.pipeline import checkup as readiness
from core.pipeline.checkup import HEARD_WITHIN_S, KEPT_S, Readiness
from tests.adapters.records.samples import NOON, StandingClock
from tests.records import MemoryTables

SECOND = timedelta(seconds=1)


class Part:
    """Something to try out, which may fail or hang."""

    def __init__(self, failure: str = "") -> None:
        self.failure = failure
        self.hangs = False
        self.tried = 0

    async def try_out(self) -> None:
        self.tried += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.failure:
            raise StoreError("for the log", operator_message=self.failure)


class House:
    """Readiness over parts that can be spoilt; a worker beat at noon."""

    def __init__(self) -> None:
        self.clock, self.elapsed_s = StandingClock(), 0.0
        self.records, self.journal, self.beats = Part(), Part(), SqlHeartbeats(MemoryTables())
        self.readiness = Readiness(
            self.records.try_out,
            journal=self.journal.try_out,
            heartbeats=self.beats,
            clock=self.clock,
            stopwatch=lambda: self.elapsed_s,
        )

    async def reasons_later(self) -> list[str]:
        self.elapsed_s += KEPT_S
        return await self.readiness.reasons()


@pytest.fixture
async def house() -> House:
    opened = House()
    await opened.beats.beat("worker", NOON)
    return opened


@pytest.mark.parametrize("part", ["records", "journal"])
async def test_a_part_that_fails_says_why_and_recovers(house: House, part: str):
    """Ready is when everything answers."""
    broken: Part = getattr(house, part)
    at_first = await house.readiness.reasons()
    broken.failure = "It is away."
    before = await house.reasons_later()

    broken.failure = ""

    assert (at_first, before) == ([], ["It is away."])
    assert await house.reasons_later() == []


async def test_a_part_that_hangs_is_not_waited_for(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readiness, "CHECK_WITHIN_S", 0.01)
    house.records.hangs = True

    (reason,) = await house.readiness.reasons()

    assert "the records" in reason


@pytest.mark.parametrize("off", [1, -1], ids=["silent since", "a beat of tomorrow"])
async def test_a_worker_must_have_been_heard_of_lately(house: House, off: int):
    """A clock that was set back leaves beats behind that are to come."""
    house.clock.advance(off * (HEARD_WITHIN_S + 1) * SECOND)
    (reason,) = await house.readiness.reasons()

    await house.beats.beat("another", house.clock())

    assert "gorkd worker" in reason
    assert await house.reasons_later() == []


async def test_without_any_worker_only_a_process_that_runs_its_own_jobs_is_ready(house: House):
    await house.beats.forget("worker")
    alone = Readiness(house.records.try_out, clock=house.clock, stopwatch=lambda: 0.0)

    (reason,) = await house.readiness.reasons()

    assert "No worker was heard of" in reason
    assert await alone.reasons() == []


async def test_whoever_asks_often_costs_no_more(house: House):
    """Strangers may ask, and a check writes."""
    await asyncio.gather(*(house.readiness.reasons() for _ in range(50)))

    assert house.records.tried == 1
