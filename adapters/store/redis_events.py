"""The replayable log of each job in Redis, for several machines."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

from adapters.store.following import Bell, Tail, encode_data, follow_log
from adapters.store.redis_client import REST_S, TIMEOUT_S, TROUBLE, Outage, deadline, open_redis
from adapters.store.redis_outbox import FIRST_PAUSE_S, LONGEST_PAUSE_S, Outbox
from adapters.store.redis_streams import Entry, Streams
from core.errors import StoreError
from core.events import Event, EventType, Json
from core.ports import Clock, Recorder

TTL = timedelta(days=30)  # after the last event; events are kept as long as prompts and traces
POLL_S = 5.0  # a net below the rings, should more come than their stream holds
BLOCK_MS = 5000  # the server answers at the latest then, so that a dead connection is noticed


class RedisEventLog:
    """An `EventLog`. Close it with `aclose`.

    Followers hear of an append within milliseconds, in every process. While Redis is away an append
    succeeds, followers in this process get it at once, and those elsewhere when Redis is back.
    """

    def __init__(
        self, url: str, *, clock: Clock, recorder: Recorder, ttl: timedelta = TTL, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Connects at the first call. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._listening = open_redis(
            url, timeout_s=timeout_s, reply_timeout_s=BLOCK_MS / 1000 + timeout_s, max_connections=1
        )
        self._streams = Streams(self._redis)
        self._clock = clock
        self._timeout_s = timeout_s
        self._bell = Bell()
        self._outage = Outage("events", recorder)
        ttl_ms = max(ttl // timedelta(milliseconds=1), 1)
        self._outbox = Outbox(self._streams, self._outage, ttl_ms=ttl_ms, timeout_s=timeout_s, ring=self._bell.ring)
        self._listener: asyncio.Task[None] | None = None

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        text = encode_data(data)
        entry = Entry(uuid.uuid4().hex, attempt, type, self._clock(), dict(data), text)
        return await self._outbox.append(job_id, entry)

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        """Without Redis what this process has appended; raises `StoreError` when that is nothing."""
        try:
            async with deadline(self._timeout_s):
                return await self._streams.read(job_id, after)
        except TROUBLE as exc:
            self._outage.failed(exc)
            tail = self._outbox.tail(job_id, after)
            if tail is None:
                raise StoreError(f"Redis (REDIS_URL) did not answer: {type(exc).__name__}") from exc
            return list(tail.events)

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Goes on through an outage of Redis."""

        async def read_tail(seen: int) -> Tail:
            return await self._tail(job_id, seen)

        if self._listener is None:
            self._listener = asyncio.create_task(self._listen(), name="gorkd-redis-rings")
        with self._bell.listen(job_id) as rung:
            async for event in follow_log(read_tail, rung, after=after, poll_s=POLL_S):
                yield event

    def followers(self) -> int:
        """How many followers wait in this process."""
        return self._bell.listeners()

    def unsent(self) -> int:
        """How many appended events Redis has not confirmed; above 0 for long only while it is away."""
        return self._outbox.unsent()

    async def forget(self, job_id: str) -> None:
        """Drop a job's log. Raises `StoreError`."""
        self._outbox.forget(job_id)
        try:
            async with deadline(self._timeout_s):
                await self._streams.forget(job_id)
        except TROUBLE as exc:
            raise StoreError(f"Redis (REDIS_URL) did not answer: {type(exc).__name__}") from exc

    async def aclose(self) -> None:
        """Send what is left, as long as one command may take, then let go of Redis."""
        await self._outbox.aclose()
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
            self._listener = None
        await self._redis.aclose()
        await self._listening.aclose()

    async def _tail(self, job_id: str, after: int) -> Tail:
        try:
            async with deadline(self._timeout_s):
                return await self._streams.tail(job_id, after)
        except TROUBLE as exc:
            self._outage.failed(exc)
            asyncio.get_running_loop().call_later(REST_S, self._bell.ring, job_id)  # the ring that led here is used up
            return self._outbox.tail(job_id, after) or Tail((), 0, False)

    async def _listen(self) -> None:
        """Ring for what other processes append; after an interruption for everybody."""
        streams, pause_s = Streams(self._listening), FIRST_PAUSE_S
        while True:
            try:
                async with deadline(self._timeout_s):
                    last = await streams.last_ring()
                self._bell.ring_all()
                while True:
                    async with deadline(BLOCK_MS / 1000 + self._timeout_s):
                        last, job_ids = await streams.wait_for_rings(last, block_ms=BLOCK_MS)
                    self._outage.worked()
                    pause_s = FIRST_PAUSE_S
                    for job_id in job_ids:
                        self._bell.ring(job_id)
            except TROUBLE as exc:
                self._outage.failed(exc)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
