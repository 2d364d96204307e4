"""Settings of tenants in memory, for tests and for runs that leave nothing behind."""

from __future__ import annotations

from collections.abc import Sequence

from core.settings.desk import KeptSettings, SettingChange


class MemorySettings:
    """A `SettingsStore`."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptSettings] = {}
        self._changes: dict[str, list[SettingChange]] = {}

    async def get(self, tenant: str) -> KeptSettings:
        return self._kept.get(tenant, KeptSettings())

    async def put(self, tenant: str, kept: KeptSettings, changes: Sequence[SettingChange]) -> bool:
        if (await self.get(tenant)).version != kept.version:
            return False
        self._kept[tenant] = KeptSettings(kept.settings, kept.version + 1)
        self._changes.setdefault(tenant, []).extend(changes)
        return True

    async def changes(self, tenant: str, *, limit: int) -> list[SettingChange]:
        return self._changes.get(tenant, [])[::-1][:limit]

    async def tenants(self) -> list[str]:
        return sorted(self._kept)
