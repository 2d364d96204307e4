"""N-11: what chats show of an answer goes with it (docs/privacy.md), whoever forgets it and whatever restarts."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.adapters.chat.slack.house import SlackHouse, slack_house
from tests.adapters.durable.outside import QUESTION
from tests.adapters.durable.tables import select, until
from tests.commands import gorkd
from tests.loopback.discord_data import Message
from tests.loopback.discord_house import House, discord_house
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import Message as SlackMessage

pytestmark = pytest.mark.asyncio(loop_scope="module")
SHOWN_WITHIN_S = 20.0
LOOKS = {"LOOPBACK_LOOK_S": "0.3"}  # for what another process forgets
PLACES = ("Brest", "Dover", "Fundy", "Cuxhaven")
WAYS = ("the question is deleted", "many messages are deleted", "a word", "the operator's command")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One Discord for all tests, whose answers have their details in a thread."""
    async with discord_house(tmp_path_factory.mktemp("d"), env={"GORKD_DISCORD_THREADS": "always", **LOOKS}) as house:
        yield house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def slack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("s"), **LOOKS) as house:
        yield house


def data_of(house: House | SlackHouse) -> Path:
    return Path(house.env["GORKD_DATA"])


def question_about(place: str) -> str:
    return f"{QUESTION[:-1]} at {place}?"


async def answered(house: House, text: str = QUESTION) -> tuple[Message, Message]:
    """A question, and its answer with the thread under it."""
    question = house.discord.say(f"@gorkd {text}")
    answer = await house.final(question)
    await house.discord.until(lambda: answer.thread and len(house.discord.said_in(answer.thread)) == 2)
    return question, answer


async def delivered(house: House | SlackHouse) -> None:
    """Wait until the bot has noted what stands where."""
    await until(lambda: not select(data_of(house), "SELECT 1 FROM addresses"))


async def none_stands(world: Any, standing: Callable[[], list[str]]) -> None:
    """Wait until nothing is left of what was forgotten in any of these ways; `world` tells when it changes."""
    with contextlib.suppress(TimeoutError):
        await world.until(lambda: not standing(), within_s=SHOWN_WITHIN_S)
    assert standing() == []


def job_of(answer: Message) -> str:
    return str(answer.buttons["Show Sources"]["custom_id"]).partition(":")[2]


async def forgotten_by_command(house: House | SlackHouse, job_id: str) -> None:
    assert (await gorkd("forget", "--job", job_id, env=house.env)).code == 0


async def test_in_discord_the_answer_and_its_thread_go_at_once(house: House):
    """The thread stays, for what people said in it, without our words and without the question as its name."""
    asked = {how: await answered(house, question_about(place)) for how, place in zip(WAYS, PLACES, strict=True)}

    house.discord.delete(asked["the question is deleted"][0])
    house.discord.delete_all(asked["many messages are deleted"][0], house.discord.say("chatter"))
    house.discord.say("@gorkd forget this", reply_to=asked["a word"][1])
    await forgotten_by_command(house, job_of(asked["the operator's command"][1]))

    await all_gone(house, asked)


async def test_in_discord_they_go_after_a_restart_too_and_what_was_forgotten_meanwhile(house: House):
    asked = {how: await answered(house, question_about(place)) for how, place in zip(WAYS[1:], PLACES, strict=False)}
    await delivered(house)
    await house.bot.killed()

    await forgotten_by_command(house, job_of(asked["the operator's command"][1]))
    await house.start_bot()
    house.discord.delete_all(asked["many messages are deleted"][0], house.discord.say("chatter"))
    house.discord.say("@gorkd forget this", reply_to=asked["a word"][1])

    await all_gone(house, asked)


async def all_gone(house: House, asked: Mapping[str, tuple[Message, Message]]) -> None:
    threads = {how: answer.thread for how, (_, answer) in asked.items() if answer.thread}
    await none_stands(
        house.discord,
        lambda: [
            how for how, (_, answer) in asked.items() if not answer.is_deleted or house.discord.said_in(threads[how])
        ],
    )
    assert [thread.name for thread in threads.values() if QUESTION[:-1] in thread.name] == []
    await until(lambda: not select(data_of(house), "SELECT 1 FROM condemned"))
    assert house.discord.problems == []


async def test_in_discord_sources_receipts_and_shared_copies_go_too(house: House):
    """What was listed under an answer or handed out of it, and the copy of a private one."""
    question, answer = await answered(house)
    listed = await house.final(house.discord.say("@gorkd sources", reply_to=answer))
    receipt = await house.final(house.discord.say("@gorkd export", reply_to=answer))
    private = await house.final(house.discord.slash("research", query=question_about("Brest"), private=True))
    noted = len(select(data_of(house), "SELECT 1 FROM shown"))
    confirm = await house.final(house.discord.press(private, "Share"))
    copy = await house.final(house.discord.press(confirm, "Share"))
    await delivered(house)
    await until(lambda: len(select(data_of(house), "SELECT 1 FROM shown")) > noted)

    house.discord.delete(question)
    await forgotten_by_command(house, job_of(private))

    await house.discord.until(
        lambda: all(one.is_deleted for one in (answer, listed, receipt, copy)), within_s=SHOWN_WITHIN_S
    )


async def slack_answered(house: SlackHouse, user: str, text: str = QUESTION) -> SlackMessage:
    """A question of somebody in a channel of its own, once its answer and sources are noted."""
    asked = await house.slack.mentions(user, house.channel(user), text)
    await house.ended(asked.channel)
    await house.sources_of(asked.ts)
    await delivered(house)
    return asked


async def slack_by_command(house: SlackHouse, asked: SlackMessage) -> None:
    [(job_id,)] = select(data_of(house), f"SELECT id FROM jobs WHERE job LIKE '%{asked.text.partition(' ')[2]}%'")
    await forgotten_by_command(house, job_id)


@pytest.mark.parametrize("restarts", [False, True], ids=["at once", "after a restart"])
async def test_in_slack_the_answer_and_its_sources_go(slack: SlackHouse, restarts: bool):
    ada, state = slack.person(), slack.slack.state
    asked = {
        how: await slack_answered(slack, ada, question_about(place))
        for how, place in zip(("the question is deleted", "a word", "the operator's command"), PLACES, strict=False)
    }
    if restarts:
        await slack.restart()

    await slack.slack.deletes(asked["the question is deleted"])
    said = asked["a word"]
    await slack.slack.mentions(ada, said.channel, "forget this", thread_ts=said.ts)
    await slack_by_command(slack, asked["the operator's command"])

    await none_stands(slack.slack, lambda: [how for how, one in asked.items() if state.of_bot(one.channel)])
    assert [how for how, one in asked.items() if state.of_bot(thread_ts=one.ts)] == []


async def test_where_slack_keeps_a_message_it_is_emptied(slack: SlackHouse):
    """A workspace may let nobody delete."""
    asked = await slack_answered(slack, slack.person())
    answer, sources = slack.endings(asked.channel)[-1], await slack.sources_of(asked.ts)
    slack.slack.api.faults["chat.delete"] = Fault("cant_delete_message", times=10)

    await slack.slack.deletes(asked)
    await slack.slack.until(
        lambda: all(one.text.startswith("Forgotten") for one in (answer, sources)), within_s=SHOWN_WITHIN_S
    )
    del slack.slack.api.faults["chat.delete"]

    assert "gravity" not in str(answer.blocks) + str(sources.blocks)


async def test_in_slack_a_receipt_is_handed_out_in_direct_messages_and_goes_too(slack: SlackHouse):
    """N-24: an upload, beside the page's address; asides in channels take no file."""
    ada, state = slack.person(), slack.slack.state
    asked = await slack.slack.direct(ada, question_about("Dover"))
    await slack.ended(asked.channel)
    await delivered(slack)
    noted = len(select(data_of(slack), "SELECT 1 FROM shown"))
    await slack.slack.direct(ada, "export", thread_ts=asked.ts)
    await slack.slack.until(lambda: any(one.files for one in state.of_bot(asked.channel)))
    (file,) = next(one.files for one in state.of_bot(asked.channel) if one.files)
    await until(lambda: len(select(data_of(slack), "SELECT 1 FROM shown")) > noted + 1)

    await slack_by_command(slack, asked)

    assert file["name"].endswith(".receipt.zip")
    await none_stands(slack.slack, lambda: [one.text for one in state.of_bot(asked.channel) if one.files])


async def test_in_slack_a_shared_copy_goes_too(slack: SlackHouse):
    ada = slack.person()
    asked = await slack_answered(slack, ada)
    noted = len(select(data_of(slack), "SELECT 1 FROM shown"))
    await slack.slack.shares(ada, slack.endings(asked.channel)[-1])
    await until(lambda: len(select(data_of(slack), "SELECT 1 FROM shown")) > noted)

    await slack.slack.deletes(asked)
    await slack.slack.until(lambda: not slack.slack.state.of_bot(asked.channel), within_s=SHOWN_WITHIN_S)
