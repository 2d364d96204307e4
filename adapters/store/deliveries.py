"""Addresses of waiting messages: those of jobs go with them, those without a job after a day."""

from __future__ import annotations

from adapters.store.sealing import open_addresses, seal_data
from adapters.store.tables import Tables
from core.delivery import OPEN_FOR, Address, Sealer
from core.errors import StoreError
from core.job import ResearchJob, Scope
from core.ports import Clock

_PUT = """
    INSERT INTO addresses (job_id, tenant, visibility, platform, sealed, put_at, expires_at)
    SELECT id, tenant, visibility, ?, ?, ?, ? FROM jobs WHERE id = ?
    ON CONFLICT (job_id) DO UPDATE SET
        platform = excluded.platform, sealed = excluded.sealed, expires_at = excluded.expires_at
"""
_WAITING = """
    SELECT job_id, platform, sealed, expires_at FROM addresses WHERE platform = ? ORDER BY put_at, job_id
"""
_OPEN = """
    INSERT INTO open_messages (key, tenant, visibility, asker, platform, sealed, put_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
"""
_STILL_OPEN = "SELECT key, platform, sealed, expires_at FROM open_messages WHERE platform = ? ORDER BY put_at, key"
_LAPSED = "DELETE FROM open_messages WHERE expires_at <= ? OR put_at <= ?"


class SqlDeliveries:
    """`Deliveries`. Nothing is kept for a job that is not stored."""

    def __init__(self, tables: Tables, box: Sealer, *, clock: Clock) -> None:
        self._tables = tables
        self._box = box
        self._clock = clock

    async def put(self, job: ResearchJob, address: Address) -> None:
        sealed = seal_data(address, self._box)
        row = (address.platform, sealed, self._clock(), address.expires_at, job.id)
        if await self._tables.execute(_PUT, row) == 0:
            raise StoreError(f"{job.id} is not stored, so nothing is kept for it")

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        await self._tables.execute("DELETE FROM addresses WHERE expires_at <= ?", (self._clock(),))
        rows = await self._tables.rows(_WAITING, (platform,))
        return open_addresses([(job_id, where, sealed, at) for job_id, where, sealed, at in rows], self._box)

    async def erase(self, job_id: str) -> None:
        await self._tables.execute("DELETE FROM addresses WHERE job_id = ?", (job_id,))


class SqlOpenMessages:
    """`OpenMessages`."""

    def __init__(self, tables: Tables, box: Sealer, *, clock: Clock) -> None:
        self._tables = tables
        self._box = box
        self._clock = clock

    async def put(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        kept = (seal_data(address, self._box), self._clock(), address.expires_at)
        row = (key, scope.tenant, scope.visibility, asker, address.platform, *kept)
        await self._tables.execute(_OPEN, row)

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock()
        await self._tables.execute(_LAPSED, (now, now - OPEN_FOR))
        rows = await self._tables.rows(_STILL_OPEN, (platform,))
        return open_addresses([(key, where, sealed, at) for key, where, sealed, at in rows], self._box)

    async def erase(self, key: str) -> None:
        await self._tables.execute("DELETE FROM open_messages WHERE key = ?", (key,))
