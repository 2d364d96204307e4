"""Watching in both chats, through real processes: begun by a button or a word, told where it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import connect

import pytest

from adapters.chat.discord.render import DiscordVoice
from adapters.chat.slack.installations import hear_leaving
from adapters.chat.slack.render import SlackVoice
from adapters.chat.watching import WatchPlace, WatchSaid, nowhere_else, obey_wish
from adapters.records.deliveries import SqlWatches
from adapters.records.sqlite import FILE_NAME, Database
from adapters.secrets import SecretBox
from core.model.delivery import Address
from core.model.job import ResearchRequest, Scope
from core.pipeline.researcher import Researcher
from core.watch.watch import Change, Rhythm, Watch, WatchNotice, WatchTelling
from core.watch.words import WatchWish
from tests.adapters.chat.slack.house import COMPLETE, slack_house
from tests.fakes import Idle, make_deps
from tests.golden import samples
from tests.loopback.discord_house import discord_house
from tests.loopback.slack_state import BOT_USER

TIDES = "What causes the tides?"
WAS = "Tides are caused by the Moon alone."
NOW = "Tides are caused by the Moon and the Sun."
CHANGE = Change("value", WAS, NOW, before_quote=WAS, before_url="https://was.example/tides", now_quote=NOW,
                now_url="https://now.example/tides")  # fmt: skip


async def told(env: Mapping[str, str], data: Path, tenant: str, *, times: int = 1) -> Watch:
    """A worker finds that the answer changed, so many times over; the watch as it was before."""
    database = await Database.open(data)
    try:
        watches = SqlWatches(database, SecretBox.from_env(env, data), clock=lambda: datetime.now(UTC))
        (watch,) = await watches.of(tenant)
        notice = WatchNotice(watch.id, 1, watch.told, "changed", datetime.now(UTC), watch.subject, (CHANGE,))
        kept = [
            await watches.put(replace(watch, run=1), telling=WatchTelling(watch.told, notice)) for _ in range(times)
        ]
        assert kept == [True] + [False] * (times - 1)
        return watch
    finally:
        await database.aclose()


async def test_discord_tells_a_change_once_below_the_answer(tmp_path: Path):
    async with discord_house(tmp_path, service="pubmed") as house:
        asked = house.discord.slash("research", query=TIDES)
        answer = await house.final(asked)
        offered = await house.final(house.discord.press(answer, "Watch"))
        begun = await house.final(house.discord.press(offered, "Every day"))
        await told(house.env, tmp_path, f"discord:{answer.guild_id}", times=2)

        await house.restart_bot()

        def notices():
            return [one for one in house.discord.messages.values() if "The answer changed" in one.text]

        await house.discord.until(notices)
        stopped = await house.final(house.discord.press(notices()[0], "Stop watching"))
        again = await house.final(house.discord.press(offered, "In a daily digest"))
        house.discord.deletes_channel()
        await ended(tmp_path)
        assert "only when the answer means something else" in offered.text
        assert offered.is_ephemeral
        assert "every day" in begun.text
        assert len(notices()) == 1
        assert all(word in notices()[0].text for word in (WAS, NOW, "Because", "now.example"))
        assert "watched no more" in stopped.text
        assert "at 09:00, together" in again.text


async def ended(data: Path) -> None:
    """Wait until nothing is watched any more, in the file of one machine."""
    async with asyncio.timeout(20):
        with closing(connect(data / FILE_NAME)) as records:
            while records.execute("SELECT 1 FROM watches WHERE is_active").fetchall():  # noqa: ASYNC110  # by another process
                await asyncio.sleep(0.05)


async def test_slack_tells_a_change_once_in_the_thread(tmp_path: Path):
    async with slack_house(tmp_path, service="pubmed") as house:
        ada, channel = house.newcomer()
        answer = await house.answered(ada, channel, TIDES)
        await house.slack.clicks(ada, answer, "watch")
        await house.slack.until(lambda: house.whispers(ada))
        await house.slack.mentions(ada, channel, "watch this weekly", thread_ts=answer.thread_ts)
        await house.slack.until(lambda: len(house.whispers(ada)) == 2)
        watch = await told(house.env, tmp_path, f"slack:{house.slack.state.team}")

        await house.restart()

        def notices():
            return [one for one in house.slack.state.of_bot(channel) if "The answer changed" in one.text]

        await house.slack.until(notices)
        await house.slack.tells({"type": "channel_archive", "channel": channel, "user": ada})
        await ended(tmp_path)
        assert "only when the answer means something else" in house.whispers(ada)[0]
        assert "every week" in house.whispers(ada)[1]
        assert watch.rhythm.hours == 168
        assert len(notices()) == 1
        assert notices()[0].thread_ts == answer.thread_ts
        assert all(word in notices()[0].shown for word in (WAS, NOW, "now.example"))
        assert COMPLETE not in notices()[0].text


GONE = {
    "archived": ({"type": "channel_archive", "channel": "C1", "user": "U9"}, {"ada", "bob"}),
    "thrown out": ({"type": "member_left_channel", "channel": "C1", "user": BOT_USER}, {"ada", "bob"}),
    "left the channel": ({"type": "member_left_channel", "channel": "C1", "user": "ada"}, {"ada"}),
    "left another": ({"type": "member_left_channel", "channel": "C2", "user": "ada"}, set()),
    "left the workspace": ({"type": "user_change", "user": {"id": "ada", "deleted": True}}, {"ada"}),
    "another name": ({"type": "user_change", "user": {"id": "ada", "deleted": False}}, set()),
}


@pytest.mark.parametrize(("event", "whose"), GONE.values(), ids=GONE)
async def test_what_slack_tells_of_a_place_or_a_person_ends_watches(event: dict[str, object], whose: set[str]):
    """N-20: of everybody there, of one person there, or of one person anywhere."""
    here = Scope("slack:T1", "channel:C1")
    researcher = Researcher(make_deps(), Idle())
    for who in ("ada", "bob"):
        address = Address("slack", {}, place="C1")
        await researcher.watching.schedule(ResearchRequest(TIDES, here, asker=who), rhythm=Rhythm(), address=address)
    body = {"team_id": "T1", "event": event, "authorizations": [{"user_id": BOT_USER, "is_bot": True}]}

    await hear_leaving(body, researcher.watching)

    assert {"ada", "bob"} - {watch.asker for watch in await researcher.watching.of(here.tenant)} == whose


async def test_what_one_watches_elsewhere_is_not_read_out_where_others_hear_it():
    """Its place in the list is kept, so that its number means the same everywhere."""
    here, own = Scope("discord:1", "workspace"), Scope("discord:1", "user:7")
    researcher = Researcher(make_deps(), Idle())
    for query, scope in (("Am I ill?", own), (TIDES, here)):
        await researcher.watching.schedule(ResearchRequest(query, scope, asker="7"), rhythm=Rhythm())

    async def said(*, is_overheard: bool) -> WatchSaid:
        place = WatchPlace("7", here, Address("discord", {}), Address("discord", {}), is_overheard=is_overheard)
        return await obey_wish(WatchWish("list"), None, researcher, place, nowhere_else)

    aloud, aside = await said(is_overheard=True), await said(is_overheard=False)

    assert "ill" not in aloud.text
    assert f"2. {TIDES}" in aloud.text
    assert "1. Am I ill?" in aside.text


@pytest.mark.parametrize(
    ("address", "host"),
    [
        pytest.param(r"https://evil.example\@now.example/tides", "evil.example", id="as browsers read it"),
        pytest.param("https://n\N{CYRILLIC SMALL LETTER O}w.example/tides", "xn--nw-fmc.example", id="look-alike"),
    ],
)
def test_where_a_change_was_read_is_called_what_its_link_leads_to(address: str, host: str):
    """A feed says where its entries are."""
    change = replace(CHANGE, kind="new", before="", before_quote="", now_url=address)
    notice = WatchNotice("watch_1", 1, samples.COMPLETED.id, "changed", samples.NOON, TIDES, (change,))

    in_slack = str(SlackVoice(samples.LINKS).told(samples.COMPLETED, notice).blocks)
    in_discord = str(DiscordVoice(samples.LINKS).told(samples.COMPLETED, notice).embed.description)

    for shown in (in_slack, in_discord):
        assert host in shown
        assert "now.example" not in shown
        assert "n\N{CYRILLIC SMALL LETTER O}w.example" not in shown
