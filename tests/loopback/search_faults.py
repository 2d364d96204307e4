"""Ways in which a service fails, for a loopback server to act out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import web

Kind = Literal["answer", "hang", "drip", "reset", "reset_in_body", "raw"]


@dataclass(frozen=True)
class Fault:
    """`answer` sends status, headers and body; `raw` sends the body as it is on the wire and closes.

    `drip` sends a byte every 50 ms for ever, `hang` nothing; `reset` drops the connection before the
    answer, `reset_in_body` within it. The first `times` requests fail, all of them when it is None.
    """

    kind: Kind = "answer"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    times: int | None = None


async def act_out(fault: Fault, request: web.Request, closing: asyncio.Event) -> web.StreamResponse:
    """Never waits longer than until `closing` is set."""
    if fault.kind == "answer":
        return web.Response(status=fault.status, headers=fault.headers, body=fault.body)
    if fault.kind == "hang":
        await closing.wait()
        return web.Response()
    transport = request.transport
    if fault.kind == "raw":
        transport.write(fault.body)
        transport.close()
        return web.Response()
    if fault.kind == "reset":
        transport.abort()
        return web.Response()
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = 1_000_000
    await response.prepare(request)
    if fault.kind == "reset_in_body":
        await response.write(b'{"results": [')
        transport.abort()
        return response
    while not closing.is_set() and not transport.is_closing():
        try:
            await response.write(b" ")
        except ConnectionError:
            break
        try:
            await asyncio.wait_for(closing.wait(), 0.05)
        except TimeoutError:
            continue
    transport.abort()
    return response
