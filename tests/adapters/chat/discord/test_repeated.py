"""What stands below an answer that was given before, in a real bot that searches what is worth repeating."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.adapters.durable.tables import until
from tests.loopback.discord_data import ASKER, OTHER
from tests.loopback.discord_house import House, discord_house

pytestmark = pytest.mark.asyncio(loop_scope="module")
TIDES = "What causes the tides?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with discord_house(tmp_path_factory.mktemp("gorkd"), service="pubmed") as house:
        yield house


async def test_a_repeated_answer_is_renewed_and_says_what_changed(house: House):
    """D12: after a restart too; Refresh makes one new answer, and What changed is told to who asks for it."""
    first = await house.final(house.discord.slash("research", query=TIDES))
    repeated = await house.final(house.discord.slash("research", query=TIDES, person=OTHER))
    await house.restart_bot()

    early = await house.final(house.discord.press(repeated, "What changed"))
    renewed = await house.final(house.discord.press(repeated, "Refresh", person=OTHER))
    twice = await house.final(house.discord.press(repeated, "Refresh"))
    told = await house.final(house.discord.press(renewed, "What changed"))

    assert "Refresh" not in first.buttons
    assert f"for <@{ASKER['id']}>: {TIDES}" in repeated.text
    assert repeated.pinged == []
    assert early.is_ephemeral
    assert "no newer answer" in early.text
    assert "Research Complete" in renewed.text
    assert twice.buttons["What changed"]["custom_id"] == renewed.buttons["What changed"]["custom_id"]
    assert told.is_ephemeral
    assert "Nothing changed" in told.text


async def test_another_server_is_not_given_the_answer(house: House):
    """G-02: what one server asked is researched anew in another, while the first is given it again."""
    await until(lambda: house.bot.said("discord is ready"))  # until then discord.py takes a new server for an old one
    elsewhere, query = house.discord.invites(), "How often do spring tides occur?"

    first = await house.final(house.discord.slash("research", query=query))
    foreign = await house.final(house.discord.slash("research", query=query, channel=elsewhere))
    repeated = await house.final(house.discord.slash("research", query=query))

    assert "Answered" not in first.text + foreign.text
    assert "Research Complete" in foreign.text
    assert [message.buttons.get("Refresh") is None for message in (first, foreign, repeated)] == [True, True, False]
