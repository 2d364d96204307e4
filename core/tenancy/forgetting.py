"""Letting go of what is kept: at somebody's wish, all of it at once; and by itself, when its time is over.

What has to be gone is in several places (records, journal, Redis); each is an `Archive`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from core.model.errors import GorkdError, JobNotFound
from core.model.ports import Clock
from core.settings.desk import SettingsStore

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
    """What is to be forgotten: one job, all of a user (within `tenant` when given), all of a tenant, or, when all
    are empty, nothing beyond the jobs that are named with it.
    """

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


class Register(Protocol):
    """What is kept, by whose it is and by its age. Each method raises `StoreError`."""

    async def jobs_of(self, whose: Whose) -> list[Filed]: ...

    async def outlived(self, tenant: str, *, before: datetime) -> list[str]:
        """Jobs that were asked before and have ended."""
        ...

    async def drop_talks(self, tenant: str, *, before: datetime) -> int:
        """Remove conversations that nobody has gone on with since; how many went."""
        ...


class Archive(Protocol):
    """A place that keeps something of jobs. Each method raises `GorkdError` and may be called again after that."""

    @property
    def name(self) -> str: ...

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Remove all of these jobs, and what else is filed under `whose`; how many entries went.

        When it returns, nothing of it can be read any more, not even in the free space of files.
        """
        ...

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Remove jobs that ended before the one, and prompts, traces and events from before the other."""
        ...


async def forget(
    whose: Whose,
    register: Register,
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
        filed = await register.jobs_of(whose)
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
    settings: SettingsStore, register: Register, archives: Sequence[Archive], *, now: datetime
) -> int:
    """Remove of each tenant what is older than it has set; how many jobs went. A tenant that fails waits."""
    gone = 0
    for tenant in await settings.tenants():
        days = (await settings.get(tenant)).settings.retention_days
        if days is None:
            continue
        before = now - timedelta(days=days)
        try:
            await register.drop_talks(tenant, before=before)
            old = await register.outlived(tenant, before=before)
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
    settings: SettingsStore,
    register: Register,
    archives: Sequence[Archive],
    *,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """`sweep_tenants` now and every hour, until it is cancelled."""
    while True:
        try:
            await sweep_tenants(settings, register, archives, now=clock())
        except GorkdError as exc:
            log.warning("old entries stay", extra={"error": str(exc)})
        await sleep(SWEEP_TENANTS_EVERY.total_seconds())


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
