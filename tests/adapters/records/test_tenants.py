"""The contracts of what is kept of tenants: installations, settings, who is let in no longer, on either database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.records.archive import SqlArchive
from adapters.records.jobs import SqlJobStore
from adapters.records.library import SqlConversations
from adapters.records.sqlite import FILE_NAME, Database
from adapters.records.tenants import SqlAppTenants, SqlRevocations, SqlSettings
from adapters.secrets import SecretBox
from core.library.states import Conversation
from core.model.errors import StoreError
from core.model.job import Scope
from core.tenancy.forgetting import Departure, Whose, sweep_tenants
from core.tenancy.settings import TenantSettings
from core.tenancy.settings_desk import KeptSettings, SettingChange
from tests.adapters.records.samples import NOON, RESULT, finished, make_job

TTL = timedelta(minutes=10)
TOKEN = "xoxb-0123456789-a-token"


async def test_a_token_is_its_own_tenants_until_it_is_replaced_or_erased(app_tenants):
    await app_tenants.put_token("slack:T1", "one")
    await app_tenants.put_token("slack:T2", "two")

    await app_tenants.put_token("slack:T1", "one again")
    await app_tenants.erase_token("slack:T2")

    assert await app_tenants.token("slack:T1") == "one again"
    assert await app_tenants.token("slack:T2") is None
    assert await app_tenants.token("slack:T") is None


async def test_no_file_says_what_a_token_is(database, tmp_path, clock):
    """Encrypted with the installation's secret; another secret does not open it."""
    await SqlAppTenants(database, SecretBox(("a secret of this test",)), clock=clock).put_token("slack:T1", TOKEN)

    with pytest.raises(StoreError) as refused:
        await SqlAppTenants(database, SecretBox(("another secret of it",)), clock=clock).token("slack:T1")

    assert "GORKD_SECRET" in refused.value.operator_message
    files = [path for path in tmp_path.iterdir() if path.name.startswith(FILE_NAME)]
    assert files
    assert not any(TOKEN.encode() in path.read_bytes() for path in files)


async def test_a_state_is_redeemed_once_and_in_time(app_tenants, clock):
    """G-03: the state of an installation. Of twenty at once, one has it."""
    await app_tenants.issue("once", ttl=TTL)
    await app_tenants.issue("late", ttl=TTL)

    redeemed = await asyncio.gather(*(app_tenants.redeem("once") for _ in range(20)))
    clock.advance(TTL)

    assert sorted(redeemed) == [False] * 19 + [True]
    assert not await app_tenants.redeem("late")
    assert not await app_tenants.redeem("never issued")


async def test_a_turn_is_one_holders_until_it_is_given_back_or_ends(turns, clock):
    """Who dies in its turn holds up the others for `ttl` at most; nobody gives back another's."""
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


async def test_a_turn_is_kept_as_long_as_nobody_else_has_taken_it(turns, clock):
    """Also past its end; and nobody keeps what never was theirs."""
    await turns.take("T1", "first", ttl=TTL)
    clock.advance(TTL)

    kept = await turns.keep("T1", "first", ttl=TTL)
    is_held = not await turns.take("T1", "second", ttl=TTL)
    clock.advance(TTL)
    is_taken = await turns.take("T1", "second", ttl=TTL)

    assert (kept, is_held, is_taken) == (True, True, True)
    assert not await turns.keep("T1", "first", ttl=TTL)
    assert not await turns.keep("T2", "first", ttl=TTL)


async def test_a_departure_waits_until_it_is_struck_out(app_tenants):
    """A later departure of the same tenant is not struck out with the earlier one."""
    first, again = Departure("slack:T1", NOON), Departure("slack:T1", NOON + TTL)
    other = Departure("discord:7", NOON + timedelta(seconds=1), is_erased=True)
    await app_tenants.depart(first)
    await app_tenants.depart(other)

    waiting = await app_tenants.departures()
    await app_tenants.depart(again)
    await app_tenants.strike(first)
    await app_tenants.strike(other)

    assert waiting == [first, other]
    assert await app_tenants.departures() == [again]


async def test_who_has_an_app_is_noted_once_and_by_app(app_tenants):
    await app_tenants.note("discord:1", {"discord:7", "discord:8"})
    await app_tenants.note("discord:1", {"discord:8", "discord:9"})
    await app_tenants.note("discord:2", set())

    assert await app_tenants.noted("discord:1") == {"discord:7", "discord:8", "discord:9"}
    assert await app_tenants.noted("discord:2") == set()


STRICT = TenantSettings(
    channels=("C1", "C2"), visibility="private", threads="never", retention_days=30, user_per_min=2,
    workspace_per_min=9, monthly_usd=12.5, providers=("pubmed",), primary_only=True,
    allow_domains=("who.int",), block_domains=("example.com",),
)  # fmt: skip
CHANGE = SettingChange("monthly_usd", "no limit", "12.50", "U1", NOON)


async def test_settings_are_one_tenants_and_count_their_changes(settings_store):
    """Nobody's settings are the defaults, at version 0; each change is told, newest first."""
    later = replace(CHANGE, before="12.50", after="no limit", who="U2")

    is_kept = await settings_store.put("slack:T1", KeptSettings(STRICT, 0), [CHANGE])
    is_kept_again = await settings_store.put("slack:T1", KeptSettings(replace(STRICT, monthly_usd=None), 1), [later])

    assert (is_kept, is_kept_again) == (True, True)
    assert await settings_store.get("slack:T1") == KeptSettings(replace(STRICT, monthly_usd=None), 2)
    assert await settings_store.get("slack:T2") == KeptSettings()
    assert await settings_store.changes("slack:T1", limit=9) == [later, CHANGE]
    assert await settings_store.changes("slack:T1", limit=1) == [later]
    assert await settings_store.changes("slack:T2", limit=9) == []
    assert await settings_store.tenants() == ["slack:T1"]


@pytest.mark.parametrize("version", [0, 1], ids=["of the defaults", "of what was set"])
async def test_of_ten_who_save_at_once_one_does(settings_store, version):
    """The others have looked at what is no longer so, and leave no change behind."""
    for number in range(version):
        await settings_store.put("slack:T1", KeptSettings(STRICT, number), [CHANGE])

    saved = await asyncio.gather(
        *(settings_store.put("slack:T1", KeptSettings(STRICT, version), [CHANGE]) for _ in range(10))
    )

    assert sorted(saved) == [False] * 9 + [True]
    assert (await settings_store.get("slack:T1")).version == version + 1
    assert len(await settings_store.changes("slack:T1", limit=99)) == version + 1


async def test_another_process_sees_a_change_with_its_next_look(tmp_path):
    """Two open databases on one file, as two processes have them."""
    here, there = await Database.open(tmp_path), await Database.open(tmp_path)
    before = await SqlSettings(there).get("slack:T1")
    await SqlSettings(here).put("slack:T1", KeptSettings(STRICT), [CHANGE])

    after = await SqlSettings(there).get("slack:T1")

    assert (before.settings, after.settings) == (TenantSettings(), STRICT)
    await here.aclose()
    await there.aclose()


@pytest.fixture
def kept(tables):
    """Settings, jobs, conversations and the archive of one database."""
    return SqlSettings(tables), SqlJobStore(tables), SqlConversations(tables), SqlArchive(tables)


async def test_what_a_tenant_keeps_no_longer_goes_and_nothing_of_others(kept, clock):
    """Retention: jobs that have ended, with all that hangs on them, and conversations; what still runs stays."""
    settings, jobs, talks, archive = kept
    mine, yours = Scope("slack:T1", "channel:C1"), Scope("slack:T2", "channel:C1")
    await settings.put(mine.tenant, KeptSettings(STRICT), [CHANGE])
    old, running, foreign = make_job(1, scope=mine), make_job(2, scope=mine), make_job(3, scope=yours)
    for job in (old, running, foreign):
        await jobs.save(job)
        await talks.put(job.scope, f"slack:{job.id}", Conversation(), asker="U1", at=job.created_at)
    for job in (old, foreign):
        await jobs.finish(finished(job), RESULT)
    month = NOON.replace(year=NOON.year + 1)

    early = await sweep_tenants(settings, archive.expire_tenant, [archive], now=NOON)
    gone = await sweep_tenants(settings, archive.expire_tenant, [archive], now=month)

    assert (early, gone) == (0, 1)
    assert await archive.expire_tenant(mine.tenant, before=month) == []
    assert {job.job_id for job in await archive.jobs_of(Whose(tenant=mine.tenant))} == {running.id}
    assert await talks.get(mine, f"slack:{old.id}") is None
    assert await talks.get(yours, f"slack:{foreign.id}") is not None
    assert await jobs.get(foreign.id) == finished(foreign)
    assert (await settings.get(mine.tenant)).settings == STRICT


async def test_who_leaves_takes_the_settings_along_and_a_person_the_name(kept):
    """A forgotten person's changes stay, without saying whose they were; a forgotten tenant leaves none."""
    settings, _, _, archive = kept
    await settings.put("slack:T1", KeptSettings(STRICT), [CHANGE])
    await settings.put("slack:T2", KeptSettings(STRICT), [CHANGE])

    await archive.erase(Whose(user_id="U1", tenant="slack:T2"), [])
    await archive.erase(Whose(tenant="slack:T1"), [])

    assert await settings.get("slack:T1") == KeptSettings()
    assert await settings.changes("slack:T1", limit=9) == []
    assert await settings.changes("slack:T2", limit=9) == [replace(CHANGE, who="")]


DAY = timedelta(days=1)


@pytest.fixture
def sessions(tables, clock) -> SqlRevocations:
    return SqlRevocations(tables, clock=clock)


async def test_what_was_ended_stays_so_until_it_would_have_ended_by_itself(sessions, tables, clock):
    """And nothing else; so that the table does not grow."""
    await sessions.end_session("one", until=NOON + DAY)
    await sessions.end_session("one", until=NOON + DAY)
    ended = [await sessions.has_ended(name) for name in ("one", "two")]
    clock.advance(2 * DAY)

    await sessions.end_session("two", until=NOON + 3 * DAY)

    assert ended == [True, False]
    assert await tables.rows("SELECT id FROM ended_sessions") == [("two",)]


MINUTE = timedelta(minutes=1)


@pytest.fixture
def revocations(with_jobs, clock) -> SqlRevocations:
    return SqlRevocations(with_jobs, clock=clock)


async def test_links_of_one_job_are_taken_back_and_no_others(revocations):
    """The latest counts, also when a slower clock tells an earlier one afterwards."""
    await revocations.revoke(make_job(1), NOON)
    first = await revocations.revoked_at("job_1")
    await revocations.revoke(make_job(1), NOON + MINUTE)

    await revocations.revoke(make_job(1), NOON - MINUTE)

    assert (first, await revocations.revoked_at("job_1")) == (NOON, NOON + MINUTE)
    assert await revocations.revoked_at("job_2") is None
    assert await revocations.revoked_at("job_unknown") is None
