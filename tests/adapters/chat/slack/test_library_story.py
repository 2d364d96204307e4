"""The paper library in Slack, with the real process and a real paper: drop it, ask, open a page, improve, save."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from adapters.chat.slack.library import ARGUMENT, COMMAND, WISH
from adapters.chat.slack.library import PAPER as PAPER_FIELD
from core.library.states import COMMANDS
from tests.adapters.chat.slack.house import PUBLIC_URL, SlackHouse
from tests.adapters.chat.slack.test_kills import two_processes
from tests.adapters.durable.processes import Process, front
from tests.loopback.openai_responders import ChatCall, Fault, Respond
from tests.loopback.slack_state import ADA, GENERAL, Message
from tests.pdfs import make_pdf
from tests.shared_data import shared_data

pytestmark = pytest.mark.asyncio(loop_scope="module")
PAPER = "1310.10009"
TITLE = "Lost Branches on the Tree of Life"
QUESTION = "How many peer-reviewed papers were examined for data deposition?"
FOUND = "we examined 7,539 peer-reviewed papers to evaluate data depositional practices"


def librarian(call: ChatCall) -> str | None:
    """A model that reads this one paper well; None for what is none of its business."""
    if call.schema_name == "paper_summary":
        told = {"title": TITLE, "authors": ["Drew, B. T."], "year": "2013", "summary": f"{TITLE}: archiving data."}
        return json.dumps(told)
    if call.schema_name == "answer" and "Evidence from the papers" in call.user:
        found = f"In it {FOUND} [{PAPER}, page 2]."
        return json.dumps({"summary": found, "detail": f"## Answer\n\n{found}", "citations": []})
    return None


@pytest.fixture
def _reading(house: SlackHouse) -> Iterator[None]:
    usual: Respond = house.world.model.respond
    house.world.model.respond = lambda call: librarian(call) or usual(call)
    yield
    house.world.model.respond = usual


async def posted(house: SlackHouse, channel: str, beginning: str, *, times: int = 1) -> Message:
    """Wait for the message of the bot whose text begins so; the last of `times`."""

    def found() -> list[Message]:
        return [one for one in house.slack.state.of_bot(channel) if one.text.startswith(beginning)]

    await house.slack.until(lambda: len(found()) >= times)
    assert len(found()) == times
    return found()[-1]


async def shared_file(house: SlackHouse, channel: str, ending: str) -> dict[str, Any]:
    """Wait for the one file in the channel whose name ends so."""

    def found() -> list[dict[str, Any]]:
        files = [file for one in house.slack.state.of_bot(channel) for file in one.files]
        return [file for file in files if file["name"].endswith(ending)]

    await house.slack.until(found)
    assert len(found()) == 1
    return found()[0]


def content_of(house: SlackHouse, file: dict[str, Any]) -> bytes:
    return house.slack.state.files[file["id"]][1]


def local(house: SlackHouse, url: str) -> str:
    """An address of our page, at the process under test."""
    return url.replace(PUBLIC_URL, house.process.address)


def chosen(command: str, paper: str = "") -> dict[str, Any]:
    """What is filled into the modal."""
    given = {COMMAND: {COMMAND: {"selected_option": {"value": command}}}}
    return given | ({PAPER_FIELD: {PAPER_FIELD: {"selected_option": {"value": paper}}}} if paper else {})


def wishes(house: SlackHouse, answer: Message) -> list[dict[str, Any]]:
    """The modals that Improve under an answer has opened."""
    return [
        view
        for view in house.slack.state.views
        if view.get("callback_id") == WISH and answer.channel in view["private_metadata"]
    ]


async def says(house: SlackHouse, user: str, to: Message, text: str) -> None:
    """Somebody writes in a thread, without a mention."""
    said = house.slack.state.says(user, to.channel, text, to.thread_ts or to.ts)
    await house.slack.send("event", house.slack.event("message", said, channel_type="channel"))


@pytest.mark.usefixtures("_reading")
async def test_a_paper_is_dropped_asked_opened_improved_and_saved(house: SlackHouse) -> None:
    """D15, S000-36 … S000-41, S000-50: the conversation in one thread, by words and buttons, with picture and file."""
    ada = house.person()
    house.slack.state.admins.add(ada)
    channel, before = house.channel(ada), len(house.slack.acks)
    pdf = shared_data("papers", f"{PAPER}.pdf").read_bytes()
    file = house.slack.attaches(f"{PAPER}.pdf", "application/pdf", pdf)

    asked = await house.slack.mentions(ada, channel, "add to library", files=[file])
    added = await posted(house, channel, "✅")
    await says(house, ada, added, f"research {QUESTION}")
    answer = await posted(house, channel, "📝")
    await house.slack.clicks(ada, answer, "library_open_1")
    cited = await shared_file(house, channel, "-page-2.png")
    await says(house, ada, added, "open 1 page 3")
    third = await shared_file(house, channel, "-page-3.png")
    await house.slack.clicks(ada, answer, "library_improve")
    await house.slack.until(lambda: wishes(house, answer))
    await house.slack.submits(ada, wishes(house, answer)[-1], {ARGUMENT: {ARGUMENT: {"value": "More on the method"}}})
    better = await posted(house, channel, "📝", times=2)
    await house.slack.clicks(ada, better, "library_save")
    saved = await shared_file(house, channel, ".md")
    reading = house.world.model.respond
    house.world.model.respond = lambda call: Fault(hang_first=True) if call.schema_name == "answer" else reading(call)
    await says(house, ada, added, f"research {QUESTION}")
    await house.slack.until(lambda: [one for one in house.slack.state.of_bot(channel) if "cancel" in one.buttons])
    (running,) = [one for one in house.slack.state.of_bot(channel) if "cancel" in one.buttons]
    await house.slack.clicks(ada, running, "cancel")
    await house.slack.until(lambda: "cancelled before it was answered" in running.shown)

    assert added.text == f"✅ Added {PAPER}, {TITLE} (3 pages)."
    assert {one.thread_ts for one in house.slack.state.of_bot(channel)} == {asked.ts}
    assert f"In it {FOUND} [{PAPER}, page 2]✓." in answer.shown
    assert f"References\n\n1. {PAPER} - {TITLE}" in answer.shown
    assert cited["alt_txt"].startswith(f"Page 2 of {TITLE}")
    assert content_of(house, cited).startswith(b"\x89PNG")
    assert content_of(house, third) != content_of(house, cited)
    page = await posted(house, channel, "Paper Content", times=2)
    async with ClientSession() as session, session.get(local(house, page.buttons["library_pdf"]["url"])) as response:
        assert await response.read() == pdf
    assert "More on the method" in [call.user for call in house.world.model.calls if call.schema_name == "answer"][-2]
    assert f"✅ Research results saved to: {saved['name']}" in (await posted(house, channel, "💾")).shown
    assert FOUND.encode() in content_of(house, saved)
    assert f"{PUBLIC_URL}/jobs/" in answer.buttons["view_full_analysis"]["url"]
    assert "cancel" not in running.buttons
    assert max(ack.seconds for ack in house.slack.acks[before:]) < 3  # Slack sends an event again then


@pytest.mark.usefixtures("_reading")
async def test_a_library_of_ones_own_by_command_and_modal(house: SlackHouse) -> None:
    """S000-50: every command by its name, papers found while one types, and what is missing told beside its field."""
    ada = house.person()
    direct = house.slack.state.direct(ada)
    file = house.slack.attaches("2401.00001v1.pdf", "application/pdf", make_pdf(["Tides and the Moon", "They rise."]))
    await house.slack.direct(ada, "add to library", subtype="file_share", files=[file])
    await posted(house, direct, "✅")

    view = await house.slack.form(ada, direct, command="/library")
    found = await house.slack.suggests(ada, view, PAPER_FIELD, "2401.00001V")
    nothing = await house.slack.suggests(ada, view, PAPER_FIELD, "yeast")
    missing = await house.slack.submits(ada, view, chosen("open"))
    await house.slack.submits(ada, view, chosen("open", found[0]["value"]))
    page = await posted(house, direct, "Paper Content: 2401.00001v1")
    await house.slack.commands(ada, direct, "open 7", command="/library")
    await house.slack.until(lambda: house.whispers(ada))
    await house.slack.direct(ada, "library export ris")
    exported = await shared_file(house, direct, ".ris")
    url = b"UR  - https://arxiv.org/abs/2401.00001v1\r\nER"
    own = content_of(house, exported).split(b"ER  -")[-2]  # before it stand papers that others share with everybody
    listed = house.slack.attaches("list.ris", "text/plain", own + url + b"  - \r\n")
    await house.slack.direct(ada, "add to library", subtype="file_share", files=[listed])
    again = await posted(house, direct, f"2401.00001v1, {TITLE}")

    select = next(block["element"] for block in view["blocks"] if block["block_id"] == COMMAND)
    assert [option["value"] for option in select["options"]] == ["add", *COMMANDS]
    assert found[0]["text"]["text"].startswith(f"2401.00001v1 {TITLE}")
    assert nothing == []
    assert missing.payload["errors"] == {PAPER_FIELD: "Pick a paper, or write its number above."}
    assert "They rise." in page.shown
    assert house.whispers(ada) == ["There is no number 7; the list goes from 1 to 1."]
    assert exported["name"] == "papers.ris"
    assert again.shown == f"2401.00001v1, {TITLE}, is in the library already."


@pytest.mark.usefixtures("_reading")
async def test_only_admins_change_a_channels_library(house: SlackHouse) -> None:
    """S000-50: everybody may ask; who is an admin is asked of Slack once, and only where it matters."""
    ada, ben = house.person(), house.person()
    channel = house.channel(ada, "private")
    house.slack.state.channels[channel].members.add(ben)
    house.slack.state.admins.add(ben)

    for text in ("status", "add 2401.00001", "remove-paper 2401.00001v1", "rebuild-index"):
        await house.slack.commands(ada, channel, text, command="/library")
    await house.slack.commands(ben, channel, "remove-paper 2401.00001v1", command="/library")
    await house.slack.until(lambda: len(house.whispers(ada)) == 4 and house.whispers(ben))

    assert "State: initial" in house.whispers(ada)[0]
    assert house.whispers(ada)[1:] == ["Only admins may change the library."] * 3
    assert 'There is no paper "2401.00001v1"' in house.whispers(ben)[0]
    assert [call["user"] for call in house.slack.api.named("users.info") if call["user"] in (ada, ben)] == [ada, ben]


@pytest.mark.slow
async def test_research_outlives_the_app_that_is_killed_over_it(tmp_path: Path) -> None:
    """S000-36, G-03: kill -9 in the middle; then there is one answer, in the same message, and one goes on from it."""
    async with two_processes(tmp_path, "off") as two:
        slack, answers = two.slack, two.world.model
        answers.respond = lambda call: librarian(call) or ""
        slack.state.admins.add(ADA)
        pdf = shared_data("papers", f"{PAPER}.pdf").read_bytes()
        file = slack.attaches(f"{PAPER}.pdf", "application/pdf", pdf)
        await slack.mentions(ADA, GENERAL, "add to library", files=[file])
        await slack.until(lambda: two.of("✅"), within_s=30)
        answers.respond = lambda call: replace(Fault(text=librarian(call) or ""), hang_first=True)

        await slack.commands(ADA, GENERAL, f"research {QUESTION}", command="/library")
        await asyncio.wait_for(answers.hanging.wait(), 40)
        await slack.until(lambda: two.of("✍️"))
        placeholder = two.of("✍️")[0]
        await two.restart_app()
        await two.worker.killed()
        answers.respond = lambda call: librarian(call) or ""
        two.worker = await Process.start("worker", two.env)
        await slack.until(lambda: two.of("📝"), within_s=60)
        await asyncio.wait_for(slack.socket.connected.wait(), 20)
        await slack.commands(ADA, GENERAL, "open 1", command="/library")
        await slack.until(lambda: two.of("Paper Content"), within_s=40)

        assert [one.ts for one in two.of("📝")] == [placeholder.ts]
        assert len([one for one in slack.state.of_bot(GENERAL) if not one.thread_ts]) == 2
        assert "page 2 of 3" in two.of("Paper Content")[0].shown


@pytest.mark.slow
async def test_what_a_killed_app_was_doing_is_to_be_said_again(tmp_path: Path) -> None:
    """No job stands behind an `add`: the next process ends its message with a sentence, once, in the same place."""
    async with two_processes(tmp_path, "off") as two:
        slack, model = two.slack, two.world.model
        slack.state.admins.add(ADA)
        model.respond = lambda call: Fault(hang_first=True)
        file = slack.attaches("2401.00001v1.pdf", "application/pdf", make_pdf(["Tides and the Moon", "They rise."]))

        await slack.mentions(ADA, GENERAL, "add to library", files=[file])
        await asyncio.wait_for(model.hanging.wait(), 40)
        await slack.until(lambda: two.of("📄"), within_s=40)
        placeholder = two.of("📄")[0]
        async with front(two.env) as house:
            for _ in range(2):
                await two.restart_app()
                await asyncio.wait_for(slack.socket.connected.wait(), 20)
                await slack.until(lambda: two.of("I was restarted"), within_s=40)
                async with asyncio.timeout(20):  # killed before it is recorded, the next makes the same edit again
                    while await house.records.messages.begun("slack"):  # noqa: ASYNC110  # another process records it
                        await asyncio.sleep(0.05)

        (ended,) = slack.state.of_bot(GENERAL)
        assert ended.ts == placeholder.ts
        assert ended.shown == "I was restarted before this was done; please say it again: add to library"
        assert len([call for call in slack.api.named("chat.update") if "I was restarted" in call["text"]]) == 1


async def test_a_paper_is_added_by_its_arxiv_id(house: SlackHouse) -> None:
    """S000-50: from arXiv's catalogue and the PDF beside it, by words and by the DOI that arXiv has given."""
    ada = house.person()
    house.slack.state.admins.add(ada)
    channel = house.channel(ada)

    await house.slack.mentions(ada, channel, "add 2405.00000 to library")
    added = await posted(house, channel, "✅")
    await says(house, ada, added, "open 2405.00000v2")
    picture = await shared_file(house, channel, "-page-1.png")
    await house.slack.mentions(ada, channel, "library add https://doi.org/10.48550/arXiv.2405.00001")
    await posted(house, channel, "✅ Added 2405.00001v2, ")

    assert added.text.startswith("✅ Added 2405.00000v2, ")
    assert content_of(house, picture).startswith(b"\x89PNG")
