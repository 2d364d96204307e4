"""Settings of tenants in PostgreSQL, and who changed them."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.store.postgres import PostgresDatabase
from core.codec import decode, encode
from core.settings.desk import KeptSettings, SettingChange
from core.settings.tenant import TenantSettings

_FIRST = """
    INSERT INTO tenant_settings (tenant, version, settings) VALUES (%(tenant)s, 1, %(settings)s) ON CONFLICT DO NOTHING
"""
_NEXT = """
    UPDATE tenant_settings SET version = version + 1, settings = %(settings)s
    WHERE tenant = %(tenant)s AND version = %(version)s
"""
_NOTE = "INSERT INTO setting_changes (tenant, key, before, after, who, at) VALUES (%s, %s, %s, %s, %s, %s)"
_CHANGES = "SELECT key, before, after, who, at FROM setting_changes WHERE tenant = %s ORDER BY number DESC LIMIT %s"


class PostgresSettings:
    """A `SettingsStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def get(self, tenant: str) -> KeptSettings:
        rows = await self._database.rows("SELECT settings, version FROM tenant_settings WHERE tenant = %s", (tenant,))
        return KeptSettings(decode(rows[0][0], TenantSettings), rows[0][1]) if rows else KeptSettings()

    async def put(self, tenant: str, kept: KeptSettings, changes: Sequence[SettingChange]) -> bool:
        values = {"tenant": tenant, "version": kept.version, "settings": encode(kept.settings)}
        async with self._database.transaction() as connection:
            if not (await connection.execute(_NEXT if kept.version else _FIRST, values)).rowcount:
                return False
            for one in changes:
                await connection.execute(_NOTE, (tenant, one.key, one.before, one.after, one.who, one.at))
        return True

    async def changes(self, tenant: str, *, limit: int) -> list[SettingChange]:
        return [SettingChange(*row) for row in await self._database.rows(_CHANGES, (tenant, limit))]

    async def tenants(self) -> list[str]:
        return [tenant for (tenant,) in await self._database.rows("SELECT tenant FROM tenant_settings ORDER BY tenant")]
