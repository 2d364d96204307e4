"""One message that lives: a placeholder, edited while the job runs, and edited once more at its end.

Whatever happens, the last thing a person sees is an answer, an honest refusal or a failure. Knows no
platform: a platform gives a `Reply` to edit and a `Voice` that puts things into its own payload.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from core import wording
from core.answer import JobResult
from core.errors import GorkdError
from core.job import ResearchJob, ResearchRequest
from core.snapshot import Snapshot
from core.source import Source

if TYPE_CHECKING:
    from core.researcher import Researcher

EDIT_INTERVAL_S = 2.0  # Discord shares a lock per token; Slack allows 50 updates a minute
FAREWELL_S = 2.0  # to tell of a shutdown before the process goes

_log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
Payload_contra = TypeVar("Payload_contra", contravariant=True)
Payload_co = TypeVar("Payload_co", covariant=True)


class Reply(Protocol[Payload_contra]):
    """The message that lives."""

    async def edit(self, payload: Payload_contra, /) -> None: ...


class Voice(Protocol[Payload_co]):
    """A platform's renderer."""

    def progress(self, snapshot: Snapshot, elapsed_s: float) -> Payload_co: ...

    def outcome(self, job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> Payload_co: ...

    def refusal(self, sentence: str) -> Payload_co: ...


async def answer_live(
    reply: Reply[Payload],
    voice: Voice[Payload],
    researcher: Researcher,
    request: ResearchRequest,
    *,
    dedupe_key: str,
    clock: Callable[[], float] = time.monotonic,
) -> ResearchJob | None:
    """Research `request` in `reply`. Returns the job that ended, or None when there is no answer to show.

    Every path ends in an edit. Errors of the platform itself are logged, never raised.
    """
    try:
        job = await _research(reply, voice, researcher, request, dedupe_key=dedupe_key, clock=clock)
        outcome = voice.outcome(job, await researcher.result(job.id), await researcher.sources(job.id))
    except asyncio.CancelledError:
        await _try_edit(reply, voice.refusal("I was restarted before I could answer; please ask again."))
        raise
    except GorkdError as error:
        _log.info("question refused", extra={"code": error.code, "reason": str(error)})
        await _try_edit(reply, voice.refusal(error.user_message))
        return None
    except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
        _log.exception("question failed")
        await _try_edit(reply, voice.refusal(wording.SOMETHING_BROKE))
        return None
    await _try_edit(reply, outcome, timeout_s=None)
    return job


async def _research(
    reply: Reply[Payload],
    voice: Voice[Payload],
    researcher: Researcher,
    request: ResearchRequest,
    *,
    dedupe_key: str,
    clock: Callable[[], float],
) -> ResearchJob:
    """Submit, show progress, and give the job when it has ended."""
    started = last_edit = clock()
    job = await researcher.submit(request, dedupe_key=dedupe_key)
    snapshot = Snapshot()
    async for event in researcher.follow(job.id):
        snapshot = snapshot.after(event)
        if event.type != "complete" and clock() - last_edit >= EDIT_INTERVAL_S:
            await _try_edit(reply, voice.progress(snapshot, clock() - started))
            last_edit = clock()
    return await researcher.job(job.id)


async def _try_edit(reply: Reply[Payload], payload: Payload, *, timeout_s: float | None = FAREWELL_S) -> None:
    """An edit that fails costs that edit, not the answer."""
    try:
        async with asyncio.timeout(timeout_s):
            await reply.edit(payload)
    except Exception:  # noqa: BLE001 -- whatever the platform raised; the next edit may succeed
        _log.warning("message could not be edited", exc_info=True)
