"""How words come into a message at its end: in it, else in a new one, and never with an error for who calls."""

from __future__ import annotations

import asyncio
import logging
from typing import TypeVar

from adapters.chat.reply import AddressDead, FilesRefused, Pace, Reply
from core.job import ResearchJob

_log = logging.getLogger(__name__)
Payload = TypeVar("Payload")


async def place(reply: Reply[Payload], payload: Payload, job_id: str, pace: Pace, *, may_repost: bool) -> None:
    """In the message, else in a new one. Raises what the platform raises."""
    async with asyncio.timeout(pace.edit_timeout_s):
        try:
            await reply.edit(payload)
        except FilesRefused:
            raise
        except AddressDead:
            await reply.repost(payload, job_id)
        except Exception:  # whatever the platform raised
            if not may_repost:
                raise
            await reply.repost(payload, job_id)


async def ping(reply: Reply[Payload], job: ResearchJob, pace: Pace) -> None:
    """Call whoever waited long enough to look away."""
    ran_s = ((job.completed_at or job.created_at) - job.created_at).total_seconds()
    if ran_s <= pace.ping_after_s:
        return
    try:
        async with asyncio.timeout(pace.edit_timeout_s):
            await reply.ping(job)
    except Exception:  # noqa: BLE001 -- the answer is there; only the notice is missing
        _log.warning("asker not notified", exc_info=True, extra={"job": job.id})


async def show(reply: Reply[Payload], payload: Payload, *, within_s: float) -> None:
    """A last word that belongs to no answer, tried twice."""
    for _ in range(2):
        try:
            async with asyncio.timeout(within_s):
                await reply.edit(payload)
            return
        except Exception:  # noqa: BLE001 -- whatever the platform raised
            _log.warning("message could not be edited", exc_info=True)
