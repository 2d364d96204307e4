"""What people do in Discord, with the real bot process against a loopback Discord: each question, one final answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.loopback.discord_house import House, discord_house

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One bot and one worker for all scenarios; what Discord refused fails the test that comes last."""
    async with discord_house(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture(autouse=True)
def accepted(house: House):
    """Discord has refused nothing of what the bot sent, and nothing says "thinking" any more."""
    yield
    assert house.discord.problems == []
    assert house.discord.thinking == []


async def test_a_command_is_acknowledged_at_once_and_answered_in_one_message(house: House):
    """S003-20, G-02: one message that lives, ending in the embed."""
    asked = house.discord.slash("research", query="What causes the tides?")

    answer = await house.final(asked)

    assert asked.acked_s is not None
    assert asked.acked_s < 1
    assert answer.embed["title"] == "📊 Research Complete"
    assert "gravity of the Moon" in answer.text
