"""The gateway: hello, identify, ready, events in order, heartbeats, resume, invalid sessions, drops."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.loopback.discord_data import APPLICATION_ID, BOT, Guild

PRIVILEGED = 1 << 1 | 1 << 8 | 1 << 15  # members, presences, message content
HEARTBEAT_MS = 41_250


@dataclass
class Session:
    """What the bot has been told since it identified; a resume replays what it has missed."""

    id: str
    intents: int
    frames: list[dict[str, Any]] = field(default_factory=list)
    grown: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, event: str, data: dict[str, Any]) -> None:
        self.frames.append({"op": 0, "t": event, "s": len(self.frames) + 1, "d": data})
        self.grown.set()


class Gateway:
    """`sessions` are all there were; `closed` keeps the codes that the server closed with."""

    def __init__(self, token: str, guilds: Callable[[], list[Guild]]) -> None:
        self._token = token
        self._guilds = guilds
        self.url = ""
        self.sessions: list[Session] = []
        self.resumes = 0
        self.identifies: list[dict[str, Any]] = []
        self.closed: list[int] = []
        self.changed: Callable[[], None] = lambda: None
        self._sockets: dict[web.WebSocketResponse, Session | None] = {}
        self._invalid: set[str] = set()

    @property
    def is_connected(self) -> bool:
        return any(session is not None for session in self._sockets.values())

    def dispatch(self, event: str, data: dict[str, Any]) -> None:
        """To the newest session, whether or not its socket is open now."""
        if self.sessions and self.sessions[-1].id not in self._invalid:
            self.sessions[-1].add(event, data)

    async def drop(self) -> None:
        """Cut the connection; the session can be resumed."""
        for socket in list(self._sockets):
            await socket.close(code=4000)

    async def invalidate(self) -> None:
        """Tell the bot that its session is over; what happens until it identifies anew is lost."""
        self._invalid.update(session.id for session in self.sessions)
        for socket in list(self._sockets):
            await socket.send_str(json.dumps({"op": 9, "d": False, "s": None, "t": None}))

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        send = self._sender(socket, compressed=request.query.get("compress") == "zlib-stream")
        self._sockets[socket] = None
        writing: asyncio.Task[None] | None = None
        try:
            await send({"op": 10, "d": {"heartbeat_interval": HEARTBEAT_MS}, "s": None, "t": None})
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    break
                said = json.loads(message.data)
                if said["op"] == 1:
                    await send({"op": 11, "d": None, "s": None, "t": None})
                elif said["op"] in (2, 6):
                    begun = self._identify(said["d"]) if said["op"] == 2 else self._resume(said["d"])
                    if isinstance(begun, int):
                        self.closed.append(begun)
                        await socket.close(code=begun)
                    elif begun is None:
                        await send({"op": 9, "d": False, "s": None, "t": None})
                    else:
                        session, after = begun
                        self._sockets[socket] = session
                        writing = asyncio.create_task(_write(session, after, send))
                    self.changed()
        finally:
            if writing:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
            self._sockets.pop(socket, None)
            self.changed()
        return socket

    def _identify(self, asked: dict[str, Any]) -> tuple[Session, int] | int:
        self.identifies.append(asked)
        if asked["token"] != self._token:
            return 4004
        if asked["intents"] & PRIVILEGED:
            return 4014
        session = Session(f"session-{len(self.sessions) + 1}", asked["intents"])
        self.sessions.append(session)
        guilds = self._guilds()
        unavailable = [{"id": guild.id, "unavailable": True} for guild in guilds]
        application = {"id": APPLICATION_ID, "flags": 0}
        session.add(
            "READY",
            {
                "v": 10, "user": BOT, "guilds": unavailable, "session_id": session.id, "application": application,
                "resume_gateway_url": self.url, "shard": asked.get("shard", [0, 1]),
            },
        )  # fmt: skip
        for guild in guilds:
            session.add("GUILD_CREATE", guild.to_json())
        return session, 0

    def _resume(self, asked: dict[str, Any]) -> tuple[Session, int] | int | None:
        session = next((one for one in self.sessions if one.id == asked["session_id"]), None)
        if asked["token"] != self._token:
            return 4004
        if session is None or session.id in self._invalid:
            return None
        self.resumes += 1
        missed_from = int(asked["seq"] or 0)
        session.add("RESUMED", {})
        return session, missed_from

    @staticmethod
    def _sender(socket: web.WebSocketResponse, *, compressed: bool) -> Callable[[dict[str, Any]], Any]:
        squeeze = zlib.compressobj()
        lock = asyncio.Lock()

        async def send(frame: dict[str, Any]) -> None:
            text = json.dumps(frame)
            async with lock:
                if compressed:
                    await socket.send_bytes(squeeze.compress(text.encode()) + squeeze.flush(zlib.Z_SYNC_FLUSH))
                else:
                    await socket.send_str(text)

        return send


async def _write(session: Session, after: int, send: Callable[[dict[str, Any]], Any]) -> None:
    """Every frame behind number `after`, and those to come."""
    sent = after
    while True:
        session.grown.clear()
        while sent < len(session.frames):
            sent += 1
            await send(session.frames[sent - 1])
        await session.grown.wait()
