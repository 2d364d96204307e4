"""The library in Discord, with the real bot process: add a PDF, search, open a page, save, and who may do what."""

from __future__ import annotations

import pytest

from tests.loopback.discord_data import ASKER, OTHER
from tests.loopback.discord_house import House
from tests.pdfs import make_pdf

pytestmark = pytest.mark.asyncio(loop_scope="module")
PAPER = make_pdf(
    ["Tides and the Moon", "Abstract. The tides of the oceans are studied."],
    ["The gravity of the moon pulls the water", "of the oceans and causes the tides."],
)


async def said(house: House, command: str, **how: object) -> str:
    """What `/library` answers in the end, as text."""
    asked = house.discord.slash("library", channel=house.discord.direct(), command=command, **how)
    message = await house.final(asked, within_s=40)
    return f"{message.embed.get('title', '')}\n{message.embed.get('description', message.text)}".replace("\\", "")


async def test_a_pdf_is_added_found_opened_and_saved(house: House) -> None:
    """S000-50: the words of the machine, with the page as a picture and a file to keep."""
    added = await said(house, "add", file=("2401.00001v1.pdf", "application/pdf", PAPER))
    found = await said(house, "sem-search", argument="gravity of the moon and tides of the oceans")
    saved = await said(house, "save")
    opened = await said(house, "open", argument="1 page 2")
    wrong = await said(house, "open", argument="7")

    assert "2401.00001v1" in added
    assert "✅ Added 2401.00001v1, Tides and the Moon (2 pages)." in added
    assert "page 1: Tides" in found
    assert "causes the tides" in found
    assert "Saving research results" in saved
    (name,) = [name for name in house.discord.files if name.endswith(".md")]
    assert b"2401.00001v1" in house.discord.files[name]
    assert "page 2 of 2" in opened
    assert house.discord.files["uploaded/page.png"].startswith(b"\x89PNG")
    assert "There is no number 7; the list goes from 1 to 1." in wrong


async def test_only_admins_change_a_servers_library(house: House) -> None:
    """A member may look and ask; a server's papers do not show what somebody keeps for oneself."""
    refused = await house.final(house.discord.slash("library", person=OTHER, command="add", argument="2401.00001"))
    listed = await house.final(house.discord.slash("library", command="list"))

    assert "Only admins may change the library." in refused.text
    assert "send a PDF and say “add to library”" in listed.text


async def test_in_a_channel_each_talks_for_oneself_and_in_a_thread_all_together(house: House) -> None:
    """What one has listed gives its numbers to nobody else, but in a thread, where everybody reads it."""
    added = ("2401.00001v1.pdf", "application/pdf", PAPER)
    thread = house.discord.add_thread(house.discord.say("Look at the sea"), "papers")
    await house.final(house.discord.slash("library", command="add", file=added), within_s=40)
    shown: dict[str, list[str]] = {}

    for name, place in (("channel", house.discord.open), ("thread", thread)):
        await house.final(house.discord.say("@gorkd library list", channel=place))
        turns = [house.discord.say("@gorkd library open 1", person=person, channel=place) for person in (OTHER, ASKER)]
        shown[name] = [(await house.final(one, within_s=20)).text for one in turns]

    assert ["page 1 of 2" in text for text in shown["channel"]] == [False, True]
    assert ["page 1 of 2" in text for text in shown["thread"]] == [True, True]


async def test_commands_complete_themselves(house: House) -> None:
    """What can be said is offered as one types."""
    typing = house.discord.typing("library", "command", "sum")
    await house.discord.until(lambda: typing.choices is not None)

    assert [choice["value"] for choice in typing.choices or []] == ["summarize", "summary", "summarize-all"]


@pytest.mark.parametrize(
    ("reference", "paper"),
    [
        pytest.param("2405.00000", "2405.00000v2", id="arXiv id"),
        pytest.param("https://doi.org/10.48550/arXiv.2405.00001", "2405.00001v2", id="DOI that arXiv has given"),
    ],
)
async def test_a_paper_is_added_by_what_it_is_called(house: House, reference: str, paper: str) -> None:
    """From arXiv's catalogue and the PDF beside it; what it says can be found at once, on its page."""
    added = await said(house, "add", argument=reference)
    again = await house.final(
        house.discord.say(f"add {reference} to library", channel=house.discord.direct()), within_s=20
    )
    opened = await said(house, "open", argument=f"{paper} page 1")

    assert f"✅ Added {paper}, " in added
    assert "is in the library already" in again.text.replace("\\", "")
    assert "page 1 of 1" in opened


async def test_a_paper_that_arxiv_does_not_know_is_refused_in_words(house: House) -> None:
    assert "2499.99999 cannot be read: arXiv does not know it." in await said(house, "add", argument="2499.99999")
