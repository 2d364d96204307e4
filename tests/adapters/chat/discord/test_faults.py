"""What may go wrong between the real bot process and Discord: each question still gets exactly one final answer."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio

from core.presentation import wording
from tests.adapters.durable.test_disk import locked
from tests.loopback.discord_data import ASKER, OTHER, Interaction, Message
from tests.loopback.discord_house import House, discord_house, is_final
from tests.loopback.discord_world import Fault

pytestmark = pytest.mark.asyncio(loop_scope="module")
TIDES = "What causes the tides?"
NUMBERS = count()
SCALED_TOKEN_S = 7.5  # stands for Discord's 15 minutes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with discord_house(tmp_path_factory.mktemp("data"), env={"LOOPBACK_GRACE_S": "4"}) as running:
        yield running


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def at_rest(house: House) -> AsyncIterator[None]:
    """Whatever happened, Discord has refused nothing for its content, and nothing says "thinking" any more."""
    house.at_rest()
    house.discord.faults.clear()
    yield
    assert house.discord.problems == []
    await house.discord.until(lambda: not house.discord.thinking, within_s=5)


def ask(house: House, way: str) -> Interaction | Message:
    """A question that was not asked before, so that it is researched."""
    question = f"{TIDES[:-1]} {next(NUMBERS)}?"
    return (
        house.discord.slash("research", query=question) if way == "command" else house.discord.say(f"@gorkd {question}")
    )


SLOW = pytest.mark.slow
FAULTS = [  # of the first message, and of its edits
    pytest.param(
        "command", Fault(0, after_effect=True), Fault(429, times=2), id="the acknowledgement's reply lost, 429"
    ),
    pytest.param("command", Fault(0), Fault(500, after_effect=True), id="the acknowledgement lost, 5xx after an edit"),
    pytest.param("command", Fault(500, after_effect=True), None, id="5xx after the acknowledgement took effect"),
    pytest.param("command", Fault(500), Fault(0, times=2), id="5xx on the acknowledgement, edits lost", marks=SLOW),
    pytest.param("command", Fault(429), None, id="429 on the acknowledgement", marks=SLOW),
    pytest.param("message", Fault(429), Fault(0, times=2, after_effect=True), id="429, replies to edits lost"),
    pytest.param("message", Fault(500, after_effect=True), None, id="5xx after a message took effect"),
    pytest.param("message", Fault(0, after_effect=True), None, id="a message's reply lost"),
    pytest.param("message", Fault(0, times=2), Fault(503, times=2), id="messages lost, 503 on edits", marks=SLOW),
]


@pytest.mark.parametrize(("way", "first", "edits"), FAULTS)
async def test_a_fault_of_discord_costs_no_answer_and_doubles_none(
    house: House, way: str, first: Fault, edits: Fault | None
):
    """Ack lost, 429, 5xx before and after the effect, connections cut."""
    routes = ("callback", "original.edit") if way == "command" else ("message.create", "message.edit")
    house.discord.faults.update({route: fault for route, fault in zip(routes, (first, edits), strict=True) if fault})

    asked = ask(house, way)
    await house.final(asked, within_s=40)
    await house.discord.until(lambda: not house.discord.faults)

    assert "Research Complete" in (await house.final(asked)).text


async def test_an_answer_that_is_known_at_once_follows_a_placeholder_that_was_not_confirmed(house: House):
    """A repeated nonce gives the placeholder back as it was, not the answer that was sent with it."""
    question = f"{TIDES[:-1]} {next(NUMBERS)}?"
    await house.final(house.discord.slash("research", query=question))
    house.discord.faults["message.create"] = Fault(0, after_effect=True)

    answered = await house.final(house.discord.say(f"@gorkd {question}"))

    assert "Research Complete" in answered.text


async def test_a_message_that_takes_no_more_edits_gives_way_to_a_new_one(house: House):
    """Discord caps the edits of a message that is older than an hour."""
    house.discord.faults["message.edit"] = Fault(400, code=30046)

    asked = ask(house, "message")
    answer = await house.final(asked)

    assert "Research Complete" in answer.text
    assert house.discord.replies_to(asked)[1:] == [answer]


async def test_an_event_that_is_told_twice_is_answered_once(house: House):
    """At once, and after the answer."""
    asked = [ask(house, way) for way in ("command", "message")]
    for event in ("INTERACTION_CREATE", "MESSAGE_CREATE"):
        house.discord.resend(event)
    answers = [await house.final(one) for one in asked]
    versions = [len(answer.versions) for answer in answers]
    house.discord.resend("INTERACTION_CREATE")

    await house.final(house.discord.slash("research", query="How often do spring tides occur?"))

    for one, answer in zip(asked, answers, strict=True):
        assert [told for told in house.discord.replies_to(one) if is_final(told)] == [answer]
    assert [len(answer.versions) for answer in answers] == versions


@contextmanager
def without(house: House, table: Literal["jobs", "conversations"]) -> Iterator[None]:
    with sqlite3.connect(Path(house.env["GORKD_DATA"]) / "gorkd.db", isolation_level=None) as records:
        records.execute(f"ALTER TABLE {table} RENAME TO {table}_elsewhere")
        try:
            yield
        finally:
            records.execute(f"ALTER TABLE {table}_elsewhere RENAME TO {table}")


@pytest.mark.parametrize("way", ["command", "press", "message"])
async def test_what_meets_records_that_are_away_is_answered_when_they_are_back(house: House, way: str):
    """Its asker is told at once, in the message in which the answer comes."""
    answered = await house.final(ask(house, "command")) if way == "press" else None
    with without(house, "jobs"):
        asked = house.discord.press(answered, "Ask Again") if answered else ask(house, way)
        await house.discord.until(lambda: house.discord.replies_to(asked) and not house.discord.thinking)
        (told,) = house.discord.replies_to(asked)
        said = told.text
    await house.discord.until(lambda: "Research Complete" in told.text)

    assert said == wording.RECORDS_AWAY
    assert house.discord.replies_to(asked) == [told]


async def test_commands_are_acknowledged_while_another_program_holds_the_records(house: House):
    """Discord waits 3 s; what is said is stored and answered when the file is free."""
    await house.final(ask(house, "command"))
    asked = []
    with locked(Path(house.env["GORKD_DATA"]) / "gorkd.db"):
        for _ in range(3):  # the first's question waits to be written, and everything read of the file behind it
            asked.append(ask(house, "command"))
            await house.discord.until(lambda: asked[-1].acked_s is not None, within_s=3)

    assert ["Research Complete" in (await house.final(one)).text for one in asked] == [True] * 3


@pytest.mark.parametrize("way", ["command", "message"])
async def test_words_to_the_library_wait_for_records_that_are_away(house: House, way: str):
    """As questions do, and what they ask for comes in the message that told so."""
    with without(house, "conversations"):
        said = (
            house.discord.slash("library", command="list")
            if way == "command"
            else house.discord.say("@gorkd library list")
        )
        await house.discord.until(lambda: house.discord.replies_to(said) and not house.discord.thinking)
        (told,) = house.discord.replies_to(said)
        meanwhile = told.text
    await house.discord.until(lambda: "The library is empty" in told.text)

    assert meanwhile == wording.RECORDS_AWAY
    assert house.discord.replies_to(said) == [told]


async def test_a_question_that_is_taken_back_while_the_records_are_away_is_never_asked(house: House):
    """Nothing of it stays to be seen, either."""
    with without(house, "jobs"):
        asked = ask(house, "message")
        await house.discord.until(lambda: house.discord.replies_to(asked))
        house.discord.delete(asked)
    await house.discord.until(lambda: not house.discord.replies_to(asked))
    await house.final(ask(house, "command"))

    words = asked.content.removeprefix("@gorkd ")
    assert [call for call in house.world.model.calls if words in call.user] == []
    assert house.discord.replies_to(asked) == []


async def test_a_message_that_a_moderator_deletes_comes_again_once(house: House):
    """As in Slack: who asked still waits for the answer. What is deleted again stays away."""
    house.hang_at("answer")
    asked = ask(house, "message")
    first = await house.running(asked)
    house.discord.delete(first)
    second = await house.running(asked)
    twice = ask(house, "message")
    house.discord.delete(await house.running(twice))
    again = await house.running(twice)

    house.discord.delete(again)
    house.discord.say("@gorkd cancel")
    ended = await house.final(asked)
    house.at_rest()

    assert ended.id == second.id != first.id
    assert house.discord.replies_to(twice) == []


async def test_a_thread_that_was_made_although_discord_failed_is_used(house: House):
    """5xx after the effect: 160004 on the second try means that it is there."""
    for number in range(11):
        house.discord.say(f"chatter {number}", channel=house.discord.quiet, person=OTHER)
    house.discord.faults["thread.create"] = Fault(500, after_effect=True)

    answer = await house.final(house.discord.slash("research", channel=house.discord.quiet, query=TIDES))
    await house.discord.until(lambda: answer.thread and len(house.discord.said_in(answer.thread)) == 2)


async def test_a_thread_that_is_archived_meanwhile_is_opened_for_its_answer(house: House):
    """50083: in an archived thread no message can be changed, and whoever may write there may open it."""
    opened = house.discord.add_thread(house.discord.say("chatter", person=OTHER), "Talk")
    house.world.model.first_token_s = 1.0
    asked = house.discord.say(f"@gorkd {TIDES[:-1]} {next(NUMBERS)}?", channel=opened)
    running = await house.running(asked)

    house.discord.archives(opened)
    house.world.model.first_token_s = 0.0

    assert await house.final(asked) is running
    assert not opened.archived


async def test_a_thread_that_is_locked_meanwhile_is_not_tried_for_ever(house: House):
    """160005: nothing can be written there any more, today or after a restart; the answer stays on its page."""
    opened = house.discord.add_thread(house.discord.say("chatter", person=OTHER), "Talk")
    house.world.model.first_token_s = 1.0
    await house.running(house.discord.say(f"@gorkd {TIDES[:-1]} {next(NUMBERS)}?", channel=opened))

    house.discord.archives(opened, locks=True)
    house.world.model.first_token_s = 0.0

    await house.final(ask(house, "message"))
    later = await house.final(ask(house, "message"))
    tries = [path for name, path in house.discord.requests if name == "message.create" and opened.id in path]
    assert "Research Complete" in later.text
    assert len(tries) == 2  # the placeholder, and the answer
    assert any(line["event"] == "no place is left for an answer" for line in house.bot.lines)


async def test_a_connection_that_drops_during_a_job_is_resumed(house: House):
    """What was asked meanwhile is answered as well."""
    house.world.model.first_token_s = 1.0
    before = ask(house, "command")
    await house.running(before)
    resumes = house.discord.gateway.resumes

    await house.discord.gateway.drop()
    meanwhile = ask(house, "message")
    house.world.model.first_token_s = 0.0

    assert "Research Complete" in (await house.final(before)).text
    assert "Research Complete" in (await house.final(meanwhile)).text
    assert house.discord.gateway.resumes == resumes + 1


@pytest.mark.slow
async def test_a_session_that_becomes_invalid_during_a_job_costs_no_answer(house: House):
    """The bot identifies anew; discord.py waits five seconds before it does."""
    house.world.model.first_token_s = 1.0
    asked = ask(house, "command")
    await house.running(asked)
    sessions = len(house.discord.gateway.sessions)

    await house.discord.gateway.invalidate()
    answer = await house.final(asked)
    await house.discord.until(lambda: len(house.discord.gateway.sessions) > sessions, within_s=40)
    later = await house.final(ask(house, "message"))

    assert "Research Complete" in answer.text
    assert "Research Complete" in later.text


@pytest.mark.slow
@pytest.mark.parametrize("way", ["command", "message"])
async def test_a_bot_that_is_killed_mid_job_answers_after_its_restart(house: House, way: str):
    """kill -9; the buttons and forms of before work as well, and commands are not registered again."""
    answered = await house.final(house.discord.slash("research", query=TIDES))
    form = house.discord.press(answered, "Improve")
    await house.discord.until(lambda: form.modal)
    house.world.model.first_token_s = 1.5
    asked = ask(house, way)
    running = await house.running(asked)

    await house.restart_bot()

    assert await house.final(asked) is running
    assert "Research Complete" in running.text
    for label, said in (("Show Sources", "How tides work"), ("👍", "Thank you"), ("Ask Again", "Research Complete")):
        assert said in (await house.final(house.discord.press(answered, label))).text
    house.at_rest()
    improved = await house.final(house.discord.submit(form, "Say more about the Sun"))
    assert "Research Complete" in improved.text
    assert house.discord.command_puts == 1


@pytest.mark.parametrize("way", ["command", pytest.param("message", marks=pytest.mark.slow)])
async def test_a_bot_that_is_killed_while_it_fetches_a_file_has_it_said_again(house: House, way: str):
    """No job stands behind the question yet: the next process says so instead of thinking for ever, or of silence."""
    discord, file = house.discord, ("notes.txt", "text/plain", b"The harbour of Fenwick was dredged in 1987.")
    question, waiting = "When was the harbour of Fenwick dredged?", discord.waiting_for_files
    discord.holds_files = True
    if way == "command":
        asked: Interaction | Message = discord.slash("research", query=question, file=file)
    else:
        asked = discord.say(f"@gorkd {question}", file=file)
    await discord.until(lambda: discord.waiting_for_files > waiting)

    await house.restart_bot()
    discord.holds_files = False
    discord.notify()
    ended = await house.final(asked)
    await house.restart_bot()
    answered = await house.final(ask(house, way))

    assert ended.text == f"I was restarted before this was done; please say it again: {question}"
    assert "Research Complete" in answered.text
    assert len(discord.replies_to(asked)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["command", "message"])
async def test_a_worker_that_is_killed_mid_job_costs_no_answer(house: House, way: str):
    """kill -9 of the worker: another one goes on, and the message ends once."""
    house.world.model.first_token_s = 30.0
    asked = ask(house, way)
    await house.running(asked)
    await house.discord.until(lambda: any(call.schema_name == "answer" for call in house.world.model.calls[-1:]))

    await house.worker.killed()
    house.at_rest()
    await house.start_worker()

    assert "Research Complete" in (await house.final(asked, within_s=30)).text


@pytest.mark.slow
@pytest.mark.parametrize("way", ["command", "message"])
async def test_a_bot_that_is_told_to_stop_says_that_the_answer_will_come(house: House, way: str):
    """SIGTERM: what ends in time is answered; the rest says so, and is answered by the next bot."""
    house.world.model.first_token_s = 3.0
    asked = ask(house, way)
    running = await house.running(asked)

    house.bot.running.send_signal(signal.SIGTERM)
    code = await house.bot.ended(within_s=20)

    assert code == 0
    assert "being restarted; your answer will appear here" in running.text
    await house.start_bot()
    await house.discord.until(lambda: "Research Complete" in running.text, within_s=40)
    assert await house.final(asked) is running


@pytest.mark.slow
async def test_a_bot_that_is_told_to_stop_ends_what_ends_in_time(house: House):
    house.world.model.first_token_s = 0.05  # four calls in the four seconds that a bot waits
    asked = ask(house, "command")
    await house.running(asked)

    house.bot.running.send_signal(signal.SIGTERM)
    await house.bot.ended(within_s=20)

    assert "Research Complete" in (await house.final(asked)).text
    await house.start_bot()


@pytest.mark.slow
async def test_thirty_questions_at_once_are_all_answered(house: House):
    """A burst: thirty people or more, half by command and half by mention; none waits for ever."""
    asked = [ask(house, "command" if number % 3 else "message") for number in range(30)]

    answers = [await house.final(one, within_s=40) for one in asked]

    assert len({answer.id for answer in answers}) == 30
    assert all("Research Complete" in answer.text for answer in answers)
    assert max(one.acked_s for one in asked if isinstance(one, Interaction) and one.acked_s) < 1


@pytest.mark.slow
async def test_who_asks_too_often_is_told_how_long_to_wait(tmp_path):
    """G-02: five a minute a person, twenty a guild; every question of the burst has its own honest end."""
    quotas = {"GORKD_DISCORD_USER_PER_MIN": "5", "GORKD_DISCORD_GUILD_PER_MIN": "20"}
    async with discord_house(tmp_path, env={**quotas, "GORKD_DISCORD_THREADS": "always"}) as house:
        asked = [ask(house, "command") for _ in range(30)]

        answers = [await house.final(one, within_s=30) for one in asked]

        assert sum("Research Complete" in answer.text for answer in answers) == 5
        assert sum("Please wait" in answer.text for answer in answers) == 25
        answered = [answer for answer in answers if "Research Complete" in answer.text]
        await house.discord.until(lambda: all(answer.thread for answer in answered))
        assert house.discord.problems == []
        assert house.discord.thinking == []


@pytest.mark.slow
async def test_an_answer_that_outlasts_its_token_moves(tmp_path):
    """A job of 16 minutes, scaled: from minute 13 on a new message lives; where there can be none, the page's link."""
    env = {"LOOPBACK_PING_S": "1"}
    async with discord_house(tmp_path, env=env, token_s=SCALED_TOKEN_S) as house:
        house.world.model.first_token_s = SCALED_TOKEN_S * 16 / 15 / 2  # of the plan and of the answer
        discord = house.discord
        asked = {
            "guild": discord.slash("research", query=TIDES),
            "install": discord.slash("research", query=TIDES, channel=discord.elsewhere),
            "private": discord.slash("research", query=TIDES, channel=discord.quiet, private=True),
            "direct": discord.slash("research", query=TIDES, channel=discord.direct()),
        }
        places = {"guild": discord.open, "direct": discord.direct()}

        def finals(name: str) -> list[Message]:
            return [one for one in discord.said_in(places[name]) if "Research Complete" in one.text]

        def is_pointed_on(name: str) -> bool:
            """The first message, which may be edited after the new one is there."""
            return "new message below" in discord.replies_to(asked[name])[0].text

        await discord.until(lambda: all(finals(name) and is_pointed_on(name) for name in places), within_s=40)
        for name, channel in places.items():
            assert len(finals(name)) == 1
            await discord.until(lambda place=channel: any(one.pinged for one in discord.said_in(place)))
            assert [one.pinged for one in discord.said_in(channel) if one.pinged] == [[ASKER["id"]]]
        for name in ("install", "private"):
            (left,) = discord.replies_to(asked[name])
            assert "the answer will be here" in left.text
            assert "?sig=" in left.text
        assert discord.problems == []
        assert discord.thinking == []


@pytest.mark.slow
async def test_discord_that_is_away_at_the_start_is_waited_out_without_leaks(house: House):
    """The log says that Discord cannot be reached, and nothing of sessions that nobody closed."""
    house.discord.faults["me"] = Fault(503)

    await house.restart_bot()

    said = [str(line["event"]) for line in house.bot.lines]
    assert "Discord cannot be reached; trying again" in said
    assert [one for one in said if "Unclosed" in one or "voice" in one] == []


async def test_a_clock_that_is_set_forward_leaves_nobody_with_a_message_that_thinks(tmp_path: Path) -> None:
    """The token seems to be over before its time: the answer comes in a message of its own, and the first says so."""
    async with discord_house(tmp_path, env={"LOOPBACK_TOKEN_S": "0.01"}) as house:
        asked = house.discord.slash("research", query=TIDES)
        await house.discord.until(
            lambda: [one for one in house.discord.said_in(house.discord.open) if "Research Complete" in one.text]
        )

        assert house.discord.thinking == []
        assert [one.text for one in house.discord.replies_to(asked)] != [""]
