"""The message that lives, by streams and by updates: people get the same, whatever Slack and the network do to it."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.adapters.chat.slack.house import COMPLETE, PUBLIC_URL, SlackHouse
from tests.adapters.durable.outside import QUESTION, USUAL, hang_at, heal
from tests.loopback.openai_responders import ChatCall, by_schema, tokenise
from tests.loopback.openai_responders import Fault as ModelFault
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import BOT_USER
from tests.shared_data import shared_data

ACK_S = 1.0
WAITING = "Waiting for a free worker …"
FIRST = "The tides are caused by the gravity of the Moon and of the Sun [1]✓."
pytestmark = pytest.mark.asyncio(loop_scope="module")


def hang_in_detail(call: ChatCall) -> ModelFault:
    """The summary is written, then nothing more comes."""
    text = str(USUAL["answer"](call))
    return ModelFault(text=text, hang_after=len(tokenise(text[: text.index('"detail"')])) + 6)


async def test_mention_in_a_channel_is_answered_in_its_thread(either: SlackHouse) -> None:
    """C-01, C-05, S003-21, G-03: one living message in the thread, its sources as a second one, a link to its page."""
    ada, channel = either.newcomer()

    asked = await either.slack.mentions(ada, channel, QUESTION)
    answer = await either.ended(channel)
    sources = await either.sources_of(asked.ts)

    assert either.slack.acks[-1].seconds < ACK_S
    assert (answer.thread_ts, sources.thread_ts) == (asked.ts, asked.ts)
    assert (answer.stream is not None) == (either.first_call == "chat.startStream")
    assert FIRST in answer.shown
    assert answer.metadata["event_payload"]["part"] == "answer"
    assert set(answer.buttons) >= {"view_full_analysis", "show_sources", "share", "ask_again", "rate"}
    assert answer.buttons["view_full_analysis"]["url"].startswith(f"{PUBLIC_URL}/jobs/job_")
    assert "> The tides are caused by the gravity of the Moon" in sources.shown
    assert len(either.slack.state.of_bot(channel)) == 2


async def test_checked_sentences_are_seen_while_the_rest_is_written(either: SlackHouse) -> None:
    """The short answer stands there before the answer is complete; a Cancel then still cancels."""
    ada, channel = either.newcomer()
    either.world.model.respond = by_schema({**USUAL, "answer": hang_in_detail})

    await either.slack.mentions(ada, channel, QUESTION.replace("tides", "tides here"))
    await either.slack.until(
        lambda: any(FIRST in json.dumps(one.blocks, ensure_ascii=False) for one in either.slack.state.of_bot(channel))
    )
    running = either.slack.state.of_bot(channel)[0]
    endings = either.endings(channel)
    await either.slack.clicks(ada, running, "cancel")
    ended = await either.ended(channel)
    heal(either.world)

    assert endings == []
    assert ended.ts == running.ts
    assert FIRST not in ended.shown
    assert len(either.slack.state.of_bot(channel)) == 1


async def test_slacks_own_stop_cancels_the_question_it_was_pressed_on(house: SlackHouse) -> None:
    """The event names the stream; another question in the same thread is left alone."""
    ada, channel = house.newcomer()
    hang_at("answer", hang_first=True)(house.world)
    asked = await house.slack.mentions(ada, channel, "Which tides does the Moon raise?")
    await asyncio.wait_for(house.world.model.hanging.wait(), 40)
    await house.slack.mentions(ada, channel, "Which tides does the Sun raise?", thread_ts=asked.ts)
    await house.slack.until(lambda: len(house.slack.state.of_bot(channel)) == 2)
    stopped, other = house.slack.state.of_bot(channel)

    await house.slack.stops(ada, stopped)
    ended = await house.ended(channel)
    await house.slack.clicks(ada, other, "cancel")
    await house.ended(channel, times=2)
    heal(house.world)

    assert (ended.ts, ended.text[:18]) == (stopped.ts, "Research Cancelled")


async def test_stop_that_is_told_by_a_refusal_alone_cancels_too(house: SlackHouse) -> None:
    """An app that Slack sends no such event to hears of it with its next append."""
    ada, channel = house.newcomer()
    house.world.model.respond = by_schema({**USUAL, "answer": hang_in_detail})
    await house.slack.mentions(ada, channel, "What raises the tides in the ocean?")
    await house.slack.until(lambda: house.slack.state.of_bot(channel))

    await house.slack.stops(ada, house.slack.state.of_bot(channel)[0], is_heard=False)
    ended = await house.ended(channel)
    heal(house.world)

    assert ended.text.startswith("Research Cancelled")
    assert len(house.slack.state.of_bot(channel)) == 1


async def test_only_who_asked_can_cancel(either: SlackHouse) -> None:
    """G-03: Cancel while it runs; what was cancelled says so."""
    ada, channel = either.newcomer()
    ben = either.person(channel)
    hang_at("answer", hang_first=True)(either.world)

    await either.slack.mentions(ada, channel, "Which tides are caused by the Moon?")
    await asyncio.wait_for(either.world.model.hanging.wait(), 40)
    await either.slack.until(lambda: either.slack.state.of_bot(channel))
    running = either.slack.state.of_bot(channel)[0]
    await either.slack.clicks(ben, running, "cancel")
    await either.slack.until(lambda: either.whispers(ben))
    await either.slack.clicks(ada, running, "cancel")
    ended = await either.ended(channel)
    heal(either.world)

    assert either.whispers(ben) == ["Only the person who asked can do that."]
    assert ended.text.startswith("Research Cancelled")
    assert ended.ts == running.ts


@pytest.mark.parametrize("kind", ["lost", "broken"])
async def test_lost_reply_to_the_first_call_does_not_make_two_messages(either: SlackHouse, kind: str) -> None:
    """The message is there although nobody heard of it: it is found by its mark, and goes on."""
    ada, channel = either.newcomer()
    either.slack.api.faults[either.first_call] = Fault(kind)

    asked = await either.slack.mentions(ada, channel, QUESTION)
    await either.ended(channel)
    await either.sources_of(asked.ts)

    assert len(either.slack.state.of_bot(channel)) == 2


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_limit_is_waited_for(either: SlackHouse, method: str) -> None:
    """429 is honoured: the same call comes again when Slack has said so, and not before."""
    ada, channel = either.newcomer()
    either.slack.api.faults[method] = Fault("limited", retry_after_s=1)

    asked = await either.slack.mentions(ada, channel, QUESTION)
    await either.ended(channel)
    await either.sources_of(asked.ts)

    calls = [call for call in either.slack.api.calls if call.method == method]
    refused = next(number for number, call in enumerate(calls) if not call.ok and call.arguments["channel"] == channel)
    assert calls[refused + 1].at - calls[refused].at >= 1
    assert len(either.slack.state.of_bot(channel)) == 2


async def test_deleted_message_is_replaced_once(either: SlackHouse) -> None:
    ada, channel = either.newcomer()
    hang_at("answer", hang_first=True)(either.world)
    await either.slack.mentions(ada, channel, "Which tides does the Sun cause?")
    await asyncio.wait_for(either.world.model.hanging.wait(), 40)
    await either.slack.until(lambda: either.slack.state.of_bot(channel))
    placeholder = either.slack.state.of_bot(channel)[0]

    placeholder.is_deleted = True
    await either.slack.clicks(ada, placeholder, "cancel")
    ended = await either.ended(channel)
    heal(either.world)

    assert ended.ts != placeholder.ts
    assert len(either.slack.state.of_bot(channel)) == 1


async def test_an_answer_to_a_channel_that_the_bot_was_taken_out_of_comes_in_direct_messages(
    either: SlackHouse,
) -> None:
    """Nothing is lost; what stood in the channel can no longer be changed by us."""
    ada, channel = either.newcomer()
    either.world.model.first_token_s = 2.0
    await either.slack.mentions(ada, channel, "Which tides does the Moon cause alone?")
    await either.slack.until(lambda: either.slack.state.of_bot(channel))

    either.slack.state.channels[channel].members.discard(BOT_USER)
    answer = await either.ended(f"D{ada}")
    either.world.model.first_token_s = 0.0

    assert COMPLETE in answer.text
    assert either.endings(channel) == []


@pytest.mark.slow
async def test_known_mention_and_link_tricks_are_answered_harmlessly(either: SlackHouse) -> None:
    """Whatever is asked, Slack accepts the reply and it mentions nobody."""
    lines = shared_data("hostile_sample", "mention_link_cases.jsonl").read_text("utf-8").splitlines()
    payloads = [json.loads(line)["payload"] for line in lines][::4]

    for payload in payloads:
        ada, channel = either.newcomer()
        await either.slack.mentions(ada, channel, f"Is this true about tides: {payload}")
        await either.slack.until(
            lambda channel=channel: any(one.text not in ("", WAITING) for one in either.slack.state.of_bot(channel))
        )
        for posted in either.slack.state.of_bot(channel):
            streamed = [chunk for _, chunk in posted.stream.sent] if posted.stream else []
            texts = posted.shown + posted.text + json.dumps(streamed)
            assert "<!" not in texts
            assert "<@" not in texts
