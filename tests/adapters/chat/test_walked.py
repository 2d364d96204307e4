"""docs/slack.md and docs/discord.md, step by step: what a reader is told to do, see and allow is what there is.

The manifest itself is tried in slack/test_manifest.py, Discord's permission integer in discord/test_bot.py.
"""

from __future__ import annotations

import re
from typing import Any

import discord
import jsonschema
import pytest
import yaml

from adapters.chat.discord.bot import ResearchBot
from adapters.chat.discord.settings import PERMISSIONS, DiscordSettings
from adapters.chat.slack.bot import PATH
from adapters.chat.slack.client import NO_STREAMS
from bots.config import BotSettings
from core.modes.mode import ASKED
from core.presentation import wording
from tests.golden import samples
from tests.loopback.slack_spec import manifest_faults
from tests.shared_data import ROOT, shared_spec

SLACK = (ROOT / "docs" / "slack.md").read_text("utf-8")
DISCORD = (ROOT / "docs" / "discord.md").read_text("utf-8")
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))


def table(page: str, head: str) -> list[str]:
    """The first cells of the table whose first head this is."""
    lines = page.partition(f"\n| {head} |")[2].split("\n")[2:]
    rows = lines[: next(at for at, line in enumerate(lines) if not line.startswith("|"))]
    return [row.split("|")[1].strip() for row in rows]


def spoken(page: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, page))


def merged(whole: Any, changes: Any) -> Any:
    """`changes` over `whole`, as somebody edits a manifest."""
    if not isinstance(whole, dict) or not isinstance(changes, dict):
        return changes
    return {**whole, **{name: merged(whole.get(name), value) for name, value in changes.items()}}


def test_every_scope_is_explained_and_no_other() -> None:
    """ "What the app is allowed to do": the manifest's scopes, each once, and every word of the kind on the page."""
    explained = [scope for cell in table(SLACK, "Scope") for scope in re.findall(r"`([^`]+)`", cell)]
    named = spoken(SLACK, r"`((?:app_mentions|chat|im|channels|groups|reactions|files|assistant|users|team):\w+)`")

    assert sorted(explained) == sorted(MANIFEST["oauth_config"]["scopes"]["bot"])
    assert named <= set(explained)


def test_the_step_to_http_mode_gives_a_manifest_that_slack_takes() -> None:
    """The four things that are to be changed are enough: every command has its address, and the shared one is ours."""
    snippet = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", SLACK, re.DOTALL)[-1])
    commands = {one["command"]: one for one in MANIFEST["features"]["slash_commands"]}
    changed = {one["command"]: one for one in snippet["features"]["slash_commands"]}

    over_http = merged(MANIFEST, snippet)
    over_http["features"]["slash_commands"] = [merged(one, changed[name]) for name, one in commands.items()]

    assert commands.keys() == changed.keys()
    assert manifest_faults(over_http) == []
    addresses = spoken(yaml.safe_dump(snippet), r"https://\S+")
    assert addresses == {f"https://gorkd.example.org{PATH}"}
    jsonschema.validate(over_http, yaml.safe_load(shared_spec("slack", "manifest.v2.json").read_text("utf-8")))


def test_what_slacks_page_names_is_there() -> None:
    """Commands, the shortcut, the buttons in bold, the options in a question, and how the tokens begin."""
    features = MANIFEST["features"]
    listed = {one["command"] for one in features["slash_commands"]} | {one["name"] for one in features["shortcuts"]}
    how = " ".join(table(SLACK, "How"))

    assert spoken(how, r"`(/\w+)`") | spoken(how, r"\*\*(Research This)\*\*") == listed
    assert spoken(SLACK, r"`(/\w+)[ `]") - {"/invite", "/slack"} <= listed
    assert {"Sources", "Go Deeper", "Ask Again", "Improve", "Share", "View Full Analysis"} <= {
        *wording.BUTTONS.values(), wording.SOURCES, wording.GO_DEEPER,
    }  # fmt: skip
    assert spoken(SLACK, r"`(\w+):(?:deep|quick|\d|\"|yes)") <= {option.name for option in ASKED}
    assert "`xoxb-`" in SLACK
    assert "`xapp-`" in SLACK


def test_what_forbids_streams_in_a_channel_is_listed() -> None:
    """Slack's own words for it, which whoever reads a log looks up."""
    listed = SLACK.partition("Where Slack forbids streams in a channel (")[2].partition(")")[0]

    assert spoken(listed, r"`(\w+)`") == NO_STREAMS


@pytest.mark.parametrize("page", [SLACK, DISCORD], ids=["slack", "discord"])
def test_settings_of_the_steps_are_settings(page: str) -> None:
    """What is exported in a step stands in .env.example."""
    known = (ROOT / ".env.example").read_text("utf-8")
    exported = spoken(page, r"export (\w+)=") | spoken(page, r"`([A-Z]+_[A-Z_]+)[=`]")

    assert exported
    assert {name for name in exported if not re.search(rf"^#?\s*{name}=", known, re.MULTILINE)} == set()


def test_limits_that_are_promised_are_the_defaults() -> None:
    """ "Five questions a minute a person …"."""
    numbers = {"Five": 5, "twenty": 20, "thirty": 30}

    promised = [
        re.findall(r"(\w+) questions a minute a person and (\w+) a minute a (?:workspace|server)", page)[0]
        for page in (SLACK, DISCORD)
    ]
    defaults = [
        tuple(BotSettings.model_fields[name].default for name in names)
        for names in (
            ("slack_user_per_min", "slack_workspace_per_min"), ("discord_user_per_min", "discord_guild_per_min"),
        )
    ]  # fmt: skip

    assert [(numbers[person], numbers[place]) for person, place in promised] == defaults


def test_commands_of_discords_page_are_those_that_are_registered() -> None:
    """With the options that the table names, and the message's menu."""
    bot = ResearchBot(samples.chat_deps(), DiscordSettings(token="t"))
    commands = {one.name: one for one in bot.tree.get_commands(type=discord.AppCommandType.chat_input)}
    menus = {one.name for one in bot.tree.get_commands(type=discord.AppCommandType.message)}
    how = table(DISCORD, "How")

    assert spoken(" ".join(how), r"`/([\w-]+)") == commands.keys()
    assert spoken(" ".join(how), r"\*\*(Research This)\*\*") == menus
    for name in ("library", "section"):
        (typed,) = [cell for cell in how if cell.startswith(f"`/{name}")]
        assert typed.strip("`").split()[1:] == [option.name for option in commands[name].parameters]
    assert f"permissions={PERMISSIONS}" in DISCORD
