"""Deep research in Discord and in Slack: over real abstracts, past Discord's 15 minutes, and with everything killed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.chat.discord.test_faults import SCALED_TOKEN_S
from tests.adapters.durable.processes import Process
from tests.core.deep.test_end_to_end import PMID
from tests.core.deep.test_kill import USUAL, Stuck
from tests.core.deep.world import QUESTION, DeepWorld, read_studies
from tests.loopback.discord_house import House, discord_house
from tests.loopback.openai_responders import by_schema
from tests.loopback.slack_state import ADA, GENERAL, Message
from tests.loopback.slack_world import SlackWorld

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
ITEM = "How many patients were studied"


@pytest.fixture
async def world() -> AsyncIterator[DeepWorld]:
    async with DeepWorld.of(read_studies()) as opened:
        opened.model.respond = by_schema(USUAL)
        yield opened


async def hanging(world: DeepWorld) -> None:
    await asyncio.wait_for(world.model.hanging.wait(), 40)
    world.model.hanging.clear()


async def restarted(house: House) -> None:
    """Bot and worker are killed and started again."""
    await house.worker.killed()
    await house.bot.killed()
    await asyncio.gather(house.start_worker(), house.start_bot())


async def test_in_discord_a_reply_adds_an_item_and_all_of_it_survives_a_restart(
    world: DeepWorld, tmp_path: Path
) -> None:
    """S002-22, D9: kill -9 of bot and worker in round 1, "answer now" in round 2; one message from plan to answer."""
    async with discord_house(tmp_path, env=world.env(tmp_path)) as house:
        world.model.respond = Stuck("facts", 1)
        asked = house.discord.slash("research", query=QUESTION, mode="deep", max_iterations=5)
        await hanging(world)
        running = await house.running(asked)
        await house.discord.until(lambda: "○ 1. " in running.text)
        said = house.discord.say(f"@gorkd add: {ITEM}", reply_to=running)
        await house.discord.until(lambda: any(message == said.id for message, _ in house.discord.reactions))
        world.model.respond = Stuck("queries", 1)
        await restarted(house)
        await hanging(world)
        await house.discord.until(lambda: ITEM in running.text, within_s=40)
        plan = running.text
        house.discord.press(running, "Answer Now")
        answer = await house.final(asked, within_s=40)
        problems = house.discord.problems

    assert "of 5" in plan
    assert answer is running
    assert "Research Complete" in answer.text
    assert PMID in json.dumps(answer.to_json())
    assert problems == []


async def test_in_discord_research_that_outlasts_its_token_moves(world: DeepWorld, tmp_path: Path) -> None:
    """A job of more than 15 minutes, scaled: its plan and its answer go on in a new message, and it is one."""
    async with discord_house(tmp_path, env=world.env(tmp_path), token_s=SCALED_TOKEN_S) as house:
        world.model.first_token_s = SCALED_TOKEN_S / 5  # of each of the calls: refine, three a round, answer
        asked = house.discord.slash("research", query=QUESTION, mode="deep", max_iterations=3)

        def finals() -> list[str]:
            return [one.text for one in house.discord.said_in(house.discord.open) if "Research Complete" in one.text]

        await house.discord.until(finals, within_s=60)
        first = house.discord.replies_to(asked)[0].text
        problems, thinking = house.discord.problems, house.discord.thinking

        assert len(finals()) == 1
    assert "new message below" in first
    assert (problems, thinking) == ([], [])


async def test_in_slack_a_reply_adds_an_item_and_all_of_it_survives_a_restart(world: DeepWorld, tmp_path: Path) -> None:
    """S002-22, D9: kill -9 of app and worker in round 1, "answer now" in round 2; one message from plan to answer."""
    async with SlackWorld.open() as slack:
        # The checklist in the message itself; as a stream's plan it is told in tests/adapters/chat/slack/test_deep.py.
        env = {**world.env(tmp_path), **slack.env(), "GORKD_SLACK_STREAMING": "off"}
        world.model.respond = Stuck("facts", 1)
        worker, app = await Process.start("worker", env), await Process.start("slack", env, wait=False)
        try:
            await asyncio.wait_for(slack.socket.connected.wait(), 20)
            asked = await slack.mentions(ADA, GENERAL, f"mode:deep max_iterations:5 {QUESTION}")
            await hanging(world)
            await slack.until(lambda: any('"title": "1. ' in shown(one) for one in slack.state.of_bot(GENERAL)))
            running = slack.state.of_bot(GENERAL)[0]
            said = slack.state.says(ADA, GENERAL, f"add: {ITEM}", asked.ts)
            await slack.send("event", slack.event("message", said, channel_type="channel"))
            await slack.until(lambda: said.reactions or slack.state.ephemerals)
            world.model.respond = Stuck("queries", 1)
            await worker.killed()
            await app.killed()
            slack.socket.connected.clear()
            worker, app = await Process.start("worker", env), await Process.start("slack", env, wait=False)
            await asyncio.wait_for(slack.socket.connected.wait(), 20)
            await hanging(world)
            await slack.until(lambda: ITEM in shown(running), within_s=40)
            await slack.clicks(ADA, running, "answer_now")
            await slack.until(lambda: running.text.startswith("Research Complete"), within_s=40)
            await slack.until(lambda: len(slack.state.of_bot(GENERAL)) == 2)
        finally:
            await app.killed()
            await worker.killed()
        ended = slack.state.of_bot(GENERAL)

    assert [one.text.startswith("Research Complete") for one in ended] == [True, False]
    assert any(PMID in shown(one) for one in ended)


def shown(message: Message) -> str:
    return json.dumps(message.blocks, ensure_ascii=False)
