"""A small web of pages on loopback addresses, well-behaved and not.

`async with WebWorld({"/a": PageSpec("<p>…")}) as world: world.url("/a")`. What was asked is in `world.requests`.
Fetchers refuse loopback addresses, so tests allow them `127.0.0.0/8`.
"""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from aiohttp import web

Behaviour = Literal[
    "ok",
    "slow",  # answers after `seconds`
    "drip",  # a byte every `seconds`, for ever
    "huge",  # 50 MB in pieces, without a length
    "announced-huge",  # only a Content-Length of 50 MB
    "redirect",  # to `target`
    "gzip",  # honestly compressed, as the next two
    "zlib",
    "raw-deflate",
    "gzip-bomb",  # 64 KB that unpack to 64 MB
    "bogus-gzip",  # says gzip and is plain
    "broken-gzip",  # breaks off in the middle
    "brotli",  # an encoding nobody asked for
    "truncated",  # less than the announced length
    "hang",  # headers, then silence
    "reset",  # no answer at all
]
HUGE_BYTES = 50_000_000
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class PageSpec:
    """What one path answers. `body` is sent as it is; `target` is the Location of a redirect."""

    body: str | bytes = ""
    behaviour: Behaviour = "ok"
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    target: str = ""
    seconds: float = 0.2
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def bytes(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else self.body


@dataclass(frozen=True)
class SeenRequest:
    """`at` is on the monotonic clock, in seconds."""

    host: str
    path: str
    headers: Mapping[str, str]
    at: float


class WebWorld:
    """Serves `pages` by path on 127.0.0.1, each after `latency_s`.

    With `hosts` above 1 the same pages are on 127.0.0.1, 127.0.0.2, … (Linux has the whole block), all on one port,
    and `url` spreads the paths over them: a search finds many sites, and fetchers are polite to each.
    `robots` is the text of every site's robots.txt; a page at `/robots.txt` replaces it.
    """

    def __init__(
        self, pages: Mapping[str, PageSpec], latency_s: float = 0.0, *, robots: str | None = None, hosts: int = 1
    ) -> None:
        self.pages = dict(pages)
        self.requests: list[SeenRequest] = []
        self._latency_s = latency_s
        self._addresses = tuple(f"127.0.0.{number + 1}" for number in range(hosts))
        self._port = 0
        self._runner: web.AppRunner | None = None
        self._closing = asyncio.Event()
        if robots is not None:
            self.pages.setdefault("/robots.txt", PageSpec(robots, content_type="text/plain"))

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the pages, without robots.txt."""
        return tuple(path for path in self.pages if path != "/robots.txt")

    @property
    def port(self) -> int:
        return self._port

    def url(self, path: str) -> str:
        known = list(self.pages)
        number = known.index(path) if path in self.pages else 0
        return f"http://{self._addresses[number % len(self._addresses)]}:{self._port}{path}"

    def asked(self, path: str) -> list[SeenRequest]:
        return [request for request in self.requests if request.path == path]

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        for address in self._addresses:
            site = web.TCPSite(self._runner, address, self._port)
            await site.start()
            if not self._port:
                self._port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        seen = SeenRequest(request.host.partition(":")[0], request.path, dict(request.headers), time.monotonic())
        self.requests.append(seen)
        await self._wait(self._latency_s)
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="not here")
        return await self._behave(request, page)

    async def _behave(self, request: web.Request, page: PageSpec) -> web.StreamResponse:
        headers = {**page.headers, "Content-Type": page.content_type}
        if not page.content_type:
            del headers["Content-Type"]
        if page.behaviour in _ENCODERS:
            encoding, encode = _ENCODERS[page.behaviour]
            return _whole(page, {**headers, "Content-Encoding": encoding}, encode(page.bytes))
        if page.behaviour == "redirect":
            status = page.status if 300 <= page.status < 400 else 302
            return web.Response(status=status, headers={**headers, "Location": page.target})
        if page.behaviour == "slow":
            await self._wait(page.seconds)
        if page.behaviour in ("ok", "slow"):
            return _whole(page, headers, page.bytes)
        return await self._misbehave(request, page, headers)

    async def _misbehave(self, request: web.Request, page: PageSpec, headers: dict[str, str]) -> web.StreamResponse:
        response = web.StreamResponse(status=page.status, headers=headers)
        if page.behaviour == "reset":
            _cut(request)
            return response
        if page.behaviour == "announced-huge":
            response.content_length = HUGE_BYTES
        if page.behaviour == "truncated":
            response.content_length = len(page.bytes) + 1000
        await response.prepare(request)
        try:
            if page.behaviour == "huge":
                for _ in range(HUGE_BYTES // _MEGABYTE + 1):
                    await response.write(b"<p>more</p>\n" * (_MEGABYTE // 12))
            while page.behaviour == "drip" and not self._closing.is_set():
                await response.write(b"x")
                await self._wait(page.seconds)
            if page.behaviour == "hang":
                await self._closing.wait()
            if page.behaviour == "truncated":
                await response.write(page.bytes)
        except ConnectionError:
            return response  # the reader has had enough
        _cut(request)
        return response

    async def _wait(self, seconds: float) -> None:
        """Simulated time of a remote server; ends early when this world does."""
        if seconds <= 0:
            return
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return


def _deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


def _half_gzip(body: bytes) -> bytes:
    whole = gzip.compress(body)
    return whole[: len(whole) // 2]


def _bomb(body: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    padding = b"<p>" + b"\0" * (_MEGABYTE - 3)
    return b"".join([deflate.compress(body), *(deflate.compress(padding) for _ in range(64)), deflate.flush()])


def _as_it_is(body: bytes) -> bytes:
    return body


_ENCODERS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw-deflate": ("deflate", _deflate),
    "gzip-bomb": ("gzip", _bomb),
    "bogus-gzip": ("gzip", _as_it_is),
    "broken-gzip": ("gzip", _half_gzip),
    "brotli": ("br", _as_it_is),
}


def _whole(page: PageSpec, headers: Mapping[str, str], body: bytes) -> web.Response:
    response = web.Response(status=page.status, headers=headers, body=body)
    if "Content-Type" not in headers:
        response.headers.popall("Content-Type", None)
    return response


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
