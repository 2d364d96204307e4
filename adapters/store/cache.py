"""Finished answers that may be repeated: a log of digests, job ids and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from adapters.store.mirror import MAX_ENTRIES, AnswerMirror, LoggedAnswer, LogTail, Place
from adapters.store.sql import Sql, Tables, digest, moment
from core.errors import JobNotFound
from core.job import Scope
from core.ports import Clock, KeptAnswer, SimilarAnswer, Vector

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
        place = Place(scope, digest(group))
        return await self._mirror.similar(place, vector, now=self._clock(), limit=limit, at_least=at_least)

    async def kept(self, *, tenant: str = "") -> list[KeptAnswer]:
        rows = await self._tables.rows(_KEPT, (self._clock(), tenant, tenant))
        return [KeptAnswer(row[0], Scope(row[1], row[2]), moment(row[3]), moment(row[4])) for row in rows]

    async def drop(self, job_ids: Sequence[str]) -> int:
        def change(sql: Sql) -> int:
            return sum(sql.execute("DELETE FROM answers WHERE job_id = ?", (job_id,)) for job_id in job_ids)

        return await self._tables.write(change)

    async def _read_log(self, place: Place, after: str) -> LogTail:
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
