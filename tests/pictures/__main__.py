"""Draws every picture of the documents anew: `python -m tests.pictures`, or some of them by name.

The pages are the real ones over the real pipeline; only the outside is made up (tests/pictures/story.py).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from tempfile import gettempdir
from typing import Literal

from PIL import Image, ImageDraw
from playwright.async_api import Browser, Page, async_playwright

from adapters.cli.evaluating import page_of
from adapters.pages.papers import PagePictures, PaperFiles
from bots.processes import chat_previews
from core.library.ingest import Ingestion, PaperRecord
from core.library.paper import PaperViews
from core.model.job import LOCAL, ResearchJob, ResearchRequest
from core.model.ports import utc_now
from core.tenancy.usage import Usage
from core.watch.watch import Change, Rhythm, WatchNotice, WatchTelling
from tests.adapters.web.site import Site, open_site
from tests.fakes import KeptUsage
from tests.pictures import story
from tests.records import MemoryTables, memory_library
from tests.shared_data import ROOT

Scheme = Literal["light", "dark"]
FOLDER = ROOT / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
WIDTH, SCALE = 760, 1.5  # CSS pixels; device pixels to each
CHATS = ("slack", "discord")
SCHEMES: Mapping[Scheme, str] = {"light": "#ffffff", "dark": "#111315"}  # and the ground below the pictures
ALL = Path(gettempdir())  # for whoever draws to look at
SHOWN = ("streaming", "table", "deep, running", "insufficient", "failed", "deep, finished")
COLUMNS, GAP, LABEL = 2, 24, 28  # of a sheet; pixels
COLOURS = 128  # of a picture's palette: a third of the bytes, and text stays sharp


@dataclass(frozen=True)
class Studio:
    """A browser before the site."""

    browser: Browser
    site: Site

    @asynccontextmanager
    async def sheet(self, *, width: int = WIDTH) -> AsyncIterator[Page]:
        page = await self.browser.new_page(viewport={"width": width, "height": 900}, device_scale_factor=SCALE)
        yield page
        await page.close()

    async def keep(self, page: Page, name: str, *, selector: str = "", height: int = 0) -> None:
        """The element, or the page's first `height` CSS pixels, as docs/pictures/{name}.png."""
        if selector:
            raw = await page.locator(selector).screenshot()
        else:
            clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
            raw = await page.screenshot(clip=clip, full_page=True)
        save(Image.open(BytesIO(raw)), name)

    async def shots(self, chat: str, jobs: Mapping[str, ResearchJob]) -> dict[Scheme, dict[str, Image.Image]]:
        """Each job as the chat shows it now."""
        return {scheme: {name: await self._shot(chat, job, scheme) for name, job in jobs.items()} for scheme in SCHEMES}

    async def _shot(self, chat: str, job: ResearchJob, scheme: Scheme) -> Image.Image:
        page = await self.browser.new_page(
            viewport={"width": WIDTH, "height": 900}, device_scale_factor=1, color_scheme=scheme
        )
        await page.goto(f"{self.site.address}/jobs/{job.id}/preview?only={chat}")
        raw = await page.locator(f"#{chat}").screenshot()
        await page.close()
        return Image.open(BytesIO(raw)).convert("RGB")


def save(picture: Image.Image, name: str) -> None:
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


def _tiled(shots: Mapping[str, Image.Image], columns: int, ground: str) -> Image.Image:
    """The next picture goes where there is most room."""
    heights = [GAP] * columns
    places: list[tuple[str, int, int]] = []
    for name, shot in shots.items():
        column = heights.index(min(heights))
        places.append((name, GAP + column * (WIDTH + GAP), heights[column]))
        heights[column] += shot.height + LABEL + GAP
    sheet = Image.new("RGB", (GAP + columns * (WIDTH + GAP), max(heights)), ground)
    pen = ImageDraw.Draw(sheet)
    for name, x, y in places:
        pen.text((x, y), name, fill="#888888", font_size=LABEL - 8)
        sheet.paste(shots[name], (x, y + LABEL))
    return sheet


async def draw_answer(studio: Studio) -> None:
    """The page of an answer, the passage behind its first citation, and both chats."""
    job = await studio.site.ask(story.QUESTION)
    async with studio.sheet() as page:
        await page.goto(studio.site.page(job))
        await studio.keep(page, "answer", height=1075)
        await page.locator("a[href*='/sources/']").first.click()
        await studio.keep(page, "passage", height=760)
        for chat in CHATS:
            await page.goto(f"{studio.site.address}/jobs/{job.id}/preview?only={chat}")
            await studio.keep(page, chat, selector=f"#{chat}")


async def draw_german(studio: Studio) -> None:
    """An answer in German from pages in English, in the dark, and the same in Discord."""
    job = await studio.site.ask(story.GERMAN_QUESTION)
    async with studio.sheet() as page:
        await page.emulate_media(color_scheme="dark")
        await page.goto(studio.site.page(job))
        await studio.keep(page, "answer-de", height=1110)
        await page.goto(f"{studio.site.address}/jobs/{job.id}/preview?only=discord")
        await studio.keep(page, "discord-de", selector="#discord")


async def draw_chats(studio: Studio) -> None:
    """All that a chat may show of a question, on a sheet for each chat, light and dark; the documents have some."""
    site = studio.site
    deep = await site.researcher.submit(ResearchRequest(story.DEEP_QUESTION, modes=("deep",), scope=LOCAL))
    async with studio.sheet() as page:
        await page.goto(site.page(deep))
        await page.locator("#plan .count", has_text="Round 2").wait_for()
    running = {chat: await studio.shots(chat, {"deep, running": deep}) for chat in CHATS}
    slow = await site.ask(story.QUESTION, mood="slow")
    streaming = {chat: await studio.shots(chat, {"streaming": slow}) for chat in CHATS}
    site.writer.gate.set()
    jobs = {
        "quick": await site.ask(story.QUESTION),
        "table": await site.ask(story.COMPARED_QUESTION),
        "conflict": await site.ask(story.DISPUTED_QUESTION),
        "insufficient": await site.ask(story.UNKNOWN_QUESTION, mood="unheard"),
        "failed": await site.ask(story.QUESTION, mood="broken"),
        "library": await site.ask(story.LIBRARY_QUESTION, modes=("library",)),
        "findings": await site.ask(story.CODE_QUESTION, modes=("idea", "implementation")),
    }
    async for _ in site.researcher.follow(deep.id):
        pass
    jobs["deep, finished"] = deep
    for chat in CHATS:
        ended = await studio.shots(chat, jobs)
        for scheme, ground in SCHEMES.items():
            shots = {**streaming[chat][scheme], **running[chat][scheme], **ended[scheme]}
            _tiled(shots, COLUMNS, ground).save(ALL / f"{chat}-{scheme}.png")
            if scheme == "light":
                save(_tiled({name: shots[name] for name in SHOWN}, COLUMNS, ground), f"{chat}-states")


async def draw_deep(studio: Studio) -> None:
    """Deep research in its second round, also where the chats have had its answer."""
    asked = ResearchRequest(story.DEEP_QUESTION, modes=("deep",), scope=LOCAL, is_fresh=True)
    studio.site.writer.gate.clear()
    studio.site.writer.asked.clear()  # the second of its looks for facts waits
    job = await studio.site.researcher.submit(asked)
    async with studio.sheet() as page:
        await page.goto(studio.site.page(job))
        await page.locator("#plan .count", has_text="Round 2").wait_for()
        await studio.keep(page, "deep", height=930)
    studio.site.writer.gate.set()


async def draw_library(studio: Studio) -> None:
    """An answer from a paper, its page beside it."""
    job = await studio.site.ask(story.LIBRARY_QUESTION, modes=("library",))
    async with studio.sheet() as page:
        await page.goto(studio.site.page(job))
        await page.locator("a[href*='/sources/']").first.click()
        await page.locator("figure img").scroll_into_view_if_needed()  # it is read when it comes into view
        await page.locator("figure img").evaluate("image => image.decode()")
        await studio.keep(page, "library", height=860)


async def draw_findings(studio: Studio) -> None:
    job = await studio.site.ask(story.CODE_QUESTION, modes=("idea", "implementation"))
    async with studio.sheet() as page:
        await page.goto(studio.site.page(job))
        await studio.keep(page, "findings", height=1200)


async def draw_admin(studio: Studio) -> None:
    async with studio.sheet(width=1000) as page:
        await page.goto(f"{studio.site.address}/admin")
        await studio.keep(page, "admin", height=900)


async def draw_watch(studio: Studio) -> None:
    """What was told of a watched answer, below it."""
    site, job = studio.site, await studio.site.ask(story.QUESTION)
    watch = await site.researcher.watching.watch(job.id, "", scope=LOCAL, rhythm=Rhythm(24))
    url = "https://city.example/roofs"
    changed = Change("value", story.COOLER, story.SALES, before_url=url, now_quote=story.SALES, now_url=url)
    gone = Change("gone", story.PUMPS, before_quote=story.PUMPS, before_url="https://schools.example/pilot")
    for days, change in ((40, changed), (12, gone)):
        at = utc_now() - timedelta(days=days)
        notice = WatchNotice(watch.id, 90 - days, job.id, "changed", at, watch.subject, (change,))
        watch = replace(watch, run=90 - days)
        await site.deps.watches.put(watch, telling=WatchTelling(job.id, notice))
        watch = await site.deps.watches.get(watch.id)
    async with studio.sheet() as page:
        await page.goto(site.page(job))
        await studio.keep(page, "watch", selector="#watch")


async def draw_evaluation(studio: Studio) -> None:
    """Two models asked the same, as `gorkd eval --compare` writes it."""
    runs = [await story.evaluated(name) for name in ("careful", "hasty")]
    async with studio.sheet(width=1000) as page:
        await page.set_content(page_of(*runs))
        await studio.keep(page, "evaluation", height=820)


async def draw_calibration(studio: Studio) -> None:
    async with studio.sheet(width=1000) as page:
        await page.goto(f"{studio.site.address}/admin")
        await studio.keep(page, "calibration", selector="#calibration + figure")


DRAWN: Mapping[str, Callable[[Studio], Awaitable[None]]] = {
    "answer": draw_answer,
    "german": draw_german,
    "chats": draw_chats,
    "deep": draw_deep,
    "library": draw_library,
    "findings": draw_findings,
    "admin": draw_admin,
    "watch": draw_watch,
    "evaluation": draw_evaluation,
    "calibration": draw_calibration,
}


async def main(names: Sequence[str]) -> None:
    library, reader, painter = memory_library(), PaperFiles(workers=1), PagePictures()
    async with async_playwright() as playwright, AsyncExitStack() as stack:
        stack.push_async_callback(reader.aclose)
        stack.push_async_callback(painter.aclose)
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        stack.push_async_callback(browser.close)
        await _shelve_paper(browser, Ingestion(library, reader.read, utc_now))
        views = PaperViews(library, painter.paint)
        usage = KeptUsage(_usage())
        site = await stack.enter_async_context(
            open_site(
                story.Author(),
                story.Shelf(),
                papers=views,
                usage=usage,
                previews=chat_previews,
                evaluations=story.Voted(MemoryTables()),
            )
        )
        for name in names or DRAWN:
            await DRAWN[name](Studio(browser, site))


async def _shelve_paper(browser: Browser, ingestion: Ingestion) -> None:
    page = await browser.new_page()
    await page.set_content(story.PAPER)
    record = PaperRecord(
        "brandt-2024", "Green roofs and indoor heat: four summers", ("Brandt, I.", "Nowak, T."), "2024"
    )
    await ingestion.add(LOCAL, "brandt-2024.pdf", await page.pdf(prefer_css_page_size=True), record)
    await page.close()


def _usage() -> list[Usage]:
    """Thirty days of two workspaces, quieter at the weekend."""
    entries = []
    for back in range(30):
        day = utc_now().date() - timedelta(days=back)
        for tenant, most in (("slack:T024BE7LD", 46), ("discord:81384788765712384", 31)):
            asked = most // (4 if day.weekday() > 4 else 1) + (back * 7 + most) % 9
            failed, cached = asked // 17, asked // 4
            answered = asked - failed
            high, low = answered // 3, answered // 8
            entries.append(
                Usage(tenant, f"{day:%F}", questions=asked, answered=answered, failed=failed, cached=cached, high=high,
                      medium=answered - high - low - 1, low=low, insufficient=1, good=asked // 5, bad=asked // 30,
                      cost_usd=0.004 * (answered - cached), p50_s=5.1 + back % 4 * 0.3, p95_s=13.0 + back % 5)
            )  # fmt: skip
    return entries


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
