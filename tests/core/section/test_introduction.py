"""An introduction from the fifteen real papers: scripted model and hashing embedder behind the SDK, real commands."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import bibtexparser
import pytest

from bots.wiring import library_desk
from core.library.paper import Index, Paper
from core.model.job import LOCAL, Attachment, JobStatus
from core.pipeline.deps import Deps
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.bibliography import latex_text
from core.section.prose import assign_keys, bibliography
from tests.core.section.shelves import BRIEF, FEW, add_papers
from tests.fakes import NOW, make_deps, make_job
from tests.loopback.openai_world import OpenAIWorld, openai_world
from tests.loopback.section_responders import QUERIES
from tests.records import memory_library

DOCUMENT = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\begin{document}
\input{intro}
\bibliographystyle{plain}
\bibliography{intro}
\end{document}
"""


@asynccontextmanager
async def library(world: OpenAIWorld, names: tuple[str, ...]) -> AsyncIterator[Deps]:
    """The papers on a shelf, read from their PDFs and embedded; the model is not yet asked."""
    from adapters.llm.openai import build_chat

    env = {"GORKD_EMBEDDING_MODEL": "hashing", "GORKD_EMBEDDING_BASE_URL": world.url}
    async with AsyncExitStack() as stack:
        shelf = memory_library()
        desk = library_desk(env, shelf, stack)
        await add_papers(desk, LOCAL, names)
        model = build_chat({"OPENAI_BASE_URL": world.url, "GORKD_MODEL": "loop-1"})
        stack.push_async_callback(model.aclose)
        yield replace(make_deps(model=model), library=shelf, embedder=desk.ingestion.embedder)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("names", "papers", "least_cited"),
    [pytest.param(FEW, 4, 2, id="four"), pytest.param((), 15, 5, id="fifteen", marks=pytest.mark.slow)],
)
async def test_an_introduction_from_real_papers_has_keys_that_exist_and_a_bibliography(
    tmp_path: Path, names: tuple[str, ...], papers: int, least_cited: int
) -> None:
    """S001-01, S001-02, S001-07, S001-08, S001-14, S001-24, S001-32, S001-36: all of it, through the SDK."""
    async with openai_world() as world, library(world, names) as deps:
        world.ignores_stream = True  # 13,000 pieces of answers would take four fifths of the test's time
        shelved = await deps.library.papers([LOCAL])
        embedded = len(world.embedding_calls)
        job = await deps.jobs.save(make_job("Write the introduction", modes=("section",), attachments=("p.yaml",)))
        await deps.jobs.attach(job, [Attachment("p.yaml", "", "", BRIEF)])

        await run_job(job.id, deps, DirectSteps())

        job, result = await deps.jobs.get(job.id), await deps.jobs.result(job.id)
        chunks = await deps.library.matching([LOCAL], Index.CONTENT, "odds ratio", limit=500)
    assert job.status is JobStatus.COMPLETED
    (section,) = result.details["sections"]
    assert len(shelved) == papers
    assert len(chunks) > embedded  # several texts a call
    assert chunks[0].chunk.paper.title
    assert [search["query"] for search in section["searches"][1:]] == list(QUERIES)
    assert all(search["candidates"] == 20 for search in section["searches"])
    assert len(section["cited"]) >= least_cited
    assert section["unknown_keys"] == []
    assert {row["key"] for row in result.details["evidence"] if row["cited_in"]} >= set(section["cited"])
    parsed = bibtexparser.parse_string(result.details["bibtex"])
    assert parsed.failed_blocks == []
    assert {entry.key for entry in parsed.entries} == set(section["cited"])
    assert_no_quotation(section["section_text"], [entry.chunk.chunk_text for entry in chunks])
    assert world.most_open_calls <= deps.settings.section.concurrent_calls
    compile_document(tmp_path, result.details["latex"], result.details["bibtex"])


def assert_no_quotation(prose: str, texts: list[str]) -> None:
    """Judged apart from the product's own rule: eight words in a row, by blanks."""
    whole = " ".join(" ".join(text.split()) for text in texts).casefold()
    words = prose.casefold().split()
    runs = [" ".join(words[at : at + 8]) for at in range(len(words) - 7)]
    assert [run for run in runs if run in whole] == []


def compile_document(folder: Path, latex: str, bibtex: str) -> None:
    """Skips where no TeX is installed, after everything else was judged."""
    engine = shutil.which("pdflatex") or shutil.which("tectonic")
    (folder / "intro.tex").write_text(latex, "utf-8")
    (folder / "intro.bib").write_text(bibtex, "utf-8")
    (folder / "paper.tex").write_text(DOCUMENT, "utf-8")
    if engine is None:
        pytest.skip("no TeX engine is installed; all but the compilation was checked")
    runs = [[engine, "paper.tex"]] if engine.endswith("tectonic") else [
        [engine, "-interaction=nonstopmode", "paper.tex"],
        ["bibtex", "paper"],
        *[[engine, "-interaction=nonstopmode", "paper.tex"]] * 2,
    ]  # fmt: skip
    for command in runs:
        ran = subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=60)
        assert ran.returncode == 0, ran.stdout.decode("utf-8", "replace")[-2000:]
    log = (folder / "paper.log").read_text("utf-8", "replace")
    assert [line for line in log.splitlines() if "undefined" in line and "Citation" in line] == []
    assert "Warning--I didn't find" not in (folder / "paper.blg").read_text("utf-8", "replace")
    assert (folder / "paper.pdf").stat().st_size > 10_000


TYPED = (
    r"50 % & more_of #1 ~ $x^2$ {α ≥ 0.05} <β ± 2 σ> “a – b” → naïve Łódź ﬁt µm × 10⁻³ H₂O … ∞ \input{x} ħ ẞ ℝ ≪ č "
    r"Ε Σ ά ﬃ ½ ‰ № ⁿ ǔ ∑ ′ ‘x’ „y“ -- '' ` ^ |"
)


def test_whatever_a_paper_is_typed_with_compiles(tmp_path: Path) -> None:
    """A character that a plain document has no font for does not cost the author the document."""
    paper = Paper("2401.00001", TYPED, "hash", NOW, authors=("Łukasz Ñandú",), published="2024")
    key = assign_keys([paper])[paper.id]

    compile_document(tmp_path, f"{latex_text(TYPED)}~\\cite{{{key}}}", bibliography([paper], {paper.id: key}))
