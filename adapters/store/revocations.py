"""When the signed links of a job were taken back."""

from __future__ import annotations

from datetime import datetime

from adapters.store.tables import Tables, moment
from core.job import ResearchJob

_REVOKE = """
    INSERT INTO link_revocations AS kept (job_id, tenant, visibility, revoked_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (job_id) DO UPDATE SET revoked_at = excluded.revoked_at WHERE excluded.revoked_at > kept.revoked_at
"""


class SqlLinkRevocations:
    """`LinkRevocations`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        await self._tables.execute(_REVOKE, (job.id, job.scope.tenant, job.scope.visibility, at))

    async def revoked_at(self, job_id: str) -> datetime | None:
        rows = await self._tables.rows("SELECT revoked_at FROM link_revocations WHERE job_id = ?", (job_id,))
        return moment(rows[0][0]) if rows else None
