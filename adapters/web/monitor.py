"""`/health` and `/metrics` of a process without pages, at a port of their own: each process counts for itself."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from core.errors import SetupError

log = logging.getLogger(__name__)

VARIABLE = "GORKD_METRICS_PORT"
TEXT = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus' exposition format


@asynccontextmanager
async def serve_metrics(render: Callable[[], bytes], env: Mapping[str, str]) -> AsyncIterator[None]:
    """Listens on `HOST` while the block runs; does nothing unless the port is set. Raises `SetupError` for no port.

    A port that is taken is logged and no reason to stop: of several workers on one machine the first has it.
    """
    if VARIABLE not in env:
        yield
        return
    host, port = env.get("HOST", "127.0.0.1"), _read_port(env[VARIABLE])
    runner = web.AppRunner(_app(render), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
            log.info("metrics served", extra={"port": runner.addresses[0][1]})
        except OSError as exc:
            log.warning("metrics not served", extra={"port": port, "error": str(exc)})
        yield
    finally:
        await runner.cleanup()


def _app(render: Callable[[], bytes]) -> web.Application:
    async def health(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=render(), headers={"Content-Type": TEXT})

    app = web.Application()
    app.add_routes([web.get("/health", health), web.get("/metrics", metrics)])
    return app


def _read_port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise SetupError(f"Please check {VARIABLE}: {text!r} is no port from 0 to 65535.")
