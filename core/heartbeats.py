"""Signs of life of the workers, so that the jobs of one that has gone silent can be taken up by another."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Heartbeats(Protocol):
    """One row a worker. Each method raises `StoreError`.

    Times are those of whoever calls: the clocks of several machines must agree to a few seconds.
    """

    async def beat(self, worker_id: str, now: datetime) -> None:
        """`worker_id` is alive at `now`, also when that is earlier than its last beat."""
        ...

    async def silent_since(self, cutoff: datetime) -> list[str]:
        """Workers whose last beat was before `cutoff`, longest silent first."""
        ...

    async def forget(self, worker_id: str) -> None:
        """It has ended in good order, or its jobs are taken care of."""
        ...
