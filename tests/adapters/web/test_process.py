"""What a new user does, with the real processes: start everything, ask on the page, click a citation, export."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.shared_data import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """`gorkd all` of a fresh clone without network: it answers from its own documents."""
    settings = {"GORKD_DATA": str(tmp_path), "GORKD_PROVIDERS": "files", "PORT": "0"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bots", "all",
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **settings},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    ready = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    yield ready.removeprefix("gorkd is ready: ").strip()
    process.terminate()
    await asyncio.wait_for(process.wait(), 30)


async def test_new_user_asks_checks_a_citation_and_takes_the_sources_along(browser: Browser, address: str):
    """G-04, G-05: every citation of the answer opens its sentence, marked in the text of the source."""
    page = await browser.new_page()
    await page.goto(address)
    await page.click(".examples a >> nth=0")
    await page.click("button[type=submit]")
    await page.wait_for_selector(".chip")
    answer = page.url
    citations = await page.eval_on_selector_all(".cite a", "links => links.map((link) => link.href)")

    for citation in citations:
        await page.goto(citation)
        await expect(page.locator("#passage")).to_be_in_viewport()
        said = " ".join(await page.locator("mark.asked").all_inner_texts())
        assert said.split() == (await page.inner_text(".claim")).split()  # a quoted answer: the claim is the passage

    assert len(citations) >= 3
    await page.goto(answer)
    await page.click("text=Export")
    async with page.expect_download() as download:
        await page.click("text=BibTeX")
    assert "@" in await asyncio.to_thread((await (await download.value).path()).read_text, "utf-8")
