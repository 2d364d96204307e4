"""Ideas, implementations and reports as people in Discord and Slack ask for them: one story a platform."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.chat.slack.house import slack_house
from tests.core.findings.pages import CODES, INVENTED, LONG, PAGES, QUESTION, offer_web_search
from tests.loopback.discord_house import discord_house
from tests.loopback.findings_responders import mode_in, writing
from tests.loopback.openai_responders import ChatCall, Fault
from tests.loopback.openai_world import BY_DEFAULT
from tests.loopback.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
RETIRED = "is retired; use freeform"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World.of(PAGES) as opened:

        def respond(call: ChatCall) -> str | Fault:
            return writing(CODES)(call) if mode_in(call.system) else BY_DEFAULT(call)

        opened.model.respond = respond
        yield opened


async def test_in_discord_code_comes_in_blocks_and_long_code_as_a_file(world: World, tmp_path: Path) -> None:
    """D1, S004-03, S004-12: two modes of different kinds at once, without web_search; the retired `both` is refused."""
    env = world.env(tmp_path, "tavily", model=True)
    async with discord_house(tmp_path, env=env) as house:
        asked = house.discord.slash("research", query=QUESTION, mode="quick, implementation", top_k=2)
        answer = await house.final(asked, within_s=40)
        await house.discord.until(lambda: answer.attachments)
        refused = await house.final(house.discord.slash("research", query=QUESTION, mode="both"))
        problems = house.discord.problems

    text = answer.text
    assert text.index("**Quick answer**") < text.index("**Implementations**")
    assert text.count("```") == 4
    assert f"```python\n{LONG[:60]}" in text
    assert "-# also as implementation-" in text or "more lines in implementation-" in text
    assert [one["filename"].rpartition(".")[2] for one in answer.attachments] == ["py"]
    assert RETIRED in refused.text
    assert problems == []


async def test_in_slack_ideas_and_a_report_come_from_the_models_own_search(world: World, tmp_path: Path) -> None:
    """S004-11, S004-13, S004-16: an invented page is counted, not shown; long or fenced code is a file; no `both`."""
    offer_web_search(world, also=[INVENTED])
    async with slack_house(tmp_path, **world.env(tmp_path, "tavily", model=True)) as house:
        user = house.person()
        channel = house.channel(user)
        refused = house.person()
        elsewhere = house.channel(refused)
        await house.slack.mentions(user, channel, f"mode:idea,freeform,implementation top_k:5 {QUESTION}")
        answer = await house.ended(channel)
        await house.slack.until(lambda: house.slack.state.files)
        files = {described["name"]: content.decode() for described, content in house.slack.state.files.values()}
        await house.slack.commands(refused, elsewhere, f"mode:both {QUESTION}")
        await house.slack.until(lambda: RETIRED in "".join(house.whispers(refused)))

    shown = json.dumps(answer.blocks, ensure_ascii=False)
    assert shown.index("*Ideas*") < shown.index("*Report*") < shown.index("*Implementations*")
    assert "Not verified, not shown: 2 results" in shown
    assert "invented.example" not in shown
    assert "On the page: Introduction" in shown
    assert sum(block["type"] == "rich_text" for block in answer.blocks) == len(PAGES)
    assert sorted(name.rpartition(".")[2] for name in files) == ["markdown", "py"]
    assert f"{LONG}\n" in files.values()
    assert all(name in shown for name in files)
