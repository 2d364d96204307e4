"""Taking out of Redis what belongs to forgotten jobs: their claims, and what an older gorkd kept there of them.

Nothing here needs a sweep: every key of a job has a time to live.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from core.errors import SetupError, StoreError
from core.forgetting import Whose
from core.job import personal

WITHIN_S = 30.0  # the whole of it; a million keys are looked through in some 10 s
COMMAND_TIMEOUT_S = 5.0
BATCH = 500  # keys looked at by one command

# Then tenant, visibility and a digest. The value names the job; a stream of vectors (near) has none, and its entries
# go with their answers.
_SCOPED = ("gorkd:answer:", "gorkd:flight:", "gorkd:near:")
_VECTOR = re.compile(r'"stream":"(gorkd:near:[^"]+)","number":"([\d-]+)"')
_JOB_ID = re.compile(r"job_\w+")


class RedisArchive:
    """An `Archive`. Close it with `aclose`."""

    name = "Redis"

    def __init__(self, url: str) -> None:
        """Connects at the first call. Raises `SetupError` when `url` is not an address of a Redis."""
        try:
            self._redis = Redis.from_url(
                url,
                decode_responses=True,
                socket_connect_timeout=COMMAND_TIMEOUT_S,
                socket_timeout=COMMAND_TIMEOUT_S,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as exc:
            raise SetupError("REDIS_URL is not an address such as redis://host:6379/0") from exc

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Raises `StoreError`."""
        try:
            async with asyncio.timeout(WITHIN_S):
                gone = 0
                for start in range(0, len(job_ids), BATCH):
                    streams = [f"gorkd:events:{job_id}" for job_id in job_ids[start : start + BATCH]]
                    gone += int(await self._redis.unlink(*streams))
                for prefix in _SCOPED:
                    gone += await self._erase_scoped(prefix, whose, frozenset(job_ids))
                return gone
        except (RedisError, OSError, TimeoutError) as exc:
            raise StoreError(
                f"Redis (REDIS_URL) failed: {type(exc).__name__}",
                user_message="Redis (REDIS_URL) does not answer, so what it holds could not be removed.",
            ) from exc

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        return 0

    async def aclose(self) -> None:
        await self._redis.aclose()

    async def _erase_scoped(self, prefix: str, whose: Whose, job_ids: frozenset[str]) -> int:
        gone = 0
        batch: list[str] = []
        async for key in self._redis.scan_iter(match=f"{prefix}*", count=BATCH):
            batch.append(key)
            if len(batch) == BATCH:
                gone += await self._erase_batch(prefix, batch, whose, job_ids)
                batch = []
        return gone + await self._erase_batch(prefix, batch, whose, job_ids)

    async def _erase_batch(self, prefix: str, keys: Sequence[str], whose: Whose, job_ids: frozenset[str]) -> int:
        if not keys:
            return 0
        values = await self._redis.mget(keys)
        place = _place_of(whose)
        doomed = [
            key
            for key, value in zip(keys, values, strict=True)
            if not job_ids.isdisjoint(_JOB_ID.findall(str(value or "")))
            or (place and place.match(key.removeprefix(prefix)))
        ]
        for key, value in zip(keys, values, strict=True):
            vector = _VECTOR.search(str(value or "")) if key in doomed else None
            if vector:
                await self._redis.xdel(*vector.groups())
        return int(await self._redis.unlink(*doomed)) if doomed else 0


def _place_of(whose: Whose) -> re.Pattern[str] | None:
    """How the names of keys begin that hold nothing but what is `whose`: with its tenant, or a person's own."""
    own = re.escape(personal(whose.user_id)) + ":" if whose.user_id else ""
    tenant = re.escape(whose.tenant) if whose.tenant else "[^:]+"
    return re.compile(f"{tenant}:{own}") if whose.user_id or whose.tenant else None
