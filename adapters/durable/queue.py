"""The way in: any process puts jobs on the queue or takes them off again; workers run them.

Two queues, the durable one and that of a single process, in which a bounded number may wait (core/model/config.py).
Forgotten jobs are taken out of the journal here.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.durable.journal import APPLICATION, QUEUE, VERSION, WORKFLOW, DurableSettings, open_client, reason_of
from adapters.write_ahead import OpenedFile
from core.model.errors import JobNotFound, QueueFull, SetupError, StoreError
from core.model.job import TERMINAL_STATUSES, JobStatus, ResearchJob
from core.model.ports import JobStore, job_id_var
from core.modes import find_modes
from core.tenancy.forgetting import Whose

if TYPE_CHECKING:
    from dbos import DBOSClient, EnqueueOptions

log = logging.getLogger(__name__)

INTERACTIVE_S = 120.0  # a mode that ends within this keeps someone waiting, so it goes first
MOST_JOBS = 1000  # looked at for a place in the queue: 30 ms, and several times what may wait
CANCEL_WAIT_S = 3.0  # a live worker notices within 1.7 s and ends the job itself
LOOK_SHARE = 5  # of the time, one part may go into looking for places: in a rush it would take it all
_COUNT_EVERY_S, _COUNT_WHEN_FULL_EVERY_S = 1.0, 0.1
_LOOK_EVERY_S = 0.1


class DurableQueue:
    """A `JobQueue` on DBOS, opened with its first use. `on_cancelled(job_id)` ends a job that no worker runs."""

    def __init__(
        self, settings: DurableSettings, jobs: JobStore, *, on_cancelled: Callable[[str], Awaitable[None]]
    ) -> None:
        self._settings = settings
        self._jobs = jobs
        self._on_cancelled = on_cancelled
        self._opening: asyncio.Task[DBOSClient] | None = None
        self._file: OpenedFile | None = None
        self._waiting = 0
        self._counted_at = float("-inf")
        self._pile: dict[str, ResearchJob] = {}  # accepted, and not yet in the journal
        self._writing: asyncio.Task[None] | None = None
        self._look_again_at = float("-inf")
        self._look_now: asyncio.Task[dict[str, int]] | None = None
        self._next_look: asyncio.Task[dict[str, int]] | None = None

    async def client(self) -> DBOSClient:
        """Raises `SetupError`."""
        if self._opening is None or (self._opening.done() and self._opening.exception()):
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def warm_up(self) -> None:
        """A journal that is away is said by whoever needs it."""
        with suppress(StoreError, QueueFull):
            async with self.journal() as client:
                await self._refuse_when_full(client)

    async def enqueue(self, job: ResearchJob) -> None:
        """Does nothing for a job that is known, also when it has ended. Raises `QueueFull`, `StoreError`.

        Nobody waits for the journal: it is written behind, for all who came meanwhile at once. A stored job that does
        not get there, since this process was killed or the journal is away, is enqueued by a worker.
        """
        async with self.journal() as client:
            await self._refuse_when_full(client)
        self._waiting += 1
        self._pile[job.id] = job
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_pile(), name="enqueueing")

    async def written(self) -> None:
        """Returns when the journal has what was enqueued here, or when that was left to a worker."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def put(self, jobs: Sequence[ResearchJob]) -> None:
        """Enqueue in one transaction, without asking for room: they were accepted before. Raises `StoreError`."""
        async with self.journal() as client:
            await asyncio.to_thread(_enqueue_all, client, jobs)

    async def cancel(self, job_id: str) -> None:
        """Returns once the job has ended; one that has ended already is left as it is."""
        job = await self._jobs.get(job_id)
        if job.status in TERMINAL_STATUSES:
            return
        await self.written()
        async with self.journal() as client:
            known = await client.list_workflows_async(workflow_ids=[job_id], load_input=False, load_output=False)
            await client.cancel_workflow_async(job_id)
        if any(row.status == "PENDING" for row in known) and await self._has_ended(job_id):
            return
        await self._on_cancelled(job_id)

    async def position(self, job_id: str) -> int | None:
        """Among the jobs of its tenant: it waits for no other's while workers have room. Raises `StoreError`."""
        return (await self._line()).get(job_id)

    async def _line(self) -> dict[str, int]:
        """Everybody's place. One look serves all who came before it began: in a rush they would look one by one."""
        if self._next_look is None:
            self._next_look = asyncio.create_task(self._look(self._look_now))
        return await asyncio.shield(self._next_look)

    async def _look(self, earlier: asyncio.Task[dict[str, int]] | None) -> dict[str, int]:
        if earlier is not None:
            await asyncio.gather(earlier, return_exceptions=True)
        await asyncio.sleep(self._look_again_at - time.monotonic())
        self._look_now, self._next_look = self._next_look, None
        began_at = time.monotonic()
        places = _places(await self._jobs.unfinished(limit=MOST_JOBS), self._settings.jobs_per_tenant)
        self._look_again_at = began_at + LOOK_SHARE * (time.monotonic() - began_at)
        return places

    async def forget(self, job_id: str) -> None:
        """Remove what the journal keeps of a job that has ended. Raises `StoreError`."""
        await self.written()
        async with self.journal() as client:
            await client.delete_workflow_async(job_id)

    async def try_out(self) -> None:
        """Look into the journal. Raises `StoreError` when it cannot be used."""
        async with self.journal() as client:
            await client.list_workflows_async(workflow_ids=["ready"], limit=1, load_input=False, load_output=False)
        if self._file and (reason := await asyncio.to_thread(self._file.damage)):
            raise _unusable(reason)

    async def aclose(self) -> None:
        await self.written()
        if self._opening is not None:
            client = (await asyncio.gather(self._opening, return_exceptions=True))[0]
            if not isinstance(client, BaseException):
                await asyncio.to_thread(client.destroy)

    async def _write_pile(self) -> None:
        while self._pile:
            jobs = list(self._pile.values())
            try:
                await self.put(jobs)
            except StoreError as exc:
                log.warning("jobs are left to be enqueued by a worker", extra={"jobs": len(jobs), "error": str(exc)})
            except Exception:  # the boundary of this task: nobody waits for it
                log.exception("the journal broke")
            for job in jobs:
                del self._pile[job.id]

    async def _open(self) -> DBOSClient:
        client = await asyncio.to_thread(open_client, self._settings)
        self._file = OpenedFile(self._settings.file) if self._settings.file else None
        return client

    @asynccontextmanager
    async def journal(self) -> AsyncIterator[DBOSClient]:
        """Its client. Raises `StoreError` with the journal's reason, whatever the block raises of it."""
        try:
            client = await self.client()
        except SetupError as exc:
            raise StoreError(str(exc), operator_message=exc.operator_message) from exc
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield client
        except SQLAlchemyError as exc:
            raise _unusable(reason_of(exc)) from exc

    async def _refuse_when_full(self, client: DBOSClient) -> None:
        """Counting costs milliseconds, so it is done once a second; in between our own are added.

        What seems full is counted sooner: workers may have begun some of it.
        """

        limit = self._settings.max_waiting_jobs
        every_s = _COUNT_EVERY_S if self._waiting < limit else _COUNT_WHEN_FULL_EVERY_S
        if time.monotonic() - self._counted_at > every_s:
            self._counted_at = time.monotonic()
            rows = await client.list_workflows_async(
                queue_name=QUEUE, status="ENQUEUED", limit=limit, load_input=False, load_output=False
            )
            self._waiting = len({row.workflow_id for row in rows}.union(self._pile))
        if self._waiting >= limit:
            raise QueueFull(limit)

    async def _has_ended(self, job_id: str) -> bool:
        """Wait for the worker that runs it; False when it does not answer in time."""
        ends_at = time.monotonic() + CANCEL_WAIT_S
        while time.monotonic() < ends_at:
            try:
                if (await self._jobs.get(job_id)).status in TERMINAL_STATUSES:
                    return True
            except JobNotFound:
                return True
            await asyncio.sleep(_LOOK_EVERY_S)
        return False


def _unusable(reason: str) -> StoreError:
    return StoreError(
        f"the journal of jobs failed: {reason}",
        operator_message=f"gorkd cannot use its journal of jobs ({reason}); please try again in a minute.",
    )


def _places(jobs: Sequence[ResearchJob], jobs_per_tenant: int) -> dict[str, int]:
    """How many must begin before each that waits, by job: those that find a free place are not waited for."""
    waiting: dict[str, list[ResearchJob]] = {}
    free: Counter[str] = Counter()
    for job in jobs:
        if job.status is JobStatus.PENDING:
            waiting.setdefault(job.scope.tenant, []).append(job)
        else:
            free[job.scope.tenant] -= 1
    return {
        job.id: max(0, ahead - max(0, jobs_per_tenant + free[tenant]))
        for tenant, line in waiting.items()
        for ahead, job in enumerate(sorted(line, key=_turn))
    }


def _priority(job: ResearchJob) -> int:
    """Low goes first; unset would go before all."""
    return 1 if find_modes(job.request.modes).deadline_s <= INTERACTIVE_S else 2


def _turn(job: ResearchJob) -> tuple[int, datetime, str]:
    return _priority(job), job.created_at, job.id


def _options(job: ResearchJob) -> EnqueueOptions:
    return {
        "queue_name": QUEUE,
        "workflow_name": WORKFLOW,
        "workflow_id": job.id,
        "app_version": VERSION,
        "application_name": APPLICATION,
        "queue_partition_key": job.scope.tenant,
        "priority": _priority(job),
    }


def _enqueue_all(client: DBOSClient, jobs: Sequence[ResearchJob]) -> None:
    """They begin in the order that people are told. The journal's own time is one for all of a transaction, and on
    SQLite one for all of a second."""
    from sqlalchemy import update

    rows = client._sys_db.tables.workflow_status
    with client._sys_db.engine.begin() as connection:
        for job in jobs:
            client.enqueue_in_transaction(connection, _options(job), job.id)
            asked_ms = int(job.created_at.timestamp() * 1000)
            connection.execute(update(rows).where(rows.c.workflow_uuid == job.id).values(created_at=asked_ms))


# Taking forgotten jobs out of the journal, whose rows hold what steps returned


SCRUB_WITHIN_S = 15.0
_BUSY_TIMEOUT_S = 5.0
_PAUSE_S = 0.2


class JournalArchive:
    """An `Archive`. `file` is the journal's SQLite file; None with a database server, which vacuums by itself."""

    name = "journal"

    def __init__(self, queue: DurableQueue, file: Path | None) -> None:
        self._queue = queue
        self._file = file

    async def erase(self, whose: Whose, job_ids: Sequence[str]) -> int:
        """Raises `StoreError`."""
        for job_id in job_ids:
            await self._queue.forget(job_id)
        await self._scrub()
        return 0  # what it held was counted where it is kept

    async def expire(self, *, answers_before: datetime | None, traces_before: datetime) -> int:
        """Workers take ended jobs out within minutes; this cleans the file behind them."""
        await self._scrub()
        return 0

    async def _scrub(self) -> None:
        """Rewrite the file without its free space and empty its write-ahead log. Raises `StoreError`."""
        if self._file is None or not self._file.exists():
            return
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SCRUB_WITHIN_S
        while not await asyncio.to_thread(_is_scrubbed, self._file):
            if loop.time() > ends_at:
                words = f"What was removed may still stand in {self._file.name}, which is in use; please try again."
                raise StoreError(f"{self._file} is in use", operator_message=words)
            await asyncio.sleep(_PAUSE_S)


def _is_scrubbed(file: Path) -> bool:
    """False when another process was in the way."""
    try:
        with closing(sqlite3.connect(file, timeout=_BUSY_TIMEOUT_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("VACUUM")
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not is_busy
    except sqlite3.Error as exc:
        if getattr(exc, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return False
        raise StoreError(f"{file} cannot be cleaned: {exc}") from exc


# The job queue of a single process: a few jobs run, a bounded number waits, nothing is durable


CANCEL_GRACE_S = 5.0  # a cancelled job stores its end and leaves; one that does not is given up, loudly


class InProcessQueue:
    """A `JobQueue` that runs `run(job_id)` for at most `concurrency` jobs at once, first come first served.

    `limit` bounds those that wait. A running job that is cancelled gets `CancelledError` and marks
    itself; for one that never began `on_cancelled(job_id)` is called instead. A job that has ended may
    be enqueued again.
    """

    def __init__(
        self,
        run: Callable[[str], Awaitable[None]],
        *,
        concurrency: int,
        limit: int,
        on_cancelled: Callable[[str], Awaitable[None]],
    ) -> None:
        self._run = run
        self._concurrency = concurrency
        self._limit = limit
        self._on_cancelled = on_cancelled
        self._waiting: dict[str, None] = {}  # in order of arrival
        self._running: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()
        self._cancelled: set[str] = set()
        self._is_closed = False

    async def enqueue(self, job: ResearchJob) -> None:
        """Does nothing for a job that waits or runs. Raises `QueueFull`, also once the queue is closing."""
        if job.id in self._waiting or job.id in self._running:
            return
        if self._is_closed or (len(self._running) >= self._concurrency and len(self._waiting) >= self._limit):
            raise QueueFull(len(self._waiting))
        self._waiting[job.id] = None
        self._start_waiting()

    async def cancel(self, job_id: str) -> None:
        """Returns once the job has stopped; does nothing for a job that is not here."""
        task = self._running.get(job_id)
        if job_id in self._waiting:
            del self._waiting[job_id]
            await self._on_cancelled(job_id)
        elif task is not None:
            has_begun = job_id in self._begun
            await self._cancel_running([job_id])
            if not has_begun:
                await self._on_cancelled(job_id)

    async def position(self, job_id: str) -> int | None:
        """0 for the next to start, and so on; None for one that runs or is not here."""
        return list(self._waiting).index(job_id) if job_id in self._waiting else None

    async def aclose(self, grace_s: float) -> None:
        """Take no more work, give running jobs `grace_s` to end, then cancel them. May be called again."""
        self._is_closed = True
        self._waiting.clear()
        running = dict(self._running)
        if running:
            await asyncio.wait(running.values(), timeout=grace_s)
        await self._cancel_running([job_id for job_id, task in running.items() if not task.done()])

    def _start_waiting(self) -> None:
        while self._waiting and len(self._running) < self._concurrency and not self._is_closed:
            job_id = next(iter(self._waiting))
            del self._waiting[job_id]
            task = asyncio.create_task(self._execute(job_id), name=job_id)
            self._running[job_id] = task
            task.add_done_callback(partial(self._ended, job_id))

    async def _execute(self, job_id: str) -> None:
        self._begun.add(job_id)
        job_id_var.set(job_id)
        try:
            await self._run(job_id)
        except Exception:  # the worker's own boundary: one job must not take the others down
            log.exception("job failed unexpectedly")

    def _ended(self, job_id: str, _: asyncio.Task[None]) -> None:
        self._running.pop(job_id, None)
        self._begun.discard(job_id)
        self._cancelled.discard(job_id)
        self._start_waiting()

    async def _cancel_running(self, job_ids: list[str]) -> None:
        tasks = {job_id: self._running[job_id] for job_id in job_ids}
        for job_id, task in tasks.items():
            if job_id not in self._cancelled:  # a second cancel would interrupt the job's own cleaning up
                self._cancelled.add(job_id)
                task.cancel()
        if tasks:
            _, stuck = await asyncio.wait(tasks.values(), timeout=CANCEL_GRACE_S)
            for task in stuck:
                log.error("job does not stop although it was cancelled", extra={"stuck_job": task.get_name()})
