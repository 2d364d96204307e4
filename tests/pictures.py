"""The picture of docs/slack.md: `python -m tests.pictures` draws it anew with the chromium of this machine.

It is the sample answer of the golden renderings, as `/jobs/{id}/preview` shows it.
"""

from __future__ import annotations

import asyncio

from aiohttp.test_utils import TestServer
from playwright.async_api import async_playwright

from bots.previews import chat_previews
from tests.adapters.web.serving import web_app
from tests.golden import samples
from tests.shared_data import ROOT

FOLDER = ROOT / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"


async def draw() -> None:
    app = web_app(previews=chat_previews(samples.LINKS))
    async with TestServer(app) as server, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 760, "height": 900}, device_scale_factor=1.5)
        await page.goto(str(server.make_url(f"/jobs/{samples.COMPLETED.id}/preview?only=slack")))
        await page.locator("#slack").screenshot(path=FOLDER / "slack.png")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(draw())
