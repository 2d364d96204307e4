"""The stores in memory, for tests and for runs that leave nothing behind.

They keep the same contract as the durable ones, except that nothing checks that a job was saved.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta

from adapters.store.following import Bell, Tail, follow_log, refuse_append
from core.answer import JobResult
from core.errors import JobNotFound, StaleAttempt
from core.events import Event, EventType, Json
from core.job import TERMINAL_STATUSES, ResearchJob, Scope
from core.ports import Clock
from core.source import Source


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
            async for event in follow_log(read_tail, rung, after=after, poll_s=None):
                yield event

    def followers(self) -> int:
        """How many followers wait."""
        return self._bell.listeners()

    def _tail(self, job_id: str, after: int) -> Tail:
        events = self._events.get(job_id, [])
        if not events:
            return Tail((), 0, False)
        return Tail(tuple(events[max(after, 0) :]), events[-1].attempt, events[-1].type == "complete")


class MemoryAnswerCache:
    """An `AnswerCache`. Each put drops what has expired and the oldest over `max_rows`."""

    def __init__(self, *, clock: Clock, max_rows: int = 10_000) -> None:
        self._clock = clock
        self._max_rows = max_rows
        self._answers: dict[tuple[Scope, str], tuple[str, datetime, datetime]] = {}

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        job_id, created_at, expires_at = self._answers.get((scope, key), ("", self._clock(), self._clock()))
        return (job_id, created_at) if expires_at > self._clock() else None

    async def put(self, scope: Scope, key: str, job_id: str, *, ttl: timedelta) -> None:
        now = self._clock()
        self._answers.pop((scope, key), None)
        self._answers[scope, key] = (job_id, now, now + ttl)
        fresh = [(place, answer) for place, answer in self._answers.items() if answer[2] > now]
        self._answers = dict(fresh[-self._max_rows :])
