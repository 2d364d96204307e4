"""Installations of the app: sealed tokens, one-time states, turns, departures, and who has the app."""

from __future__ import annotations

from collections.abc import Set
from datetime import timedelta

from adapters.store.digest import digest
from adapters.store.tables import Tables, moment
from core.delivery import Sealer
from core.departures import Departure
from core.ports import Clock

_PUT = """
    INSERT INTO installations (tenant, sealed, put_at) VALUES (?, ?, ?)
    ON CONFLICT (tenant) DO UPDATE SET sealed = excluded.sealed, put_at = excluded.put_at
"""
_ISSUE = """
    INSERT INTO one_time_states (key, expires_at) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at
"""
_SPEND = "INSERT INTO one_time_states (key, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING"
_TAKE = """
    INSERT INTO turns (name, holder, ends_at) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
    WHERE turns.ends_at <= ?
"""
_NOTE = """
    INSERT INTO departures (account, left_at, is_erased) VALUES (?, ?, ?)
    ON CONFLICT (account) DO UPDATE SET left_at = excluded.left_at, is_erased = excluded.is_erased
"""

_JOIN = "INSERT INTO memberships (app, tenant) VALUES (?, ?) ON CONFLICT DO NOTHING"


class SqlTokens:
    """`TokenStore`."""

    def __init__(self, tables: Tables, box: Sealer, *, clock: Clock) -> None:
        self._tables = tables
        self._box = box
        self._clock = clock

    async def put(self, tenant: str, text: str) -> None:
        await self._tables.execute(_PUT, (tenant, self._box.seal(text), self._clock()))

    async def get(self, tenant: str) -> str | None:
        rows = await self._tables.rows("SELECT sealed FROM installations WHERE tenant = ?", (tenant,))
        return self._box.open(rows[0][0]) if rows else None

    async def erase(self, tenant: str) -> None:
        await self._tables.execute("DELETE FROM installations WHERE tenant = ?", (tenant,))


class SqliteTokens(SqlTokens):
    """Of a token that is erased nothing stays in the file."""

    async def erase(self, tenant: str) -> None:
        await self._tables.execute("PRAGMA secure_delete = ON")
        await super().erase(tenant)


class SqlOneTimeStates:
    """`OneTimeStates`."""

    def __init__(self, tables: Tables, *, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    async def issue(self, state: str, *, ttl: timedelta) -> None:
        await self._tables.execute("DELETE FROM one_time_states WHERE expires_at <= ?", (self._clock(),))
        await self._tables.execute(_ISSUE, (digest(state), self._clock() + ttl))

    async def spend(self, state: str, *, ttl: timedelta) -> bool:
        await self._tables.execute("DELETE FROM one_time_states WHERE expires_at <= ?", (self._clock(),))
        return await self._tables.execute(_SPEND, (digest(state), self._clock() + ttl)) > 0

    async def redeem(self, state: str) -> bool:
        query = "DELETE FROM one_time_states WHERE key = ? RETURNING expires_at"
        rows = await self._tables.rows(query, (digest(state),))
        return bool(rows) and self._clock() < moment(rows[0][0])


class SqlTurns:
    """`Turns`."""

    def __init__(self, tables: Tables, *, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        now = self._clock()
        return await self._tables.execute(_TAKE, (name, holder, now + ttl, now)) > 0

    async def keep(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        query = "UPDATE turns SET ends_at = ? WHERE name = ? AND holder = ?"
        return await self._tables.execute(query, (self._clock() + ttl, name, holder)) > 0

    async def give_back(self, name: str, holder: str) -> None:
        await self._tables.execute("DELETE FROM turns WHERE name = ? AND holder = ?", (name, holder))


class SqlDepartures:
    """`Departures`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def put(self, departure: Departure) -> None:
        await self._tables.execute(_NOTE, (departure.tenant, departure.left_at, departure.is_erased))

    async def waiting(self) -> list[Departure]:
        rows = await self._tables.rows("SELECT account, left_at, is_erased FROM departures ORDER BY left_at, account")
        return [Departure(tenant, moment(left_at), bool(is_erased)) for tenant, left_at, is_erased in rows]

    async def strike(self, departure: Departure) -> None:
        query = "DELETE FROM departures WHERE account = ? AND left_at <= ?"
        await self._tables.execute(query, (departure.tenant, departure.left_at))


class SqlMemberships:
    """`Memberships`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def note(self, app: str, tenants: Set[str]) -> None:
        for tenant in tenants:
            await self._tables.execute(_JOIN, (app, tenant))

    async def noted(self, app: str) -> set[str]:
        rows = await self._tables.rows("SELECT tenant FROM memberships WHERE app = ?", (app,))
        return {tenant for (tenant,) in rows}
