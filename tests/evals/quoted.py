"""Quoted answers, without a model: which questions are answered from files, which are refused, and what is right;
whether the summary of an abstract holds its conclusion, and how questions about this project's documents come out.

The paragraphs of parallel.json are files of one folder, a quarter of them left out at random: their questions have
no answer there. Each question goes through the house from the plan by rules to the answer's level.
"""

from __future__ import annotations

import asyncio
import json
import random
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import regex

from adapters.search.files import FileSearch
from bots.config import default_files
from core.evidence.quoting import quote_answer
from core.model.answer import Confidence
from core.model.source import Source
from core.pipeline.deps import Deps
from core.pipeline.work import Progress
from core.stages.gathering import Gathering
from core.stages.plan import plan_by_rules
from core.stages.search import collect_sources
from core.stages.synthesize import answer_question
from tests.evals.datasets import PUBMEDQA, data_path, sha256_of
from tests.fakes import make_deps, make_job, make_source

PARALLEL = "questions/parallel.json"
LANGUAGES = ("en", "de", "es")
LEFT_OUT = 0.25  # of the paragraphs
SEED = 19
ABSTRACTS = 40
ABSTRACT_SEEDS = (101, 102, 103)  # none that was looked at while the rules were made
DOCUMENTS = Path(__file__).with_name("documents.txt")
NEWCOMERS = Path(__file__).with_name("newcomers.txt")
HALVES = ("tuned", "counted")
_PATIENCE_S = 30.0
_GOES = 8  # in which the largest folder is read; one takes at most as long as a question waits for it


@dataclass(frozen=True)
class Case:
    """A question with its gold answer, and whether the paragraph that holds it is among the files."""

    article: str
    question: str
    gold: str
    is_answerable: bool


@dataclass(frozen=True)
class Outcome:
    case: Case
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

    @property
    def says_one(self) -> bool:
        """Whether it says one of the right answers that `documents.txt` gives; no refusal does that repeats words."""
        said = self.summary.casefold()
        return not self.is_refused and any(
            all(part in said for part in one.split("&")) for one in self.case.gold.casefold().split("/")
        )


def print_quoted() -> None:
    print(f"questions: {PARALLEL} {sha256_of(PARALLEL)}, a quarter of the paragraphs left out (seed {SEED})")
    articles = json.loads(data_path(PARALLEL).read_text(encoding="utf-8"))
    outcomes = {code: asyncio.run(run_house(articles, code, seed=SEED)) for code in LANGUAGES}
    for name, titles in (
        ("all articles", {str(article["title"]) for article in articles}),
        ("those developed on", {str(article["title"]) for article in articles[::2]}),
        ("the others", {str(article["title"]) for article in articles[1::2]}),
    ):
        print(f"  {name}")
        for code in LANGUAGES:
            _print_language(code, [outcome for outcome in outcomes[code] if outcome.case.article in titles])
    _print_conclusions()
    _print_documents()
    _print_newcomers(articles)
    print()


def _print_documents() -> None:
    print(f"questions about the documents of this project: {DOCUMENTS.name}")
    cases = list(read_documents_cases())
    with TemporaryDirectory() as folder:
        outcomes = asyncio.run(_ask_all(default_files(), Path(folder), [case for case, _ in cases]))
    _print_kinds(outcomes, [kind for _, kind in cases])


def _print_kinds(outcomes: Sequence[Outcome], kinds: Sequence[str]) -> None:
    for kind in ("answered", "near", "none"):
        own = [outcome for outcome, of in zip(outcomes, kinds, strict=True) if of == kind]
        sure, refused = [outcome for outcome in own if outcome.is_sure], sum(outcome.is_refused for outcome in own)
        right = [outcome for outcome in own if kind == "answered" and outcome.says_one]
        sure_right = sum(outcome.is_sure for outcome in right)
        print(
            f"  {kind}: {len(right)} of {len(own)} right, {refused} refused; "
            f"Medium or High is right in {sure_right} of {len(sure)}"
        )


def _print_newcomers(articles: Sequence[Mapping[str, Any]]) -> None:
    sections = [part.partition("\n") for part in NEWCOMERS.read_text(encoding="utf-8").split("\n@ ")[1:]]
    for half in HALVES:
        print(f"questions of newcomers about several folders: {NEWCOMERS.name}, {half}")
        outcomes: list[Outcome] = []
        kinds: list[str] = []
        for name, _, lines in sections:
            world, _, of = name.partition(" ")
            if of == half:
                cases = [_read_case(line) for line in lines.splitlines() if line]
                with TemporaryDirectory() as folder:
                    roots = _roots_of(world, articles, Path(folder), sections)
                    outcomes += asyncio.run(_ask_all(roots, Path(folder), [case for case, _ in cases]))
                kinds += [kind for _, kind in cases]
        _print_kinds(outcomes, kinds)


def _roots_of(
    world: str, articles: Sequence[Mapping[str, Any]], folder: Path, sections: Sequence[tuple[str, str, str]]
) -> Sequence[Path]:
    """The folders with the texts of a section of `newcomers.txt`."""
    if world == "documents":
        return default_files()
    if world in LANGUAGES:
        _write_files(articles, world, folder / "files", random.Random(SEED), left_out=0.0)
        return [folder / "files"]
    if world == "faq":
        (folder / "files").mkdir()
        for name, _, text in sections:
            if name.startswith("file "):
                (folder / "files" / name.removeprefix("file ")).write_text(text, encoding="utf-8")
        return [folder / "files"]
    return [data_path(PARALLEL).parent.parent / world]


def read_documents_cases() -> Iterator[tuple[Case, str]]:
    """Each question of `documents.txt`, with its kind: `answered`, `near` or `none`."""
    for line in DOCUMENTS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield _read_case(line)


def _read_case(line: str) -> tuple[Case, str]:
    question, mark, rest = line.partition("?")
    kind = "answered" if rest.startswith(" = ") else rest.strip()
    gold = rest.removeprefix(" = ") if kind == "answered" else ""
    return Case("", question + mark, gold, kind == "answered"), kind


def _print_conclusions() -> None:
    print(f"abstracts: {PUBMEDQA} {sha256_of(PUBMEDQA)}, {ABSTRACTS} drawn by each of the seeds {ABSTRACT_SEEDS}")
    rows = list(json.loads(data_path(PUBMEDQA).read_text(encoding="utf-8")).values())
    for name, is_labelled in (("with labels", True), ("without labels", False)):
        for title, is_titled in (("title given", True), ("no title", False)):
            draws = [random.Random(seed).sample(rows, ABSTRACTS) for seed in ABSTRACT_SEEDS]
            held = [
                sum(_holds_conclusion(row, is_labelled=is_labelled, is_titled=is_titled) for row in draw)
                for draw in draws
            ]
            print(f"  {name}, {title}: the summary holds a sentence of the conclusion in {held} of {ABSTRACTS}")


def _holds_conclusion(row: Mapping[str, Any], *, is_labelled: bool, is_titled: bool) -> bool:
    conclusion = row["LONG_ANSWER"]
    if is_labelled:
        parts = [f"{label}: {text}" for label, text in zip(row["LABELS"], row["CONTEXTS"], strict=True)]
        text = "\n\n".join([*parts, f"CONCLUSIONS: {conclusion}"])
    else:
        text = " ".join([*row["CONTEXTS"], conclusion])
    title = row["QUESTION"] if is_titled else ""  # the question is the title of the article
    source = make_source(1, text, title=title)
    summary = quote_answer(row["QUESTION"], [source]).summary
    return any(entry.end > len(text) - len(conclusion) for entry in summary)


async def run_house(articles: Sequence[Mapping[str, Any]], language: str, *, seed: int) -> list[Outcome]:
    """Every question in one language, asked of the files of one folder."""
    with TemporaryDirectory() as folder:
        files = Path(folder, "files")
        kept = _write_files(articles, language, files, random.Random(seed))
        return await _ask_all([files], Path(folder), list(_cases(articles, language, kept)))


async def _ask_all(roots: Sequence[Path], folder: Path, cases: Sequence[Case]) -> list[Outcome]:
    """Each asked of the files in `roots`, whose index is put into `folder`."""
    search = FileSearch(roots, folder / "files.db", tenants=None)
    try:
        deps = replace(make_deps(), providers={search.name: search})
        await deps.jobs.save(make_job("?"))  # whose events all questions write
        for _ in range(_GOES):
            await search.warm_up()
        return [await _ask(case, deps) for case in cases]
    finally:
        await search.aclose()


def _write_files(
    articles: Sequence[Mapping[str, Any]],
    language: str,
    folder: Path,
    rng: random.Random,
    left_out: float = LEFT_OUT,
) -> set[str]:
    """One paragraph a file, named after its article; gives the texts that were not left out."""
    folder.mkdir()
    places = [
        (article["title"], number, paragraph)
        for article in articles
        for number, paragraph in enumerate(article["paragraphs"], start=1)
    ]
    without = set(rng.sample(range(len(places)), round(left_out * len(places))))
    kept: set[str] = set()
    for place, (title, number, paragraph) in enumerate(places):
        if place not in without:
            text = paragraph["text"][language]
            (folder / f"{title} {number}.txt".replace("/", "_")).write_text(text, encoding="utf-8")
            kept.add(text)
    return kept


def _cases(articles: Sequence[Mapping[str, Any]], language: str, kept: set[str]) -> Iterator[Case]:
    for article in articles:
        for paragraph in article["paragraphs"]:
            for entry in paragraph["questions"]:
                is_answerable = paragraph["text"][language] in kept
                yield Case(article["title"], entry["question"][language], entry["answer"][language], is_answerable)


async def _ask(case: Case, deps: Deps) -> Outcome:
    job = await deps.jobs.save(make_job(case.question))  # events are kept of jobs that there are
    gathering = Gathering(job, deps)

    async def unheard(_: Source) -> None:
        """Nobody watches."""

    try:
        plan = plan_by_rules(job, deps)
        found = await collect_sources(gathering, plan.search, within_s=_PATIENCE_S, on_source=unheard)
    finally:
        await gathering.aclose()
    answer = await answer_question(job, found, deps, Progress(job, deps), usage=(), within_s=_PATIENCE_S)
    return Outcome(case, answer.confidence, answer.summary)


def _print_language(language: str, outcomes: Sequence[Outcome]) -> None:
    answerable = [outcome for outcome in outcomes if outcome.case.is_answerable]
    unanswerable = [outcome for outcome in outcomes if not outcome.case.is_answerable]
    sure = [outcome for outcome in outcomes if outcome.is_sure]
    right = sum(outcome.is_right for outcome in sure)
    print(
        f"    {language}: refused {_share(answerable)} of {len(answerable)} answerable and {_share(unanswerable)} of "
        f"{len(unanswerable)} unanswerable; Medium or High is right in {right} of {len(sure)} "
        f"({right / max(len(sure), 1):.1%})"
    )


def _share(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(outcome.is_refused for outcome in outcomes) / max(len(outcomes), 1):.1%}"


def _normalised(text: str) -> str:
    """Letters and digits in lower case, markers of citations gone."""
    text = regex.sub(r"\s*\[\d+\]", "", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(regex.findall(r"[\p{L}\p{N}]+", text))
