"""The Slack app: hands mentions and `/research` to research, and updates one message per question.

Answers are core's business, limits render.py's, scopes translate.py's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.slack.asker import Asker
from adapters.chat.slack.render import SlackVoice
from core import wording
from core.errors import SetupError
from core.page_links import PageLinks

if TYPE_CHECKING:
    from core.researcher import Researcher

API_TIMEOUT_S = 10
Say = Callable[[str], Awaitable[Any]]


@dataclass(frozen=True)
class SlackSettings:
    bot_token: str = field(repr=False)
    app_token: str = field(repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> SlackSettings:
        """Reads `SLACK_BOT_TOKEN` and `SLACK_APP_TOKEN` (Socket Mode). Raises `SetupError`."""
        for name, prefix in (("SLACK_BOT_TOKEN", "xoxb-"), ("SLACK_APP_TOKEN", "xapp-")):
            if not env.get(name, "").startswith(prefix):
                raise SetupError(f"{name} is not set; it begins with {prefix} and stands in the Slack app's settings.")
        return cls(env["SLACK_BOT_TOKEN"], env["SLACK_APP_TOKEN"])


async def run_slack(researcher: Researcher, settings: SlackSettings, *, links: PageLinks) -> None:
    """Runs in Socket Mode until cancelled. Raises `SetupError` when Slack refuses a token."""
    client = web_client(settings.bot_token)
    handler = AsyncSocketModeHandler(build_app(researcher, client, links=links), settings.app_token)
    try:
        await client.auth_test()
        await handler.connect_async()  # type: ignore[no-untyped-call]  # bolt types none of its handler
        await asyncio.Event().wait()
    except SlackApiError as exc:
        raise SetupError(f"Slack refused a token: {exc.response.get('error')}.") from exc
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]  # as above


def web_client(token: str, *, base_url: str = AsyncWebClient.BASE_URL) -> AsyncWebClient:
    """Never re-posts after a lost reply; waits when Slack asks for it."""
    retries = [AsyncRateLimitErrorRetryHandler(max_retry_count=2)]
    return AsyncWebClient(token, base_url=base_url, timeout=API_TIMEOUT_S, retry_handlers=list(retries))


def build_app(researcher: Researcher, client: AsyncWebClient, *, links: PageLinks) -> AsyncApp:
    """The listeners, on whatever brings the events."""
    asker = Asker(researcher, client, SlackVoice(links))
    app = AsyncApp(client=client, request_verification_enabled=False)  # Socket Mode events need no signature

    @app.event("app_mention")
    async def mentioned(event: dict[str, Any], body: dict[str, Any], context: dict[str, Any]) -> None:
        await asker.mentioned(event, team_id=body.get("team_id", ""), bot_user_id=context.get("bot_user_id") or "")

    @app.event("message")
    async def messaged(event: dict[str, Any], body: dict[str, Any], context: dict[str, Any]) -> None:
        if event.get("channel_type") == "im" and not event.get("subtype") and not event.get("bot_id"):
            await asker.mentioned(event, team_id=body.get("team_id", ""), bot_user_id=context.get("bot_user_id") or "")

    @app.command("/research")
    async def commanded(ack: Say, respond: Say, command: dict[str, Any]) -> None:
        await ack("On it …" if command.get("text", "").strip() else wording.ASK_WHAT)
        if not await asker.commanded(command):
            await respond("I cannot post here; invite me to this channel and ask again.")

    @app.action("view_full_analysis")
    async def opened(ack: Callable[[], Awaitable[Any]]) -> None:
        await ack()  # the link opens by itself; Slack only wants to hear that the click arrived

    return app
