"""What a process refuses to start with, before it opens anything."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bots.config import read_settings
from bots.processes import RUNNERS
from core.errors import SetupError

HALF_A_SLACK = {
    "the bot's token alone": ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_APP_TOKEN"),
    "the app's token alone": ({"SLACK_APP_TOKEN": "xapp-1"}, "SLACK_BOT_TOKEN"),
    "the client's id alone": ({"SLACK_CLIENT_ID": "1.2"}, "SLACK_CLIENT_SECRET"),
    "the client's secret alone": ({"SLACK_CLIENT_SECRET": "e1"}, "SLACK_CLIENT_ID"),
    "the token of Socket Mode beside the client's id": (
        {
            "SLACK_CLIENT_ID": "1.2",
            "SLACK_CLIENT_SECRET": "e1",
            "SLACK_SIGNING_SECRET": "s1",
            "SLACK_APP_TOKEN": "xapp-1",
            "GORKD_PUBLIC_URL": "https://gorkd.example.org",
        },
        "set SLACK_SIGNING_SECRET, and leave SLACK_APP_TOKEN unset",
    ),
    "the client's id without what signs requests": (
        {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "e1", "GORKD_PUBLIC_URL": "https://gorkd.example.org"},
        "set SLACK_SIGNING_SECRET, and leave SLACK_APP_TOKEN unset",
    ),
    "an installation over plain http": (
        {
            "SLACK_CLIENT_ID": "1.2",
            "SLACK_CLIENT_SECRET": "e1",
            "SLACK_SIGNING_SECRET": "s1",
            "GORKD_PUBLIC_URL": "http://gorkd.example.org",
        },
        "GORKD_PUBLIC_URL to an address with https",
    ),
}


@pytest.mark.parametrize("process", ["all", "web"])
@pytest.mark.parametrize(("env", "missing"), HALF_A_SLACK.values(), ids=HALF_A_SLACK)
async def test_half_a_slack_is_refused_by_name(process: str, env: Mapping[str, str], missing: str) -> None:
    """Who has set one of Slack's tokens is told which one is missing, and not left to wonder why Slack is silent."""
    settings = read_settings(env)

    with pytest.raises(SetupError, match=missing):
        await RUNNERS[process](env, settings)
