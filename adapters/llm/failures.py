"""What the failures of an OpenAI-compatible endpoint mean to us.

Every exception of the SDK and of its transport becomes one of core/model/errors.py's model errors. Messages
name settings and hosts, never keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from adapters.llm.endpoint import Endpoint
from core.model.errors import (
    DECLINED,
    ModelError,
    ModelGarbled,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
)
from core.text.saying import say

if TYPE_CHECKING:
    import httpx2
    import openai

GARBLED = "The model's answer could not be read; please try again."
SLOW = "The model did not answer in time; please try again."
BROKE_OFF = "broke off its answer; look into its log,"
BUSY = "The model endpoint is receiving too many requests; please try again in a minute."

# Words and numbers that endpoints put into `code` or `type` of an error, lower case.
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "402"})
_LENGTH_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large", "413"}
)
_MODEL_CODES = frozenset({"model_not_found", "model_decommissioned", "deploymentnotfound", "404"})
_GARBLED_CODES = frozenset({"json_validate_failed"})  # Groq: what the model wrote does not follow the schema
_KEY_CODES = frozenset({"invalid_api_key", "authentication_error", "permission_denied", "401", "403"})
_RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "tokens", "requests", "429"})
_TIME_CODES = frozenset({"timeout", "408", "504", "524"})
_REQUEST_CODES = frozenset({"invalid_request_error", "400", "422"})
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
LONG_WAIT_MIN = 2  # from which on it is said
LOADING_S = 5.0  # to wait for a model that is being loaded, where nobody says how long

# How endpoints say in words that a prompt is too long, and what they tell of the window and of the prompt's length.
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|context the overflow|prompt (?:is )?too long|request too large|too many tokens"
    r"|reduce the length|tokens to keep from the initial prompt|input token count|max_new_tokens` must be",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:context (?:length|window|size)(?: is| of)?(?: only)?|limit|maximum number of tokens allowed|must be <=)"
    r" ?[(:]? ?(\d[\d,]{2,})|> (\d[\d,]{2,}) maximum|with (\d[\d,]{2,}) maximum context|n_ctx\W{1,4}(\d{3,})",
    re.IGNORECASE,
)
_SENT = re.compile(
    r"\((\d[\d,]*) (?:in the messages|of text input)|resulted in (\d[\d,]*) tokens|has (\d[\d,]*) input tokens"
    r"|request \((\d[\d,]*) tokens|n_prompt_tokens\W{1,4}(\d+)|first (\d[\d,]*) tokens when|too long: (\d[\d,]*)"
    r"|token count \((\d[\d,]*)|contains (\d[\d,]*) tokens|given: (\d[\d,]*)|requested (\d[\d,]*)(?!\d* tokens \()",
    re.IGNORECASE,
)


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


def told(said: object, request: httpx2.Request) -> object:
    """An event of a stream. Raises the SDK's `APIError` where it tells of a failure instead, as the SDK does."""
    import openai

    if not isinstance(said, dict):
        return said
    error = said.get("error") or (None if "choices" in said else said if said.keys() & {"message", "detail"} else None)
    if not error:
        return said
    words = (error.get("message") or error.get("detail")) if isinstance(error, dict) else error
    message = words if words and isinstance(words, str) else "An error occurred during streaming"
    raise openai.APIError(message, request=request, body=error)


def safe_cause(exc: Exception, endpoint: Endpoint) -> Exception | None:
    """`exc` to chain from, or None when its own words repeat the key and a traceback would print them."""
    secret = endpoint.api_key.get_secret_value()
    chain: BaseException | None = exc
    while chain is not None:
        if endpoint.has_key and secret in str(chain):
            return None
        chain = chain.__cause__
    return exc


def was_dropped(exc: openai.APIConnectionError) -> bool:
    """Whether the connection was closed before a word of an answer: the request was read by nobody.

    llama.cpp's server closes kept connections while others wait, without announcing it.
    """
    import httpx2

    return isinstance(exc.__cause__, httpx2.RemoteProtocolError) and "without sending" in str(exc.__cause__)


def unavailable(
    endpoint: Endpoint, message: str, *, wait_s: float | None = None, did: str = "could not be reached;"
) -> ModelUnavailable:
    """`did` is what it does instead of answering, for the operator."""
    return ModelUnavailable(
        message,
        retry_after_s=wait_s,
        operator_message=f"The model endpoint {did} check {endpoint.url_setting} or try again.",
    )


def declined(reason: str) -> ModelRejected:
    """The model or its content filter would not answer."""
    return ModelRejected(
        f"the model declined to answer: {reason}",
        user_message=say(DECLINED),
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
        (openai.ContentFilterFinishReasonError, lambda *_: declined("content filter")),
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
    return ModelTimeout(f"{endpoint.host} did not answer in time ({what})", operator_message=SLOW)


def _unconnected(exc: Exception, endpoint: Endpoint) -> ModelError:
    cause = exc.__cause__ or exc
    return unavailable(endpoint, f"{endpoint.host}: {type(cause).__name__}: {endpoint.redact(str(cause))}")


def _garbled(exc: Exception, endpoint: Endpoint) -> ModelError:
    said = f"{endpoint.host} sent what is no answer: {type(exc).__name__}: {endpoint.redact(str(exc))}"
    return ModelGarbled(said, operator_message=GARBLED)


def _wrong_address(exc: Exception, endpoint: Endpoint) -> ModelError:
    return ModelRejected(
        f"{endpoint.url_setting} is no address: {endpoint.redact(str(exc))}",
        operator_message=f"{endpoint.url_setting} is not a valid address.",
    )


def _status(exc: openai.APIStatusError, endpoint: Endpoint) -> ModelError:
    """An HTTP status that is not success; the words in its body say more than the number."""
    said = f"{endpoint.host}: HTTP {exc.status_code}: {endpoint.redact(exc.message)}"
    if exc.response.next_request is not None:
        url = exc.response.next_request.url
        place = f"{url.scheme}://{url.netloc.decode()}"  # the rest may hold a token
        mend = f"nothing is sent there unless {endpoint.url_setting} names it"
        return ModelRejected(said, operator_message=f"The model endpoint points to {place}; {mend}.")
    codes = (_codes(exc) - _REQUEST_CODES) | {str(exc.status_code)}
    wait_s = retry_after_s(exc.response.headers)
    known = _by_words(exc, said, codes, endpoint, wait_s=wait_s) or _by_code(codes, said, endpoint, wait_s=wait_s)
    if known is not None:
        return known
    if exc.status_code in {HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY} or exc.status_code >= 500:
        did = f"answers with HTTP {exc.status_code}; look into its log,"
        return unavailable(endpoint, said, wait_s=wait_s, did=did)
    return ModelRejected(said, operator_message=_refused(endpoint))


def _event(exc: openai.APIError, endpoint: Endpoint) -> ModelError:
    """An error sent inside a stream that had begun well."""
    said = f"{endpoint.host} broke off: {endpoint.redact(exc.message)}"
    codes = _codes(exc)
    known = _by_words(exc, said, codes, endpoint) or _by_code(codes, said, endpoint)
    return known or unavailable(endpoint, said, did=BROKE_OFF)


def _by_words(
    exc: openai.APIError, said: str, codes: set[str], endpoint: Endpoint, *, wait_s: float | None = None
) -> ModelError | None:
    """The error that the words of a refusal name where its number does not, or names another."""
    words = f"{exc.message} {exc.body if exc.body is not None else ''}"
    if codes & _GARBLED_CODES:
        return ModelGarbled(said, operator_message=GARBLED)
    if codes & _LENGTH_CODES or (_TOO_LONG.search(words) and not codes & {"429", "401", "403"}):
        window, sent = _number(_WINDOW, words), _number(_SENT, words)
        told = f" of {window:,} tokens" if window else ""
        mend = f"set GORKD_CONTEXT_TOKENS, or a {endpoint.model_setting} with a larger one"
        message = f"The question and its sources are too long for the model's window{told}; {mend}."
        return PromptTooLong(said, window=window, sent=sent, operator_message=message)
    for pattern, cause in _CAUSES:
        if pattern.search(words) and not codes & _QUOTA_CODES:
            return ModelRejected(said, operator_message=cause.format(endpoint=endpoint))
    if re.search(r"\bloading\b", words, re.IGNORECASE) and codes & {"503", "unavailable_error"}:
        message = say("The model is still being loaded; please try again in a moment.")
        return ModelUnavailable(said, retry_after_s=wait_s or LOADING_S, user_message=message)
    return None


_CAUSES = (
    (
        re.compile(r"no models? (?:is |are )?(?:currently )?loaded", re.IGNORECASE),
        "No model is loaded at the endpoint; load “{endpoint.model}” there, or correct {endpoint.model_setting}.",
    ),
    (
        re.compile(r"api-version", re.IGNORECASE),
        "The address needs the right ?api-version=…; check {endpoint.url_setting}.",
    ),
    (
        re.compile(r"api key not valid|invalid api key|incorrect api key", re.IGNORECASE),
        "The model endpoint refused the key; check {endpoint.key_setting}.",
    ),
    (
        re.compile(r"try pulling it first|no endpoints found|decommissioned|does not exist", re.IGNORECASE),
        "The model endpoint knows no model “{endpoint.model}” at this address that can do this; "
        "check {endpoint.model_setting} and {endpoint.url_setting}.",
    ),
)


def _number(pattern: re.Pattern[str], words: str) -> int:
    found = pattern.search(words)
    return int(next(filter(None, found.groups())).replace(",", "")) if found else 0


def _by_code(codes: set[str], said: str, endpoint: Endpoint, *, wait_s: float | None = None) -> ModelError | None:
    """The error that words and numbers name, the most telling first; None when they say nothing known."""
    if codes & _RATE_CODES and not codes & _QUOTA_CODES:
        return _rate_limited(said, wait_s)
    if codes & _TIME_CODES:
        return ModelTimeout(said, operator_message=SLOW)
    meanings = (
        (_QUOTA_CODES, f"The account behind {endpoint.key_setting} has no quota left; check its plan and billing."),
        (_FILTER_CODES, say(DECLINED)),
        (_MODEL_CODES, _nothing_there(endpoint)),
        (_KEY_CODES, f"The model endpoint refused the key; check {endpoint.key_setting}."),
        (_REQUEST_CODES, _refused(endpoint)),
    )
    for known, message in meanings:
        if codes & known:
            said_to_people = message if known is _FILTER_CODES else None
            return ModelRejected(said, user_message=said_to_people, operator_message=message)
    return None


def _rate_limited(said: str, wait_s: float | None) -> ModelRateLimited:
    """Says for how long where that is longer than a moment, as where a day's free calls are used up."""
    minutes = math.ceil((wait_s or 0) / 60)
    if minutes < LONG_WAIT_MIN:
        return ModelRateLimited(said, retry_after_s=wait_s, operator_message=BUSY)
    asked = say("The language model is asked too much just now; please try again in {number} minutes.", number=minutes)
    told = f"The model endpoint is receiving too many requests; it takes more in {minutes} minutes."
    return ModelRateLimited(said, retry_after_s=wait_s, user_message=asked, operator_message=told)


def _nothing_there(endpoint: Endpoint) -> str:
    return (
        f"The model endpoint knows no model “{endpoint.model}” at this address; "
        f"check {endpoint.model_setting} and {endpoint.url_setting}."
    )


def wrong_page(endpoint: Endpoint, content_type: str) -> ModelRejected:
    """Success, but with a web page: the address is not that of an API."""
    return ModelRejected(f"{endpoint.host} answered with {content_type}", operator_message=_nothing_there(endpoint))


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
