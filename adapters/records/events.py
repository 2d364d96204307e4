"""The replayable log of each job, and how it is followed: what is there, then what comes, until `complete`.

A `Bell` wakes the followers of this process; a doorbell, where there is one, those of other processes. Whatever is
missed is found by asking again every `poll_s`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.records.sql import Sql, Tables, moment
from core.model.codec import decode, encode
from core.model.errors import JobNotFound, StaleAttempt, StoreError
from core.model.job import Event, EventType, Json
from core.model.ports import Clock

if TYPE_CHECKING:
    from adapters.records.redis import RedisDoorbell

POLL_S = 0.15  # other processes see an event within 300 ms
RUNG_POLL_S = 2.0  # where a doorbell rings, or whoever writes is in this process; a net below it
SURELY_HEARD = 3  # tails in a row that were rung for: more than asking for a job, or cancelling it, writes
PATIENCE_S = 60.0  # how long a follower waits for a database that is away

_LAST = "SELECT seq, attempt, type FROM events WHERE job_id = ? ORDER BY seq DESC LIMIT 1"
_AFTER = "SELECT seq, type, attempt, at, data FROM events WHERE job_id = ? AND seq > ? ORDER BY seq"
_INSERT = """
    INSERT INTO events (job_id, seq, tenant, visibility, attempt, type, at, data)
    SELECT id, ?, tenant, visibility, ?, ?, ?, ? FROM jobs WHERE id = ?
"""


class SqlEventLog:
    """An `EventLog`. The job must have been saved, else an append raises `JobNotFound`.

    After its `complete` an attempt appends no more (`StaleAttempt`). A follower in this process is
    woken at once, one in another process by the doorbell, or within `poll_s`.
    """

    def __init__(
        self, tables: Tables, *, clock: Clock, doorbell: RedisDoorbell | None = None, poll_s: float = POLL_S
    ) -> None:
        self._tables = tables
        self._clock = clock
        self._poll_s = poll_s
        self._bell = Bell()
        self._doorbell = doorbell
        self._failing_since: float | None = None

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        at = self._clock()

        def change(sql: Sql) -> Event:
            ((seq, newest, last_type),) = sql.rows(_LAST, (job_id,)) or [(0, 0, "")]
            refuse_append(job_id, attempt, newest=newest, is_complete=last_type == "complete")
            row = (seq + 1, attempt, type, at, encode_data(data), job_id)
            if sql.execute(_INSERT, row) == 0:
                raise JobNotFound(job_id)
            return Event(seq=seq + 1, type=type, attempt=attempt, at=at, data=data)

        event = await self._tables.write(change, key=f"events:{job_id}")
        self._bell.ring(job_id)
        if self._doorbell:
            self._doorbell.ring(job_id)
        return event

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        return await self._tables.read(lambda sql: _events(sql, job_id, after))

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Goes on when the database was away for less than `PATIENCE_S`. Raises `StoreError`."""

        async def read_tail(seen: int) -> Tail:
            return await self._tail(job_id, seen)

        if self._doorbell:
            self._doorbell.listen(self._bell.ring, self._bell.ring_all)
        with self._bell.listen(job_id) as rung:
            async for event in follow_log(read_tail, rung, after=after, poll_s=self._pause_s):
                yield event

    def followers(self) -> int:
        """How many followers wait in this process."""
        return self._bell.listeners()

    def _pause_s(self) -> float:
        return self._poll_s if self._doorbell is None or self._doorbell.is_away else RUNG_POLL_S

    async def _tail(self, job_id: str, after: int) -> Tail:
        now = asyncio.get_running_loop().time()
        try:
            tail = await self._tables.read(lambda sql: _read_tail(sql, job_id, after))
        except StoreError:
            self._failing_since = self._failing_since or now
            if now - self._failing_since > PATIENCE_S:
                raise
            return Tail((), 0, False)
        self._failing_since = None
        return tail


def _events(sql: Sql, job_id: str, after: int) -> list[Event]:
    return [
        Event(seq=seq, type=kind, attempt=attempt, at=moment(at), data=decode(data, dict))
        for seq, kind, attempt, at, data in sql.rows(_AFTER, (job_id, after))
    ]


def _read_tail(sql: Sql, job_id: str, after: int) -> Tail:
    """Two statements: whatever comes between them is newer than `last`, and is read again with the next tail."""
    last = sql.rows(_LAST, (job_id,))
    if not last:
        return Tail((), 0, False)
    ((seq, attempt, kind),) = last
    events = tuple(event for event in _events(sql, job_id, after) if event.seq <= seq)
    return Tail(events, attempt, kind == "complete")


@dataclass(frozen=True)
class Tail:
    """The events after a place in the log, and of the whole log its newest attempt (0: empty) and whether it ended."""

    events: tuple[Event, ...]
    attempt: int
    is_complete: bool


class Bell:
    """Wakes the followers of a job. Belongs to one event loop; holds nothing for a job that nobody follows."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Event]] = {}

    def ring(self, job_id: str) -> None:
        for rung in self._listeners.get(job_id, ()):
            rung.set()

    def ring_all(self) -> None:
        """Something may have been missed."""
        for job_id in self._listeners:
            self.ring(job_id)

    @contextmanager
    def listen(self, job_id: str) -> Iterator[asyncio.Event]:
        rung = asyncio.Event()
        self._listeners.setdefault(job_id, set()).add(rung)
        try:
            yield rung
        finally:
            self._listeners[job_id].discard(rung)
            if not self._listeners[job_id]:
                del self._listeners[job_id]

    def listeners(self) -> int:
        """How many followers wait, over all jobs."""
        return sum(len(listeners) for listeners in self._listeners.values())


async def follow_log(
    read_tail: Callable[[int], Awaitable[Tail]], rung: asyncio.Event, *, after: int, poll_s: Callable[[], float | None]
) -> AsyncIterator[Event]:
    """Yield events after `after` in order, without those of an attempt older than one already seen.

    Ends after `complete`, unless a newer attempt has taken the job up again. `poll_s` gives None for
    a log that only this process writes to; while every event is rung for, it nearly is one.
    """
    newest = heard = 0
    while True:
        is_rung = rung.is_set()
        rung.clear()
        tail = await read_tail(after)
        if tail.events:
            heard = heard + 1 if is_rung else 0
        for event in tail.events:
            after = event.seq
            is_superseded = event.type == "complete" and event.attempt < tail.attempt
            if event.attempt < newest or is_superseded:
                continue
            newest = event.attempt
            yield event
            if event.type == "complete":
                return
        if tail.is_complete:
            return
        with suppress(TimeoutError):
            pause_s = poll_s()
            is_near = pause_s is not None and heard >= SURELY_HEARD
            async with asyncio.timeout(RUNG_POLL_S if is_near else pause_s):
                await rung.wait()


def refuse_append(job_id: str, attempt: int, *, newest: int, is_complete: bool) -> None:
    """Raises `StaleAttempt` for an attempt that is older than `newest`, or whose log has its `complete` already."""
    if attempt < newest:
        raise StaleAttempt(f"attempt {attempt} of {job_id} appended after attempt {newest}")
    if attempt == newest and is_complete:
        raise StaleAttempt(f"attempt {attempt} of {job_id} appended after its own end")


def encode_data(data: Mapping[str, Json]) -> str:
    """What a log keeps of an event. Raises `StoreError` for what no JSON holds, e.g. half a surrogate pair."""
    try:
        return encode(dict(data))
    except ValueError as exc:
        raise StoreError(f"an event's data cannot be stored: {type(exc).__name__}") from exc
