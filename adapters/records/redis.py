"""What processes share through Redis: rings, limits, single flight, and pages and search results to use again.

Nobody's answer may wait for Redis or fail by it, so each part says itself what it does without: nobody waits for a
ring, each process counts for itself and researches for itself, and nothing is used again. A limit may then be
exceeded, and a question be answered twice, but none goes unanswered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from adapters.records.cache import MemoryLimits
from adapters.records.sql import digest
from core.model.errors import SetupError, StoreError
from core.model.job import Scope
from core.model.ports import Clock, Measurement, Record
from core.pipeline.limits import take_token
from core.tenancy.forgetting import Whose

logger = logging.getLogger(__name__)
T = TypeVar("T")

TIMEOUT_S = 0.4  # a command takes under 1 ms; an exact cache hit may take 500 ms in all (S003-24)
MAX_CONNECTIONS = 8  # a command holds one for under 1 ms; a thousand followers share them
REST_S = 1.0  # between attempts while Redis is away, so that an outage costs one timeout a second and not one a call

TROUBLE = (RedisError, OSError, TimeoutError, UnicodeDecodeError)  # the last: another program's value in our place

CHANNEL = "gorkd:rings"
WAIT_S = 5.0  # for a ring; then a dead connection is noticed
MAX_WAITING = 1000  # rings not sent yet, of as many jobs; whoever misses one asks again by himself
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

# take_token of core/pipeline/limits.py, in one step for all machines and by the server's clock; "%.17g" keeps all
# digits.
_TAKE = """
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
local capacity = burst / rate
local full_at = tonumber(redis.call('GET', KEYS[1]) or '0')
full_at = math.min(math.max(full_at, now), now + capacity)
local after = full_at + 1 / rate
local wait = after - capacity - now
if wait > 1e-4 then return string.format('%.17g', wait) end
redis.call('SET', KEYS[1], string.format('%.17g', after), 'PX', math.ceil((after - now) * 1000))
return '0'
"""
_CLAIM = """
local holder = redis.call('GET', KEYS[1])
if holder then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

MAX_CHARS = 1_000_000  # of one entry; a longer page is read again
BATCH = 500  # keys looked for by one command

WITHIN_S = 30.0  # the whole of it; a million keys are looked through in some 10 s
COMMAND_TIMEOUT_S = 5.0

OF_ANOTHER_TIME = ("gorkd:answer:*", "gorkd:near:*", "gorkd:events:*")  # what version 0.1 kept here and nobody reads


def open_redis(
    url: str, *, timeout_s: float, reply_timeout_s: float | None = None, max_connections: int = MAX_CONNECTIONS
) -> Redis:
    """A client that connects at its first call. Raises `SetupError` when `url` is not an address of a Redis.

    `timeout_s` bounds dialling and waiting for a connection, and for a reply unless `reply_timeout_s`
    says otherwise. Nothing is retried: the client's own way to do it waits for seconds.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            decode_responses=True,
            max_connections=max_connections,
            timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            socket_timeout=reply_timeout_s or timeout_s,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as exc:
        raise SetupError("REDIS_URL is not an address such as redis://host:6379/0") from exc
    return Redis.from_pool(pool)


@asynccontextmanager
async def deadline(timeout_s: float) -> AsyncIterator[None]:
    """Bounds every use of a client, and lets a cancellation through that the client has swallowed.

    It sends with `asyncio.wait_for`, which before Python 3.12 drops a cancellation that arrives
    together with the result.
    """
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task else 0
    async with asyncio.timeout(timeout_s):
        yield
    if task and task.cancelling() > cancelled_before:
        raise asyncio.CancelledError


def away(exc: BaseException) -> StoreError:
    """What to raise where somebody waits for Redis itself."""
    return StoreError(
        f"Redis (REDIS_URL) failed: {type(exc).__name__}",
        operator_message="Redis (REDIS_URL) does not answer; please try again when it is back.",
    )


class Outage:
    """Whether Redis is away, as one part of gorkd sees it: logs when that begins and ends, counts every failure."""

    def __init__(self, part: str, record: Record) -> None:
        self._part = part
        self._record = record
        self._tries_at = 0.0
        self.is_on = False

    @property
    def is_resting(self) -> bool:
        """It failed a moment ago: not worth another timeout yet."""
        return self.is_on and asyncio.get_running_loop().time() < self._tries_at

    def failed(self, exc: BaseException) -> None:
        self._tries_at = asyncio.get_running_loop().time() + REST_S
        self._record(Measurement("errors", 1, f"{self._part}:{type(exc).__name__}"))
        if not self.is_on:
            self.is_on = True
            logger.error("Redis is away, %s goes on without it: %s", self._part, exc or type(exc).__name__)

    def worked(self) -> None:
        if self.is_on:
            self.is_on = False
            logger.warning("Redis is back for %s", self._part)


class RedisDoorbell:
    """A `Doorbell`. While Redis is away nobody waits for it and nothing is lost. Close it with `aclose`."""

    def __init__(self, url: str, *, record: Record, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first ring or listener. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s, max_connections=1)
        self._listening = open_redis(url, timeout_s=timeout_s, reply_timeout_s=WAIT_S + timeout_s, max_connections=1)
        self._timeout_s = timeout_s
        self._outage = Outage("events", record)
        self._rings: asyncio.Queue[str] = asyncio.Queue(MAX_WAITING)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def is_away(self) -> bool:
        return self._outage.is_on

    def ring(self, job_id: str) -> None:
        self._start("sender", self._send)
        with suppress(asyncio.QueueFull):
            self._rings.put_nowait(job_id)

    def listen(self, on_ring: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        """Only the first call counts."""
        self._start("listener", lambda: self._listen(on_ring, on_gap))

    async def aclose(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        await self._redis.aclose()
        await self._listening.aclose()

    def _start(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(work(), name=f"gorkd-doorbell-{name}")

    async def _send(self) -> None:
        while True:
            job_ids = {await self._rings.get()}
            while not self._rings.empty():
                job_ids.add(self._rings.get_nowait())
            if self._outage.is_resting:
                continue
            try:
                async with deadline(self._timeout_s):
                    await self._redis.publish(CHANNEL, " ".join(job_ids))
                self._outage.worked()
            except TROUBLE as exc:
                self._outage.failed(exc)

    async def _listen(self, on_ring: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with self._listening.pubsub(ignore_subscribe_messages=True) as subscription:
                    async with deadline(self._timeout_s):
                        await subscription.subscribe(CHANNEL)
                    on_gap()
                    while True:
                        async with deadline(WAIT_S + self._timeout_s):
                            message = await subscription.get_message(timeout=WAIT_S)
                        self._outage.worked()
                        pause_s = FIRST_PAUSE_S
                        for job_id in str(message["data"]).split() if message else ():
                            on_ring(job_id)
            except TROUBLE as exc:
                self._outage.failed(exc)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


class _OverRedis:
    """A client of its own. Close it with `aclose`."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first call. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._timeout_s = timeout_s

    async def aclose(self) -> None:
        await self._redis.aclose()


class RedisLimits(_OverRedis):
    """`SharedLimits`."""

    def __init__(self, url: str, *, clock: Clock, record: Record, timeout_s: float = TIMEOUT_S) -> None:
        """`clock` is for the time without Redis. Raises `SetupError` for a bad address."""
        super().__init__(url, timeout_s=timeout_s)
        self._take = self._redis.register_script(_TAKE)
        self._claim = self._redis.register_script(_CLAIM)
        self._release = self._redis.register_script(_RELEASE)
        self._outage = Outage("limits", record)
        self._outage_of_flights = Outage("single flight", record)
        self._clock = clock
        self._buckets_alone = self._flights_alone = MemoryLimits(clock=clock)

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        take_token(0.0, 0.0, rate=rate, burst=burst)  # refuses what is no bucket
        wait_s = await self._asked(self._outage, lambda: self._take(keys=[_bucket(key)], args=[repr(rate), burst]))
        return float(wait_s) if wait_s is not None else await self._buckets_alone.take(key, rate=rate, burst=burst)

    async def full_in_s(self, key: str) -> float:
        left_ms = await self._asked(self._outage, lambda: self._redis.pttl(_bucket(key)))  # kept until it is full
        return await self._buckets_alone.full_in_s(key) if left_ms is None else max(left_ms, 0) / 1000

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        lifetime_ms = max(ttl // timedelta(milliseconds=1), 1)
        claim = partial(self._claim, keys=[_name(scope, key)], args=[job_id, lifetime_ms])
        holder = await self._asked(self._outage_of_flights, claim)
        return str(holder) if holder is not None else await self._flights_alone.claim(scope, key, job_id, ttl=ttl)

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        await self._flights_alone.release(scope, key, job_id)
        await self._asked(self._outage_of_flights, lambda: self._release(keys=[_name(scope, key)], args=[job_id]))

    async def _asked(self, outage: Outage, ask: Callable[[], Awaitable[T]]) -> T | None:
        """What Redis says; None while it is away."""
        if outage.is_resting:
            return None
        try:
            async with deadline(self._timeout_s):
                said = await ask()
        except TROUBLE as exc:
            if outage is self._outage and not outage.is_on:  # what was counted in an earlier outage is over
                self._buckets_alone = MemoryLimits(clock=self._clock)
            outage.failed(exc)
            return None
        outage.worked()
        return said


def _bucket(key: str) -> str:
    return f"gorkd:bucket:{digest(key).hex()}"


def _name(scope: Scope, key: str) -> str:
    """It tells nobody whose question it is."""
    return f"gorkd:flight:{digest(chr(0x1F).join((scope.tenant, scope.visibility, key))).hex()}"


class RedisReuseStore(_OverRedis):
    """A `ReuseStore` in Redis."""

    async def get(self, key: str) -> str | None:
        try:
            async with deadline(self._timeout_s):
                text = await self._redis.get(_reused(key))
        except TROUBLE as exc:
            logger.warning("nothing can be reused: %s", exc or type(exc).__name__)
            return None
        return None if text is None else str(text)

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None:
        if len(text) > MAX_CHARS:
            return
        try:
            async with deadline(self._timeout_s):
                await self._redis.set(_reused(key), text, px=max(1, ttl // timedelta(milliseconds=1)))
        except TROUBLE as exc:
            logger.warning("nothing is kept to be reused: %s", exc or type(exc).__name__)

    async def clear(self) -> int:
        try:
            keys = [key async for key in self._redis.scan_iter(match="gorkd:reused:*", count=BATCH)]
            return int(await self._redis.unlink(*keys)) if keys else 0
        except TROUBLE as exc:
            raise away(exc) from exc


def _reused(key: str) -> str:
    return f"gorkd:reused:{digest(key).hex()}"


class RedisArchive(_OverRedis):
    """An `Archive`."""

    name = "Redis"

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout_s=COMMAND_TIMEOUT_S)

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """The claims of these jobs, and whatever version 0.1 has left. Raises `StoreError`."""
        try:
            async with asyncio.timeout(WITHIN_S):
                for pattern in OF_ANOTHER_TIME:
                    async for keys in self._keys(pattern):
                        await self._redis.unlink(*keys)
                gone, doomed = 0, frozenset(job_ids)
                async for keys in self._keys("gorkd:flight:*"):
                    holders = await self._redis.mget(keys)
                    theirs = [key for key, holder in zip(keys, holders, strict=True) if holder in doomed]
                    gone += int(await self._redis.unlink(*theirs)) if theirs else 0
                return gone
        except TROUBLE as exc:
            raise away(exc) from exc

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        return 0

    async def _keys(self, pattern: str) -> AsyncIterator[list[bytes | str]]:
        cursor = None
        while cursor != 0:
            cursor, keys = await self._redis.scan(cursor or 0, match=pattern, count=BATCH)
            if keys:
                yield keys
