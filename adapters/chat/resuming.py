"""Taking up again, now and then, what an outage or a dead process has left without its last edit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

RESUME_EVERY_S = 60.0

_log = logging.getLogger(__name__)


async def keep_resuming(resume: Callable[[], Awaitable[int]], *, every_s: float = RESUME_EVERY_S) -> None:
    """Until cancelled; `resume` gives how many answers are followed again."""
    while True:
        try:
            if resumed := await resume():
                _log.info("answers followed again", extra={"count": resumed})
        except Exception:  # noqa: BLE001 -- the boundary of this task; the next round may succeed
            _log.exception("waiting answers could not be looked up")
        await asyncio.sleep(every_s)
