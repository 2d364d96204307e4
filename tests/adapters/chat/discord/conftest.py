"""One bot and one worker for all scenarios of a file: they differ in people and channels."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.loopback.discord_house import House, discord_house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with discord_house(tmp_path_factory.mktemp("data")) as running:
        yield running
