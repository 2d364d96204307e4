"""What people do in Discord, with the real bot process against a loopback Discord: each question, one final answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.chat.desk import REACTIONS
from adapters.chat.discord.render import help_text
from tests.adapters.durable.tables import rows_of, until
from tests.loopback.discord_data import ASKER, OTHER, Channel, Message
from tests.loopback.discord_house import RESPONDERS, House, is_final
from tests.loopback.discord_world import Fault as DiscordFault
from tests.loopback.openai_responders import ChatCall, Fault, answer_responder, by_schema, tokenise
from tests.shared_data import shared_data

pytestmark = pytest.mark.asyncio(loop_scope="module")
TIDES = "What causes the tides?"
NOTES = "The harbour of Fenwick was dredged in 1987 to a depth of 12 metres. Fenwick has two lighthouses."


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def accepted(house: House) -> AsyncIterator[None]:
    """Discord has refused nothing of what the bot sent, and nothing says "thinking" any more."""
    house.at_rest()
    yield
    assert house.discord.problems == []
    await house.discord.until(lambda: not house.discord.thinking, within_s=5)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answered(house: House) -> Message:
    """What is only looked at, voted on and asked anew from."""
    house.at_rest()
    return await house.final(house.discord.slash("research", query=TIDES))


def job_of(message: Message) -> str:
    return str(message.buttons["Show Sources"]["custom_id"]).partition(":")[2]


async def test_a_command_is_acknowledged_at_once_and_answered_in_one_message(house: House):
    """C-01, C-05, S003-20, G-02: one message that lives, ending in the embed."""
    house.world.model.first_token_s = 0.8

    asked = house.discord.slash("research", query=TIDES)
    answer = await house.final(asked)

    assert asked.acked_s is not None
    assert asked.acked_s < 1
    assert answer.embed["title"] == "📊 Research Complete"
    assert "gravity of the Moon" in answer.text
    assert list(answer.buttons)[:5] == ["View Full Analysis", "Show Sources", "Start", "👍", "👎"]
    assert {"Ask Again", "Improve", "Not now"} <= set(answer.buttons)
    progress = [version for version in answer.versions if "Researching" in json.dumps(version)]
    assert len(progress) >= 2
    assert "Cancel" in json.dumps(progress[-1])
    assert any("How tides work" in json.dumps(version) for version in progress)


async def test_a_command_is_answered_wherever_it_is_given(house: House):
    """In direct messages, as a user install where the bot is no member, and whatever the bot may not do there."""
    discord = house.discord
    signed = (discord.direct(), discord.elsewhere, discord.hidden)
    before = len(discord.requests)

    asked = {
        channel.id: discord.slash("research", channel=channel, query=TIDES)
        for channel in (*signed, discord.no_send, discord.no_embeds)
    }
    answers = {channel: await house.final(one) for channel, one in asked.items()}

    assert all("gravity of the Moon" in answer.text for answer in answers.values())
    assert all("Research Complete" in answer.text for answer in answers.values())
    links = {channel: answer.buttons["View Full Analysis"]["url"] for channel, answer in answers.items()}
    assert [channel for channel, link in links.items() if "?sig=" in link] == [channel.id for channel in signed]
    assert {name for name, _ in discord.requests[before:]} <= {"callback", "original.edit"}


async def test_a_message_to_the_bot_is_a_question(house: House):
    """A mention, or a direct message; the answer is a reply that pings nobody."""
    discord = house.discord
    asked = [discord.say(f"@gorkd {TIDES}", channel=channel) for channel in (discord.open, discord.no_embeds)]
    asked.append(discord.say(TIDES, channel=discord.direct()))

    answers = [await house.final(one) for one in asked]

    assert all("gravity of the Moon" in answer.text for answer in answers)
    assert [answer.pinged for answer in answers] == [[], [], []]


async def test_where_the_bot_may_not_reply_it_writes_below(house: House):
    """Discord wants the permission to read the history for a reply; without it the answer is a plain message."""
    channel = house.discord.no_history
    house.discord.say(f"@gorkd {TIDES}", channel=channel)

    await house.discord.until(lambda: any(is_final(one) for one in house.discord.said_in(channel)))

    (answer,) = house.discord.said_in(channel)
    assert "gravity of the Moon" in answer.text
    assert answer.reference is None


async def test_what_is_not_meant_for_the_bot_gets_no_answer(house: House):
    """Plain chatter, and what other people say to each other."""
    chatter = house.discord.say("What causes the tides?")
    meant = house.discord.say(f"@gorkd {TIDES}")

    await house.final(meant)

    assert house.discord.replies_to(chatter) == []


async def test_a_mention_without_a_question_is_told_how_to_ask(house: House):
    answer = await house.final(house.discord.say("@gorkd"))

    assert "Ask me a question" in answer.text


async def test_where_the_bot_may_not_write_a_mention_is_answered_in_private(house: House):
    """Missing permission: nobody is left without a word."""
    house.discord.say(f"@gorkd {TIDES}", channel=house.discord.no_send, person=OTHER)

    direct = house.discord.direct(OTHER)
    await house.discord.until(lambda: house.discord.said_in(direct))

    assert "I may not write in #read-only" in house.discord.said_in(direct)[0].text


async def test_a_reply_to_an_answer_carries_the_context(house: House):
    """A follow-up by a pinging reply; what was said before reaches the model."""
    first = await house.final(house.discord.say(f"@gorkd {TIDES}"))
    calls = len(house.world.model.calls)

    answer = await house.final(house.discord.say("And why are they higher at full moon?", reply_to=first))

    assert is_final(answer)
    plan = next(call for call in house.world.model.calls[calls:] if call.schema_name == "plan")
    assert TIDES in plan.user


async def test_a_reply_that_cannot_be_read_is_asked_to_mention(house: House, answered: Message):
    """Without the message content intent a reply to a command's answer arrives empty."""
    answer = await house.final(house.discord.say("And the Sun?", reply_to=answered))

    assert "mention me" in answer.text


async def test_a_word_under_an_answer_does_what_it_says(house: House):
    """The others are tried in test_conversations.py."""
    first = await house.final(house.discord.say(f"@gorkd {TIDES}"))

    answer = await house.final(house.discord.say("@gorkd again", reply_to=first))

    assert "Research Complete" in answer.text


async def test_words_without_an_answer_above_them_say_so(house: House):
    answer = await house.final(house.discord.say("@gorkd improve: be shorter"))

    assert "no answer here yet" in answer.text


async def test_sources_are_shown_with_their_relevance_to_whoever_may_see_the_answer(house: House, answered: Message):
    """G-02: ephemeral, with relevance in per cent."""

    for person in (ASKER, OTHER):
        shown = await house.final(house.discord.press(answered, "Show Sources", person=person))
        assert shown.is_ephemeral
        assert "How tides work" in shown.text
        assert " %" in shown.text


async def test_a_private_answer_is_seen_by_its_asker_and_shared_after_a_question(house: House):
    """Ephemeral; Share asks first, then shows it to the channel, where others may see the sources too."""
    answer = await house.final(house.discord.slash("research", query=TIDES, private=True))
    assert answer.is_ephemeral
    assert "?sig=" in answer.buttons["View Full Analysis"]["url"]

    question = await house.final(house.discord.press(answer, "Share"))
    assert question.is_ephemeral
    shared = await house.final(house.discord.press(question, "Share"))

    assert not shared.is_ephemeral
    assert "gravity of the Moon" in shared.text
    assert shared.embed["author"]["name"] == "Shared by ada"
    sources = await house.final(house.discord.press(shared, "Show Sources", person=OTHER))
    assert "How tides work" in sources.text


async def test_buttons_of_a_private_answer_do_nothing_for_others(house: House):
    """Bound to the job and to the rights: a forged press of another's button shows nothing."""
    answer = await house.final(house.discord.slash("research", query=TIDES, private=True))

    for label in ("Show Sources", "Share", "👍"):
        told = await house.final(house.discord.press(answer, label, person=OTHER))
        assert "not yours to see" in told.text
        assert "tides" not in told.text


async def test_ask_again_answers_afresh_for_anyone(house: House, answered: Message):

    again = await house.final(house.discord.press(answered, "Ask Again", person=OTHER))

    assert "Research Complete" in again.text
    assert job_of(again) != job_of(answered)
    assert "answered" not in again.embed["footer"]["text"]


@pytest.mark.parametrize("is_private", [False, True], ids=["open", "private"])
async def test_a_choice_of_the_menu_can_be_made_twice_in_a_row(house: House, is_private: bool):
    """G-02: a client keeps showing what was chosen, so the menu is drawn anew, and nothing else of the message."""
    answer = await house.final(house.discord.slash("research", query=TIDES, private=is_private))
    shown = [{**version, "components": None} for version in answer.versions[-1:]]

    forms = []
    for drawn in (len(answer.versions), len(answer.versions) + 1):
        forms.append(house.discord.press(answer, "Improve"))
        await house.discord.until(lambda drawn=drawn: len(answer.versions) > drawn)
    await house.discord.until(lambda: all(form.modal for form in forms))

    assert [{**version, "components": None} for version in answer.versions[-1:]] == shown
    assert set(answer.buttons) >= {"View Full Analysis", "Show Sources", "Ask Again", "Improve"}


async def test_improve_asks_what_should_be_better_and_answers_anew(house: House, answered: Message):
    form = house.discord.press(answered, "Improve")
    await house.discord.until(lambda: form.modal)

    improved = await house.final(house.discord.submit(form, "Say more about the Sun"))

    assert "Research Complete" in improved.text
    assert job_of(improved) != job_of(answered)
    prompts = [call.user for call in house.world.model.calls]
    assert any("Say more about the Sun" in prompt for prompt in prompts)


async def test_a_vote_is_thanked_and_a_bad_one_asks_what_went_wrong(house: House, answered: Message):

    good = await house.final(house.discord.press(answered, "👍"))
    form = house.discord.press(answered, "👎", person=OTHER)
    await house.discord.until(lambda: form.modal)
    reason = await house.final(house.discord.submit(form, "The Sun is missing"))

    assert form.modal["title"] == "What went wrong?"
    for told in (good, reason):
        assert told.is_ephemeral
        assert "Thank you" in told.text


async def test_only_the_asker_cancels_a_running_question(house: House):
    """Cancel by another user is refused; by its owner the message ends as cancelled, and offers to ask again."""
    house.hang_at("answer")
    asked = house.discord.slash("research", query="How high is the tide in the Bay of Fundy?")
    running = await house.running(asked)

    refused = await house.final(house.discord.press(running, "Cancel", person=OTHER))
    assert "Only the person who asked" in refused.text
    house.discord.press(running, "Cancel")
    ended = await house.final(asked)

    assert ended.embed["title"] == "⚠️ Research Cancelled"
    assert next(iter(ended.buttons)) == "Ask Again"


async def test_a_checked_sentence_is_shown_while_the_next_is_written(house: House):
    """N-13: with its mark, in the message that will be the answer; the model goes no further than its summary."""

    def writes_on(call: ChatCall) -> Fault:
        text = answer_responder(call)
        return Fault(text=text, hang_after=len(tokenise(text.partition('"detail"')[0])))

    house.world.model.respond = by_schema({**RESPONDERS, "answer": writes_on})
    asked = house.discord.slash("research", query="How often do neap tides occur?")

    await house.discord.until(lambda: [one for one in house.discord.replies_to(asked) if "[1]✓" in one.text])

    (shown,) = house.discord.replies_to(asked)
    assert not is_final(shown)
    assert "Cancel" in shown.buttons
    house.discord.press(shown, "Cancel")
    await house.final(asked)


async def test_a_failed_question_is_retried_in_its_own_message(house: House):
    """D14: what was found stays, and Retry makes the failed message the answer."""
    house.world.model.respond = Fault(status=500, message="down")
    asked = house.discord.slash("research", query="How often do spring tides occur?")
    failed = await house.final(asked)
    assert failed.embed["title"] == "⚠️ Research Failed"
    assert "How tides work" in failed.text

    house.at_rest()
    fetched = len(house.world.search.asked)
    house.discord.press(failed, "Retry", person=OTHER)
    await house.discord.until(lambda: "Research Complete" in failed.text)

    assert house.discord.replies_to(asked) == [failed]
    assert len(house.world.search.asked) == fetched


async def test_too_little_evidence_is_an_honest_answer(house: House):
    """D11: what was searched, and what to try, where the model that read the pages finds nothing in them."""
    nothing = json.dumps({"summary": "The sources do not say.", "detail": "", "citations": []})
    house.world.model.respond = by_schema({**RESPONDERS, "answer": lambda _: nothing})
    asked = house.discord.slash("research", query="Who won the 1973 chess tournament of Ouagadougou?")

    answer = await house.final(asked)

    assert answer.embed["title"] == "🔎 Not Enough Sources"
    assert "Searched for" in answer.text
    assert answer.text.count("Searched") == 1  # the answer says it, and nothing below says it again
    assert "Try naming the subject in full" in answer.text


async def test_a_message_is_checked_claim_by_claim(house: House):
    """Research This: the message is quoted, and each claim is supported, contradicted, mixed or without evidence."""
    said = "The tides are caused by the gravity of the Moon and of the Sun. Whales invented the telephone in 1923."
    message = house.discord.say(said, person=OTHER)

    answer = await house.final(house.discord.use_on(message, "Research This"))

    assert "> The tides are caused by" in answer.text
    assert "Supported: “The tides are caused by the gravity" in answer.text
    assert "No evidence: “Whales invented" in answer.text


async def test_a_message_is_checked_where_the_bot_is_no_member(house: House):
    """User install: the menu brings the message along."""
    message = house.discord.say("The Moon raises two bulges in the ocean.", channel=house.discord.elsewhere)

    answer = await house.final(house.discord.use_on(message, "Research This"))

    assert "Supported: “The Moon raises" in answer.text


async def test_a_message_without_text_cannot_be_checked(house: House):
    message = house.discord.say("", person=OTHER)

    answer = await house.final(house.discord.use_on(message, "Research This"))

    assert "no text in that message" in answer.text


@pytest.mark.parametrize("choice", ["Not now", "Start"])
async def test_deep_research_that_the_bot_proposes_waits_for_start(house: House, choice: str):
    """D9: below an answer that is not sure; declined, the offer goes and the answer stays."""
    answer = await house.final(house.discord.slash("research", query=TIDES))
    assert {"Start", "Not now"} <= set(answer.buttons)
    assert "Deep research would look for" in answer.text

    pressed = house.discord.press(answer, choice)

    if choice == "Not now":
        await house.discord.until(lambda: "Start" not in answer.buttons)
        assert "gravity of the Moon" in answer.text
    else:
        twice = house.discord.press(answer, choice, person=OTHER)
        told = [(await house.final(one)).text for one in (pressed, twice)]
        assert any("Research Complete" in text for text in told)
        assert all("Research Complete" in text or "started already" in text for text in told)


async def test_deep_research_by_name_tells_its_time_and_can_be_spoken_to(house: House):
    """D9: it starts at once, with its usual duration, its plan and Cancel; only its asker steers it."""
    house.hang_at("queries")
    asked = house.discord.say("@gorkd What do the tides depend on?")
    first = await house.final(asked)
    deep = house.discord.say("@gorkd deeper", reply_to=first)
    running = await house.running(deep)
    await house.discord.until(lambda: " 1. " in running.text)
    assert "typically takes" in running.text
    assert "answer now, cancel" in running.text

    noted = house.discord.say("@gorkd leave out the Sun", reply_to=running)
    refused = await house.final(house.discord.say("@gorkd answer now", reply_to=running, person=OTHER))

    await house.discord.until(lambda: (noted.id, REACTIONS["heard"][0]) in house.discord.reactions)
    assert "Only the person who asked" in refused.text
    deepened = await house.final(house.discord.press(running, "Go Deeper"))
    assert "Noted" in deepened.text
    house.discord.press(running, "Cancel")
    assert "Cancelled" in (await house.final(deep)).text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"query": "asdfghjkl"}, "question", id="key mash"),
        pytest.param({"query": "ab c" * 500}, "1999", id="over-long"),
        pytest.param({"query": TIDES, "mode": "psychic"}, "no mode", id="unknown mode"),
    ],
)
async def test_a_refused_question_says_why(house: House, options: dict[str, object], words: str):
    asked = house.discord.slash("research", **options)
    answer = await house.final(asked)

    assert words in answer.text
    assert answer.is_ephemeral
    assert house.discord.replies_to(asked) == [answer]


async def test_modes_complete_themselves(house: House):
    typing = house.discord.typing("research", "mode", "qui")

    await house.discord.until(lambda: typing.choices is not None)

    assert [choice["value"] for choice in typing.choices or []] == ["quick"]
    several = house.discord.typing("research", "mode", "")
    more = house.discord.typing("research", "mode", "idea")

    await house.discord.until(lambda: several.choices is not None and more.choices is not None)

    offered = {choice["value"]: choice["name"] for choice in [*(several.choices or []), *(more.choices or [])]}
    assert offered["idea,implementation"] == "Ideas + Implementations"
    assert {"quick", "idea,implementation,freeform", "idea,quick"} <= offered.keys()


async def test_who_greets_by_a_command_is_told_what_can_be_asked(house: House):
    """As by a message; nothing is searched."""
    calls = len(house.world.model.calls)

    told = await house.final(house.discord.slash("research", query="Hello!"))
    thanked = await house.final(house.discord.slash("research", query="vielen Dank"))

    assert told.is_ephemeral
    assert thanked.text == told.text == help_text()
    assert len(house.world.model.calls) == calls


async def test_help_and_history_are_for_the_asker_alone(house: House):
    """Every mode is named; the history holds one's own questions of this guild and nobody else's."""
    await house.final(house.discord.slash("research", query="Do the tides follow the Moon?", person=OTHER))
    help_ = await house.final(house.discord.slash("research-help"))
    mine = await house.final(house.discord.slash("research-history"))
    theirs = await house.final(house.discord.slash("research-history", person=OTHER))

    assert all(told.is_ephemeral for told in (help_, mine, theirs))
    assert "`quick`" in help_.text
    assert TIDES in mine.text
    assert "follow the Moon" not in mine.text
    assert "follow the Moon" in theirs.text


async def test_an_attached_file_is_a_source_of_its_question(house: House):
    file = ("notes.txt", "text/plain", NOTES.encode())
    question = "How deep was the harbour of Fenwick dredged in 1987?"

    answer = await house.final(house.discord.slash("research", query=question, file=file))

    assert "12 metres" in answer.text
    assert "notes.txt" in answer.text


async def test_a_file_is_answered_at_once_and_summarised_under_a_bare_mention(house: House):
    """A placeholder stands there while the file is fetched, and becomes the answer."""
    house.discord.holds_files = True
    asked = house.discord.say("@gorkd", file=("notes.txt", "text/plain", NOTES.encode()))
    await house.discord.until(lambda: house.discord.replies_to(asked))
    (placeholder,) = house.discord.replies_to(asked)
    assert "On it" in placeholder.text

    house.discord.holds_files = False
    house.discord.notify()
    answer = await house.final(asked)

    assert answer is placeholder
    assert "What does this document say?" in answer.text
    assert "notes.txt" in answer.text


async def test_a_file_that_cannot_be_read_is_named(house: House):
    asked = house.discord.slash("research", query=TIDES, file=("x.zip", "application/zip", b"PK\x03\x04"))

    answer = await house.final(asked)

    assert "x.zip" in answer.text


async def test_two_people_at_once_get_each_their_own_answer(house: House):
    first = house.discord.slash("research", query="What is the largest tidal range on Earth?")
    second = house.discord.say("@gorkd How often do spring tides occur?", person=OTHER)

    answers = [await house.final(first), await house.final(second)]

    assert "Bay of Fundy" in answers[0].text
    assert "twice a month" in answers[1].text


async def test_a_reply_to_a_forgotten_answer_is_a_question_of_its_own(house: House):
    """Nothing is known of what was forgotten, and nobody is turned away for it."""
    first = await house.final(house.discord.say("@gorkd Does the Moon raise two bulges in the ocean?"))
    forgotten = await house.final(house.discord.say("@gorkd forget", reply_to=first))

    answer = await house.final(house.discord.say("@gorkd What is the largest tidal range on Earth?", reply_to=first))

    assert "Forgotten" in forgotten.text
    assert "Bay of Fundy" in answer.text


async def test_in_a_busy_channel_details_go_to_a_thread_where_the_talk_goes_on(house: House):
    """G-02: more than ten messages in the last minute; a follow-up in the thread carries the context."""
    channel = house.discord.quiet
    for number in range(11):
        house.discord.say(f"chatter {number}", channel=channel, person=OTHER)
    answer = await house.final(house.discord.slash("research", channel=channel, query=TIDES))
    await house.discord.until(lambda: answer.thread and len(house.discord.said_in(answer.thread)) == 2)
    assert answer.thread.name == "The tides are caused by the gravity of the Moon and of the Sun."
    calls = len(house.world.model.calls)

    await house.final(house.discord.say("@gorkd And why are they higher at full moon?", channel=answer.thread))

    plan = next(call for call in house.world.model.calls[calls:] if call.schema_name == "plan")
    assert TIDES in plan.user


async def test_where_threads_are_not_allowed_the_answer_stands_alone(house: House):
    channel = house.discord.no_threads
    for number in range(11):
        house.discord.say(f"chatter {number}", channel=channel, person=OTHER)

    answer = await house.final(house.discord.slash("research", channel=channel, query=TIDES))

    assert "Research Complete" in answer.text
    assert answer.thread is None


async def test_deleting_the_question_forgets_it(house: House):
    """What was kept for it is gone: the buttons under the answer find nothing."""
    question = house.discord.say("@gorkd Do neap tides occur at half moon?")
    answer = await house.final(question)

    house.discord.delete(question)
    await house.discord.until(lambda: answer.is_deleted)

    listed = await house.final(house.discord.slash("research-history"))
    assert "neap tides" not in listed.text


async def test_hostile_text_pings_nobody(house: House):
    """Collected tricks as questions: whatever comes back, it mentions nobody. test_render.py has all of them."""
    lines = shared_data("hostile_sample", "mention_link_cases.jsonl").read_text("utf-8").splitlines()
    payloads = [json.loads(line)["payload"] for line in lines]
    asked = [house.discord.say(f"@gorkd Is this true: {payload}?") for payload in payloads[:2]]

    answers = [await house.final(one) for one in asked]

    assert [answer.pinged for answer in answers] == [[] for _ in asked]


def welcomes(house: House, channel: Channel) -> list[Message]:
    return [one for one in house.discord.said_in(channel) if "Thank you for inviting" in one.text]


async def test_a_server_that_invites_the_bot_is_welcomed_and_one_that_removes_it_leaves_nothing(house: House):
    """G-02: what runs there is cancelled, everything of it is gone and nothing of others; it may come back at once."""
    discord, data = house.discord, Path(house.env["GORKD_DATA"])
    tenant = f"discord:{discord.foreign.id}"
    await until(lambda: house.bot.said("discord is ready"))  # until then discord.py takes a new server for an old one
    greeted = discord.invites()
    await discord.until(lambda: welcomes(house, greeted))
    assert "/research-settings" in welcomes(house, greeted)[0].text
    await house.final(discord.slash("research", query=TIDES))
    await house.final(discord.slash("research", query=TIDES, channel=greeted))
    kept, others = rows_of(data, tenant), rows_of(data, f"discord:{discord.guild.id}")
    house.hang_at("answer")
    discord.slash("research", query="How often do spring tides occur?", channel=greeted)
    await until(lambda: rows_of(data, tenant)["jobs"] == 2)

    discord.removes()
    await until(lambda: set(rows_of(data, tenant)) == {"departures"})
    discord.invites()
    await discord.until(lambda: len(welcomes(house, greeted)) == 2)
    house.at_rest()
    await house.final(discord.slash("research", query=TIDES, channel=greeted))

    assert "/research" in welcomes(house, greeted)[0].text
    assert {"jobs", "sources", "spending"} <= set(kept)
    assert rows_of(data, f"discord:{discord.guild.id}")["jobs"] >= others["jobs"]
    assert rows_of(data, tenant)["jobs"] == 1
    assert "departures" not in rows_of(data, tenant)


async def test_a_server_that_removes_the_bot_while_it_is_away_leaves_nothing(house: House):
    """It is noticed when the bot is back; of others, and while Discord cannot tell, everything stays."""
    discord, data = house.discord, Path(house.env["GORKD_DATA"])
    tenant, other = f"discord:{discord.foreign.id}", f"discord:{discord.guild.id}"
    greeted = discord.elsewhere if discord.joined else discord.invites()
    await house.final(discord.slash("research", query=TIDES, channel=greeted))
    await until(lambda: "addresses" not in rows_of(data, tenant))  # kept until the bot is done with the answer
    kept, others = rows_of(data, tenant), rows_of(data, other)
    await house.bot.killed()
    discord.removes()

    discord.faults["guild.get"] = DiscordFault(503)
    await house.start_bot()
    await until(lambda: house.bot.said("not known whether a server has removed the bot"))
    after_outage = rows_of(data, tenant)
    await house.restart_bot()
    await until(lambda: set(rows_of(data, tenant)) == {"departures"})

    assert "jobs" in kept
    assert after_outage == kept
    assert rows_of(data, other) == others
