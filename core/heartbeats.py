"""Signs of life of the workers, so that the jobs of one that has gone silent can be taken up by another."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Heartbeats(Protocol):
    """One row a worker, with its own clock's time. Each method raises `StoreError`."""

    async def beat(self, worker_id: str, now: datetime) -> None:
        """`worker_id` is alive at `now`, also when that is earlier than its last beat."""
        ...

    async def beats(self) -> dict[str, datetime]:
        """Each worker's last beat."""
        ...

    async def forget(self, worker_id: str) -> None:
        """It has ended in good order, or its jobs are taken care of."""
        ...
