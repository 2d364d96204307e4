"""Sees to it that no job is forgotten: those of a worker gone silent, those never enqueued, those that broke.

Every worker runs one. Two that find the same thing do it once: DBOS moves a job off a worker only
while that worker has it, enqueues an id only once, and an attempt ends only once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dbos import DBOS, DBOSClient

from adapters.durable.queue import DurableQueue
from core.model.errors import StoreError
from core.model.job import JobStatus, ResearchJob
from core.model.ports import Clock, Heartbeats, JobStore

log = logging.getLogger(__name__)

_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


@dataclass(frozen=True)
class ReaperPace:
    """Seconds. A worker is given up `silent_s` after its last sign of life, whatever the clocks say meanwhile."""

    beat_s: float = 2.0
    silent_s: float = 15.0
    confirm_s: float = 5.0  # without a new beat, for one whose last looks old: after a clock jump every worker's does
    sweep_s: float = 5.0
    settle_s: float = 3.0  # what was stored just now is about to be enqueued by whoever stored it
    keep_s: float = 600.0  # an ended job stays in the journal for as long


@dataclass(frozen=True)
class Endings:
    """How a job ends that no worker will end: `cancelled` and `broken` take its id."""

    cancelled: Callable[[str], Awaitable[None]]
    broken: Callable[[str], Awaitable[None]]


@dataclass
class Reaper:
    """`run` goes on until it is cancelled; a store that fails is tried again with the next turn."""

    worker_id: str
    heartbeats: Heartbeats
    jobs: JobStore
    queue: DurableQueue
    endings: Endings
    clock: Clock
    pace: ReaperPace = ReaperPace()
    _silence: SilentWorkers = field(init=False)
    _orphans: set[str] = field(default_factory=set)  # jobs that the last sweep found without anyone to end them

    def __post_init__(self) -> None:
        self._silence = SilentWorkers(self.pace.silent_s, self.pace.confirm_s)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every(self.pace.beat_s, self.beat))
            group.create_task(self._every(self.pace.beat_s, self.take_over))
            group.create_task(self._every(self.pace.sweep_s, self.sweep))

    async def beat(self) -> None:
        try:
            await self.heartbeats.beat(self.worker_id, self.clock())
        except StoreError:
            self._silence.begin_anew()
            raise

    async def take_over(self) -> None:
        """Put the jobs of silent workers back on the queue."""
        beats = await self.heartbeats.beats()
        beats.pop(self.worker_id, None)
        for name in self._silence.look(beats, clock=self.clock(), stopwatch=asyncio.get_running_loop().time()):
            async with self.queue.journal():
                handles = await asyncio.to_thread(DBOS._recover_pending_workflows, [name])
            if handles:
                log.warning("took over from a silent worker", extra={"silent": name, "jobs": len(handles)})
            await self.heartbeats.forget(name)

    async def sweep(self) -> None:
        """Enqueue what was stored only, end what ended without a word, and clear the journal of old jobs."""
        unfinished = {job.id: job for job in await self.jobs.unfinished(limit=1000)}
        async with self.queue.journal() as client:
            known = await self._states(client, list(unfinished))
        for job in unfinished.values():
            if job.id not in known and self._was_never_enqueued(job):
                log.info("enqueued a job that was stored only", extra={"job": job.id})
                await self.queue.put(job)
        orphans = {job_id for job_id, state in known.items() if state in _ENDED}
        for job_id in orphans & self._orphans:
            end = self.endings.cancelled if known[job_id] == "CANCELLED" else self.endings.broken
            await end(job_id)
        self._orphans = orphans
        async with self.queue.journal() as client:
            await self._clear(client)

    async def _states(self, client: DBOSClient, job_ids: list[str]) -> dict[str, str]:
        if not job_ids:
            return {}
        rows = await client.list_workflows_async(workflow_ids=job_ids, load_input=False, load_output=False)
        return {row.workflow_id: row.status for row in rows}

    def _was_never_enqueued(self, job: ResearchJob) -> bool:
        """One that has begun without the journal runs, or ran, inside another process."""
        return job.status is JobStatus.PENDING and self.clock() - job.created_at > timedelta(seconds=self.pace.settle_s)

    async def _clear(self, client: DBOSClient) -> None:
        before = (self.clock() - timedelta(seconds=self.pace.keep_s)).isoformat()
        rows = await client.list_workflows_async(
            status=list(_ENDED), completed_before=before, limit=500, load_input=False, load_output=False
        )
        if rows:
            await client.delete_workflows_async([row.workflow_id for row in rows])

    async def _every(self, seconds: float, turn: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await turn()
            except StoreError as exc:  # stores say themselves when their database goes and when it is back
                log.debug("the reaper failed for once", extra={"error": str(exc)})
            except Exception:  # a boundary of the process: what broke here must not end the worker
                log.exception("the reaper broke")
            await asyncio.sleep(seconds)


# Which workers have gone silent, by this process's own stopwatch: clocks jump, and those of machines differ


@dataclass
class SilentWorkers:
    """Seconds. `silent_s` without a new beat is silence; `confirm_s` is enough when the last beat also looks so old."""

    silent_s: float
    confirm_s: float
    _seen: dict[str, tuple[datetime, float]] = field(default_factory=dict)  # a worker's last beat, and since when

    def look(self, beats: Mapping[str, datetime], *, clock: datetime, stopwatch: float) -> list[str]:
        """Of the workers whose last beats are `beats` those that are silent. `stopwatch` never jumps."""
        before, self._seen = self._seen, {}
        for name, beat in beats.items():
            last, since = before.get(name, (beat, stopwatch))
            self._seen[name] = (beat, since if last == beat else stopwatch)
        return [name for name, (beat, since) in self._seen.items() if stopwatch - since >= self._needed_s(beat, clock)]

    def begin_anew(self) -> None:
        """Nobody could beat just now, for the store is away: that is no silence."""
        self._seen = {}

    def _needed_s(self, beat: datetime, clock: datetime) -> float:
        return self.confirm_s if (clock - beat).total_seconds() > self.silent_s else self.silent_s
