"""How every event log is followed: what is there, then what comes, until `complete`.

A log brings a function that reads its tail; a `Bell` wakes the followers of this process, and a
log that other processes write to is asked again every `poll_s`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from core.codec import encode
from core.errors import StaleAttempt, StoreError
from core.events import Event, Json


@dataclass(frozen=True)
class Tail:
    """The events after a place in the log, and of the whole log its newest attempt (0: empty) and whether it ended."""

    events: tuple[Event, ...]
    attempt: int
    is_complete: bool


class Bell:
    """Wakes the followers of a job. Belongs to one event loop; holds nothing for a job that nobody follows."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Event]] = {}

    def ring(self, job_id: str) -> None:
        for rung in self._listeners.get(job_id, ()):
            rung.set()

    def ring_all(self) -> None:
        """Something may have been missed."""
        for job_id in self._listeners:
            self.ring(job_id)

    @contextmanager
    def listen(self, job_id: str) -> Iterator[asyncio.Event]:
        rung = asyncio.Event()
        self._listeners.setdefault(job_id, set()).add(rung)
        try:
            yield rung
        finally:
            self._listeners[job_id].discard(rung)
            if not self._listeners[job_id]:
                del self._listeners[job_id]

    def listeners(self) -> int:
        """How many followers wait, over all jobs."""
        return sum(len(listeners) for listeners in self._listeners.values())


async def follow_log(
    read_tail: Callable[[int], Awaitable[Tail]], rung: asyncio.Event, *, after: int, poll_s: float | None
) -> AsyncIterator[Event]:
    """Yield events after `after` in order, without those of an attempt older than one already seen.

    Ends after `complete`, unless a newer attempt has taken the job up again. `poll_s` is None for a
    log that only this process writes to.
    """
    newest = 0
    while True:
        rung.clear()
        tail = await read_tail(after)
        for event in tail.events:
            after = event.seq
            is_superseded = event.type == "complete" and event.attempt < tail.attempt
            if event.attempt < newest or is_superseded:
                continue
            newest = event.attempt
            yield event
            if event.type == "complete":
                return
        if tail.is_complete:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(poll_s):
                await rung.wait()


def refuse_append(job_id: str, attempt: int, *, newest: int, is_complete: bool) -> None:
    """Raises `StaleAttempt` for an attempt that is older than `newest`, or whose log has its `complete` already."""
    if attempt < newest:
        raise StaleAttempt(f"attempt {attempt} of {job_id} appended after attempt {newest}")
    if attempt == newest and is_complete:
        raise StaleAttempt(f"attempt {attempt} of {job_id} appended after its own end")


def encode_data(data: Mapping[str, Json]) -> str:
    """What a log keeps of an event. Raises `StoreError` for what no JSON holds, e.g. half a surrogate pair."""
    try:
        return encode(dict(data))
    except ValueError as exc:
        raise StoreError(f"an event's data cannot be stored: {type(exc).__name__}") from exc
