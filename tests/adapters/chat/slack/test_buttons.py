"""Buttons and words under an answer: by its asker and by others, once and twice."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from tests.adapters.chat.slack.house import SlackHouse
from tests.adapters.durable.outside import QUESTION, heal
from tests.loopback.openai_responders import Fault
from tests.loopback.slack_limits import view_faults
from tests.loopback.slack_state import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")
Asked = tuple[str, str, Message]  # who, in which channel, and the answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(house: SlackHouse) -> Asked:
    """What is only looked at and voted on, by somebody else each time."""
    return await house.has_asked()


async def metric(house: SlackHouse, name: str) -> str:
    """The line of `/metrics` that begins with this, once it is there: a vote is acknowledged before it is kept."""
    from aiohttp import ClientSession

    async with asyncio.timeout(40.0), ClientSession() as session:
        while True:
            async with session.get(f"{house.process.address}/metrics") as response:
                found = [line for line in (await response.text()).splitlines() if line.startswith(name)]
            if found:
                return found[0]
            await asyncio.sleep(0.05)


async def test_show_sources_is_for_who_clicked_alone(house: SlackHouse, asked: Asked) -> None:
    """G-03: every source that was read, with its relevance, in the thread."""
    ada, channel, answer = asked
    ben = house.person(channel)
    told = house.whispers(ada)

    ack = await house.slack.clicks(ben, answer, "show_sources")
    await house.slack.until(lambda: house.whispers(ben))

    shown = house.slack.state.ephemerals[-1]
    assert ack.seconds < 1
    assert (shown.user, shown.thread_ts) == (ben, answer.thread_ts)
    assert "relevance" in shown.shown
    assert house.whispers(ada) == told


async def test_sources_reach_who_may_not_be_whispered_to(house: SlackHouse, asked: Asked) -> None:
    """A click comes with an address for its answer, good for half an hour and five uses."""
    _, _, answer = asked
    guest = house.person()

    await house.slack.clicks(guest, answer, "show_sources")
    await house.slack.until(lambda: house.whispers(guest))

    assert "How tides work> · " in house.whispers(guest)[0]


async def test_expired_response_address_costs_nothing_but_that_word(house: SlackHouse, asked: Asked) -> None:
    _, channel, answer = asked
    guest, ben = house.person(), house.person(channel)

    await house.slack.clicks(guest, answer, "show_sources", response_url=f"{house.slack.url}/response/R000000")
    await house.slack.clicks(ben, answer, "show_sources")
    await house.slack.until(lambda: house.whispers(ben))

    assert house.whispers(guest) == []


async def test_share_goes_to_the_channel_once_after_a_confirmation(house: SlackHouse) -> None:
    """G-03: Share posts with confirmation, for whoever asked."""
    ada, channel, answer = await house.has_asked()
    ben = house.person()

    await house.slack.clicks(ben, answer, "share")
    await house.slack.until(lambda: house.whispers(ben))
    await house.slack.clicks(ada, answer, "share")
    await house.slack.until(lambda: house.slack.state.views)
    unconfirmed = len(house.endings(channel))
    await house.slack.shares(ada, answer)
    await house.slack.until(lambda: len(house.endings(channel)) == 2)
    await house.slack.shares(ada, answer)
    await house.slack.clicks(ada, answer, "rate", value=answer.buttons["rate"]["positive_button"]["value"])
    await house.slack.until(lambda: "Thank you." in house.whispers(ada))

    shared = house.endings(channel)[-1]
    assert house.slack.state.views[-1]["title"]["text"] == "Share this answer?"
    assert unconfirmed == 1
    assert len(house.endings(channel)) == 2
    assert shared.thread_ts == ""
    assert f"Shared by <@{ada}>" in shared.shown
    assert house.whispers(ben) == ["Only the person who asked can do that."]


async def test_a_button_does_nothing_where_its_answer_may_not_be_seen(house: SlackHouse) -> None:
    """What names the answer of a closed channel is worth nothing in another, or in somebody else's hands."""
    ada = house.person()
    answer = await house.answered(ada, house.channel(ada, "private"))
    asked, views = len(house.world.model.calls), len(house.slack.state.views)
    vote = {"value": answer.buttons["rate"]["positive_button"]["value"]}

    for action in ("show_sources", "ask_again", "improve", "rate", "share"):
        eve, elsewhere = house.newcomer()
        where = {"channel": {"id": elsewhere, "name": "elsewhere"}} | (vote if action == "rate" else {})
        await house.slack.clicks(eve, answer, action, **where)
        await house.slack.until(lambda eve=eve: house.whispers(eve))

        assert house.whispers(eve) == ["That answer is no longer kept; please ask again."], action
        assert house.slack.state.of_bot(elsewhere) == []

    assert (len(house.world.model.calls), len(house.slack.state.views)) == (asked, views)


async def test_ask_again_is_a_new_answer_in_the_same_thread(house: SlackHouse) -> None:
    """Nothing of the earlier answer is used: the model is asked anew. "sources" as a word lists them there for all."""
    ada, channel, answer = await house.has_asked()
    ben, thread = house.person(), answer.thread_ts
    asked = len(house.world.model.calls)

    await house.slack.clicks(ben, answer, "ask_again")
    again = await house.ended(channel, times=2)
    await house.slack.mentions(ada, channel, "sources", thread_ts=thread)
    await house.slack.until(lambda: any("were read" in one.shown for one in house.slack.state.of_bot(channel, thread)))

    assert {one.thread_ts for one in house.slack.state.of_bot(channel)} == {thread}
    assert again.ts != answer.ts
    assert len(house.world.model.calls) > asked


async def test_a_question_that_was_offered_is_asked_in_the_same_thread(house: SlackHouse) -> None:
    """As if whoever clicked had written it there: it is understood as a follow-up."""
    _, channel, answer = await house.has_asked()
    ben = house.person(channel)
    offered = answer.buttons["follow_up_1"]["text"]["text"]

    await house.slack.clicks(ben, answer, "follow_up_1")
    further = await house.ended(channel, times=2)

    assert further.thread_ts == answer.thread_ts
    assert f"*Question*: {offered}" in further.shown
    plans = [call for call in house.world.model.calls if call.schema_name == "plan"]
    assert QUESTION in plans[-1].user

    await house.slack.clicks(ben, answer, "follow_up_2")
    await house.ended(channel, times=3)

    of_the_answer = [call for call in house.world.model.calls if call.schema_name == "plan"][-1].user
    assert QUESTION in of_the_answer
    assert offered not in of_the_answer  # said later than the answer that was clicked


async def test_a_changed_private_question_stays_private(house: SlackHouse) -> None:
    """G-03: it is answered where the first was, for the asker's eyes alone; the channel sees nothing of either."""
    ada = house.person()
    channel, direct = house.channel(ada), house.slack.state.direct(ada)
    asked = await house.slack.mentions(ada, channel, f"{QUESTION} private:yes")
    first = await house.ended(direct)
    await house.sources_of(first.ts)

    await house.slack.edits(asked, "Which body causes the neap tides? private:yes")
    await house.slack.until(lambda: house.whispers(ada))
    offer = next(one for one in house.slack.state.ephemerals if one.user == ada)
    for _ in range(2):
        await house.slack.clicks_aside(offer, "changed")
    second = await house.ended(direct, times=2)

    assert "Which body causes the neap tides?" in second.shown
    assert house.slack.state.of_bot(channel) == []
    assert [one for one in house.whispers(ada) if "Research Complete" in one] == []


async def test_improve_asks_what_is_to_be_better_and_minds_it(house: SlackHouse) -> None:
    """G-03: the same button as in Discord; the better answer comes in the thread, once, however often it is sent."""
    _, channel, answer = await house.has_asked()
    ben = house.person(channel)
    before = len(house.slack.state.views)

    await house.slack.clicks(ben, answer, "improve")
    await house.slack.until(lambda: len(house.slack.state.views) > before)
    view = house.slack.state.views[-1]
    wish = {"reason": {"reason": {"type": "plain_text_input", "value": "Say more of the moon"}}}
    acks = [await house.slack.submits(ben, view, wish) for _ in range(2)]
    better = await house.ended(channel, times=2)

    assert view_faults(view) == []
    assert view["title"]["text"] == "Improve this answer"
    assert max(ack.seconds for ack in acks) < 2
    assert (better.thread_ts, better.ts != answer.ts) == (answer.thread_ts, True)
    asked = [call.user for call in house.world.model.calls if call.schema_name == "answer"]
    assert "Say more of the moon" in asked[-1]


async def test_votes_are_kept_and_a_bad_one_asks_why(house: SlackHouse, asked: Asked) -> None:
    """👎 opens "What went wrong?"; what is sent off is kept and counted."""
    _, channel, answer = asked
    ben = house.person(channel)
    pair, views = answer.buttons["rate"], len(house.slack.state.views)

    await house.slack.clicks(ben, answer, "rate", value=pair["negative_button"]["value"])
    await house.slack.until(lambda: len(house.slack.state.views) > views)
    view = house.slack.state.views[-1]
    reason = {"reason": {"reason": {"type": "plain_text_input", "value": "The year is wrong."}}}
    ack = await house.slack.submits(ben, view, reason)

    assert view_faults(view) == []
    assert ack.seconds < 1
    assert await metric(house, 'gorkd_ratings{verdict="bad"}')


async def test_bad_vote_counts_although_its_trigger_expired(house: SlackHouse, asked: Asked) -> None:
    """A modal can be opened for three seconds only."""
    _, channel, answer = asked
    ben = house.person(channel)
    views = len(house.slack.state.views)

    await house.slack.clicks(
        ben, answer, "rate", value=answer.buttons["rate"]["negative_button"]["value"], trigger_id="tr.expired"
    )
    await house.slack.until(lambda: "Thank you." in house.whispers(ben))

    assert len(house.slack.state.views) == views


async def test_failed_question_can_be_retried_in_its_own_message(house: SlackHouse) -> None:
    """G-03, D14: failed says why, keeps what was found, and Retry ends in the answer; two clicks are one retry."""
    ada, channel = house.newcomer()
    house.world.model.respond = lambda call: Fault(status=500)
    await house.slack.mentions(ada, channel, "Which body causes the tides of the ocean?")
    failed = await house.ended(channel)
    assert failed.text.startswith("Research Failed")
    heal(house.world)

    await asyncio.gather(*(house.slack.clicks(ada, failed, "retry") for _ in range(2)))
    await house.slack.until(lambda: any(one.text.startswith("Research Complete") for one in house.endings(channel)))

    assert len(house.endings(channel)) == 1
    assert house.endings(channel)[0].ts == failed.ts


async def test_button_of_a_forgotten_answer_says_so(house: SlackHouse) -> None:
    """`forget` erases question, answer and sources; its buttons know nothing any more."""
    ada, channel, answer = await house.has_asked()

    await house.slack.mentions(ada, channel, "forget", thread_ts=answer.thread_ts)
    await house.slack.until(lambda: house.whispers(ada))
    await house.slack.clicks(ada, answer, "show_sources")
    await house.slack.until(lambda: len(house.whispers(ada)) == 2)

    assert house.whispers(ada) == [
        "Forgotten: the question, its answer and its sources.",
        "That answer is no longer kept; please ask again.",
    ]


async def test_history_and_help_are_told_to_who_asked(house: SlackHouse, asked: Asked) -> None:
    ada, channel, _ = asked

    history = await house.slack.commands(ada, channel, "history")
    helped = [(await house.slack.commands(ada, channel, word)).payload["text"] for word in ("help", "Hilfe")]

    assert QUESTION in str(history.payload["blocks"])
    assert all("improve" in text for text in helped)
    assert len(house.endings(channel)) == 1


async def test_what_somebody_has_asked_elsewhere_is_not_read_out_where_they_cannot_be_whispered_to(
    house: SlackHouse, asked: Asked
) -> None:
    """Each line of it is a link that opens the answer."""
    ada, _, _ = asked
    _, elsewhere = house.newcomer()

    await house.slack.mentions(ada, elsewhere, "history")
    await house.slack.until(lambda: [one for one in house.slack.state.of_bot() if "Your questions" in one.shown])

    assert house.slack.state.of_bot(elsewhere) == []
    assert QUESTION in next(one for one in house.slack.state.of_bot() if "Your questions" in one.shown).shown


async def test_what_is_clicked_or_said_in_a_word_is_answered_in_the_language_of_the_answer(house: SlackHouse) -> None:
    """Where no workspace has chosen one: a click tells none, and "forget" is said by anybody."""
    ada, channel = house.newcomer()
    ben = house.person(channel)
    asked = await house.slack.mentions(ada, channel, "Was ist die Ursache der Gezeiten, und wer hat sie erkannt?")
    await house.slack.until(lambda: any("share" in one.buttons for one in house.slack.state.of_bot(channel)))

    await house.slack.clicks(ben, house.slack.state.of_bot(channel)[0], "share")
    await house.slack.until(lambda: house.whispers(ben))
    await house.slack.mentions(ben, channel, "forget", thread_ts=asked.ts)
    await house.slack.until(lambda: house.whispers(ben)[1:])

    assert house.whispers(ben) == ["Das kann nur, wer gefragt hat."] * 2
