"""When the signed links of a job were taken back, in SQLite."""

from __future__ import annotations

from datetime import UTC, datetime

from adapters.store.sqlite import Database
from core.job import ResearchJob

_REVOKE = """
    INSERT INTO link_revocations (job_id, tenant, visibility, revoked_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (job_id) DO UPDATE SET revoked_at = MAX(revoked_at, excluded.revoked_at)
"""


class SqliteLinkRevocations:
    """`LinkRevocations`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        row = (job.id, job.scope.tenant, job.scope.visibility, at.timestamp())
        await self._database.write(lambda connection: connection.execute(_REVOKE, row))

    async def revoked_at(self, job_id: str) -> datetime | None:
        query = "SELECT revoked_at FROM link_revocations WHERE job_id = ?"
        row = await self._database.read(lambda connection: connection.execute(query, (job_id,)).fetchone())
        return None if row is None else datetime.fromtimestamp(row[0], UTC)
