"""Deep research in a Slack thread: its plan, a reply that adds an item, and the answer when it is wanted."""

from __future__ import annotations

import asyncio
import json

import pytest

from core.presentation import wording
from tests.adapters.chat.slack.house import SlackHouse
from tests.adapters.durable.outside import USUAL
from tests.adapters.durable.processes import front
from tests.core.deep.test_kill import Stuck
from tests.loopback.deep_responders import DEEP
from tests.loopback.openai_responders import by_schema
from tests.loopback.slack_state import Message

ANSWERS = {**USUAL, **DEEP}
pytestmark = pytest.mark.asyncio(loop_scope="module")


def stands(message: Message, words: str) -> bool:
    return words in json.dumps(message.blocks, ensure_ascii=False)


async def test_a_reply_in_its_thread_adds_an_item_and_a_click_takes_the_answer(either: SlackHouse) -> None:
    """D9, S002-02: it starts at once and says how long it takes; only its asker steers it; others may talk there."""
    house = either
    ada, channel = house.newcomer()
    ben = house.person(channel)
    house.world.model.respond = Stuck("facts", 1, ANSWERS)

    asked = await house.slack.mentions(ada, channel, "mode:deep What causes the tides?")
    await asyncio.wait_for(house.world.model.hanging.wait(), 40)
    await house.slack.until(lambda: house.slack.state.of_bot(channel))
    running = house.slack.state.of_bot(channel)[0]
    await house.slack.until(lambda: stands(running, " 1. ") or stands(running, '"1. '))
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
