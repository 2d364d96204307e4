"""Addresses of waiting messages in SQLite: those of jobs go with them, those without a job after a day."""

from __future__ import annotations

from sqlite_utils import Database as Connection

from adapters.store.sealing import open_addresses, seal_data
from adapters.store.sqlite import Database
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
_ERASE = "DELETE FROM addresses WHERE job_id = ?"
_OPEN = """
    INSERT INTO open_messages (key, tenant, visibility, asker, platform, sealed, put_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
"""
_STILL_OPEN = "SELECT key, platform, sealed, expires_at FROM open_messages WHERE platform = ? ORDER BY put_at, key"
_LAPSED = "DELETE FROM open_messages WHERE expires_at <= ? OR put_at <= ?"


class SqliteDeliveries:
    """`Deliveries`. Nothing is kept for a job that is not stored."""

    def __init__(self, database: Database, box: Sealer, *, clock: Clock) -> None:
        self._database = database
        self._box = box
        self._clock = clock

    async def put(self, job: ResearchJob, address: Address) -> None:
        sealed, now = seal_data(address, self._box), self._clock().timestamp()
        expires_at = address.expires_at.timestamp() if address.expires_at else None
        row = (address.platform, sealed, now, expires_at, job.id)
        if await self._database.write(lambda connection: int(connection.execute(_PUT, row).rowcount)) == 0:
            raise StoreError(f"{job.id} is not stored, so nothing is kept for it")

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock().timestamp()

        def change(connection: Connection) -> list[tuple[str, str, str, float | None]]:
            connection.execute("DELETE FROM addresses WHERE expires_at <= ?", (now,))
            return connection.execute(_WAITING, (platform,)).fetchall()

        return open_addresses(await self._database.write(change), self._box)

    async def erase(self, job_id: str) -> None:
        await self._database.write(lambda connection: connection.execute(_ERASE, (job_id,)))


class SqliteOpenMessages:
    """`OpenMessages`."""

    def __init__(self, database: Database, box: Sealer, *, clock: Clock) -> None:
        self._database = database
        self._box = box
        self._clock = clock

    async def put(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        expires_at = address.expires_at.timestamp() if address.expires_at else None
        kept = (seal_data(address, self._box), self._clock().timestamp(), expires_at)
        row = (key, scope.tenant, scope.visibility, asker, address.platform, *kept)
        await self._database.write(lambda connection: connection.execute(_OPEN, row))

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock()

        def change(connection: Connection) -> list[tuple[str, str, str, float | None]]:
            connection.execute(_LAPSED, (now.timestamp(), (now - OPEN_FOR).timestamp()))
            return connection.execute(_STILL_OPEN, (platform,)).fetchall()

        return open_addresses(await self._database.write(change), self._box)

    async def erase(self, key: str) -> None:
        query = "DELETE FROM open_messages WHERE key = ?"
        await self._database.write(lambda connection: connection.execute(query, (key,)))
