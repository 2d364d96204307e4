"""The pictures of docs/slack.md and docs/discord.md: `python -m tests.pictures` draws them anew with chromium.

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
        for name in ("slack", "discord"):
            await page.goto(str(server.make_url(f"/jobs/{samples.COMPLETED.id}/preview?only={name}")))
            await page.locator(f"#{name}").screenshot(path=FOLDER / f"{name}.png")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(draw())
