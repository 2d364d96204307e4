"""What is kept of tenants: their settings, encrypted tokens, and who came and left.

Also states that count once, turns that one process at a time takes, and links and sign-ins that were taken back.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime, timedelta

from adapters.records.sql import SealedStore, Sql, SqlStore, TimedStore, digest, insertion, moment
from core.model.codec import decode, encode
from core.model.job import ResearchJob
from core.tenancy.forgetting import Departure
from core.tenancy.settings import TenantSettings
from core.tenancy.settings_desk import KeptSettings, SettingChange

_PUT_TOKENS = insertion("installations", "tenant, sealed, put_at", key="tenant", changes="sealed, put_at")
_ISSUE = insertion("one_time_states", "key, expires_at", key="key", changes="expires_at")
_SPEND = insertion("one_time_states", "key, expires_at", key="key")
_TAKE = insertion("turns", "name, holder, ends_at", key="name", changes="holder, ends_at") + " WHERE turns.ends_at <= ?"
_NOTE = insertion("departures", "account, left_at, is_erased", key="account", changes="left_at, is_erased")
_JOIN = insertion("memberships", "app, tenant", key="app, tenant")
_FIRST_SETTINGS = "INSERT INTO tenant_settings (settings, tenant, version) VALUES (?, ?, ? + 1) ON CONFLICT DO NOTHING"
_NEXT_SETTINGS = """
    UPDATE tenant_settings SET version = version + 1, settings = ? WHERE tenant = ? AND version = ?
"""
_NOTE_CHANGE = insertion("setting_changes", "tenant, key, before, after, who, at")
_CHANGES = "SELECT key, before, after, who, at FROM setting_changes WHERE tenant = ? ORDER BY number DESC LIMIT ?"
_REVOKED = insertion("link_revocations", "job_id, tenant, visibility, revoked_at", key="job_id", changes="revoked_at")
_REVOKE = f"{_REVOKED} WHERE excluded.revoked_at > link_revocations.revoked_at"
_END = insertion("ended_sessions", "id, until", key="id")


class SqlSettings(SqlStore):
    """A `SettingsStore`."""

    async def get(self, tenant: str) -> KeptSettings:
        rows = await self._tables.rows("SELECT settings, version FROM tenant_settings WHERE tenant = ?", (tenant,))
        return KeptSettings(decode(rows[0][0], TenantSettings), rows[0][1]) if rows else KeptSettings()

    async def put(self, tenant: str, kept: KeptSettings, changes: Sequence[SettingChange]) -> bool:
        query = _NEXT_SETTINGS if kept.version else _FIRST_SETTINGS

        def put(sql: Sql) -> bool:
            if not sql.execute(query, (encode(kept.settings), tenant, kept.version)):
                return False
            sql.execute_all(
                _NOTE_CHANGE, [(tenant, one.key, one.before, one.after, one.who, one.at) for one in changes]
            )
            return True

        return await self._tables.write(put)

    async def changes(self, tenant: str, *, limit: int) -> list[SettingChange]:
        rows = await self._tables.rows(_CHANGES, (tenant, limit))
        return [SettingChange(key, before, after, who, moment(at)) for key, before, after, who, at in rows]

    async def tenants(self) -> list[str]:
        return [tenant for (tenant,) in await self._tables.rows("SELECT tenant FROM tenant_settings ORDER BY tenant")]


class SqlRevocations(TimedStore):
    """`Revocations`."""

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        await self._tables.execute(_REVOKE, (job.id, job.scope.tenant, job.scope.visibility, at))

    async def revoked_at(self, job_id: str) -> datetime | None:
        rows = await self._tables.rows("SELECT revoked_at FROM link_revocations WHERE job_id = ?", (job_id,))
        return moment(rows[0][0]) if rows else None

    async def end_session(self, session_id: str, *, until: datetime) -> None:
        await self._tables.execute("DELETE FROM ended_sessions WHERE until <= ?", (self._clock(),))
        await self._tables.execute(_END, (session_id, until))

    async def has_ended(self, session_id: str) -> bool:
        return bool(await self._tables.rows("SELECT 1 FROM ended_sessions WHERE id = ?", (session_id,)))


class SqlAppTenants(SealedStore):
    """`AppTenants`."""

    async def put_token(self, tenant: str, text: str) -> None:
        await self._tables.execute(_PUT_TOKENS, (tenant, self._box.seal(text), self._clock()))

    async def token(self, tenant: str) -> str | None:
        rows = await self._tables.rows("SELECT sealed FROM installations WHERE tenant = ?", (tenant,))
        return self._box.open(rows[0][0]) if rows else None

    async def erase_token(self, tenant: str) -> None:
        """Nothing of it stays in the file."""
        if self._tables.dialect == "sqlite":
            await self._tables.execute("PRAGMA secure_delete = ON")
        await self._tables.execute("DELETE FROM installations WHERE tenant = ?", (tenant,))

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

    async def depart(self, departure: Departure) -> None:
        await self._tables.execute(_NOTE, (departure.tenant, departure.left_at, departure.is_erased))

    async def departures(self) -> list[Departure]:
        rows = await self._tables.rows("SELECT account, left_at, is_erased FROM departures ORDER BY left_at, account")
        return [Departure(tenant, moment(left_at), bool(is_erased)) for tenant, left_at, is_erased in rows]

    async def strike(self, departure: Departure) -> None:
        query = "DELETE FROM departures WHERE account = ? AND left_at <= ?"
        await self._tables.execute(query, (departure.tenant, departure.left_at))

    async def note(self, app: str, tenants: Set[str]) -> None:
        for tenant in tenants:
            await self._tables.execute(_JOIN, (app, tenant))

    async def noted(self, app: str) -> set[str]:
        rows = await self._tables.rows("SELECT tenant FROM memberships WHERE app = ?", (app,))
        return {tenant for (tenant,) in rows}


class SqlTurns(TimedStore):
    """`Turns`."""

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        now = self._clock()
        return await self._tables.execute(_TAKE, (name, holder, now + ttl, now)) > 0

    async def keep(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        query = "UPDATE turns SET ends_at = ? WHERE name = ? AND holder = ?"
        return await self._tables.execute(query, (self._clock() + ttl, name, holder)) > 0

    async def give_back(self, name: str, holder: str) -> None:
        await self._tables.execute("DELETE FROM turns WHERE name = ? AND holder = ?", (name, holder))
