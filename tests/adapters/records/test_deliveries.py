"""The contract of Messages, kept by every store alike, and that no file says what is in an address."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.records.archive import SqlArchive
from adapters.records.deliveries import SqlMessages
from adapters.records.sqlite import FILE_NAME
from adapters.secrets import SecretBox
from core.model.delivery import CONDEMNED_FOR, Address
from core.model.errors import StoreError
from core.model.job import Scope
from core.tenancy.forgetting import Whose
from tests.adapters.records.samples import NOON, make_job

TOKEN = "interaction-token-4711"
PLACE = Address("discord", {"channel": 1, "token": TOKEN, "nested": [None, {"a": "ü\x00"}]})


async def test_a_waiting_message_is_found_by_its_platform_until_it_is_delivered(messages):
    """A restarted bot asks for its own and gets them as they were."""
    await messages.expect(make_job(1), PLACE)
    await messages.expect(make_job(2), replace(PLACE, platform="slack"))

    waiting = await messages.waiting("discord")
    await messages.delivered("job_1")

    assert waiting == [("job_1", PLACE)]
    assert await messages.waiting("discord") == []
    assert [job_id for job_id, _ in await messages.waiting("slack")] == ["job_2"]


async def test_a_later_address_replaces_the_earlier_and_keeps_its_place(messages, clock):
    """The token's message becomes a channel's; who waited first is still first."""
    await messages.expect(make_job(2), PLACE)
    clock.advance(timedelta(seconds=1))
    await messages.expect(make_job(1), PLACE)
    clock.advance(timedelta(seconds=1))
    moved = Address("discord", {"message": 9}, NOON + timedelta(days=1))

    await messages.expect(make_job(2), moved)

    assert await messages.waiting("discord") == [("job_2", moved), ("job_1", PLACE)]


async def test_an_expired_address_is_erased(messages, clock):
    """Nothing can be delivered there; what it held is not kept."""
    await messages.expect(make_job(1), replace(PLACE, expires_at=NOON + timedelta(minutes=15)))
    before = await messages.waiting("discord")

    clock.advance(timedelta(minutes=15))

    assert len(before) == 1
    assert await messages.waiting("discord") == []


async def test_an_open_message_waits_until_it_is_ended_or_a_day_has_passed(messages, clock):
    """No job stands behind it; what was said may be said again a day later, without a word about it."""
    scope, later = Scope("discord:1", "channel:2"), Address("discord", {"message": 9})
    for number, platform in enumerate(("discord", "discord", "slack")):
        await messages.begin(f"key {number}", scope, "7", replace(PLACE, platform=platform))
        clock.advance(timedelta(seconds=1))

    await messages.begin("key 0", scope, "7", later)
    waiting = await messages.begun("discord")
    await messages.end("key 0")
    left = await messages.begun("discord")
    clock.advance(timedelta(days=1))

    assert waiting == [("key 0", later), ("key 1", PLACE)]
    assert left == [("key 1", PLACE)]
    assert await messages.begun("discord") == []


async def test_no_address_without_its_job(database, postgres, clock):
    """It could not be forgotten with it."""
    box = SecretBox(("a secret of this test",))
    for store in (SqlMessages(database, box, clock=clock), SqlMessages(postgres, box, clock=clock)):
        with pytest.raises(StoreError, match="job_9"):
            await store.expect(make_job(9), PLACE)


async def test_another_secret_loses_the_address_not_the_others(jobs_in_sqlite, clock):
    """A changed GORKD_SECRET costs what it sealed, not the start of the bot."""
    old = SqlMessages(jobs_in_sqlite, SecretBox(("the secret before",)), clock=clock)
    new = SqlMessages(jobs_in_sqlite, SecretBox(("the secret of today",)), clock=clock)
    await old.expect(make_job(1), PLACE)
    await new.expect(make_job(2), PLACE)

    assert await new.waiting("discord") == [("job_2", PLACE)]


async def test_the_file_does_not_say_what_is_in_an_address_and_forgetting_removes_it(jobs_in_sqlite, clock, tmp_path):
    """Sealed while it waits, gone with its job."""
    store = SqlMessages(jobs_in_sqlite, SecretBox(("a secret of this test",)), clock=clock)
    await store.expect(make_job(1), PLACE)
    files = b"".join(path.read_bytes() for path in tmp_path.glob(f"{FILE_NAME}*"))

    await SqlArchive(jobs_in_sqlite).erase(Whose(job_id="job_1"), ["job_1"])

    assert b"job_1" in files
    assert TOKEN.encode() not in files
    assert await store.waiting("discord") == []


async def test_a_message_tells_its_job(messages):
    """By the address it was noted with, although that is sealed."""
    await messages.show("job_1", [PLACE])
    await messages.show("job_2", [replace(PLACE, data={"message": 7})])

    found = [
        await messages.job_at(place)
        for place in (PLACE, replace(PLACE, data={"message": 7}), replace(PLACE, platform="slack"))
    ]

    assert found == ["job_1", "job_2", ""]


async def test_what_is_shown_of_a_forgotten_job_is_to_be_taken_away_until_it_is(messages, clock):
    """Also what comes too late, and what still waited for the answer; nothing of another job."""
    await messages.show("job_1", [PLACE, replace(PLACE, platform="slack")])
    await messages.show("job_2", [PLACE])
    await messages.expect(make_job(1), replace(PLACE, data={"message": 7}))
    before = await messages.condemned("discord")

    await messages.condemn(["job_1"])
    await messages.show("job_9", [replace(PLACE, data={"message": 9})])
    condemned = await messages.condemned("discord")
    for key, _ in condemned:
        await messages.taken_away(key)

    assert before == []
    assert sorted((dict(address.data) for _, address in condemned), key=str) == sorted(
        [dict(PLACE.data), {"message": 7}, {"message": 9}], key=str
    )
    assert not any("job" in key for key, _ in condemned)
    assert await messages.condemned("discord") == []
    assert len(await messages.condemned("slack")) == 1
    clock.advance(CONDEMNED_FOR)
    assert await messages.condemned("slack") == []
