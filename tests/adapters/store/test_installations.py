"""The contracts of TokenStore, OneTimeStates, Turns and Departures, kept by SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from adapters.secrets import SecretBox
from adapters.store.sqlite import FILE_NAME
from adapters.store.tenants import SqlTokens
from core.departures import Departure
from core.errors import StoreError
from tests.adapters.store.samples import NOON

TTL = timedelta(minutes=10)
TOKEN = "xoxb-0123456789-a-token"


async def test_a_token_is_its_own_tenants_until_it_is_replaced_or_erased(tenancy):
    tokens = tenancy[0]
    await tokens.put("slack:T1", "one")
    await tokens.put("slack:T2", "two")

    await tokens.put("slack:T1", "one again")
    await tokens.erase("slack:T2")

    assert await tokens.get("slack:T1") == "one again"
    assert await tokens.get("slack:T2") is None
    assert await tokens.get("slack:T") is None


async def test_no_file_says_what_a_token_is(database, tmp_path, clock):
    """Encrypted with the installation's secret; another secret does not open it."""
    await SqlTokens(database, SecretBox(("a secret of this test",)), clock=clock).put("slack:T1", TOKEN)

    with pytest.raises(StoreError) as refused:
        await SqlTokens(database, SecretBox(("another secret of it",)), clock=clock).get("slack:T1")

    assert "GORKD_SECRET" in refused.value.user_message
    files = [path for path in tmp_path.iterdir() if path.name.startswith(FILE_NAME)]
    assert files
    assert not any(TOKEN.encode() in path.read_bytes() for path in files)


async def test_a_state_is_redeemed_once_and_in_time(tenancy, clock):
    """G-03: the state of an installation. Of twenty at once, one has it."""
    states = tenancy[1]
    await states.issue("once", ttl=TTL)
    await states.issue("late", ttl=TTL)

    redeemed = await asyncio.gather(*(states.redeem("once") for _ in range(20)))
    clock.advance(TTL)

    assert sorted(redeemed) == [False] * 19 + [True]
    assert not await states.redeem("late")
    assert not await states.redeem("never issued")


async def test_a_turn_is_one_holders_until_it_is_given_back_or_ends(tenancy, clock):
    """Who dies in its turn holds up the others for `ttl` at most; nobody gives back another's."""
    turns = tenancy[2]

    taken = await asyncio.gather(*(turns.take("T1", f"process {n}", ttl=TTL) for n in range(20)))
    first = f"process {taken.index(True)}"
    await turns.give_back("T1", "somebody else")
    is_held = not await turns.take("T1", "next", ttl=TTL)
    is_other_free = await turns.take("T2", "next", ttl=TTL)
    await turns.give_back("T1", first)
    is_free = await turns.take("T1", "next", ttl=TTL)
    clock.advance(TTL)

    assert taken.count(True) == 1
    assert (is_held, is_other_free, is_free) == (True, True, True)
    assert await turns.take("T1", "after its end", ttl=TTL)


async def test_a_turn_is_kept_as_long_as_nobody_else_has_taken_it(tenancy, clock):
    """Also past its end; and nobody keeps what never was theirs."""
    turns = tenancy[2]
    await turns.take("T1", "first", ttl=TTL)
    clock.advance(TTL)

    kept = await turns.keep("T1", "first", ttl=TTL)
    is_held = not await turns.take("T1", "second", ttl=TTL)
    clock.advance(TTL)
    is_taken = await turns.take("T1", "second", ttl=TTL)

    assert (kept, is_held, is_taken) == (True, True, True)
    assert not await turns.keep("T1", "first", ttl=TTL)
    assert not await turns.keep("T2", "first", ttl=TTL)


async def test_a_departure_waits_until_it_is_struck_out(tenancy):
    """A later departure of the same tenant is not struck out with the earlier one."""
    departures = tenancy[3]
    first, again = Departure("slack:T1", NOON), Departure("slack:T1", NOON + TTL)
    other = Departure("discord:7", NOON + timedelta(seconds=1), is_erased=True)
    await departures.put(first)
    await departures.put(other)

    waiting = await departures.waiting()
    await departures.put(again)
    await departures.strike(first)
    await departures.strike(other)

    assert waiting == [first, other]
    assert await departures.waiting() == [again]


async def test_who_has_an_app_is_noted_once_and_by_app(tenancy):
    *_, departures = tenancy
    await departures.note("discord:1", {"discord:7", "discord:8"})
    await departures.note("discord:1", {"discord:8", "discord:9"})
    await departures.note("discord:2", set())

    assert await departures.noted("discord:1") == {"discord:7", "discord:8", "discord:9"}
    assert await departures.noted("discord:2") == set()
