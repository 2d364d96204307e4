"""The chat itself: people write in rooms and press buttons, a bot reads what happens and writes by HTTP.

GET /events?after=N waits for what happens after N; POST /rooms/R/messages, PUT and DELETE /messages/M and
PUT /messages/M/signs/S are the bot's. A `key` makes a message once however often it is sent; `only_for` hides it from
everybody else. Text is shown as it is: only `pings` call anybody.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

MAX_CHARS, MAX_BUTTONS = 3000, 6
WAIT_S = 20.0
BOT, TOKEN = "gorkd", "quay-token"


@dataclass(frozen=True)
class Button:
    name: str
    label: str
    value: str = ""
    url: str = ""


@dataclass(frozen=True)
class Message:
    """`thread` is the message it hangs under, 0 where it hangs under none."""

    id: int
    room: str
    by: str
    text: str
    thread: int = 0
    buttons: tuple[Button, ...] = ()
    only_for: str = ""
    signs: frozenset[str] = frozenset()


@dataclass
class Quay:
    """Everything that was written, and `problems` with what the bot did."""

    messages: dict[int, Message] = field(default_factory=dict)
    direct: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    url: str = ""
    _events: list[Mapping[str, Any]] = field(default_factory=list)
    _by_key: dict[str, int] = field(default_factory=dict)
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _happened: asyncio.Event = field(default_factory=asyncio.Event)

    # What people do

    def room(self, *, is_direct: bool = False) -> str:
        name = f"room-{next(self._ids)}"
        if is_direct:
            self.direct.add(name)
        return name

    def person(self, name: str) -> str:
        return f"{name}-{next(self._ids)}"

    def says(self, who: str, room: str, text: str, *, thread: int = 0) -> Message:
        said = Message(next(self._ids), room, who, text, thread)
        self.messages[said.id] = said
        self._tell("said", said)
        return said

    def edits(self, message: Message, text: str) -> None:
        self.messages[message.id] = replace(self.messages[message.id], text=text)
        self._tell("edited", self.messages[message.id])

    def deletes(self, message: Message) -> None:
        self._tell("deleted", self.messages.pop(message.id))

    def presses(self, who: str, message: Message, name: str) -> None:
        button = next(one for one in message.buttons if one.name == name and not one.url)
        self._tell("pressed", message, presser=who, button=name, value=button.value)

    def seen_by(self, who: str, room: str) -> list[Message]:
        """What the bot says there, oldest first."""
        found = [one for one in self.messages.values() if one.room == room and one.by == BOT]
        return [one for one in found if one.only_for in ("", who)]

    async def until(self, condition: Callable[[], object], *, within_s: float) -> None:
        async with asyncio.timeout(within_s):
            while not condition():
                self._happened.clear()
                await self._happened.wait()

    # What the bot does

    def _tell(self, kind: str, message: Message, **more: str) -> None:
        about = {"message": message.id, "room": message.room, "by": message.by, "text": message.text}
        place = {"thread": message.thread, "is_direct": message.room in self.direct}
        self._events.append({"seq": len(self._events) + 1, "type": kind, **about, **place, **more})
        self._happened.set()

    async def _wait(self, request: web.Request) -> web.Response:
        after = int(request.query["after"])
        with suppress(TimeoutError):
            await self.until(lambda: len(self._events) > after, within_s=WAIT_S)
        return web.json_response({"events": self._events[after:]})

    async def _post(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["key"] not in self._by_key:
            number = self._by_key[body["key"]] = next(self._ids)
            thread, only_for = int(body.get("thread") or 0), str(body.get("only_for") or "")
            bare = Message(number, request.match_info["room"], BOT, "", thread, only_for=only_for)
            self.messages[number] = self._written(bare, body)
            self._happened.set()
        return web.json_response({"id": self._by_key[body["key"]]})

    async def _put(self, request: web.Request) -> web.Response:
        message = self._found(request)
        self.messages[message.id] = self._written(message, await request.json())
        self._happened.set()
        return web.json_response({})

    async def _delete(self, request: web.Request) -> web.Response:
        del self.messages[self._found(request).id]
        self._happened.set()
        return web.json_response({})

    async def _sign(self, request: web.Request) -> web.Response:
        message = self._found(request)
        self.messages[message.id] = replace(message, signs=message.signs | {request.match_info["sign"]})
        self._happened.set()
        return web.json_response({})

    def _found(self, request: web.Request) -> Message:
        try:
            return self.messages[int(request.match_info["message"])]
        except KeyError:
            raise web.HTTPGone from None

    def _written(self, message: Message, body: Mapping[str, Any]) -> Message:
        """Raises `HTTPBadRequest` for what is too much, or is nothing."""
        text, buttons = str(body["text"]), tuple(Button(**one) for one in body.get("buttons") or ())
        if not text.strip() or len(text) > MAX_CHARS or len(buttons) > MAX_BUTTONS:
            self.problems.append(f"{len(text)} characters, {len(buttons)} buttons: {text[:60]!r}")
            raise web.HTTPBadRequest
        return replace(message, text=text, buttons=buttons)

    @web.middleware
    async def _admit(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise web.HTTPUnauthorized
        response: web.StreamResponse = await handler(request)
        return response

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Quay]:
        quay = cls()
        app = web.Application(middlewares=[quay._admit])
        app.add_routes(
            [
                web.get("/events", quay._wait),
                web.post("/rooms/{room}/messages", quay._post),
                web.put("/messages/{message}", quay._put),
                web.delete("/messages/{message}", quay._delete),
                web.put("/messages/{message}/signs/{sign}", quay._sign),
            ]
        )
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            quay.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield quay
        finally:
            await runner.cleanup()
