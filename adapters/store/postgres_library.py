"""The paper library in PostgreSQL: its own full-text search, vectors by one matrix a shelf in each process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adapters.store.library import blob_of, words_of
from adapters.store.postgres import PostgresDatabase
from adapters.store.vectors import ROWS_A_READ, Place, VectorMirrors
from core.codec import decode, encode
from core.job import Scope
from core.library.paper import Index, Paper, PaperChunk, SearchResult, StoredChunk
from core.ports import Vector

# Of a paper that stands on several shelves, the chunks of the first.
_CHUNKS = """SELECT c.number, c.chunk, c.vector, p.id, p.paper FROM paper_chunks c JOIN papers p
    ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id) WHERE c.number = ANY(%s)
    AND (c.tenant, c.visibility) = (
        SELECT s.tenant, s.visibility FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY s (tenant, visibility, rank)
        JOIN papers own ON (own.tenant, own.visibility, own.id) = (s.tenant, s.visibility, c.paper_id)
        ORDER BY s.rank LIMIT 1)"""


class PostgresLibrary:
    """A `Library`. `folder` is where mirrors of vectors may lie."""

    def __init__(self, database: PostgresDatabase, folder: Path) -> None:
        self._database = database
        self._mirrors = VectorMirrors(folder, self._rows, self._count, self._numbers)

    async def put(
        self, shelf: Scope, paper: Paper, text: str, chunks: dict[Index, Sequence[PaperChunk]], file: bytes
    ) -> None:
        place = (shelf.tenant, shelf.visibility, paper.id)
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM papers WHERE (tenant, visibility, id) = (%s, %s, %s)", place)
            row = (*place, paper.content_hash, encode(paper), text, file)
            await connection.execute("INSERT INTO papers VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
            rows = [
                (
                    *place,
                    kind.value,
                    encode(StoredChunk.of(part)),
                    blob_of(part.embedding),
                    f"{paper.title}\n{part.heading}\n{part.chunk_text}",
                )
                for kind, parts in chunks.items()
                for part in parts
            ]
            async with connection.cursor() as cursor:
                await cursor.executemany(
                    "INSERT INTO paper_chunks (tenant, visibility, paper_id, kind, chunk, vector, words) "
                    "VALUES (%s, %s, %s, %s, %s, %s, to_tsvector('english', %s))",
                    rows,
                )

    async def remove(self, shelf: Scope, paper_id: str) -> bool:
        place = (shelf.tenant, shelf.visibility, paper_id)
        remove = "DELETE FROM papers WHERE (tenant, visibility, id) = (%s, %s, %s)"
        return bool(await self._database.execute(remove, place))

    async def papers(self, shelves: Sequence[Scope]) -> list[Paper]:
        found: dict[str, Paper] = {}
        for shelf in shelves:
            query = "SELECT paper FROM papers WHERE (tenant, visibility) = (%s, %s)"
            for (text,) in await self._database.rows(query, (shelf.tenant, shelf.visibility)):
                paper = decode(text, Paper)
                found.setdefault(paper.id, paper)
        return [found[paper_id] for paper_id in sorted(found)]

    async def text(self, shelves: Sequence[Scope], paper_id: str) -> str:
        query = "SELECT text FROM papers WHERE (tenant, visibility, id) = (%s, %s, %s)"
        return str(await self._first(query, shelves, paper_id) or "")

    async def file(self, shelves: Sequence[Scope], paper_id: str) -> bytes:
        query = "SELECT file FROM papers WHERE (tenant, visibility, id) = (%s, %s, %s)"
        found = await self._first(query, shelves, paper_id)
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
        return await self._results(sorted(scored, key=lambda entry: -entry[1])[:limit], shelves)

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        wanted = " | ".join(f"'{word}'" for word in words_of(query))
        if not wanted or not shelves:
            return []
        tenants, visibilities = [shelf.tenant for shelf in shelves], [shelf.visibility for shelf in shelves]
        among = "AND paper_id = ANY(%s)" if papers is not None else ""
        find = f"""SELECT number, ts_rank_cd(words, wanted, 1) AS score
            FROM paper_chunks, to_tsquery('english', %s) wanted
            WHERE words @@ wanted AND kind = %s
            AND (tenant, visibility) IN (SELECT * FROM unnest(%s::text[], %s::text[])) {among}
            ORDER BY score DESC, number LIMIT %s"""  # noqa: S608 -- placeholders only
        named = [list(papers)] if papers is not None else []
        rows = await self._database.rows(find, (wanted, index.value, tenants, visibilities, *named, limit))
        best = (rows[0][1] or 1.0) if rows else 1.0
        return await self._results([(number, min(max(score / best, 0.0), 1.0)) for number, score in rows], shelves)

    async def _first(self, query: str, shelves: Sequence[Scope], paper_id: str) -> object:
        for shelf in shelves:
            rows = await self._database.rows(query, (shelf.tenant, shelf.visibility, paper_id))
            if rows:
                return rows[0][0]
        return None

    async def _among(self, place: Place, vector: Vector, papers: Sequence[str]) -> list[tuple[int, float]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s)
            AND paper_id = ANY(%s) AND vector IS NOT NULL"""
        rows = await self._database.rows(query, (*_values(place), list(papers)))
        alike = [(number, np.frombuffer(blob, dtype="<f4")) for number, blob in rows]
        return [(number, float(other @ vector)) for number, other in alike if other.size == vector.size]

    async def _rows(self, place: Place, number: int) -> list[tuple[int, bytes]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s)
            AND number > %s AND vector IS NOT NULL ORDER BY number LIMIT %s"""
        return [(row[0], row[1]) for row in await self._database.rows(query, (*_values(place), number, ROWS_A_READ))]

    async def _count(self, place: Place) -> int:
        query = """SELECT COUNT(*) FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s)
            AND vector IS NOT NULL"""
        return int((await self._database.rows(query, _values(place)))[0][0])

    async def _numbers(self, place: Place) -> list[int]:
        query = """SELECT number FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s)
            AND vector IS NOT NULL"""
        return [number for (number,) in await self._database.rows(query, _values(place))]

    async def _results(self, scored: Sequence[tuple[int, float]], shelves: Sequence[Scope]) -> list[SearchResult]:
        tenants, visibilities = [shelf.tenant for shelf in shelves], [shelf.visibility for shelf in shelves]
        rows = await self._database.rows(_CHUNKS, ([number for number, _ in scored], tenants, visibilities))
        papers = {paper_id: decode(text, Paper) for paper_id, text in {row[3]: row[4] for row in rows}.items()}
        chunks = {row[0]: decode(row[1], StoredChunk).on(papers[row[3]], row[2]) for row in rows}
        return [SearchResult(chunks[number], score) for number, score in scored if number in chunks]


def _values(place: Place) -> tuple[str, str, str]:
    return place.scope.tenant, place.scope.visibility, place.index.value
