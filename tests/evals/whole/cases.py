"""The cases of the evaluation `whole`: sentences with their truth, two-source worlds, and the texts they refer to.

The cases stand in the `.txt` files beside this one, which say how a line is written. A `World` is what is asked, read
and answered in one run, and what a judge who is always right would say of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from core.text.sentences import split_sentences
from tests.evals.datasets import PAGES, PUBMEDQA, WICE, data_path

FOLDER = Path(__file__).parent
PARALLEL = "questions/parallel.json"
MAX_TEXT_CHARS = 10_000  # of a page; all of it fits into the writer's prompt
# False because the text says otherwise; the other false kinds are merely not said.
CONTRADICTING = frozenset(
    "number unit_date name roles negation opposite scope direction foreign_opposite denial wrong_pronoun".split()
)
Opinion = Literal["supported", "contradicted", "unsupported"]
_MARKED_LINE = re.compile(r"^(?:#+ |\*\*)|:$")  # headings and leads carry no citation of their own
_FALLBACK_QUESTION = {
    "en": "What is known about {}?",
    "de": "Was ist über {} bekannt?",
    "es": "¿Qué se sabe de {}?",
    "fr": "Que sait-on de {} ?",
}


@dataclass(frozen=True)
class Line:
    """One line of a file: its kind (the heading it stands under) and its cells. `id` names it in reports."""

    id: str
    kind: str
    cells: tuple[str, ...]

    @property
    def is_dev(self) -> bool:
        """Half of the cases, by their own words: rules are tuned on these alone."""
        return hashlib.sha256("|".join(self.cells).encode()).digest()[0] % 2 == 0


@dataclass(frozen=True)
class Statement:
    """A sentence of the answer, and what each source says of it, in the order of the sources."""

    text: str
    opinions: tuple[Opinion, ...]


@dataclass(frozen=True)
class World:
    """One run: the question, the texts that are found, what the writer writes, and the truth of it.

    `target` are the pieces of the answer that the case is about; `summary` and `detail` carry markers.
    """

    id: str
    kind: str
    is_dev: bool
    question: str
    language: str
    texts: tuple[str, ...]
    summary: str
    detail: str
    target: tuple[str, ...]
    statements: tuple[Statement, ...]
    is_true: bool = True
    answers: bool = True


@cache
def read_lines(name: str) -> tuple[Line, ...]:
    """The cases of one file; `kind` is its name where it has no headings."""
    kind, found = name, []
    for number, text in enumerate((FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines(), start=1):
        if text.startswith("== "):
            kind = text.removeprefix("== ")
        elif text and not text.startswith("# "):
            cells = tuple(cell.strip() for cell in text.split(" | "))
            found.append(Line(f"{name}:{number}", kind, cells))
    return tuple(found)


def text_of(reference: str) -> str:
    """The text that a reference names. Raises `DataAbsent`, and `KeyError` where there is none."""
    kind, _, place = reference.partition(":")
    readers = {"P": _paragraph, "M": _abstract, "G": _page, "W": _extract, "T": str}
    return readers[kind](place)


def title_of(reference: str) -> str:
    kind, _, place = reference.partition(":")
    if kind == "P":
        return place.partition("/")[0].replace("_", " ")
    if kind == "M":
        return str(_abstracts()[place]["QUESTION"])
    if kind == "G":
        return next(str(row["title"]) for row in _page_index() if str(row["id"]) == place)
    return _extract_titles()[place] if kind == "W" else place


def _paragraph(place: str) -> str:
    path, _, language = place.partition(":")
    title, _, number = path.rpartition("/")
    return _paragraphs()[title][int(number)][language or "en"].strip("\ufeff")


@cache
def _paragraphs() -> dict[str, list[dict[str, str]]]:
    articles = json.loads(data_path(PARALLEL).read_text(encoding="utf-8"))
    return {article["title"]: [paragraph["text"] for paragraph in article["paragraphs"]] for article in articles}


@cache
def _abstracts() -> dict[str, dict[str, object]]:
    return dict(json.loads(data_path(PUBMEDQA).read_text(encoding="utf-8")))


def _abstract(place: str) -> str:
    row = _abstracts()[place]
    return " ".join([*row["CONTEXTS"], row["LONG_ANSWER"]])  # type: ignore[misc]  # the JSON's own shape


@cache
def _page_index() -> list[dict[str, object]]:
    return list(json.loads((data_path(PAGES) / "index.json").read_text(encoding="utf-8")))


@cache
def _page(place: str) -> str:
    import trafilatura

    html = (data_path(PAGES) / f"{place}.html").read_text(encoding="utf-8")
    return trafilatura.extract(html, include_comments=False) or ""


@cache
def _extracts() -> dict[str, str]:
    """What was shown of a page, all rows of one id together, each line once."""
    lines: dict[str, dict[str, None]] = {}
    for row in map(json.loads, data_path(WICE).read_text(encoding="utf-8").splitlines()):
        lines.setdefault(row["meta"]["id"], {}).update(dict.fromkeys(row["evidence"]))
    return {place: "\n".join(found) for place, found in lines.items()}


@cache
def _extract_titles() -> dict[str, str]:
    rows = map(json.loads, data_path(WICE).read_text(encoding="utf-8").splitlines())
    return {row["meta"]["id"]: row["meta"]["claim_title"] for row in rows}


def _extract(place: str) -> str:
    return _extracts()[place]


def cited(text: str, *numbers: int) -> str:
    """Every line with its markers before its last stop, but for headings and leads."""
    markers = " " + "".join(f"[{number}]" for number in numbers or (1,))
    return "\n".join(
        line
        if not line or _MARKED_LINE.search(line)
        else re.sub(r"([.!?…]?)$", lambda m: markers + m[1], line, count=1)
        for line in text.split("\n")
    )


def sentence_worlds() -> Iterator[World]:
    """One world a sentence of true.txt and false.txt. Raises `DataAbsent`."""
    for name, is_true in (("true", True), ("false", False)):
        for line in read_lines(name):
            yield _sentence_world(line, is_true=is_true)


def later_worlds(name: str = "later") -> Iterator[World]:
    """Those of later.txt or unseen.txt, whose headings say "true" or "false" before the kind. Raises `DataAbsent`."""
    for line in read_lines(name):
        truth, _, kind = line.kind.partition(" ")
        yield _sentence_world(replace(line, kind=kind), is_true=truth == "true")


def _sentence_world(line: Line, *, is_true: bool) -> World:
    reference, written = line.cells
    text = text_of(reference)
    language, written = tagged(written, reference[-2:] if reference.startswith("P:") and reference[-3] == ":" else "en")
    before, _, claim = written.rpartition(" >> ")
    claim = _taken(claim, text) if claim.startswith("#") and not claim.startswith("## ") else claim.replace("\\n", "\n")
    opinion: Opinion = "supported" if is_true else "contradicted" if line.kind in CONTRADICTING else "unsupported"
    target = tuple(part for part in claim.split("\n") if part)
    answer = f"{cited(before)} {cited(claim)}" if before else cited(claim)
    is_many = len(target) > 1
    statements = [Statement(part, (opinion,)) for part in {claim, *target}]
    if before:
        statements.append(Statement(before, ("supported",)))
    question = title_of(reference)
    if not question.endswith("?") or language != "en":
        question = _FALLBACK_QUESTION[language].format(question if not reference.startswith("T:") else "it")
    return World(
        id=line.id,
        kind=line.kind,
        is_dev=line.is_dev,
        question=question,
        language=language,
        texts=(_around(claim, text),),
        summary="" if is_many else answer,
        detail=answer if is_many else "",
        target=target,
        statements=tuple(statements),
        is_true=is_true,
    )


def _around(claim: str, text: str) -> str:
    """The part of a long text that speaks most of the claim, whole lines: nobody writes of what was not read."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    said, lines = set(re.findall(r"\w+", claim.lower())), text.split("\n")
    best = max(
        range(len(lines)),
        key=lambda place: len(said & set(re.findall(r"\w+", " ".join(lines[place : place + 3]).lower()))),
    )
    kept, first, last = lines[best], best, best
    while len(kept) < MAX_TEXT_CHARS and (first > 0 or last + 1 < len(lines)):
        first, last = max(0, first - 1), min(len(lines) - 1, last + 1)
        kept = "\n".join(lines[first : last + 1])
    return kept


def _taken(order: str, text: str) -> str:
    """What `#3` or `#list 0-2` names of the text."""
    if order.startswith("#list "):
        first, last = map(int, order.removeprefix("#list ").split("-"))
        bullets = [line.removeprefix("- ").strip() for line in text.splitlines() if line.startswith("- ")]
        return "\n".join(f"{place}. {bullet}" for place, bullet in enumerate(bullets[first : last + 1], start=1))
    sentences = [sentence.text for sentence in split_sentences(text) if sentence.asserts]
    return " ".join(sentences[int(order[1:])].split())


def tagged(written: str, default: str) -> tuple[str, str]:
    """The language of a sentence, which `fr: ` before it may name, and the sentence."""
    found = re.match(r"(de|es|fr|en): ", written)
    return (found[1], written[found.end() :]) if found else (default, written)


def pair_worlds() -> Iterator[World]:
    """Two-source worlds of pairs.txt: kind `plain` and `other words` contradict, `compatible` does not."""
    for line in read_lines("pairs"):
        _, _, plain, reworded, compatible = line.cells
        for kind, other in (("plain", plain), ("other words", reworded)):
            if other != "-":
                yield _pair_world(line, kind, other, "contradicted")
        for number, other in enumerate(compatible.split(" ; ")):
            opinion: Opinion = "supported" if other.startswith("= ") else "unsupported"
            yield _pair_world(line, "compatible", other.removeprefix("= "), opinion, number=number)


def _pair_world(line: Line, kind: str, other: str, opinion: Opinion, *, number: int = 0) -> World:
    """The answer gives the first source's sentence; a compatible second one stands in the detail."""
    question, said, *_ = line.cells
    return World(
        id=f"{line.id}:{kind}:{number}",
        kind=kind,
        is_dev=line.is_dev,
        question=question,
        language="en",
        texts=(f"{said} {_ASIDES[0]}", f"{other} {_ASIDES[1]}"),
        summary=cited(said, 1),
        detail=cited(other, 2) if kind == "compatible" else "",
        target=(said,),
        statements=(Statement(said, ("supported", opinion)), Statement(other, (opinion, "supported"))),
        is_true=True,
    )


_ASIDES = (
    "This page was written for visitors by people who know the place and its history well.",
    "The editors thank all readers who sent them corrections and photographs over the years.",
)


def high_worlds() -> Iterator[World]:
    """Answers that two sources carry and nothing speaks against."""
    for line in read_lines("high"):
        question, first, second, written = line.cells
        language, claim = tagged(written, "en")
        yield World(
            id=line.id,
            kind="high",
            is_dev=line.is_dev,
            question=question,
            language=language,
            texts=(f"{first} {_ASIDES[0]}", f"{second} {_ASIDES[1]}"),
            summary=cited(claim, 1, 2),
            detail="",
            target=(claim,),
            statements=(Statement(claim, ("supported", "supported")),),
        )


def answer_worlds() -> Iterator[World]:
    """True summaries, of which one answers the question and one only stands near it."""
    for line in read_lines("answers"):
        reference, question, answering, near = line.cells
        for kind, claim in (("answers", answering), ("near miss", near)):
            yield World(
                id=f"{line.id}:{kind}",
                kind=kind,
                is_dev=line.is_dev,
                question=question,
                language="de" if reference.endswith(":de") else "en",
                texts=(_around(answering, text_of(reference)),),
                summary=cited(claim),
                detail="",
                target=(claim,),
                statements=(Statement(claim, ("supported",)),),
                answers=kind == "answers",
            )
