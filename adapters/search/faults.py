"""What went wrong at a provider, in our own errors: statuses, waiting times, deadlines."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from adapters.search.service import Service
from core.model.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
)

MAX_RETRY_AFTER_S = 3600.0  # a server that names more is mistaken, or means "not today"
_WORDS = {
    429: "too many requests",
    401: "key refused",
    402: "quota used up",
    403: "refused",
    404: "wrong address",
    432: "quota used up",
    433: "quota used up",
}
_MEANT = (  # what an error in a successful answer is about, and the status that would have said so
    (re.compile(r"rate.?limit|too many requests|throttl", re.IGNORECASE), 429),
    (re.compile(r"quota|credits?\b|usage limit|billing|payment", re.IGNORECASE), 402),
    (re.compile(r"api.?key|unauthori[sz]ed|forbidden|credential|authenticat", re.IGNORECASE), 401),
)
QUOTA_STATUSES = frozenset({402, 432, 433})  # 432 and 433: Tavily's plan and pay-as-you-go limits


def status_error(service: Service, status: int, *, retry_after: str | None = None, detail: str = "") -> ProviderError:
    """The error for an HTTP `status` that is not success. `detail` is what the server said, for the log."""
    reason = f"{_WORDS.get(status, 'server error' if status >= 500 else 'refused')} (HTTP {status})"
    plain, reason = reason, f"{reason}: {detail}" if detail else reason
    if status == 429:
        wait_s = parse_retry_after(retry_after, now=datetime.now(UTC))
        return too_many(service, reason, retry_after_s=wait_s, plain=plain, hint=service.hints.get(429, ""))
    if status >= 500:
        return broken(service, reason, plain=plain)
    check = service.key_variable if status in {400, 401, 403, *QUOTA_STATUSES} else service.url_variable
    said = "says that the plan's quota is used up" if status in QUOTA_STATUSES else "refused the request"
    mend = service.hints.get(status) or f"check {check or service.url_variable}"
    operator_message = f"{service.label} {said} (HTTP {status}); {mend}."
    return ProviderRejected(service.name, reason, operator_message=operator_message, plain=plain)


def error_in_answer(service: Service, body: bytes) -> ProviderError | None:
    """The error that a successful answer speaks of instead of results; None where it has results or names no error.

    `{"results": [], "error": "…"}` and `{"detail": {"error": "…"}}` are how services and proxies say it.
    """
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return None  # garbled, which whoever reads it says
    said = _said(answer) if isinstance(answer, dict) and not answer.get("results") else ""
    if not said:
        return None
    for pattern, status in _MEANT:
        if pattern.search(said):
            return status_error(service, status, detail=f"in an answer that was successful: {said}")
    return broken(service, f"answered with an error: {said}", plain="answered with an error")


def too_many(
    service: Service, reason: str, *, retry_after_s: float | None, plain: str, hint: str = ""
) -> ProviderRateLimited:
    mend = hint or "wait, or lower its rate in GORKD_SEARCH_RATES"
    operator_message = f"{service.label} is asked too often ({reason}); {mend}."
    return ProviderRateLimited(
        service.name, reason, retry_after_s=retry_after_s, operator_message=operator_message, plain=plain
    )


def broken(service: Service, reason: str, *, plain: str) -> ProviderUnavailable:
    operator_message = (
        f"{service.label} has trouble of its own ({reason}); if it stays so, check {service.url_variable}."
    )
    return ProviderUnavailable(service.name, reason, operator_message=operator_message, plain=plain)


def garbled(service: Service, reason: str) -> ProviderGarbled:
    operator_message = f"{service.label} gave an answer that cannot be read; check {service.url_variable}."
    return ProviderGarbled(
        service.name, reason, operator_message=operator_message, plain="gave an answer that cannot be read"
    )


def unreachable(service: Service, why: str) -> ProviderUnavailable:
    """For a server that no connection could be made to."""
    operator_message = f"{service.label} could not be reached; check the network and {service.url_variable}."
    reason = f"could not be reached ({why})"
    return ProviderUnavailable(service.name, reason, operator_message=operator_message, plain="could not be reached")


def too_late(service: Service, reason: str) -> ProviderTimeout:
    operator_message = f"{service.label} is too slow ({reason}); check the network and {service.url_variable}."
    return ProviderTimeout(service.name, reason, operator_message=operator_message, plain="no answer in time")


def _said(answer: dict[str, object]) -> str:
    """The text of an error at one of its usual places, "" where there is none."""
    for key in ("error", "detail", "message"):
        value = answer.get(key)
        if isinstance(value, dict):
            value = _said(value)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:200]
    return ""


def parse_retry_after(value: str | None, *, now: datetime) -> float | None:
    """Seconds 0…3600 of a `Retry-After` header (RFC 9110, 10.2.3); None when it says nothing usable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


@asynccontextmanager
async def deadline(service: Service, timeout_s: float) -> AsyncIterator[None]:
    """Bounds one whole search; raises `ProviderTimeout` when the time is up."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as exc:
        raise too_late(service, f"no answer in {timeout_s:g} s") from exc
