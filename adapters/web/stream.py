"""The events of a job as server-sent events (S003-22): replayable, kept alive, ended by `complete` or by us."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web
from aiohttp_sse import EventSourceResponse

from adapters.web.access import RESEARCHER, readable_job
from adapters.web.limits import stream_slot
from core.model.errors import GorkdError
from core.model.events import Event
from core.model.job import TERMINAL_STATUSES

HEARTBEAT_S = 15.0  # keeps proxies from closing a quiet stream (G-01)
SEND_TIMEOUT_S = 60.0  # of a reader that takes nothing any more
RETRY_MS = 1000  # after which a browser comes back (G-04)
MAX_SEQ_DIGITS = 9
CLOSING = web.AppKey("closing", asyncio.Event)

log = logging.getLogger(__name__)


def add_routes(app: web.Application) -> None:
    app[CLOSING] = asyncio.Event()
    app.on_shutdown.append(_close)
    app.router.add_get("/v1/jobs/{job_id}/stream", get_stream, allow_head=False)


async def get_stream(request: web.Request) -> web.StreamResponse:
    """The job's events after `Last-Event-ID` or `?after=`; 204, which ends a browser's tries, when all were seen."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    after = _seen(request)
    if after and job.status in TERMINAL_STATUSES and not await _is_more(request, job.id, after):
        return web.Response(status=204, headers={"Cache-Control": "no-store"})
    with stream_slot(request):
        stream = EventSourceResponse(ping_interval=HEARTBEAT_S, send_timeout=SEND_TIMEOUT_S)
        stream.headers["Cache-Control"] = "no-store, no-transform"  # compressed streams are held back by proxies
        await stream.prepare(request)
        async with stream:
            await _send(stream, researcher.follow(job.id, after=after), request.app[CLOSING])
    return stream


async def _send(stream: EventSourceResponse, events: AsyncGenerator[Event, None], closing: asyncio.Event) -> None:
    """Until the last event, or the reader has gone, or the server stops: whoever comes back misses nothing."""
    ends = [
        asyncio.create_task(_pump(stream, events)),
        asyncio.create_task(stream.wait()),
        asyncio.create_task(closing.wait()),
    ]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


async def _pump(stream: EventSourceResponse, events: AsyncGenerator[Event, None]) -> None:
    retry_ms: int | None = RETRY_MS  # once is enough
    try:
        async with aclosing(events) as following:
            async for event in following:
                await stream.send(json.dumps(dict(event.data)), id=str(event.seq), event=event.type, retry=retry_ms)
                retry_ms = None
    except GorkdError as error:
        log.warning("a stream broke off", extra={"reason": str(error)})
    except (ConnectionError, TimeoutError):
        log.debug("a reader has gone")
    except Exception:  # the boundary of this task: the response has begun, so no error page can follow
        log.exception("a stream broke")


async def _is_more(request: web.Request, job_id: str, after: int) -> bool:
    """Whether an ended job has events after `after`, or none that are kept, of which `follow` makes the last."""
    told = await request.app[RESEARCHER].told(job_id)
    return not told or told[-1].seq > after


def _seen(request: web.Request) -> int:
    """The last event that the reader has; 0 for none and for what is no number."""
    given = request.headers.get("Last-Event-ID") or request.query.get("after", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= MAX_SEQ_DIGITS else 0


async def _close(app: web.Application) -> None:
    app[CLOSING].set()
