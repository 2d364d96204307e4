"""Files that come with a question in Slack: where the app's token goes to fetch them, and where it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.chat.slack.client import Workspace, download, web_client
from adapters.chat.slack.settings import SLACK_API
from adapters.chat.slack.translate import SlackFile
from core.model.job import AttachmentUnreadable


@pytest.fixture
async def stranger() -> AsyncIterator[tuple[TestServer, list[str]]]:
    """A server that is none of Slack's, and what tokens it was shown."""
    shown: list[str] = []

    async def take(request: web.Request) -> web.Response:
        shown.append(request.headers.get("Authorization", ""))
        return web.Response(text="hello")

    app = web.Application()
    app.router.add_get("/{path:.*}", take)
    async with TestServer(app) as server:
        yield server, shown


@pytest.mark.parametrize(
    "url_of",
    [
        pytest.param(lambda port: f"http://127.0.0.1:{port}/a.txt", id="another host"),
        pytest.param(lambda port: f"http://files.slack.com@127.0.0.1:{port}/a.txt", id="Slack's name as a user"),
        pytest.param(lambda port: "http://files.slack.com/a.txt", id="without TLS"),
        pytest.param(lambda port: "https://slack.com.example/a.txt", id="Slack's name in front"),
        pytest.param(lambda port: "https://notslack.com/a.txt", id="Slack's name behind"),
    ],
)
async def test_the_token_goes_to_slack_alone(stranger: tuple[TestServer, list[str]], url_of: Callable[[int], str]):
    """An event may name any address."""
    server, shown = stranger

    with pytest.raises(AttachmentUnreadable) as refused:
        await fetch(url_of(server.port or 0), api_url=SLACK_API)

    assert "does not lie with Slack" in refused.value.user_message
    assert shown == []


async def test_the_token_follows_no_redirect(stranger: tuple[TestServer, list[str]]):
    server, shown = stranger

    async def send_on(_: web.Request) -> web.Response:
        raise web.HTTPFound(server.make_url("/a.txt"))

    app = web.Application()
    app.router.add_get("/a.txt", send_on)
    async with TestServer(app) as slack:
        with pytest.raises(AttachmentUnreadable):
            await fetch(str(slack.make_url("/a.txt")), api_url=str(slack.make_url("/api/")))

    assert shown == []


async def fetch(url: str, *, api_url: str) -> bytes:
    workspace = Workspace("T1", "B1", "U1", web_client("xoxb-secret", api_url=api_url))
    return await download(SlackFile("F1", "a.txt", "text/plain", url, 5), workspace, max_bytes=1000)
