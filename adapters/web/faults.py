"""Every error as the envelope `{error: {code, message, details}}` (G-01), or as a page for people."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import aiohttp_jinja2
from aiohttp import web

from core import wording
from core.errors import GorkdError

_STATUSES = {
    "INVALID_QUERY": HTTPStatus.BAD_REQUEST,
    "JOB_NOT_FOUND": HTTPStatus.NOT_FOUND,
    "RATE_LIMITED": HTTPStatus.TOO_MANY_REQUESTS,
    "SEARCH_FAILED": HTTPStatus.BAD_GATEWAY,
    "LLM_FAILED": HTTPStatus.BAD_GATEWAY,
}
RETRY_AFTER_S = 60  # what the sentence of `QueueFull` says

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Forbidden(GorkdError):
    """The asker is not allowed to ask here."""

    code = "UNAUTHORIZED"

    def __init__(self) -> None:
        super().__init__(
            "asking refused", user_message="Asking from elsewhere needs an API token (Authorization: Bearer …)."
        )


@web.middleware
async def show_faults(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The process boundary of the web: no exception leaves without a sentence and a code."""
    try:
        return await handler(request)
    except web.HTTPException as exc:
        if exc.status < HTTPStatus.BAD_REQUEST:
            raise
        status = HTTPStatus(exc.status)
        code = "INVALID_QUERY" if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE else status.name
        response = _fault(request, status, code, f"{status.phrase}.")
        if "Allow" in exc.headers:
            response.headers["Allow"] = exc.headers["Allow"]
        return response
    except Forbidden as error:
        response = _fault(request, HTTPStatus.UNAUTHORIZED, error.code, error.user_message)
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    except GorkdError as error:
        _log.info("request refused", extra={"path": request.path, "code": error.code, "reason": str(error)})
        return _fault(
            request, _STATUSES.get(error.code, HTTPStatus.INTERNAL_SERVER_ERROR), error.code, error.user_message
        )
    except Exception:  # noqa: BLE001 -- the process boundary of the web
        _log.exception("request failed", extra={"path": request.path})
        return _fault(request, HTTPStatus.INTERNAL_SERVER_ERROR, GorkdError.code, wording.SOMETHING_BROKE)


def _fault(request: web.Request, status: HTTPStatus, code: str, message: str) -> web.Response:
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status is HTTPStatus.TOO_MANY_REQUESTS else {}
    if request.path.startswith("/v1/"):
        envelope = {"error": {"code": code, "message": message, "details": {}}}
        return web.json_response(envelope, status=status, headers=headers)
    page = aiohttp_jinja2.render_template(
        "fault.html", request, {"status": int(status), "message": message}, status=status
    )
    page.headers.update(headers)
    return page
