"""Streaming into a message: what is appended, what ends it, and how the message goes on then. No process, real SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from slack_sdk.errors import SlackApiError

from adapters.chat.reply import AddressDead, StoppedByPerson
from adapters.chat.slack.blocks import TODAYS
from adapters.chat.slack.client import NO_STREAMS, StreamGate, Workspace, web_client
from adapters.chat.slack.render import SlackVoice
from adapters.chat.slack.reply import SlackAddress, SlackReply
from core.presentation.snapshot import Snapshot
from tests.golden import samples
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import ADA, BOT, BOT_TOKEN, BOT_USER, GENERAL, TEAM, Message
from tests.loopback.slack_world import SlackWorld

VOICE = SlackVoice(samples.LINKS)
SEARCHING = Snapshot(stage="searching", message="Searching", queries=("eddystone height",))
WRITING = replace(SEARCHING, stage="synthesizing", message="Writing", sources=("trinity.example – Eddystone",))
TOLD = {"summary-0": "It is 49 metres tall [1].", "summary-1": "It was lit in 1882 [1][2]."}
MARKS = {"summary-0": "✓", "summary-1": "◐"}
FIRST = replace(WRITING, sentences={"summary-0": TOLD["summary-0"]}, marks=MARKS)
BOTH = replace(WRITING, sentences=TOLD, marks=MARKS)
FINAL = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)


@dataclass
class Desk:
    """Ada has asked in a channel; `reply` is the bot's message in that thread."""

    slack: SlackWorld
    reply: SlackReply
    gate: StreamGate
    thread_ts: str
    seconds: list[float] = field(default_factory=lambda: [0.0])

    async def shows(self, snapshot: Snapshot) -> None:
        await self.reply.edit(VOICE.progress(samples.RUNNING, snapshot, self.seconds[0]))

    async def after(self, seconds: float, snapshot: Snapshot) -> None:
        self.seconds[0] += seconds
        await self.shows(snapshot)

    @property
    def messages(self) -> list[Message]:
        """The living message, and the sources beneath it."""
        return self.slack.state.of_bot(GENERAL, self.thread_ts)

    @property
    def living(self) -> Message:
        return self.messages[0]

    def restarted(self, **changes: str) -> SlackReply:
        """What the next process makes of the address that was kept."""
        at = replace(SlackAddress.read(self.reply.address.data), **changes)
        return SlackReply(Workspace(TEAM, BOT, BOT_USER, self.reply.client, self.gate), at, is_doubtful=True)

    def calls(self, method: str) -> int:
        return sum(call.method == method for call in self.slack.api.calls)

    def assert_delivered_once(self) -> None:
        assert [one.text[:17] for one in self.messages] == ["Research Complete", "Sources: trinity."]
        assert self.living.blocks == [dict(block) for block in FINAL.blocks]
        assert self.living.metadata["event_payload"]["key"] == "k1"


@asynccontextmanager
async def opened_desk() -> AsyncIterator[Desk]:
    async with SlackWorld.open() as slack:
        asked = slack.state.says(ADA, GENERAL, "How tall is it?")
        seconds = [0.0]
        gate = StreamGate(clock=lambda: seconds[0])
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")
        at = SlackAddress(TEAM, ADA, "k1", GENERAL, asked.ts, conversation="slack:c")
        reply = SlackReply(Workspace(TEAM, BOT, BOT_USER, client, gate), at)
        yield Desk(slack, reply, gate, asked.ts, seconds)


def said(message: Message) -> str:
    """The sentences that stand there, the first in bold."""
    return "".join(block["text"] for block in message.blocks if block["type"] == "markdown")


async def test_stages_are_a_plan_and_sentences_follow_one_by_one_with_their_marks() -> None:
    async with opened_desk() as desk:
        for snapshot in (SEARCHING, WRITING, FIRST):
            await desk.shows(snapshot)
        early = said(desk.living)
        await desk.after(1.0, BOTH)
        plan = desk.living.blocks[0]

        await desk.reply.edit(FINAL)

        assert early == "**It is 49 metres tall [1]✓.**"
        assert plan["title"] == "Writing · 1.0 s"
        assert [(task["title"], task["status"]) for task in plan["tasks"]] == [
            ("Planning the search", "complete"),
            ("Searching", "complete"),
            ("Reading the sources", "complete"),
            ("Writing the answer and checking its citations", "in_progress"),
        ]
        assert [task.get("output", "") for task in plan["tasks"]] == [
            "“eddystone height”", "", "1 source: trinity.example", "",
        ]  # fmt: skip
        assert "It was lit in 1882 [1]◐[2]◐." in json.dumps(desk.living.stream.sent, ensure_ascii=False)
        assert desk.calls("chat.update") == 1
        desk.assert_delivered_once()


async def test_a_list_comes_as_a_list_and_its_lead_is_bold() -> None:
    """As the answer will stand there, so that nothing jumps."""
    first = replace(
        WRITING, sentences={"summary-1": "1. Boil it [1]."}, leads={"summary-1": "Do so:\n\n"}, marks={"summary-1": "✓"}
    )
    told = {**first.sentences, "summary-2": "2. Pour it [1]."}
    both = replace(
        first, sentences=told, leads={**first.leads, "summary-2": "\n"}, marks={**first.marks, "summary-2": "✓"}
    )
    async with opened_desk() as desk:
        await desk.shows(first)
        await desk.after(1.0, both)

        assert said(desk.living) == "**Do so:**\n\n1. Boil it [1]✓.\n2. Pour it [1]✓."


async def test_a_row_of_buttons_comes_once_and_cancel_is_there_from_the_start() -> None:
    async with opened_desk() as desk:
        await desk.shows(SEARCHING)
        await desk.after(10.0, SEARCHING)

        assert list(desk.living.buttons) == ["cancel"]
        assert [block["type"] for block in desk.living.blocks] == ["plan", "actions"]


@pytest.mark.parametrize(
    "later",
    [
        replace(FIRST, sentences={}, marks={}),
        replace(FIRST, sentences={"summary-0": "It is 41 metres tall [1]."}),
        replace(FIRST, earlier="How high is the Eddystone?"),
    ],
    ids=["taken back", "put otherwise", "an earlier answer is shown"],
)
async def test_what_a_stream_cannot_take_back_is_said_by_an_update(later: Snapshot) -> None:
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        await desk.shows(later)

        assert desk.calls("chat.stopStream") == 1
        assert "49 metres" not in desk.living.shown or later.earlier
        assert not desk.reply.is_streaming


async def test_stream_gives_way_to_updates_before_slack_ends_it() -> None:
    """Slack ends a stream after five minutes; what was shown stands in the same message, and no append is refused."""
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        await desk.after(269.0, FIRST)
        assert desk.reply.is_streaming

        await desk.after(2.0, BOTH)
        updated = list(desk.living.blocks)
        await desk.reply.edit(FINAL)

        assert not desk.reply.is_streaming
        assert "**It is 49 metres tall [1]✓.** It was lit in 1882 [1]◐[2]◐." in json.dumps(updated, ensure_ascii=False)
        assert [call.ok for call in desk.slack.api.calls] == [True] * len(desk.slack.api.calls)
        desk.assert_delivered_once()


@pytest.mark.parametrize(
    "kind",
    ["message_not_in_streaming_state", "streaming_mode_mismatch", "message_not_owned_by_app", "msg_too_long",
     "invalid_chunks", "fatal_error", "lost", "broken", "down"],
)  # fmt: skip
async def test_append_that_fails_costs_the_stream_and_nothing_else(kind: str) -> None:
    """The message goes on by updates; no sentence stands there twice, although an append may have been done."""
    async with opened_desk() as desk:
        await desk.shows(SEARCHING)
        desk.slack.api.faults["chat.appendStream"] = Fault(kind)
        await desk.shows(FIRST)
        updated = said(desk.living)
        await desk.reply.edit(FINAL)

        assert updated == "**It is 49 metres tall [1]✓.**"
        assert desk.calls("chat.appendStream") == 1
        desk.assert_delivered_once()


async def test_stream_that_slack_has_ended_is_gone_on_with_by_updates() -> None:
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        desk.slack.api.streams.life_s = 0.0
        await desk.shows(BOTH)
        await desk.reply.edit(FINAL)

        desk.assert_delivered_once()


async def test_limit_silences_the_streams_of_a_workspace_and_loses_no_sentence() -> None:
    """429: nothing is sent until Slack has said so; then everything that is new comes at once."""
    async with opened_desk() as desk:
        await desk.shows(SEARCHING)
        desk.slack.api.faults["chat.appendStream"] = Fault("limited", retry_after_s=30)
        await desk.shows(FIRST)
        await desk.after(29.0, BOTH)
        silent = desk.calls("chat.appendStream")
        await desk.after(2.0, BOTH)

        assert silent == 1
        assert said(desk.living) == "**It is 49 metres tall [1]✓.** It was lit in 1882 [1]◐[2]◐."


@pytest.mark.parametrize("kind", sorted(NO_STREAMS))
async def test_where_slack_forbids_streams_the_message_is_posted_and_they_are_tried_again_after_an_hour(
    kind: str,
) -> None:
    async with opened_desk() as desk:
        desk.slack.api.faults["chat.startStream"] = Fault(kind, times=1)
        await desk.shows(FIRST)
        await desk.reply.edit(FINAL)
        for seconds, key in ((3599.0, "k2"), (2.0, "k3")):
            desk.seconds[0] += seconds
            workspace = Workspace(TEAM, BOT, BOT_USER, desk.reply.client, desk.gate)
            again = SlackReply(workspace, replace(desk.reply.at, ts="", key=key))
            await again.edit(VOICE.progress(samples.RUNNING, SEARCHING, 0.0))

        assert desk.calls("chat.startStream") == 2
        assert [one.stream is not None for one in desk.messages] == [False, False, False, True]


@pytest.mark.parametrize("kind", ["not_in_channel", "invalid_blocks", "fatal_error", "messaging_processing_failed"])
async def test_any_other_refusal_costs_one_stream_and_not_those_of_the_channel(kind: str) -> None:
    """An invitation, another text, a moment later: the next question is streamed again."""
    async with opened_desk() as desk:
        desk.slack.api.faults["chat.startStream"] = Fault(kind)
        await desk.shows(SEARCHING)

        assert desk.gate.is_open(GENERAL)
        assert [one.stream for one in desk.messages] == [None]


async def test_limit_of_starts_is_not_waited_for() -> None:
    """Twenty streams a minute: who comes later is answered by updates at once."""
    async with opened_desk() as desk:
        desk.slack.api.faults["chat.startStream"] = Fault("limited", retry_after_s=60)
        async with asyncio.timeout(5):
            await desk.shows(SEARCHING)
            await desk.reply.edit(FINAL)

        desk.assert_delivered_once()
        assert not desk.gate.is_open(GENERAL)


@pytest.mark.parametrize("change", [{"thread_ts": ""}, {"ts": "1.000001"}, {"channel": ""}], ids=str)
async def test_without_a_thread_or_in_a_message_that_stands_nothing_is_streamed(change: dict[str, str]) -> None:
    async with opened_desk() as desk:
        own = SlackReply(Workspace(TEAM, BOT, BOT_USER, desk.reply.client, desk.gate), replace(desk.reply.at, **change))
        if "ts" in change:
            desk.slack.state.messages[GENERAL, "1.000001"] = Message(GENERAL, "1.000001", BOT_USER, "Research Failed")

        await own.edit(VOICE.progress(samples.RUNNING, SEARCHING, 0.0))

        assert desk.calls("chat.startStream") == 0


@pytest.mark.parametrize("is_told", [True, False], ids=["where is kept", "killed before that"])
async def test_restarted_bot_ends_the_open_stream_and_delivers_into_its_message(is_told: bool) -> None:
    """The address may have been lost with the process: then its tasks tell whose message it is."""
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        later = desk.restarted() if is_told else desk.restarted(ts="", streamed="")

        await later.edit(VOICE.progress(samples.RUNNING, BOTH, 60.0))
        await later.edit(FINAL)

        assert desk.calls("chat.startStream") == 1
        desk.assert_delivered_once()


async def test_deleted_stream_is_replaced_by_a_message_that_is_updated() -> None:
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        old = desk.living
        old.is_deleted = True
        with pytest.raises(AddressDead):
            await desk.shows(BOTH)
        await desk.reply.repost(VOICE.progress(samples.RUNNING, BOTH, 1.0), "job_1")
        await desk.reply.edit(FINAL)

        assert [one.text[:17] for one in desk.messages] == ["Research Complete", "Sources: trinity."]
        assert desk.living.ts != old.ts


async def test_who_takes_every_message_away_is_answered_in_direct_messages_and_then_no_more() -> None:
    """A channel whose moderator removes all that we post was posted into with every step of the progress."""
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        places = [desk.living.channel]
        for _ in range(3):
            desk.living.is_deleted = True
            await desk.reply.repost(VOICE.progress(samples.RUNNING, BOTH, 1.0), "job_1")
            places.append(desk.reply.at.channel)
        desk.slack.state.messages[desk.reply.at.channel, desk.reply.at.ts].is_deleted = True
        with pytest.raises(AddressDead):
            await desk.reply.repost(FINAL, "job_1")

        assert places == [GENERAL, GENERAL, GENERAL, f"D{ADA}"]


async def test_message_that_takes_no_update_is_replaced_and_removed() -> None:
    """There is one final answer, whatever Slack makes of a stream that has ended."""
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        desk.slack.api.faults["chat.update"] = Fault("block_mismatch")
        with pytest.raises(AddressDead):
            await desk.reply.edit(FINAL)
        await desk.reply.repost(FINAL, "job_1")

        assert [one.text[:17] for one in desk.messages] == ["Research Complete", "Sources: trinity."]


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_answer_whose_blocks_slack_refuses_is_said_in_plainer_ones(is_streamed: bool) -> None:
    """A kind of block that a workspace does not take yet costs its look, never the answer."""
    async with opened_desk() as desk:
        if is_streamed:
            await desk.shows(FIRST)
        desk.slack.api.faults["chat.update" if is_streamed else "chat.postMessage"] = Fault("invalid_blocks")
        await desk.reply.edit(FINAL)

        assert [one.text[:17] for one in desk.messages] == ["Research Complete", "Sources: trinity."]
        assert "The Eddystone lighthouse is 49 metres tall [1]✓[2]◐." in desk.living.shown
        assert not TODAYS & {block["type"] for block in desk.living.blocks}


@pytest.mark.parametrize("kind", ["lost", "broken"])
async def test_lost_reply_to_the_end_of_a_stream_is_asked_for_again(kind: str) -> None:
    async with opened_desk() as desk:
        await desk.shows(FIRST)
        desk.slack.api.faults["chat.stopStream"] = Fault(kind)
        await desk.reply.edit(FINAL)

        desk.assert_delivered_once()


async def test_stop_of_a_person_is_reported_until_it_is_heeded() -> None:
    async with opened_desk() as desk:
        await desk.shows(SEARCHING)
        desk.slack.api.streams.stopped_by_person(desk.living)
        for _ in range(2):
            with pytest.raises(StoppedByPerson):
                await desk.shows(FIRST)
        await desk.reply.edit(FINAL)

        desk.assert_delivered_once()


STARTED = {"channel": GENERAL, "recipient_user_id": ADA, "recipient_team_id": TEAM}
TEXT = {"type": "markdown_text", "text": "Hello."}


@pytest.mark.parametrize(
    ("method", "given", "refusal"),
    [
        ("startStream", {"recipient_user_id": None}, "missing_recipient_user_id"),
        ("startStream", {"recipient_team_id": None}, "missing_recipient_team_id"),
        ("startStream", {"recipient_user_id": "U9NOBODY"}, "user_not_found"),
        ("startStream", {"chunks": [TEXT], "markdown_text": "x"}, "cannot_provide_both_markdown_text_and_chunks"),
        ("startStream", {"chunks": [{"type": "task_update", "id": "1", "title": "x"}]}, "invalid_chunks"),
        ("startStream", {"chunks": [{"type": "task_update", "id": "1", "title": "x", "status": "complete",
                                     "output": "x" * 257}]}, "invalid_chunks"),
        ("startStream", {"chunks": [{**TEXT, "text": "x" * 12_001}]}, "invalid_chunks"),
        ("startStream", {"chunks": [{"type": "blocks", "blocks": [{"type": "divider"}] * 51}]}, "invalid_chunks"),
        ("appendStream", {}, "no_text"),
        ("appendStream", {"markdown_text": "Hello."}, "streaming_mode_mismatch"),
        ("appendStream", {"chunks": [{**TEXT, "text": "x" * 11_999}]}, "msg_too_long"),
        ("appendStream", {"chunks": [TEXT], "ts": "ended"}, "message_not_in_streaming_state"),
        ("appendStream", {"chunks": [TEXT], "ts": "asked"}, "message_not_owned_by_app"),
        ("stopStream", {"ts": "ended"}, "message_not_in_streaming_state"),
        ("update", {"text": "x"}, "streaming_state_conflict"),
    ],
)  # fmt: skip
async def test_loopback_refuses_what_slack_refuses(method: str, given: dict[str, object], refusal: str) -> None:
    """A test that passes here must mean something there (docs.slack.dev, chat.startStream and its kin)."""
    async with opened_desk() as desk:
        client = desk.reply.client
        stream = await client.chat_startStream(**STARTED, thread_ts=desk.thread_ts, chunks=[TEXT])
        ended = await client.chat_startStream(**STARTED, thread_ts=desk.thread_ts, chunks=[TEXT])
        await client.chat_stopStream(channel=GENERAL, ts=ended["ts"])
        names = {"ended": ended["ts"], "asked": desk.thread_ts}
        base = (
            {**STARTED, "thread_ts": desk.thread_ts}
            if method == "startStream"
            else {"channel": GENERAL, "ts": stream["ts"]}
        )
        arguments = {**base, **given}
        arguments["ts" if "ts" in arguments else "channel"] = names.get(
            str(arguments.get("ts")), arguments.get("ts", GENERAL)
        )

        with pytest.raises(SlackApiError) as refused:
            await client.api_call(
                f"chat.{method}", json={key: one for key, one in arguments.items() if one is not None}
            )

        assert refused.value.response["error"] == refusal
        desk.slack.api.violations.clear()
