"""One log line a request, without its query string: a signature in a log would open what it was to protect."""

from __future__ import annotations

import logging
import time

from aiohttp import web

from adapters.web.faults import Handler
from core.presentation.render import cut, one_line

PATH_CHARS = 200
_UNTOLD = ("/health", "/ready", "/metrics", "/static/")  # asked every few seconds, and by every page

log = logging.getLogger(__name__)


@web.middleware
async def log_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """At the end of each, also of one that its reader left."""
    if request.path.startswith(_UNTOLD):
        return await handler(request)
    began_at = time.monotonic()
    status = 0
    try:
        response = await handler(request)
        status = response.status
        return response
    except web.HTTPException as exc:
        status = exc.status
        raise
    finally:
        took_ms = round(1000 * (time.monotonic() - began_at))
        path = cut(one_line(request.path), PATH_CHARS)
        log.info("request", extra={"method": request.method, "path": path, "status": status, "took_ms": took_ms})
