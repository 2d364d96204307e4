"""What the failures of an OpenAI-compatible endpoint mean to us.

Every exception of the SDK and of its transport becomes one of core/errors.py's model errors. Messages
name settings and hosts, never keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from adapters.llm.endpoint import Endpoint
from core.errors import ModelError, ModelGarbled, ModelRateLimited, ModelRejected, ModelTimeout, ModelUnavailable

if TYPE_CHECKING:
    import httpx2
    import openai

GARBLED = "The model's answer could not be read; please try again."
SLOW = "The model did not answer in time; please try again."
BUSY = "The model endpoint is receiving too many requests; please try again in a minute."

# Words and numbers that endpoints put into `code` or `type` of an error, lower case.
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "402"})
_LENGTH_CODES = frozenset({"context_length_exceeded", "string_above_max_length", "413"})
_MODEL_CODES = frozenset({"model_not_found", "404"})
_KEY_CODES = frozenset({"invalid_api_key", "authentication_error", "permission_denied", "401", "403"})
_RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "tokens", "requests", "429"})
_TIME_CODES = frozenset({"timeout", "408", "504", "524"})
_REQUEST_CODES = frozenset({"invalid_request_error", "400", "422"})
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})


def call_failures() -> tuple[type[Exception], ...]:
    """All that a call may raise: the SDK's errors, its transport's, and what reading its bytes as JSON raises."""
    import httpx2
    import openai

    return (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError, RecursionError)


def model_error(exc: Exception, endpoint: Endpoint) -> ModelError:
    """Our error for one of `call_failures()`."""
    for kind, translate in _translations():
        if isinstance(exc, kind):
            return translate(exc, endpoint)
    raise TypeError(f"not a failure of a model call: {type(exc).__name__}") from exc


def safe_cause(exc: Exception, endpoint: Endpoint) -> Exception | None:
    """`exc` to chain from, or None when its own words repeat the key and a traceback would print them."""
    secret = endpoint.api_key.get_secret_value()
    chain: BaseException | None = exc
    while chain is not None:
        if endpoint.has_key and secret in str(chain):
            return None
        chain = chain.__cause__
    return exc


def unavailable(endpoint: Endpoint, message: str) -> ModelUnavailable:
    return ModelUnavailable(
        message, user_message=f"The model endpoint could not be reached; check {endpoint.url_setting} or try again."
    )


def declined(reason: str) -> ModelRejected:
    """The model or its content filter would not answer."""
    return ModelRejected(
        f"the model declined to answer: {reason}",
        user_message="The model declined to answer this question; please rephrase it.",
    )


def _translations() -> tuple[tuple[type[Exception], Callable[..., ModelError]], ...]:
    """Exception class and what it becomes; the first match wins, so subclasses stand first."""
    import httpx2
    import openai

    return (
        (openai.APITimeoutError, _timed_out),
        (openai.APIConnectionError, _unconnected),
        (openai.APIResponseValidationError, _garbled),
        (openai.APIStatusError, _status),
        (openai.APIError, _event),
        (openai.LengthFinishReasonError, _garbled),
        (openai.ContentFilterFinishReasonError, _filtered),
        (openai.OpenAIError, _unconnected),  # sign-in flows and sockets, which we do not use
        (httpx2.TimeoutException, _timed_out),
        (httpx2.DecodingError, _garbled),
        (httpx2.HTTPError, _unconnected),
        (httpx2.StreamError, _unconnected),
        (httpx2.InvalidURL, _wrong_address),
        (ValueError, _garbled),  # neither JSON nor UTF-8
        (RecursionError, _garbled),  # JSON that is nested too deeply
    )


def _timed_out(exc: Exception, endpoint: Endpoint) -> ModelError:
    what = type(exc.__cause__ or exc).__name__
    return ModelTimeout(f"{endpoint.host} did not answer in time ({what})", user_message=SLOW)


def _unconnected(exc: Exception, endpoint: Endpoint) -> ModelError:
    cause = exc.__cause__ or exc
    return unavailable(endpoint, f"{endpoint.host}: {type(cause).__name__}: {endpoint.redact(str(cause))}")


def _garbled(exc: Exception, endpoint: Endpoint) -> ModelError:
    said = f"{endpoint.host} sent what is no answer: {type(exc).__name__}: {endpoint.redact(str(exc))}"
    return ModelGarbled(said, user_message=GARBLED)


def _filtered(exc: Exception, endpoint: Endpoint) -> ModelError:
    return declined("content filter")


def _wrong_address(exc: Exception, endpoint: Endpoint) -> ModelError:
    return ModelRejected(
        f"{endpoint.url_setting} is no address: {endpoint.redact(str(exc))}",
        user_message=f"{endpoint.url_setting} is not a valid address.",
    )


def _status(exc: openai.APIStatusError, endpoint: Endpoint) -> ModelError:
    """An HTTP status that is not success; the words in its body say more than the number."""
    said = f"{endpoint.host}: HTTP {exc.status_code}: {endpoint.redact(exc.message)}"
    codes = (_codes(exc) - _REQUEST_CODES) | {str(exc.status_code)}
    known = _by_code(codes, said, endpoint, wait_s=retry_after_s(exc.response.headers))
    if known is not None:
        return known
    if exc.status_code in {HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY} or exc.status_code >= 500:
        return unavailable(endpoint, said)
    return ModelRejected(said, user_message=_refused(endpoint))


def _event(exc: openai.APIError, endpoint: Endpoint) -> ModelError:
    """An error sent inside a stream that had begun well."""
    said = f"{endpoint.host} broke off: {endpoint.redact(exc.message)}"
    return _by_code(_codes(exc), said, endpoint) or unavailable(endpoint, said)


def _by_code(codes: set[str], said: str, endpoint: Endpoint, *, wait_s: float | None = None) -> ModelError | None:
    """The error that words and numbers name, the most telling first; None when they say nothing known."""
    if codes & _RATE_CODES and not codes & _QUOTA_CODES:
        return ModelRateLimited(said, retry_after_s=wait_s, user_message=BUSY)
    if codes & _TIME_CODES:
        return ModelTimeout(said, user_message=SLOW)
    meanings = (
        (_QUOTA_CODES, f"The account behind {endpoint.key_setting} has no quota left; check its plan and billing."),
        (_FILTER_CODES, "The model declined to answer this question; please rephrase it."),
        (_LENGTH_CODES, f"The question and its sources are too long for the model; check {endpoint.model_setting}."),
        (_MODEL_CODES, _nothing_there(endpoint)),
        (_KEY_CODES, f"The model endpoint refused the key; check {endpoint.key_setting}."),
        (_REQUEST_CODES, _refused(endpoint)),
    )
    for known, message in meanings:
        if codes & known:
            return ModelRejected(said, user_message=message)
    return None


def _nothing_there(endpoint: Endpoint) -> str:
    return (
        f"The model endpoint knows no model “{endpoint.model}” at this address; "
        f"check {endpoint.model_setting} and {endpoint.url_setting}."
    )


def wrong_page(endpoint: Endpoint, content_type: str) -> ModelRejected:
    """Success, but with a web page: the address is not that of an API."""
    return ModelRejected(f"{endpoint.host} answered with {content_type}", user_message=_nothing_there(endpoint))


def _refused(endpoint: Endpoint) -> str:
    return f"The model endpoint refused the request; check that {endpoint.model_setting} can do this."


def _codes(exc: openai.APIError) -> set[str]:
    return {str(word).lower() for word in (exc.code, exc.type) if word}


def retry_after_s(headers: httpx2.Headers) -> float | None:
    """Seconds to wait as told by `retry-after-ms` or `retry-after` (a number or an HTTP date); None when untold."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(wait_s) and wait_s >= 0:
            return wait_s
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
