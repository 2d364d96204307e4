"""What everything on Redis shares: how it is dialled, what counts as trouble, and how an outage is told.

Nobody's answer may wait for Redis or fail by it, so each part says itself what it does without.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from core.errors import SetupError, StoreError
from core.ports import Recorder
from core.telemetry import Measurement

logger = logging.getLogger(__name__)

TIMEOUT_S = 0.4  # a command takes under 1 ms; an exact cache hit may take 500 ms in all (S003-24)
MAX_CONNECTIONS = 8  # a command holds one for under 1 ms; a thousand followers share them
REST_S = 1.0  # between attempts while Redis is away, so that an outage costs one timeout a second and not one a call

TROUBLE = (RedisError, OSError, TimeoutError, UnicodeDecodeError)  # the last: another program's value in our place


def open_redis(
    url: str,
    *,
    timeout_s: float = TIMEOUT_S,
    reply_timeout_s: float | None = None,
    max_connections: int = MAX_CONNECTIONS,
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
        user_message="Redis (REDIS_URL) does not answer; please try again when it is back.",
    )


class Outage:
    """Whether Redis is away, as one part of gorkd sees it: warns when that begins and ends, counts every failure."""

    def __init__(self, part: str, recorder: Recorder) -> None:
        self._part = part
        self._recorder = recorder
        self._tries_at = 0.0
        self.is_on = False

    @property
    def is_resting(self) -> bool:
        """It failed a moment ago: not worth another timeout yet."""
        return self.is_on and asyncio.get_running_loop().time() < self._tries_at

    def failed(self, exc: BaseException) -> None:
        self._tries_at = asyncio.get_running_loop().time() + REST_S
        self._recorder.record(Measurement("errors", 1, f"{self._part}:{type(exc).__name__}"))
        if not self.is_on:
            self.is_on = True
            logger.warning("Redis is away, %s goes on without it: %s", self._part, exc or type(exc).__name__)

    def worked(self) -> None:
        if self.is_on:
            self.is_on = False
            logger.warning("Redis is back for %s", self._part)
