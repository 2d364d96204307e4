"""What went wrong at a provider, in our own errors: statuses, waiting times, deadlines."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from adapters.search.settings import Access
from core.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
)

MAX_RETRY_AFTER_S = 3600.0  # a server that names more is mistaken, or means "not today"
_WORDS = {429: "too many requests", 401: "key refused", 403: "refused", 404: "wrong address"}
QUOTA_STATUSES = frozenset({402, 432, 433})  # 432 and 433: Tavily's plan and pay-as-you-go limits


def status_error(access: Access, status: int, *, retry_after: str | None = None, detail: str = "") -> ProviderError:
    """The error for an HTTP `status` that is not success. `detail` is what the server said, for the log."""
    reason = f"{_WORDS.get(status, 'server error' if status >= 500 else 'refused')} (HTTP {status})"
    reason += f": {detail}" if detail else ""
    if status == 429:
        wait_s = parse_retry_after(retry_after, now=datetime.now(UTC))
        return ProviderRateLimited(access.name, reason, retry_after_s=wait_s)
    if status >= 500:
        return ProviderUnavailable(access.name, reason)
    check = access.key_variable if status in {400, 401, 403, *QUOTA_STATUSES} else access.url_variable
    said = "says that the plan's quota is used up" if status in QUOTA_STATUSES else "refused the request"
    user_message = f"{access.label} {said} (HTTP {status}); check {check or access.url_variable}."
    return ProviderRejected(access.name, reason, user_message=user_message)


def garbled(access: Access, reason: str) -> ProviderGarbled:
    user_message = f"{access.label} gave an answer that cannot be read; check {access.url_variable}."
    return ProviderGarbled(access.name, reason, user_message=user_message)


def unreachable(access: Access, why: str) -> ProviderUnavailable:
    """For a server that no connection could be made to."""
    user_message = f"{access.label} could not be reached; check the network and {access.url_variable}."
    return ProviderUnavailable(access.name, f"could not be reached ({why})", user_message=user_message)


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
async def deadline(access: Access, timeout_s: float) -> AsyncIterator[None]:
    """Bounds one whole search; raises `ProviderTimeout` when the time is up."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as exc:
        user_message = f"{access.label} did not answer within {timeout_s:.0f} s."
        raise ProviderTimeout(access.name, f"no answer in {timeout_s:g} s", user_message=user_message) from exc
