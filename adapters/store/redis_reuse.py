"""Public pages and search results in Redis, by digest, for whoever needs them next."""

from __future__ import annotations

import logging
from datetime import timedelta

from adapters.store.redis_client import TIMEOUT_S, TROUBLE, away, deadline, open_redis
from adapters.store.sql import digest

logger = logging.getLogger(__name__)

MAX_CHARS = 1_000_000  # of one entry; a longer page is read again
BATCH = 500  # keys looked for by one command


class RedisReuseStore:
    """A `ReuseStore` in Redis. Close it with `aclose`."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first call. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._timeout_s = timeout_s

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

    async def aclose(self) -> None:
        await self._redis.aclose()


def _reused(key: str) -> str:
    return f"gorkd:reused:{digest(key).hex()}"
