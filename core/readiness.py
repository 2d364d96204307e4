"""Whether a question that is asked now would be answered: what `/ready` says.

A process that is alive and cannot answer is taken out of a balancer, not killed; `/health` says only that it lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from core.errors import GorkdError
from core.heartbeats import Heartbeats
from core.ports import Clock

CHECK_WITHIN_S = 4.0  # of each part; who asks for readiness waits no longer than for a page
KEPT_S = 2.0  # whoever asks more often hears the last finding again: strangers may ask, and a check writes
HEARD_WITHIN_S = 20.0  # a worker beats every 2 s, and is given up after 15 to 20 (adapters/durable/reaper.py)

TryOut = Callable[[], Awaitable[None]]  # raises `GorkdError` for what cannot be used


class Readiness:
    """`journal` and `heartbeats` are None in a process that runs its own jobs. `stopwatch` gives seconds."""

    def __init__(
        self,
        records: TryOut,
        *,
        journal: TryOut | None = None,
        heartbeats: Heartbeats | None = None,
        clock: Clock,
        stopwatch: Callable[[], float],
    ) -> None:
        self._records = records
        self._journal = journal
        self._heartbeats = heartbeats
        self._clock = clock
        self._stopwatch = stopwatch
        self._found: list[str] = []
        self._found_at = float("-inf")
        self._looking = asyncio.Lock()

    async def reasons(self) -> list[str]:
        """Sentences for whoever runs this; empty when all is well."""
        async with self._looking:
            if self._stopwatch() - self._found_at >= KEPT_S:
                self._found = await self._look()
                self._found_at = self._stopwatch()
            return self._found

    async def _look(self) -> list[str]:
        if reason := await _failure("the records", self._records):
            return [reason]  # what else there is lies in the same place
        if self._journal and (reason := await _failure("the journal of jobs", self._journal)):
            return [reason]
        reason = await _failure("the workers", self._hear_a_worker)
        return [reason] if reason else []

    async def _hear_a_worker(self) -> None:
        if self._heartbeats is None:
            return
        now, lately = self._clock(), timedelta(seconds=HEARD_WITHIN_S)
        if not any(abs(now - beat) <= lately for beat in (await self._heartbeats.beats()).values()):
            raise GorkdError(f"No worker was heard of for {HEARD_WITHIN_S:.0f} s; start one with `gorkd worker`.")


async def _failure(part: str, try_out: TryOut) -> str:
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            await try_out()
    except TimeoutError:
        return f"Within {CHECK_WITHIN_S:.0f} s nothing was heard of {part}."
    except GorkdError as error:
        return error.user_message
    return ""
