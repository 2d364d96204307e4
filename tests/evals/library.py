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

from adapters.llm.embeddings import OpenAIEmbeddings, build_embeddings
from adapters.records.library import SqlLibrary
from adapters.records.sqlite import Database
from core.library.funnel import Shelves, papers_of, search_summary_index, select_papers
from core.library.ingest import Ingestion, PaperRecord, PaperText
from core.model.job import LOCAL
from core.model.ports import EmbeddingModel
from tests.evals.datasets import PAPERS, PUBMEDQA, data_path, sha256_of
from tests.evals.page_citations import load_paper, print_page_citations

GOAL_BY_WORDS, GOAL_BY_MEANING = 0.95, 0.97  # recall@1
_AT = datetime(2026, 1, 1, tzinfo=UTC)
# Written for this without a look at more than the titles and abstracts of the papers; others are about none of them.
ABOUT = {
    "0603.10002": (
        "How can divergence times be estimated without assuming a strict molecular clock?",
        "Are evolutionary rates of neighbouring branches autocorrelated?",
    ),
    "0610.10033": (
        "Why do odds ratios exaggerate relative risk?",
        "When is an odds ratio a bad approximation of the risk ratio?",
    ),
    "0612.10035": (
        "Is the ACE insertion/deletion polymorphism linked to preeclampsia?",
        "Do small studies bias genetic association results in pregnancy hypertension?",
    ),
    "0811.10010": (
        "How do gene networks evolve the ability to evolve?",
        "Does a fluctuating environment make regulatory networks respond faster to mutations?",
    ),
    "0812.10011": (
        "Which tools help scientists manage their references and PDFs?",
        "What is wrong with today's digital libraries of papers?",
    ),
    "1103.10038": (
        "How do drug companies market medicines for unapproved uses?",
        "What did whistleblowers say about pharmaceutical sales practices?",
    ),
    "1204.10015": (
        "How does DNA supercoiling cause strand separation and Z-DNA formation?",
        "Which model predicts competing transitions in superhelical DNA?",
    ),
    "1205.10040": (
        "Which drugs improve treatment success in MDR-TB?",
        "How long should multidrug-resistant tuberculosis be treated?",
    ),
    "1208.10007": (
        "How do dendritic cells capture HIV?",
        "What role do gangliosides play in virus uptake?",
    ),
    "1305.10016": (
        "How can genomes of individual species be inferred from metagenomic samples?",
        "What is metagenomic deconvolution?",
    ),
    "1310.10009": (
        "How much published phylogenetic data is lost?",
        "Should journals require that alignments and trees are archived?",
    ),
    "1501.10024": (
        "What drives the formation of neural rosettes from stem cells?",
        "How can interkinetic nuclear migration be measured by live imaging?",
    ),
    "1506.10017": (
        "How are hypergraphs used to compare genomes?",
        "What relations between three objects do ordinary networks miss?",
    ),
    "1508.10019": (
        "How do bats coordinate their flight when hunting together?",
        "Does echolocation explain following behaviour between animals?",
    ),
    "1510.10021": (
        "How do you find the stimulus features a neuron responds to?",
        "Is maximally informative dimensions equivalent to maximum likelihood?",
    ),
}
ABOUT_NOTHING = (
    "Who won the 1998 football world cup?",
    "How do I bake sourdough bread?",
    "What is the capital of Mongolia?",
    "How does a mortgage amortisation schedule work?",
    "Which programming language should I learn first?",
    "When was the Eiffel Tower built?",
    "How do tides work?",
    "What are the rules of cricket?",
    "Why did the Roman Empire fall?",
    "How do I change a bicycle tyre?",
    "What is the best laptop for students?",
    "How is steel made from iron ore?",
    "What does the Treaty of Westphalia say?",
    "How do noise-cancelling headphones work?",
    "What is the exchange rate of the yen?",
    "How do I renew my passport?",
    "What causes inflation?",
    "Which guitar strings sound warmest?",
    "How are solar panels recycled?",
    "What is the plot of Hamlet?",
    "How fast does a Kubernetes pod start?",
    "What is the tallest mountain in Africa?",
    "How do black holes form?",
    "Is nuclear fusion economically viable?",
    "How do I negotiate a higher salary?",
    "What are the symptoms of a stroke?",
    "How do vaccines against measles work?",
    "Why is the sky blue?",
    "What is quantum entanglement?",
    "How did Bach write fugues?",
)


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
    print(f"topics: {PAPERS}, two questions about each paper, {len(ABOUT_NOTHING)} about none of them")
    asyncio.run(_print_topics(None))
    asyncio.run(_print_topics(build_embeddings(os.environ)))
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


async def _print_topics(embedder: OpenAIEmbeddings | None) -> None:
    """Of the 15 papers as they are read from their PDFs, the abstract as summary."""
    with TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        try:
            library = SqlLibrary(database, Path(folder))
            ingestion = Ingestion(library, _AsRead().read, lambda: _AT, embedder=embedder)
            for row in json.loads((data_path(PAPERS) / "papers.json").read_text(encoding="utf-8")):
                record = PaperRecord(id=row["id"], title=row["title"], abstract=row["abstract"])
                await ingestion.add(LOCAL, row["id"], row["id"].encode(), record)
            shelves = Shelves(library, (LOCAL,), embedder)
            asked = [(paper, question) for paper, questions in ABOUT.items() for question in questions]
            found = [(paper, await select_papers(shelves, question)) for paper, question in asked]
            stray = [await select_papers(shelves, question) for question in ABOUT_NOTHING]
            kept = (await library.papers([LOCAL]))[0].cosines
        finally:
            await database.aclose()
            if embedder is not None:
                await embedder.aclose()
    first, among = (sum(paper in papers[:most] for paper, papers in found) for most in (1, None))
    print(
        f"  {embedder.name if embedder else 'by words'}: right paper first {first}, among those chosen {among} of "
        f"{len(found)}; nothing found off the topic {sum(not papers for papers in stray)} of {len(stray)}; {kept}"
    )


async def _ranks(abstracts: list[_Abstract], embedder: EmbeddingModel | None) -> dict[str, int]:
    """Of each abstract's own paper in the order of stage 1; 0 for one that is not among its results."""
    with TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        try:
            library = SqlLibrary(database, Path(folder))
            ingestion = Ingestion(library, _AsItIs().read, lambda: _AT, embedder=embedder)
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


class _AsRead:
    """A `PaperReader` of the papers of the data folder, by name."""

    async def read(self, name: str, content: bytes) -> PaperText:
        paper, source = load_paper(name)
        return PaperText(paper.title, source.content, paper.labels)


def _abstracts(*, with_conclusion: bool) -> list[_Abstract]:
    rows = json.loads(data_path(PUBMEDQA).read_text(encoding="utf-8"))
    return [
        _Abstract(
            pmid, row["QUESTION"], "\n\n".join([*row["CONTEXTS"], *([row["LONG_ANSWER"]] if with_conclusion else [])])
        )
        for pmid, row in rows.items()
    ]
