"""Settings of tenants in SQLite, and who changed them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlite_utils import Database as Connection

from adapters.store.sqlite import Database
from adapters.store.tables import moment
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
        rows = await self._database.rows("SELECT settings, version FROM tenant_settings WHERE tenant = ?", (tenant,))
        return KeptSettings(decode(rows[0][0], TenantSettings), rows[0][1]) if rows else KeptSettings()

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
        rows = await self._database.rows(_CHANGES, (tenant, limit))
        return [SettingChange(key, before, after, who, moment(at)) for key, before, after, who, at in rows]

    async def tenants(self) -> list[str]:
        return [tenant for (tenant,) in await self._database.rows("SELECT tenant FROM tenant_settings ORDER BY tenant")]
