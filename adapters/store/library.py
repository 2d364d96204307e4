"""The paper library in SQLite: words by FTS5, an index each for summaries and for full texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sqlite_utils import Database as Connection

from adapters.store.digest import place_token
from adapters.store.shelves import Scored, ShelvedPapers, blob_of, values_of
from adapters.store.sqlite import Database
from adapters.store.vectors import ROWS_A_READ, Place
from core.codec import decode, encode
from core.job import Scope
from core.library.paper import Index, Paper, PaperChunk, SearchResult, StoredChunk

_WORDS = {Index.SUMMARY: "summary_words", Index.CONTENT: "content_words"}
_MERGED_PAGES = 500  # of 4 KB, at a time: other writers wait for a quarter of a second, not for the whole index
_MERGES = 20  # at a removal; a library of 10,000 papers would take half a minute, and later removals go on with it
_CHUNK = """SELECT c.chunk, c.vector, c.paper_id, c.tenant, c.visibility, p.paper FROM paper_chunks c JOIN papers p
    ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id) WHERE c.number = ?"""


class SqliteLibrary(ShelvedPapers):
    """A `Library`."""

    def __init__(self, database: Database, folder: Path) -> None:
        super().__init__(folder)
        self._database = database

    async def put(
        self, shelf: Scope, paper: Paper, text: str, chunks: dict[Index, Sequence[PaperChunk]], file: bytes
    ) -> None:
        place = (shelf.tenant, shelf.visibility, paper.id)

        def change(connection: Connection) -> None:
            connection.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place)
            row = (*place, paper.content_hash, encode(paper), text, file)
            connection.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for index, parts in chunks.items():
                for part in parts:
                    _insert(connection, shelf, index, part)

        await self._database.write(change)

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        place = (shelf.tenant, shelf.visibility, paper_id)

        def change(connection: Connection) -> bool:
            connection.execute("PRAGMA secure_delete = ON")
            gone = connection.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place).rowcount
            return gone > 0

        was_there = await self._database.write(change)
        for words in _WORDS.values():
            await self._merge(words)
        return was_there

    async def _merge(self, words: str) -> None:
        """Drop the words of what was deleted, which FTS5 only marks, a piece at a time."""
        for step in range(_MERGES):
            pages = _MERGED_PAGES if step else -_MERGED_PAGES  # a negative number begins to merge everything into one
            if not await self._database.write(partial(_merge_words, words=words, pages=pages)):
                return

    async def _papers_on(self, shelf: Scope) -> list[str]:
        query = "SELECT paper FROM papers WHERE (tenant, visibility) = (?, ?)"
        return [text for (text,) in await self._database.rows(query, (shelf.tenant, shelf.visibility))]

    async def _column(self, name: str, shelf: Scope, paper_id: str) -> list[object]:
        query = f"SELECT {name} FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)"  # noqa: S608 -- our own names
        return [value for (value,) in await self._database.rows(query, (shelf.tenant, shelf.visibility, paper_id))]

    async def _vectors_above(self, place: Place, number: int) -> list[tuple[int, bytes]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?) AND number > ?
            AND vector IS NOT NULL ORDER BY number LIMIT ?"""
        return await self._database.rows(query, (*values_of(place), number, ROWS_A_READ))

    async def _count(self, place: Place) -> int:
        query = "SELECT COUNT(*) FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?) AND vector IS NOT NULL"
        ((count,),) = await self._database.rows(query, values_of(place))
        return int(count)

    async def _numbers(self, place: Place) -> list[int]:
        query = "SELECT number FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?) AND vector IS NOT NULL"
        return [number for (number,) in await self._database.rows(query, values_of(place))]

    async def _vectors_of(self, place: Place, papers: Sequence[str]) -> list[tuple[int, bytes]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (?, ?, ?)
            AND paper_id IN (SELECT value FROM json_each(?)) AND vector IS NOT NULL"""
        return await self._database.rows(query, (*values_of(place), json.dumps(list(papers))))

    async def _texts_of(self, place: Place, papers: Sequence[str]) -> list[tuple[int, str]]:
        words = _WORDS[place.index]
        query = f"""SELECT c.number, w.text FROM paper_chunks c JOIN {words} w ON w.rowid = c.number
            WHERE (tenant, visibility, kind) = (?, ?, ?) AND c.paper_id IN (SELECT value FROM json_each(?))"""  # noqa: S608 -- our own names
        return await self._database.rows(query, (*values_of(place), json.dumps(list(papers))))

    async def _matching(self, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        places = " OR ".join(place_token(shelf.tenant, shelf.visibility, index.value) for shelf in shelves)
        wanted = " OR ".join(f'"{word}"' for word in asked)
        words = _WORDS[index]
        # Where a chunk stands says nothing of how well it fits; smaller is better.
        query = f"""SELECT rowid, -bm25({words}, 0.0, 1.0) FROM {words} WHERE {words} MATCH ?
            ORDER BY 2 DESC LIMIT ?"""  # noqa: S608 -- our own names
        return await self._database.rows(query, (f"place : ({places}) AND text : ({wanted})", limit))

    async def _results(self, scored: Scored, shelves: Sequence[Scope]) -> list[SearchResult]:
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


def drop_deleted_words(connection: Connection) -> None:
    """All at once; FTS5 only marks them otherwise."""
    for words in _WORDS.values():
        connection.execute(f"INSERT INTO {words} ({words}) VALUES ('optimize')")  # noqa: S608 -- our own names


def _insert(connection: Connection, shelf: Scope, index: Index, chunk: PaperChunk) -> None:
    where = (shelf.tenant, shelf.visibility)
    stored = (*where, chunk.paper.id, index.value, encode(StoredChunk.of(chunk)), blob_of(chunk.embedding))
    cursor = connection.execute(
        "INSERT INTO paper_chunks (tenant, visibility, paper_id, kind, chunk, vector) VALUES (?, ?, ?, ?, ?, ?)", stored
    )
    text = f"{chunk.paper.title}\n{chunk.heading}\n{chunk.chunk_text}"
    connection.execute(
        f"INSERT INTO {_WORDS[index]} (rowid, place, text) VALUES (?, ?, ?)",  # noqa: S608 -- our own names
        (cursor.lastrowid, place_token(*where, index.value), text),
    )


def _merge_words(connection: Connection, *, words: str, pages: int) -> bool:
    """A piece of the work; False when there is none left."""
    before = connection.conn.total_changes
    connection.execute(f"INSERT INTO {words} ({words}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608 -- our names
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
