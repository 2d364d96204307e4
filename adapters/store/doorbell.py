"""The doorbell of several processes: Redis tells each whose log has grown; where to look is the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress

from adapters.store.redis_client import TIMEOUT_S, TROUBLE, Outage, deadline, open_redis
from core.ports import Recorder

CHANNEL = "gorkd:rings"
WAIT_S = 5.0  # for a ring; then a dead connection is noticed
MAX_WAITING = 1000  # rings not sent yet, of as many jobs; whoever misses one asks again by himself
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0


class RedisDoorbell:
    """A `Doorbell`. While Redis is away nobody waits for it and nothing is lost. Close it with `aclose`."""

    def __init__(self, url: str, *, recorder: Recorder, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first ring or listener. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s, max_connections=1)
        self._listening = open_redis(url, timeout_s=timeout_s, reply_timeout_s=WAIT_S + timeout_s, max_connections=1)
        self._timeout_s = timeout_s
        self._outage = Outage("events", recorder)
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
