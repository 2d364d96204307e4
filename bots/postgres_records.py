"""What is kept for several machines: in PostgreSQL, and for a while in Redis."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from adapters.secrets import SecretBox
from adapters.store.backlog import SqlBacklog
from adapters.store.deliveries import SqlDeliveries, SqlOpenMessages, SqlShownMessages
from adapters.store.heartbeats import SqlHeartbeats
from adapters.store.installations import (
    SqlDepartures,
    SqlMemberships,
    SqlOneTimeStates,
    SqlTokens,
    SqlTurns,
)
from adapters.store.postgres import PostgresDatabase
from adapters.store.postgres_archive import PostgresArchive
from adapters.store.postgres_attachments import PostgresAttachments
from adapters.store.postgres_conversations import PostgresConversations
from adapters.store.postgres_jobs import PostgresJobStore
from adapters.store.postgres_library import PostgresLibrary
from adapters.store.postgres_memo import PostgresJobMemo
from adapters.store.postgres_ratings import PostgresRatings
from adapters.store.postgres_settings import PostgresSettings
from adapters.store.postgres_sources import PostgresSourceStore
from adapters.store.postgres_steering import PostgresSteeringStore
from adapters.store.postgres_tracelog import PostgresTraceLog
from adapters.store.postgres_traces import PostgresTraceStore
from adapters.store.revocations import SqlLinkRevocations
from adapters.store.sessions import SqlEndedSessions
from adapters.store.soundness import try_out
from adapters.store.spending import SqlSpending
from adapters.store.usage import PostgresUsageLog
from bots.records import Records, Shared
from core.ports import Clock


async def open_postgres(
    url: str, shared: Shared, box: SecretBox, stack: AsyncExitStack, *, folder: Path, clock: Clock
) -> Records:
    """Closed with `stack`. Raises `SetupError`."""
    database = await PostgresDatabase.open(url)
    stack.push_async_callback(database.aclose)
    archive = PostgresArchive(database)
    return Records(
        jobs=PostgresJobStore(database),
        sources=PostgresSourceStore(database),
        events=shared.events,
        memo=PostgresJobMemo(database),
        tool_traces=PostgresTraceStore(database),
        steering=PostgresSteeringStore(database),
        deliveries=SqlDeliveries(database, box, clock=clock),
        open_messages=SqlOpenMessages(database, box, clock=clock),
        shown=SqlShownMessages(database, box, clock=clock),
        attachments=PostgresAttachments(database),
        ratings=PostgresRatings(database),
        library=PostgresLibrary(database, folder),
        conversations=PostgresConversations(database),
        cache=shared.cache,
        limits=shared.limits,
        flights=shared.flights,
        keeping=shared.cache,
        reuse=shared.reuse,
        heartbeats=SqlHeartbeats(database),
        traces=PostgresTraceLog(database),
        spending=SqlSpending(database),
        backlog=SqlBacklog(database),
        usage=PostgresUsageLog(database),
        revocations=SqlLinkRevocations(database),
        sessions=SqlEndedSessions(database, clock=clock),
        tokens=SqlTokens(database, box, clock=clock),
        states=SqlOneTimeStates(database, clock=clock),
        turns=SqlTurns(database, clock=clock),
        departures=SqlDepartures(database),
        memberships=SqlMemberships(database),
        settings=PostgresSettings(database),
        register=archive,
        ages=archive,
        archives=(archive, *shared.archives),
        try_out=partial(try_out, database, clock, database.damage),
    )
