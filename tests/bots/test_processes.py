"""What a process refuses to start with, before it opens anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import pytest
from aiohttp import web

from adapters.web.settings import WebSettings
from bots.config import read_settings
from bots.processes import RUNNERS, _listening
from core.model.errors import SetupError

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


async def test_ready_is_said_when_the_first_question_is_as_quick_as_the_next(capsys: pytest.CaptureFixture[str]):
    """What is slow to load is loaded before; pages are served meanwhile, and whoever starts this waits."""
    loaded = asyncio.Event()
    settings = WebSettings.from_env({"HOST": "127.0.0.1", "PORT": "0"})

    async def serve() -> None:
        async with _listening(web.Application(), settings, cast("Callable[[], Awaitable[None]]", loaded.wait)):
            served.set()

    served = asyncio.Event()
    serving = asyncio.create_task(serve())
    await asyncio.wait({serving}, timeout=0.1)
    early = capsys.readouterr().out
    loaded.set()
    await serving

    assert served.is_set()
    assert "is ready" not in early
    assert "is ready" in capsys.readouterr().out
