"""N-11: what chats show of an answer goes with it (docs/privacy.md), whoever forgets it and whatever restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.adapters.chat.slack.house import SlackHouse, slack_house
from tests.adapters.durable.outside import QUESTION
from tests.adapters.durable.processes import Process
from tests.adapters.durable.tables import select, until
from tests.commands import gorkd
from tests.loopback.discord_data import Message
from tests.loopback.discord_house import House, discord_house
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import Message as SlackMessage

SHOWN_WITHIN_S = 20.0  # what another process forgets is looked for every five seconds


@asynccontextmanager
async def threaded(data: Path) -> AsyncIterator[House]:
    """A Discord whose answers have their details in a thread."""
    async with discord_house(data, env={"GORKD_DISCORD_THREADS": "always"}) as house:
        yield house


async def answered(house: House) -> tuple[Message, Message]:
    """A question, and its answer with the thread under it."""
    question = house.discord.say(f"@gorkd {QUESTION}")
    answer = await house.final(question)
    await house.discord.until(lambda: answer.thread and len(house.discord.said_in(answer.thread)) == 2)
    return question, answer


async def delivered(house: House) -> None:
    """Wait until the bot has noted what stands where."""
    await until(lambda: not select(Path(house.env["GORKD_DATA"]), "SELECT 1 FROM addresses"))


def job_of(answer: Message) -> str:
    return str(answer.buttons["Show Sources"]["custom_id"]).partition(":")[2]


async def by_deleting(house: House, question: Message, answer: Message) -> None:
    house.discord.delete(question)


async def by_bulk(house: House, question: Message, answer: Message) -> None:
    house.discord.delete_all(question, house.discord.say("chatter"))


async def by_word(house: House, question: Message, answer: Message) -> None:
    house.discord.say("@gorkd forget this", reply_to=answer)


async def by_command(house: House, question: Message, answer: Message) -> None:
    assert (await gorkd("forget", "--job", job_of(answer), env=house.env)).code == 0


FORGET_IN_DISCORD = {
    "the question is deleted": by_deleting,
    "many messages are deleted": by_bulk,
    "a word": by_word,
    "the operator's command": by_command,
}


@pytest.mark.parametrize("restarts", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("forget", FORGET_IN_DISCORD.values(), ids=FORGET_IN_DISCORD)
async def test_in_discord_the_answer_and_its_thread_go(
    forget: Callable[[House, Message, Message], Awaitable[None]], restarts: bool, tmp_path: Path
):
    """The thread stays, for what people said in it, without our words and without the question as its name."""
    async with threaded(tmp_path) as house:
        question, answer = await answered(house)
        thread = answer.thread
        assert thread is not None
        if restarts:
            await delivered(house)
            await house.restart_bot()

        await forget(house, question, answer)
        await house.discord.until(
            lambda: answer.is_deleted and not house.discord.said_in(thread), within_s=SHOWN_WITHIN_S
        )

        assert QUESTION not in thread.name
        await until(lambda: not select(tmp_path, "SELECT 1 FROM condemned"))
        assert house.discord.problems == []


async def test_in_discord_what_is_forgotten_while_the_bot_is_off_goes_when_it_is_back(tmp_path: Path):
    async with threaded(tmp_path) as house:
        question, answer = await answered(house)
        await delivered(house)
        await house.bot.killed()

        await by_command(house, question, answer)
        await house.start_bot()
        await house.discord.until(lambda: answer.is_deleted, within_s=SHOWN_WITHIN_S)


async def test_in_discord_sources_that_were_listed_go_too(tmp_path: Path):
    async with threaded(tmp_path) as house:
        question, answer = await answered(house)
        listed = await house.final(house.discord.say("@gorkd sources", reply_to=answer))
        await delivered(house)

        house.discord.delete(question)

        await house.discord.until(lambda: answer.is_deleted and listed.is_deleted, within_s=SHOWN_WITHIN_S)


async def slack_by_deleting(house: SlackHouse, user: str, asked: SlackMessage) -> None:
    await house.slack.deletes(asked)


async def slack_by_word(house: SlackHouse, user: str, asked: SlackMessage) -> None:
    await house.slack.mentions(user, asked.channel, "forget this", thread_ts=asked.ts)


async def slack_by_command(house: SlackHouse, user: str, asked: SlackMessage) -> None:
    [(job_id,)] = select(Path(house.env["GORKD_DATA"]), "SELECT id FROM jobs")
    assert (await gorkd("forget", "--job", job_id, env=house.env)).code == 0


FORGET_IN_SLACK = {
    "the question is deleted": slack_by_deleting,
    "a word": slack_by_word,
    "the operator's command": slack_by_command,
}


@pytest.mark.parametrize("restarts", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("forget", FORGET_IN_SLACK.values(), ids=FORGET_IN_SLACK)
async def test_in_slack_the_answer_and_its_sources_go(
    forget: Callable[[SlackHouse, str, SlackMessage], Awaitable[None]], restarts: bool, tmp_path: Path
):
    async with slack_house(tmp_path) as house:
        ada = house.person()
        channel = house.channel(ada)
        asked = await house.slack.mentions(ada, channel, QUESTION)
        await house.ended(channel)
        await house.sources_of(asked.ts)
        await until(lambda: not select(tmp_path, "SELECT 1 FROM addresses"))
        if restarts:
            await house.process.killed()
            house.slack.socket.connected.clear()
            house.process = await Process.start("all", house.env)
            await house.slack.socket.connected.wait()

        await forget(house, ada, asked)

        await house.slack.until(lambda: not house.slack.state.of_bot(channel), within_s=SHOWN_WITHIN_S)
        assert house.slack.state.of_bot(thread_ts=asked.ts) == []


async def test_where_slack_keeps_a_message_it_is_emptied(tmp_path: Path):
    """A workspace may let nobody delete."""
    async with slack_house(tmp_path) as house:
        ada = house.person()
        channel = house.channel(ada)
        asked = await house.slack.mentions(ada, channel, QUESTION)
        answer = await house.ended(channel)
        sources = await house.sources_of(asked.ts)
        await until(lambda: not select(tmp_path, "SELECT 1 FROM addresses"))
        house.slack.api.faults["chat.delete"] = Fault("cant_delete_message", times=10)

        await house.slack.deletes(asked)
        await house.slack.until(
            lambda: all(one.text.startswith("Forgotten") for one in (answer, sources)), within_s=SHOWN_WITHIN_S
        )

        assert "gravity" not in str(answer.blocks) + str(sources.blocks)


async def test_in_slack_a_shared_copy_goes_too(tmp_path: Path):
    async with slack_house(tmp_path) as house:
        ada = house.person()
        channel = house.channel(ada)
        asked = await house.slack.mentions(ada, channel, QUESTION)
        answer = await house.ended(channel)
        await house.sources_of(asked.ts)
        await until(lambda: not select(tmp_path, "SELECT 1 FROM addresses"))
        noted = len(select(tmp_path, "SELECT 1 FROM shown"))
        await house.slack.shares(ada, answer)
        await until(lambda: len(select(tmp_path, "SELECT 1 FROM shown")) > noted)

        await house.slack.deletes(asked)
        await house.slack.until(lambda: not house.slack.state.of_bot(channel), within_s=SHOWN_WITHIN_S)


async def test_in_discord_a_shared_copy_goes_too(tmp_path: Path):
    async with threaded(tmp_path) as house:
        private = await house.final(house.discord.slash("research", query=QUESTION, private=True))
        confirm = await house.final(house.discord.press(private, "Share"))
        copy = await house.final(house.discord.press(confirm, "Share"))
        await delivered(house)
        [(job_id,)] = select(tmp_path, "SELECT id FROM jobs")
        await until(lambda: len(select(tmp_path, "SELECT 1 FROM shown")) >= 2)

        assert (await gorkd("forget", "--job", job_id, env=house.env)).code == 0
        await house.discord.until(lambda: copy.is_deleted, within_s=SHOWN_WITHIN_S)
