"""Every error as the envelope `{error: {code, message, details}}` (G-01), or as a page for people."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType

import aiohttp_jinja2
from aiohttp import web

from core.model.errors import GorkdError, SetupError, StoreError
from core.model.job import Json
from core.presentation import wording
from core.text.saying import say, say_many

_STATUSES = {
    "INVALID_QUERY": HTTPStatus.BAD_REQUEST,
    "IDEMPOTENCY_KEY_REUSED": HTTPStatus.UNPROCESSABLE_ENTITY,
    "JOB_NOT_FOUND": HTTPStatus.NOT_FOUND,
    "RATE_LIMITED": HTTPStatus.TOO_MANY_REQUESTS,
    "SEARCH_FAILED": HTTPStatus.BAD_GATEWAY,
    "LLM_FAILED": HTTPStatus.BAD_GATEWAY,
}
_PHRASES = {  # HTTP's own, where a person may meet them
    HTTPStatus.BAD_REQUEST: "Bad Request.",
    HTTPStatus.NOT_FOUND: "Not Found.",
    HTTPStatus.METHOD_NOT_ALLOWED: "Method Not Allowed.",
    HTTPStatus.REQUEST_TIMEOUT: "Request Timeout.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Request Entity Too Large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "Unsupported Media Type.",
}
RETRY_AFTER_S = 60  # what the sentence of `QueueFull` says
AWAY_S = 5  # a database that is restarted is back within seconds; a full disk is not, but may be asked about again

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class TooMany(GorkdError):
    """This address has asked, read or followed as often as it may for now."""

    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, limit: str, *, retry_after_s: float) -> None:
        seconds = math.ceil(retry_after_s)
        super().__init__(
            f"limit of {limit} reached",
            user_message=say_many(
                "The limit is {limit} for each address. Please wait {number} second.",
                "The limit is {limit} for each address. Please wait {number} seconds.",
                seconds,
                limit=limit,
            ),
            retry_after_s=seconds,
        )


class Forbidden(GorkdError):
    """The asker is not allowed to ask here."""

    code = "UNAUTHORIZED"

    def __init__(self) -> None:
        super().__init__(
            "asking refused", user_message=say("Asking from elsewhere needs an API token (Authorization: Bearer …).")
        )


class KeyReused(GorkdError):
    """The same Idempotency-Key came with another question."""

    code = "IDEMPOTENCY_KEY_REUSED"

    def __init__(self) -> None:
        super().__init__(
            "Idempotency-Key reused",
            user_message=say("This Idempotency-Key came with another question before; a new question takes a new key."),
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
        response = _fault(request, status, code, say(_PHRASES[status]) if status in _PHRASES else f"{status.phrase}.")
        if "Allow" in exc.headers:
            response.headers["Allow"] = exc.headers["Allow"]
        return response
    except Forbidden as error:
        response = _fault(request, HTTPStatus.UNAUTHORIZED, error.code, error.user_message)
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    except GorkdError as error:
        return _refused(request, error)
    except Exception:  # noqa: BLE001 -- the process boundary of the web
        _log.exception("request failed", extra={"path": request.path})
        return _fault(request, HTTPStatus.INTERNAL_SERVER_ERROR, GorkdError.code, say(wording.SOMETHING_BROKE))


def _refused(request: web.Request, error: GorkdError) -> web.Response:
    if isinstance(error, StoreError | SetupError):  # no store, no journal, no space: it was not the request
        _log.warning("request not served", extra={"path": request.path, "reason": str(error)})
        return _later(request, HTTPStatus.SERVICE_UNAVAILABLE, error.code, error.user_message, AWAY_S)
    _log.info("request refused", extra={"path": request.path, "code": error.code, "reason": str(error)})
    status = _STATUSES.get(error.code, HTTPStatus.INTERNAL_SERVER_ERROR)
    if status is not HTTPStatus.TOO_MANY_REQUESTS:
        return _fault(request, status, error.code, error.user_message)
    wait_s = math.ceil(error.retry_after_s or RETRY_AFTER_S)
    return _later(request, status, error.code, error.user_message, wait_s)


def _later(request: web.Request, status: HTTPStatus, code: str, message: str, retry_after_s: int) -> web.Response:
    """A fault that passes: the answer says after how many seconds to ask again."""
    response = _fault(request, status, code, message, {"retry_after_s": retry_after_s})
    response.headers["Retry-After"] = str(retry_after_s)
    if request.method == "GET":
        response.headers["Refresh"] = str(retry_after_s)  # a page that somebody watches comes back by itself
    return response


def _fault(
    request: web.Request,
    status: HTTPStatus,
    code: str,
    message: str,
    details: Mapping[str, Json] = MappingProxyType({}),
) -> web.Response:
    if request.path.startswith("/v1/"):
        envelope = {"error": {"code": code, "message": message, "details": dict(details)}}
        response = web.json_response(envelope, status=status)
    else:
        context = {"status": int(status), "message": message}
        return page("fault.html", request, context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def page(template: str, request: web.Request, context: Mapping[str, object], *, status: int = 200) -> web.Response:
    """Made for this reader and this moment."""
    response = aiohttp_jinja2.render_template(template, request, context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


# A page of a few sentences and one link, for what another interface has to say in a browser


def notice_page(request: web.Request, title: str, says: Sequence[str], link: tuple[str, str]) -> str:
    """As HTML. `says` are paragraphs; `link` is an address and its label."""
    address, label = link
    return aiohttp_jinja2.render_string(
        "notice.html", request, {"title": title, "says": says, "address": address, "label": label}
    )
