"""What may be used again: finished answers (by key and by meaning), public pages and search results.

Also what processes count together: token buckets, and single flight of identical questions. Answers are a log of
digests, job ids and vectors; those of a place (scope and group) lie in memory too (vectors.py).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from adapters.records.sql import LISTED_NUMBERS, Dialect, Sql, Tables, TimedStore, digest, insertion, moment
from adapters.records.vectors import VectorMirrors
from core.model.errors import JobNotFound, StoreError
from core.model.job import Scope
from core.model.ports import Clock, KeptAnswer, Measurement, Record, SimilarAnswer, Vector
from core.pipeline.limits import take_token

logger = logging.getLogger(__name__)
T = TypeVar("T")

MAX_BUCKETS = 10_000  # names of buckets, about 1 MB, before those that are full again are dropped

_FILL = insertion("buckets", "key, full_at", key="key", changes="full_at")
_FIND_FLIGHT = "SELECT job_id FROM flights WHERE tenant = ? AND visibility = ? AND key = ?"
_CLAIM = insertion("flights", "tenant, visibility, key, job_id, expires_at")
_RELEASE = "DELETE FROM flights WHERE tenant = ? AND visibility = ? AND key = ? AND job_id = ?"


class SqlLimits(TimedStore):
    """`SharedLimits`. What lets pass is counted. Buckets that are full again are dropped, and of questions digests are
    kept, since they say what was asked.
    """

    def __init__(self, tables: Tables, *, clock: Clock, record: Record) -> None:
        super().__init__(tables, clock=clock)
        self._record = record

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        now = self._clock().timestamp()

        def change(sql: Sql) -> float:
            sql.execute("DELETE FROM buckets WHERE full_at < ?", (now,))
            rows = sql.rows("SELECT full_at FROM buckets WHERE key = ?", (key,))
            full_at = rows[0][0] if rows else 0.0
            after, wait_s = take_token(full_at, now, rate=rate, burst=burst)
            sql.execute(_FILL, (key, after))
            return wait_s

        take_token(0.0, now, rate=rate, burst=burst)  # refuses what is no bucket before the database sees it
        return await self._asked("limits", self._tables.write(change), 0.0)

    async def full_in_s(self, key: str) -> float:
        asking = self._tables.rows("SELECT full_at FROM buckets WHERE key = ?", (key,))
        rows = await self._asked("limits", asking, [])
        return max(rows[0][0] - self._clock().timestamp(), 0.0) if rows else 0.0

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        now = self._clock()
        place = (scope.tenant, scope.visibility, digest(key))

        def change(sql: Sql) -> str:
            sql.execute("DELETE FROM flights WHERE expires_at <= ?", (now,))
            if rows := sql.rows(_FIND_FLIGHT, place):
                return str(rows[0][0])
            sql.execute(_CLAIM, (*place, job_id, now + ttl))
            return job_id

        return await self._asked("single flight", self._tables.write(change), job_id)

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        place = (scope.tenant, scope.visibility, digest(key))
        await self._asked("single flight", self._tables.execute(_RELEASE, (*place, job_id)), 0)

    async def _asked(self, part: str, asking: Awaitable[T], passing: T) -> T:
        """What the database says, `passing` while it is away."""
        try:
            return await asking
        except StoreError as exc:
            logger.warning("%s let pass: %s", part, exc)
            self._record(Measurement("errors", 1, f"{part}:{type(exc).__name__}"))
            return passing


class MemoryLimits:
    """`SharedLimits` of one process, and what counts while a shared store is away. Full buckets are dropped."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}
        self._flights: dict[tuple[Scope, str], tuple[str, datetime]] = {}

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        now = self._clock().timestamp()
        after, wait_s = take_token(self._full_at.get(key, 0.0), now, rate=rate, burst=burst)
        if len(self._full_at) > MAX_BUCKETS:
            self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        self._full_at[key] = after
        return wait_s

    async def full_in_s(self, key: str) -> float:
        return max(self._full_at.get(key, 0.0) - self._clock().timestamp(), 0.0)

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        now = self._clock()
        self._flights = {place: flight for place, flight in self._flights.items() if flight[1] > now}
        return self._flights.setdefault((scope, key), (job_id, now + ttl))[0]

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        if self._flights.get((scope, key), ("",))[0] == job_id:
            del self._flights[scope, key]


MAX_ENTRIES = 20_000  # in a process, all places together; 120 MB at 1,536 numbers a vector

_FIND = "SELECT job_id, created_at FROM answers WHERE tenant = ? AND visibility = ? AND key = ? AND expires_at > ?"
_OF_JOB = insertion("answers", "key, grouping, created_at, expires_at, vector", of_job=True)
_PUT = f"{_OF_JOB} AND tenant = ? AND visibility = ?"
_REPLACE = "DELETE FROM answers WHERE tenant = ? AND visibility = ? AND key = ?"
_TRIM = """
    DELETE FROM answers WHERE number IN
        (SELECT number FROM answers ORDER BY number DESC LIMIT 9223372036854775807 OFFSET ?)
"""
_FRESH: dict[Dialect, str] = {
    dialect: f"SELECT number, job_id, created_at FROM answers WHERE number IN {numbers} AND expires_at > ?"  # noqa: S608 -- our words
    for dialect, numbers in LISTED_NUMBERS.items()
}
_KEPT = """
    SELECT job_id, tenant, visibility, created_at, expires_at FROM answers
    WHERE expires_at > ? AND (? = '' OR tenant = ?) ORDER BY number DESC
"""

MAX_REUSED = 5_000  # a page is 20 KB on average, so this is about 100 MB
MAX_CHARS = 1_000_000  # of one entry; a longer page is read again
_PUT_REUSED = insertion("reused", "key, text, expires_at", key="key", changes="text, expires_at")
_TRIM_REUSED = """
    DELETE FROM reused WHERE key IN (SELECT key FROM reused ORDER BY expires_at DESC LIMIT 9223372036854775807 OFFSET ?)
"""


class SqlAnswerCache(TimedStore):
    """An `AnswerCache`. Each put drops what has expired and the oldest over `max_rows`."""

    def __init__(self, tables: Tables, *, clock: Clock, max_rows: int = MAX_ENTRIES) -> None:
        super().__init__(tables, clock=clock)
        self._max_rows = max_rows
        self._mirrors = VectorMirrors(tables, "answers", "grouping", max_rows=max_rows)

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        rows = await self._tables.rows(_FIND, (scope.tenant, scope.visibility, digest(key), self._clock()))
        return (rows[0][0], moment(rows[0][1])) if rows else None

    async def put(
        self, scope: Scope, key: str, job_id: str, *, ttl: timedelta, group: str = "", vector: Vector | None = None
    ) -> None:
        """Raises `JobNotFound` unless the job was saved in this very scope."""
        now = self._clock()
        bytes_of_vector = None if vector is None else vector.astype("<f4").tobytes()
        row = (digest(key), digest(group), now, now + ttl, bytes_of_vector, job_id, scope.tenant, scope.visibility)

        def change(sql: Sql) -> None:
            sql.execute(_REPLACE, (scope.tenant, scope.visibility, digest(key)))
            if sql.execute(_PUT, row) == 0:
                raise JobNotFound(job_id)
            sql.execute("DELETE FROM answers WHERE expires_at <= ?", (now,))
            sql.execute(_TRIM, (self._max_rows,))

        await self._tables.write(change, key=f"answers:{scope}")  # a mirror relies on the order of numbers

    async def similar(
        self, scope: Scope, group: str, vector: Vector, *, limit: int, at_least: float
    ) -> list[SimilarAnswer]:
        place = (scope.tenant, scope.visibility, digest(group))
        near = await self._mirrors.nearest(place, vector, at_least=at_least)
        values = (json.dumps([number for number, _ in near]), self._clock())
        rows = await self._tables.rows(_FRESH[self._tables.dialect], values) if near else []
        fresh = {number: (job_id, moment(created_at)) for number, job_id, created_at in rows}
        found = [SimilarAnswer(*fresh[number], similarity) for number, similarity in near if number in fresh]
        return found[:limit]

    async def kept(self, *, tenant: str = "") -> list[KeptAnswer]:
        rows = await self._tables.rows(_KEPT, (self._clock(), tenant, tenant))
        return [KeptAnswer(row[0], Scope(row[1], row[2]), moment(row[3]), moment(row[4])) for row in rows]

    async def drop(self, job_ids: Sequence[str]) -> int:
        def change(sql: Sql) -> int:
            return sum(sql.execute("DELETE FROM answers WHERE job_id = ?", (job_id,)) for job_id in job_ids)

        return await self._tables.write(change)


class SqlReuseStore(TimedStore):
    """A `ReuseStore`."""

    def __init__(self, tables: Tables, *, clock: Clock, max_rows: int = MAX_REUSED) -> None:
        super().__init__(tables, clock=clock)
        self._max_rows = max_rows

    async def get(self, key: str) -> str | None:
        find = "SELECT text FROM reused WHERE key = ? AND expires_at > ?"
        try:
            rows = await self._tables.rows(find, (digest(key), self._clock()))
        except StoreError as exc:
            logger.warning("nothing can be reused: %s", exc)
            return None
        return str(rows[0][0]) if rows else None

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None:
        now = self._clock()

        def change(sql: Sql) -> None:
            sql.execute(_PUT_REUSED, (digest(key), text, now + ttl))
            sql.execute("DELETE FROM reused WHERE expires_at <= ?", (now,))
            sql.execute(_TRIM_REUSED, (self._max_rows,))

        if len(text) > MAX_CHARS:
            return
        try:
            await self._tables.write(change)
        except StoreError as exc:
            logger.warning("nothing is kept to be reused: %s", exc)

    async def clear(self) -> int:
        return await self._tables.execute("DELETE FROM reused")
