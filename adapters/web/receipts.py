"""Receipts for download, and the key with which they are signed, where anybody looks for it."""

from __future__ import annotations

import asyncio

from aiohttp import web

from adapters.web.access import readable_job
from core.receipts.giving import Receipts

RECEIPTS: web.AppKey[Receipts] = web.AppKey("receipts")
_GATE: web.AppKey[asyncio.Semaphore] = web.AppKey("receipts at once")
AT_ONCE = 2  # each asks the rules anew, which takes a second of a processor for a long answer
KEY_PATH = "/.well-known/gorkd-key"  # RFC 8615


def add_routes(app: web.Application, receipts: Receipts) -> None:
    app[RECEIPTS] = receipts
    app[_GATE] = asyncio.Semaphore(AT_ONCE)
    app.router.add_get("/jobs/{job_id}/receipt.zip", get_receipt)
    app.router.add_get(KEY_PATH, get_key)


async def get_receipt(request: web.Request) -> web.Response:
    """404 too for a job without an answer."""
    job = await readable_job(request)
    async with request.app[_GATE]:
        content = await request.app[RECEIPTS].give(job.id)
    name = f'attachment; filename="{job.id}.receipt.zip"'
    headers = {"Content-Disposition": name, "Cache-Control": "no-store"}
    return web.Response(body=content, content_type="application/zip", headers=headers)


async def get_key(request: web.Request) -> web.Response:
    """The public keys, one a line; anybody may read them, from any site."""
    headers = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
    return web.Response(text=request.app[RECEIPTS].published, content_type="text/plain", headers=headers)
