"""Search providers that wait for their turn, and those that failed of late and rest.

Processes that share a `RateLimits` ask no faster together than agreed; what a provider's own adapter does about its
limit, and who rests, knows one process alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from core.errors import ProviderError, ProviderRateLimited
from core.job import Scope
from core.limits import RateLimits
from core.ports import ProviderStrength, Recorder, SearchProvider, warm_up
from core.presentation.wording import counted
from core.source import SearchHit, SearchQuery
from core.telemetry import Measurement

log = logging.getLogger(__name__)

REST_S = 30.0  # long enough that a time-out is paid by one question of many, short enough to find it well again
MAX_REST_S = 60.0  # of a provider that asks for a longer silence
STORE_WAIT_S = 1.0  # a store that takes longer counts as away; a token takes it milliseconds


@dataclass(frozen=True)
class CallRate:
    """At most `calls` in any `period_s` seconds, `burst` (1…`calls`) of them at once; who would wait longer is refused.

    The bucket gains `per_second` tokens, so that a burst and what follows it stay within `calls`.
    """

    calls: int
    period_s: float
    burst: int
    max_wait_s: float = 3.0  # of the ten seconds that a provider has

    @property
    def per_second(self) -> float:
        return (self.calls + 1 - self.burst) / self.period_s


class LimitedSearch:
    """A `SearchProvider` that takes a token of the bucket `search:<name>` before each call."""

    def __init__(
        self,
        provider: SearchProvider,
        limits: RateLimits,
        rate: CallRate,
        recorder: Recorder,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._provider, self._limits, self._rate, self._recorder = provider, limits, rate, recorder
        self._sleep = sleep

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def strength(self) -> ProviderStrength:
        return self._provider.strength

    async def warm_up(self) -> None:
        await warm_up(self._provider)

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        """Also raises `ProviderRateLimited`, when its turn would not come within the rate's `max_wait_s`."""
        await self._turn()
        return await self._provider.search(query, limit=limit, scope=scope)

    async def _turn(self) -> None:
        waited_s = 0.0
        while wait_s := await self._take():
            waited_s += wait_s
            if waited_s > self._rate.max_wait_s:
                reason = f"its limit of {counted(self._rate.calls, 'call')} in {self._rate.period_s:g} s is used up"
                raise ProviderRateLimited(self.name, reason, retry_after_s=wait_s)
            await self._sleep(wait_s)

    async def _take(self) -> float:
        """As `RateLimits.take`. While the store is away calls go out: the provider itself still counts them."""
        try:
            async with asyncio.timeout(STORE_WAIT_S):
                return await self._limits.take(
                    f"search:{self.name}", rate=self._rate.per_second, burst=self._rate.burst
                )
        except TimeoutError:
            log.warning("rate limit let pass", extra={"provider": self.name, "waited_s": STORE_WAIT_S})
            self._recorder.record(Measurement("errors", 1, "limits:TimeoutError"))
            return 0.0


class Setbacks:
    """Which providers gave nothing of late: while they rest others are asked first, where there are any."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rest_until: dict[str, float] = {}

    def note(self, error: ProviderError) -> None:
        asked_for = error.retry_after_s if isinstance(error, ProviderRateLimited) else None
        self._rest_until[error.provider] = self._clock() + min(asked_for or REST_S, MAX_REST_S)

    def forget(self, provider: str) -> None:
        """It has answered."""
        self._rest_until.pop(provider, None)

    def rests(self, provider: str) -> bool:
        return self._clock() < self._rest_until.get(provider, float("-inf"))
