"""The paper library: page citations, and whether a question finds the abstract it was asked about."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.llm.embeddings import build_embeddings
from adapters.store.library import SqlLibrary
from adapters.store.sqlite import Database
from core.job import LOCAL
from core.library.funnel import Shelves, papers_of, search_summary_index
from core.library.ingest import Ingestion, PaperRecord, PaperText
from core.ports import EmbeddingModel
from tests.evals.datasets import PUBMEDQA, data_path, sha256_of
from tests.evals.page_citations import print_page_citations

GOAL_BY_WORDS, GOAL_BY_MEANING = 0.95, 0.97  # recall@1
_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Abstract:
    """`question` is the title of the article, so nothing but the abstract stands in the library."""

    pmid: str
    question: str
    text: str

    @property
    def is_odd(self) -> bool:
        return bool(hashlib.sha256(self.question.encode()).digest()[0] % 2)


def print_library() -> None:
    """By meaning too where `GORKD_EMBEDDING_MODEL` names a model and its endpoint answers."""
    print_page_citations()
    print(f"retrieval: {PUBMEDQA} {sha256_of(PUBMEDQA)}, each abstract a paper, its question the query")
    for name, with_conclusion in (("abstract", True), ("abstract without its conclusion", False)):
        asyncio.run(_print_retrieval(name, _abstracts(with_conclusion=with_conclusion)))
    print()


async def _print_retrieval(name: str, abstracts: list[_Abstract]) -> None:
    _print_ranks(f"{name}, BM25", GOAL_BY_WORDS, abstracts, await _ranks(abstracts, None))
    embedder = build_embeddings(os.environ)
    if embedder is None:
        print(f"  {name}, by meaning: not measured (no embedder)")
        return
    try:
        _print_ranks(f"{name}, {embedder.name}", GOAL_BY_MEANING, abstracts, await _ranks(abstracts, embedder))
    finally:
        await embedder.aclose()


async def _ranks(abstracts: list[_Abstract], embedder: EmbeddingModel | None) -> dict[str, int]:
    """Of each abstract's own paper in the order of stage 1; 0 for one that is not among its results."""
    with TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        try:
            library = SqlLibrary(database, Path(folder))
            ingestion = Ingestion(library, _AsItIs(), lambda: _AT, embedder=embedder)
            for entry in abstracts:
                record = PaperRecord(id=entry.pmid, title=entry.pmid)
                await ingestion.add(LOCAL, f"{entry.pmid}.md", entry.text.encode(), record)
            shelves = Shelves(library, (LOCAL,), embedder)
            return {entry.pmid: await _rank(shelves, entry) for entry in abstracts}
        finally:
            await database.aclose()


def _print_ranks(name: str, goal: float, abstracts: list[_Abstract], ranks: dict[str, int]) -> None:
    for half, is_odd_half in (("even half", False), ("odd half", True)):
        found = [ranks[entry.pmid] for entry in abstracts if entry.is_odd == is_odd_half]
        first = sum(rank == 1 for rank in found) / len(found)
        among = sum(0 < rank <= 8 for rank in found) / len(found)
        print(f"  {name}, {half}: recall@1 {first:.3f} of {len(found)} (goal {goal}), recall@8 {among:.3f}")


async def _rank(shelves: Shelves, entry: _Abstract) -> int:
    """Counted from 1."""
    papers = papers_of(await search_summary_index(shelves, entry.question))
    return papers.index(entry.pmid) + 1 if entry.pmid in papers else 0


class _AsItIs:
    """A `PaperReader` of plain text."""

    async def read(self, name: str, content: bytes) -> PaperText:
        return PaperText(name, content.decode())


def _abstracts(*, with_conclusion: bool) -> list[_Abstract]:
    rows = json.loads(data_path(PUBMEDQA).read_text(encoding="utf-8"))
    return [
        _Abstract(
            pmid, row["QUESTION"], "\n\n".join([*row["CONTEXTS"], *([row["LONG_ANSWER"]] if with_conclusion else [])])
        )
        for pmid, row in rows.items()
    ]
