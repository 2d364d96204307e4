"""What may be used again: finished answers, by key and by meaning, and public pages and search results; and who may
ask for more just now: token buckets and single flight, shared by the processes of a database, or of one process.

Answers are a log of digests, job ids and vectors. Those of a place (scope and group) lie in memory as one matrix, so
that the nearest question is found without a database: what may not be compared does not lie in one matrix. Whoever
reads the log says what is new and how much there is; a mirror that disagrees starts over.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from adapters.records.sql import Sql, Tables, TimedStore, digest, moment
from core.model.errors import JobNotFound, StoreError
from core.model.job import Scope
from core.model.ports import Clock, KeptAnswer, Measurement, Record, SimilarAnswer, Vector
from core.pipeline.limits import take_token

logger = logging.getLogger(__name__)

MAX_BUCKETS = 10_000  # names of buckets, about 1 MB, before those that are full again are dropped

_FILL = """
    INSERT INTO buckets (key, full_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at
"""
_FIND_FLIGHT = "SELECT job_id FROM flights WHERE tenant = ? AND visibility = ? AND key = ?"
_CLAIM = "INSERT INTO flights (tenant, visibility, key, job_id, expires_at) VALUES (?, ?, ?, ?, ?)"
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
        try:
            return await self._tables.write(change)
        except StoreError as exc:
            self._let_pass("limits", exc)
            return 0.0

    async def full_in_s(self, key: str) -> float:
        try:
            rows = await self._tables.rows("SELECT full_at FROM buckets WHERE key = ?", (key,))
        except StoreError as exc:
            self._let_pass("limits", exc)
            return 0.0
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

        try:
            return await self._tables.write(change)
        except StoreError as exc:
            self._let_pass("single flight", exc)
            return job_id

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        place = (scope.tenant, scope.visibility, digest(key))
        try:
            await self._tables.execute(_RELEASE, (*place, job_id))
        except StoreError as exc:
            self._let_pass("single flight", exc)

    def _let_pass(self, part: str, exc: StoreError) -> None:
        logger.warning("%s let pass: %s", part, exc)
        self._record(Measurement("errors", 1, f"{part}:{type(exc).__name__}"))


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
_FIRST_ROWS = 16

_FIND = "SELECT job_id, created_at FROM answers WHERE tenant = ? AND visibility = ? AND key = ? AND expires_at > ?"
_PUT = """
    INSERT INTO answers (tenant, visibility, key, grouping, job_id, created_at, expires_at, vector)
    SELECT tenant, visibility, ?, ?, id, ?, ?, ? FROM jobs WHERE id = ? AND tenant = ? AND visibility = ?
"""
_REPLACE = "DELETE FROM answers WHERE tenant = ? AND visibility = ? AND key = ?"
_TRIM = """
    DELETE FROM answers WHERE number IN
        (SELECT number FROM answers ORDER BY number DESC LIMIT 9223372036854775807 OFFSET ?)
"""
_IN_PLACE = "tenant = ? AND visibility = ? AND grouping = ? AND vector IS NOT NULL"
_TAIL = f"""
    SELECT number, job_id, created_at, expires_at, vector FROM answers WHERE {_IN_PLACE} AND number > ? ORDER BY number
"""  # noqa: S608  # our words
_COUNT = f"SELECT count(*) FROM answers WHERE {_IN_PLACE}"  # noqa: S608  # our words
_KEPT = """
    SELECT job_id, tenant, visibility, created_at, expires_at FROM answers
    WHERE expires_at > ? AND (? = '' OR tenant = ?) ORDER BY number DESC
"""

MAX_REUSED = 5_000  # a page is 20 KB on average, so this is about 100 MB
MAX_CHARS = 1_000_000  # of one entry; a longer page is read again
_PUT_REUSED = """
    INSERT INTO reused (key, text, expires_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET text = excluded.text, expires_at = excluded.expires_at
"""
_TRIM_REUSED = """
    DELETE FROM reused WHERE key IN (SELECT key FROM reused ORDER BY expires_at DESC LIMIT 9223372036854775807 OFFSET ?)
"""


@dataclass(frozen=True)
class AnswerPlace:
    """Where questions may be compared with one another."""

    scope: Scope
    group: bytes


@dataclass(frozen=True)
class LoggedAnswer:
    """An entry of a log. `number` orders the entries of a place and is never given twice."""

    number: str
    job_id: str
    created_at: datetime
    expires_at: datetime
    vector: Vector


@dataclass(frozen=True)
class LogTail:
    """Entries after a number, oldest first, not necessarily all of them; and how many the place has in all."""

    entries: Sequence[LoggedAnswer]
    total: int


ReadLog = Callable[[AnswerPlace, str], Awaitable[LogTail]]


class AnswerMirror:
    """`read` gives a place's entries after a number ("" for all of them)."""

    def __init__(self, read: ReadLog, *, max_entries: int = MAX_ENTRIES) -> None:
        self._read = read
        self._max_entries = max_entries
        self._shelves: OrderedDict[AnswerPlace, _Shelf] = OrderedDict()
        self._lock = asyncio.Lock()

    async def similar(
        self, place: AnswerPlace, vector: Vector, *, now: datetime, limit: int, at_least: float
    ) -> list[SimilarAnswer]:
        """The nearest fresh answers of a place, nearest first. Raises what `read` raises."""
        async with self._lock:
            shelf = await self._caught_up(place)
        self._make_room()
        return shelf.nearest(vector, now=now, limit=limit, at_least=at_least)

    async def _caught_up(self, place: AnswerPlace) -> _Shelf:
        """The place's shelf as the log is now, anew when entries were removed. Cancelled, it keeps what it has."""
        shelf = self._shelves.setdefault(place, _Shelf())
        self._shelves.move_to_end(place)
        is_fresh = not len(shelf)
        while True:
            tail = await self._read(place, shelf.last)
            shelf.extend(tail.entries)
            if len(shelf) == tail.total or (is_fresh and not tail.entries):
                return shelf
            if not tail.entries:
                shelf = self._shelves[place] = _Shelf()
                is_fresh = True

    def _make_room(self) -> None:
        """Places that were not asked for longest go first; they are read again when they are needed."""
        while len(self._shelves) > 1 and sum(map(len, self._shelves.values())) > self._max_entries:
            self._shelves.popitem(last=False)


class _Shelf:
    """The entries of one place; rows of the matrix are unit vectors."""

    def __init__(self) -> None:
        self._entries: list[LoggedAnswer] = []
        self._matrix: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def last(self) -> str:
        return self._entries[-1].number if self._entries else ""

    def extend(self, entries: Sequence[LoggedAnswer]) -> None:
        for entry in entries:
            row = len(self._entries)
            if row >= len(self._matrix):
                self._grow(entry.vector.size)
            if entry.vector.size == self._matrix.shape[1]:  # a vector of another length is like nothing
                self._matrix[row] = entry.vector
            self._entries.append(entry)

    def nearest(self, vector: Vector, *, now: datetime, limit: int, at_least: float) -> list[SimilarAnswer]:
        if not self._entries or vector.size != self._matrix.shape[1]:
            return []
        # On one thread: the many of a matrix product wait for one another on a busy machine, for 8 ms instead of 0.3.
        similarities = np.vecdot(self._matrix[: len(self._entries)], vector)
        near = np.flatnonzero(similarities >= at_least)
        found: list[SimilarAnswer] = []
        for row in near[np.argsort(-similarities[near], kind="stable")]:
            entry = self._entries[row]
            if entry.expires_at > now:
                found.append(SimilarAnswer(entry.job_id, entry.created_at, float(similarities[row])))
            if len(found) == limit:
                break
        return found

    def _grow(self, dimension: int) -> None:
        width = self._matrix.shape[1] or dimension
        larger = np.zeros((max(_FIRST_ROWS, 2 * len(self._matrix)), width), dtype=np.float32)
        larger[: len(self._matrix)] = self._matrix.reshape(-1, width)
        self._matrix = larger


class SqlAnswerCache:
    """An `AnswerCache`. Each put drops what has expired and the oldest over `max_rows`."""

    def __init__(self, tables: Tables, *, clock: Clock, max_rows: int = MAX_ENTRIES) -> None:
        self._tables = tables
        self._clock = clock
        self._max_rows = max_rows
        self._mirror = AnswerMirror(self._read_log, max_entries=max_rows)

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
        place = AnswerPlace(scope, digest(group))
        return await self._mirror.similar(place, vector, now=self._clock(), limit=limit, at_least=at_least)

    async def kept(self, *, tenant: str = "") -> list[KeptAnswer]:
        rows = await self._tables.rows(_KEPT, (self._clock(), tenant, tenant))
        return [KeptAnswer(row[0], Scope(row[1], row[2]), moment(row[3]), moment(row[4])) for row in rows]

    async def drop(self, job_ids: Sequence[str]) -> int:
        def change(sql: Sql) -> int:
            return sum(sql.execute("DELETE FROM answers WHERE job_id = ?", (job_id,)) for job_id in job_ids)

        return await self._tables.write(change)

    async def _read_log(self, place: AnswerPlace, after: str) -> LogTail:
        where = (place.scope.tenant, place.scope.visibility, place.group)

        def query(sql: Sql) -> LogTail:
            rows = sql.rows(_TAIL, (*where, int(after or 0)))
            ((total,),) = sql.rows(_COUNT, where)
            return LogTail([_entry(*row) for row in rows], total)

        return await self._tables.read(query)


def _entry(
    number: int, job_id: str, created_at: datetime | float, expires_at: datetime | float, vector: bytes
) -> LoggedAnswer:
    return LoggedAnswer(str(number), job_id, moment(created_at), moment(expires_at), np.frombuffer(vector, dtype="<f4"))


class SqlReuseStore:
    """A `ReuseStore`."""

    def __init__(self, tables: Tables, *, clock: Clock, max_rows: int = MAX_REUSED) -> None:
        self._tables = tables
        self._clock = clock
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
