"""`/health` and `/ready` of every process; of one without pages with `/metrics`, at a port of their own.

Each process counts for itself.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

from aiohttp import web

from core.model.errors import SetupError

log = logging.getLogger(__name__)

Ready = Callable[[], Awaitable[Sequence[str]]]  # why it cannot, in sentences; empty when it can
RETRY_AFTER_S = 5
VARIABLE = "GORKD_METRICS_PORT"
TEXT = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus' exposition format


@asynccontextmanager
async def serve_metrics(render: Callable[[], bytes], env: Mapping[str, str], ready: Ready) -> AsyncIterator[None]:
    """Listens on `HOST` while the block runs; does nothing unless the port is set. Raises `SetupError` for no port.

    A port that is taken is logged and no reason to stop: of several workers on one machine the first has it.
    """
    if VARIABLE not in env:
        yield
        return
    host, port = env.get("HOST", "127.0.0.1"), _read_port(env[VARIABLE])
    runner = web.AppRunner(_app(render, ready), access_log=None, shutdown_timeout=1)
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


def _app(render: Callable[[], bytes], ready: Ready) -> web.Application:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=render(), headers={"Content-Type": TEXT})

    app = web.Application()
    add_health_routes(app, ready)
    app.router.add_get("/metrics", metrics)
    return app


def add_health_routes(app: web.Application, ready: Ready) -> None:
    """`/health`: the process lives. `/ready`: it can do its work, or 503 with the reasons."""

    async def get_health(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def get_ready(_: web.Request) -> web.Response:
        reasons = await ready()
        said = {"status": "unready" if reasons else "ready", "reasons": list(reasons)}
        response = web.json_response(said, status=HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK)
        response.headers["Cache-Control"] = "no-store"
        if reasons:
            response.headers["Retry-After"] = str(RETRY_AFTER_S)
        return response

    app.router.add_get("/health", get_health)
    app.router.add_get("/ready", get_ready)


def _read_port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise SetupError(f"Please check {VARIABLE}: {text!r} is no port from 0 to 65535.")
