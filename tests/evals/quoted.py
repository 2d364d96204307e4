"""Quoted answers, without a model: which questions are answered from files, which are refused, and what is right.

The paragraphs of parallel.json are files of one folder, a quarter of them left out at random: their questions have
no answer there. Each question goes through the house from the plan by rules to the answer's level.
"""

from __future__ import annotations

import asyncio
import json
import random
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import regex

from adapters.search.files import FileSearch
from core.answer import Confidence, ResearchAnswer
from core.deps import Deps
from core.progress import Progress
from core.stages.gathering import Gathering
from core.stages.intake import parse_intent
from core.stages.plan import plan_by_rules
from core.stages.search import collect_sources
from core.stages.synthesize import answer_question
from tests.evals.datasets import data_path, sha256_of
from tests.fakes import make_deps, make_job

PARALLEL = "questions/parallel.json"
LANGUAGES = ("en", "de", "es")
LEFT_OUT = 0.25  # of the paragraphs
SEED = 19


@dataclass(frozen=True)
class _Case:
    """A question with its gold answer, and whether the paragraph that holds it is among the files."""

    article: str
    question: str
    gold: str
    is_answerable: bool


@dataclass(frozen=True)
class _Outcome:
    case: _Case
    level: Confidence
    summary: str

    @property
    def is_refused(self) -> bool:
        return self.level is Confidence.INSUFFICIENT

    @property
    def is_sure(self) -> bool:
        return self.level in (Confidence.MEDIUM, Confidence.HIGH)

    @property
    def is_right(self) -> bool:
        return _normalised(self.case.gold) in _normalised(self.summary)


def print_quoted() -> None:
    print(f"questions: {PARALLEL} {sha256_of(PARALLEL)}, a quarter of the paragraphs left out (seed {SEED})")
    articles = _articles()
    for name, share in (("developed on", articles[0::2]), ("checked on", articles[1::2])):
        titles = ", ".join(str(article["title"]) for article in share)
        print(f"  {name} {titles}")
        for language in LANGUAGES:
            _print_language(language, asyncio.run(run_house(share, articles, language, seed=SEED)))
    print()


def _articles() -> list[dict]:
    return list(json.loads(data_path(PARALLEL).read_text(encoding="utf-8")))


async def run_house(asked: Sequence[dict], articles: Sequence[dict], language: str, *, seed: int) -> list[_Outcome]:
    """All questions about the articles `asked`, from files of all `articles`, in one language."""
    rng = random.Random(seed)
    with TemporaryDirectory() as folder:
        files = Path(folder, "files")
        files.mkdir()
        kept = _write_files(articles, language, files, rng)
        search = FileSearch([files], Path(folder, "files.db"), tenants=None)
        try:
            deps = make_deps(search=[search])  # type: ignore[list-item]  # any provider will do
            return [await _ask(case, deps) for case in _cases(asked, language, kept)]
        finally:
            await search.aclose()


def _write_files(articles: Sequence[dict], language: str, folder: Path, rng: random.Random) -> set[str]:
    """One paragraph a file, named after its article; gives the texts that were not left out."""
    places = [
        (article["title"], number, paragraph)
        for article in articles
        for number, paragraph in enumerate(article["paragraphs"], start=1)
    ]
    left_out = set(rng.sample(range(len(places)), round(LEFT_OUT * len(places))))
    kept: set[str] = set()
    for place, (title, number, paragraph) in enumerate(places):
        if place not in left_out:
            text = paragraph["text"][language]
            (folder / f"{title} {number}.txt".replace("/", "_")).write_text(text, encoding="utf-8")
            kept.add(text)
    return kept


def _cases(articles: Sequence[dict], language: str, kept: set[str]) -> Iterator[_Case]:
    for article in articles:
        for paragraph in article["paragraphs"]:
            for entry in paragraph["questions"]:
                is_answerable = paragraph["text"][language] in kept
                yield _Case(article["title"], entry["question"][language], entry["answer"][language], is_answerable)


async def _ask(case: _Case, deps: Deps) -> _Outcome:
    job = make_job(case.question, intent=parse_intent(case.question)) if False else make_job(case.question)
    gathering = Gathering(job, deps)
    plan = plan_by_rules(job, deps)

    async def ignore(_source: object) -> None: ...

    try:
        found = await collect_sources(gathering, plan.search, within_s=30.0, on_source=ignore)
    finally:
        await gathering.aclose()
    answer: ResearchAnswer = await answer_question(job, found, deps, Progress(job, deps), usage=(), within_s=30.0)
    return _Outcome(case, answer.confidence, answer.summary)


def _print_language(language: str, outcomes: Sequence[_Outcome]) -> None:
    answerable = [outcome for outcome in outcomes if outcome.case.is_answerable]
    unanswerable = [outcome for outcome in outcomes if not outcome.case.is_answerable]
    sure = [outcome for outcome in outcomes if outcome.is_sure]
    right = sum(outcome.is_right for outcome in sure)
    print(
        f"    {language}: refused {_share(answerable)} of {len(answerable)} answerable, {_share(unanswerable)} of "
        f"{len(unanswerable)} unanswerable; Medium or High {right} right of {len(sure)} ({right / max(len(sure), 1):.1%}); answered right {sum(o.is_right for o in answerable) / len(answerable):.1%}"
        f" low {sum(o.level is Confidence.LOW for o in answerable) / len(answerable):.1%}, of unans {sum(o.level is Confidence.LOW for o in unanswerable) / len(unanswerable):.1%}"
    )


def _share(outcomes: Sequence[_Outcome]) -> str:
    return f"{sum(outcome.is_refused for outcome in outcomes) / max(len(outcomes), 1):.1%}"


def _normalised(text: str) -> str:
    """Letters and digits in lower case, markers of citations gone."""
    text = regex.sub(r"\s*\[\d+\]", "", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(regex.findall(r"[\p{L}\p{N}]+", text))
