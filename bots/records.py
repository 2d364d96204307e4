"""Opening what is kept: SQLite in the data folder, or PostgreSQL and Redis for several machines."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.records.archive import SqlArchive
from adapters.records.cache import SqlAnswerCache, SqlLimits, SqlReuseStore
from adapters.records.deliveries import SqlMessages, SqlStandingChecks, SqlWatches
from adapters.records.jobs import SqlEvaluations, SqlEventLog, SqlHeartbeats, SqlJobMemo, SqlJobStore, SqlSourceStore
from adapters.records.library import SqlConversations, SqlLibrary
from adapters.records.sql import Tables, try_out
from adapters.records.sqlite import Database
from adapters.records.tenants import SqlAppTenants, SqlRevocations, SqlSettings, SqlTurns
from adapters.records.traces import SqlSpending, SqlTraceStore
from adapters.secrets import SecretBox
from bots.config import BotSettings
from core.model.errors import SetupError
from core.model.ports import Clock, Record, ReuseStore
from core.pipeline.checkup import TryOut
from core.pipeline.limits import SharedLimits
from core.tenancy.forgetting import Archive

if TYPE_CHECKING:
    from adapters.records.redis import RedisDoorbell


@dataclass(frozen=True)
class Records:
    """Every store of a process."""

    jobs: SqlJobStore
    sources: SqlSourceStore
    events: SqlEventLog
    memo: SqlJobMemo
    messages: SqlMessages
    standing: SqlStandingChecks
    watches: SqlWatches
    library: SqlLibrary
    conversations: SqlConversations
    cache: SqlAnswerCache
    limits: SharedLimits
    reuse: ReuseStore
    heartbeats: SqlHeartbeats
    traces: SqlTraceStore
    spending: SqlSpending
    revocations: SqlRevocations
    tenants: SqlAppTenants
    turns: SqlTurns
    settings: SqlSettings
    evaluations: SqlEvaluations
    archive: SqlArchive
    archives: tuple[Archive, ...]
    try_out: TryOut


@dataclass(frozen=True)
class Shared:
    """What processes share for a while: in Redis, or in the file of one machine."""

    limits: SharedLimits
    reuse: ReuseStore
    doorbell: RedisDoorbell | None = None
    archives: tuple[Archive, ...] = ()


async def open_records(
    env: Mapping[str, str], settings: BotSettings, stack: AsyncExitStack, *, clock: Clock, record: Record
) -> Records:
    """Closed with `stack`. Raises `SetupError`, also when only half of what several machines need is set."""
    missing = [name for name in ("REDIS_URL", "GORKD_SECRET") if name not in env]
    if "DATABASE_URL" in env and missing:
        raise SetupError(f"DATABASE_URL needs {' and '.join(missing)} as well: please set what is missing.")
    redis = _open_redis(settings.redis_url, stack, clock=clock, record=record) if settings.redis_url else None
    box = SecretBox.from_env(env, settings.data)
    database = await _open_database(env, settings)
    stack.push_async_callback(database.aclose)
    shared = redis or Shared(SqlLimits(database, clock=clock, record=record), SqlReuseStore(database, clock=clock))
    return _records(database, shared, box, folder=settings.data, clock=clock)


async def _open_database(env: Mapping[str, str], settings: BotSettings) -> Tables:
    if "DATABASE_URL" not in env:
        return await Database.open(settings.data)
    from adapters.records.postgres import PostgresDatabase

    return await PostgresDatabase.open(env["DATABASE_URL"])


def _open_redis(url: str, stack: AsyncExitStack, *, clock: Clock, record: Record) -> Shared:
    from adapters.records.redis import RedisArchive, RedisDoorbell, RedisLimits, RedisReuseStore

    doorbell = RedisDoorbell(url, record=record)
    limits = RedisLimits(url, clock=clock, record=record)
    reuse, archive = RedisReuseStore(url), RedisArchive(url)
    for part in (doorbell, limits, reuse, archive):
        stack.push_async_callback(part.aclose)
    return Shared(limits, reuse, doorbell, (archive,))


def _records(database: Tables, shared: Shared, box: SecretBox, *, folder: Path, clock: Clock) -> Records:
    archive, cache = SqlArchive(database), SqlAnswerCache(database, clock=clock)
    return Records(
        jobs=SqlJobStore(database),
        sources=SqlSourceStore(database),
        events=SqlEventLog(database, clock=clock, doorbell=shared.doorbell),
        memo=SqlJobMemo(database),
        messages=SqlMessages(database, box, clock=clock),
        standing=SqlStandingChecks(database, clock=clock),
        watches=SqlWatches(database, box, clock=clock),
        library=SqlLibrary(database, folder),
        conversations=SqlConversations(database),
        limits=shared.limits,
        cache=cache,
        reuse=shared.reuse,
        heartbeats=SqlHeartbeats(database),
        traces=SqlTraceStore(database),
        spending=SqlSpending(database),
        revocations=SqlRevocations(database, clock=clock),
        tenants=SqlAppTenants(database, box, clock=clock),
        turns=SqlTurns(database, clock=clock),
        settings=SqlSettings(database),
        evaluations=SqlEvaluations(database),
        archive=archive,
        archives=(archive, *shared.archives),
        try_out=partial(try_out, database, clock),
    )
