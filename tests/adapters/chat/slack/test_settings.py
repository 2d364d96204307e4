"""Settings of a Slack workspace: its admins see and change them, and the next question is answered by them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pytest
import pytest_asyncio

from adapters.chat.slack.library import COMMAND
from core.presentation import wording
from core.tenancy.settings import FIELDS
from core.text.saying import say, speaking
from tests import commands
from tests.adapters.chat.slack.house import SlackHouse
from tests.adapters.durable.outside import QUESTION
from tests.core.section.shelves import BRIEF
from tests.loopback.slack_forms import filled, initial
from tests.loopback.slack_state import TEAM

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACK_S = 3.0
DEFAULTS = {
    "channels": [], "visibility": "workspace", "threads": "auto", "retention_days": "", "user_per_min": "",
    "workspace_per_min": "", "providers": [], "primary_only": "no", "allow_domains": "", "block_domains": "",
    "language": "question",
}  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module")
async def admin(house: SlackHouse) -> AsyncIterator[str]:
    """An admin, in a channel of theirs. What they have set is undone, since others live in this workspace too."""
    user = house.person()
    house.channel(user)
    house.slack.state.admins.add(user)
    yield user
    view = await opened(house, user)
    await house.slack.submits(user, view, filled(view, **DEFAULTS))


async def opened(house: SlackHouse, user: str) -> dict[str, object]:
    """The form that `/research settings` opens."""
    form = await house.slack.form(user, house.channel(user), "settings")
    assert house.slack.acks[-1].seconds < ACK_S
    return form


def whispered_blocks(house: SlackHouse, user: str) -> str:
    """What they alone were shown."""
    return "".join(str(one.blocks) for one in house.slack.state.ephemerals if one.user == user)


async def gorkd(house: SlackHouse, *arguments: str) -> str:
    """Another process on the same records."""
    ended = await commands.gorkd("settings", *arguments, "--tenant", f"slack:{TEAM}", env=house.env)
    assert ended.code == 0, ended.err
    return ended.out


async def test_admins_change_settings_and_the_next_question_minds_them(house: SlackHouse, admin: str) -> None:
    """G-03: the form has every setting; what is wrong is said by its field, what is saved holds at once, and a
    change by another process does too. Who changed what stands in the form and in the log.
    """
    ada = house.person()
    chosen, other = house.channel(ada), house.channel(ada)
    view = await opened(house, admin)

    wrong = await house.slack.submits(
        admin, view, filled(view, allow_domains="nature", user_per_min="99", retention_days="30")
    )
    saved = await house.slack.submits(admin, view, filled(view, channels=[chosen], block_domains="example.com"))
    await house.slack.mentions(ada, other, QUESTION)
    await house.slack.until(lambda: house.slack.state.of_bot(other))
    answer = await house.answered(ada, chosen)
    again = await opened(house, admin)
    await house.slack.commands(admin, chosen, "settings log")
    await house.slack.until(lambda: whispered_blocks(house, admin))
    told = await gorkd(house, "set", "channels", f"{chosen}, {other}")
    in_other = await house.answered(ada, other)

    fields = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}  # type: ignore[attr-defined]
    assert fields == set(FIELDS)
    assert wrong.payload["response_action"] == "errors"
    assert set(wrong.payload["errors"]) == {"allow_domains"}
    assert saved.payload["response_action"] == "update"
    assert saved.payload["view"]["blocks"][0]["text"]["text"].endswith("Saved. It holds from the next question on.")
    refused = house.slack.state.of_bot(other)[0].shown
    assert refused.startswith("I do not answer in this channel; ask me in a direct message")
    assert "/research settings" in refused
    assert answer.text.startswith("Research Complete")
    assert initial(again, "channels") == [chosen]
    assert initial(again, "block_domains") == "example.com"
    assert f"<@{admin}>: *Channels* _everywhere_ → <#{chosen}>" in whispered_blocks(house, admin)
    assert f"channels: {chosen} → {chosen}, {other}" in told
    assert in_other.text.startswith("Research Complete")


async def test_no_entry_answers_in_a_channel_that_is_not_chosen(house: SlackHouse, admin: str) -> None:
    """G-03: whatever begins research or speaks to the library there is refused; direct messages are answered."""
    slack, ada = house.slack, house.person()
    chosen, other = house.channel(ada), house.channel(ada)
    answer = await house.answered(ada, other)
    section = await slack.form(ada, other, command="/section")
    asking = await slack.form(ada, other, command="/library")
    view = await opened(house, admin)
    await slack.submits(admin, view, filled(view, channels=[chosen]))
    listing = {COMMAND: {COMMAND: {"selected_option": {"value": "list"}}}}
    brief = {"files": [slack.attaches("paper.yaml", "application/yaml", BRIEF.encode())]}
    writing = {"which": {"which": {"selected_option": {"value": "introduction"}}}, "context": {"context": brief}}
    thread = {"thread_ts": answer.thread_ts}
    entries: dict[str, Callable[[], Awaitable[object]]] = {
        "mention": lambda: slack.mentions(ada, other, QUESTION),
        "command": lambda: slack.commands(ada, other, QUESTION),
        "shortcut": lambda: slack.shortcut(ada, answer),
        "section": lambda: slack.submits(ada, section, writing),
        "library command": lambda: slack.commands(ada, other, "research tides", command="/library"),
        "library form": lambda: slack.submits(ada, asking, listing),
        "library words": lambda: slack.mentions(ada, other, "library list"),
        "library paper": lambda: slack.mentions(ada, other, "add 2401.00001 to the library"),
        "deeper": lambda: slack.mentions(ada, other, "deeper", **thread),
        "improve": lambda: slack.mentions(ada, other, "improve: shorter", **thread),
        "again": lambda: slack.mentions(ada, other, "again", **thread),
        "follow-up": lambda: slack.mentions(ada, other, "and in rivers?", **thread),
        "button": lambda: slack.clicks(ada, answer, "ask_again"),
    }

    def refused() -> int:
        said = [*house.whispers(ada), *(one.shown for one in slack.state.of_bot(other))]
        return sum("I do not answer in this channel" in one for one in said)

    for count, (name, enter) in enumerate(entries.items(), start=1):
        await enter()
        try:
            await slack.until(partial(lambda least: refused() >= least, count), within_s=5)
        except TimeoutError:
            raise AssertionError(
                f"{name} was not refused: {[one.shown for one in slack.state.of_bot(other)]}"
            ) from None
    await slack.direct(ada, QUESTION)
    await slack.direct(ada, QUESTION, thread_ts=await slack.opens_pane(ada))
    await house.ended(slack.state.direct(ada), times=2)

    assert refused() == len(entries)
    assert house.endings(other) == [answer]


async def test_nobody_else_sees_or_changes_settings(house: SlackHouse, admin: str) -> None:
    """Neither by the command, nor by a form that somebody else has opened, nor from the home page."""
    ada, channel = house.newcomer()
    view, views = await opened(house, admin), len(house.slack.state.views)

    for text in ("settings", "settings log"):
        await house.slack.commands(ada, channel, text)
    await house.slack.until(lambda: len(house.whispers(ada)) == 2)
    sent = await house.slack.submits(ada, view, filled(view, user_per_min="1"))

    sentence = "Only admins can see and change the settings; please ask one of them."
    assert house.whispers(ada) == [sentence, sentence]
    assert len(house.slack.state.views) == views
    assert list(sent.payload["errors"].values()) == [sentence]
    assert initial(await opened(house, admin), "user_per_min") is None


async def test_what_two_admins_change_at_once_is_not_lost(house: SlackHouse, admin: str) -> None:
    """The second is shown what the first has saved, and told so."""
    first, second = await opened(house, admin), await opened(house, admin)

    await house.slack.submits(admin, first, filled(first, workspace_per_min="29"))
    ack = await house.slack.submits(admin, second, filled(second, retention_days="30"))
    shown = house.slack.state.views[-1]

    assert ack.payload["response_action"] == "update"
    assert "Somebody else has saved other settings meanwhile" in str(shown["blocks"][0])
    assert (initial(shown, "workspace_per_min"), initial(shown, "retention_days")) == ("29", None)


async def test_answers_stay_in_their_channel_and_out_of_threads_where_that_is_set(
    house: SlackHouse, admin: str
) -> None:
    """Visibility: a page of an open channel needs its signature; threads: the answer stands in the channel itself."""
    ada, channel = house.newcomer()
    view = await opened(house, admin)
    await house.slack.submits(admin, view, filled(view, visibility="channel", threads="never"))

    await house.slack.mentions(ada, channel, QUESTION)
    answer = await house.ended(channel)

    assert "?sig=" in answer.buttons["view_full_analysis"]["url"]
    assert answer.thread_ts == ""


async def test_the_home_page_opens_the_form_for_admins(house: SlackHouse, admin: str) -> None:
    """Others are told why not."""
    ada = house.person()
    house.channel(ada)
    for user in (admin, ada):
        event = {"type": "app_home_opened", "user": user, "tab": "home", "channel": f"D{user}"}
        await house.slack.send("event", house.slack._event_body(event))
    await house.slack.until(lambda: {admin, ada} <= house.slack.state.homes.keys())
    views = house.slack.state.views

    count = len(views)
    await house.slack.clicks_home(admin, "open_settings")
    await house.slack.until(lambda: len(views) == count + 1)
    await house.slack.clicks_home(ada, "open_settings")
    await house.slack.until(lambda: len(views) == count + 2)

    assert views[-2]["callback_id"] == "settings"
    assert "Only admins can see and change the settings" in str(views[-1]["blocks"])


async def test_the_language_that_is_set_is_spoken_from_the_next_word_on(house: SlackHouse, admin: str) -> None:
    """And not only from the next question on, of which nothing tells an admin who looks whether it works."""
    view = await opened(house, admin)

    await house.slack.submits(admin, view, filled(view, language="de"))
    await house.slack.commands(admin, house.channel(admin), "history")
    await house.slack.until(lambda: house.whispers(admin))

    with speaking("de"):
        assert house.whispers(admin) == [say(wording.NO_HISTORY)]
