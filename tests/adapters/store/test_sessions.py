"""The contract of EndedSessions, kept by every store alike."""

from __future__ import annotations

from datetime import timedelta

import pytest

from adapters.store.memory import MemoryEndedSessions
from adapters.store.tenants import SqlEndedSessions
from tests.adapters.store.conftest import DATABASES
from tests.adapters.store.samples import NOON

DAY = timedelta(days=1)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def sessions(request: pytest.FixtureRequest, clock):
    """Sessions, none ended yet."""
    if request.param == "memory":
        return MemoryEndedSessions()
    return SqlEndedSessions(request.getfixturevalue(DATABASES[request.param]), clock=clock)


async def test_what_was_ended_stays_so_and_nothing_else(sessions):
    await sessions.end("one", until=NOON + DAY)
    await sessions.end("one", until=NOON + DAY)

    assert await sessions.has_ended("one")
    assert not await sessions.has_ended("two")


@pytest.fixture(params=DATABASES)
def database_of_either_kind(request: pytest.FixtureRequest):
    return request.getfixturevalue(DATABASES[request.param])


async def test_what_would_have_ended_by_itself_is_forgotten(database_of_either_kind, clock):
    """So that the table does not grow."""
    database = database_of_either_kind
    sessions = SqlEndedSessions(database, clock=clock)
    await sessions.end("one", until=NOON + DAY)
    clock.advance(2 * DAY)

    await sessions.end("two", until=NOON + 3 * DAY)

    assert await database.rows("SELECT id FROM ended_sessions") == [("two",)]
