"""One process for all scenarios of a file: they differ in people and channels. A second one only edits messages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.adapters.chat.slack.house import SlackHouse, slack_house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("gorkd")) as house:
        yield house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def updating_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("gorkd"), GORKD_SLACK_STREAMING="off") as house:
        yield house


@pytest.fixture(params=["house", "updating_house"], ids=["streams", "updates"])
def either(request: pytest.FixtureRequest) -> SlackHouse:
    """Both ways to show progress: what people get is the same."""
    house: SlackHouse = request.getfixturevalue(request.param)
    return house
