"""Opening what is kept: SQLite in the data folder, or PostgreSQL and Redis for several machines."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.secrets import SecretBox
from adapters.store.archive import SqliteArchive
from adapters.store.attachments import SqliteAttachments
from adapters.store.backlog import PostgresBacklog, SqliteBacklog
from adapters.store.cache import SqliteAnswerCache
from adapters.store.conversations import SqliteConversations
from adapters.store.deliveries import SqliteDeliveries, SqliteOpenMessages
from adapters.store.events import SqliteEventLog
from adapters.store.heartbeats import SqliteHeartbeats
from adapters.store.installations import (
    SqliteDepartures,
    SqliteMemberships,
    SqliteOneTimeStates,
    SqliteTokens,
    SqliteTurns,
)
from adapters.store.jobs import SqliteJobStore
from adapters.store.library import SqliteLibrary
from adapters.store.limits import SqliteRateLimits, SqliteSingleFlight
from adapters.store.memo import SqliteJobMemo
from adapters.store.ratings import SqliteRatings
from adapters.store.reuse import SqliteReuseStore
from adapters.store.revocations import SqliteLinkRevocations
from adapters.store.settings import SqliteSettings
from adapters.store.sources import SqliteSourceStore
from adapters.store.sqlite import Database
from adapters.store.steering import SqliteSteeringStore
from adapters.store.tracelog import SqliteSpending, SqliteTraceLog
from adapters.store.traces import SqliteTraceStore
from adapters.store.usage import PostgresUsageLog, SqliteUsageLog
from bots.config import BotSettings
from core.attachments import Attachments
from core.backlog import Backlog
from core.budget import Spending
from core.delivery import Deliveries, OpenMessages
from core.departures import Departures, Memberships
from core.errors import SetupError
from core.feedback import Ratings
from core.forgetting import Ages, Archive, Register
from core.heartbeats import Heartbeats
from core.library.conversations import Conversations
from core.library.paper import Library
from core.limits import RateLimits, SingleFlight
from core.page_links import LinkRevocations
from core.ports import (
    AnswerCache,
    CacheKeeping,
    Clock,
    EventLog,
    JobMemo,
    JobStore,
    OneTimeStates,
    Recorder,
    ReuseStore,
    SourceStore,
    TokenStore,
    Turns,
)
from core.settings.desk import SettingsStore
from core.steering import SteeringStore
from core.trace import TraceStore
from core.tracing import TraceLog
from core.usage import UsageLog

if TYPE_CHECKING:
    from adapters.store.redis import RedisAnswerCache
    from adapters.store.redis_reuse import RedisReuseStore


@dataclass(frozen=True)
class Records:
    """Every store of a process."""

    jobs: JobStore
    sources: SourceStore
    events: EventLog
    memo: JobMemo
    tool_traces: TraceStore
    steering: SteeringStore
    deliveries: Deliveries
    open_messages: OpenMessages
    attachments: Attachments
    ratings: Ratings
    library: Library
    conversations: Conversations
    cache: AnswerCache
    limits: RateLimits
    flights: SingleFlight
    keeping: CacheKeeping
    reuse: ReuseStore
    heartbeats: Heartbeats
    traces: TraceLog
    spending: Spending
    backlog: Backlog
    usage: UsageLog
    revocations: LinkRevocations
    tokens: TokenStore
    states: OneTimeStates
    turns: Turns
    departures: Departures
    memberships: Memberships
    settings: SettingsStore
    register: Register
    ages: Ages
    archives: tuple[Archive, ...]


async def open_records(
    env: Mapping[str, str], settings: BotSettings, stack: AsyncExitStack, *, clock: Clock, recorder: Recorder
) -> Records:
    """Closed with `stack`. Raises `SetupError`, also when only half of what several machines need is set."""
    missing = [name for name in ("REDIS_URL", "GORKD_SECRET") if name not in env]
    if "DATABASE_URL" in env and missing:
        raise SetupError(f"DATABASE_URL needs {' and '.join(missing)} as well: please set what is missing.")
    redis = _open_redis(settings.redis_url, stack, clock=clock, recorder=recorder) if settings.redis_url else None
    box = SecretBox.from_env(env, settings.data)
    if redis is not None and "DATABASE_URL" in env:
        return await _open_postgres(env["DATABASE_URL"], redis, box, stack, folder=settings.data, clock=clock)
    database = await Database.open(settings.data)
    stack.push_async_callback(database.aclose)
    archive = SqliteArchive(database)
    cache = redis.cache if redis else SqliteAnswerCache(database, clock=clock)
    return Records(
        jobs=SqliteJobStore(database),
        sources=SqliteSourceStore(database),
        events=redis.events if redis else SqliteEventLog(database, clock=clock),
        memo=SqliteJobMemo(database),
        tool_traces=SqliteTraceStore(database),
        steering=SqliteSteeringStore(database),
        deliveries=SqliteDeliveries(database, box, clock=clock),
        open_messages=SqliteOpenMessages(database, box, clock=clock),
        attachments=SqliteAttachments(database),
        ratings=SqliteRatings(database),
        library=SqliteLibrary(database, settings.data),
        conversations=SqliteConversations(database),
        limits=redis.limits if redis else SqliteRateLimits(database, clock=clock, recorder=recorder),
        flights=redis.flights if redis else SqliteSingleFlight(database, clock=clock, recorder=recorder),
        cache=cache,
        keeping=cache,
        reuse=redis.reuse if redis else SqliteReuseStore(database, clock=clock),
        heartbeats=SqliteHeartbeats(database),
        traces=SqliteTraceLog(database),
        spending=SqliteSpending(database),
        backlog=SqliteBacklog(database),
        usage=SqliteUsageLog(database),
        revocations=SqliteLinkRevocations(database),
        tokens=SqliteTokens(database, box, clock=clock),
        states=SqliteOneTimeStates(database, clock=clock),
        turns=SqliteTurns(database, clock=clock),
        departures=SqliteDepartures(database),
        memberships=SqliteMemberships(database),
        settings=SqliteSettings(database),
        register=archive,
        ages=archive,
        archives=(archive, redis.archive) if redis else (archive,),
    )


@dataclass(frozen=True)
class _Shared:
    """What processes share in Redis; what needs to outlive it is elsewhere."""

    events: EventLog
    cache: RedisAnswerCache
    limits: RateLimits
    flights: SingleFlight
    reuse: RedisReuseStore
    archive: Archive


def _open_redis(url: str, stack: AsyncExitStack, *, clock: Clock, recorder: Recorder) -> _Shared:
    from adapters.store.redis import RedisAnswerCache
    from adapters.store.redis_archive import RedisArchive
    from adapters.store.redis_events import RedisEventLog
    from adapters.store.redis_limits import RedisRateLimits, RedisSingleFlight
    from adapters.store.redis_reuse import RedisReuseStore

    events = RedisEventLog(url, clock=clock, recorder=recorder)
    stack.push_async_callback(events.aclose)
    cache = RedisAnswerCache(url, clock=clock, recorder=recorder)
    stack.push_async_callback(cache.aclose)
    limits = RedisRateLimits(url, clock=clock, recorder=recorder)
    stack.push_async_callback(limits.aclose)
    flights = RedisSingleFlight(url, clock=clock, recorder=recorder)
    stack.push_async_callback(flights.aclose)
    reuse = RedisReuseStore(url)
    stack.push_async_callback(reuse.aclose)
    archive = RedisArchive(url)
    stack.push_async_callback(archive.aclose)
    return _Shared(events, cache, limits, flights, reuse, archive)


async def _open_postgres(
    url: str, redis: _Shared, box: SecretBox, stack: AsyncExitStack, *, folder: Path, clock: Clock
) -> Records:
    from adapters.store.postgres import PostgresDatabase
    from adapters.store.postgres_archive import PostgresArchive
    from adapters.store.postgres_attachments import PostgresAttachments
    from adapters.store.postgres_conversations import PostgresConversations
    from adapters.store.postgres_deliveries import PostgresDeliveries, PostgresOpenMessages
    from adapters.store.postgres_heartbeats import PostgresHeartbeats
    from adapters.store.postgres_installations import (
        PostgresDepartures,
        PostgresMemberships,
        PostgresOneTimeStates,
        PostgresTokens,
        PostgresTurns,
    )
    from adapters.store.postgres_jobs import PostgresJobStore
    from adapters.store.postgres_library import PostgresLibrary
    from adapters.store.postgres_memo import PostgresJobMemo
    from adapters.store.postgres_ratings import PostgresRatings
    from adapters.store.postgres_revocations import PostgresLinkRevocations
    from adapters.store.postgres_settings import PostgresSettings
    from adapters.store.postgres_sources import PostgresSourceStore
    from adapters.store.postgres_steering import PostgresSteeringStore
    from adapters.store.postgres_tracelog import PostgresSpending, PostgresTraceLog
    from adapters.store.postgres_traces import PostgresTraceStore

    database = await PostgresDatabase.open(url)
    stack.push_async_callback(database.aclose)
    archive = PostgresArchive(database)
    return Records(
        jobs=PostgresJobStore(database),
        sources=PostgresSourceStore(database),
        events=redis.events,
        memo=PostgresJobMemo(database),
        tool_traces=PostgresTraceStore(database),
        steering=PostgresSteeringStore(database),
        deliveries=PostgresDeliveries(database, box, clock=clock),
        open_messages=PostgresOpenMessages(database, box, clock=clock),
        attachments=PostgresAttachments(database),
        ratings=PostgresRatings(database),
        library=PostgresLibrary(database, folder),
        conversations=PostgresConversations(database),
        cache=redis.cache,
        limits=redis.limits,
        flights=redis.flights,
        keeping=redis.cache,
        reuse=redis.reuse,
        heartbeats=PostgresHeartbeats(database),
        traces=PostgresTraceLog(database),
        spending=PostgresSpending(database),
        backlog=PostgresBacklog(database),
        usage=PostgresUsageLog(database),
        revocations=PostgresLinkRevocations(database),
        tokens=PostgresTokens(database, box, clock=clock),
        states=PostgresOneTimeStates(database, clock=clock),
        turns=PostgresTurns(database, clock=clock),
        departures=PostgresDepartures(database),
        memberships=PostgresMemberships(database),
        settings=PostgresSettings(database),
        register=archive,
        ages=archive,
        archives=(archive, redis.archive),
    )
