"""Every way into the Slack app, as people use it: a real process, exactly one final answer each."""

from __future__ import annotations

import re

import pytest

from adapters.chat.slack.poster import PROMPTS
from core.text.saying import say, speaking
from tests.adapters.chat.slack.house import COMPLETE, PUBLIC_URL, SlackHouse
from tests.adapters.durable.outside import QUESTION
from tests.loopback.slack_forms import filled
from tests.loopback.slack_limits import view_faults
from tests.loopback.web_world import PageSpec

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACK_S = 1.0


async def test_answer_of_a_private_channel_has_a_signed_link(house: SlackHouse) -> None:
    """Nothing private leaks: the page of an answer asked in a private channel needs more than its address."""
    ada = house.person()
    private, public = house.channel(ada, "private"), house.channel(ada)

    hidden = await house.answered(ada, private)
    open_ = await house.answered(ada, public)

    assert "?sig=" in hidden.buttons["view_full_analysis"]["url"]
    assert hidden.buttons["view_full_analysis"]["url"].startswith(f"{PUBLIC_URL}/jobs/job_")
    assert "?sig=" not in open_.buttons["view_full_analysis"]["url"]


async def test_mention_in_a_thread_knows_what_was_said_there(house: SlackHouse) -> None:
    """A follow-up is answered in the same thread, with its context as the bot itself has kept it."""
    ada, channel = house.newcomer()
    first = await house.answered(ada, channel, "What is the largest tidal range in the Bay of Fundy?")
    reads = len(house.slack.api.named("conversations.history"))

    await house.slack.mentions(ada, channel, "And what causes it?", thread_ts=first.thread_ts)
    second = await house.ended(channel, times=2)

    assert second.thread_ts == first.thread_ts
    plans = [
        call for call in house.world.model.calls if call.schema_name == "plan" and "And what causes it?" in call.user
    ]
    assert "Bay of Fundy" in plans[-1].user
    assert len(house.slack.api.named("conversations.history")) == reads


async def test_question_in_ones_own_thread_needs_no_mention_and_chatter_is_left_alone(house: SlackHouse) -> None:
    """G-03: follow-ups in the thread; people may talk to each other there."""
    ada, channel, first = await house.has_asked()
    ben = house.person()

    for user, text in [(ada, "Thanks, that helps."), (ben, "Really?"), (ada, "<@U2BEN> do you agree?")]:
        said = house.slack.state.says(user, channel, text, first.thread_ts)
        await house.slack.send("event", house.slack.event("message", said, channel_type="channel"))
    asked = house.slack.state.says(ada, channel, "How often do spring tides occur?", first.thread_ts)
    await house.slack.send("event", house.slack.event("message", asked, channel_type="channel"))
    await house.ended(channel, times=2)

    assert len(house.endings(channel)) == 2


async def test_direct_message_needs_no_mention(house: SlackHouse) -> None:
    """It is answered where it was said, for that person alone, and streamed: streams live in threads, and so does each
    session.
    """
    ada = house.person()

    asked = await house.slack.direct(ada, QUESTION)
    answer = await house.ended(f"D{ada}")
    await house.sources_of(asked.ts)

    assert answer.thread_ts == asked.ts
    assert answer.stream is not None
    assert "?sig=" in answer.buttons["view_full_analysis"]["url"]
    assert "share" not in answer.buttons


async def test_messages_with_an_agent_have_prompts_and_each_is_a_session_with_status_and_title(
    house: SlackHouse,
) -> None:
    """The question is the root of its thread; it works until the answer is there.

    N-28: the questions to begin with are in the person's language.
    """
    ada = house.person()
    house.slack.state.locales[ada] = "de-DE"

    channel = await house.slack.opens_messages(ada)
    await house.slack.until(lambda: channel in house.slack.state.prompts)
    asked = await house.slack.direct(ada, QUESTION)
    answer = await house.ended(channel)
    session = house.slack.state.sessions[channel, asked.ts]
    await house.slack.until(lambda: session.titles[1:])
    await house.slack.direct(ada, "What is raised by it?", thread_ts=asked.ts)
    further = await house.ended(channel, times=2)
    await house.slack.until(lambda: session.titles[2:])

    assert session.statuses[-1] == "active"
    assert [one["title"] for one in house.slack.state.prompts[channel]] == prompts_in("de")
    assert (session.titles[0], session.user, session.statuses[0]) == (QUESTION, ada, "processing")
    assert session.titles[1:] == ["The tides are caused by the gravity of the Moon and of the Sun."] * 2
    assert {answer.thread_ts, further.thread_ts} == {asked.ts}
    plan = [call for call in house.world.model.calls if call.schema_name == "plan"][-1]
    assert QUESTION in plan.user


async def test_a_word_in_direct_messages_is_about_the_newest_answer_there(house: SlackHouse) -> None:
    """Each message begins a thread, but "sources" under nothing can only mean what was last answered."""
    ada = house.person()
    await house.slack.direct(ada, QUESTION)
    await house.ended(f"D{ada}")

    asked = await house.slack.direct(ada, "again")
    again = await house.ended(f"D{ada}", times=2)

    assert again.thread_ts == asked.ts


async def test_an_app_made_before_the_agent_view_keeps_its_pane(house: SlackHouse) -> None:
    """Its pane offers questions, says what it does, and its thread gets the answer as its title."""
    ada = house.person()
    house.slack.state.locales[ada], house.slack.state.is_agent = "fr-FR", False
    try:
        thread = await house.slack.opens_pane(ada)
        await house.slack.until(lambda: thread in house.slack.state.prompts)
        await house.slack.direct(ada, QUESTION, thread_ts=thread)
        answer = await house.ended(f"D{ada}")
        await house.slack.until(lambda: house.slack.state.titles[thread].startswith("The tides are caused"))
    finally:
        house.slack.state.is_agent = True

    assert [one["message"] for one in house.slack.state.prompts[thread]] == prompts_in("fr")
    assert (thread, "is looking for sources…") in house.slack.state.statuses
    assert answer.thread_ts == thread


async def test_command_is_heard_at_once_and_answered_with_a_thread(house: SlackHouse) -> None:
    """G-03: an ephemeral word, then a message whose thread has the sources and takes follow-ups."""
    ada, channel = house.newcomer()

    ack = await house.slack.commands(ada, channel, QUESTION)
    answer = await house.ended(channel)
    await house.sources_of(answer.ts)
    await house.slack.mentions(ada, channel, "And what is raised by it?", thread_ts=answer.ts)
    await house.ended(channel, times=2)

    assert ack.seconds < ACK_S
    assert ack.payload["text"] == "On it …"
    assert answer.thread_ts == ""
    plan = [call for call in house.world.model.calls if call.schema_name == "plan"][-1]
    assert QUESTION in plan.user


@pytest.mark.parametrize("kind", ["private", "channel"])
async def test_command_where_the_bot_is_no_member_is_answered_in_direct_messages(house: SlackHouse, kind: str) -> None:
    """`not_in_channel` and `channel_not_found` end in an answer too, and the asker is told where."""
    ada = house.person()
    channel = house.channel(ada, kind, with_bot=False)

    await house.slack.commands(ada, channel, QUESTION)
    answer = await house.ended(f"D{ada}")

    assert "I am not in that channel, so I answer in our direct messages." in house.whispers(ada)
    assert answer.text.startswith(COMPLETE)
    assert "share" not in answer.buttons
    assert house.slack.state.of_bot(channel) == []


async def test_a_mention_where_nobody_may_write_any_more_is_answered_in_direct_messages(house: SlackHouse) -> None:
    """A thread that was locked, a channel that was closed or archived since."""
    closed = ("is_archived", "restricted_action_thread_locked", "restricted_action_read_only_channel")
    asked_in = dict(house.newcomer() for _ in closed)
    for why, channel in zip(closed, asked_in.values(), strict=True):
        house.slack.state.channels[channel].closed = why

    for ada, channel in asked_in.items():
        await house.slack.mentions(ada, channel, QUESTION)
    answers = [await house.ended(f"D{ada}") for ada in asked_in]

    assert all(answer.text.startswith(COMPLETE) for answer in answers)
    assert [house.slack.state.of_bot(channel) for channel in asked_in.values()] == [[], [], []]


async def test_who_asks_by_a_command_where_nobody_may_write_is_told_so(house: SlackHouse) -> None:
    """The bot is in that channel, and does not say otherwise."""
    ada, channel = house.newcomer()
    house.slack.state.channels[channel].closed = "restricted_action_read_only_channel"

    await house.slack.commands(ada, channel, QUESTION)
    answer = await house.ended(f"D{ada}")

    assert "I cannot write there, so I answer in our direct messages." in house.whispers(ada)
    assert answer.text.startswith(COMPLETE)


async def test_private_command_is_answered_in_direct_messages(house: SlackHouse) -> None:
    ada, channel = house.newcomer()

    await house.slack.commands(ada, channel, f"private:yes {QUESTION}")
    answer = await house.ended(f"D{ada}")

    assert house.slack.state.of_bot(channel) == []
    assert "?sig=" in answer.buttons["view_full_analysis"]["url"]


async def test_command_without_a_question_opens_a_form_with_all_modes(house: SlackHouse) -> None:
    """Several modes are ticked; what is wrong is said beside its field, and one submission is one question."""
    ada, channel = house.newcomer()
    form = await house.slack.form(ada, channel, "  ")

    refused = await house.slack.submits(ada, form, filled(form, question="  ", mode=["idea"]))
    sent = filled(form, question=QUESTION, mode=["quick", "idea"], extras=["private"], context='of "Fundy"')
    acks = [await house.slack.submits(ada, form, sent) for _ in range(2)]
    answer = await house.ended(f"D{ada}")

    assert view_faults(form) == []
    assert refused.payload["errors"] == {"question": "Ask me a question and I will answer it with sources."}
    assert [(ack.payload, ack.seconds < ACK_S) for ack in acks] == [({}, True)] * 2
    assert {"Quick answer", "Ideas"} <= set(re.findall("Quick answer|Ideas", answer.shown))
    assert house.slack.state.of_bot(channel) == []


async def test_a_form_that_slack_does_not_open_asks_for_a_question(house: SlackHouse) -> None:
    """A trigger lives for three seconds."""
    ada = house.person()

    await house.slack.commands(ada, house.channel(ada), "", trigger="tr.expired")
    await house.slack.until(lambda: house.whispers(ada))

    assert house.whispers(ada) == ["Ask me a question and I will answer it with sources."]


@pytest.mark.parametrize(("word", "said"), [("help", "How to ask me"), ("cancel", "There is no answer here yet")])
async def test_a_word_in_a_channel_is_answered_where_its_writer_sees_it(
    house: SlackHouse, word: str, said: str
) -> None:
    """For their eyes alone, and in no thread that nobody has opened: Slack shows nothing there."""
    ada, channel = house.newcomer()

    await house.slack.mentions(ada, channel, word)
    await house.slack.until(lambda: house.whispers(ada))

    assert said in house.whispers(ada)[0]
    assert house.slack.state.ephemerals[-1].thread_ts == ""
    assert house.slack.state.of_bot(channel) == []


async def test_shortcut_checks_a_message_in_the_thread_on_it(house: SlackHouse) -> None:
    """G-03: Research This answers in a thread on the original message, with a verdict for each claim."""
    ada, ben = house.person(), house.person()
    channel = house.channel(ada, "private")
    said = house.slack.state.says(ben, channel, "The tides are caused by the gravity of the Moon and of the Sun.")

    ack = await house.slack.shortcut(ada, said)
    answer = await house.ended(channel)

    assert ack.seconds < ACK_S
    assert answer.thread_ts == said.ts
    assert "✅ *Supported*: “The tides are caused by the gravity of the Moon and of the Sun.”" in answer.shown


async def test_shortcut_where_the_bot_is_no_member_is_answered_in_direct_messages(house: SlackHouse) -> None:
    ada, ben = house.person(), house.person()
    channel = house.channel(ada, "private", with_bot=False)
    said = house.slack.state.says(ben, channel, "The tides are caused by the gravity of the Moon and of the Sun.")

    await house.slack.shortcut(ada, said)
    answer = await house.ended(f"D{ada}")

    assert "gravity of the Moon" in answer.shown
    assert any("direct messages" in said for said in house.whispers(ada))


async def test_attached_text_is_a_source_of_that_question(house: SlackHouse) -> None:
    """A file that comes with a question is cited like any other source."""
    ada, channel = house.newcomer()
    text = b"Report on the Ostrava tide mill.\n\nThe Ostrava tide mill grinds 40 tonnes of barley a day.\n"
    file = house.slack.attaches("report.txt", "text/plain", text)

    await house.slack.mentions(ada, channel, "How much barley does the Ostrava tide mill grind?", files=[file])
    answer = await house.ended(channel)

    assert "40 tonnes of barley" in answer.shown


async def test_address_in_a_question_is_a_source_of_it(house: SlackHouse) -> None:
    """A link that comes with a question is read and cited, although no search found it."""
    ada, channel = house.newcomer()
    page = "<p>The Ostrava tide bell rings 17 times a day.</p><p>It was cast in bronze by the town's founders.</p>"
    house.world.web.pages["/bell"] = PageSpec(
        f"<html><title>The bell</title><body><article>{page}</article></body></html>"
    )

    await house.slack.mentions(ada, channel, f"How often does the Ostrava bell ring? <{house.world.web.url('/bell')}>")
    answer = await house.ended(channel)

    assert "rings 17 times a day" in answer.shown


async def test_file_that_gives_no_text_is_refused_with_its_name(house: SlackHouse) -> None:
    """Every path ends in words."""
    ada, channel = house.newcomer()
    file = house.slack.attaches("photo.png", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(64))

    await house.slack.mentions(ada, channel, "What does it say?", files=[file])
    await house.slack.until(lambda: house.slack.state.of_bot(channel))

    assert "photo.png" in house.slack.state.of_bot(channel)[0].text


async def test_what_nobody_listens_to_is_acknowledged(house: SlackHouse) -> None:
    """Else Slack shows a warning, and sends events again."""
    ada, channel = house.newcomer()
    said = house.slack.state.says(ada, channel, "Hello")
    joined = house.slack.event("member_joined_channel", said)

    acks = [
        await house.slack.send("event", joined),
        await house.slack.shortcut(ada, said, "something_else"),
        await house.slack.send(
            "interactive", {"type": "view_closed", "view": {"callback_id": "x"}, "user": {"id": ada}}
        ),
    ]

    assert [ack.attempts for ack in acks] == [1, 1, 1]
    assert house.slack.state.of_bot(channel) == []


async def test_who_asks_too_often_is_told_how_long_to_wait(house: SlackHouse) -> None:
    """G-03: five a minute a person; the refusal says when to come back."""
    ada, channel = house.newcomer()

    for number in range(6):
        await house.slack.mentions(ada, channel, f"{QUESTION} Number {number}")
    await house.slack.until(lambda: len(house.endings(channel)) == 6)

    refusals = [one.text for one in house.endings(channel) if one.text.startswith("Please wait ")]
    assert len(refusals) == 1
    assert refusals[0].endswith("seconds…")


def prompts_in(language: str) -> list[str]:
    with speaking(language):
        return [say(prompt) for prompt in PROMPTS]
