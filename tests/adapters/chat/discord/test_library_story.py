"""A team's papers in Discord as somebody uses them, with real papers, a scripted model, and the real processes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from tests.adapters.durable.outside import QUESTION
from tests.adapters.durable.processes import Process
from tests.adapters.durable.tables import until
from tests.adapters.pages.pdf_files import encrypted, huge_image
from tests.loopback.discord_data import OTHER, Message
from tests.loopback.discord_house import RESPONDERS, House, discord_house
from tests.loopback.library_responders import LIBRARY
from tests.loopback.openai_responders import Fault, by_schema
from tests.pdfs import make_pdf
from tests.shared_data import shared_data

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]
PAPERS = ("0603.10002", "1204.10015")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    shared_data("papers")
    async with discord_house(tmp_path_factory.mktemp("data")) as running:
        friendly(running)
        yield running


def friendly(house: House) -> None:
    house.world.model.respond = by_schema({**RESPONDERS, **LIBRARY})


def pdf(name: str) -> tuple[str, str, bytes]:
    return f"{name}.pdf", "application/pdf", shared_data("papers", f"{name}.pdf").read_bytes()


async def answer(house: House, said: str, **how: object) -> Message:
    """What the bot answers to a message in the end."""
    return await house.final(house.discord.say(said, **how), within_s=30)


def shown(message: Message) -> str:
    return message.text.replace("\\", "").replace("\u200b", "")


async def test_papers_are_dropped_asked_opened_improved_and_saved(house: House) -> None:
    """The done-means of the library: drop a PDF, ask, open page 3, improve, save, in one thread by words alone."""
    dropped = [await answer(house, "@gorkd add to library", file=pdf(name)) for name in PAPERS]
    found = await answer(house, "@gorkd library research How does the relaxed clock model estimate divergence times?")
    cited = await house.final(house.discord.press(found, "Open 1"), within_s=40)
    opened = await answer(house, "@gorkd open 0603.10002 page 3")
    improved = await answer(house, "@gorkd improve say more of the prior and of the tree")
    saved = await answer(house, "@gorkd save")
    exported = await answer(house, "@gorkd export")
    listed = await answer(
        house, "@gorkd add to library", file=("list.bib", "text/plain", house.discord.files["uploaded/papers.bib"])
    )

    assert "✅ Added 0603.10002, Relaxed Phylogenetics and Dating with Confidence (8 pages)." in shown(dropped[0])
    assert "Summary" in dropped[0].buttons
    assert "📝 Research Results" in shown(found)
    assert "[0603.10002, page " in shown(found)
    assert "References" in shown(found)
    assert {"Open 1", "Improve", "Save", "View Full Analysis"} <= set(found.buttons)
    (quote,) = re.findall("“(.+)”", shown(cited))
    assert quote.rstrip(".") in shown(found)
    assert "page 3 of 8" in shown(opened)
    assert house.discord.files["uploaded/page.png"].startswith(b"\x89PNG")
    assert opened.buttons["PDF"]["url"].endswith("#page=3")
    assert {"◀ Page 2", "Page 4 ▶", "Improve", "Save"} <= set(opened.buttons)
    assert "📝 Research Results" in shown(improved)
    assert shown(improved) != shown(found)
    (name,) = [name for name in house.discord.files if name.endswith(".md")]
    assert f"✅ Research results saved to: {name.removeprefix('uploaded/')}" in shown(saved)
    assert b"## References" in house.discord.files[name]
    assert "✅ Reading list saved to: papers.bib" in shown(exported)
    assert "2 there already" in shown(listed)


async def test_the_link_under_a_page_opens_the_pdf(house: House) -> None:
    """On the pages of another process, for that paper alone; without its signature there is nothing."""
    opened = await answer(house, "@gorkd open 0603.10002 page 2")
    link = urlsplit(opened.buttons["PDF"]["url"])
    web = await Process.start("web", {**house.env, "PORT": "0"})

    async with ClientSession(web.address) as browser:
        shown_pdf = await browser.get(f"{link.path}?{link.query}")
        content = await shown_pdf.read()
        unsigned = await browser.get(link.path)
    await web.killed()

    assert (shown_pdf.status, shown_pdf.content_type, content) == (200, "application/pdf", pdf("0603.10002")[2])
    assert unsigned.status == 404


async def test_questions_in_between_are_questions(house: House) -> None:
    """What is no word of the library is researched as ever, and what was shown stays for the words."""
    await answer(house, "@gorkd list")

    asked = await answer(house, f"@gorkd {QUESTION}")
    wrong = [shown(await answer(house, f"@gorkd {said}")) for said in ("open 7", "open nothing", "summary", "save")]

    assert "Research Complete" in shown(asked)
    assert "There is no number 7; the list goes from 1 to 2." in wrong[0]
    assert '"nothing" is neither a number nor the id of a paper here.' in wrong[1]
    assert "Say what: `summary <number|id>`." in wrong[2]
    assert "`save` has nothing to work on yet" in wrong[3]


async def test_what_is_no_paper_is_told_and_members_add_nothing(house: House) -> None:
    """One clear sentence each."""
    broken = shared_data("hostile_sample", "files", "pdf-is-html.pdf").read_bytes()

    refused = await answer(house, "@gorkd add to library", file=("odd.pdf", "application/pdf", broken))
    locked = await answer(house, "@gorkd add to library", file=("locked.pdf", "application/pdf", encrypted()))
    scan = await answer(house, "@gorkd add to library", file=("scan.pdf", "application/pdf", huge_image()))
    again = await answer(house, "@gorkd please add this to our library", file=pdf(PAPERS[0]))
    nothing = await answer(house, "@gorkd add to library")
    member = await answer(house, "@gorkd add to library", person=OTHER, file=pdf(PAPERS[1]))

    assert "odd.pdf cannot be read: it is neither a PDF nor Markdown." in shown(refused)
    assert "locked.pdf cannot be read: it is protected by a password." in shown(locked)
    assert "scan.pdf cannot be read: it is a scan: its pages are images without text." in shown(scan)
    assert "0603.10002, Relaxed Phylogenetics and Dating with Confidence, is in the library already." in shown(again)
    assert "Attach a PDF, a Markdown file or a reading list" in shown(nothing)
    assert "Only admins may change the library." in shown(member)


async def test_what_a_killed_bot_was_doing_is_to_be_said_again(house: House) -> None:
    """No job stands behind an `add`: the next process ends its message with a sentence instead of thinking for ever."""
    house.world.model.respond = by_schema(
        {**RESPONDERS, **LIBRARY, "paper_summary": lambda call: Fault(hang_first=True)}
    )
    paper = ("2401.00001v1.pdf", "application/pdf", make_pdf(["Tides and the Moon", "They rise."]))
    asked = house.discord.slash("library", command="add", file=paper)
    await house.discord.until(lambda: any("Reading 2401" in shown(one) for one in house.discord.replies_to(asked)))

    await house.restart_bot()
    friendly(house)
    ended = await house.final(asked, within_s=40)

    assert shown(ended) == "I was restarted before this was done; please say it again: add to library"


async def test_buttons_and_answers_outlive_the_bot(house: House) -> None:
    """Killed in the middle of a research: its answer arrives once; buttons from before go on working."""
    old = await answer(house, "@gorkd research relaxed clock model and divergence times")
    house.world.model.respond = by_schema({**RESPONDERS, **LIBRARY, "answer": lambda call: Fault(hang_first=True)})
    asked = house.discord.slash("library", command="research", argument="molecular clock and rate variation in trees")
    await house.discord.until(lambda: any("Stage 3" in one.text for one in house.discord.replies_to(asked)))

    await house.bot.killed()
    await house.worker.killed()
    friendly(house)
    await house.start_bot()
    await house.start_worker()
    late = await house.final(asked, within_s=40)
    opened = await house.final(house.discord.press(old, "Open 1"), within_s=40)
    stale = await house.final(house.discord.press(old, "Save"), within_s=40)
    form = house.discord.press(late, "Improve")
    await house.discord.until(lambda: form.modal is not None)
    improved = await house.final(house.discord.submit(form, "say more of trees"), within_s=40)

    assert "📝 Research Results" in shown(late)
    assert [one.id for one in house.discord.replies_to(asked)] == [late.id]
    assert "Paper Content: " in shown(opened)
    assert "The conversation has moved on since" in shown(stale)
    assert "📝 Research Results" in shown(improved)
    assert house.discord.problems == []


async def test_who_deletes_their_words_takes_the_answer_back(house: House) -> None:
    """As with any question: the answer goes, and all that was kept of it."""
    asked = house.discord.say("@gorkd research rates of trees")
    answered = await house.final(asked, within_s=40)

    house.discord.delete(asked)

    await house.discord.until(lambda: answered.is_deleted)
    await until(lambda: house.bot.said("forgotten with its message"))  # it says so behind the deed
