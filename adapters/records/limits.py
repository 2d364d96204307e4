"""Token buckets and single flight: shared by the processes of a database, or of one process."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from adapters.records.sql import Sql, Tables, digest
from core.model.errors import StoreError
from core.model.job import Scope
from core.model.ports import Clock, Measurement, Recorder
from core.pipeline.limits import take_token

logger = logging.getLogger(__name__)

MAX_BUCKETS = 10_000  # names of buckets, about 1 MB, before those that are full again are dropped

_FILL = """
    INSERT INTO buckets (key, full_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at
"""
_FIND = "SELECT job_id FROM flights WHERE tenant = ? AND visibility = ? AND key = ?"
_CLAIM = "INSERT INTO flights (tenant, visibility, key, job_id, expires_at) VALUES (?, ?, ?, ?, ?)"
_RELEASE = "DELETE FROM flights WHERE tenant = ? AND visibility = ? AND key = ? AND job_id = ?"


class SqlRateLimits:
    """`RateLimits`. Buckets that are full again are dropped."""

    def __init__(self, tables: Tables, *, clock: Clock, recorder: Recorder) -> None:
        self._tables = tables
        self._clock = clock
        self._recorder = recorder

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
            _let_pass("limits", exc, self._recorder)
            return 0.0

    async def full_in_s(self, key: str) -> float:
        try:
            rows = await self._tables.rows("SELECT full_at FROM buckets WHERE key = ?", (key,))
        except StoreError as exc:
            _let_pass("limits", exc, self._recorder)
            return 0.0
        return max(rows[0][0] - self._clock().timestamp(), 0.0) if rows else 0.0


class SqlSingleFlight:
    """A `SingleFlight`. Keys are kept as digests, since they say what was asked."""

    def __init__(self, tables: Tables, *, clock: Clock, recorder: Recorder) -> None:
        self._tables = tables
        self._clock = clock
        self._recorder = recorder

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        now = self._clock()
        place = (scope.tenant, scope.visibility, digest(key))

        def change(sql: Sql) -> str:
            sql.execute("DELETE FROM flights WHERE expires_at <= ?", (now,))
            if rows := sql.rows(_FIND, place):
                return str(rows[0][0])
            sql.execute(_CLAIM, (*place, job_id, now + ttl))
            return job_id

        try:
            return await self._tables.write(change)
        except StoreError as exc:
            _let_pass("single flight", exc, self._recorder)
            return job_id

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        place = (scope.tenant, scope.visibility, digest(key))
        try:
            await self._tables.execute(_RELEASE, (*place, job_id))
        except StoreError as exc:
            _let_pass("single flight", exc, self._recorder)


class MemoryRateLimits:
    """`RateLimits` of one process, and what counts while a shared store is away. Full buckets are dropped."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        now = self._clock().timestamp()
        after, wait_s = take_token(self._full_at.get(key, 0.0), now, rate=rate, burst=burst)
        if len(self._full_at) > MAX_BUCKETS:
            self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        self._full_at[key] = after
        return wait_s

    async def full_in_s(self, key: str) -> float:
        return max(self._full_at.get(key, 0.0) - self._clock().timestamp(), 0.0)


class MemorySingleFlight:
    """A `SingleFlight` of one process."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._flights: dict[tuple[Scope, str], tuple[str, datetime]] = {}

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        now = self._clock()
        self._flights = {place: flight for place, flight in self._flights.items() if flight[1] > now}
        return self._flights.setdefault((scope, key), (job_id, now + ttl))[0]

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        if self._flights.get((scope, key), ("",))[0] == job_id:
            del self._flights[scope, key]


def _let_pass(part: str, exc: StoreError, recorder: Recorder) -> None:
    logger.warning("%s let pass: %s", part, exc)
    recorder.record(Measurement("errors", 1, f"{part}:{type(exc).__name__}"))
