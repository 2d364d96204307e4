"""How papers are searched: by words as each database does it, and by vectors.

The words of `Fts5` lie in tables of their own, those of `TsVector` beside the chunks. Vectors of a shelf are one matrix
in memory-mapped pages, so that a search of everything needs no database: the file lies in the data folder, belongs to
one process and has no name; the kernel keeps in memory what is used.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from adapters.records.sql import Sql, Tables, place_token
from core.library.paper import Index, PaperChunk, StoredChunk
from core.model.codec import encode
from core.model.job import Scope
from core.model.ports import Vector
from core.text.terms import STOPWORDS

MAX_QUERY_WORDS = 40  # of a question; what comes later rarely says what it is about
_MERGED_PAGES = 500  # of 4 KB, at a time: other writers wait for a quarter of a second, not for the whole index
_MERGES = 20  # at a removal; a library of 10,000 papers would take half a minute, and later removals go on with it
_FIRST_ROWS = 1024
ROWS_A_READ = 4_096
_BLOCK_ROWS = 32_768  # multiplied at a time: what need not stay in memory may leave it again

Scored = Sequence[tuple[int, float]]  # the numbers of chunks with their scores, best first
Rows = Sequence[tuple[int, bytes]]


@dataclass(frozen=True)
class PlaceInIndex:
    """What is searched as one: an index of a shelf."""

    scope: Scope
    index: Index


class WordIndex(Protocol):
    """How a database searches the words of chunks."""

    def add(self, sql: Sql, place: PlaceInIndex, chunks: Sequence[PaperChunk]) -> None: ...

    def matching(self, sql: Sql, *, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        """Any of the words may stand in a chunk."""
        ...


_FTS5_TABLES = {Index.SUMMARY: "summary_words", Index.CONTENT: "content_words"}


class Fts5:
    """`WordIndex` of SQLite: an index each for summaries and for full texts."""

    def add(self, sql: Sql, place: PlaceInIndex, chunks: Sequence[PaperChunk]) -> None:
        for chunk in chunks:
            ((number,),) = sql.rows(
                """INSERT INTO paper_chunks (tenant, visibility, kind, paper_id, chunk, vector)
                VALUES (?, ?, ?, ?, ?, ?) RETURNING number""",
                _stored(place, chunk),
            )
            sql.execute(
                f"INSERT INTO {_FTS5_TABLES[place.index]} (rowid, place, text) VALUES (?, ?, ?)",  # noqa: S608 -- our names
                (number, place_token(*place_values(place)), searched(chunk.paper.title, chunk)),
            )

    def matching(self, sql: Sql, *, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        places = " OR ".join(place_token(*place_values(PlaceInIndex(shelf, index))) for shelf in shelves)
        wanted = " OR ".join(f'"{word}"' for word in asked)
        words = _FTS5_TABLES[index]
        # Where a chunk stands says nothing of how well it fits; smaller is better.
        query = f"""SELECT rowid, -bm25({words}, 0.0, 1.0) FROM {words} WHERE {words} MATCH ?
            ORDER BY 2 DESC LIMIT ?"""  # noqa: S608 -- our own names
        return [(row[0], row[1]) for row in sql.rows(query, (f"place : ({places}) AND text : ({wanted})", limit))]


class TsVector:
    """`WordIndex` of PostgreSQL."""

    def add(self, sql: Sql, place: PlaceInIndex, chunks: Sequence[PaperChunk]) -> None:
        sql.execute_all(
            """INSERT INTO paper_chunks (tenant, visibility, kind, paper_id, chunk, vector, words)
            VALUES (?, ?, ?, ?, ?, ?, to_tsvector('english', ?))""",
            [(*_stored(place, chunk), searched(chunk.paper.title, chunk)) for chunk in chunks],
        )

    def matching(self, sql: Sql, *, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        tenants, visibilities = [shelf.tenant for shelf in shelves], [shelf.visibility for shelf in shelves]
        wanted = " | ".join(f"'{word}'" for word in asked)
        # The kind is written out, so that PostgreSQL sees that the index of this kind alone is enough.
        # Not `ts_rank_cd`: for words of which any may stand there it takes four times as long and finds less
        # (docs/evaluation.md).
        find = f"""SELECT number, ts_rank(words, wanted, 1) AS score
            FROM paper_chunks, to_tsquery('english', ?) wanted
            WHERE words @@ wanted AND kind = '{index.value}'
            AND (tenant, visibility) IN (SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS text[])))
            ORDER BY score DESC, number LIMIT ?"""  # noqa: S608 -- one of our own two words
        return [(row[0], row[1]) for row in sql.rows(find, (wanted, tenants, visibilities, limit))]


def drop_deleted_words(sql: Sql) -> None:
    """All at once, on SQLite: FTS5 only marks them otherwise."""
    for words in _FTS5_TABLES.values():
        sql.execute(f"INSERT INTO {words} ({words}) VALUES ('optimize')")  # noqa: S608 -- our own names


async def merge_deleted_words(tables: Tables) -> None:
    """A piece at a time; PostgreSQL needs no telling."""
    if tables.dialect != "sqlite":
        return
    for words in _FTS5_TABLES.values():
        for step in range(_MERGES):
            pages = _MERGED_PAGES if step else -_MERGED_PAGES  # a negative number begins to merge everything into one
            if not await tables.write(partial(_merge_words, words=words, pages=pages)):
                break


def _merge_words(sql: Sql, *, words: str, pages: int) -> bool:
    """A piece of the work; False when there is none left."""
    ((before,),) = sql.rows("SELECT total_changes()")
    sql.execute(f"INSERT INTO {words} ({words}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608 -- our own names
    ((after,),) = sql.rows("SELECT total_changes()")
    return int(after - before) >= 2


def _stored(place: PlaceInIndex, chunk: PaperChunk) -> tuple[object, ...]:
    vector = None if chunk.embedding is None else np.asarray(chunk.embedding, dtype="<f4").tobytes()
    return (*place_values(place), chunk.paper.id, encode(StoredChunk.of(chunk)), vector)


def searched(title: str, chunk: PaperChunk | StoredChunk) -> str:
    """What is searched of a chunk."""
    return f"{title}\n{chunk.heading}\n{chunk.chunk_text}"


def place_values(place: PlaceInIndex) -> tuple[str, str, str]:
    """As the columns tenant, visibility and kind."""
    return place.scope.tenant, place.scope.visibility, place.index.value


def words_of(query: str) -> list[str]:
    """What a full-text search looks for: the words of a question that carry meaning, all of them if none does."""
    found = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))
    return [word for word in found if word not in STOPWORDS][:MAX_QUERY_WORDS] or found[:MAX_QUERY_WORDS]


class VectorMirrors:
    """The shelves of a process. `read` gives at most `ROWS_A_READ` rows of a place above a number, in order; `count`
    says how many it has in all, `numbers` which. A mirror that holds more blanks out what is gone.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[PlaceInIndex, int], Awaitable[Rows]],
        count: Callable[[PlaceInIndex], Awaitable[int]],
        numbers: Callable[[PlaceInIndex], Awaitable[Sequence[int]]],
    ) -> None:
        self._folder = folder
        self._read = read
        self._count = count
        self._numbers = numbers
        self._shelves: dict[PlaceInIndex, VectorShelf] = {}
        self._lock = asyncio.Lock()

    async def nearest(self, place: PlaceInIndex, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines, best first. Raises what `read` and `count` raise."""
        async with self._lock:
            shelf = await self._caught_up(place)
            return await asyncio.to_thread(shelf.nearest, vector, limit)

    async def _caught_up(self, place: PlaceInIndex) -> VectorShelf:
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
