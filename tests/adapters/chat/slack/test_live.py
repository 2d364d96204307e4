"""The message that lives, by streams and by updates: one answer each, whatever Slack and the network do to it."""

from __future__ import annotations

import asyncio
import json

import pytest

from core.model.job import ResearchRequest, Scope
from core.presentation import wording
from tests.adapters.chat.slack.house import COMPLETE, PUBLIC_URL, SlackHouse
from tests.adapters.durable.outside import QUESTION, USUAL, hang_at, heal
from tests.adapters.durable.processes import front
from tests.core.deep.test_kill import Stuck
from tests.loopback.deep_responders import DEEP
from tests.loopback.openai_responders import ChatCall, by_schema, tokenise
from tests.loopback.openai_responders import Fault as ModelFault
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import BOT_USER
from tests.shared_data import shared_data

ACK_S = 1.0
WAITING = "Waiting for a free worker …"
FIRST = "The tides are caused by the gravity of the Moon and of the Sun [1]✓."
ANSWERS = {**USUAL, **DEEP}
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


async def test_only_who_asked_can_cancel(house: SlackHouse) -> None:
    """G-03: Cancel while it runs; what was cancelled says so."""
    ada, channel = house.newcomer()
    ben = house.person(channel)
    hang_at("answer", hang_first=True)(house.world)

    await house.slack.mentions(ada, channel, "Which tides are caused by the Moon?")
    await asyncio.wait_for(house.world.model.hanging.wait(), 40)
    await house.slack.until(lambda: house.slack.state.of_bot(channel))
    running = house.slack.state.of_bot(channel)[0]
    await house.slack.clicks(ben, running, "cancel")
    await house.slack.until(lambda: house.whispers(ben))
    await house.slack.clicks(ada, running, "cancel")
    ended = await house.ended(channel)
    heal(house.world)

    assert house.whispers(ben) == ["Only the person who asked can do that."]
    assert ended.text.startswith("Research Cancelled")
    assert ended.ts == running.ts


async def test_lost_reply_to_the_start_of_a_stream_does_not_make_two_messages(house: SlackHouse) -> None:
    """The message is there although nobody heard of it: it is found by its mark, and goes on."""
    ada, channel = house.newcomer()
    house.slack.api.faults["chat.startStream"] = Fault("lost")

    await house.answered(ada, channel)

    assert len(house.slack.state.of_bot(channel)) == 2


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_limit_is_waited_for(updating_house: SlackHouse, method: str) -> None:
    """429 is honoured: the same call comes again when Slack has said so, and not before."""
    house = updating_house
    ada, channel = house.newcomer()
    house.slack.api.faults[method] = Fault("limited", retry_after_s=1)

    await house.answered(ada, channel)

    calls = [call for call in house.slack.api.calls if call.method == method]
    refused = next(number for number, call in enumerate(calls) if not call.ok and call.arguments["channel"] == channel)
    assert calls[refused + 1].at - calls[refused].at >= 1
    assert len(house.slack.state.of_bot(channel)) == 2


async def test_deleted_message_is_replaced_once(updating_house: SlackHouse) -> None:
    house = updating_house
    ada, channel = house.newcomer()
    hang_at("answer", hang_first=True)(house.world)
    await house.slack.mentions(ada, channel, "Which tides does the Sun cause?")
    await asyncio.wait_for(house.world.model.hanging.wait(), 40)
    await house.slack.until(lambda: house.slack.state.of_bot(channel))
    placeholder = house.slack.state.of_bot(channel)[0]

    placeholder.is_deleted = True
    await house.slack.clicks(ada, placeholder, "cancel")
    ended = await house.ended(channel)
    heal(house.world)

    assert ended.ts != placeholder.ts
    assert len(house.slack.state.of_bot(channel)) == 1


async def test_an_answer_to_a_channel_that_the_bot_was_taken_out_of_comes_in_direct_messages(house: SlackHouse) -> None:
    """Nothing is lost; what stood in the channel can no longer be changed by us."""
    ada, channel = house.newcomer()
    house.world.model.first_token_s = 2.0
    await house.slack.mentions(ada, channel, "Which tides does the Moon cause alone?")
    await house.slack.until(lambda: house.slack.state.of_bot(channel))

    house.slack.state.channels[channel].members.discard(BOT_USER)
    house.world.model.first_token_s = 0.0
    answer = await house.ended(f"D{ada}")

    assert COMPLETE in answer.text
    assert house.endings(channel) == []


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


async def test_a_reply_in_its_thread_adds_an_item_and_a_click_takes_the_answer(house: SlackHouse) -> None:
    """D9, S002-02: it starts at once and says how long it takes; only its asker steers it; others may talk there."""
    ada, channel = house.newcomer()
    ben = house.person(channel)
    house.world.model.respond = Stuck("facts", 1, ANSWERS)

    asked = await house.slack.mentions(ada, channel, "mode:deep What causes the tides?")
    await asyncio.wait_for(house.world.model.hanging.wait(), 40)
    await house.slack.until(lambda: house.slack.state.of_bot(channel))
    running = house.slack.state.of_bot(channel)[0]
    await house.slack.until(lambda: '"1. ' in json.dumps(running.blocks, ensure_ascii=False))
    for user, text in ((ben, "add: his own point"), (ada, "add: the height of tides in Fundy")):
        said = house.slack.state.says(user, channel, text, asked.ts)
        await house.slack.send("event", house.slack.event("message", said, channel_type="channel"))
    await house.slack.until(lambda: said.reactions)
    await house.slack.clicks(ben, running, "answer_now")
    await house.slack.until(lambda: house.whispers(ben))
    await house.slack.clicks(ada, running, "answer_now")
    await house.slack.until(lambda: house.whispers(ada))
    house.world.model.respond = by_schema(ANSWERS)
    house.world.model.closing.set()  # the call that hung fails and is made once more
    ended = await house.ended(channel)
    house.world.model.closing.clear()
    heal(house.world)
    async with front(house.env) as stores:
        job = (await stores.deps.jobs.asked_by("slack:T1", ada, limit=1))[0]
        trace = await stores.researcher.tool_trace(job.id)

    assert house.whispers(ben) == ["Only the person who asked can do that."]
    assert said.reactions == ["eyes"]
    assert house.whispers(ada) == [wording.HEARD_ANSWER_NOW]
    assert ended.ts == running.ts
    assert trace.state["stopped_because"] == "asked"
    described = [item["description"] for item in trace.state["checklist"]]
    assert "the height of tides in Fundy" in described
    assert "his own point" not in described


@pytest.mark.slow
async def test_post_that_never_arrived_is_made_again(house: SlackHouse) -> None:
    ada, channel = house.newcomer()
    house.slack.api.faults["chat.postMessage"] = Fault("down", times=2)

    asked = await house.slack.mentions(ada, channel, QUESTION)
    await house.sources_of(asked.ts)

    assert (await house.ended(channel)).text.startswith("Research Complete")
    assert len(house.slack.state.of_bot(channel)) == 2


@pytest.mark.slow
async def test_final_update_is_tried_until_it_works(house: SlackHouse) -> None:
    """No answer is lost to a Slack that is away for a moment."""
    ada, channel = house.newcomer()
    hang_at("answer", hang_first=True)(house.world)
    await house.slack.mentions(ada, channel, "Which tides does the Moon cause?")
    await asyncio.wait_for(house.world.model.hanging.wait(), 40)
    house.slack.api.faults["chat.update"] = Fault("down", times=2)

    await house.slack.clicks(ada, house.slack.state.of_bot(channel)[0], "cancel")
    ended = await house.ended(channel)
    heal(house.world)

    assert ended.text.startswith("Research Cancelled")
    assert len(house.slack.state.of_bot(channel)) == 1


async def test_one_post_that_arrives_as_two_events_is_one_question(house: SlackHouse) -> None:
    """A mention in direct messages comes as `app_mention` and as `message`, and each may come again."""
    ada = house.person()
    channel = house.slack.state.direct(ada)
    asked = house.slack.state.says(ada, channel, f"<@UBOT> {QUESTION}")
    mention, message = house.slack.event("app_mention", asked), house.slack.event("message", asked, channel_type="im")

    await asyncio.gather(*(house.slack.send("event", event) for event in (mention, message, mention)))
    await house.ended(channel)
    await house.sources_of(asked.ts)
    for event in (message, mention):
        await house.slack.send("event", event)
    await house.slack.direct(ada, "help")
    await house.slack.until(lambda: len(house.slack.state.of_bot(channel)) == 3)

    assert len(house.endings(channel)) == 1


async def test_question_that_was_stored_by_an_app_that_died_at_once_is_answered_when_it_comes_again(
    house: SlackHouse,
) -> None:
    """Stored, researched to its end, and nobody had noted where its answer belongs: the event comes again."""
    ada, channel = house.newcomer()
    asked = house.slack.state.says(ada, channel, f"<@UBOT> {QUESTION}")
    request = ResearchRequest(QUESTION, Scope("slack:T1", "workspace"), asker=ada, thread=f"slack:{channel}:{asked.ts}")
    async with front(house.env) as other:
        job = await other.researcher.submit(request, dedupe_key=f"slack:T1:{channel}:{asked.ts}")
        async for _ in other.researcher.follow(job.id):
            pass

    await house.slack.send("event", house.slack.event("app_mention", asked))
    await house.ended(channel)
    await house.sources_of(asked.ts)

    assert len(house.slack.state.of_bot(channel)) == 2


async def test_edits_and_other_bots_ask_nothing(house: SlackHouse) -> None:
    ada = house.person()
    channel = house.slack.state.direct(ada)
    said = house.slack.state.says(ada, channel, QUESTION)
    for changes in ({"subtype": "message_changed"}, {"bot_id": "B2"}, {"user": "UBOT", "bot_id": "B1"}):
        await house.slack.send("event", house.slack.event("message", said, channel_type="im", **changes))
    await house.slack.direct(ada, "help")
    await house.slack.until(lambda: house.slack.state.of_bot(channel))

    assert house.endings(channel) == []


@pytest.mark.parametrize("how", ["", " private:yes"], ids=["open", "private"])
async def test_deleted_question_is_forgotten(house: SlackHouse, how: str) -> None:
    """Who takes a question back takes its answer back, wherever that was given."""
    ada, channel = house.newcomer()
    asked = await house.slack.mentions(ada, channel, f"{QUESTION}{how}")
    answer = await house.ended(house.slack.state.direct(ada) if how else channel)

    gone = {"subtype": "message_deleted", "deleted_ts": asked.ts, "previous_message": {"user": ada, "ts": asked.ts}}
    await house.slack.send("event", house.slack.event("message", asked, channel_type="channel", **gone))
    await house.slack.clicks(ada, answer, "show_sources")
    await house.slack.until(lambda: house.whispers(ada))

    assert house.whispers(ada) == ["That answer is no longer kept; please ask again."]


async def test_refreshed_connection_loses_nothing(house: SlackHouse) -> None:
    """Slack renews its connections every few hours."""
    ada, channel = house.newcomer()

    await house.slack.socket.refresh()
    await asyncio.wait_for(house.slack.socket.connected.wait(), 20)
    answer = await house.answered(ada, channel)

    assert answer.text.startswith("Research Complete")


@pytest.mark.slow
async def test_dropped_connection_is_made_again_and_the_event_comes_again(house: SlackHouse) -> None:
    """Slack sends what was not acknowledged once more; the question is answered once."""
    ada, channel = house.newcomer()

    await house.slack.socket.drop()
    answer = await house.answered(ada, channel)

    assert answer.text.startswith("Research Complete")
    assert len(house.endings(channel)) == 1


@pytest.mark.slow
async def test_burst_is_acknowledged_within_a_second_and_answered_once_each(house: SlackHouse) -> None:
    """S003-21: thirty questions at once from thirty people; the ack's limit is 3 s, ours 1 s (p99)."""
    people = [house.person() for _ in range(30)]
    channels = [house.channel(ada) for ada in people]
    before = len(house.slack.acks)

    await asyncio.gather(
        *(house.slack.mentions(ada, channel, QUESTION) for ada, channel in zip(people, channels, strict=True))
    )
    await house.slack.until(lambda: all(house.endings(channel) for channel in channels), within_s=50)

    seconds = sorted(ack.seconds for ack in house.slack.acks[before:])
    print(f"30 acks: median {seconds[15]:.3f} s, slowest {seconds[-1]:.3f} s")
    assert [ack.attempts for ack in house.slack.acks[before:]] == [1] * 30
    assert seconds[-1] < 3
    assert [len(house.endings(channel)) for channel in channels] == [1] * 30
