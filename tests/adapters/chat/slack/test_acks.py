"""Nothing stands before an acknowledgement: what Slack is slow to say is asked afterwards, and nothing is lost then."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.chat.slack.inbox import INBOX
from core.presentation import wording
from tests.adapters.chat.slack.house import SlackHouse
from tests.adapters.chat.slack.test_kills import two_processes
from tests.adapters.durable.outside import QUESTION
from tests.adapters.durable.processes import front
from tests.loopback.slack_api import Api, Fault
from tests.loopback.slack_delivery import Ack
from tests.loopback.slack_state import ADA, GENERAL

ACK_S, BUSY_S = 1.0, 2.5  # ours; and what a busy machine is given, of the 3 s of Slack's
SLOW_S = 3.0  # as long as Slack waits for an acknowledgement
LOOK_UPS = ("conversations.info", "conversations.replies", "users.info", "views.open", "files", "files.info")


@asynccontextmanager
async def slow(api: Api, seconds: float) -> AsyncIterator[None]:
    """Whatever Slack is asked to look up takes so long, and a thread is told once a minute only."""
    api.slow_s.update(dict.fromkeys(LOOK_UPS, seconds))
    api.faults["conversations.replies"] = Fault("limited", times=1000, retry_after_s=60)
    try:
        yield
    finally:
        api.slow_s.clear()
        api.faults.clear()


def report(house_or_slack: Any) -> dict[str, Any]:
    return house_or_slack.attaches("report.txt", "text/plain", b"Report.\n\nThe Ostrava tide mill grinds 40 tonnes.\n")


async def acked(house: SlackHouse, what: Awaitable[object]) -> Ack:
    """The acknowledgement of the one thing that is sent."""
    before = len(house.slack.acks)
    await what
    return house.slack.acks[before]


@pytest.mark.asyncio(loop_scope="module")
async def test_whatever_slack_is_slow_to_say_is_acknowledged_at_once_and_answered(house: SlackHouse) -> None:
    """A mention, one in a strange thread, a file, commands, the shortcut: a second each, then the answer."""
    ada, ben = house.person(), house.person()
    channels = {how: house.channel(ada) for how in ("mention", "thread", "file", "research", "shortcut")}
    slack = house.slack
    other = slack.state.says(ben, channels["thread"], "What do you say?")
    claim = slack.state.says(ben, channels["shortcut"], "The tides are caused by the gravity of the Moon.")
    async with slow(slack.api, SLOW_S):
        acks = {
            "mention": await acked(house, slack.mentions(ada, channels["mention"], QUESTION)),
            "thread": await acked(house, slack.mentions(ada, channels["thread"], QUESTION, thread_ts=other.ts)),
            "file": await acked(house, slack.mentions(ada, channels["file"], QUESTION, files=[report(slack)])),
            "research": await acked(house, slack.commands(ada, channels["research"], QUESTION)),
            "shortcut": await acked(house, slack.shortcut(ada, claim)),
            "library": await acked(house, slack.commands(ada, house.channel(ada), "list", command="/library")),
            "section": await acked(house, slack.commands(ada, house.channel(ada), "", command="/section")),
            "settings": await acked(house, slack.commands(ada, house.channel(ada), "settings")),
        }
        for channel in channels.values():
            await house.ended(channel)

    seconds = sorted(ack.seconds for ack in acks.values())
    assert seconds[len(seconds) // 2] < ACK_S
    assert {how: ack.seconds for how, ack in acks.items() if ack.seconds >= BUSY_S} == {}
    assert {ack.attempts for ack in acks.values()} == {1}
    assert acks["research"].payload["text"] == "On it …"
    async with front(house.env) as other_process:
        assert await other_process.records.messages.begun(INBOX) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_question_between_others_asks_slack_nothing(house: SlackHouse) -> None:
    """Our own records say that nobody there has asked us, whether Slack names who began or not; a mention elsewhere
    does not wait for it.
    """
    ada, ben = house.person(), house.person()
    strange, own = house.channel(ada), house.channel(ada)
    root = house.slack.state.says(ben, strange, "Lunch at noon.")
    reads = len([call for call in house.slack.api.calls if call.method.startswith("conversations.")])
    between = []
    async with slow(house.slack.api, SLOW_S):
        for told in ({"parent_user_id": ben}, {}):
            said = house.slack.state.says(ben, strange, "Where shall we go?", root.ts)
            event = house.slack.event("message", said, channel_type="channel", **told)
            between.append(await acked(house, house.slack.send("event", event)))
        read = [call for call in house.slack.api.calls if call.method.startswith("conversations.")][reads:]
        elsewhere = await acked(house, house.slack.mentions(ada, own, QUESTION))
        await house.ended(own)

    assert read == []
    assert min(ack.seconds for ack in (*between, elsewhere)) < ACK_S
    assert max(ack.seconds for ack in (*between, elsewhere)) < BUSY_S
    assert house.slack.state.of_bot(strange) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_thread_on_an_answer_is_known_from_our_own_records(house: SlackHouse) -> None:
    """It hangs on a message that no mention began: whose conversation it is need not be asked of Slack."""
    ada, channel = house.newcomer()
    await house.slack.commands(ada, channel, QUESTION)
    first = await house.ended(channel)
    await house.sources_of(first.ts)
    said = house.slack.state.says(ada, channel, "And what is raised by it?", first.ts)

    async with slow(house.slack.api, SLOW_S):
        ack = await acked(house, house.slack.send("event", house.slack.event("message", said, channel_type="channel")))
        second = await house.ended(channel, times=2)

    assert ack.seconds < BUSY_S
    assert second.thread_ts == first.ts
    plan = [call for call in house.world.model.calls if call.schema_name == "plan"][-1]
    assert QUESTION in plan.user


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("way", "table"), [("mention", "jobs"), ("command", "addresses")])
async def test_what_the_records_do_not_take_at_first_is_answered_when_they_do(
    house: SlackHouse, table: str, way: str
) -> None:
    """It was acknowledged, so nobody need ask again: neither is anything said of it meanwhile."""
    ada = house.person()
    channel, opened = house.channel(ada), len(house.process.said("letter not opened yet"))
    with sqlite3.connect(Path(house.env["GORKD_DATA"]) / "gorkd.db", isolation_level=None, timeout=20) as records:
        records.execute(f"CREATE TRIGGER away BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'away'); END")
        try:
            asking = house.slack.mentions if way == "mention" else house.slack.commands
            await asking(ada, channel, QUESTION)
            async with asyncio.timeout(20):
                while len(house.process.said("letter not opened yet")) == opened:  # noqa: ASYNC110 -- nothing tells
                    await asyncio.sleep(0.01)
            meanwhile = [*house.slack.state.of_bot(channel), *house.whispers(ada)]
        finally:
            records.execute("DROP TRIGGER away")

    await house.ended(channel)

    assert meanwhile == (["On it …"] if way == "command" else [])


@pytest.mark.asyncio(loop_scope="module")
async def test_who_asks_in_a_long_outage_of_the_records_is_told_what_is_waited_for(house: SlackHouse) -> None:
    """Once, whichever way they asked; the answers come when the records are back."""
    ada, bo, cy, slack = house.person(), house.person(), house.person(), house.slack
    asked_in = {ada: house.channel(ada), bo: house.channel(bo), cy: slack.state.direct(cy)}

    def told(person: str) -> list[str]:
        said = [*house.whispers(person), *(one.text for one in slack.state.of_bot(asked_in[person]))]
        return [text for text in said if text.startswith(wording.RECORDS_AWAY)]

    with sqlite3.connect(Path(house.env["GORKD_DATA"]) / "gorkd.db", isolation_level=None, timeout=20) as records:
        records.execute("CREATE TRIGGER away BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'away'); END")
        try:
            await slack.mentions(ada, asked_in[ada], QUESTION)
            await slack.commands(bo, asked_in[bo], QUESTION)
            await slack.direct(cy, QUESTION)
            await slack.until(lambda: all(told(person) for person in asked_in), within_s=15)
            meanwhile = [len(told(person)) for person in asked_in]
        finally:
            records.execute("DROP TRIGGER away")

    for channel in asked_in.values():
        await house.ended(channel)

    assert (meanwhile, [len(told(person)) for person in asked_in]) == ([1, 1, 1], [1, 1, 1])


async def test_what_was_acknowledged_outlives_a_kill_before_it_is_looked_up(tmp_path: Path) -> None:
    """Stored first: the next process looks up, reads the file, and answers each once."""
    async with two_processes(tmp_path, "auto") as two:
        slack = two.slack
        async with slow(slack.api, 60.0):
            asked = [
                await slack.mentions(ADA, GENERAL, QUESTION),
                await slack.mentions(ADA, GENERAL, "How much does the mill grind?", files=[report(slack)]),
            ]
            await slack.commands(ADA, GENERAL, "What is raised by the tides?")
            await two.app.killed()
        assert slack.state.of_bot(GENERAL) == []
        assert [call for call in slack.api.calls if call.method == "chat.postMessage"] == []

        await two.restart_app()
        await slack.until(lambda: len(two.of("Research Complete")) == 3, within_s=60)
        await slack.until(lambda: len(two.of("Sources: ")) == 3)

    assert min(ack.seconds for ack in slack.acks) < ACK_S
    assert max(ack.seconds for ack in slack.acks) < BUSY_S
    assert {one.thread_ts for one in two.of("Research Complete")} == {"", *(one.ts for one in asked)}
    assert len(slack.state.of_bot(GENERAL)) == 6


async def test_a_question_that_is_taken_back_before_it_is_looked_up_is_not_answered(tmp_path: Path) -> None:
    """Whoever deletes it at once is heard, also by the next process."""
    async with two_processes(tmp_path, "auto") as two:
        slack = two.slack
        async with slow(slack.api, 60.0):
            asked = await slack.mentions(ADA, GENERAL, QUESTION)
            await slack.deletes(asked)
            await two.app.killed()
        await two.restart_app()
        await asyncio.wait_for(slack.socket.connected.wait(), 20)
        kept = await slack.mentions(ADA, GENERAL, "What is raised by the tides?")
        await slack.until(lambda: two.of("Research Complete"))

    assert {one.thread_ts for one in slack.state.of_bot(GENERAL)} == {kept.ts}
