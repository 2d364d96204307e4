"""Installations of the app in SQLite: sealed tokens, one-time states, turns, departures, and who has the app."""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC, datetime, timedelta

from sqlite_utils import Database as Connection

from adapters.store.digest import digest
from adapters.store.sqlite import Database
from core.delivery import Sealer
from core.departures import Departure
from core.ports import Clock

_TAKE = """
    INSERT INTO turns (name, holder, ends_at) VALUES (:name, :holder, :ends_at)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
    WHERE turns.ends_at <= :now
"""


class SqliteTokens:
    """`TokenStore`."""

    def __init__(self, database: Database, box: Sealer, *, clock: Clock) -> None:
        self._database = database
        self._box = box
        self._clock = clock

    async def put(self, tenant: str, text: str) -> None:
        row = (tenant, self._box.seal(text), self._clock().timestamp())
        query = "INSERT OR REPLACE INTO installations (tenant, sealed, put_at) VALUES (?, ?, ?)"
        await self._database.write(lambda connection: connection.execute(query, row))

    async def get(self, tenant: str) -> str | None:
        query = "SELECT sealed FROM installations WHERE tenant = ?"
        row = await self._database.read(lambda connection: connection.execute(query, (tenant,)).fetchone())
        return self._box.open(row[0]) if row else None

    async def erase(self, tenant: str) -> None:
        def change(connection: Connection) -> None:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("DELETE FROM installations WHERE tenant = ?", (tenant,))

        await self._database.write(change)


class SqliteOneTimeStates:
    """`OneTimeStates`."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def issue(self, state: str, *, ttl: timedelta) -> None:
        now = self._clock()

        def change(connection: Connection) -> None:
            connection.execute("DELETE FROM one_time_states WHERE expires_at <= ?", (now.timestamp(),))
            row = (digest(state), (now + ttl).timestamp())
            connection.execute("INSERT OR REPLACE INTO one_time_states (key, expires_at) VALUES (?, ?)", row)

        await self._database.write(change)

    async def redeem(self, state: str) -> bool:
        query = "DELETE FROM one_time_states WHERE key = ? RETURNING expires_at"
        row = await self._database.write(lambda connection: connection.execute(query, (digest(state),)).fetchone())
        return row is not None and self._clock().timestamp() < row[0]


class SqliteTurns:
    """`Turns`."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        now = self._clock()
        values = {"name": name, "holder": holder, "now": now.timestamp(), "ends_at": (now + ttl).timestamp()}
        return await self._database.write(lambda connection: int(connection.execute(_TAKE, values).rowcount)) > 0

    async def keep(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        query = "UPDATE turns SET ends_at = ? WHERE name = ? AND holder = ?"
        row = ((self._clock() + ttl).timestamp(), name, holder)
        return await self._database.write(lambda connection: int(connection.execute(query, row).rowcount)) > 0

    async def give_back(self, name: str, holder: str) -> None:
        query = "DELETE FROM turns WHERE name = ? AND holder = ?"
        await self._database.write(lambda connection: connection.execute(query, (name, holder)))


class SqliteDepartures:
    """`Departures`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, departure: Departure) -> None:
        row = (departure.tenant, departure.left_at.timestamp(), departure.is_erased)
        query = "INSERT OR REPLACE INTO departures (account, left_at, is_erased) VALUES (?, ?, ?)"
        await self._database.write(lambda connection: connection.execute(query, row))

    async def waiting(self) -> list[Departure]:
        query = "SELECT account, left_at, is_erased FROM departures ORDER BY left_at, account"
        rows = await self._database.read(lambda connection: connection.execute(query).fetchall())
        return [Departure(tenant, datetime.fromtimestamp(at, UTC), bool(erased)) for tenant, at, erased in rows]

    async def strike(self, departure: Departure) -> None:
        row = (departure.tenant, departure.left_at.timestamp())
        query = "DELETE FROM departures WHERE account = ? AND left_at <= ?"
        await self._database.write(lambda connection: connection.execute(query, row))


class SqliteMemberships:
    """`Memberships`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, app: str, tenants: Set[str]) -> None:
        query = "INSERT OR IGNORE INTO memberships (app, tenant) VALUES (?, ?)"
        rows = [(app, tenant) for tenant in tenants]
        await self._database.write(lambda connection: connection.conn.executemany(query, rows))

    async def noted(self, app: str) -> set[str]:
        query = "SELECT tenant FROM memberships WHERE app = ?"
        rows = await self._database.read(lambda connection: connection.execute(query, (app,)).fetchall())
        return {tenant for (tenant,) in rows}
