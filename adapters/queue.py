"""The job queue of a single process: a few jobs run, a bounded number waits, nothing is durable.

What waits when the process stops is still stored as pending; whoever starts next enqueues it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from core.model.errors import QueueFull
from core.model.job import ResearchJob
from core.model.ports import job_id_var

logger = logging.getLogger(__name__)

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
        on_cancelled: Callable[[str], Awaitable[None]] | None = None,
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
            await self._report_cancelled(job_id)
        elif task is not None:
            has_begun = job_id in self._begun
            await self._cancel_running([job_id])
            if not has_begun:
                await self._report_cancelled(job_id)

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
            logger.exception("job failed unexpectedly")

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
                logger.error("job does not stop although it was cancelled", extra={"stuck_job": task.get_name()})

    async def _report_cancelled(self, job_id: str) -> None:
        if self._on_cancelled is not None:
            await self._on_cancelled(job_id)
