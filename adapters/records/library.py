"""The paper library: papers on shelves, searched by words and by vectors, and the conversations with it.

Among the chunks of named papers words are ranked here, since they are few: a database would first count each word in
all papers.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np

from adapters.records.sql import (
    LISTED,
    LISTED_NUMBERS,
    POSITION,
    Dialect,
    Sql,
    SqlStore,
    Tables,
    digest,
    insertion,
    place_token,
)
from adapters.records.vectors import VectorMirrors
from core.library.paper import Index, Paper, PaperChunk, SearchResult, StoredChunk
from core.library.states import Conversation
from core.model.codec import decode, encode
from core.model.errors import Unstorable
from core.model.job import Scope
from core.model.ports import Vector
from core.text.terms import STOPWORDS, bm25

_SHELF = "(tenant, visibility) = (?, ?)"
_HERE = "(tenant, visibility, kind) = (?, ?, ?)"
_CHUNKS = """
    SELECT c.number, c.chunk, c.vector, c.tenant, c.visibility, p.id, p.paper FROM paper_chunks c JOIN papers p
    ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id) WHERE c.number IN
"""
_OF_CHUNK = "tenant, visibility, kind, paper_id, chunk, vector"
_ADD_CHUNK = insertion("paper_chunks", _OF_CHUNK)
_KEEP_READING = insertion("paper_readings", "key, paper_id, text", key="tenant, visibility, key", of_job=True)
_TALK = "SELECT conversation FROM conversations WHERE (tenant, visibility, thread) = (?, ?, ?)"


class SqlLibrary:
    """A `Library`. `folder` may hold mirrors of vectors."""

    def __init__(self, tables: Tables, folder: Path) -> None:
        self._tables = tables
        self._words = Fts5() if tables.dialect == "sqlite" else TsVector()
        self._mirrors = VectorMirrors(tables, "paper_chunks", "kind", folder=folder)

    async def put(
        self, shelf: Scope, paper: Paper, text: str, chunks: dict[Index, Sequence[PaperChunk]], file: bytes
    ) -> None:
        place = (shelf.tenant, shelf.visibility, paper.id)

        def put(sql: Sql) -> None:
            sql.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place)
            row = (*place, paper.content_hash, encode(paper), text, file, paper.work_key)
            sql.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            for index, parts in chunks.items():
                self._words.add(sql, _place_in(shelf, index), parts)

        await self._tables.write(put)

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        place = (shelf.tenant, shelf.visibility, paper_id)

        def remove(sql: Sql) -> int:
            if sql.dialect == "sqlite":
                sql.execute("PRAGMA secure_delete = ON")
            readings = (shelf.tenant, paper_id)  # of everybody who sees the shelf
            sql.execute("DELETE FROM paper_readings WHERE (tenant, paper_id) = (?, ?)", readings)
            return sql.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)", place)

        gone = await self._tables.write(remove)
        await merge_deleted_words(self._tables)
        return gone > 0

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        found: dict[str, Paper] = {}
        for shelf in shelves:
            query = "SELECT paper FROM papers WHERE (tenant, visibility) = (?, ?)"
            for (text,) in await self._tables.rows(query, (shelf.tenant, shelf.visibility)):
                paper = decode(text, Paper)
                found.setdefault(paper.id, paper)
        return [found[paper_id] for paper_id in sorted(found)]

    async def versions(self, shelves: Sequence[Scope], paper_ids: Sequence[str]) -> list[Paper]:
        found: dict[str, Paper] = {}
        listed, wanted = LISTED[self._tables.dialect], json.dumps(list(paper_ids))
        works = f"SELECT work FROM papers WHERE {_SHELF} AND id IN {listed}"  # noqa: S608 -- our words
        query = f"SELECT paper FROM papers WHERE {_SHELF} AND work IN ({works})"  # noqa: S608 -- our words
        asked = [(other, shelf) for other in shelves for shelf in shelves]  # a version may stand on another shelf
        for other, shelf in asked:
            place, where = (shelf.tenant, shelf.visibility), (other.tenant, other.visibility)
            for (text,) in await self._tables.rows(query, (*place, *where, wanted)):
                paper = decode(text, Paper)
                found.setdefault(paper.id, paper)
        return [found[paper_id] for paper_id in sorted(found)]

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        return str(await self._first("text", shelves, paper_id) or "")

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        found = await self._first("file", shelves, paper_id)
        return bytes(found) if isinstance(found, bytes) else b""

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        scored: list[tuple[int, float]] = []
        for scope in shelves:
            place = _place_in(scope, index)
            if papers is None:
                scored += await self._mirrors.nearest(place, vector, limit=limit)
            else:
                scored += await self._alike(place, papers, vector)
        return await self._results(_best(scored, limit), shelves)

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        asked = words_of(query)
        if not asked or not shelves:
            return []
        if papers is None:
            matching = partial(self._words.matching, shelves=shelves, index=index, asked=asked, limit=limit)
            scored = await self._tables.read(matching)
        else:
            texts = [row for shelf in shelves for row in await self._texts_of(_place_in(shelf, index), papers)]
            scored = _best(await asyncio.to_thread(_fitting, query, texts), limit)
        best = scored[0][1] if scored else 1.0
        return await self._results([(number, min(max(score / best, 0.0), 1.0)) for number, score in scored], shelves)

    async def reading(self, scope: Scope, key: str) -> str | None:
        query = "SELECT text FROM paper_readings WHERE (tenant, visibility, key) = (?, ?, ?)"
        rows = await self._tables.rows(query, (scope.tenant, scope.visibility, digest(key)))
        return bytes(rows[0][0]).decode() if rows else None

    async def keep_reading(self, job_id: str, paper_id: str, key: str, text: str) -> None:
        try:
            values = (digest(key), paper_id, text.encode(), job_id)
        except UnicodeEncodeError as exc:  # half a surrogate pair
            raise Unstorable(f"a value cannot be stored: {exc}") from exc
        await self._tables.execute(_KEEP_READING, values)

    async def _first(self, column: str, shelves: Sequence[Scope], paper_id: str) -> object:
        """Of the first shelf on which the paper stands."""
        for shelf in shelves:
            query = f"SELECT {column} FROM papers WHERE (tenant, visibility, id) = (?, ?, ?)"  # noqa: S608 -- our names
            rows = await self._tables.rows(query, (shelf.tenant, shelf.visibility, paper_id))
            if rows:
                return rows[0][0]
        return None

    async def _alike(self, place: Place, papers: Sequence[str], vector: Vector) -> list[tuple[int, float]]:
        query = f"""SELECT number, vector FROM paper_chunks WHERE {_HERE}
            AND paper_id IN {LISTED[self._tables.dialect]} AND vector IS NOT NULL"""  # noqa: S608 -- our words
        rows = await self._tables.rows(query, (*place, json.dumps(list(papers))))
        vectors = [(number, np.frombuffer(blob, dtype="<f4")) for number, blob in rows]
        return [(number, float(other @ vector)) for number, other in vectors if other.size == vector.size]

    async def _texts_of(self, place: Place, papers: Sequence[str]) -> list[tuple[int, str]]:
        """What is searched of each chunk."""
        listed = LISTED[self._tables.dialect]
        query = f"SELECT number, paper_id, chunk FROM paper_chunks WHERE {_HERE} AND paper_id IN {listed}"  # noqa: S608
        titles = {paper.id: paper.title for paper in await self.papers([Scope(*place[:2])])}
        rows = await self._tables.rows(query, (*place, json.dumps(list(papers))))
        return [(number, searched(titles[paper_id], decode(chunk, StoredChunk))) for number, paper_id, chunk in rows]

    async def _results(self, scored: Scored, shelves: Sequence[Scope]) -> list[SearchResult]:
        """The chunks, in that order, without those of a paper that also stands on an earlier shelf."""

        def load(sql: Sql) -> list[SearchResult]:
            numbers = json.dumps([number for number, _ in scored])
            rows = {row[0]: row[1:] for row in sql.rows(f"{_CHUNKS} {LISTED_NUMBERS[sql.dialect]}", (numbers,))}
            shelf_of = _shelves(sql, {row[4] for row in rows.values()}, shelves)
            papers = {
                row[4]: decode(row[5], Paper) for row in rows.values() if shelf_of.get(row[4]) == Scope(*row[2:4])
            }
            return [
                SearchResult(decode(row[0], StoredChunk).on(papers[row[4]], row[1]), score)
                for number, score in scored
                if (row := rows.get(number)) and shelf_of.get(row[4]) == Scope(*row[2:4])
            ]

        return await self._tables.read(load)


class SqlConversations(SqlStore):
    """`Conversations` with a library, one a thread."""

    async def get(self, scope: Scope, thread: str) -> Conversation | None:
        return await self._first(Conversation, _TALK, (scope.tenant, scope.visibility, thread))

    async def put(self, scope: Scope, thread: str, conversation: Conversation, *, asker: str, at: datetime) -> None:
        place = (scope.tenant, scope.visibility, thread)
        values = (*place, asker, conversation.job_id, at, encode(conversation), *"\n" * 5)
        await self._tables.execute(_put_talk(self._tables.dialect), values)


def _shelves(sql: Sql, paper_ids: set[str], shelves: Sequence[Scope]) -> dict[str, Scope]:
    """Of each paper the first of the shelves on which it stands."""
    query = f"SELECT id, tenant, visibility FROM papers WHERE id IN {LISTED[sql.dialect]}"  # noqa: S608 -- our words
    standing = {(paper_id, Scope(*where)) for paper_id, *where in sql.rows(query, (json.dumps(sorted(paper_ids)),))}
    return {paper_id: shelf for shelf in reversed(shelves) for paper_id in paper_ids if (paper_id, shelf) in standing}


def _put_talk(dialect: Dialect) -> str:
    """`asker` is everybody who has spoken there, a line each."""
    return f"""
        INSERT INTO conversations AS kept (tenant, visibility, thread, asker, job_id, put_at, conversation)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (tenant, visibility, thread) DO UPDATE SET
            asker = CASE WHEN {POSITION[dialect]}(? || kept.asker || ?, ? || excluded.asker || ?) > 0
                THEN kept.asker ELSE kept.asker || ? || excluded.asker END,
            job_id = excluded.job_id, put_at = excluded.put_at, conversation = excluded.conversation
    """  # noqa: S608 -- our words


def _fitting(query: str, texts: Sequence[tuple[int, str]]) -> list[tuple[int, float]]:
    scores = bm25(query, [text for _, text in texts])
    return [(number, score) for (number, _), score in zip(texts, scores, strict=True) if score > 0]


def _best(scored: Scored, limit: int) -> Scored:
    return sorted(scored, key=lambda entry: -entry[1])[:limit]


# How papers are searched: by words as each database does it, and by vectors


MAX_QUERY_WORDS = 40  # of a question; what comes later rarely says what it is about
_MERGED_PAGES = 500  # of 4 KB, at a time: other writers wait for a quarter of a second, not for the whole index
_MERGES = 20  # at a removal; a library of 10,000 papers would take half a minute, and later removals go on with it

Scored = Sequence[tuple[int, float]]  # the numbers of chunks with their scores, best first
Place = tuple[str, str, str]  # as the columns tenant, visibility and kind
_FTS5_TABLES = {Index.SUMMARY: "summary_words", Index.CONTENT: "content_words"}


class Fts5:
    """How SQLite searches the words of chunks, any of them: an index each for summaries and for full texts."""

    def add(self, sql: Sql, place: Place, chunks: Sequence[PaperChunk]) -> None:
        for chunk in chunks:
            ((number,),) = sql.rows(f"{_ADD_CHUNK} RETURNING number", _stored(place, chunk))
            sql.execute(
                f"INSERT INTO {_FTS5_TABLES[Index(place[2])]} (rowid, place, text) VALUES (?, ?, ?)",  # noqa: S608 -- our names
                (number, place_token(*place), searched(chunk.paper.title, chunk)),
            )

    def matching(self, sql: Sql, *, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        places = " OR ".join(place_token(*_place_in(shelf, index)) for shelf in shelves)
        wanted = " OR ".join(f'"{word}"' for word in asked)
        words = _FTS5_TABLES[index]
        # Where a chunk stands says nothing of how well it fits; smaller is better.
        query = f"""SELECT rowid, -bm25({words}, 0.0, 1.0) FROM {words} WHERE {words} MATCH ?
            ORDER BY 2 DESC LIMIT ?"""  # noqa: S608 -- our own names
        return [(row[0], row[1]) for row in sql.rows(query, (f"place : ({places}) AND text : ({wanted})", limit))]


class TsVector:
    """How PostgreSQL does."""

    def add(self, sql: Sql, place: Place, chunks: Sequence[PaperChunk]) -> None:
        sql.execute_all(
            f"""INSERT INTO paper_chunks ({_OF_CHUNK}, words)
            VALUES (?, ?, ?, ?, ?, ?, to_tsvector('english', ?))""",  # noqa: S608 -- our words
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


def _stored(place: Place, chunk: PaperChunk) -> tuple[object, ...]:
    vector = None if chunk.embedding is None else np.asarray(chunk.embedding, dtype="<f4").tobytes()
    return (*place, chunk.paper.id, encode(StoredChunk.of(chunk)), vector)


def searched(title: str, chunk: PaperChunk | StoredChunk) -> str:
    """What is searched of a chunk."""
    return f"{title}\n{chunk.heading}\n{chunk.chunk_text}"


def _place_in(shelf: Scope, index: Index) -> Place:
    """What is searched as one: an index of a shelf."""
    return shelf.tenant, shelf.visibility, index.value


def words_of(query: str) -> list[str]:
    """What a full-text search looks for: the words of a question that carry meaning, all of them if none does."""
    found = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))
    return [word for word in found if word not in STOPWORDS][:MAX_QUERY_WORDS] or found[:MAX_QUERY_WORDS]
