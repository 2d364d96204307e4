"""Each port's implementations, one after the other, for its contract suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.store.events import SqliteEventLog
from adapters.store.jobs import SqliteJobStore
from adapters.store.memory import MemoryEventLog, MemoryJobStore, MemorySourceStore
from adapters.store.sources import SqliteSourceStore
from adapters.store.sqlite import Database
from core.ports import JobStore, SourceStore
from tests.adapters.store.samples import StandingClock, make_job


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
async def database(tmp_path) -> AsyncIterator[Database]:
    """An open database in a fresh folder."""
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


@pytest.fixture(params=["memory", "sqlite"])
def jobs(request, database) -> JobStore:
    return SqliteJobStore(database) if request.param == "sqlite" else MemoryJobStore()


@pytest.fixture(params=["memory", "sqlite"])
async def sources(request, database) -> SourceStore:
    """A source store that knows job 1 and job 2."""
    if request.param == "memory":
        return MemorySourceStore()
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return SqliteSourceStore(database)


@pytest.fixture(params=["memory", "sqlite"])
async def events(request, database, clock) -> MemoryEventLog | SqliteEventLog:
    """An event log that knows job 1 and job 2."""
    if request.param == "memory":
        return MemoryEventLog(clock=clock)
    store = SqliteJobStore(database)
    await store.save(make_job(1))
    await store.save(make_job(2))
    return SqliteEventLog(database, clock=clock)
