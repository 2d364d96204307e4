"""The paper library in SQLite: full text by FTS5, vectors by one matrix a shelf."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from sqlite_utils import Database as Connection

from adapters.store.digest import place_token
from adapters.store.sqlite import Database
from adapters.store.vectors import ROWS_A_READ, Place, VectorMirrors
from core.codec import decode, encode
from core.job import Scope
from core.library.paper import Index, Paper, PaperChunk, SearchResult, StoredChunk
from core.ports import Vector
from core.terms import STOPWORDS

MAX_QUERY_WORDS = 40  # of a question; what comes later rarely says what it is about
_FIND = """SELECT rowid, bm25(paper_words, 0.0, 1.0) FROM paper_words WHERE paper_words MATCH ?
    ORDER BY 2 LIMIT ?"""  # where a chunk stands says nothing of how well it fits
_MERGED_PAGES = 500  # of 4 KB, at a time: other writers wait for a quarter of a second, not for the whole index
_MERGES = 20  # at a removal; a library of 10,000 papers would take half a minute, and later removals go on with it
DROP_DELETED_WORDS = "INSERT INTO paper_words (paper_words) VALUES ('optimize')"  # FTS5 only marks them otherwise
_CHUNK = """SELECT c.chunk, c.vector, c.paper_id, c.tenant, c.visibility, p.paper FROM paper_chunks c JOIN papers p
    ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id) WHERE c.number = ?"""


class SqliteLibrary:
    """A `Library`. `folder` is where mirrors of vectors may lie."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._mirrors = VectorMirrors(folder, self._rows, self._count, self._numbers)

    async def put(
        self, shelf: Scope, paper: Paper, text: str, chunks: dict[Index, Sequence[PaperChunk]], file: bytes
    ) -> None:
        place = (shelf.tenant, shelf.visibility, paper.id)

        def change(connection: Connection) -> None:
            connection.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place)
            row = (*place, paper.content_hash, encode(paper), text, file)
            connection.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for kind, parts in chunks.items():
                for part in parts:
                    values = (*place, kind.value, encode(StoredChunk.of(part)), blob_of(part.embedding))
                    cursor = connection.execute(
                        "INSERT INTO paper_chunks (tenant, visibility, paper_id, kind, chunk, vector) "
                        "VALUES (?, ?, ?, ?, ?, ?)",
                        values,
                    )
                    where = (shelf.tenant, shelf.visibility, kind.value)
                    connection.execute(
                        "INSERT INTO paper_words (rowid, place, text) VALUES (?, ?, ?)",
                        (
                            cursor.lastrowid,
                            f"{place_token(*where)} {place_token(*where, paper.id)}",
                            f"{paper.title}\n{part.heading}\n{part.chunk_text}",
                        ),
                    )

        await self._database.write(change)

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        place = (shelf.tenant, shelf.visibility, paper_id)

        def change(connection: Connection) -> bool:
            connection.execute("PRAGMA secure_delete = ON")
            gone = connection.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place).rowcount
            return gone > 0

        was_there = await self._database.write(change)
        for step in range(_MERGES):
            pages = _MERGED_PAGES if step else -_MERGED_PAGES  # a negative number begins to merge everything into one
            if not await self._database.write(partial(_merge_words, pages=pages)):
                break
        return was_there

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        found: dict[str, Paper] = {}
        for shelf in shelves:
            for paper_id, text in await self._database.read(_papers_on(shelf)):
                if paper_id not in found:
                    found[paper_id] = decode(text, Paper)
        return [found[paper_id] for paper_id in sorted(found)]

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        found = await self._column("text", shelves, paper_id)
        return str(found) if found is not None else ""

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        found = await self._column("file", shelves, paper_id)
        return bytes(found) if isinstance(found, bytes) else b""

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        scored: list[tuple[int, float]] = []
        for scope in shelves:
            place = Place(scope, index)
            if papers is None:
                scored += await self._mirrors.nearest(place, vector, limit)
            else:
                scored += await self._among(place, vector, papers)
        best = sorted(scored, key=lambda entry: -entry[1])[:limit]
        return await self._results(best, shelves)

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        wanted = " OR ".join(f'"{word}"' for word in words_of(query))
        if not wanted or not shelves or (papers is not None and not papers):
            return []
        places = [(shelf.tenant, shelf.visibility, index.value) for shelf in shelves]
        tokens = [
            place_token(*place, *paper)
            for place in places
            for paper in ([(one,) for one in papers] if papers else [()])
        ]
        asked = f"place : ({' OR '.join(tokens)}) AND text : ({wanted})"
        rows = await self._database.read(lambda connection: connection.execute(_FIND, (asked, limit)).fetchall())
        best = -rows[0][1] if rows else 1.0
        return await self._results([(number, min(max(-score / best, 0.0), 1.0)) for number, score in rows], shelves)

    async def _column(self, name: str, shelves: Sequence[Scope], paper_id: str) -> object:
        for shelf in shelves:
            place = (shelf.tenant, shelf.visibility, paper_id)
            rows = await self._database.read(_find(name, place))
            if rows:
                return rows[0][0]
        return None

    async def _among(self, place: Place, vector: Vector, papers: Sequence[str]) -> list[tuple[int, float]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?)
            AND paper_id IN (SELECT value FROM json_each(?)) AND vector IS NOT NULL"""
        values = (*_values(place), json.dumps(list(papers)))
        rows = await self._database.read(lambda connection: connection.execute(query, values).fetchall())
        alike = [(number, np.frombuffer(blob, dtype="<f4")) for number, blob in rows]
        return [(number, float(other @ vector)) for number, other in alike if other.size == vector.size]

    async def _rows(self, place: Place, number: int) -> list[tuple[int, bytes]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?) AND number > ?
            AND vector IS NOT NULL ORDER BY number LIMIT ?"""
        values = (*_values(place), number, ROWS_A_READ)
        return await self._database.read(lambda connection: connection.execute(query, values).fetchall())

    async def _count(self, place: Place) -> int:
        query = "SELECT COUNT(*) FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?) AND vector IS NOT NULL"
        rows = await self._database.read(lambda connection: connection.execute(query, _values(place)).fetchall())
        return int(rows[0][0])

    async def _numbers(self, place: Place) -> list[int]:
        query = "SELECT number FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?) AND vector IS NOT NULL"
        rows = await self._database.read(lambda connection: connection.execute(query, _values(place)).fetchall())
        return [number for (number,) in rows]

    async def _results(self, scored: Sequence[tuple[int, float]], shelves: Sequence[Scope]) -> list[SearchResult]:
        def load(connection: Connection) -> list[SearchResult]:
            papers: dict[str, Paper] = {}
            found: list[SearchResult] = []
            for number, score in scored:
                row = connection.execute(_CHUNK, (number,)).fetchone()
                if row is None:
                    continue
                chunk, vector, paper_id, tenant, visibility, text = row
                if Scope(tenant, visibility) != _shelf_of(connection, paper_id, shelves):
                    continue
                if paper_id not in papers:
                    papers[paper_id] = decode(text, Paper)
                found.append(SearchResult(decode(chunk, StoredChunk).on(papers[paper_id], vector), score))
            return found

        return await self._database.read(load)


def _merge_words(connection: Connection, *, pages: int) -> bool:
    """Go on dropping the words of what was deleted, which FTS5 only marks; False when there are none left."""
    before = connection.conn.total_changes
    connection.execute("INSERT INTO paper_words (paper_words, rank) VALUES ('merge', ?)", (pages,))
    return connection.conn.total_changes - before >= 2


def _shelf_of(connection: Connection, paper_id: str, shelves: Sequence[Scope]) -> Scope | None:
    """The first of the shelves on which the paper stands."""
    if len(shelves) == 1:
        return shelves[0]
    for shelf in shelves:
        place = (shelf.tenant, shelf.visibility, paper_id)
        if connection.execute("SELECT 1 FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place).fetchone():
            return shelf
    return None


def words_of(query: str) -> list[str]:
    """What a full-text search looks for: the words of a question that carry meaning, all of them if none does."""
    found = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))
    return [word for word in found if word not in STOPWORDS][:MAX_QUERY_WORDS] or found[:MAX_QUERY_WORDS]


def _papers_on(shelf: Scope) -> Callable[[Connection], list[tuple[str, str]]]:
    query = "SELECT id, paper FROM papers WHERE (tenant, visibility) = (?, ?)"
    return lambda connection: connection.execute(query, (shelf.tenant, shelf.visibility)).fetchall()


def _find(column: str, place: tuple[str, str, str]) -> Callable[[Connection], list[tuple[object]]]:
    query = f"SELECT {column} FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)"  # noqa: S608 -- our own names
    return lambda connection: connection.execute(query, place).fetchall()


def _values(place: Place) -> tuple[str, str, str]:
    return place.scope.tenant, place.scope.visibility, place.index.value


def blob_of(vector: Vector | None) -> bytes | None:
    return None if vector is None else np.asarray(vector, dtype="<f4").tobytes()
