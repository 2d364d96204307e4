"""The replayable log of each job in PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC

from adapters.store.following import Bell, Tail, encode_data, follow_log, refuse_append
from adapters.store.postgres import PostgresDatabase, Row, fetch
from core.codec import decode
from core.errors import JobNotFound
from core.events import Event, EventType, Json
from core.ports import Clock

POLL_S = 0.15  # other processes see an event within 300 ms

_LOCK_JOB = "SELECT tenant, visibility FROM jobs WHERE id = %s FOR NO KEY UPDATE"  # one append at a time
_LAST = "SELECT seq, attempt, type FROM events WHERE job_id = %s ORDER BY seq DESC LIMIT 1"
_AFTER = "SELECT seq, type, attempt, at, data FROM events WHERE job_id = %s AND seq > %s ORDER BY seq"
_INSERT = """
    INSERT INTO events (job_id, seq, tenant, visibility, attempt, type, at, data)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""


class PostgresEventLog:
    """An `EventLog`. The job must have been saved, else an append raises `JobNotFound`.

    After its `complete` an attempt appends no more (`StaleAttempt`). A follower in this process is
    woken at once, one in another process within `poll_s`.
    """

    def __init__(self, database: PostgresDatabase, *, clock: Clock, poll_s: float = POLL_S) -> None:
        self._database = database
        self._clock = clock
        self._poll_s = poll_s
        self._bell = Bell()

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        at = self._clock()
        async with self._database.transaction() as connection:
            scopes = await fetch(connection, _LOCK_JOB, (job_id,))
            if not scopes:
                raise JobNotFound(job_id)
            seq, newest, last_type = next(iter(await fetch(connection, _LAST, (job_id,))), (0, 0, ""))
            refuse_append(job_id, attempt, newest=newest, is_complete=last_type == "complete")
            row = (job_id, seq + 1, *scopes[0], attempt, type, at, encode_data(data))
            await connection.execute(_INSERT.encode(), row)
        self._bell.ring(job_id)
        return Event(seq=seq + 1, type=type, attempt=attempt, at=at, data=data)

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        return [_event(row) for row in await self._database.rows(_AFTER, (job_id, after))]

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        async def read_tail(seen: int) -> Tail:
            return await self._tail(job_id, seen)

        with self._bell.listen(job_id) as rung:
            async for event in follow_log(read_tail, rung, after=after, poll_s=self._poll_s):
                yield event

    def followers(self) -> int:
        """How many followers wait in this process."""
        return self._bell.listeners()

    async def _tail(self, job_id: str, after: int) -> Tail:
        """Two statements: whatever comes between them is newer than `last`, and is read again with the next tail."""
        last = await self._database.rows(_LAST, (job_id,))
        if not last:
            return Tail((), 0, False)
        seq, attempt, kind = last[0]
        events = () if seq <= after else await self._database.rows(_AFTER, (job_id, after))
        return Tail(tuple(_event(row) for row in events if row[0] <= seq), attempt, kind == "complete")


def _event(row: Row) -> Event:
    seq, kind, attempt, at, data = row
    return Event(seq=seq, type=kind, attempt=attempt, at=at.astimezone(UTC), data=decode(data, dict))
