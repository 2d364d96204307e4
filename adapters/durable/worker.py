"""A process that runs jobs: DBOS in this event loop, and what it must do when it stops."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dbos import DBOS, DBOSClient, WorkflowHandleAsync, error
from dbos import _dbos as dbos_module
from sqlalchemy.exc import SQLAlchemyError

from adapters.durable.journal import APPLICATION, QUEUE, VERSION, WORKFLOW, DurableSettings, quiet_logs
from adapters.durable.serializer import JsonSerializer
from core.model.codec import decode, encode
from core.model.errors import SetupError, StaleAttempt, StoreError
from core.pipeline.runner import JobCancelled

log = logging.getLogger(__name__)

_PROBE = "probe"
_CONNECTIONS = 8  # to the journal; each write of a job's course holds one for milliseconds, and PostgreSQL allows 100
_PROBE_S = 10.0  # longer than any start; a machine so busy is slow in any case
_STOP_POLLING_S = 0.5  # more than one turn of the threads that take work
_INTERRUPT_S = 5.0
STORE_PATIENCE_S = 300.0  # then the job is given up, and failed in words by whoever finds it when the store is back
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0


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
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        # DBOS had made its own threads the loop's; they are gone.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
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
        """A store that is away for a while costs the job time, and nothing else."""
        gives_up_at = time.monotonic() + STORE_PATIENCE_S
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await self._run(job_id)
            except StoreError as exc:
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


class _StoreAway(BaseException):
    """Not an `Exception`, since DBOS would keep that as the step's outcome; the step shall run again instead."""

    def __init__(self, reason: StoreError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class DurableSteps:
    """`Steps` within a DBOS workflow. A step that is under way when the job is cancelled is interrupted."""

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        """Raises what `step` does, `JobCancelled`, `StoreError`, and `StaleAttempt` when another worker has the job."""

        async def journaled() -> str:
            try:
                return encode(await step())
            except StoreError as exc:
                raise _StoreAway(exc) from exc

        try:
            text = await DBOS.run_step_async({"name": f"step-{name}", "preemptible": True}, journaled)
        except _StoreAway as away:
            raise away.reason from away.reason.__cause__
        except error.DBOSWorkflowCancelledError as exc:
            raise JobCancelled from exc
        except error.DBOSWorkflowConflictIDError as exc:
            raise StaleAttempt(f"step {name}: another worker has taken the job over") from exc
        except SQLAlchemyError as exc:
            raise StoreError(f"step {name}: the journal failed: {exc}") from exc
        return decode(text, returns)
