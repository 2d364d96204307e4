"""The sockets of the pages: who connects and says nothing is let go, and what is no request costs one short line."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

SILENCE_S = 75.0  # as nginx lets a browser's connection rest; half a request counts as silence
LINGER_S = 5.0  # nginx's lingering_timeout: a sender that is cut off in mid-body would not read its answer

_NO_REQUESTS = (HttpProcessingError, web.RequestPayloadError)

_server_log = logging.getLogger("aiohttp.server")


def web_runner(app: web.Application, *, silence_s: float = SILENCE_S, linger_s: float = LINGER_S) -> web.AppRunner:
    """Not listening yet. A connection without a whole request is closed after `silence_s`, one whose request was
    answered before its body had come after `linger_s`.
    """
    _server_log.addFilter(_shortened)
    return web.AppRunner(app, access_log=None, keepalive_timeout=silence_s, lingering_time=linger_s)


def _shortened(record: logging.LogRecord) -> bool:
    """A traceback for each piece of nonsense would fill the disk, and it quotes the request, its question included."""
    if record.exc_info and isinstance(record.exc_info[1], _NO_REQUESTS):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        record.msg, record.args = "not a request", ()
    return True
