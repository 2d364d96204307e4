"""How many jobs wait and how many run, in all processes, as two figures for whoever watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from core.errors import StoreError
from core.ports import Recorder
from core.telemetry import Measurement

log = logging.getLogger(__name__)

EVERY_S = 5.0  # monitors ask every 15 s or less often


class Backlog(Protocol):
    async def count(self) -> tuple[int, int]:
        """Jobs that wait for a worker, and jobs that have begun and not ended. Raises `StoreError`."""
        ...


async def watch_backlog(
    backlog: Backlog, recorder: Recorder, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Measure every few seconds until it is cancelled."""
    while True:
        try:
            waiting, running = await backlog.count()
        except StoreError as exc:  # the store says itself when its database goes
            log.debug("backlog not counted", extra={"error": str(exc)})
        else:
            recorder.record(Measurement("jobs_waiting", waiting))
            recorder.record(Measurement("jobs_running", running))
        await sleep(EVERY_S)
