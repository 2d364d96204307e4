"""HTTP mode: `/slack/events` in the web process, for the same listeners as Socket Mode.

A request's signature is checked over its raw bytes before anything in it is read.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from core.errors import StoreError
from core.ports import OneTimeStates

PATH = "/slack/events"
WINDOW_S = 300  # older and future requests are refused (docs.slack.dev, verifying requests from Slack)
REMEMBERED = timedelta(seconds=2 * WINDOW_S)  # one from the future by the window is fresh for as long as that

_log = logging.getLogger(__name__)


class Signatures:
    """Says whether a request is Slack's and fresh."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._clock = clock

    def refusal(self, stamp: str, signature: str, body: bytes) -> str:
        """Why the request is refused, "" when it is not."""
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 11 and signature.isascii()):
            return "unsigned"
        expected = "v0=" + hmac.digest(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hex()
        if not hmac.compare_digest(expected, signature):
            return "forged"
        return "stale" if abs(self._clock() - int(stamp)) > WINDOW_S else ""


def add_events_route(app: web.Application, bolt: AsyncApp, secret: str, states: OneTimeStates) -> None:
    """Serve Slack's requests at `PATH`. Which have been seen is kept in `states`, by all processes together."""
    signatures = Signatures(secret)

    async def post_events(request: web.Request) -> web.Response:
        body = await request.read()
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        refused = signatures.refusal(stamp, signature, body)
        try:
            if not refused and not await states.spend(f"slack request {signature}", ttl=REMEMBERED):
                refused = "replayed"
        except StoreError as exc:  # Slack sends it again, signed anew
            _log.warning("not known whether a request of Slack's is new", extra={"error": str(exc)})
            return web.Response(status=503, text="please send it again")
        if refused:
            _log.warning("request to Slack's address refused", extra={"reason": refused})
            return web.Response(status=401, text="refused")
        headers: dict[str, str | Sequence[str]] = {
            name: value for name, value in request.headers.items() if name.lower() != "cookie"
        }
        said = AsyncBoltRequest(body=body.decode("utf-8", "replace"), query=request.query_string, headers=headers)
        return await to_aiohttp_response(await bolt.async_dispatch(said))

    app.router.add_post(PATH, post_events)
