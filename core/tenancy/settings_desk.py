"""Reading and changing a tenant's settings: nothing is saved over what somebody else has saved meanwhile.

Settings are read from the store whenever a question comes, so that a change holds at once in every process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.model.errors import GorkdError
from core.model.ports import Clock
from core.presentation import wording
from core.tenancy.settings import DEFAULTS, FIELDS, Ceilings, SettingsRefused, TenantSettings, refusals, write_setting
from core.text.saying import say

OPERATOR = "operator"  # who changes settings by the command line

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptSettings:
    """`version` counts the changes; 0 is the defaults, which nobody has changed yet."""

    settings: TenantSettings = DEFAULTS
    version: int = 0


@dataclass(frozen=True)
class SettingChange:
    """`who` is a platform's id, `OPERATOR`, or "" once that person was forgotten; values are as text."""

    key: str
    before: str
    after: str
    who: str
    at: datetime


class SettingsStore(Protocol):
    """Settings by tenant, and every change of them. Raises `StoreError`."""

    async def get(self, tenant: str) -> KeptSettings: ...

    async def put(self, tenant: str, kept: KeptSettings, changes: Sequence[SettingChange]) -> bool:
        """Keep them as the version after `kept.version`; False, and nothing kept, when that is not the newest."""

    async def changes(self, tenant: str, *, limit: int) -> list[SettingChange]:
        """Newest first."""

    async def tenants(self) -> list[str]:
        """Who has ever set anything."""


class SettingsChanged(GorkdError):
    """Somebody else has saved other settings since these were shown."""

    code = "INVALID_QUERY"

    def __init__(self, tenant: str) -> None:
        super().__init__(f"settings of {tenant} were saved meanwhile", user_message=say(wording.SETTINGS_CHANGED))


class SettingsDesk:
    """`ceilings` says what the operator lets a tenant decide."""

    def __init__(self, store: SettingsStore, ceilings: Callable[[str], Ceilings], *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.ceilings = ceilings

    async def show(self, tenant: str) -> KeptSettings:
        """Raises `StoreError`."""
        return await self._store.get(tenant)

    async def save(self, tenant: str, settings: TenantSettings, *, version: int, who: str) -> tuple[SettingChange, ...]:
        """What has changed from version `version`; what is saved already changes nothing.

        Raises `SettingsRefused`, `SettingsChanged`, `StoreError`.
        """
        before = await self._store.get(tenant)
        if before.version != version:
            raise SettingsChanged(tenant)
        refused = refusals(settings, self.ceilings(tenant))
        if refused:
            raise SettingsRefused(refused)
        changes = _changes(before.settings, settings, who, self._clock())
        if changes and not await self._store.put(tenant, KeptSettings(settings, version), changes):
            raise SettingsChanged(tenant)
        if changes:
            log.info("settings changed", extra={"tenant": tenant, "keys": ",".join(one.key for one in changes)})
        return changes

    async def log(self, tenant: str, *, limit: int) -> list[SettingChange]:
        """Newest first."""
        return await self._store.changes(tenant, limit=limit)


async def corpora_of(store: SettingsStore) -> dict[str, tuple[str, ...]]:
    """By tenant, whoever has one, the addresses of its own pages. Raises `StoreError`."""
    kept = {tenant: (await store.get(tenant)).settings.corpus for tenant in await store.tenants()}
    return {tenant: corpus for tenant, corpus in kept.items() if corpus}


def _changes(before: TenantSettings, after: TenantSettings, who: str, at: datetime) -> tuple[SettingChange, ...]:
    texts = ((key, write_setting(key, before), write_setting(key, after)) for key in FIELDS)
    return tuple(SettingChange(key, old, new, who, at) for key, old, new in texts if old != new)
