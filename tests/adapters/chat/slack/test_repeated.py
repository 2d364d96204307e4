"""What stands below an answer that was given before, in a real process that searches what is worth repeating."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.adapters.chat.slack.house import SlackHouse, slack_house
from tests.adapters.durable.outside import QUESTION

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("gorkd"), service="pubmed") as house:
        yield house


async def test_a_repeated_answer_is_renewed_and_says_what_changed(house: SlackHouse) -> None:
    """D12: Refresh makes one new answer, however many click; What changed is told to who asks for it."""
    ada, channel, first = await house.has_asked()
    ben = house.person(channel)
    await house.slack.mentions(ben, channel, QUESTION)
    repeated = await house.ended(channel, times=2)

    await house.slack.clicks(ben, repeated, "what_changed")
    await house.slack.until(lambda: house.whispers(ben))
    await house.slack.clicks(ben, repeated, "refresh")
    renewed = await house.ended(channel, times=3)
    await house.slack.clicks(ada, repeated, "refresh")
    await house.slack.until(lambda: house.whispers(ada))
    await house.slack.clicks(ben, renewed, "what_changed")
    await house.slack.until(lambda: len(house.whispers(ben)) == 2)

    assert "refresh" not in first.buttons
    assert f"for <@{ada}>: {QUESTION}" in repeated.shown
    assert "no newer answer" in house.whispers(ben)[0]
    assert "Nothing changed" in house.whispers(ben)[1]
    assert "started already" in house.whispers(ada)[0]
    assert renewed.thread_ts == repeated.thread_ts
    assert "Answered" not in renewed.shown
