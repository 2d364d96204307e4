"""Opening what is kept: SQLite in the data folder, or PostgreSQL and Redis for several machines."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.secrets import SecretBox
from adapters.store.archive import SqliteArchive
from adapters.store.attachments import SqliteAttachments
from adapters.store.backlog import SqlBacklog
from adapters.store.cache import SqliteAnswerCache
from adapters.store.conversations import SqliteConversations
from adapters.store.deliveries import SqlDeliveries, SqlOpenMessages, SqlShownMessages
from adapters.store.events import SqliteEventLog
from adapters.store.heartbeats import SqlHeartbeats
from adapters.store.installations import (
    SqlDepartures,
    SqliteTokens,
    SqlMemberships,
    SqlOneTimeStates,
    SqlTurns,
)
from adapters.store.jobs import SqliteJobStore
from adapters.store.library import SqliteLibrary
from adapters.store.limits import SqliteRateLimits, SqliteSingleFlight
from adapters.store.memo import SqliteJobMemo
from adapters.store.ratings import SqliteRatings
from adapters.store.reuse import SqliteReuseStore
from adapters.store.revocations import SqlLinkRevocations
from adapters.store.sessions import SqlEndedSessions
from adapters.store.settings import SqliteSettings
from adapters.store.soundness import try_out
from adapters.store.sources import SqliteSourceStore
from adapters.store.spending import SqlSpending
from adapters.store.sqlite import Database
from adapters.store.steering import SqliteSteeringStore
from adapters.store.tracelog import SqliteTraceLog
from adapters.store.traces import SqliteTraceStore
from adapters.store.usage import SqliteUsageLog
from bots.config import BotSettings
from core.attachments import Attachments
from core.backlog import Backlog
from core.budget import Spending
from core.delivery import Deliveries, OpenMessages, ShownMessages
from core.departures import Departures, Memberships
from core.errors import SetupError
from core.feedback import Ratings
from core.forgetting import Ages, Archive, Register
from core.heartbeats import Heartbeats
from core.library.conversations import Conversations
from core.library.paper import Library
from core.limits import RateLimits, SingleFlight
from core.page_links import EndedSessions, LinkRevocations
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
from core.readiness import TryOut
from core.settings.desk import SettingsStore
from core.steering import SteeringStore
from core.trace import TraceStore
from core.tracing import TraceLog
from core.usage import UsageLog

if TYPE_CHECKING:
    from adapters.store.redis import RedisAnswerCache


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
    shown: ShownMessages
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
    sessions: EndedSessions
    tokens: TokenStore
    states: OneTimeStates
    turns: Turns
    departures: Departures
    memberships: Memberships
    settings: SettingsStore
    register: Register
    ages: Ages
    archives: tuple[Archive, ...]
    try_out: TryOut


@dataclass(frozen=True)
class Shared:
    """What processes share for a while: in Redis, or in the file of one machine."""

    events: EventLog
    cache: SqliteAnswerCache | RedisAnswerCache
    limits: RateLimits
    flights: SingleFlight
    reuse: ReuseStore
    archives: tuple[Archive, ...] = ()


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
        from bots.postgres_records import open_postgres

        return await open_postgres(env["DATABASE_URL"], redis, box, stack, folder=settings.data, clock=clock)
    database = await Database.open(settings.data)
    stack.push_async_callback(database.aclose)
    shared = redis or _share_sqlite(database, clock=clock, recorder=recorder)
    return _sqlite_records(database, shared, box, folder=settings.data, clock=clock)


def _open_redis(url: str, stack: AsyncExitStack, *, clock: Clock, recorder: Recorder) -> Shared:
    from adapters.store.redis import RedisAnswerCache
    from adapters.store.redis_archive import RedisArchive
    from adapters.store.redis_events import RedisEventLog
    from adapters.store.redis_limits import RedisRateLimits, RedisSingleFlight
    from adapters.store.redis_reuse import RedisReuseStore

    events = RedisEventLog(url, clock=clock, recorder=recorder)
    cache = RedisAnswerCache(url, clock=clock, recorder=recorder)
    limits = RedisRateLimits(url, clock=clock, recorder=recorder)
    flights = RedisSingleFlight(url, clock=clock, recorder=recorder)
    reuse, archive = RedisReuseStore(url), RedisArchive(url)
    for part in (events, cache, limits, flights, reuse, archive):
        stack.push_async_callback(part.aclose)
    return Shared(events, cache, limits, flights, reuse, (archive,))


def _share_sqlite(database: Database, *, clock: Clock, recorder: Recorder) -> Shared:
    return Shared(
        SqliteEventLog(database, clock=clock),
        SqliteAnswerCache(database, clock=clock),
        SqliteRateLimits(database, clock=clock, recorder=recorder),
        SqliteSingleFlight(database, clock=clock, recorder=recorder),
        SqliteReuseStore(database, clock=clock),
    )


def _sqlite_records(database: Database, shared: Shared, box: SecretBox, *, folder: Path, clock: Clock) -> Records:
    archive = SqliteArchive(database)
    return Records(
        jobs=SqliteJobStore(database),
        sources=SqliteSourceStore(database),
        events=shared.events,
        memo=SqliteJobMemo(database),
        tool_traces=SqliteTraceStore(database),
        steering=SqliteSteeringStore(database),
        deliveries=SqlDeliveries(database, box, clock=clock),
        open_messages=SqlOpenMessages(database, box, clock=clock),
        shown=SqlShownMessages(database, box, clock=clock),
        attachments=SqliteAttachments(database),
        ratings=SqliteRatings(database),
        library=SqliteLibrary(database, folder),
        conversations=SqliteConversations(database),
        limits=shared.limits,
        flights=shared.flights,
        cache=shared.cache,
        keeping=shared.cache,
        reuse=shared.reuse,
        heartbeats=SqlHeartbeats(database),
        traces=SqliteTraceLog(database),
        spending=SqlSpending(database),
        backlog=SqlBacklog(database),
        usage=SqliteUsageLog(database),
        revocations=SqlLinkRevocations(database),
        sessions=SqlEndedSessions(database, clock=clock),
        tokens=SqliteTokens(database, box, clock=clock),
        states=SqlOneTimeStates(database, clock=clock),
        turns=SqlTurns(database, clock=clock),
        departures=SqlDepartures(database),
        memberships=SqlMemberships(database),
        settings=SqliteSettings(database),
        register=archive,
        ages=archive,
        archives=(archive, *shared.archives),
        try_out=partial(try_out, database, clock, database.damage),
    )
