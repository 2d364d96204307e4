"""When the signed links of a job were taken back, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

from adapters.store.postgres import PostgresDatabase
from core.job import ResearchJob

_REVOKE = """
    INSERT INTO link_revocations AS kept (job_id, tenant, visibility, revoked_at) VALUES (%s, %s, %s, %s)
    ON CONFLICT (job_id) DO UPDATE SET revoked_at = GREATEST(kept.revoked_at, excluded.revoked_at)
"""


class PostgresLinkRevocations:
    """`LinkRevocations`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        await self._database.execute(_REVOKE, (job.id, job.scope.tenant, job.scope.visibility, at))

    async def revoked_at(self, job_id: str) -> datetime | None:
        rows = await self._database.rows("SELECT revoked_at FROM link_revocations WHERE job_id = %s", (job_id,))
        moment: datetime | None = rows[0][0] if rows else None
        return moment
