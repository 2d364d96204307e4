"""Workspaces and guilds that remove the app: nothing of theirs stays, whichever process heard of it and died.

A departure is noted before the platform hears that it arrived, and struck out when everything is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from core.model.errors import GorkdError, StoreError
from core.model.ports import Clock, OneTimeStates, TokenStore, Turns
from core.settings.desk import SettingsDesk
from core.tenancy.forgetting import Forgotten, Whose
from core.text.saying import say

LATE = timedelta(minutes=1)  # what a cancelled step or an open conversation may still write is erased after it
LOOK_EVERY_S = 15.0
TURN = timedelta(minutes=2)  # forgetting takes one at most
SETTLE_WITHIN_S = 60.0
_PAUSE_S = 0.2

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Departure:
    """A tenant that has removed the app; `is_erased` says that only what comes late is left to be erased."""

    tenant: str
    left_at: datetime
    is_erased: bool = False


class Departures(Protocol):
    """Which tenants have had an app, and which of them are to be forgotten. Each method raises `StoreError`."""

    async def put(self, departure: Departure) -> None:
        """Keep it; an earlier one of the tenant is replaced."""
        ...

    async def waiting(self) -> list[Departure]: ...

    async def strike(self, departure: Departure) -> None:
        """Everything is gone. A later departure of the same tenant stays."""
        ...

    async def note(self, app: str, tenants: Set[str]) -> None:
        """They have the app, besides those that are noted already."""
        ...

    async def noted(self, app: str) -> set[str]:
        """Whoever is forgotten is not among them."""
        ...


class Leaving:
    """Lets tenants go, and nothing of them stay. `holder` names this process in turns."""

    def __init__(
        self,
        departures: Departures,
        turns: Turns,
        forget: Callable[[Whose], Awaitable[Forgotten]],
        *,
        holder: str,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._departures = departures
        self._turns = turns
        self._forget = forget
        self._holder = holder
        self._clock = clock
        self._sleep = sleep
        self._noted = asyncio.Event()

    async def arrived(self, app: str, tenant: str) -> None:
        """Note that a tenant has the app, so that it is missed when it leaves unheard. Raises `StoreError`."""
        await self._departures.note(app, {tenant})

    async def missing(self, app: str, present: Set[str]) -> set[str]:
        """Note who has the app now; gives who was noted before and is not among them. Raises `StoreError`."""
        before = await self._departures.noted(app)
        await self._departures.note(app, present - before)
        return before - present

    async def leave(self, tenant: str) -> None:
        """Note it, durably; what is kept goes in the background, and at the latest when a process starts again."""
        await self._departures.put(Departure(tenant, self._clock()))
        self._noted.set()
        log.info("the app was removed", extra={"tenant": tenant})

    async def settle(self, tenant: str) -> None:
        """Have everything gone that a tenant left behind, before it comes back. Raises `StoreError`."""
        waited_s = 0.0
        while departure := await self._waiting(tenant):
            if await self._erase(replace(departure, is_erased=True), is_last=True):
                continue
            if waited_s >= SETTLE_WITHIN_S:
                raise StoreError(
                    f"{tenant} is not wholly forgotten",
                    user_message=say("What was kept before is still being removed; please try again in a minute."),
                )
            waited_s += _PAUSE_S
            await self._sleep(_PAUSE_S)

    async def keep_erasing(self) -> None:
        """Until it is cancelled."""
        while True:
            self._noted.clear()
            try:
                await self.erase_waiting()
            except StoreError as exc:  # the store says itself when its database goes
                log.debug("departures are not looked at", extra={"error": str(exc)})
            except GorkdError as exc:
                log.warning("departures are not looked at", extra={"error": str(exc)})
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._noted.wait()
            except TimeoutError:
                continue

    async def erase_waiting(self) -> None:
        """Everything at once, and once more what came late. Raises `StoreError`."""
        for departure in await self._departures.waiting():
            is_late = self._clock() >= departure.left_at + LATE
            if is_late or not departure.is_erased:
                await self._erase(departure, is_last=is_late)

    async def _erase(self, departure: Departure, *, is_last: bool) -> bool:
        """Whether all of it is gone; false too when another process is at it."""
        turn = f"departure:{departure.tenant}"
        if not await self._turns.take(turn, self._holder, ttl=TURN):
            return False
        try:
            forgotten = await self._forget(Whose(tenant=departure.tenant))
            if forgotten.failures:
                return False
            log.info("forgotten", extra={"tenant": departure.tenant, "jobs": forgotten.jobs})
            if is_last:
                await self._departures.strike(departure)
            else:
                await self._departures.put(replace(departure, is_erased=True))
            return True
        finally:
            await self._turns.give_back(turn, self._holder)

    async def _waiting(self, tenant: str) -> Departure | None:
        return next((one for one in await self._departures.waiting() if one.tenant == tenant), None)


@dataclass(frozen=True)
class Tenancy:
    """What a platform's app needs to be installed by many, to be set up by each of them, and to be removed again."""

    tokens: TokenStore
    states: OneTimeStates
    turns: Turns
    leaving: Leaving
    settings: SettingsDesk
