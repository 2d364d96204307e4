"""The labelled and the plain data that evaluations read, from the optional folder beside the project.

Nothing of it is copied here; `DataAbsent` is raised where a file is not there, and the evaluation says so.
"""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from core.model.source import Source, SourceMetadata
from tests.shared_data import SHARED, DataAbsent

WICE = "attribution/wice_oracle_chunks_dev.jsonl"
BEGIN = "attribution/begin_dev.tsv"
PUBMEDQA = "pubmedqa/questions.json"
PAGES = "pages"
PAPERS = "papers"
READ_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class LabelledPair:
    """A claim and a passage with what a person said of them. Pairs of one `group` share a document."""

    claim: str
    passage: str
    label: str
    is_supported: bool
    group: str


def data_path(name: str) -> Path:
    path = SHARED / "data" / name
    if not path.exists():
        raise DataAbsent(str(path))
    return path


def sha256_of(name: str) -> str:
    return hashlib.sha256(data_path(name).read_bytes()).hexdigest()


@cache
def load_wice() -> tuple[LabelledPair, ...]:
    """Claims of encyclopedia articles against passages of the page they cite; grouped by article."""
    rows = [json.loads(line) for line in data_path(WICE).read_text(encoding="utf-8").splitlines()]
    return tuple(
        LabelledPair(
            row["claim"],
            "\n".join(row["evidence"]),
            row["label"],
            row["label"] == "supported",
            row["meta"]["claim_title"],
        )
        for row in rows
    )


@cache
def load_begin() -> tuple[LabelledPair, ...]:
    """Answers of dialogue models against the snippet they were given; grouped by snippet."""
    with data_path(BEGIN).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return tuple(
        LabelledPair(
            row["response"],
            row["knowledge"],
            row["begin_label"],
            row["begin_label"] == "Fully attributable",
            " ".join(row["knowledge"].lower().split()),
        )
        for row in rows
    )


@cache
def load_abstracts() -> tuple[Source, ...]:
    """Biomedical abstracts with their conclusions."""
    rows = json.loads(data_path(PUBMEDQA).read_text(encoding="utf-8"))
    return tuple(
        _source(number, row["QUESTION"], " ".join([*row["CONTEXTS"], row["LONG_ANSWER"]]))
        for number, row in enumerate(rows.values(), start=1)
    )


@cache
def load_conclusions() -> tuple[tuple[str, Source], ...]:
    """The authors' own conclusion of each abstract, and the abstract without it."""
    rows = json.loads(data_path(PUBMEDQA).read_text(encoding="utf-8"))
    return tuple(
        (row["LONG_ANSWER"], _source(number, row["QUESTION"], " ".join(row["CONTEXTS"])))
        for number, row in enumerate(rows.values(), start=1)
    )


@cache
def load_extracts() -> tuple[Source, ...]:
    """What annotators were shown of web pages, mostly news: full of names and dates. One a document."""
    passages = {pair.group: pair.passage for pair in load_wice()}
    return tuple(_source(number, "", passage) for number, passage in enumerate(passages.values(), start=1))


@cache
def load_pages(every: int = 1) -> tuple[Source, ...]:
    """Technical documents, as read from web pages with their furniture; one in `every`."""
    import trafilatura

    titles = {
        row["id"]: row["title"] for row in json.loads((data_path(PAGES) / "index.json").read_text(encoding="utf-8"))
    }
    sources = []
    for number, (page_id, title) in list(enumerate(sorted(titles.items()), start=1))[::every]:
        html = (data_path(PAGES) / f"{page_id}.html").read_text(encoding="utf-8")
        sources.append(_source(number, title, trafilatura.extract(html, include_comments=False) or ""))
    return tuple(source for source in sources if source.content)


@cache
def load_papers() -> tuple[Source, ...]:
    """Papers as the text layer of their PDFs: hard line ends, hyphens, page furniture."""
    import pypdfium2

    sources = []
    for number, path in enumerate(sorted(data_path(PAPERS).glob("*.pdf")), start=1):
        document = pypdfium2.PdfDocument(path)
        pages = [page.get_textpage().get_text_range().replace("\r\n", "\n") for page in document]
        document.close()
        sources.append(_source(number, path.stem, "\n".join(pages)))
    return tuple(sources)


def _source(number: int, title: str, content: str) -> Source:
    metadata = SourceMetadata(domain="example.org", word_count=len(content.split()), provider="evaluation")
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Source(f"src_{number}", f"https://example.org/{number}", title, content, digest, READ_AT, metadata)
