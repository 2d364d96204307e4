"""A process that runs jobs: DBOS in this event loop, the steps that a resumed job skips, and what is done at a stop.

The reaper in each worker hands on the jobs of a worker that was killed or went silent, and enqueues what never was.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from dbos import DBOS, DBOSClient, WorkflowHandleAsync, error
from dbos import _dbos as dbos_module
from sqlalchemy.exc import SQLAlchemyError

from adapters.durable.journal import APPLICATION, QUEUE, VERSION, WORKFLOW, DurableSettings, quiet_logs
from adapters.durable.queue import DurableQueue
from adapters.durable.serializer import JsonSerializer
from core.model.codec import decode, encode
from core.model.errors import SetupError, StaleAttempt, StoreError
from core.model.job import JobStatus
from core.model.ports import Clock, Heartbeats, JobStore
from core.pipeline.runner import TOO_MANY_FILES, JobCancelled
from core.pipeline.work import DirectSteps

log = logging.getLogger(__name__)

_PROBE = "probe"
_CONNECTIONS = 8  # to the journal; each write of a job's course holds one for milliseconds, and PostgreSQL allows 100
_PROBE_S = 10.0  # longer than any start; a machine so busy is slow in any case
_STOP_POLLING_S = 0.5  # more than one turn of the threads that take work
_INTERRUPT_S = 5.0
STORE_PATIENCE_S = 300.0  # then the job is given up, and failed in words by whoever finds it when the store is back
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0


def _still_owns(job_id: str) -> bool:
    """Whether the journal has given the job to who asks. A DBOS that cannot be asked leaves it to the later attempt."""
    try:
        from dbos._datasource import _still_owns
    except ImportError:  # none of its public functions
        return False
    return _still_owns(job_id)


def _course() -> Any:
    """DBOS's context, which counts a job's places in the journal; None outside a job, or where DBOS does not say."""
    try:
        from dbos._context import get_local_dbos_context
    except ImportError:  # likewise
        return None
    return get_local_dbos_context()


class DurableWorker:
    """Runs `run(job_id)` for each job of the queue. One a process, since DBOS is.

    `worker_id` is its name in the journal: started again under it, the worker resumes its own jobs.
    """

    def __init__(self, settings: DurableSettings, worker_id: str, run: Callable[[str], Awaitable[None]]) -> None:
        self._settings = settings
        self.worker_id = worker_id
        self._run = run
        self._running: dict[str, asyncio.Task[None]] = {}
        self._probed = asyncio.Event()

    @property
    def running(self) -> int:
        """How many jobs run here."""
        return len(self._running)

    async def start(self, client: DBOSClient) -> None:
        """Take work, and return once a job without content has passed through. Raises `SetupError`."""
        quiet_logs()
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._settings.url,
                "sys_db_pool_size": _CONNECTIONS,
                "db_engine_kwargs": {"hide_parameters": True},  # errors would quote the outputs of steps into the log
                "application_version": VERSION,
                "executor_id": self.worker_id,
                "serializer": JsonSerializer(),
                "run_migrations": False,
                "enable_otlp": False,
                "log_level": "WARNING",
            }
        )
        self._register()
        try:
            DBOS.launch()  # here and not in a thread: workflows then run on this loop
        except (error.DBOSException, OSError) as exc:
            raise SetupError(f"the worker cannot be started: {exc}") from exc
        await self._pass_a_probe(client)
        log.info("worker ready", extra={"worker": self.worker_id})

    async def drain(self, grace_s: float) -> None:
        """Take no more work, and give running jobs `grace_s` to end; the rest is interrupted, not ended."""
        for event in dbos_module._get_dbos_instance().background_thread_stop_events:
            event.set()
        await asyncio.sleep(_STOP_POLLING_S)
        if self._running:
            await asyncio.wait(self._running.values(), timeout=grace_s)
        left = dict(self._running)
        for task in left.values():
            task.cancel()
        if left:
            await asyncio.wait(left.values(), timeout=_INTERRUPT_S)

    async def aclose(self, client: DBOSClient) -> None:
        """End DBOS, and put what did not end in time back on the queue: nobody has to wait for our silence."""
        # DBOS had made its own threads the loop's; they end with it, and what still waits for one is cancelled.
        loop = asyncio.get_running_loop()
        last = loop.run_in_executor(None, int)
        loop.set_default_executor(ThreadPoolExecutor())
        await last
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        rows = await client.list_workflows_async(
            executor_id=self.worker_id, status="PENDING", load_input=False, load_output=False
        )
        if rows:
            log.info("jobs left to other workers", extra={"jobs": len(rows)})
            await client.resume_workflows_async([row.workflow_id for row in rows], queue_name=QUEUE)

    def _register(self) -> None:
        async def research(job_id: str) -> None:
            await self._execute(job_id)

        async def probe(worker_id: str) -> None:
            if worker_id == self.worker_id:
                self._probed.set()

        DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(research)
        DBOS.workflow(name=_PROBE, max_recovery_attempts=None)(probe)

    async def _execute(self, job_id: str) -> None:
        self._probed.set()
        task = asyncio.current_task()
        if task is not None:  # always, within a coroutine
            self._running[job_id] = task
        try:
            await self._run_until_stored(job_id)
        finally:
            if self._running.get(job_id) is task:
                del self._running[job_id]

    async def _run_until_stored(self, job_id: str) -> None:
        """A store that is away for a while costs the job time, and nothing else.

        Of two attempts the one ends that the journal has given the job to, though the other has a later number.
        """
        gives_up_at = time.monotonic() + STORE_PATIENCE_S
        pause_s = FIRST_PAUSE_S
        while True:
            if course := _course():
                course.function_id = 0  # a step that is begun again has the place in the journal that it had
            try:
                return await self._run(job_id)
            except StoreError as exc:
                if isinstance(exc, StaleAttempt) and not await asyncio.to_thread(_still_owns, job_id):
                    return None
                if time.monotonic() > gives_up_at:
                    raise
                log.warning("the job waits for its store", extra={"job": job_id, "error": str(exc)})
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _pass_a_probe(self, client: DBOSClient) -> None:
        """Another worker may take it; then try again. A worker that already has real jobs needs none."""
        passed = asyncio.create_task(self._probed.wait())
        try:
            async with asyncio.timeout(_PROBE_S):
                while not passed.done():
                    probing = asyncio.create_task(self._probe(client))
                    await asyncio.wait((passed, probing), return_when=asyncio.FIRST_COMPLETED)
                    probing.cancel()
        except TimeoutError:
            log.warning("no job has passed through this worker yet", extra={"worker": self.worker_id})
        finally:
            passed.cancel()

    async def _probe(self, client: DBOSClient) -> None:
        """Returns when some worker has run it; it leaves the journal with the jobs of its time."""
        handle: WorkflowHandleAsync[None] = await client.enqueue_async(
            {
                "queue_name": QUEUE,
                "workflow_name": _PROBE,
                "workflow_id": f"probe_{secrets.token_hex(16)}",
                "app_version": VERSION,
                "application_name": APPLICATION,
                "queue_partition_key": _PROBE,
                "priority": 1,
            },
            self.worker_id,
        )
        await handle.get_result(polling_interval_sec=self._settings.poll_s)


# A job's steps on DBOS: one that has finished is never run again, whatever happens to the process


T = TypeVar("T")
_MOST_STEPS = 1000  # of a job; a deep one has some dozens


class _StoreAway(BaseException):
    """Not an `Exception`, since DBOS would keep that as the step's outcome; the step shall run again instead."""


class DurableSteps(DirectSteps):
    """Steps within a DBOS workflow. A step that is under way when the job is cancelled is interrupted."""

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        """Raises what `step` does, `JobCancelled`, `StoreError`, and `StaleAttempt` when another worker has the job."""

        async def journaled() -> str:
            try:
                return encode(await step())
            except StoreError as exc:
                raise _StoreAway(exc) from exc
            except OSError as exc:
                if exc.errno in TOO_MANY_FILES:
                    raise _StoreAway(StoreError(f"no file can be opened: {exc}")) from exc
                raise

        try:
            text = await DBOS.run_step_async({"name": f"step-{name}", "preemptible": True}, journaled)
        except error.DBOSUnexpectedStepError:
            # Recorded by an attempt that went another way: nothing after this fits, so go on behind all its places.
            if (course := _course()) is None:
                raise
            course.function_id += _MOST_STEPS - course.function_id % _MOST_STEPS
            return await self.run(name, step, returns)
        except _StoreAway as away:
            raise away.args[0] from away.args[0].__cause__
        except error.DBOSWorkflowCancelledError as exc:
            raise JobCancelled from exc
        except error.DBOSWorkflowConflictIDError as exc:
            raise StaleAttempt(f"step {name}: another worker has taken the job over") from exc
        except SQLAlchemyError as exc:
            raise StoreError(f"step {name}: the journal failed: {exc}") from exc
        return decode(text, returns)


# Sees to it that no job is forgotten: those of a worker gone silent, those never enqueued, those that broke


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
            known = (
                await client.list_workflows_async(workflow_ids=list(unfinished), load_input=False, load_output=False)
                if unfinished
                else []
            )
        states = {row.workflow_id: row.status for row in known}
        settled_at = self.clock() - timedelta(seconds=self.pace.settle_s)
        for job in unfinished.values():  # one that has begun without the journal runs, or ran, inside another process
            if job.id not in states and job.status is JobStatus.PENDING and job.created_at < settled_at:
                log.info("enqueued a job that was stored only", extra={"job": job.id})
                await self.queue.put([job])
        orphans = {job_id for job_id, state in states.items() if state in _ENDED}
        for job_id in orphans & self._orphans:
            end = self.endings.cancelled if states[job_id] == "CANCELLED" else self.endings.broken
            await end(job_id)
        self._orphans = orphans
        async with self.queue.journal() as client:
            await self._clear(client)

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
    """Seconds. `silent_s` without a new beat is silence; `confirm_s` is enough when the last beat also looks so old.

    Of the time between two looks half of `confirm_s` counts at most: who could not look for longer did not run, and on
    a machine so busy the others did not either.
    """

    silent_s: float
    confirm_s: float
    _seen: dict[str, tuple[datetime, float]] = field(default_factory=dict)  # a worker's last beat, and since when
    _looked: float = math.inf

    def look(self, beats: Mapping[str, datetime], *, clock: datetime, stopwatch: float) -> list[str]:
        """Of the workers whose last beats are `beats` those that are silent. `stopwatch` never jumps."""
        stalled_s = max(0.0, stopwatch - self._looked - self.confirm_s / 2)
        before, self._seen, self._looked = self._seen, {}, stopwatch
        for name, beat in beats.items():
            last, since = before.get(name, (beat, stopwatch))
            self._seen[name] = (beat, since + stalled_s if last == beat else stopwatch)
        return [name for name, (beat, since) in self._seen.items() if stopwatch - since >= self._needed_s(beat, clock)]

    def begin_anew(self) -> None:
        """Nobody could beat just now, for the store is away: that is no silence."""
        self._seen = {}

    def _needed_s(self, beat: datetime, clock: datetime) -> float:
        return self.confirm_s if (clock - beat).total_seconds() > self.silent_s else self.silent_s
