"""Vectors of a shelf as one matrix in memory-mapped pages, so that a search of everything needs no database.

The file lies in the data folder, belongs to one process and has no name; the kernel keeps in memory what is used.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from core.job import Scope
from core.library.paper import Index
from core.ports import Vector

_FIRST_ROWS = 1024
ROWS_A_READ = 4_096
_BLOCK_ROWS = 32_768  # multiplied at a time: what need not stay in memory may leave it again


@dataclass(frozen=True)
class Place:
    """What is searched as one: an index of a shelf."""

    scope: Scope
    index: Index


Rows = Sequence[tuple[int, bytes]]


class VectorMirrors:
    """The shelves of a process. `read` gives at most `ROWS_A_READ` rows of a place above a number, in order; `count`
    says how many it has in all, `numbers` which. A mirror that holds more blanks out what is gone.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[Place, int], Awaitable[Rows]],
        count: Callable[[Place], Awaitable[int]],
        numbers: Callable[[Place], Awaitable[Sequence[int]]],
    ) -> None:
        self._folder = folder
        self._read = read
        self._count = count
        self._numbers = numbers
        self._shelves: dict[Place, VectorShelf] = {}
        self._lock = asyncio.Lock()

    async def nearest(self, place: Place, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines, best first. Raises what `read` and `count` raise."""
        async with self._lock:
            shelf = await self._caught_up(place)
            return await asyncio.to_thread(shelf.nearest, vector, limit)

    async def _caught_up(self, place: Place) -> VectorShelf:
        shelf = self._shelves.setdefault(place, VectorShelf(self._folder))
        while rows := await self._read(place, shelf.last):
            await asyncio.to_thread(shelf.extend, rows)
            if len(rows) < ROWS_A_READ:
                break
        if shelf.count == await self._count(place):
            return shelf
        await asyncio.to_thread(shelf.keep_only, await self._numbers(place))
        if shelf.is_mostly_gone:
            del self._shelves[place]
            return await self._caught_up(place)
        return shelf


@dataclass
class VectorShelf:
    """Unit vectors by number, in the order of their numbers. Not for several threads at once."""

    folder: Path
    _used: int = 0
    _numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _is_gone: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    _file: IO[bytes] | None = None
    _matrix: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    @property
    def last(self) -> int:
        return int(self._numbers[self._used - 1]) if self._used else 0

    @property
    def count(self) -> int:
        """Of what is still there."""
        return self._used - int(self._is_gone[: self._used].sum())

    @property
    def is_mostly_gone(self) -> bool:
        return 2 * self.count < self._used

    def extend(self, rows: Rows) -> None:
        """Add vectors (float32, little-endian) under numbers above `last`; one of another length is like nothing."""
        vectors = [np.frombuffer(blob, dtype="<f4") for _, blob in rows]
        first, self._used = self._used, self._used + len(rows)
        if self._used > len(self._matrix):
            self._grow(vectors[0].size, self._used)
        width = self._matrix.shape[1]
        self._matrix[first : self._used] = [vector if vector.size == width else np.zeros(width) for vector in vectors]
        self._numbers[first : self._used] = [number for number, _ in rows]
        self._is_gone[first : self._used] = False

    def keep_only(self, numbers: Sequence[int]) -> None:
        """Blank out the vectors of all other numbers."""
        gone = ~np.isin(self._numbers[: self._used], np.asarray(numbers, dtype=np.int64))
        self._matrix[: self._used][gone] = 0.0
        self._is_gone[: self._used] |= gone

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines, best first."""
        used = self._used
        if not self.count or vector.size != self._matrix.shape[1]:
            return []
        blocks = [self._matrix[at : min(at + _BLOCK_ROWS, used)] @ vector for at in range(0, used, _BLOCK_ROWS)]
        scores = np.where(self._is_gone[:used], -2.0, np.concatenate(blocks))  # below every cosine
        wanted = min(limit, self.count)
        best = np.argpartition(-scores, wanted - 1)[:wanted]
        ranked = best[np.argsort(-scores[best], kind="stable")]
        return [(int(self._numbers[row]), float(scores[row])) for row in ranked]

    def _grow(self, dimension: int, wanted: int) -> None:
        width = self._matrix.shape[1] or dimension
        rows = max(_FIRST_ROWS, 2 * len(self._matrix), wanted)
        if self._file is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 -- it lives as long as the shelf
        self._file.truncate(rows * width * 4)
        self._matrix = np.memmap(self._file, dtype=np.float32, mode="r+", shape=(rows, width))
        self._numbers = np.resize(self._numbers, rows)
        self._is_gone = np.resize(self._is_gone, rows)
