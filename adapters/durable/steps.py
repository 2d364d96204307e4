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
