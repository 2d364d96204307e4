"""Ended sessions, kept by every store alike."""

from __future__ import annotations

from datetime import timedelta

import pytest

from adapters.store.tenants import SqlRevocations
from tests.adapters.store.samples import NOON

DAY = timedelta(days=1)


@pytest.fixture
def sessions(tables, clock) -> SqlRevocations:
    return SqlRevocations(tables, clock=clock)


async def test_what_was_ended_stays_so_and_nothing_else(sessions):
    await sessions.end_session("one", until=NOON + DAY)
    await sessions.end_session("one", until=NOON + DAY)

    assert await sessions.has_ended("one")
    assert not await sessions.has_ended("two")


async def test_what_would_have_ended_by_itself_is_forgotten(tables, clock):
    """So that the table does not grow."""
    sessions = SqlRevocations(tables, clock=clock)
    await sessions.end_session("one", until=NOON + DAY)
    clock.advance(2 * DAY)

    await sessions.end_session("two", until=NOON + 3 * DAY)

    assert await tables.rows("SELECT id FROM ended_sessions") == [("two",)]
