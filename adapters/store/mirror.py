"""The answers of a log held in memory as matrices, so that the nearest question is found without a database.

One matrix a place (scope and group): what may not be compared does not lie in one matrix. Whoever reads
the log says what is new and how much there is; a mirror that disagrees starts over.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from core.job import Scope
from core.ports import SimilarAnswer, Vector

MAX_ENTRIES = 20_000  # in a process, all places together; 120 MB at 1,536 numbers a vector
_FIRST_ROWS = 16


@dataclass(frozen=True)
class Place:
    """Where questions may be compared with one another."""

    scope: Scope
    group: bytes


@dataclass(frozen=True)
class LoggedAnswer:
    """An entry of a log. `number` orders the entries of a place and is never given twice."""

    number: str
    job_id: str
    created_at: datetime
    expires_at: datetime
    vector: Vector


@dataclass(frozen=True)
class LogTail:
    """Entries after a number, oldest first, not necessarily all of them; and how many the place has in all."""

    entries: Sequence[LoggedAnswer]
    total: int


ReadLog = Callable[[Place, str], Awaitable[LogTail]]


class AnswerMirror:
    """`read` gives a place's entries after a number ("" for all of them)."""

    def __init__(self, read: ReadLog, *, max_entries: int = MAX_ENTRIES) -> None:
        self._read = read
        self._max_entries = max_entries
        self._shelves: OrderedDict[Place, _Shelf] = OrderedDict()
        self._lock = asyncio.Lock()

    async def similar(
        self, place: Place, vector: Vector, *, now: datetime, limit: int, at_least: float
    ) -> list[SimilarAnswer]:
        """The nearest fresh answers of a place, nearest first. Raises what `read` raises."""
        async with self._lock:
            shelf = await self._caught_up(place)
        self._make_room()
        return shelf.nearest(vector, now=now, limit=limit, at_least=at_least)

    async def _caught_up(self, place: Place) -> _Shelf:
        """The place's shelf as the log is now, anew when entries were removed. Cancelled, it keeps what it has."""
        shelf = self._shelves.setdefault(place, _Shelf())
        self._shelves.move_to_end(place)
        is_fresh = not len(shelf)
        while True:
            tail = await self._read(place, shelf.last)
            shelf.extend(tail.entries)
            if len(shelf) == tail.total or (is_fresh and not tail.entries):
                return shelf
            if not tail.entries:
                shelf = self._shelves[place] = _Shelf()
                is_fresh = True

    def _make_room(self) -> None:
        """Places that were not asked for longest go first; they are read again when they are needed."""
        while len(self._shelves) > 1 and sum(map(len, self._shelves.values())) > self._max_entries:
            self._shelves.popitem(last=False)


class _Shelf:
    """The entries of one place; rows of the matrix are unit vectors."""

    def __init__(self) -> None:
        self._entries: list[LoggedAnswer] = []
        self._matrix: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def last(self) -> str:
        return self._entries[-1].number if self._entries else ""

    def extend(self, entries: Sequence[LoggedAnswer]) -> None:
        for entry in entries:
            row = len(self._entries)
            if row >= len(self._matrix):
                self._grow(entry.vector.size)
            if entry.vector.size == self._matrix.shape[1]:  # a vector of another length is like nothing
                self._matrix[row] = entry.vector
            self._entries.append(entry)

    def nearest(self, vector: Vector, *, now: datetime, limit: int, at_least: float) -> list[SimilarAnswer]:
        if not self._entries or vector.size != self._matrix.shape[1]:
            return []
        # On one thread: the many of a matrix product wait for one another on a busy machine, for 8 ms instead of 0.3.
        similarities = np.vecdot(self._matrix[: len(self._entries)], vector)
        near = np.flatnonzero(similarities >= at_least)
        found: list[SimilarAnswer] = []
        for row in near[np.argsort(-similarities[near], kind="stable")]:
            entry = self._entries[row]
            if entry.expires_at > now:
                found.append(SimilarAnswer(entry.job_id, entry.created_at, float(similarities[row])))
            if len(found) == limit:
                break
        return found

    def _grow(self, dimension: int) -> None:
        width = self._matrix.shape[1] or dimension
        larger = np.zeros((max(_FIRST_ROWS, 2 * len(self._matrix)), width), dtype=np.float32)
        larger[: len(self._matrix)] = self._matrix.reshape(-1, width)
        self._matrix = larger
