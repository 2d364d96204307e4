"""The paper library: how fast papers are read, and how fast a large library is searched. Nothing of it asks a model."""

from __future__ import annotations

import asyncio
import resource
import time
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from adapters.pages.extract import extract
from adapters.pages.extraction import MAX_PAPER_CHARS, PageDocument
from adapters.pages.papers import OCR_S
from adapters.records.library import SqlLibrary
from adapters.records.sqlite import Database
from core.library.funnel import Shelves, papers_of, search_content_index_filtered, search_summary_index
from core.library.ingest import Ingestion, PaperText
from core.library.paper import Index, Paper, PaperChunk
from core.model.job import LOCAL
from core.model.ports import Vector
from core.pipeline.runner import DirectSteps, run_job
from core.text.chunking import chunk_text
from tests.adapters.pages.pdf_files import column, pdf_of
from tests.adapters.pages.test_layouts import EXPORTED, LAYOUTS
from tests.adapters.pages.test_ocr import scan_of
from tests.bench.conditions import Conditions
from tests.bench.timing import times_ms
from tests.fakes import make_deps, make_job, now
from tests.figures import Goal, Row, format_table
from tests.shared_data import SHARED

DIMENSION = 384  # a small local model's
CHUNKS_A_PAPER = 40
SEED = 5
_QUERIES = 20
_SITTING = 30  # papers
_WORDS = [f"{first}{last}" for first in "ba do fi gu ke la mo nu pa ri so tu vy wa xe zi".split() for last in
          "ban der fil gon kas lum mir nol pet rus sim tok ves wil".split()]  # fmt: skip
_AT = datetime(2026, 1, 1, tzinfo=UTC)


def measure_library(conditions: Conditions) -> str:
    """The tables, as text."""
    with get_context("spawn").Pool(1) as process:  # by itself, so that its memory is its own
        return _ingestion() + asyncio.run(_sitting()) + process.apply(_searches, (conditions.papers,))


def _ingestion() -> str:
    """Reading and cutting real papers, as the worker does: processor time of one core."""
    paths = sorted((SHARED / "data" / "papers").glob("*.pdf"))
    if not paths:
        return "== library: ingestion ==\nskipped: no papers (set GORKD_TEST_DATA)\n"
    pages, began = 0, time.process_time()
    for path in paths:
        read = extract(PageDocument(f"paper:{path.name}", "pdf", "", path.read_bytes(), MAX_PAPER_CHARS))
        chunk_text(read.text)
        pages += len(read.labels)
    rate = pages / (time.process_time() - began)
    rows = [Row("pages a second of processor time", [rate], "", 1, Goal(20, is_floor=True))]
    return format_table(f"library: ingestion of {len(paths)} papers, {pages} pages", ("",), rows)


class _Here:
    """A `PaperReader` in this process, so that its processor time is counted."""

    async def read(self, name: str, content: bytes) -> PaperText:
        found = extract(PageDocument(f"paper:{name}", "pdf", "", content, MAX_PAPER_CHARS, ocr_s=OCR_S))
        return PaperText(found.title, found.text, found.labels, found.author or "", found.gap)


async def _sitting() -> str:
    """Thirty papers added and a question asked: processor time of all processes, besides what a model would take."""
    papers = _thirty()
    if len(papers) < _SITTING:
        return "== library: a first sitting ==\nskipped: no papers (set GORKD_TEST_DATA)\n"
    deps = make_deps()
    ingestion = Ingestion(deps.library, _Here().read, now)
    began = _processor_s()
    for name, content in papers:
        await ingestion.add(LOCAL, name, content)
    added = _processor_s()
    job = await deps.jobs.save(make_job("How can divergence times be estimated?", modes=("library",)))
    await run_job(job.id, deps, DirectSteps())
    answered = _processor_s()
    result = await deps.jobs.result(job.id)
    assert result
    assert result.answer
    assert result.answer.citations
    rows = [
        Row("adding them", [added - began], "s", 1),
        Row("the first question", [answered - added], "s", 1),
        Row("together", [answered - began], "s", 1, Goal(120)),
    ]
    return format_table(f"library: a first sitting with {len(papers)} papers, one of them a scan", ("",), rows)


def _thirty() -> list[tuple[str, bytes]]:
    """Fifteen real papers, the layouts of four word processors' exports, and eleven of ours with one scan."""
    found = [(path.name, path.read_bytes()) for path in sorted((SHARED / "data" / "papers").glob("*.pdf"))]
    found += [(f"{name}.pdf", (LAYOUTS / f"{name}.pdf").read_bytes()) for name in EXPORTED]
    rng = np.random.default_rng(SEED)
    made = [[column([f"{_text(rng, 9).capitalize()}." for _ in range(45)]) for _ in range(8)] for _ in range(10)]
    found += [(f"made-{at}.pdf", pdf_of(pages)) for at, pages in enumerate(made)]
    return [*found, ("scan.pdf", scan_of(made[0][:4]))]


def _processor_s() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _searches(papers: int) -> str:
    return asyncio.run(_measure(papers))


async def _measure(papers: int) -> str:
    rng = np.random.default_rng(SEED)
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        database = await Database.open(Path(folder))
        try:
            await _fill(SqlLibrary(database, Path(folder)), papers, rng)
            filled_s = time.perf_counter() - began
            library = SqlLibrary(database, Path(folder))
            by_meaning = Shelves(library, (LOCAL,), _Embedder(rng))
            by_words = Shelves(library, (LOCAL,))

            async def funnel(shelves: Shelves) -> None:
                query = _text(rng, 8)
                found = papers_of(await search_summary_index(shelves, query, similarity_cutoff=-1.0))
                await search_content_index_filtered(shelves, query, found, similarity_cutoff=-1.0)

            async def everything() -> None:
                vector = _unit(rng, 1)[0]
                await library.nearest((LOCAL,), Index.CONTENT, vector, limit=60)

            async def everything_in_words() -> None:
                await library.matching((LOCAL,), Index.CONTENT, _text(rng, 8), limit=60)

            started = await times_ms(everything, 1)
            searched = await times_ms(everything, _QUERIES)
            in_words = await times_ms(everything_in_words, _QUERIES)
            meaning = await times_ms(lambda: funnel(by_meaning), _QUERIES)
            words = await times_ms(lambda: funnel(by_words), _QUERIES)
            changed = await times_ms(lambda: _replace(library, rng), 3)
            after_change = await times_ms(everything, 1)
            removed = await times_ms(lambda: _remove(library), 3)
        finally:
            await database.aclose()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [
        Row("filling the library", [filled_s], "s", 0),
        Row("first search, which reads all vectors", started, "ms", 0),
        Row("funnel by meaning, median", [float(np.median(meaning))], "ms", 0, Goal(300)),
        Row("funnel by meaning, slowest", [max(meaning)], "ms", 0),
        Row("funnel by words, median", [float(np.median(words))], "ms", 0, Goal(300)),
        Row("funnel by words, slowest", [max(words)], "ms", 0),
        Row("all chunks by meaning, median", [float(np.median(searched))], "ms", 0),
        Row("all chunks by words, median", [float(np.median(in_words))], "ms", 0),
        Row("replacing a paper", [float(np.median(changed))], "ms", 0),
        Row("the search after it", after_change, "ms", 0),
        Row("removing a paper, slowest", [max(removed)], "ms", 0),
        Row("memory, at most", [memory], "MiB", 0, Goal(1_430)),
    ]
    chunks = papers * CHUNKS_A_PAPER
    return format_table(f"library: {papers:,} papers, {chunks:,} chunks of {DIMENSION} numbers, SQLite", ("",), rows)


class _Embedder:
    """Directions by chance: what an embedding means is not measured here."""

    name = "chance"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    async def embed(self, texts: list[str]) -> list[Vector]:
        return list(_unit(self._rng, len(texts)))


async def _fill(library: SqlLibrary, papers: int, rng: np.random.Generator) -> None:
    for number in range(papers):
        await _put(library, number, rng)


async def _put(library: SqlLibrary, number: int, rng: np.random.Generator) -> None:
    paper = Paper(f"{2001 + number // 90_000}.{number % 90_000 + 10_000}v1", _text(rng, 8), f"hash {number}", _AT)
    vectors = _unit(rng, CHUNKS_A_PAPER + 1)
    content = [_chunk(paper, at, _text(rng, 280), vectors[at]) for at in range(CHUNKS_A_PAPER)]
    summary = [_chunk(paper, 0, _text(rng, 280), vectors[-1])]
    await library.put(LOCAL, paper, "", {Index.SUMMARY: summary, Index.CONTENT: content}, b"")


async def _replace(library: SqlLibrary, rng: np.random.Generator) -> None:
    await _put(library, int(rng.integers(3, 100)), rng)


async def _remove(library: SqlLibrary) -> None:
    found = await library.papers([LOCAL])
    await library.remove(LOCAL, found[0].id)


def _chunk(paper: Paper, at: int, text: str, vector: Vector) -> PaperChunk:
    return PaperChunk(paper, at, text, at * 1_000, at * 1_000 + len(text), page=at // 2 + 1, embedding=vector)


def _text(rng: np.random.Generator, words: int) -> str:
    """Words as rare and as frequent as in any language (Zipf)."""
    return " ".join(_WORDS[at % len(_WORDS)] + (str(at) if at >= len(_WORDS) else "") for at in rng.zipf(1.3, words))


def _unit(rng: np.random.Generator, count: int) -> Vector:
    vectors = rng.standard_normal((count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
