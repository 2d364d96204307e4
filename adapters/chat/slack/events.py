"""HTTP mode: `/slack/events` in the web process, for the same listeners as Socket Mode.

A request's signature is checked over its raw bytes before anything in it is read.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

PATH = "/slack/events"
WINDOW_S = 300  # older and future requests are refused (docs.slack.dev, verifying requests from Slack)
REMEMBERED = 20_000  # signatures; more than an app gets within the window

_log = logging.getLogger(__name__)


class Signatures:
    """Says whether a request is Slack's, is fresh, and has not been seen before."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._clock = clock
        self._seen: OrderedDict[str, None] = OrderedDict()

    def refusal(self, stamp: str, signature: str, body: bytes) -> str:
        """Why the request is refused, "" when it is not. One that is accepted is refused the next time."""
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 11 and signature.isascii()):
            return "unsigned"
        expected = "v0=" + hmac.digest(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hex()
        if not hmac.compare_digest(expected, signature):
            return "forged"
        if abs(self._clock() - int(stamp)) > WINDOW_S:
            return "stale"
        if signature in self._seen:
            return "replayed"
        self._seen[signature] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return ""


def add_events_route(app: web.Application, bolt: AsyncApp, secret: str) -> None:
    """Serve Slack's requests at `PATH`."""
    signatures = Signatures(secret)

    async def post_events(request: web.Request) -> web.Response:
        body = await request.read()
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        refused = signatures.refusal(stamp, request.headers.get("X-Slack-Signature", ""), body)
        if refused:
            _log.warning("request to Slack's address refused", extra={"reason": refused})
            return web.Response(status=401, text="refused")
        headers: dict[str, str | Sequence[str]] = {
            name: value for name, value in request.headers.items() if name.lower() != "cookie"
        }
        said = AsyncBoltRequest(body=body.decode("utf-8", "replace"), query=request.query_string, headers=headers)
        return await to_aiohttp_response(await bolt.async_dispatch(said))

    app.router.add_post(PATH, post_events)
