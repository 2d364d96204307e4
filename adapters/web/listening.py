"""The sockets of the pages: who connects and says nothing is let go, and what is no request costs one short line."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

SILENCE_S = 75.0  # as nginx lets a browser's connection rest; half a request counts as silence

_NO_REQUESTS = (HttpProcessingError, web.RequestPayloadError)

_server_log = logging.getLogger("aiohttp.server")


def web_runner(app: web.Application, *, silence_s: float = SILENCE_S) -> web.AppRunner:
    """Not listening yet. A connection without a whole request is closed after `silence_s`; of one whose request was
    answered before its body had come nothing more is read (limits.py).
    """
    _server_log.addFilter(_shortened)
    # Nothing is unpacked: what comes packed is refused (limits.py), whether or not its packing could be undone.
    return web.AppRunner(app, access_log=None, keepalive_timeout=silence_s, lingering_time=0, auto_decompress=False)


def _shortened(record: logging.LogRecord) -> bool:
    """A traceback for each piece of nonsense would fill the disk, and it quotes the request, its question included."""
    if record.exc_info and isinstance(record.exc_info[1], _NO_REQUESTS):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        record.msg, record.args = "not a request", ()
    return True
