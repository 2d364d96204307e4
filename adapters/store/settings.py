"""Settings of tenants in SQLite, and who changed them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from core.codec import decode, encode
from core.settings.desk import KeptSettings, SettingChange
from core.settings.tenant import TenantSettings

_FIRST = "INSERT INTO tenant_settings (tenant, version, settings) VALUES (:tenant, 1, :settings) ON CONFLICT DO NOTHING"
_NEXT = """
    UPDATE tenant_settings SET version = version + 1, settings = :settings
    WHERE tenant = :tenant AND version = :version
"""
_NOTE = "INSERT INTO setting_changes (tenant, key, before, after, who, at) VALUES (?, ?, ?, ?, ?, ?)"
_CHANGES = "SELECT key, before, after, who, at FROM setting_changes WHERE tenant = ? ORDER BY number DESC LIMIT ?"


class SqliteSettings:
    """A `SettingsStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, tenant: str) -> KeptSettings:
        query = "SELECT settings, version FROM tenant_settings WHERE tenant = ?"
        row = await self._database.read(lambda connection: connection.execute(query, (tenant,)).fetchone())
        return KeptSettings(decode(row[0], TenantSettings), row[1]) if row else KeptSettings()

    async def put(self, tenant: str, kept: KeptSettings, changes: Sequence[SettingChange]) -> bool:
        values = {"tenant": tenant, "version": kept.version, "settings": encode(kept.settings)}

        def change(connection: Connection) -> bool:
            if not connection.execute(_NEXT if kept.version else _FIRST, values).rowcount:
                return False
            for one in changes:
                row = (tenant, one.key, one.before, one.after, one.who, one.at.timestamp())
                connection.execute(_NOTE, row)
            return True

        return await self._database.write(change)

    async def changes(self, tenant: str, *, limit: int) -> list[SettingChange]:
        rows = await self._database.read(lambda connection: connection.execute(_CHANGES, (tenant, limit)).fetchall())
        return [
            SettingChange(key, before, after, who, datetime.fromtimestamp(at, UTC))
            for key, before, after, who, at in rows
        ]

    async def tenants(self) -> list[str]:
        query = "SELECT tenant FROM tenant_settings ORDER BY tenant"
        rows = await self._database.read(lambda connection: connection.execute(query).fetchall())
        return [tenant for (tenant,) in rows]
