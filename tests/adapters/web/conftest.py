"""One browser a test process, driven over the pages: Debian's chromium, or none and then said so."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright


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
        launched = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        await launched.close()
