"""The site over a socket, and one browser a test process: Debian's chromium, or none and then said so."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from adapters.web.settings import WebSettings
from tests.adapters.web.conformity import ConformingClient, conforming
from tests.adapters.web.serving import Open, web_app
from tests.golden.samples import ScriptedResearcher


@pytest.fixture
async def open_web() -> AsyncIterator[Open]:
    """Opens a site around a researcher, for the bearers of these tokens."""
    async with AsyncExitStack() as opened:

        async def site(researcher: ScriptedResearcher | None = None, *tokens: str) -> ConformingClient:
            return await opened.enter_async_context(conforming(web_app(researcher, WebSettings(api_tokens=tokens))))

        yield site


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Skips where chromium is missing; with CI=true that is a failure."""
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: apt-get install chromium")
        pytest.skip("no chromium (apt-get install chromium)")
    async with async_playwright() as playwright:
        # No sandbox: in a container chromium cannot set one up, and it visits nothing but this machine.
        # One renderer for all pages: they are visited in turn, and starting another costs as much as a page.
        arguments = ["--no-sandbox", "--renderer-process-limit=1"]
        launched = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield launched
        await launched.close()
