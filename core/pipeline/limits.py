"""How often providers may be asked, by a token bucket; one job for identical questions; turns at the processor.

How many questions a person may ask is in core/tenancy/admission.py, which counts with the same buckets. Who keeps the
numbers, for how many processes, is an adapter's business.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Any, Protocol, TypeVar

from core.model.errors import ProviderRateLimited
from core.model.job import Scope
from core.model.ports import Measurement, Record, SearchProvider
from core.model.source import SearchHit, SearchQuery

T = TypeVar("T")
ROUNDING_S = 1e-4  # doubles around 2e9 seconds are 2e-7 apart, and a burst adds up hundreds of such steps


class SharedLimits(Protocol):
    """Token buckets, and which of identical questions is researched, for all processes that use the same store.

    Never fails: while the store is away everybody may pass.
    """

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        """Take one token of bucket `key`; 0.0 when there was one, else the seconds until there will be one.

        A bucket holds at most `burst` (≥ 1) tokens, is full at first, and gains `rate` (> 0) a second.
        A refusal takes nothing and reserves nothing.
        """

    async def full_in_s(self, key: str) -> float:
        """Seconds until bucket `key` will be full; 0.0 for one that is, or that nobody has used."""

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        """The job that researches `key` in this scope, for which the others wait: `job_id` itself when nobody did.

        A claim ends after `ttl`, or when it is released. Claiming again what one holds changes nothing.
        """

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        """Give `key` back, if `job_id` has it."""


def take_token(full_at: float, now: float, *, rate: float, burst: int) -> tuple[float, float]:
    """A bucket's new state and how long to wait, both in seconds; nothing was taken when the wait is above 0.

    The state is the time at which the bucket will be full again, 0 for one that was never used. A
    clock that was set back makes nobody wait longer than an empty bucket does.

    The token bucket as generic cell rate algorithm: ITU-T I.371, annex A.
    """
    if not rate > 0 or burst < 1:
        raise ValueError(f"a bucket of {burst} tokens at {rate} a second gives none")
    capacity_s = burst / rate
    full_at = min(max(full_at, now), now + capacity_s)
    after = full_at + 1 / rate
    wait_s = after - capacity_s - now
    return (full_at, wait_s) if wait_s > ROUNDING_S else (after, 0.0)


def tokens_left(full_in_s: float, *, rate: float, burst: int) -> int:
    """How many tokens a bucket holds that will be full in so many seconds; 0…`burst`."""
    return min(max(math.floor(burst - (full_in_s - ROUNDING_S) * rate), 0), burst)


# Search providers that wait for their turn


log = logging.getLogger(__name__)

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

    @property
    def spent(self) -> str:
        """Why a call is refused; one of `REASONS`."""
        return f"its limit of calls ({self.calls} in {self.period_s:g} s) is used up"


class SharedTurns:
    """The turns of one service for all processes: each call takes a token of the bucket `search:<name>`."""

    def __init__(
        self,
        name: str,
        rate: CallRate,
        limits: SharedLimits,
        record: Record,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name, self._rate, self._limits, self._record = name, rate, limits, record
        self._sleep = sleep

    async def take(self) -> None:
        """Raises `ProviderRateLimited` when the turn would not come within the rate's `max_wait_s`."""
        waited_s = 0.0
        while wait_s := await self._token():
            waited_s += wait_s
            if waited_s > self._rate.max_wait_s:
                name = self._name.partition(" ")[0]
                raise ProviderRateLimited(name, self._rate.spent, retry_after_s=wait_s)
            await self._sleep(wait_s)

    async def _token(self) -> float:
        """As `SharedLimits.take`. While the store is away calls go out: the provider itself still counts them."""
        try:
            async with asyncio.timeout(STORE_WAIT_S):
                return await self._limits.take(
                    f"search:{self._name}", rate=self._rate.per_second, burst=self._rate.burst
                )
        except TimeoutError:
            log.warning("rate limit let pass", extra={"provider": self._name, "waited_s": STORE_WAIT_S})
            self._record(Measurement("errors", 1, "limits:TimeoutError"))
            return 0.0


class AroundSearch:
    """What a `SearchProvider` around another has of it: all but `search`."""

    def __init__(self, provider: SearchProvider) -> None:
        self._provider = provider
        self.name, self.strength = provider.name, provider.strength

    def __getattr__(self, name: str) -> object:
        return getattr(self._provider, name)


class LimitedSearch(AroundSearch):
    """Waits for its turn before each search."""

    def __init__(
        self,
        provider: SearchProvider,
        limits: SharedLimits,
        rate: CallRate,
        record: Record,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(provider)
        self._turns = SharedTurns(provider.name, rate, limits, record, sleep=sleep)

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        """Also raises `ProviderRateLimited`, when its turn would not come in time."""
        await self._turns.take()
        return await self._provider.search(query, limit=limit, scope=scope)


class Nearness(IntEnum):
    """Of a piece of work to what a reader sees first of an answer."""

    SENTENCE, PROMPT, RANKING, READING, LATER = range(5)


class ComputingTurns:
    """Runs work that keeps a processor busy, in a thread, one piece at a time: more would only wait for Python's lock.

    The piece that is nearer to somebody's first sentence goes first, then the one that came first.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Nearness, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._is_busy = False
        self._shared: dict[tuple[Callable[[str], None], str], asyncio.Task[None]] = {}

    def share(self, work: Callable[[str], None], text: str, nearness: Nearness) -> asyncio.Future[None]:
        """When `work(text)` is done: once for all who ask meanwhile, whoever of them gives up."""
        if (work, text) not in self._shared:
            self._shared[work, text] = asyncio.create_task(self.take(work, text, nearness=nearness))
            self._shared[work, text].add_done_callback(lambda _: self._shared.pop((work, text)))
        return asyncio.shield(self._shared[work, text])

    async def take(self, work: Callable[..., T], *args: object, nearness: Nearness = Nearness.LATER) -> T:
        """What `work(*args)` gives. Who is cancelled meanwhile leaves it to its end."""
        if self._is_busy:
            turn = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (nearness, next(self._numbers), turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._pass_on()
                raise
        self._is_busy = True
        working = asyncio.create_task(asyncio.to_thread(work, *args))
        working.add_done_callback(self._ended)
        return await asyncio.shield(working)

    def _ended(self, working: asyncio.Task[Any]) -> None:
        if not working.cancelled():
            working.exception()  # else one that nobody waits for any more would be told of as forgotten
        self._pass_on()

    def _pass_on(self) -> None:
        self._is_busy = False
        while self._waiting:
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._is_busy = True
                turn.set_result(None)
                return
