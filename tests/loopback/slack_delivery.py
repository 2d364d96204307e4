"""How a loopback Slack delivers: over a Socket Mode websocket, or as signed HTTP requests.

What is not acknowledged within 3 s is sent again at once, after a minute and after five, as Slack does
with events; `retry_delays_s` scales that.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout, WSMsgType, web

from tests.loopback.slack_state import APP, SIGNING_SECRET

Json = Any
ACK_S = 3.0
SOCKET_TYPES = {"event": "events_api", "command": "slash_commands", "interactive": "interactive"}


@dataclass(frozen=True)
class Ack:
    """`seconds` from sending to acknowledgement; `payload` is what came with it."""

    seconds: float
    payload: dict[str, Json]
    attempts: int = 1


class NotAcknowledged(Exception):
    """Slack gave up."""


class Delivery(Protocol):
    async def attempt(self, kind: str, payload: Mapping[str, Json], retry: int) -> dict[str, Json]:
        """One attempt; the acknowledgement's payload. Raises `TimeoutError` when there was none."""
        ...


async def deliver(
    delivery: Delivery, kind: str, payload: Mapping[str, Json], *, retry_delays_s: Sequence[float] = ()
) -> Ack:
    """Send until acknowledged. Only events are sent again."""
    delays = [0.0, *(retry_delays_s if kind == "event" else ())]
    for retry, delay_s in enumerate(delays):
        await asyncio.sleep(delay_s)
        started = time.perf_counter()
        try:
            acknowledged = await delivery.attempt(kind, payload, retry)
        except (TimeoutError, ClientError, ConnectionError):
            continue
        return Ack(time.perf_counter() - started, acknowledged, retry + 1)
    raise NotAcknowledged(f"{kind} was not acknowledged in {len(delays)} attempts")


@dataclass
class SocketMode:
    """The websocket side. `stuck_handshakes` makes that many tickets dead: connecting with one never succeeds."""

    stuck_handshakes: int = 0
    base_url: str = ""
    opened: int = 0
    sessions: list[web.WebSocketResponse] = field(default_factory=list)
    acks: dict[str, asyncio.Future[dict[str, Json]]] = field(default_factory=dict)
    connected: asyncio.Event = field(default_factory=asyncio.Event)
    dead_tickets: set[str] = field(default_factory=set)

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/link", self._link)

    def open(self) -> str:
        """The address for a new connection; good for one."""
        self.opened += 1
        ticket = uuid.uuid4().hex
        if self.stuck_handshakes > 0:
            self.stuck_handshakes -= 1
            self.dead_tickets.add(ticket)
        return f"{self.base_url.replace('http://', 'ws://')}/link?ticket={ticket}&app_id={APP}"

    async def attempt(self, kind: str, payload: Mapping[str, Json], retry: int) -> dict[str, Json]:
        async with asyncio.timeout(ACK_S):
            await self.connected.wait()
            envelope_id = str(uuid.uuid4())
            acknowledged: asyncio.Future[dict[str, Json]] = asyncio.get_running_loop().create_future()
            self.acks[envelope_id] = acknowledged
            envelope: dict[str, Json] = {
                "envelope_id": envelope_id,
                "type": SOCKET_TYPES[kind],
                "payload": payload,
                "accepts_response_payload": kind != "event",
            }
            if kind == "event":
                envelope |= {"retry_attempt": retry, "retry_reason": "timeout" if retry else ""}
            await self.sessions[-1].send_json(envelope)
            return await acknowledged

    async def refresh(self) -> None:
        """Slack renews its containers and asks the app to connect anew; `connected` is set when it has."""
        session = self.sessions[-1]
        self.connected.clear()
        await session.send_json({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})

    async def drop(self) -> None:
        """The network goes, without a word."""
        for session in self.sessions:
            transport = session._req.transport if session._req else None
            if transport:
                transport.abort()
        self.connected.clear()

    async def _link(self, request: web.Request) -> web.StreamResponse:
        if request.query["ticket"] in self.dead_tickets:
            return web.Response(status=408)
        session = web.WebSocketResponse()
        await session.prepare(request)
        self.sessions.append(session)
        hello = {"type": "hello", "num_connections": 1, "debug_info": {}, "connection_info": {"app_id": APP}}
        await session.send_json(hello)
        self.connected.set()
        try:
            with suppress(ConnectionError):  # it may go while its ping is answered
                await self._read(session)
        finally:
            self.sessions.remove(session)
            if not self.sessions:
                self.connected.clear()
        return session

    async def _read(self, session: web.WebSocketResponse) -> None:
        async for message in session:
            if message.type == WSMsgType.TEXT and message.data.startswith("{"):
                acknowledged = json.loads(message.data)
                waiting = self.acks.get(acknowledged.get("envelope_id", ""))
                if waiting and not waiting.done():
                    waiting.set_result(acknowledged.get("payload") or {})


@dataclass
class SignedHttp:
    """Requests to the app's own address, signed as Slack signs them."""

    url: str
    secret: str = SIGNING_SECRET

    async def attempt(self, kind: str, payload: Mapping[str, Json], retry: int) -> dict[str, Json]:
        body, content_type = encode(kind, payload)
        status, said = await self.post(body, content_type, retry=retry)
        if status != 200:
            raise TimeoutError(f"{status}: {said[:200]}")
        return json.loads(said) if said.startswith("{") else {"text": said} if said else {}

    async def post(
        self, body: str, content_type: str, *, at: float | None = None, retry: int = 0, signature: str | None = None
    ) -> tuple[int, str]:
        """Status and body. `at` is the time in the signature; `signature` replaces the true one."""
        stamp = str(int(time.time() if at is None else at))
        headers = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature if signature is not None else sign(self.secret, stamp, body),
        }
        if retry:
            headers |= {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": "http_timeout"}
        async with (
            ClientSession(timeout=ClientTimeout(total=ACK_S)) as session,
            session.post(self.url, data=body.encode(), headers=headers) as response,
        ):
            return response.status, await response.text()


def encode(kind: str, payload: Mapping[str, Json]) -> tuple[str, str]:
    """Events are JSON, commands a form, interactions a form with JSON in it."""
    if kind == "event":
        return json.dumps(payload), "application/json"
    fields = {"payload": json.dumps(payload)} if kind == "interactive" else dict(payload)
    return urlencode(fields), "application/x-www-form-urlencoded"


def sign(secret: str, stamp: str, body: str) -> str:
    return "v0=" + hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
