"""What belongs to a job and goes with it: sources, what was paid for, files, what people said to it and of it."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.store.jobs import must_exist
from adapters.store.sql import Sql, Tables, digest
from core.attachments import Attachment
from core.codec import decode, encode
from core.errors import StaleAttempt, StoreError
from core.feedback import Rating
from core.job import ResearchJob
from core.source import Source
from core.steering import Steering

_PUT_SOURCE = """
    INSERT INTO sources (job_id, number, tenant, visibility, attempt, source) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (job_id, number) DO UPDATE SET
        tenant = excluded.tenant, visibility = excluded.visibility, attempt = excluded.attempt,
        source = excluded.source
"""
_PUT_MEMO = """
    INSERT INTO memos (job_id, key, tenant, visibility, text)
    SELECT id, ?, tenant, visibility, ? FROM jobs WHERE id = ?
    ON CONFLICT (job_id, key) DO UPDATE SET text = excluded.text
"""
_PUT_ATTACHMENT = "INSERT INTO attachments (job_id, number, tenant, visibility, attachment) VALUES (?, ?, ?, ?, ?)"
_ADD_STEERING = """
    INSERT INTO steering (job_id, number, tenant, visibility, steering)
    SELECT id, (SELECT COUNT(*) + 1 FROM steering WHERE job_id = jobs.id), tenant, visibility, ?
    FROM jobs WHERE id = ? RETURNING number
"""
_STEERING = "SELECT steering FROM steering WHERE job_id = ? AND number > ? ORDER BY number"
_PUT_RATING = """
    INSERT INTO ratings (job_id, asker, tenant, visibility, at, rating) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (job_id, asker) DO UPDATE SET at = excluded.at, rating = excluded.rating
"""


class _OfJobs:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables


class SqlSourceStore(_OfJobs):
    """A `SourceStore`. The job must have been saved, else `JobNotFound`."""

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None:
        """Add or replace by number. A newer attempt's first put drops the older one's; an older one's is refused."""
        whose = (job.scope.tenant, job.scope.visibility, job.attempt)

        def put(sql: Sql) -> None:
            must_exist(sql, job.id)
            ((newest,),) = sql.rows("SELECT COALESCE(MAX(attempt), 0) FROM sources WHERE job_id = ?", (job.id,))
            if newest > job.attempt:
                raise StaleAttempt(f"attempt {job.attempt} of {job.id} put sources after attempt {newest}")
            sql.execute("DELETE FROM sources WHERE job_id = ? AND attempt < ?", (job.id, job.attempt))
            sql.execute_all(_PUT_SOURCE, [(job.id, one.number, *whose, encode(one)) for one in sources])

        await self._tables.write(put, key=job.id)

    async def sources(self, job_id: str) -> list[Source]:
        rows = await self._tables.rows("SELECT source FROM sources WHERE job_id = ? ORDER BY number", (job_id,))
        return [decode(text, Source) for (text,) in rows]


class SqlJobMemo(_OfJobs):
    """A `JobMemo`. Texts are kept as bytes, since they are not encoded and may hold NUL."""

    async def get(self, job_id: str, key: str) -> str | None:
        query = "SELECT text FROM memos WHERE job_id = ? AND key = ?"
        rows = await self._tables.rows(query, (job_id, digest(key)))
        return bytes(rows[0][0]).decode() if rows else None

    async def put(self, job_id: str, key: str, text: str) -> None:
        try:
            content = text.encode()
        except UnicodeEncodeError as exc:  # half a surrogate pair
            raise StoreError(f"a value cannot be stored: {exc}") from exc
        if await self._tables.execute(_PUT_MEMO, (digest(key), content, job_id)) == 0:
            raise StoreError(f"{job_id} is not stored, so nothing is kept for it")

    async def clear(self, job_id: str) -> None:
        await self._tables.execute("DELETE FROM memos WHERE job_id = ?", (job_id,))


class SqlAttachments(_OfJobs):
    """`Attachments`. The job must have been saved, else `JobNotFound`."""

    async def put(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        whose = (job.scope.tenant, job.scope.visibility)

        def put(sql: Sql) -> None:
            must_exist(sql, job.id)
            sql.execute("DELETE FROM attachments WHERE job_id = ?", (job.id,))
            rows = [(job.id, number, *whose, encode(attachment)) for number, attachment in enumerate(attachments)]
            sql.execute_all(_PUT_ATTACHMENT, rows)

        await self._tables.write(put, key=job.id)

    async def of(self, job_id: str) -> list[Attachment]:
        query = "SELECT attachment FROM attachments WHERE job_id = ? ORDER BY number"
        return [decode(text, Attachment) for (text,) in await self._tables.rows(query, (job_id,))]


class SqlSteeringStore(_OfJobs):
    """A `SteeringStore`."""

    async def add(self, job_id: str, steering: Steering) -> int:
        rows = await self._tables.write(lambda sql: sql.rows(_ADD_STEERING, (encode(steering), job_id)), key=job_id)
        if not rows:
            raise StoreError(f"{job_id} is not stored, so it cannot be steered")
        return int(rows[0][0])

    async def read(self, job_id: str, *, after: int = 0) -> list[Steering]:
        return [decode(text, Steering) for (text,) in await self._tables.rows(_STEERING, (job_id, max(after, 0)))]


class SqlRatings(_OfJobs):
    """`Ratings`. The job must have been saved, else `JobNotFound`."""

    async def put(self, job: ResearchJob, rating: Rating) -> bool:
        whose = (job.id, rating.asker, job.scope.tenant, job.scope.visibility)

        def put(sql: Sql) -> bool:
            must_exist(sql, job.id)
            earlier = sql.rows("SELECT rating FROM ratings WHERE job_id = ? AND asker = ?", (job.id, rating.asker))
            sql.execute(_PUT_RATING, (*whose, rating.at, encode(rating)))
            return not earlier or decode(earlier[0][0], Rating).is_good != rating.is_good

        return await self._tables.write(put, key=job.id)

    async def of(self, job_id: str) -> list[Rating]:
        query = "SELECT rating FROM ratings WHERE job_id = ? ORDER BY at, asker"
        return [decode(text, Rating) for (text,) in await self._tables.rows(query, (job_id,))]
