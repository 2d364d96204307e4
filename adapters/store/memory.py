"""The stores in memory, for tests and for runs that leave nothing behind.

They keep the same contract as the durable ones, except that nothing checks that a job was saved.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta

from adapters.store.events import Bell, Tail, encode_data, follow_log, refuse_append
from adapters.store.traces import no_such_trace
from core.answer import JobResult
from core.attachments import Attachment
from core.delivery import Address
from core.errors import JobNotFound, StaleAttempt
from core.events import Event, EventType, Json
from core.feedback import Rating
from core.job import TERMINAL_STATUSES, JobStatus, ResearchJob, Scope
from core.limits import take_token
from core.ports import Clock
from core.source import Source
from core.steering import Steering
from core.trace import Change, ToolTrace, TraceStatus


class MemoryJobStore:
    """A `JobStore`. Both writes are fenced: an attempt older than the stored one raises `StaleAttempt`."""

    def __init__(self) -> None:
        self._jobs: dict[str, ResearchJob] = {}
        self._results: dict[str, JobResult] = {}
        self._by_dedupe_key: dict[tuple[Scope, str], str] = {}

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        """Saving a job that is under way takes back the result of an earlier attempt."""
        twin = self._by_dedupe_key.get((job.scope, dedupe_key))
        if dedupe_key and twin:
            return self._jobs[twin]
        self._keep(job)
        if dedupe_key:
            self._by_dedupe_key[job.scope, dedupe_key] = job.id
        if job.status not in TERMINAL_STATUSES:
            self._results.pop(job.id, None)
        return job

    async def get(self, job_id: str) -> ResearchJob:
        if job_id not in self._jobs:
            raise JobNotFound(job_id)
        return self._jobs[job_id]

    async def finish(self, job: ResearchJob, result: JobResult) -> None:
        """Also stores a job that was never saved. Raises `ValueError` unless the status is terminal."""
        if job.status not in TERMINAL_STATUSES:
            raise ValueError(f"{job.id} is {job.status}, which is not an end")
        self._keep(job)
        self._results[job.id] = result

    async def result(self, job_id: str) -> JobResult | None:
        return self._results.get(job_id)

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        jobs = [job for job in reversed(self._jobs.values()) if job.scope == scope]
        return sorted(jobs, key=lambda job: job.created_at, reverse=True)[: max(limit, 0)]

    async def asked(self, scope: Scope, dedupe_key: str) -> ResearchJob | None:
        twin = self._by_dedupe_key.get((scope, dedupe_key))
        return self._jobs[twin] if twin else None

    async def in_thread(
        self, scope: Scope, thread: str, *, before: datetime, limit: int, is_any: bool = False
    ) -> list[ResearchJob]:
        jobs = [
            job for job in await self.recent(scope, limit=len(self._jobs)) if thread and job.request.thread == thread
        ]
        wanted = [job for job in jobs if (is_any or job.status is JobStatus.COMPLETED) and job.created_at < before]
        return wanted[: max(limit, 0)]

    async def asked_by(self, tenant: str, asker: str, *, limit: int) -> list[ResearchJob]:
        own = [job for job in reversed(self._jobs.values()) if asker and job.request.asker == asker]
        jobs = [job for job in own if job.scope.tenant == tenant]
        return sorted(jobs, key=lambda job: job.created_at, reverse=True)[: max(limit, 0)]

    async def unfinished(self, *, limit: int) -> list[ResearchJob]:
        jobs = [job for job in self._jobs.values() if job.status not in TERMINAL_STATUSES]
        return sorted(jobs, key=lambda job: job.created_at)[: max(limit, 0)]

    def _keep(self, job: ResearchJob) -> None:
        stored = self._jobs.get(job.id)
        if stored and stored.attempt > job.attempt:
            raise StaleAttempt(f"attempt {job.attempt} of {job.id} wrote after attempt {stored.attempt} had begun")
        self._jobs[job.id] = job


class MemoryJobMemo:
    """A `JobMemo`."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    async def get(self, job_id: str, key: str) -> str | None:
        return self._texts.get((job_id, key))

    async def put(self, job_id: str, key: str, text: str) -> None:
        self._texts[job_id, key] = text

    async def clear(self, job_id: str) -> None:
        self._texts = {entry: text for entry, text in self._texts.items() if entry[0] != job_id}


class MemorySourceStore:
    """A `SourceStore`."""

    def __init__(self) -> None:
        self._attempts: dict[str, int] = {}
        self._sources: dict[str, dict[int, Source]] = {}

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None:
        """Add or replace by number. A newer attempt's first put drops the older one's; an older one's is refused."""
        newest = self._attempts.get(job.id, 0)
        if newest > job.attempt:
            raise StaleAttempt(f"attempt {job.attempt} of {job.id} put sources after attempt {newest}")
        if newest < job.attempt:
            self._sources[job.id] = {}
        self._attempts[job.id] = job.attempt
        self._sources[job.id].update({source.number: source for source in sources})

    async def sources(self, job_id: str) -> list[Source]:
        return [source for _, source in sorted(self._sources.get(job_id, {}).items())]


class MemoryEventLog:
    """An `EventLog`. After its `complete` an attempt appends no more (`StaleAttempt`)."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._events: dict[str, list[Event]] = {}
        self._bell = Bell()

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        encode_data(data)  # refuses what the durable logs cannot keep
        tail = self._tail(job_id, 0)
        refuse_append(job_id, attempt, newest=tail.attempt, is_complete=tail.is_complete)
        event = Event(seq=len(tail.events) + 1, type=type, attempt=attempt, at=self._clock(), data=dict(data))
        self._events.setdefault(job_id, []).append(event)
        self._bell.ring(job_id)
        return event

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        return self._events.get(job_id, [])[max(after, 0) :]

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        async def read_tail(seen: int) -> Tail:
            return self._tail(job_id, seen)

        with self._bell.listen(job_id) as rung:
            async for event in follow_log(read_tail, rung, after=after, poll_s=lambda: None):
                yield event

    def followers(self) -> int:
        """How many followers wait."""
        return self._bell.listeners()

    def _tail(self, job_id: str, after: int) -> Tail:
        events = self._events.get(job_id, [])
        if not events:
            return Tail((), 0, False)
        return Tail(tuple(events[max(after, 0) :]), events[-1].attempt, events[-1].type == "complete")


class MemoryTraceStore:
    """A `TraceStore`."""

    def __init__(self) -> None:
        self._traces: dict[str, ToolTrace] = {}

    async def put(self, trace: ToolTrace) -> ToolTrace:
        stored = self._traces.get(trace.id)
        if stored is not None and not stored.has_ended:
            return stored
        self._traces.pop(trace.id, None)
        self._traces[trace.id] = trace
        return trace

    async def change(self, trace_id: str, change: Change) -> ToolTrace:
        if trace_id not in self._traces:
            raise no_such_trace(trace_id)
        self._traces[trace_id] = change(self._traces[trace_id])
        return self._traces[trace_id]

    async def get(self, trace_id: str) -> ToolTrace | None:
        return self._traces.get(trace_id)

    async def find(self, scope: Scope, user_id: str, *, tool_name: str | None, limit: int) -> list[ToolTrace]:
        traces = [
            trace
            for trace in reversed(self._traces.values())
            if (trace.scope, trace.user_id) == (scope, user_id) and tool_name in (None, trace.tool_name)
        ]
        return sorted(traces, key=lambda trace: trace.created_at, reverse=True)[: max(limit, 0)]

    async def completed(self, scope: Scope, tool_name: str, *, limit: int) -> list[ToolTrace]:
        traces = [
            trace
            for trace in reversed(self._traces.values())
            if (trace.scope, trace.tool_name, trace.status) == (scope, tool_name, TraceStatus.COMPLETED)
        ]
        return sorted(traces, key=lambda trace: trace.created_at, reverse=True)[: max(limit, 0)]


class MemoryHeartbeats:
    """`Heartbeats`."""

    def __init__(self) -> None:
        self._beats: dict[str, datetime] = {}

    async def beat(self, worker_id: str, now: datetime) -> None:
        self._beats[worker_id] = now

    async def beats(self) -> dict[str, datetime]:
        return dict(self._beats)

    async def forget(self, worker_id: str) -> None:
        self._beats.pop(worker_id, None)


class MemorySteeringStore:
    """A `SteeringStore`."""

    def __init__(self) -> None:
        self._said: dict[str, list[Steering]] = {}

    async def add(self, job_id: str, steering: Steering) -> int:
        said = self._said.setdefault(job_id, [])
        said.append(steering)
        return len(said)

    async def read(self, job_id: str, *, after: int = 0) -> list[Steering]:
        return self._said.get(job_id, [])[max(after, 0) :]


class MemoryLinkRevocations:
    """`LinkRevocations`."""

    def __init__(self) -> None:
        self._moments: dict[str, datetime] = {}

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        self._moments[job.id] = max(at, self._moments.get(job.id, at))

    async def revoked_at(self, job_id: str) -> datetime | None:
        return self._moments.get(job_id)


class MemoryEndedSessions:
    """`EndedSessions`."""

    def __init__(self) -> None:
        self._ended: set[str] = set()

    async def end(self, session_id: str, *, until: datetime) -> None:
        self._ended.add(session_id)

    async def has_ended(self, session_id: str) -> bool:
        return session_id in self._ended


class MemoryRateLimits:
    """`RateLimits` of one process, and what counts while a shared store is away. Full buckets are dropped."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}

    async def take(self, key: str, *, rate: float, burst: int) -> float:
        now = self._clock().timestamp()
        after, wait_s = take_token(self._full_at.get(key, 0.0), now, rate=rate, burst=burst)
        if len(self._full_at) > MAX_BUCKETS:
            self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        self._full_at[key] = after
        return wait_s

    async def full_in_s(self, key: str) -> float:
        return max(self._full_at.get(key, 0.0) - self._clock().timestamp(), 0.0)


class MemorySingleFlight:
    """A `SingleFlight` of one process."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._flights: dict[tuple[Scope, str], tuple[str, datetime]] = {}

    async def claim(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> str:
        now = self._clock()
        self._flights = {place: flight for place, flight in self._flights.items() if flight[1] > now}
        return self._flights.setdefault((scope, key), (job_id, now + ttl))[0]

    async def release(self, scope: Scope, key: str, job_id: str) -> None:
        if self._flights.get((scope, key), ("",))[0] == job_id:
            del self._flights[scope, key]


MAX_BUCKETS = 10_000  # names of buckets, about 1 MB, before those that are full again are dropped


class MemoryDeliveries:
    """`Deliveries`."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._addresses: dict[str, Address] = {}

    async def put(self, job: ResearchJob, address: Address) -> None:
        self._addresses[job.id] = address

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock()
        self._addresses = {
            job_id: address
            for job_id, address in self._addresses.items()
            if address.expires_at is None or address.expires_at > now
        }
        return [entry for entry in self._addresses.items() if entry[1].platform == platform]

    async def erase(self, job_id: str) -> None:
        self._addresses.pop(job_id, None)


class MemoryShownMessages:
    """`ShownMessages`, however old, of any job."""

    def __init__(self) -> None:
        self._shown: dict[str, list[Address]] = {}
        self._condemned: dict[str, Address] = {}

    async def put(self, job_id: str, addresses: Sequence[Address]) -> None:
        self._shown.setdefault(job_id, []).extend(addresses)

    async def job_at(self, address: Address) -> str:
        return next((job_id for job_id, shown in self._shown.items() if address in shown), "")

    async def condemn(self, job_ids: Sequence[str]) -> None:
        for job_id in job_ids:
            for number, address in enumerate(self._shown.pop(job_id, [])):
                self._condemned[f"{job_id}/{number}"] = address

    async def condemned(self, platform: str) -> list[tuple[str, Address]]:
        return [entry for entry in self._condemned.items() if entry[1].platform == platform]

    async def taken_away(self, key: str) -> None:
        self._condemned.pop(key, None)


class MemoryOpenMessages:
    """`OpenMessages`, however old."""

    def __init__(self) -> None:
        self._addresses: dict[str, Address] = {}

    async def put(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        self._addresses[key] = address

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        return [entry for entry in self._addresses.items() if entry[1].platform == platform]

    async def erase(self, key: str) -> None:
        self._addresses.pop(key, None)


class MemoryAttachments:
    """`Attachments`."""

    def __init__(self) -> None:
        self._attachments: dict[str, list[Attachment]] = {}

    async def put(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        self._attachments[job.id] = list(attachments)

    async def of(self, job_id: str) -> list[Attachment]:
        return list(self._attachments.get(job_id, []))


class MemoryRatings:
    """`Ratings`."""

    def __init__(self) -> None:
        self._ratings: dict[str, dict[str, Rating]] = {}

    async def put(self, job: ResearchJob, rating: Rating) -> bool:
        votes = self._ratings.setdefault(job.id, {})
        earlier = votes.pop(rating.asker, None)
        votes[rating.asker] = rating
        return earlier is None or earlier.is_good != rating.is_good

    async def of(self, job_id: str) -> list[Rating]:
        return list(self._ratings.get(job_id, {}).values())
