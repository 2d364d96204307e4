"""One process for all scenarios: they differ in people and channels."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.slack.house import SlackHouse, slack_house


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("gorkd")) as house:
        yield house
