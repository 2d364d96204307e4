"""Jobs as rows of `jobs`, and the reading of them, the same for either database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from adapters.store.figures import figures_of
from adapters.store.tables import Tables
from core.answer import JobResult
from core.codec import decode, encode
from core.errors import JobNotFound
from core.job import ResearchJob, Scope

_RECENT = "SELECT job FROM jobs WHERE tenant = ? AND visibility = ?"
_IN_THREAD = f"{_RECENT} AND thread = ? AND thread != '' AND created_at < ?"
_ASKED_BY = "SELECT job FROM jobs WHERE tenant = ? AND asker = ? AND asker != ''"
_UNFINISHED = "SELECT job FROM jobs WHERE status NOT IN ('completed', 'failed', 'cancelled')"


class JobRows:
    """The half of a `JobStore` that reads. `number` is the column that orders jobs of one moment."""

    def __init__(self, tables: Tables, *, number: str) -> None:
        self._tables = tables
        self._newest_first = f"ORDER BY created_at DESC, {number} DESC LIMIT ?"
        self._oldest_first = f"ORDER BY created_at, {number} LIMIT ?"

    async def get(self, job_id: str) -> ResearchJob:
        rows = await self._tables.rows("SELECT job FROM jobs WHERE id = ?", (job_id,))
        if not rows:
            raise JobNotFound(job_id)
        return decode(rows[0][0], ResearchJob)

    async def result(self, job_id: str) -> JobResult | None:
        rows = await self._tables.rows("SELECT result FROM jobs WHERE id = ?", (job_id,))
        return None if not rows or rows[0][0] is None else decode(rows[0][0], JobResult)

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        return await self._list(f"{_RECENT} {self._newest_first}", (scope.tenant, scope.visibility, max(limit, 0)))

    async def in_thread(
        self, scope: Scope, thread: str, *, before: datetime, limit: int, is_any: bool = False
    ) -> list[ResearchJob]:
        values = (scope.tenant, scope.visibility, thread, before, max(limit, 0))
        which = _IN_THREAD if is_any else f"{_IN_THREAD} AND status = 'completed'"
        return await self._list(f"{which} {self._newest_first}", values)

    async def asked_by(self, tenant: str, asker: str, *, limit: int) -> list[ResearchJob]:
        return await self._list(f"{_ASKED_BY} {self._newest_first}", (tenant, asker, max(limit, 0)))

    async def unfinished(self, *, limit: int) -> list[ResearchJob]:
        return await self._list(f"{_UNFINISHED} {self._oldest_first}", (max(limit, 0),))

    async def _list(self, query: str, values: Sequence[object]) -> list[ResearchJob]:
        return [decode(text, ResearchJob) for (text,) in await self._tables.rows(query, values)]


def row_of(job: ResearchJob) -> dict[str, object]:
    """By column; of a job without a result, and without the key that it was asked with."""
    return {
        "id": job.id,
        "tenant": job.scope.tenant,
        "visibility": job.scope.visibility,
        "status": job.status.value,
        "attempt": job.attempt,
        "created_at": job.created_at,
        "thread": job.request.thread,
        "asker": job.request.asker,
        "dedupe_key": None,
        "job": encode(job),
        "result": None,
        **figures_of(None),
    }
