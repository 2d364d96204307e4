"""Letting go of what is kept: at somebody's wish, all of it at once; and by itself, when its time is over.

What has to be gone is in several places (records, journal, Redis); each is an `Archive`. A workspace or guild that
removes the app is forgotten the same way, whichever process heard of it and died.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from core.model.errors import GorkdError, JobNotFound, StoreError
from core.model.ports import Clock, Turns
from core.tenancy.settings_desk import SettingsDesk, SettingsStore
from core.text.saying import say

log = logging.getLogger(__name__)

TRACES_KEPT = timedelta(days=30)  # prompts, traces and events: long enough to look into a complaint
SWEEP_EVERY = timedelta(days=1)
SWEEP_TENANTS_EVERY = timedelta(hours=1)  # an admin who shortens the time sees it happen
RETRY_SWEEP = timedelta(hours=1)
MAX_ROUNDS = 5  # of looking for jobs that were asked while others were being forgotten
CANCELLED_AT_ONCE = 8
TOLD_S = 0.5  # followers in other processes look every 0.15 s; without their last event they would wait for ever


@dataclass(frozen=True)
class Whose:
    """One job, all of a user (within `tenant` when given), or all of a tenant; all empty: only jobs named with it."""

    job_id: str = ""
    user_id: str = ""
    tenant: str = ""


@dataclass(frozen=True)
class Filed:
    """A job that is kept."""

    job_id: str
    has_ended: bool


@dataclass(frozen=True)
class Forgotten:
    """What has gone. `failures` maps the name of an archive to why something may still be there."""

    jobs: int
    entries: int
    failures: Mapping[str, str]


@dataclass(frozen=True)
class Retention:
    """How long things are kept; `answers` None is until they are forgotten."""

    answers: timedelta | None = None
    traces: timedelta = TRACES_KEPT

    @classmethod
    def of_days(cls, days: int) -> Retention:
        """Answers for so many days, traces no longer than these; 0 days keeps answers."""
        answers = timedelta(days=days)
        return cls(answers, min(answers, TRACES_KEPT)) if days else cls()


# What is kept, by whose it is. Raises `StoreError`.
FindJobs = Callable[[Whose], Awaitable[list[Filed]]]

# Removes a tenant's conversations that nobody has gone on with since then; gives its jobs that were asked before and
# have ended. Raises `StoreError`.
ExpireTenant = Callable[[str, datetime], Awaitable[list[str]]]


class Archive(Protocol):
    """A place that keeps something of jobs. Each method raises `GorkdError` and may be called again after that."""

    @property
    def name(self) -> str: ...

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Remove all of these jobs, and what else is filed under `whose`; how many entries went.

        When it returns, nothing of it can be read any more, not even in the free space of files.
        """

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Remove jobs that ended before the one, and prompts, traces and events from before the other."""


async def forget(
    whose: Whose,
    jobs_of: FindJobs,
    archives: Sequence[Archive],
    *,
    cancel: Callable[[str], Awaitable[None]],
    condemn: Callable[[Sequence[str]], Awaitable[None]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Forgotten:
    """Cancel what runs, then erase everywhere. An archive that fails does not keep the others from forgetting.

    `condemn` notes what chats show of jobs, so that their bots take it away.

    Raises `StoreError` when not even the jobs can be found.
    """
    forgotten: set[str] = set()
    entries = 0
    failures: dict[str, str] = {}
    for round_number in range(MAX_ROUNDS):
        filed = await jobs_of(whose)
        if round_number and not filed:
            break
        running = [job.job_id for job in filed if not job.has_ended]
        if running:
            await _cancel_all(running, cancel)
            await sleep(TOLD_S)
        job_ids = [job.job_id for job in filed] or [whose.job_id] * bool(whose.job_id)
        await condemn(job_ids)
        for archive in archives:
            try:
                entries += await archive.erase(whose, job_ids)
            except GorkdError as exc:
                log.warning("not forgotten", extra={"archive": archive.name, "error": str(exc)})
                failures[archive.name] = exc.user_message
        forgotten.update(job.job_id for job in filed)
        if failures:
            break
    return Forgotten(len(forgotten), entries, failures)


async def sweep(archives: Sequence[Archive], retention: Retention, *, now: datetime) -> bool:
    """Remove everything whose time is over; whether every archive could."""
    before = now - retention.answers if retention.answers else None
    is_clean = True
    for archive in archives:
        try:
            gone = await archive.expire(answers_before=before, traces_before=now - retention.traces)
        except GorkdError as exc:
            log.warning("old entries stay", extra={"archive": archive.name, "error": str(exc)})
            is_clean = False
        else:
            if gone:
                log.info("old entries removed", extra={"archive": archive.name, "entries": gone})
    return is_clean


async def keep_sweeping(
    archives: Sequence[Archive],
    retention: Retention,
    *,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """`sweep` now and every day, sooner again after a failure; until it is cancelled."""
    while True:
        is_clean = await sweep(archives, retention, now=clock())
        await sleep((SWEEP_EVERY if is_clean else RETRY_SWEEP).total_seconds())


async def sweep_tenants(
    settings: SettingsStore, expire_tenant: ExpireTenant, archives: Sequence[Archive], *, now: datetime
) -> int:
    """Remove of each tenant what is older than it has set; how many jobs went. A tenant that fails waits."""
    gone = 0
    for tenant in await settings.tenants():
        days = (await settings.get(tenant)).settings.retention_days
        if days is None:
            continue
        before = now - timedelta(days=days)
        try:
            old = await expire_tenant(tenant, before)
            for archive in archives if old else ():
                await archive.erase(Whose(), old)
        except GorkdError as exc:
            log.warning("old entries stay", extra={"tenant": tenant, "error": str(exc)})
            continue
        gone += len(old)
        if old:
            log.info("old entries removed", extra={"tenant": tenant, "entries": len(old)})
    return gone


async def keep_sweeping_tenants(
    settings: SettingsStore, expire_tenant: ExpireTenant, archives: Sequence[Archive], *, clock: Clock
) -> None:
    """`sweep_tenants` now and every hour, until it is cancelled."""
    while True:
        try:
            await sweep_tenants(settings, expire_tenant, archives, now=clock())
        except GorkdError as exc:
            log.warning("old entries stay", extra={"error": str(exc)})
        await asyncio.sleep(SWEEP_TENANTS_EVERY.total_seconds())


async def _cancel_all(job_ids: Sequence[str], cancel: Callable[[str], Awaitable[None]]) -> None:
    slots = asyncio.Semaphore(CANCELLED_AT_ONCE)

    async def end(job_id: str) -> None:
        async with slots:
            try:
                await cancel(job_id)
            except JobNotFound:
                log.info("gone before it was cancelled", extra={"job_id": job_id})
            except GorkdError as exc:  # what it still does, it cannot store any more
                log.warning("not cancelled", extra={"job_id": job_id, "error": str(exc)})

    async with asyncio.TaskGroup() as group:
        for job_id in job_ids:
            group.create_task(end(job_id))


# Workspaces and guilds that remove the app: nothing of theirs stays, whichever process heard of it and died


LATE = timedelta(minutes=1)  # what a cancelled step or an open conversation may still write is erased after it
LOOK_EVERY_S = 15.0
TURN = timedelta(minutes=2)  # forgetting takes one at most
SETTLE_WITHIN_S = 60.0
_PAUSE_S = 0.2


@dataclass(frozen=True)
class Departure:
    """A tenant that has removed the app; `is_erased` says that only what comes late is left to be erased."""

    tenant: str
    left_at: datetime
    is_erased: bool = False


class AppTenants(Protocol):
    """Tenants that have an app, or have left: what each gave it when it was installed, one text, kept encrypted; and
    what was handed to a browser to bring back, kept as a digest. Each method raises `StoreError`.
    """

    async def put_token(self, tenant: str, text: str) -> None: ...

    async def token(self, tenant: str) -> str | None: ...

    async def erase_token(self, tenant: str) -> None: ...

    async def issue(self, state: str, *, ttl: timedelta) -> None: ...

    async def spend(self, state: str, *, ttl: timedelta) -> bool:
        """Whether nobody has spent it before, in any process, within the last `ttl`."""

    async def redeem(self, state: str) -> bool:
        """Whether it was issued and has not expired; true once only, among all processes."""

    async def depart(self, departure: Departure) -> None:
        """Keep it; an earlier one of the tenant is replaced."""

    async def departures(self) -> list[Departure]: ...

    async def strike(self, departure: Departure) -> None:
        """Everything is gone. A later departure of the same tenant stays."""

    async def note(self, app: str, tenants: Set[str]) -> None:
        """They have the app, besides those that are noted already."""

    async def noted(self, app: str) -> set[str]:
        """Whoever is forgotten is not among them."""


@dataclass
class Leaving:
    """Lets tenants go, and nothing of them stay. `holder` names this process in turns."""

    tenants: AppTenants
    turns: Turns
    forget: Callable[[Whose], Awaitable[Forgotten]]
    _: KW_ONLY
    holder: str
    clock: Clock
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _noted: asyncio.Event = field(default_factory=asyncio.Event)

    async def arrived(self, app: str, tenant: str) -> None:
        """Note that a tenant has the app, so that it is missed when it leaves unheard. Raises `StoreError`."""
        await self.tenants.note(app, {tenant})

    async def missing(self, app: str, present: Set[str]) -> set[str]:
        """Note who has the app now; gives who was noted before and is not among them. Raises `StoreError`."""
        before = await self.tenants.noted(app)
        await self.tenants.note(app, present - before)
        return before - present

    async def leave(self, tenant: str) -> None:
        """Note it, durably; what is kept goes in the background, and at the latest when a process starts again."""
        await self.tenants.depart(Departure(tenant, self.clock()))
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
            await self.sleep(_PAUSE_S)

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
        for departure in await self.tenants.departures():
            is_late = self.clock() >= departure.left_at + LATE
            if is_late or not departure.is_erased:
                await self._erase(departure, is_last=is_late)

    async def _erase(self, departure: Departure, *, is_last: bool) -> bool:
        """Whether all of it is gone; false too when another process is at it."""
        turn = f"departure:{departure.tenant}"
        if not await self.turns.take(turn, self.holder, ttl=TURN):
            return False
        try:
            forgotten = await self.forget(Whose(tenant=departure.tenant))
            if forgotten.failures:
                return False
            log.info("forgotten", extra={"tenant": departure.tenant, "jobs": forgotten.jobs})
            if is_last:
                await self.tenants.strike(departure)
            else:
                await self.tenants.depart(replace(departure, is_erased=True))
            return True
        finally:
            await self.turns.give_back(turn, self.holder)

    async def _waiting(self, tenant: str) -> Departure | None:
        return next((one for one in await self.tenants.departures() if one.tenant == tenant), None)


@dataclass(frozen=True)
class Tenancy:
    """What a platform's app needs to be installed by many, to be set up by each of them, and to be removed again."""

    tenants: AppTenants
    turns: Turns
    leaving: Leaving
    settings: SettingsDesk
