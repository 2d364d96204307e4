"""The vectors of a table in the memory of a process, so that the nearest ones are found without the database.

Rows are added and removed, never changed, and no number is given twice. What may not be compared lies on shelves of
its own.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from numpy.typing import NDArray

from adapters.records.sql import Sql, Tables
from core.model.ports import Vector

T = TypeVar("T")
_FIRST_ROWS = 16
_ROWS_A_READ = 4_096
_BLOCK_ROWS = 32_768  # multiplied at a time: what need not stay in memory may leave it again
_ALL = -1.5  # below every cosine
_GONE = -2.0

VectorPlace = tuple[str, str, str | bytes]  # tenant, visibility, and what else keeps vectors apart
VectorRows = Sequence[tuple[int, bytes]]  # in the order of their numbers


class VectorMirrors:
    """The shelves of a process: of `table` the rows with one tenant, visibility and `apart`, a column.

    They lie in files in `folder`, or where there is none in memory, `max_rows` of all places together. A mirror that
    holds more than the table blanks out what is gone.
    """

    def __init__(
        self, tables: Tables, table: str, apart: str, *, folder: Path | None = None, max_rows: int | None = None
    ) -> None:
        here = f"FROM {table} WHERE (tenant, visibility, {apart}) = (?, ?, ?) AND vector IS NOT NULL"
        self._above = f"SELECT number, vector {here} AND number > ? ORDER BY number LIMIT {_ROWS_A_READ}"
        self._count, self._numbers = f"SELECT COUNT(*) {here}", f"SELECT number {here}"
        self._tables, self._folder, self._max_rows = tables, folder, max_rows
        self._shelves: OrderedDict[VectorPlace, VectorShelf] = OrderedDict()
        self._lock = asyncio.Lock()

    async def nearest(
        self, place: VectorPlace, vector: Vector, *, limit: int | None = None, at_least: float = _ALL
    ) -> list[tuple[int, float]]:
        """Numbers and cosines, best first. Raises `StoreError`."""
        async with self._lock:
            shelf = await self._caught_up(place)
            self._make_room()
            return await _in_a_thread(partial(shelf.nearest, vector, limit, at_least))

    async def _caught_up(self, place: VectorPlace) -> VectorShelf:
        """The place's shelf as the table is now. Cancelled, it keeps what it has."""
        shelf = self._shelves.setdefault(place, VectorShelf(self._folder))
        self._shelves.move_to_end(place)
        while True:
            rows, count = await self._tables.read(partial(self._look, (*place, shelf.last)))
            if rows:
                await _in_a_thread(partial(shelf.extend, rows))
            if len(rows) < _ROWS_A_READ:
                break
        if shelf.count == count:
            return shelf
        numbers = [number for (number,) in await self._tables.rows(self._numbers, place)]
        await _in_a_thread(partial(shelf.keep_only, numbers))
        if shelf.is_mostly_gone:
            del self._shelves[place]
            return await self._caught_up(place)
        return shelf

    def _look(self, values: tuple[str, str, str | bytes, int], sql: Sql) -> tuple[VectorRows, int]:
        """What is new, and how many there are in all."""
        rows = [(number, vector) for number, vector in sql.rows(self._above, values)]
        ((count,),) = sql.rows(self._count, values[:3])
        return rows, int(count)

    def _make_room(self) -> None:
        """Places that were not asked for longest go first; they are read again when they are needed."""
        while self._max_rows and len(self._shelves) > 1 and sum(map(len, self._shelves.values())) > self._max_rows:
            self._shelves.popitem(last=False)


async def _in_a_thread(work: Callable[[], T]) -> T:
    """It has ended on return, also when whoever waits was cancelled: the next one finds the shelf whole."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


@dataclass
class VectorShelf:
    """Unit vectors by number, in the order of their numbers. Not for several threads at once."""

    folder: Path | None
    _used: int = 0
    _numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _is_gone: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    _file: IO[bytes] | None = None
    _matrix: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    def __len__(self) -> int:
        return self._used

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

    def extend(self, rows: VectorRows) -> None:
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

    def nearest(self, vector: Vector, limit: int | None, at_least: float) -> list[tuple[int, float]]:
        """Numbers and cosines of `at_least`, best first."""
        used = self._used
        if not self.count or vector.size != self._matrix.shape[1]:
            return []
        # Few on one thread: the many of a matrix product wait for one another on a busy machine, for 8 ms instead of
        # 0.3.
        multiplied = np.vecdot if used < _BLOCK_ROWS else np.matmul
        blocks = [
            multiplied(self._matrix[at : min(at + _BLOCK_ROWS, used)], vector) for at in range(0, used, _BLOCK_ROWS)
        ]
        scores = np.where(self._is_gone[:used], _GONE, np.concatenate(blocks))
        near = np.flatnonzero(scores >= at_least)
        if limit is not None and limit < len(near):
            near = near[np.argpartition(-scores[near], limit - 1)[:limit]]
        ranked = near[np.argsort(-scores[near], kind="stable")]
        return [(int(self._numbers[row]), float(scores[row])) for row in ranked]

    def _grow(self, dimension: int, wanted: int) -> None:
        width = self._matrix.shape[1] or dimension
        rows = max(_FIRST_ROWS, 2 * len(self._matrix), wanted)
        if self.folder is None:
            larger = np.zeros((rows, width), dtype=np.float32)
            larger[: len(self._matrix)] = self._matrix.reshape(-1, width)
            self._matrix = larger
        else:
            if self._file is None:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 -- it lives as long as the shelf
            self._file.truncate(rows * width * 4)
            self._matrix = np.memmap(self._file, dtype=np.float32, mode="r+", shape=(rows, width))
        self._numbers = np.resize(self._numbers, rows)
        self._is_gone = np.resize(self._is_gone, rows)
