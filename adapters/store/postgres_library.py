"""The paper library in PostgreSQL: words by its own full-text search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adapters.store.postgres import PostgresDatabase
from adapters.store.shelves import Scored, ShelvedPapers, blob_of, values_of
from adapters.store.vectors import ROWS_A_READ, Place
from core.codec import decode, encode
from core.job import Scope
from core.library.paper import Index, Paper, PaperChunk, SearchResult, StoredChunk

# Of a paper that stands on several shelves, the chunks of the first.
_CHUNKS = """SELECT c.number, c.chunk, c.vector, p.id, p.paper FROM paper_chunks c JOIN papers p
    ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id) WHERE c.number = ANY(%s)
    AND (c.tenant, c.visibility) = (
        SELECT s.tenant, s.visibility FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY s (tenant, visibility, rank)
        JOIN papers own ON (own.tenant, own.visibility, own.id) = (s.tenant, s.visibility, c.paper_id)
        ORDER BY s.rank LIMIT 1)"""


class PostgresLibrary(ShelvedPapers):
    """A `Library`."""

    def __init__(self, database: PostgresDatabase, folder: Path) -> None:
        super().__init__(folder)
        self._database = database

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

    async def _papers_on(self, shelf: Scope) -> list[str]:
        query = "SELECT paper FROM papers WHERE (tenant, visibility) = (%s, %s)"
        return [text for (text,) in await self._database.rows(query, (shelf.tenant, shelf.visibility))]

    async def _column(self, name: str, shelf: Scope, paper_id: str) -> list[object]:
        query = f"SELECT {name} FROM papers WHERE (tenant, visibility, id) = (%s, %s, %s)"  # noqa: S608 -- our own names
        return [value for (value,) in await self._database.rows(query, (shelf.tenant, shelf.visibility, paper_id))]

    async def _vectors_above(self, place: Place, number: int) -> list[tuple[int, bytes]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s)
            AND number > %s AND vector IS NOT NULL ORDER BY number LIMIT %s"""
        return await self._database.rows(query, (*values_of(place), number, ROWS_A_READ))

    async def _count(self, place: Place) -> int:
        query = (
            "SELECT COUNT(*) FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s) AND vector IS NOT NULL"
        )
        ((count,),) = await self._database.rows(query, values_of(place))
        return int(count)

    async def _numbers(self, place: Place) -> list[int]:
        query = "SELECT number FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s) AND vector IS NOT NULL"
        return [number for (number,) in await self._database.rows(query, values_of(place))]

    async def _vectors_of(self, place: Place, papers: Sequence[str]) -> list[tuple[int, bytes]]:
        query = """SELECT number, vector FROM paper_chunks WHERE (tenant, visibility, kind) = (%s, %s, %s)
            AND paper_id = ANY(%s) AND vector IS NOT NULL"""
        return await self._database.rows(query, (*values_of(place), list(papers)))

    async def _texts_of(self, place: Place, papers: Sequence[str]) -> list[tuple[int, str]]:
        query = """SELECT c.number, p.paper::json #>> '{value,title}' || E'\\n' || (c.chunk::json #>> '{value,heading}')
                || E'\\n' || (c.chunk::json #>> '{value,chunk_text}')
            FROM paper_chunks c JOIN papers p ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id)
            WHERE (c.tenant, c.visibility, c.kind) = (%s, %s, %s) AND c.paper_id = ANY(%s)"""
        return await self._database.rows(query, (*values_of(place), list(papers)))

    async def _matching(self, shelves: Sequence[Scope], index: Index, asked: Sequence[str], limit: int) -> Scored:
        tenants, visibilities = [shelf.tenant for shelf in shelves], [shelf.visibility for shelf in shelves]
        wanted = " | ".join(f"'{word}'" for word in asked)
        # The kind is written out, so that PostgreSQL sees that the index of this kind alone is enough.
        # Not `ts_rank_cd`: for words of which any may stand there it takes four times as long and finds less
        # (docs/evaluation.md).
        find = f"""SELECT number, ts_rank(words, wanted, 1) AS score
            FROM paper_chunks, to_tsquery('english', %s) wanted
            WHERE words @@ wanted AND kind = '{index.value}'
            AND (tenant, visibility) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
            ORDER BY score DESC, number LIMIT %s"""  # noqa: S608 -- one of our own two words
        return await self._database.rows(find, (wanted, tenants, visibilities, limit))

    async def _results(self, scored: Scored, shelves: Sequence[Scope]) -> list[SearchResult]:
        tenants, visibilities = [shelf.tenant for shelf in shelves], [shelf.visibility for shelf in shelves]
        rows = await self._database.rows(_CHUNKS, ([number for number, _ in scored], tenants, visibilities))
        papers = {paper_id: decode(text, Paper) for paper_id, text in {row[3]: row[4] for row in rows}.items()}
        chunks = {row[0]: decode(row[1], StoredChunk).on(papers[row[3]], row[2]) for row in rows}
        return [SearchResult(chunks[number], score) for number, score in scored if number in chunks]
