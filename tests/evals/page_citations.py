"""Page citations of real papers: a claim that names its paper and a right or a wrong page, and where it ends up."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from adapters.pages.extract import extract
from adapters.pages.extraction import MAX_PAPER_CHARS, PageDocument
from core.evidence.judge import Judgement, Ruling
from core.library.funnel import to_source
from core.library.paper import PageGrounder, Paper
from core.model.answer import Claim, Verdict
from core.model.source import Source
from core.text.chunking import Passage, chunk_text
from tests.evals.datasets import PAPERS, data_path, sha256_of
from tests.evals.paraphrases import paraphrase

SEED = 13
GOALS = {1: 0.99, 2: 0.97}  # by columns
_READ_CHUNKS = 15  # that the writer has read, spread over the paper; S000-09
_AS_PRINTED = "as printed"
_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Gold:
    """A sentence of a paper; it begins and ends on these pages."""

    paper: str
    sentence: str
    first_page: int
    last_page: int

    @property
    def is_wordy(self) -> bool:
        """Whether it has words enough to say something; the rest are scraps such as "14)."."""
        return sum(word.isalpha() for word in self.sentence.split()) >= 4


CONFIRMED = Judgement(Ruling.SUPPORTED)  # by a judge who always agrees: what is measured is the page


@dataclass
class _Tally:
    asked: int = 0
    right: int = 0
    wrong: int = 0
    on_one_page: int = 0  # of those shown; for the others the data names two pages, of which the sentence is on one
    honest: int = 0  # of these: said to have moved if and only if the named page was wrong

    def count(self, claim: Claim | None, gold: Gold, *, named_right: bool) -> None:
        self.asked += 1
        carried = [entry for entry in claim.evidence if entry.page] if claim else []
        if claim is None or not carried:
            return
        is_right = gold.first_page <= (carried[0].page or 0) <= gold.last_page
        self.right += is_right
        self.wrong += not is_right
        if gold.first_page != gold.last_page:
            return
        self.on_one_page += 1
        self.honest += (claim.verdict is not Verdict.MOVED) if named_right else (claim.verdict is not Verdict.SUPPORTED)


def print_page_citations() -> None:
    print(f"page citations: {PAPERS}/page_gold.jsonl {sha256_of(f'{PAPERS}/page_gold.jsonl')}, seed {SEED}")
    for columns, goal in GOALS.items():
        for wording in (_AS_PRINTED, "reworded by rule"):
            for named_right in (True, False):
                tally = _Tally()
                for gold, text in _claims(columns, wording):
                    tally.count(cited(gold, text, named_right=named_right), gold, named_right=named_right)
                print(_line(f"{columns} column(s), {wording}", tally, goal, named_right=named_right))
    print()


def cited(gold: Gold, text: str, *, named_right: bool) -> Claim | None:
    """The claim after its check; the writer read some chunks of the paper, which may not hold it."""
    paper, _ = load_paper(gold.paper)
    rng = random.Random(f"{SEED} {gold.sentence}")
    others = [page for page in range(1, paper.pages + 1) if not gold.first_page <= page <= gold.last_page]
    page = gold.first_page if named_right or not others else rng.choice(others)
    body, stop = text.rstrip(" .!?"), text.rstrip()[-1:]
    grounder = _grounder(gold.paper)
    judged = grounder.propose("detail", 0, f"{body} [{gold.paper}, page {page}]{stop if stop in '.!?' else '.'}")
    return grounder.conclude(judged, [CONFIRMED] * len(judged.asked)).claim


def load_gold() -> list[Gold]:
    rows = [json.loads(line) for line in (data_path(PAPERS) / "page_gold.jsonl").read_text("utf-8").splitlines()]
    return [Gold(row["paper"], row["sentence"], row["first_page"], row["last_page"]) for row in rows]


@cache
def load_paper(name: str) -> tuple[Paper, Source]:
    """As ingestion reads it from its PDF."""
    body = (data_path(PAPERS) / f"{name}.pdf").read_bytes()
    read = extract(PageDocument(f"paper:{name}", "pdf", "", body, MAX_PAPER_CHARS))
    paper = Paper(name, read.title, f"hash of {name}", _AT, labels=read.labels)
    return paper, to_source(1, paper, read.text, 1.0)


@cache
def _grounder(name: str) -> PageGrounder:
    paper, source = load_paper(name)
    chunks = chunk_text(source.content)
    passages: list[Passage] = []
    for chunk in chunks[:: max(1, len(chunks) // _READ_CHUNKS)]:
        if not passages or chunk.start > passages[-1].end:
            passages.append(Passage(chunk.start, chunk.end, chunk.text))
    return PageGrounder([source], "", {source.id: passages}, papers={source.id: paper})


@cache
def _columns() -> dict[str, int]:
    rows = json.loads((data_path(PAPERS) / "papers.json").read_text("utf-8"))
    return {row["id"]: row["columns"] for row in rows}


def _claims(columns: int, wording: str) -> Iterator[tuple[Gold, str]]:
    rng = random.Random(SEED)
    for gold in load_gold():
        if _columns()[gold.paper] != columns:
            continue
        if wording == _AS_PRINTED:
            yield gold, gold.sentence
        elif gold.is_wordy:
            yield gold, rng.choice(list(paraphrase(gold.sentence, rng).values()))


def _line(name: str, tally: _Tally, goal: float, *, named_right: bool) -> str:
    shown = tally.right + tally.wrong
    return (
        f"  {name}, page named {'right' if named_right else 'wrong'}: "
        f"{100 * tally.right / tally.asked:.1f} % right of {tally.asked}, "
        f"{100 * tally.right / max(shown, 1):.1f} % of the {shown} shown (goal {100 * goal:g} %), "
        f"move told {100 * tally.honest / max(tally.on_one_page, 1):.1f} %"
    )
