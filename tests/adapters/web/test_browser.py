"""The pages in a real browser, over jobs that went through the whole pipeline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from adapters.pages.pdf import extract_pdf
from core.findings.results import ALL_MODES, TITLES
from core.model.answer import Verdict
from core.model.job import LOCAL, Event, JobStatus, Json, ResearchJob, Scope, Steering
from core.presentation import wording
from core.presentation.render import marks_legend
from tests.adapters.web.serving import web_app
from tests.adapters.web.site import BUILT, LIE, PRIVATE, QUESTION, TALL, Site, open_site
from tests.adapters.web.test_admin import ENTRIES
from tests.fakes import KeptUsage
from tests.golden import samples
from tests.golden.samples import NOON, ScriptedResearcher
from tests.loopback.findings_responders import SNIPPET

pytestmark = pytest.mark.asyncio(loop_scope="module")
Open = Callable[[Site], Awaitable[str]]

GRAVE = ("serious", "critical")
WIDE, NARROW = {"width": 1100, "height": 900}, {"width": 320, "height": 640}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with open_site() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def finished(site: Site) -> ResearchJob:
    return await site.ask()


@asynccontextmanager
async def visit(browser: Browser, url: str, **options: object) -> AsyncIterator[Page]:
    """A page that must raise no error, log nothing and ask no other host for anything.

    Without `options` it is the first one again, where whoever comes next finds nothing kept: a page more costs as much
    as five visits, a context more twice that.
    """
    context = browser.contexts[0] if browser.contexts and not options else await browser.new_context(**options)  # type: ignore[arg-type]
    page = context.pages[0] if context.pages else await context.new_page()
    faults: list[str] = []
    host = url.split("/")[2]
    hears: dict[str, Callable[[Any], None]] = {
        "pageerror": lambda error: faults.append(f"error: {error}"),
        "console": lambda said: faults.append(said.text) if "404 (Not Found)" not in said.text else None,
        "request": lambda asked: faults.append(asked.url) if asked.url.split("/")[2] != host else None,
    }
    try:
        await page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        await page.emulate_media(color_scheme="null", reduced_motion="null")
        for event, hear in hears.items():
            page.on(event, hear)  # type: ignore[call-overload]
        await page.goto(url)
        yield page
    finally:
        await page.evaluate("localStorage.clear(); sessionStorage.clear()")
        await context.clear_cookies()
        await page.unroute_all()
        for event, hear in hears.items():
            page.remove_listener(event, hear)
        await (context.close() if options else page.goto(f"http://{host}/health"))
    assert faults == []


async def test_asking_leads_to_a_cited_answer_whose_passage_is_one_click_away(browser: Browser, site: Site):
    """G-04: ask, watch, click a citation, see the sentence in its source; the way back ends where it began."""
    site.writer.mood = site.library.mood = ""
    async with visit(browser, site.address) as page:
        await page.fill("#query", QUESTION)
        await page.click("button:has-text('Research')")
        await page.wait_for_selector(".chip")
        await page.click(".summary .cite a >> nth=0")

        passage = page.locator("#passage")
        await expect(passage).to_have_text(TALL)
        await expect(passage).to_be_in_viewport()
        assert await passage.evaluate("mark => getComputedStyle(mark).backgroundColor") != "rgba(0, 0, 0, 0)"
        live = await page.get_attribute("text=Open the live page at this passage", "href")
        assert live.endswith("#:~:text=The%20Eddystone%20lighthouse%20is%2049,stands%20on%20the%20Eddystone%20Rocks.")
        await page.go_back()
        await expect(page.locator("h1")).to_have_text(QUESTION)
        await page.click("text=Export")
        async with page.expect_download() as download:
            await page.click("text=BibTeX")
        exported = await asyncio.to_thread((await (await download.value).path()).read_text, "utf-8")
        assert "trinity.example/eddystone" in exported


async def test_answer_is_listed_where_it_was_asked_until_it_is_cleared(browser: Browser, site: Site):
    """The asker's recent answers stay in this browser."""
    site.writer.mood = site.library.mood = ""
    async with visit(browser, site.address) as page:
        await page.fill("#query", QUESTION)
        await page.click("button[type=submit]")
        await page.wait_for_selector(".chip")
        await page.click(".brand")
        await page.click("#recent li a")
        await expect(page.locator("h1")).to_have_text(QUESTION)
        await page.click(".brand")

        await page.click("#forget")

        await expect(page.locator("#recent")).to_be_hidden()
        await page.reload()
        await expect(page.locator("#recent")).to_be_hidden()


async def test_a_repeated_answer_is_renewed_and_says_what_changed(browser: Browser, site: Site):
    """D12: Refresh leads to a new answer that tells what is different; from then on the repeated one tells it too."""
    repeated = await site.ask()
    result = await site.researcher.result(repeated.id)
    assert result is not None
    earlier = (repeated.created_at - timedelta(days=3)).isoformat()
    await site.deps.jobs.finish(
        repeated, replace(result, cached_at=earlier, cached_job="job_1", cached_question=QUESTION)
    )
    async with visit(browser, site.page(repeated)) as page:
        await expect(page.locator("article")).to_contain_text(f"Answered 3 days ago for: {QUESTION}")
        await page.click("text=What changed")
        await expect(page.locator("#changes p")).to_contain_text("no newer answer")
        await page.click("button:text('Refresh')")
        await expect(page.locator(".chip")).to_be_visible()
        assert repeated.id not in page.url
        await page.click("text=What changed")
        await expect(page.locator("#changes li")).to_contain_text("Nothing changed")

        await page.goto(site.page(repeated))

        await expect(page.locator("#changes")).to_contain_text("Nothing changed")


async def test_somebody_elses_link_is_not_among_ones_own_answers(browser: Browser, site: Site, finished: ResearchJob):
    async with visit(browser, site.page(finished)) as page:
        await page.click(".brand")

        await expect(page.locator("#recent")).to_be_hidden()


@pytest.mark.parametrize("scope", [LOCAL, PRIVATE], ids=["open", "private"])
async def test_running_job_is_shown_as_it_goes_and_becomes_its_answer(browser: Browser, site: Site, scope: Scope):
    """G-04: stages, queries, sources and sentences with their marks appear by themselves; progress is announced."""
    job = await site.ask(mood="slow", scope=scope)
    async with visit(browser, site.page(job)) as page:
        await expect(page.locator("#queries li")).to_have_count(2)
        await expect(page.locator(".cards li")).to_have_count(4)
        await expect(page.locator("#summary")).to_contain_text("[1]✓")
        await expect(page.locator("#summary")).not_to_contain_text("Douglass")
        await expect(page.locator("[aria-current=step]")).to_contain_text("Writing")
        assert await page.get_attribute("#message", "aria-live") == "polite"
        assert await page.get_attribute("#message", "role") == "status"

        site.writer.gate.set()

        await page.wait_for_selector(".chip", timeout=5_000)  # by its stream: without one it takes eight seconds
        await expect(page.locator(".summary")).to_contain_text("Douglass")
        await expect(page.locator(".removed s")).to_have_text([LIE])


async def test_answer_that_grows_stands_above_what_was_searched_for(browser: Browser, site: Site):
    """Its first sentence is what is waited for, and the queries fill half of a phone."""
    job = await site.ask(mood="slow")
    async with visit(browser, site.page(job)) as page:
        await page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        await expect(page.locator("#summary")).to_contain_text("[1]✓")
        places = [await page.locator(name).bounding_box() for name in ("#answer", "#queries", "#sources")]
    site.writer.gate.set()

    tops = [place["y"] for place in places if place]
    assert len(tops) == 3
    assert tops == sorted(tops)


async def test_sentences_come_while_one_watches(browser: Browser, site: Site):
    """The stream fills a page that was opened before anything was told."""
    site.writer.mood, site.library.mood = "slow", ""
    site.writer.gate.clear()
    async with visit(browser, site.address) as page:
        await page.fill("#query", QUESTION)
        await page.click("button[type=submit]")

        await expect(page.locator("#summary")).to_contain_text("49 metres")
        await expect(page.locator("#elapsed")).to_have_text(re.compile(r"\d+ s"))
        site.writer.gate.set()
        await page.wait_for_selector(".chip")


async def test_lost_connection_is_made_again_without_gap_or_repeat(browser: Browser, site: Site):
    """G-04: the page tries again after a second, says so, and shows each sentence once."""
    job = await site.ask(mood="slow")
    refusals = 0
    async with visit(browser, site.address) as page:

        async def refuse_once(route):
            nonlocal refusals
            refusals += 1
            await (route.fulfill(status=204) if refusals == 1 else route.continue_())

        await page.route("**/stream*", refuse_once)
        await page.goto(site.page(job))
        await expect(page.locator("#message")).to_contain_text("trying again")
        async with page.expect_response("**/stream*"):
            await expect(page.locator("#summary")).to_have_text(re.compile(r"^[^.]*\[1\]✓\.\s*$"))

        site.writer.gate.set()

        await page.wait_for_selector(".chip")
    assert refusals == 2


class Rounds(ScriptedResearcher):
    """A job that researches in rounds; the second begins once the page is open."""

    second = asyncio.Event()

    async def told(self, job_id: str) -> list[Event]:
        return [self._round(1, ["how tall", "how old"], "unsatisfied")]

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        yield self._round(1, ["how tall", "how old"], "unsatisfied")
        yield self._round(2, ["how deep"], "satisfied")
        await self.second.wait()

    def _round(self, number: int, queries: list[str], coverage: str) -> Event:
        item: Json = {"id": "1", "description": "Its height", "coverage": coverage}
        card: Json = {"checklist": [item], "iteration": number, "max_iterations": 9, "facts": 0, "duration": ""}
        said: dict[str, Json] = {"stage": "searching", "message": f"Round {number}", "progress": 0.2}
        return Event(number, "status", 1, NOON, said | {"data": {"queries": [*queries], "card": card}})


async def test_plan_and_queries_of_a_round_take_the_place_of_the_last_ones(browser: Browser):
    """What deep research tells: a checklist that fills, and other queries each round."""
    researcher = Rounds(replace(samples.COMPLETED, status=JobStatus.SEARCHING), None, [])
    server = TestServer(web_app(researcher))
    await server.start_server()
    async with visit(browser, f"{str(server.make_url('/')).rstrip('/')}/jobs/{samples.COMPLETED.id}") as page:
        await expect(page.locator("#plan li")).to_have_text(["✓ 1. Its height"])
        await expect(page.locator("#plan .count")).to_have_text("Round 2 of 9 · 1 of 1 items · 0 facts")
        await expect(page.locator("#queries li")).to_have_text(["how deep"])
    researcher.second.set()
    await server.close()


FORMED = [  # section, what stands before it, the sentence with its mark
    ("summary", "", "It is 49 m tall [1]", "◐"),
    ("summary", " ", "It stands on a rock [2]", "✓"),
    ("detail", "Three things are needed:\n\n", "1. A rock [1]", "✓"),
    ("detail", "\n2. […]\n", "3. A lamp [2]", "✓"),
    ("detail", "\n\n## Towers\n\n| Tower | Height |\n|---|---|\n", "| Smeaton | 22 m [1] |", "✓"),
    ("detail", "\n", "| Douglass | **49 m** [2] |", "✓"),
    ("detail", "\n\n", "```\nlamp = on\n\nrock = 1\n```", "✓"),
]


class Forming(ScriptedResearcher):
    """An answer with a list, a heading, a table and code; each sentence is told when it may be."""

    async def told(self, job_id: str) -> list[Event]:
        return []

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        for number, (section, before, text, mark) in enumerate([*FORMED, (*FORMED[0][:3], "✓")]):
            identity = f"{section}-{number % len(FORMED)}"
            said: dict[str, Json] = {"section": section, "id": identity, "text": text, "mark": mark, "before": before}
            yield Event(number + 1, "answer", 1, NOON, said | {"verdict": "supported"})
            await self.may.acquire()
        await asyncio.Event().wait()

    @cached_property
    def may(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(0)


async def test_lists_tables_and_headings_are_drawn_while_they_come(browser: Browser):
    """As the finished page draws them; what stands there already stays the same, be it that its mark changes."""
    researcher = Forming(replace(samples.COMPLETED, status=JobStatus.SYNTHESIZING), None, [])
    server = TestServer(web_app(researcher))
    await server.start_server()
    async with visit(browser, f"{str(server.make_url('/')).rstrip('/')}/jobs/{samples.COMPLETED.id}") as page:
        await expect(page.locator("#summary p")).to_have_text("It is 49 m tall [1]◐")
        await page.evaluate("document.querySelector('#summary p').kept = true")
        researcher.may.release()
        await expect(page.locator("#summary p")).to_have_text("It is 49 m tall [1]◐ It stands on a rock [2]✓")
        researcher.may.release()
        await expect(page.locator("#detail ol li")).to_have_text(["A rock [1]✓"])
        await page.evaluate("document.querySelector('#detail li').kept = true")
        for _ in FORMED[3:]:
            researcher.may.release()
        await expect(page.locator("#detail pre")).to_have_text("lamp = on\n\nrock = 1\n")
        await expect(page.locator("#detail ol li")).to_have_text(["A rock [1]✓", "[…]", "A lamp [2]✓"])
        await expect(page.locator("#detail h2")).to_have_text("Towers")
        await expect(page.locator("#detail tbody tr")).to_have_text(["Smeaton\n22 m [1]✓", "Douglass\n49 m [2]✓"])
        await expect(page.locator("#detail strong")).to_have_text("49 m")
        assert not set("|#`") & set(await page.inner_text("#detail"))

        researcher.may.release()

        await expect(page.locator("#summary p")).to_have_text("It is 49 m tall [1]✓ It stands on a rock [2]✓")
        assert await page.evaluate("['#summary p', '#detail li'].every((one) => document.querySelector(one).kept)")
        assert await page.locator("#summary .mark").first.get_attribute("title") == marks_legend(list(Verdict))["✓"]
    await server.close()


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
async def test_deep_research_is_asked_for_and_steered(browser: Browser, has_script: bool):
    """S002-03: context, rounds, an item more and the answer now, by forms that need no script."""
    deep = replace(samples.COMPLETED.request, modes=("deep",))
    researcher = Rounds(replace(samples.COMPLETED, status=JobStatus.SEARCHING, request=deep), None, [])
    server = TestServer(web_app(researcher))
    await server.start_server()
    async with visit(browser, str(server.make_url("/")), java_script_enabled=has_script) as page:
        await page.fill("#query", QUESTION)
        await page.check("[name=mode][value=deep]")
        await page.click("summary >> text=Options")
        await page.fill("[name=context]", "for a lecture")
        await page.fill("[name=max_iterations]", "4")
        await page.click("button:has-text('Research')")
        if not has_script:
            await page.click(".steering noscript a")
        await page.fill("#said", "its builder")
        await page.click("text=Add Item")
        await expect(page.locator(".steering [role=status]")).to_have_text(wording.HEARD)
        await page.click("text=Answer Now")
        await expect(page.locator(".steering [role=status]")).to_have_text(wording.HEARD_ANSWER_NOW)
    researcher.second.set()
    await server.close()

    assert (researcher.requests[0].context, researcher.requests[0].max_iterations) == ("for a lecture", 4)
    assert researcher.steered == [Steering("add_item", "its builder"), Steering("answer_now")]


async def test_several_modes_are_chosen_watched_and_read_and_their_code_is_copied(
    browser: Browser, site: Site, tmp_path: Path
):
    """D8, S004-12: boxes in the form, a line each while they run, one page; Copy gives the code, paper loses none."""
    site.writer.mood, site.library.mood = "slow", ""
    site.writer.gate.clear()
    async with visit(browser, site.address, permissions=["clipboard-read", "clipboard-write"]) as page:
        await page.fill("#query", QUESTION)
        for mode in ("idea", "implementation", "freeform", "quick"):
            await page.check(f"[name=mode][value={mode}]")
        await page.click("button:has-text('Research')")
        await expect(page.locator("#parts li")).to_have_text(
            [re.compile("^Quick answer: Writing"), *(re.compile(f"^{TITLES[mode]}: ") for mode in ALL_MODES)]
        )
        site.writer.gate.set()
        await page.wait_for_selector(".chip")
        await expect(page.locator("article h2 >> nth=0")).to_have_text("Quick answer")
        await expect(page.locator(".unverified")).to_contain_text("invented.example")
        await page.click("figure button:visible >> nth=0")

        await expect(page.locator("figure button >> nth=0")).to_have_text("Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == SNIPPET
        await page.pdf(path=tmp_path / "printed.pdf")
    paper = await asyncio.to_thread((tmp_path / "printed.pdf").read_bytes)
    printed = " ".join(extract_pdf(paper).text.split())
    assert all(heading in printed for heading in ("Ideas", "Abstract", "Literature Review", "Not verified"))
    assert "json.loads(requests.get(url).text)" in printed
    assert "Copy" not in printed


@pytest.mark.slow
async def test_page_finds_its_answer_where_no_stream_comes_through(browser: Browser, site: Site):
    """G-04: it tries again after 1, 2 and 5 seconds, which pass at once here, then reads the page itself instead."""
    job = await site.ask(mood="slow")
    waits_ms: list[int] = []

    def note(wait_ms: int) -> None:
        waits_ms.append(wait_ms)

    async with visit(browser, site.address, locale="en-US") as page:  # what it has written into it, no other has
        await page.route("**/stream*", lambda route: route.fulfill(status=204))
        await page.expose_function("waits", note)
        await page.add_init_script("const wait = setTimeout; setTimeout = (then, ms) => { waits(ms); wait(then, 0); };")
        await page.goto(site.page(job))

        site.writer.gate.set()

        await page.wait_for_selector(".chip")
    assert waits_ms[:3] == [1000, 2000, 5000]


async def test_cancel_ends_the_job_and_says_so(browser: Browser, site: Site):
    """One click, no script needed."""
    job = await site.ask(mood="slow")
    async with visit(browser, site.page(job)) as page:
        await page.click("text=Cancel")

        await expect(page.locator("[role=alert]")).to_contain_text("cancelled")
        await expect(page.locator("text=Retry")).to_be_visible()
    assert (await site.researcher.job(job.id)).status.value == "cancelled"


async def test_everything_works_without_a_script(browser: Browser, site: Site):
    """Ask, watch by refreshing, read, open the passage, see the trace."""
    site.writer.mood, site.library.mood = "slow", ""
    site.writer.gate.clear()
    async with visit(browser, site.address, java_script_enabled=False) as page:
        await page.click(".examples a >> nth=0")
        await expect(page.locator("#query")).to_have_value("How is confidence scored?")
        await page.fill("#query", QUESTION)
        await page.click("button[type=submit]")
        await expect(page.locator("#summary")).to_contain_text("[1]✓", timeout=10_000)
        site.writer.gate.set()
        await expect(page.locator(".chip")).to_be_visible(timeout=10_000)

        await page.click(".cite a >> nth=1")
        await expect(page.locator("#passage")).to_have_text(BUILT)
        await page.go_back()
        await page.click("text=Trace")

        await expect(page.locator(".timeline tbody tr.stage")).not_to_have_count(0)


async def test_keyboard_alone_reaches_the_answer_and_its_passage(browser: Browser, site: Site):
    """From the field to the button, along the page, into the source: nothing needs a pointer, focus is always seen."""
    site.writer.mood = site.library.mood = ""
    async with visit(browser, site.address) as page:
        await page.keyboard.type(QUESTION)
        await tab_to(page, "button[type=submit]")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".chip")
        await tab_to(page, ".skip")
        await tab_to(page, ".menu summary")
        await page.keyboard.press("Enter")
        await expect(page.locator(".menu a >> nth=0")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator(".menu a >> nth=0")).to_be_hidden()
        await tab_to(page, ".summary .cite a")

        await page.keyboard.press("Enter")

        await expect(page.locator("#passage")).to_be_in_viewport()


async def test_a_question_is_sent_by_keys_wherever_one_stands_in_its_form(browser: Browser, site: Site):
    async with visit(browser, site.address) as page:
        await page.keyboard.type(QUESTION)
        await tab_to(page, "input[name=depth]")

        await page.keyboard.press("Control+Enter")

        await page.wait_for_selector(".chip")


async def test_watching_by_keyboard_leads_to_what_is_said_of_it(browser: Browser, site: Site, finished: ResearchJob):
    """The page is another then: a screen reader tells what has the focus."""
    async with visit(browser, site.page(finished)) as page:
        for label, said in (("Watch daily", "Looked at every day"), ("Stop watching", "Watched no more")):
            await page.focus(f"button:has-text('{label}')")
            await page.keyboard.press("Enter")

            await expect(page.locator("#watched:focus")).to_contain_text(said)


async def test_keys_lead_from_citation_to_passage_and_back_and_can_be_switched_off(
    browser: Browser, site: Site, finished: ResearchJob
):
    """G-04: a map of keys, shown by `?`; typing a question is never mistaken for one of them."""
    async with visit(browser, site.page(finished)) as page:
        await page.keyboard.press("n")
        await page.keyboard.press("n")
        await page.keyboard.press("Enter")
        await expect(page.locator("#passage")).to_have_text(BUILT)
        await page.keyboard.press("b")
        await expect(page.locator(".chip")).to_be_visible()
        await page.keyboard.press("t")
        await expect(page.locator(".timeline")).to_be_visible()
        await page.keyboard.press("?")
        await expect(page.locator("#keys dl")).to_be_visible()
        await page.keyboard.press("/")
        await page.wait_for_selector("#query")
        await page.keyboard.type("n/t?")
        await expect(page.locator("#query")).to_have_value("n/t?")

        await page.click("#keys summary")
        await page.click("#keys-on")
        await page.goto(site.page(finished))
        await page.keyboard.press("t")

        await expect(page.locator(".chip")).to_be_visible()
        await expect(page.locator("#keys-on")).not_to_be_checked()


async def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the first such element has the focus, which must then be drawn."""
    for _ in range(30):
        await page.keyboard.press("Tab")
        if await page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
            drawn = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert drawn != "none" or selector == ".skip"
            return
    raise AssertionError(f"{selector} cannot be reached")


async def test_prompts_are_in_the_trace_for_those_who_may_ask(browser: Browser, site: Site, finished: ResearchJob):
    """S002-22: each step with its prompt and answer, folded; none of them for readers behind a proxy."""
    async with visit(browser, f"{site.address}/jobs/{finished.id}/trace") as page:
        await page.click("text=Prompt and answer of model answer")
        await expect(page.locator("pre:visible >> nth=0")).to_contain_text("You are a research assistant")

        async with visit(
            browser, f"{site.address}/jobs/{finished.id}/trace", extra_http_headers={"Via": "proxy"}
        ) as guest:
            await expect(guest.locator("tr.model")).not_to_have_count(0)
            await expect(guest.locator("pre")).to_have_count(0)


async def asked(site: Site, *question: str, below: str = "", **how: Any) -> str:
    return f"{site.page(await site.ask(*question, **how))}{below}"


async def _at(url: str) -> str:
    return url


LONG = "Wie hoch ist der Eddystone-Donaudampfschifffahrtsgesellschaftsleuchtturm?"  # N-28: a word wider than a phone
STATES: dict[str, Open] = {
    "ask": lambda site: _at(site.address),
    "running": lambda site: asked(site, mood="slow"),
    "finished": asked,
    "german": lambda site: asked(site, LONG),
    "insufficient": lambda site: asked(site, mood="unheard"),
    "failed": lambda site: asked(site, mood="broken"),
    "source": lambda site: asked(site, below="/sources/1?claim=summary-0"),
    "trace": lambda site: asked(site, below="/trace"),
    "findings": lambda site: asked(site, modes=ALL_MODES),
    "findings-beside-an-answer": lambda site: asked(site, modes=("quick", *ALL_MODES)),
    "findings-unverified": lambda site: asked(site, mood="invented", modes=ALL_MODES),
    "unknown": lambda site: _at(f"{site.address}/jobs/job_unknown"),
    "private": lambda site: asked(site, scope=PRIVATE),
}


EVERY_TIME = {"running": ["light"], "finished": ["light", "dark", "narrow"], "findings": ["light"]}
STATES_AND_LOOKS = [
    *(pytest.param(state, looks, id=state) for state, looks in EVERY_TIME.items()),
    *(
        pytest.param(state, looks, id=f"{state}-every-look", marks=pytest.mark.slow)
        for state in STATES
        if (looks := [look for look in ("light", "dark", "narrow") if look not in EVERY_TIME.get(state, ())])
    ),
]


OVERHANGS = """() => {
  const measured = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const open = (menu) => { menu.open = true; const found = measured(); menu.open = false; return found; };
  return [measured(), ...[...document.querySelectorAll("details.menu")].map(open)];
}"""  # pixels beyond the edge: of the page as it is, and with each of its menus open


@pytest.mark.parametrize(("state", "looks"), STATES_AND_LOOKS)
async def test_every_state_can_be_read_by_everybody(browser: Browser, site: Site, state: str, looks: list[str]):
    """G-04: nothing serious for axe (WCAG A and AA, contrast too), nothing beyond the edge of a small screen."""
    url = await STATES[state](site)
    grave, overhangs = [], {}

    async with visit(browser, url) as page:
        await page.evaluate("for (const folded of document.querySelectorAll('details:not(.menu)')) folded.open = true")
        for look in looks:
            await page.emulate_media(color_scheme="dark" if look == "dark" else "light", reduced_motion="reduce")
            await page.set_viewport_size(NARROW if look == "narrow" else WIDE)  # type: ignore[arg-type]
            found = (await Axe().run(page)).response["violations"]
            grave += [(look, one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in GRAVE]
            overhangs[look] = max(await page.evaluate(OVERHANGS))
    site.writer.gate.set()

    assert grave == []
    assert {look: pixels for look, pixels in overhangs.items() if pixels > 0} == {}


async def test_the_admins_page_can_be_read_by_everybody(browser: Browser):
    """Nothing at all for axe (the table scrolls by keyboard), light and dark; nothing beyond a small screen's edge."""
    found, overhang = [], []
    async with (
        TestServer(web_app(usage=KeptUsage(ENTRIES))) as server,
        visit(browser, str(server.make_url("/admin"))) as page,
    ):
        for size, scheme in ((NARROW, "light"), (WIDE, "dark"), (WIDE, "light")):
            await page.set_viewport_size(size)  # type: ignore[arg-type]
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await page.reload()
            found += (await Axe().run(page)).response["violations"]
            overhang.append(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert max(overhang) <= 0
