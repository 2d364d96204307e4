"""How much and how often one address may ask and read, how many streams it may hold (G-01), and what it is told.

This machine is exempt where it is trusted (access.py). Buckets are shared by all web processes, streams are counted in
each.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from adapters.web.access import FOLLOW_UP, IMPROVE, LINKS, RENEWAL, RETRY, SETTINGS, is_trusted_local
from adapters.web.faults import Handler, TooMany
from adapters.web.settings import counted_as
from core.model.errors import InvalidQuery
from core.pipeline.limits import SharedLimits, tokens_left
from core.text.saying import say, say_many

LIMITS: web.AppKey[SharedLimits] = web.AppKey("limits")
STREAMS: web.AppKey[Counter[str]] = web.AppKey("streams")
PATIENCE_S = web.AppKey("patience_s", float)
LINGER_S = web.AppKey("linger_s", float)
_ALLOWANCE: web.RequestKey[Allowance] = web.RequestKey("allowance")
MINUTE_S = 60.0
MAX_BODY_BYTES = 64 * 1024  # a question and its context; nothing is uploaded here
MAX_GUEST_BYTES = 1024 * 1024  # Slack sends a whole message along with each press of a button
BODY_WITHIN_S = 10.0  # for at most 64 KB; who takes longer holds a connection and asks nothing
HEARS_WITHIN_S = 2.0  # a sender in mid-body whose connection is cut at once would not read its answer
_GUEST = "/slack/"
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")  # the second is what no page here sends
_ASKING = ("/v1/research", "/", "/sign-in")  # a guess at a token counts too
_READ = ("/v1/", "/jobs/", "/papers/", "/admin")


@dataclass(frozen=True)
class Allowance:
    """What an address may still do: `left` of `limit` requests, all of them again in `full_in_s`."""

    limit: int
    left: int
    full_in_s: float

    def headers(self, now: float) -> dict[str, str]:
        """`now` is Unix time, and so is `X-RateLimit-Reset`, when all requests are free again; both in seconds."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.left),
            "X-RateLimit-Reset": str(math.ceil(now + self.full_in_s)),
        }


@web.middleware
async def hang_up(request: web.Request, handler: Handler) -> web.StreamResponse:
    """After a refusal nobody reads what is left of the body: the sender hears the answer, then the connection ends."""
    response = await handler(request)
    if response.status >= HTTPStatus.BAD_REQUEST and not request.content.is_eof() and request.transport is not None:
        response.force_close()
        await response.prepare(request)
        await response.write_eof()
        if request.transport is not None and request.transport.can_write_eof():
            request.transport.write_eof()
        await _until_gone(request, request.app[LINGER_S])
    return response


async def _until_gone(request: web.Request, within_s: float) -> None:
    ends_at = asyncio.get_running_loop().time() + within_s
    while request.transport is not None and not request.transport.is_closing():
        if asyncio.get_running_loop().time() > ends_at:
            return
        await asyncio.sleep(within_s / 20)


@web.middleware
async def take_body(request: web.Request, handler: Handler) -> web.StreamResponse:
    """All of it before anything looks at it. Raises `InvalidQuery` for what comes too slowly or cannot be read.

    A body that says how long it is is refused before it is read; others when `MAX_GUEST_BYTES` have come. A packed
    one is refused as it comes: what it unpacks to has no length.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise web.HTTPUnsupportedMediaType
    most = MAX_GUEST_BYTES if request.path.startswith(_GUEST) else MAX_BODY_BYTES
    if (request.content_length or 0) > most:
        raise web.HTTPRequestEntityTooLarge(most, request.content_length or 0)
    if request.body_exists:
        try:
            async with asyncio.timeout(request.app[PATIENCE_S]):
                body = await request.read()
            if len(body) > most:
                raise web.HTTPRequestEntityTooLarge(most, len(body))
            if request.content_type in _FORMS:
                await request.post()  # kept, as the body is, for whoever asks for it
        except TimeoutError as exc:
            raise InvalidQuery(say("The body of the request did not arrive in time."), rule="request") from exc
        except (ValueError, LookupError, ConnectionError, web.RequestPayloadError) as exc:
            raise InvalidQuery(say("The body of the request cannot be read."), rule="request") from exc
    return await handler(request)


@web.middleware
async def keep_limits(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises `TooMany` for who asks or reads too often."""
    settings, is_post = request.app[SETTINGS], request.method == "POST"
    if is_post and request.path.startswith(_GUEST):
        return await _admit_guest(request, handler)
    if is_post and (request.path in _ASKING or request.path.endswith((RENEWAL, RETRY, IMPROVE, FOLLOW_UP))):
        action, limit = "ask", settings.asks_per_minute
    elif request.method not in ("GET", "HEAD") or request.path.startswith(_READ):
        action, limit = "read", settings.reads_per_minute
    else:
        return await handler(request)
    if is_trusted_local(request):
        request[_ALLOWANCE] = Allowance(limit, limit, 0.0)
        return await handler(request)
    limits, key = request.app[LIMITS], f"web:{action}:{counted_as(request, settings.proxies)}"
    rate = limit / MINUTE_S
    wait_s = await limits.take(key, rate=rate, burst=limit)
    full_in_s = await limits.full_in_s(key)
    request[_ALLOWANCE] = Allowance(limit, tokens_left(full_in_s, rate=rate, burst=limit), full_in_s)
    if wait_s > 0:
        raise TooMany(say("{number} requests a minute", number=limit), retry_after_s=wait_s)
    return await handler(request)


async def _admit_guest(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Slack asks as often as its people write; only what is refused at its door counts."""
    settings, limits = request.app[SETTINGS], request.app[LIMITS]
    key, limit = f"web:guest:{counted_as(request, settings.proxies)}", settings.reads_per_minute
    rate = limit / MINUTE_S
    full_in_s = await limits.full_in_s(key)
    if tokens_left(full_in_s, rate=rate, burst=limit) < 1:
        raise TooMany(say("{number} refused requests a minute", number=limit), retry_after_s=1 / rate)
    status = HTTPStatus.BAD_REQUEST
    try:
        response = await handler(request)
        status = HTTPStatus(response.status)
        return response
    finally:
        if status >= HTTPStatus.BAD_REQUEST and not is_trusted_local(request):
            await limits.take(key, rate=rate, burst=limit)


async def tell_allowance(request: web.Request, response: web.StreamResponse) -> None:
    """For `on_response_prepare`."""
    allowance = request.get(_ALLOWANCE)
    if allowance is not None:
        response.headers.update(allowance.headers(request.app[LINKS].clock().timestamp()))


@contextmanager
def stream_slot(request: web.Request) -> Iterator[None]:
    """One more stream of this address within the block. Raises `TooMany`."""
    if is_trusted_local(request):
        yield
        return
    settings, streams = request.app[SETTINGS], request.app[STREAMS]
    address = counted_as(request, settings.proxies)
    if streams[address] >= settings.streams_per_address:
        raise TooMany(
            say_many("{number} open stream", "{number} open streams", settings.streams_per_address),
            retry_after_s=MINUTE_S,
        )
    streams[address] += 1
    try:
        yield
    finally:
        streams[address] -= 1
        if not streams[address]:
            del streams[address]
