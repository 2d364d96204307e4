"""Installations of the app in PostgreSQL: sealed tokens, one-time states, turns, departures, and who has the app."""

from __future__ import annotations

from collections.abc import Set
from datetime import timedelta

from adapters.store.digest import digest
from adapters.store.postgres import PostgresDatabase
from core.delivery import Sealer
from core.departures import Departure
from core.ports import Clock

_PUT = """
    INSERT INTO installations (tenant, sealed, put_at) VALUES (%s, %s, %s)
    ON CONFLICT (tenant) DO UPDATE SET sealed = excluded.sealed, put_at = excluded.put_at
"""
_ISSUE = """
    INSERT INTO one_time_states (key, expires_at) VALUES (%s, %s)
    ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at
"""
_TAKE = """
    INSERT INTO turns (name, holder, ends_at) VALUES (%(name)s, %(holder)s, %(ends_at)s)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
    WHERE turns.ends_at <= %(now)s
"""
_NOTE = """
    INSERT INTO departures (account, left_at, is_erased) VALUES (%s, %s, %s)
    ON CONFLICT (account) DO UPDATE SET left_at = excluded.left_at, is_erased = excluded.is_erased
"""


class PostgresTokens:
    """`TokenStore`."""

    def __init__(self, database: PostgresDatabase, box: Sealer, *, clock: Clock) -> None:
        self._database = database
        self._box = box
        self._clock = clock

    async def put(self, tenant: str, text: str) -> None:
        await self._database.execute(_PUT, (tenant, self._box.seal(text), self._clock()))

    async def get(self, tenant: str) -> str | None:
        rows = await self._database.rows("SELECT sealed FROM installations WHERE tenant = %s", (tenant,))
        return self._box.open(rows[0][0]) if rows else None

    async def erase(self, tenant: str) -> None:
        await self._database.execute("DELETE FROM installations WHERE tenant = %s", (tenant,))


class PostgresOneTimeStates:
    """`OneTimeStates`."""

    def __init__(self, database: PostgresDatabase, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def issue(self, state: str, *, ttl: timedelta) -> None:
        await self._database.execute("DELETE FROM one_time_states WHERE expires_at <= %s", (self._clock(),))
        await self._database.execute(_ISSUE, (digest(state), self._clock() + ttl))

    async def redeem(self, state: str) -> bool:
        query = "DELETE FROM one_time_states WHERE key = %s RETURNING expires_at > %s"
        rows = await self._database.rows(query, (digest(state), self._clock()))
        return bool(rows and rows[0][0])


class PostgresTurns:
    """`Turns`."""

    def __init__(self, database: PostgresDatabase, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        now = self._clock()
        values = {"name": name, "holder": holder, "now": now, "ends_at": now + ttl}
        return await self._database.execute(_TAKE, values) > 0

    async def keep(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        query = "UPDATE turns SET ends_at = %s WHERE name = %s AND holder = %s"
        return await self._database.execute(query, (self._clock() + ttl, name, holder)) > 0

    async def give_back(self, name: str, holder: str) -> None:
        await self._database.execute("DELETE FROM turns WHERE name = %s AND holder = %s", (name, holder))


class PostgresDepartures:
    """`Departures`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def put(self, departure: Departure) -> None:
        await self._database.execute(_NOTE, (departure.tenant, departure.left_at, departure.is_erased))

    async def waiting(self) -> list[Departure]:
        rows = await self._database.rows("SELECT account, left_at, is_erased FROM departures ORDER BY left_at, account")
        return [Departure(tenant, left_at, is_erased) for tenant, left_at, is_erased in rows]

    async def strike(self, departure: Departure) -> None:
        query = "DELETE FROM departures WHERE account = %s AND left_at <= %s"
        await self._database.execute(query, (departure.tenant, departure.left_at))


class PostgresMemberships:
    """`Memberships`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def note(self, app: str, tenants: Set[str]) -> None:
        query = "INSERT INTO memberships (app, tenant) SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING"
        await self._database.execute(query, (app, list(tenants)))

    async def noted(self, app: str) -> set[str]:
        rows = await self._database.rows("SELECT tenant FROM memberships WHERE app = %s", (app,))
        return {tenant for (tenant,) in rows}
