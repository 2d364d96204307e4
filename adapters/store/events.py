"""The replayable log of each job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from adapters.store.following import Bell, Tail, encode_data, follow_log, refuse_append
from adapters.store.sql import Sql, Tables, moment
from core.codec import decode
from core.errors import JobNotFound
from core.events import Event, EventType, Json
from core.ports import Clock

POLL_S = 0.15  # other processes see an event within 300 ms

_LAST = "SELECT seq, attempt, type FROM events WHERE job_id = ? ORDER BY seq DESC LIMIT 1"
_AFTER = "SELECT seq, type, attempt, at, data FROM events WHERE job_id = ? AND seq > ? ORDER BY seq"
_INSERT = """
    INSERT INTO events (job_id, seq, tenant, visibility, attempt, type, at, data)
    SELECT id, ?, tenant, visibility, ?, ?, ?, ? FROM jobs WHERE id = ?
"""


class SqlEventLog:
    """An `EventLog`. The job must have been saved, else an append raises `JobNotFound`.

    After its `complete` an attempt appends no more (`StaleAttempt`). A follower in this process is
    woken at once, one in another process within `poll_s`.
    """

    def __init__(self, tables: Tables, *, clock: Clock, poll_s: float = POLL_S) -> None:
        self._tables = tables
        self._clock = clock
        self._poll_s = poll_s
        self._bell = Bell()

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        at = self._clock()

        def change(sql: Sql) -> Event:
            ((seq, newest, last_type),) = sql.rows(_LAST, (job_id,)) or [(0, 0, "")]
            refuse_append(job_id, attempt, newest=newest, is_complete=last_type == "complete")
            row = (seq + 1, attempt, type, at, encode_data(data), job_id)
            if sql.execute(_INSERT, row) == 0:
                raise JobNotFound(job_id)
            return Event(seq=seq + 1, type=type, attempt=attempt, at=at, data=data)

        event = await self._tables.write(change)
        self._bell.ring(job_id)
        return event

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        return await self._tables.read(lambda sql: _events(sql, job_id, after))

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        async def read_tail(seen: int) -> Tail:
            return await self._tables.read(lambda sql: _tail(sql, job_id, seen))

        with self._bell.listen(job_id) as rung:
            async for event in follow_log(read_tail, rung, after=after, poll_s=self._poll_s):
                yield event

    def followers(self) -> int:
        """How many followers wait in this process."""
        return self._bell.listeners()


def _events(sql: Sql, job_id: str, after: int) -> list[Event]:
    return [
        Event(seq=seq, type=kind, attempt=attempt, at=moment(at), data=decode(data, dict))
        for seq, kind, attempt, at, data in sql.rows(_AFTER, (job_id, after))
    ]


def _tail(sql: Sql, job_id: str, after: int) -> Tail:
    """Two statements: whatever comes between them is newer than `last`, and is read again with the next tail."""
    last = sql.rows(_LAST, (job_id,))
    if not last:
        return Tail((), 0, False)
    ((seq, attempt, kind),) = last
    events = tuple(event for event in _events(sql, job_id, after) if event.seq <= seq)
    return Tail(events, attempt, kind == "complete")
