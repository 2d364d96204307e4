"""The spine: one job from the queue to its last event. Read this first.

    plan → search → synthesize (by the job's mode) → deliver

Whatever happens, the log ends with `complete` and the job with a terminal status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import perf_counter
from typing import TypeVar

from core.deps import Deps
from core.errors import GorkdError, StaleAttempt
from core.job import TERMINAL_STATUSES, JobError, JobStatus, ResearchJob
from core.memo import RememberingModel
from core.modes import find_mode
from core.modes.mode import Deadline, Work
from core.ports import Steps
from core.progress import Progress
from core.stages.cache import cached_result
from core.stages.deliver import deliver_failure, deliver_result
from core.stages.search import Gathering
from core.telemetry import job_id_var
from core.wording import SOMETHING_BROKE

log = logging.getLogger(__name__)
T = TypeVar("T")


class DirectSteps:
    """Steps without a journal: each runs where it stands. After a crash the job starts anew."""

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        return await step()


async def run_job(job_id: str, deps: Deps, steps: Steps) -> None:
    """Carry a stored job to its end. Raises only `CancelledError`, after the job is marked cancelled."""
    job = await deps.jobs.get(job_id)
    if job.status in TERMINAL_STATUSES:
        return
    token = job_id_var.set(job.id)
    started = perf_counter()
    progress = Progress(job, deps)
    try:
        await _research(job, deps, steps, progress, started)
    except asyncio.CancelledError:
        await asyncio.shield(deliver_failure(progress.job, deps, JobStatus.CANCELLED, error=None, started=started))
        raise
    except StaleAttempt as exc:
        log.warning("a newer attempt has taken over", extra={"error": str(exc)})
    except GorkdError as exc:
        error = JobError(exc.code, exc.user_message, exc.retryable)
        await deliver_failure(progress.job, deps, JobStatus.FAILED, error=error, started=started)
    except Exception:  # process boundary: a bug must still end in words, with its traceback in the log
        log.exception("job broke")
        error = JobError("INTERNAL_ERROR", SOMETHING_BROKE, retryable=True)
        await deliver_failure(progress.job, deps, JobStatus.FAILED, error=error, started=started)
    finally:
        job_id_var.reset(token)


async def _research(job: ResearchJob, deps: Deps, steps: Steps, progress: Progress, started: float) -> None:
    await progress.status(JobStatus.PLANNING)
    earlier = await cached_result(job, deps)
    if earlier:
        await deliver_result(progress.job, deps, earlier, started=started)
        return
    mode = find_mode(job.request.modes[0])
    if deps.model is not None:
        deps = replace(deps, model=RememberingModel(deps.model, deps.memo, job.id))
    gathering = Gathering(job, deps)
    try:
        work = Work(job, deps, steps, progress, gathering, Deadline.after(mode.deadline_s))
        result = await mode.run(work)
    finally:
        await gathering.aclose()
    await deliver_result(replace(progress.job, intent=job.intent), deps, result, started=started)
