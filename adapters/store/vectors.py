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
    says how many it has in all. A mirror that disagrees starts over.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[Place, int], Awaitable[Rows]],
        count: Callable[[Place], Awaitable[int]],
    ) -> None:
        self._folder = folder
        self._read = read
        self._count = count
        self._shelves: dict[Place, VectorShelf] = {}
        self._lock = asyncio.Lock()

    async def nearest(self, place: Place, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines, best first. Raises what `read` and `count` raise."""
        async with self._lock:
            shelf = await self._caught_up(place)
            return await asyncio.to_thread(shelf.nearest, vector, limit)

    async def _caught_up(self, place: Place) -> VectorShelf:
        shelf = self._shelves.setdefault(place, VectorShelf(self._folder))
        while True:
            is_anew = not shelf.numbers
            rows = await self._read(place, shelf.last)
            shelf.extend(rows)
            if len(rows) == ROWS_A_READ:
                continue
            if is_anew or len(shelf.numbers) == await self._count(place):
                return shelf
            shelf = self._shelves[place] = VectorShelf(self._folder)


@dataclass
class VectorShelf:
    """Unit vectors by number, in the order of their numbers. Not for several threads."""

    folder: Path
    numbers: list[int] = field(default_factory=list)
    _file: IO[bytes] | None = None
    _matrix: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    @property
    def last(self) -> int:
        return self.numbers[-1] if self.numbers else 0

    def extend(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add vectors (float32, little-endian) under numbers above `last`; one of another length is like nothing."""
        for number, blob in rows:
            vector = np.frombuffer(blob, dtype="<f4")
            at = len(self.numbers)
            if at >= len(self._matrix):
                self._grow(vector.size)
            self._matrix[at] = vector if vector.size == self._matrix.shape[1] else 0.0
            self.numbers.append(number)

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines, best first."""
        count = len(self.numbers)
        if not count or vector.size != self._matrix.shape[1]:
            return []
        blocks = [self._matrix[at : min(at + _BLOCK_ROWS, count)] @ vector for at in range(0, count, _BLOCK_ROWS)]
        scores = np.concatenate(blocks)
        best = np.argpartition(-scores, min(limit, count) - 1)[:limit]
        return [(self.numbers[row], float(scores[row])) for row in best[np.argsort(-scores[best], kind="stable")]]

    def _grow(self, dimension: int) -> None:
        width = self._matrix.shape[1] or dimension
        rows = max(_FIRST_ROWS, 2 * len(self._matrix))
        if self._file is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 -- it lives as long as the shelf
        self._file.truncate(rows * width * 4)
        self._matrix = np.memmap(self._file, dtype=np.float32, mode="r+", shape=(rows, width))
