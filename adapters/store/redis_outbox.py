"""What a process has appended to its jobs' logs: sent to Redis in order, and kept until the job has ended.

While Redis is away an append is numbered here and sent later; should Redis come back empty, the
whole log is written anew. So neither an answer nor its progress waits for Redis or is lost with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.store.following import Tail, refuse_append
from adapters.store.redis_client import TROUBLE, Outage, deadline
from adapters.store.redis_streams import NEVER_SENT, Entry, Streams
from core.errors import StaleAttempt, StoreError
from core.events import Event

logger = logging.getLogger(__name__)

MAX_JOBS = 500  # mirrors of jobs whose end this process has not seen; some 50 KB each
MAX_UNSENT = 20_000  # events in all; a job has some hundred, so this is an outage in which 200 jobs run
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0


@dataclass
class _Mirror:
    """One job's log as this process wrote it; the first `sent` entries are known to be in Redis."""

    entries: list[Entry] = field(default_factory=list)
    sent: int = 0
    known: int = NEVER_SENT

    @property
    def unsent(self) -> list[Entry]:
        return self.entries[self.sent :]

    @property
    def is_over(self) -> bool:
        return self.sent == len(self.entries) and (not self.entries or self.entries[-1].type == "complete")


class Outbox:
    """Belongs to one event loop, on which one task sends. Close it with `aclose`."""

    def __init__(
        self, streams: Streams, outage: Outage, *, ttl_ms: int, timeout_s: float, ring: Callable[[str], None]
    ) -> None:
        """`timeout_s` bounds one sending; `ring` is called with a job's id when its log has grown."""
        self._streams = streams
        self._outage = outage
        self._ttl_ms = ttl_ms
        self._timeout_s = timeout_s
        self._ring = ring
        self._mirrors: dict[str, _Mirror] = {}
        self._waiting: dict[str, asyncio.Future[Event]] = {}  # by nonce
        self._dirty: dict[str, None] = {}  # job ids, first come first served
        self._work = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._is_numbering = False  # the last sending failed, so nobody waits for Redis to number an event

    async def append(self, job_id: str, entry: Entry) -> Event:
        """The event with its number. Raises `StaleAttempt`, and `StoreError` when far too much waits for Redis."""
        if self.unsent() >= MAX_UNSENT:
            raise StoreError(f"{MAX_UNSENT} events wait for Redis, and no more are kept")
        mirror = self._mirror(job_id)
        mirror.entries.append(entry)
        self._dirty[job_id] = None
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all(), name="gorkd-redis-outbox")
        self._work.set()
        if self._is_numbering:
            self._number_here(mirror, job_id)
            return entry.event()
        future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._waiting[entry.nonce] = future
        return await future

    def tail(self, job_id: str, after: int) -> Tail | None:
        """What this process itself has written and not seen the end of; None when that is nothing."""
        entries = [entry for entry in self._mirrors.get(job_id, _Mirror()).entries if entry.seq]
        if not entries:
            return None
        events = tuple(entry.event() for entry in entries if entry.seq > after)
        return Tail(events, entries[-1].attempt, entries[-1].type == "complete")

    def unsent(self) -> int:
        """How many events Redis has not confirmed."""
        return sum(len(self._mirrors[job_id].unsent) for job_id in self._dirty)

    def forget(self, job_id: str) -> None:
        mirror = self._mirrors.pop(job_id, None)
        self._dirty.pop(job_id, None)
        if mirror is not None:
            self._number_here(mirror, job_id)  # lets those go who wait

    async def aclose(self) -> None:
        """Send what is left, for at most as long as one sending may take, then stop."""
        if self._sender is None:
            return
        self._sender.cancel()
        await asyncio.wait([self._sender])
        self._sender = None
        try:
            async with deadline(self._timeout_s):
                while self._dirty:
                    await self._send(next(iter(self._dirty)))
        except TROUBLE as exc:
            self._outage.failed(exc)
            logger.warning("%d events were never sent to Redis", self.unsent())
            self._number_unsent()

    def _mirror(self, job_id: str) -> _Mirror:
        if job_id not in self._mirrors and len(self._mirrors) >= MAX_JOBS:
            idle = next((name for name in self._mirrors if name not in self._dirty), None)
            if idle is not None:
                del self._mirrors[idle]
        return self._mirrors.setdefault(job_id, _Mirror())

    async def _send_all(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            await self._work.wait()
            self._work.clear()
            while self._dirty:
                try:
                    await self._send(next(iter(self._dirty)))
                except TROUBLE as exc:
                    self._outage.failed(exc)
                    self._is_numbering = True
                    self._number_unsent()
                    await asyncio.sleep(pause_s)
                    pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                else:
                    pause_s = FIRST_PAUSE_S
                    self._is_numbering = False
                    self._outage.worked()

    async def _send(self, job_id: str) -> None:
        mirror = self._mirrors[job_id]
        entries = mirror.unsent
        known, mirror.known = mirror.known, max(mirror.known, 0)  # from now on an entry may be there unconfirmed
        async with deadline(self._timeout_s):
            numbers = await self._streams.append(job_id, entries, known=known, ttl_ms=self._ttl_ms)
        if numbers is None:  # Redis has come back without the log
            mirror.sent, mirror.known = 0, 0
            return
        refused = set()
        for entry, number in zip(entries, numbers, strict=True):
            if number > 0:
                entry.seq, mirror.known = number, max(mirror.known, number)
                self._settle(entry)
            else:
                refused.add(entry.nonce)
                self._refuse(job_id, entry, newest=-number)
        mirror.entries = [entry for entry in mirror.entries if entry.nonce not in refused]
        mirror.sent += len(entries) - len(refused)
        if not mirror.unsent:
            self._dirty.pop(job_id, None)
        if mirror.is_over:
            self._mirrors.pop(job_id, None)
        self._ring(job_id)

    def _number_unsent(self) -> None:
        for job_id in self._dirty:
            self._number_here(self._mirrors[job_id], job_id)

    def _number_here(self, mirror: _Mirror, job_id: str) -> None:
        """Numbers that hold unless somebody else appends meanwhile; Redis decides when it is back."""
        last = max(mirror.known, 0)
        for entry in mirror.entries:
            entry.seq = entry.seq or last + 1
            last = max(last, entry.seq)
            self._settle(entry)
        self._ring(job_id)

    def _settle(self, entry: Entry) -> None:
        future = self._waiting.pop(entry.nonce, None)
        if future is not None and not future.done():
            future.set_result(entry.event())

    def _refuse(self, job_id: str, entry: Entry, *, newest: int) -> None:
        try:
            refuse_append(job_id, entry.attempt, newest=newest, is_complete=True)
        except StaleAttempt as exc:
            future = self._waiting.pop(entry.nonce, None)
            if future is None:  # numbered here during an outage
                logger.warning("an event was dropped: %s", exc)
            elif not future.done():
                future.set_exception(exc)
