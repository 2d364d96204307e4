"""How many jobs wait and how many run, in all processes, as two figures for whoever watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from core.errors import StoreError
from core.ports import JobStore, Recorder
from core.telemetry import Measurement

log = logging.getLogger(__name__)

EVERY_S = 5.0  # monitors ask every 15 s or less often


async def watch_backlog(
    jobs: JobStore, recorder: Recorder, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Measure every few seconds until it is cancelled."""
    while True:
        try:
            waiting, running = await jobs.backlog()
        except StoreError as exc:  # the store says itself when its database goes
            log.debug("backlog not counted", extra={"error": str(exc)})
        else:
            recorder.record(Measurement("jobs_waiting", waiting))
            recorder.record(Measurement("jobs_running", running))
        await sleep(EVERY_S)
