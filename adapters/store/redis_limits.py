"""Token buckets and single flight in Redis, shared by the processes of all machines.

While Redis is away each process counts for itself and researches for itself: a limit may then be
exceeded, and a question be answered twice, but none goes unanswered.
"""

from __future__ import annotations

from datetime import timedelta

from adapters.store.limits import MemoryRateLimits, MemorySingleFlight
from adapters.store.redis_client import TIMEOUT_S, TROUBLE, Outage, deadline, open_redis
from adapters.store.sql import digest
from core.job import Scope
from core.limits import take_token
from core.ports import Clock, Recorder

# take_token of core/limits.py, in one step for all machines and by the server's clock. "%.17g" keeps every digit.
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


class RedisRateLimits:
    """`RateLimits`. Close it with `aclose`."""

    def __init__(self, url: str, *, clock: Clock, recorder: Recorder, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first call; `clock` is for the time without Redis. Raises `SetupError` for a bad address."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._take = self._redis.register_script(_TAKE)
        self._timeout_s = timeout_s
        self._outage = Outage("limits", recorder)
        self._clock = clock
        self._alone = MemoryRateLimits(clock=clock)

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        take_token(0.0, 0.0, rate=rate, burst=burst)  # refuses what is no bucket
        if not self._outage.is_resting:
            try:
                async with deadline(self._timeout_s):
                    wait_s = await self._take(keys=[_bucket(key)], args=[repr(rate), burst])
            except TROUBLE as exc:
                if not self._outage.is_on:
                    self._alone = MemoryRateLimits(clock=self._clock)
                self._outage.failed(exc)
            else:
                self._outage.worked()
                return float(wait_s)
        return await self._alone.take(key, rate=rate, burst=burst)

    async def full_in_s(self, key: str) -> float:
        if not self._outage.is_resting:
            try:
                async with deadline(self._timeout_s):
                    left_ms = await self._redis.pttl(_bucket(key))  # a bucket is kept until it is full
            except TROUBLE as exc:
                self._outage.failed(exc)
            else:
                self._outage.worked()
                return max(left_ms, 0) / 1000
        return await self._alone.full_in_s(key)

    async def aclose(self) -> None:
        await self._redis.aclose()


class RedisSingleFlight:
    """A `SingleFlight`. Close it with `aclose`."""

    def __init__(self, url: str, *, clock: Clock, recorder: Recorder, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first call; `clock` is for the time without Redis. Raises `SetupError` for a bad address."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._claim = self._redis.register_script(_CLAIM)
        self._release = self._redis.register_script(_RELEASE)
        self._timeout_s = timeout_s
        self._outage = Outage("single flight", recorder)
        self._alone = MemorySingleFlight(clock=clock)

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        lifetime_ms = max(ttl // timedelta(milliseconds=1), 1)
        if not self._outage.is_resting:
            try:
                async with deadline(self._timeout_s):
                    holder = await self._claim(keys=[_name(scope, key)], args=[job_id, lifetime_ms])
            except TROUBLE as exc:
                self._outage.failed(exc)
            else:
                self._outage.worked()
                return str(holder)
        return await self._alone.claim(scope, key, job_id, ttl=ttl)

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        await self._alone.release(scope, key, job_id)
        if self._outage.is_resting:
            return
        try:
            async with deadline(self._timeout_s):
                await self._release(keys=[_name(scope, key)], args=[job_id])
        except TROUBLE as exc:
            self._outage.failed(exc)

    async def aclose(self) -> None:
        await self._redis.aclose()


def _bucket(key: str) -> str:
    return f"gorkd:bucket:{digest(key).hex()}"


def _name(scope: Scope, key: str) -> str:
    """The scope within the digest too, since tenant and visibility may contain the name's colons."""
    place = digest("\x1f".join((scope.tenant, scope.visibility, key))).hex()
    return f"gorkd:flight:{scope.tenant}:{scope.visibility}:{place}"
