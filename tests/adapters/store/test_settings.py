"""The contract of SettingsStore, kept by SQLite and by PostgreSQL alike."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from adapters.store.archive import SqlArchive
from adapters.store.jobs import SqlJobStore
from adapters.store.library import SqlConversations
from adapters.store.sqlite import Database
from adapters.store.tenants import SqlSettings
from core.forgetting import Whose, sweep_tenants
from core.job import Scope
from core.library.states import Conversation
from core.settings.desk import KeptSettings, SettingChange
from core.settings.tenant import TenantSettings
from tests.adapters.store.samples import NOON, RESULT, finished, make_job

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


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request):
    """Settings, jobs, conversations and the archive of one database."""
    if request.param == "sqlite":
        db = request.getfixturevalue("database")
        return SqlSettings(db), SqlJobStore(db), SqlConversations(db), SqlArchive(db)
    db = request.getfixturevalue("postgres")
    return SqlSettings(db), SqlJobStore(db), SqlConversations(db), SqlArchive(db)


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

    early = await sweep_tenants(settings, archive, [archive], now=NOON)
    gone = await sweep_tenants(settings, archive, [archive], now=month)

    assert (early, gone) == (0, 1)
    assert await archive.outlived(mine.tenant, before=month) == []
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
