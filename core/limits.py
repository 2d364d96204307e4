"""How much may happen, and how often at once: quotas, the pace of providers, and identical questions.

The arithmetic of a token bucket stands here; who keeps the numbers, for how many processes, is an adapter's business.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Protocol

from core.job import Scope

ROUNDING_S = 1e-4  # doubles around 2e9 seconds are 2e-7 apart, and a burst adds up hundreds of such steps


class RateLimits(Protocol):
    """Token buckets, shared by every process that uses the same store."""

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        """Take one token of bucket `key`; 0.0 when there was one, else the seconds until there will be one.

        A bucket holds at most `burst` (≥ 1) tokens, is full at first, and gains `rate` (> 0) a second.
        A refusal takes nothing and reserves nothing. Never fails: a store that is away lets pass.
        """
        ...

    async def full_in_s(self, key: str) -> float:
        """Seconds until bucket `key` will be full; 0.0 for one that is, or that nobody has used. Never fails."""
        ...


class SingleFlight(Protocol):
    """One of several identical questions is researched; the others wait for its answer."""

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        """The job that has `key` in this scope: `job_id` itself when nobody had it, or when the store is away.

        A claim ends after `ttl`, or when it is released. Claiming again what one holds changes nothing.
        """
        ...

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        """Give `key` back, if `job_id` has it."""
        ...


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
