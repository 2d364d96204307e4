"""What stands below an answer that was given before, in a real bot that searches what is worth repeating."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.durable.tables import until
from tests.loopback.discord_data import ASKER, OTHER
from tests.loopback.discord_house import discord_house

TIDES = "What causes the tides?"


async def test_a_repeated_answer_is_renewed_and_says_what_changed(tmp_path: Path):
    """D12: after a restart too; Refresh makes one new answer, and What changed is told to who asks for it."""
    async with discord_house(tmp_path, service="pubmed") as house:
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


async def test_another_server_is_not_given_the_answer(tmp_path: Path):
    """G-02: what one server asked is researched anew in another, while the first is given it again."""
    async with discord_house(tmp_path, service="pubmed") as house:
        await until(
            lambda: house.bot.said("discord is ready")
        )  # until then discord.py takes a new server for an old one
        elsewhere = house.discord.invites()

        first = await house.final(house.discord.slash("research", query=TIDES))
        foreign = await house.final(house.discord.slash("research", query=TIDES, channel=elsewhere))
        repeated = await house.final(house.discord.slash("research", query=TIDES))

        assert "Answered" not in first.text + foreign.text
        assert "Research Complete" in foreign.text
        assert [message.buttons.get("Refresh") is None for message in (first, foreign, repeated)] == [True, True, False]
