"""Socket Mode, watched: a connection that stays away too long is torn down and built anew.

The SDK reconnects by itself, but after a failed websocket handshake it tries the same one-time address for ever.
"""

from __future__ import annotations

import asyncio
import logging
import time

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.slack.client import REFUSED, reason
from adapters.chat.slack.settings import SlackSettings
from adapters.proxies import DIRECT, Proxies
from core.errors import SetupError

PATIENCE_S = 30.0  # without a healthy session; a refresh by Slack takes a second or two
LOOK_EVERY = 6  # times within the patience
PING_INTERVAL_S = 5.0  # a connection that went silent is noticed after four of them

_log = logging.getLogger(__name__)


async def keep_connected(
    app: AsyncApp, app_token: str, *, proxies: Proxies = DIRECT, patience_s: float = PATIENCE_S
) -> None:
    """Hold a Socket Mode connection until cancelled."""
    while True:
        handler = AsyncSocketModeHandler(app, app_token, ping_interval=PING_INTERVAL_S)
        _guide(handler.client, proxies)
        connecting = asyncio.create_task(handler.connect_async(), name="slack socket")  # type: ignore[no-untyped-call]
        try:
            await _until_given_up(handler, patience_s)
        finally:
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)
            await handler.close_async()  # type: ignore[no-untyped-call]  # bolt types none of its handler
        _log.warning("no healthy connection to Slack; connecting anew", extra={"seconds": patience_s})


def _guide(client: SocketModeClient, proxies: Proxies) -> None:
    """Each address that Slack issues is reached as the settings say; the SDK's own way knows no `NO_PROXY`."""
    issue = client.issue_new_wss_url

    async def issue_guided() -> str:
        url = await issue()
        client.proxy = proxies.of(url)
        return url

    client.issue_new_wss_url = issue_guided  # type: ignore[method-assign]


async def _until_given_up(handler: AsyncSocketModeHandler, patience_s: float) -> None:
    """Returns when there has been no healthy session for `patience_s`."""
    seen_at = time.monotonic()
    while time.monotonic() - seen_at < patience_s:
        await asyncio.sleep(patience_s / LOOK_EVERY)
        if await handler.client.is_connected():
            seen_at = time.monotonic()


async def check_app_token(client: AsyncWebClient, settings: SlackSettings) -> None:
    """Raises `SetupError` for a refused token, which the SDK would try for ever, else one of `FAULTS`."""
    try:
        await client.apps_connections_open(app_token=settings.app_token)
    except SlackApiError as exc:
        if reason(exc) not in REFUSED:
            raise
        raise SetupError(f"Slack refused SLACK_APP_TOKEN: {reason(exc)}.") from exc
