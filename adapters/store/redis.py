"""Finished answers by exact key in Redis, shared by several machines.

A cache that cannot be reached is a cache miss: it is logged and counted, and costs at most
`timeout_s`; nobody's answer waits for it or fails by it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from adapters.store.digest import digest
from adapters.store.redis_client import TIMEOUT_S, TROUBLE, deadline, open_redis
from core.codec import decode, encode
from core.errors import StoreError
from core.job import Scope
from core.ports import Clock, Recorder
from core.telemetry import Measurement

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CachedAnswer:
    """What a key holds. The scope is repeated because tenant and visibility may contain the key's colons."""

    job_id: str
    scope: Scope
    created_at: datetime
    expires_at: datetime


class RedisAnswerCache:
    """An `AnswerCache`. Close it with `aclose`."""

    def __init__(self, url: str, *, clock: Clock, recorder: Recorder, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first call. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._clock = clock
        self._recorder = recorder
        self._timeout_s = timeout_s

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        """None also when Redis does not answer or holds something unreadable."""
        answer: CachedAnswer | None = None
        async with self._failing_open("looked up"):
            text = await self._redis.get(_name(scope, key))
            answer = decode(str(text), CachedAnswer) if text else None
        if answer is None or answer.scope != scope or answer.expires_at <= self._clock():
            return None
        return answer.job_id, answer.created_at

    async def put(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> None:
        """Never raises: an answer that could not be cached is an answer all the same."""
        lifetime_ms = ttl // timedelta(milliseconds=1)
        if lifetime_ms <= 0:
            return
        now = self._clock()
        answer = CachedAnswer(job_id, scope, created_at=now, expires_at=now + ttl)
        async with self._failing_open("kept"):
            await self._redis.set(_name(scope, key), encode(answer), px=lifetime_ms)

    async def aclose(self) -> None:
        await self._redis.aclose()

    @asynccontextmanager
    async def _failing_open(self, deed: str) -> AsyncIterator[None]:
        try:
            async with deadline(self._timeout_s):
                yield
        except (*TROUBLE, StoreError, UnicodeDecodeError) as exc:
            logger.warning("answer could not be %s in Redis: %s", deed, exc or type(exc).__name__)
            self._recorder.record(Measurement("errors", 1, f"cache:{type(exc).__name__}"))


def _name(scope: Scope, key: str) -> str:
    return f"gorkd:answer:{scope.tenant}:{scope.visibility}:{digest(key).hex()}"
