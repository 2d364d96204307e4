"""The turnstile before a provider: its rate limit, and the memory that it is down.

A provider that could not be reached, or that asked to be left alone, is not asked again for a
while; callers that are waiting for their turn learn of it at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

from adapters.search.settings import Access
from core.errors import ProviderError, ProviderRateLimited, ProviderUnavailable

UNREACHABLE_FOR_S = 1.5  # the rest of a question's calls fail at once; the question itself is tried again after 2 s
REACHED_FOR_S = 15.0  # so long after an answer a lost connection is a busy machine's, and closes nothing
MAX_CLOSED_S = 60.0  # a server that asks for a longer silence is tried once a minute
UNLIMITED_AT_ONCE = 64  # towards a host without a published limit; twenty questions at once need about that
POLL_S = 0.05  # how soon a waiting caller notices that the provider is down


@dataclass(frozen=True)
class Rate:
    """`calls` in any `period_s` seconds, `at_once` at the same time; who would wait over `max_wait_s` is refused."""

    calls: int
    period_s: float
    max_wait_s: float = 3.0
    at_once: int = 8


class Gate:
    """One for each provider. Safe across event loops, of which one runs at a time."""

    def __init__(self, access: Access, rate: Rate | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._access = access
        self._rate = rate
        self._clock = clock
        self._limiter: AsyncLimiter | None = None
        self._limiter_loop: asyncio.AbstractEventLoop | None = None
        self._waiting = 0
        self._closed_until = 0.0
        self._reached_at = float("-inf")
        self._closed_by: ProviderError | None = None

    @property
    def at_once(self) -> int:
        """How many calls may be under way together."""
        return self._rate.at_once if self._rate else UNLIMITED_AT_ONCE

    @property
    def is_closed(self) -> bool:
        return self._clock() < self._closed_until

    async def turn(self) -> None:
        """Returns when a call may be made. Raises what closed the gate, or `ProviderRateLimited`."""
        self._raise_if_closed()
        limiter = self._limiter_of_this_loop()
        if limiter is None or self._rate is None:
            return
        if not limiter.has_capacity():
            self._refuse_long_wait(self._rate)
            self._waiting += 1
            try:
                while not limiter.has_capacity():
                    await asyncio.sleep(POLL_S)
                    self._raise_if_closed()
            finally:
                self._waiting -= 1
        await limiter.acquire()

    def note(self, error: ProviderError, *, is_unreachable: bool = False) -> ProviderError:
        """Remembers an error that concerns the next calls too, and returns it to be raised."""
        if is_unreachable and self._clock() >= self._reached_at + REACHED_FOR_S:
            self._close(error, UNREACHABLE_FOR_S)
        elif isinstance(error, ProviderRateLimited) and error.retry_after_s:
            self._close(error, min(error.retry_after_s, MAX_CLOSED_S))
        return error

    def note_reached(self) -> None:
        """The server answered, with whatever."""
        self._reached_at = self._clock()

    def _close(self, error: ProviderError, seconds: float) -> None:
        self._closed_until = self._clock() + seconds
        self._closed_by = error

    def _raise_if_closed(self) -> None:
        left_s = self._closed_until - self._clock()
        cause = self._closed_by
        if cause is None or left_s <= 0:
            return
        if isinstance(cause, ProviderRateLimited):
            raise ProviderRateLimited(
                cause.provider, cause.reason, retry_after_s=left_s, user_message=cause.user_message, plain=cause.plain
            )
        raise ProviderUnavailable(cause.provider, cause.reason, user_message=cause.user_message, plain=cause.plain)

    def _refuse_long_wait(self, rate: Rate) -> None:
        expected_s = (self._waiting + 1) * rate.period_s / rate.calls
        if expected_s > rate.max_wait_s:
            reason = f"{self._waiting + 1} calls are waiting for its limit of {rate.calls} in {rate.period_s:g} s"
            raise ProviderRateLimited(self._access.name, reason, retry_after_s=expected_s)

    def _limiter_of_this_loop(self) -> AsyncLimiter | None:
        loop = asyncio.get_running_loop()
        if self._rate is not None and self._limiter_loop is not loop:
            self._limiter = AsyncLimiter(self._rate.calls, self._rate.period_s)
            self._limiter_loop = loop
        return self._limiter
