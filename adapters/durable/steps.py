"""A job's steps on DBOS: one that has finished is never run again, whatever happens to the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from dbos import DBOS, error
from sqlalchemy.exc import SQLAlchemyError

from core.codec import decode, encode
from core.errors import StaleAttempt, StoreError
from core.runner import JobCancelled

T = TypeVar("T")


class DurableSteps:
    """`Steps` within a DBOS workflow. A step that is under way when the job is cancelled is interrupted."""

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        """Raises what `step` does, `JobCancelled`, `StoreError`, and `StaleAttempt` when another worker has the job."""

        async def journaled() -> str:
            return encode(await step())

        try:
            text = await DBOS.run_step_async({"name": f"step-{name}", "preemptible": True}, journaled)
        except error.DBOSWorkflowCancelledError as exc:
            raise JobCancelled from exc
        except error.DBOSWorkflowConflictIDError as exc:
            raise StaleAttempt(f"step {name}: another worker has taken the job over") from exc
        except SQLAlchemyError as exc:
            raise StoreError(f"step {name}: the journal failed: {exc}") from exc
        return decode(text, returns)
