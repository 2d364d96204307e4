"""Settings of a Discord server, with the real bot: who manages it changes them, and the next question minds it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.adapters.durable.outside import QUESTION
from tests.core.section.shelves import BRIEF
from tests.loopback.discord_data import ASKER, OTHER, Interaction, Message
from tests.loopback.discord_house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def panel(house: House, person: dict[str, object] = ASKER) -> Message:
    return await house.final(house.discord.slash("research-settings", person=person))


async def form(house: House, shown: Message, label: str) -> Interaction:
    pressed = house.discord.press(shown, label)
    await house.discord.until(lambda: pressed.modal is not None)
    return pressed


async def test_who_manages_the_server_changes_its_settings(house: House) -> None:
    """G-02: a form for each group; what is wrong is named by its field; what is saved holds with the next question,
    and the log says who changed it.
    """
    discord = house.discord
    shown = await panel(house)
    answers, sources = await form(house, shown, "Where and how I answer"), await form(house, shown, "Sources")

    wrong = await house.final(discord.fill(sources, allow_domains="nature"))
    saved = await house.final(discord.fill(answers, channels=[discord.quiet.id], visibility=["channel"]))
    stale = await house.final(discord.fill(sources, block_domains="example.com"))
    refused = await house.final(discord.slash("research", channel=discord.open, query=QUESTION))
    answered = await house.final(discord.slash("research", channel=discord.quiet, query=QUESTION))
    log = await house.final(discord.press(saved, "Changes"))
    again = await form(house, saved, "Where and how I answer")
    undone = await house.final(discord.fill(again, channels=[], visibility=["workspace"]))

    assert shown.is_ephemeral
    assert "**Channels**: everywhere" in shown.text
    assert "**Only these sites**: nature is not a domain" in wrong.text
    assert "Saved. It holds from the next question on." in saved.text
    assert f"**Channels**: <#{discord.quiet.id}>" in saved.text
    assert "Somebody else has saved other settings meanwhile" in stale.text
    assert "**Never these sites**: no site" in stale.text
    assert "I do not answer in this channel" in refused.text
    assert "/research-settings" in refused.text
    assert "Research Complete" in answered.text
    assert "?sig=" in str(answered.buttons["View Full Analysis"].get("url"))
    assert f"<@{ASKER['id']}>: **Channels** everywhere → <#{discord.quiet.id}>" in log.text
    assert "**Channels**: everywhere" in undone.text


async def test_no_entry_answers_in_a_channel_that_is_not_chosen(house: House) -> None:
    """G-02: whatever begins research or speaks to the library there is refused; direct messages are answered."""
    discord = house.discord
    answer = await house.final(discord.say(f"@gorkd {QUESTION}"))
    improving = discord.press(answer, "Improve")
    await discord.until(lambda: improving.modal is not None)
    chosen = await form(house, await panel(house), "Where and how I answer")
    await house.final(discord.fill(chosen, channels=[discord.quiet.id]))
    brief = ("paper.yaml", "application/yaml", BRIEF.encode())
    entries: dict[str, Callable[[], Interaction | Message]] = {
        "mention": lambda: discord.say(f"@gorkd {QUESTION}"),
        "command": lambda: discord.slash("research", query=QUESTION),
        "menu": lambda: discord.use_on(answer, "Research This"),
        "section": lambda: discord.slash("section", section="introduction", context=brief),
        "library command": lambda: discord.slash("library", command="list"),
        "library research": lambda: discord.slash("library", command="research", argument="tides"),
        "library words": lambda: discord.say("@gorkd library list"),
        "library paper": lambda: discord.say("@gorkd add 2401.00001 to the library"),
        "reply": lambda: discord.say("and in rivers?", reply_to=answer),
        "deeper": lambda: discord.say("deeper", reply_to=answer),
        "improve": lambda: discord.say("improve: shorter", reply_to=answer),
        "again": lambda: discord.say("again", reply_to=answer),
        "button": lambda: discord.press(answer, "Ask Again"),
        "form": lambda: discord.submit(improving, "shorter"),
    }

    said = {name: (await house.final(enter())).text for name, enter in entries.items()}
    direct = await house.final(discord.say(QUESTION, channel=discord.direct()))
    undo = await form(house, await panel(house), "Where and how I answer")
    await house.final(discord.fill(undo, channels=[]))

    assert {name: text for name, text in said.items() if "I do not answer in this channel" not in text} == {}
    assert "Research Complete" in direct.text


async def test_nobody_else_sees_or_changes_them(house: House) -> None:
    """Although Discord hides the command from others, the bot looks itself."""
    shown = await panel(house)

    refused = await panel(house, OTHER)
    pressed = await house.final(house.discord.press(shown, "Sources", person=OTHER))

    assert refused.text == pressed.text == "Only admins can see and change the settings; please ask one of them."
    command = next(one for one in house.discord.commands if one["name"] == "research-settings")
    assert int(command["default_member_permissions"]) == 1 << 5


async def test_the_language_that_is_set_is_spoken_from_the_next_word_on(house: House) -> None:
    """And not only from the next question on, of which nothing tells an admin who looks whether it works."""
    discord = house.discord
    times = await form(house, await panel(house), "Language and time")

    saved = await house.final(discord.fill(times, language=["de"]))
    told = await house.final(discord.slash("research-help"))
    again = await form(house, saved, "Language and time")
    await house.final(discord.fill(again, language=["question"]))

    assert "**Language**: Deutsch" in saved.text
    assert "Wie man mich fragt" in told.text
