"""Questions with what their answers must hold, as people write them in YAML, and whether an answer holds it.

An expectation that cannot be looked at (no model to judge, no price, a time on a recording) is neither met nor failed.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import regex

from core.evidence.judge import MAX_PASSAGE_CHARS, Pair, Ruling, SupportJudge
from core.model.answer import Confidence, JobResult, ResearchAnswer
from core.model.errors import InvalidQuery, ModelError
from core.model.job import Depth, ResearchJob, ResearchRequest
from core.model.source import Source
from core.modes import DEFAULT_MODE, check_modes, read_modes
from core.presentation.render import MARKER

MAX_CASES = 5_000
MAX_FILE_CHARS = 5_000_000
JUDGE_WITHIN_S = 45.0
_LEVELS = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)

Kind = Literal[
    "contains",
    "not_contains",
    "cites_domain",
    "must_be_insufficient",
    "confidence_at_least",
    "max_cost",
    "max_seconds",
    "judge",
]


@dataclass(frozen=True)
class Expectation:
    """`value` is a text, a number or a truth value, as its kind has it; of `any_of` one text is enough."""

    kind: Kind
    value: str | float | bool
    any_of: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        said = " or ".join(self.any_of) if self.any_of else str(self.value)
        return f"{self.kind}: {said.lower() if isinstance(self.value, bool) else said}"


@dataclass(frozen=True)
class Case:
    """`id` names it in reports; no two of one file have the same."""

    id: str
    request: ResearchRequest
    expects: tuple[Expectation, ...] = ()
    note: str = ""

    @property
    def question(self) -> str:
        return self.request.query


@dataclass(frozen=True)
class Met:
    """Whether an expectation was met; None where it could not be looked at. `says` is what was found instead."""

    expectation: str
    is_met: bool | None
    says: str = ""


def read_cases(text: str, load: Callable[[str], str | None] = lambda path: None) -> tuple[Case, ...]:
    """From YAML. `load` gives the text of a file that the questions are imported from, None where it is not there:
    then those are left out. Raises `InvalidQuery` with the place of what cannot be understood.
    """
    import yaml

    if len(text) > MAX_FILE_CHARS:
        raise _refusal("the file", f"is longer than {MAX_FILE_CHARS:,} characters")
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "the file"
        raise _refusal(where, f"is no YAML ({getattr(exc, 'problem', None) or 'too deep'})") from exc
    if isinstance(document, list):
        document = {"questions": document}
    if not isinstance(document, dict) or not isinstance(document.get("questions"), list):
        raise _refusal("the file", "has no list `questions`")
    _refuse_unknown("the file", document, {"name", "defaults", "questions", "import"})
    common = _fields("defaults", document.get("defaults") or {})
    _refuse_unknown("defaults", common, {*_EXPECTED, "mode", "depth"})
    entries = [*document["questions"], *_imported(document.get("import"), load)]
    if not 0 < len(entries) <= MAX_CASES:
        raise _refusal("questions", f"are {len(entries)}, not 1 to {MAX_CASES:,}")
    cases = [_case(number, entry, common) for number, entry in enumerate(entries, start=1)]
    ids = [case.id for case in cases]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice:
        raise _refusal(twice, "is the id of two questions")
    return tuple(cases)


def _imported(wish: object, load: Callable[[str], str | None]) -> list[object]:
    """Questions made of a JSON file's entries: `each`, with `{NAME}` for a field and `{KEY}` for an entry's name."""
    if wish is None:
        return []
    fields = _fields("import", wish)
    _refuse_unknown("import", fields, {"file", "each", "first"})
    each, first = _fields("`each` of import", fields.get("each") or {}), fields.get("first", MAX_CASES)
    if not isinstance(first, int) or first < 1:
        raise _refusal("import", "has a `first` that is no number from 1 on")
    text = load(str(fields.get("file") or ""))
    if text is None:
        return []
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise _refusal(str(fields.get("file")), "is no JSON") from exc
    named = rows.items() if isinstance(rows, dict) else enumerate(rows, start=1) if isinstance(rows, list) else ()
    return [_filled(each, {"KEY": key, **_fields(f"entry {key}", row)}) for key, row in [*named][:first]]


def _filled(template: Mapping[str, object], row: Mapping[str, object]) -> dict[str, object]:
    def fill(value: object) -> object:
        if isinstance(value, list):
            return [fill(one) for one in value]
        return _FIELD.sub(lambda field: str(row.get(field[1], "")), value) if isinstance(value, str) else value

    return {name: fill(value) for name, value in template.items()}


_FIELD = regex.compile(r"\{(\w+)\}")


def voted_case(job: ResearchJob, result: JobResult | None, must: str) -> Case:
    """A question whose answer somebody found bad, as it was understood; a good one says what it `must`, "" for nothing.

    It keeps its place, whose library and rules it had, and nothing else of the conversation.
    """
    asked = job.request
    request = ResearchRequest(
        (result.understood if result else "") or job.query, asked.scope, asked.modes, asked.depth, asked.top_k,
        asked.context, is_fresh=True, max_iterations=asked.max_iterations, policy=asked.policy,
    )  # fmt: skip
    return Case(job.id, request, (Expectation("judge", must),) if must else ())


def _refusal(where: str, why: str) -> InvalidQuery:
    return InvalidQuery(f"The questions cannot be read: {where} {why}.", rule="questions")


def _fields(where: str, entry: object) -> dict[str, object]:
    if not isinstance(entry, dict):
        raise _refusal(where, "is no mapping of names to values")
    return {str(name): value for name, value in entry.items()}


def _refuse_unknown(where: str, fields: Iterable[object], known: set[str]) -> None:
    unknown = [str(name) for name in fields if name not in known]
    if unknown:
        raise _refusal(where, f"has `{unknown[0]}`; there are {', '.join(sorted(known))}")


_OWN = {"ask", "id", "mode", "depth", "expect", "note", "context"}


def _case(number: int, entry: object, common: Mapping[str, object]) -> Case:
    """A question alone may be written as a text. What it expects stands under `expect` or beside the question."""
    fields = {"ask": entry} if isinstance(entry, str) else _fields(f"question {number}", entry)
    where = str(fields.get("id") or f"question {number}")
    _refuse_unknown(where, fields, {*_OWN, *_EXPECTED})
    question = fields.get("ask")
    if not isinstance(question, str) or not question.strip():
        raise _refusal(where, "has no `ask` with a question")
    modes = read_modes(str(fields.get("mode") or common.get("mode") or DEFAULT_MODE))
    check_modes(modes)
    depth = str(fields.get("depth") or common.get("depth") or "light")
    if depth not in ("light", "deep"):
        raise _refusal(where, "has a `depth` that is neither light nor deep")
    inner = _fields(f"`expect` of {where}", fields.get("expect") or {})
    _refuse_unknown(f"`expect` of {where}", inner, set(_EXPECTED))
    expected = {**common, **{name: value for name, value in fields.items() if name in _EXPECTED}, **inner}
    wanted: Depth = "deep" if depth == "deep" else "light"
    request = ResearchRequest(
        question.strip(), modes=modes, depth=wanted, context=str(fields.get("context") or ""), is_fresh=True
    )
    found = [
        one for name, value in expected.items() if name in _EXPECTED for one in _EXPECTED[name](where, name, value)
    ]
    return Case(str(fields.get("id") or f"q{number}"), request, tuple(found), str(fields.get("note") or ""))


# What may be expected, and how it is written


def _texts(where: str, name: str, value: object) -> list[Expectation]:
    """A text, or a list of texts that must all be there; of a list within the list one is enough."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        options = tuple(str(option) for option in (one if isinstance(one, list) else [one]))
        if not all(option.strip() for option in options) or not options:
            raise _refusal(where, f"has an empty `{name}`")
        found.append(Expectation(name, options[0], options if len(options) > 1 else ()))  # type: ignore[arg-type]
    return found


def _number(where: str, name: str, value: object) -> list[Expectation]:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise _refusal(where, f"has a `{name}` that is no number from 0 on")
    return [Expectation(name, float(value))]  # type: ignore[arg-type]


def _flag(where: str, name: str, value: object) -> list[Expectation]:
    if not isinstance(value, bool):
        raise _refusal(where, f"has a `{name}` that is neither true nor false")
    return [Expectation(name, value)]  # type: ignore[arg-type]


def _level(where: str, name: str, value: object) -> list[Expectation]:
    if str(value) not in (level.value for level in _LEVELS[1:]):
        raise _refusal(where, f"has a `{name}` that is not low, medium or high")
    return [Expectation(name, str(value))]  # type: ignore[arg-type]


_EXPECTED: Mapping[str, Callable[[str, str, object], list[Expectation]]] = {
    "contains": _texts,
    "not_contains": _texts,
    "cites_domain": _texts,
    "must_be_insufficient": _flag,
    "confidence_at_least": _level,
    "max_cost": _number,
    "max_seconds": _number,
    "judge": _texts,
}


# Whether an answer holds what was expected of it


@dataclass(frozen=True)
class Answered:
    """What became of a case. `is_replayed` says that its time is a recording's."""

    job: ResearchJob
    result: JobResult | None
    sources: Sequence[Source] = ()
    is_replayed: bool = False
    seconds: float = 0.0
    judge: SupportJudge | None = field(default=None, repr=False)  # who says whether it meets what is expected

    @property
    def answer(self) -> ResearchAnswer | None:
        return self.result.answer if self.result else None

    @property
    def text(self) -> str:
        return f"{self.answer.summary}\n{self.answer.detail}" if self.answer else ""


async def check_expectations(case: Case, answered: Answered) -> tuple[Met, ...]:
    """In the case's order. A question that failed meets nothing."""
    return tuple([await _check(one, answered) for one in case.expects])


async def _check(expected: Expectation, answered: Answered) -> Met:
    answer = answered.answer
    if answer is None:
        return Met(expected.words, False, "there is no answer")
    if expected.kind == "judge":
        return await _judged(expected, answered.text, answered.judge)
    is_met, says = _look(expected, answered, answer)
    return Met(expected.words, is_met, "" if is_met else says)


def _look(expected: Expectation, answered: Answered, answer: ResearchAnswer) -> tuple[bool | None, str]:
    """Whether it is met, None where nobody can tell; and what was found, for where it is not."""
    options, level = expected.any_of or (str(expected.value),), f"confidence is {answer.confidence}"
    is_met: bool | None
    match expected.kind:
        case "contains" | "not_contains" as kind:
            is_there = any(_plain(option) in _plain(answered.text) for option in options)
            is_met, says = (is_there, "it does not say so") if kind == "contains" else (not is_there, "it says so")
        case "cites_domain":  # itself or one below it; of a file its name counts
            cited = {citation.source_id for citation in answer.citations}
            hosts = sorted({_host(source.url) for source in answered.sources if source.id in cited})
            wanted = [option.casefold().removeprefix("www.") for option in options]
            is_met = any(host == one or host.endswith(f".{one}") for host in hosts for one in wanted)
            says = f"it cites {', '.join(hosts) or 'nothing'}"
        case "must_be_insufficient":
            is_met, says = (answer.confidence is Confidence.INSUFFICIENT) is expected.value, level
        case "confidence_at_least":
            is_met = _LEVELS.index(answer.confidence) >= _LEVELS.index(Confidence(str(expected.value)))
            says = level
        case "max_cost":
            cost = answer.metadata.cost_usd if answer.metadata.model_calls else 0.0
            is_met, says = None, "the model has no price (GORKD_PRICES)"
            if cost is not None:
                is_met, says = cost <= float(expected.value), f"it cost ${cost:.4f}"
        case _ if answered.is_replayed:
            is_met, says = None, "a recording has no time of its own"
        case _:
            is_met, says = answered.seconds <= float(expected.value), f"it took {answered.seconds:.1f} s"
    return is_met, says


async def _judged(expected: Expectation, text: str, judge: SupportJudge | None) -> Met:
    """Whether the answer says what is asked of it: it is the passage, and the expectation the claim."""
    if judge is None:
        return Met(expected.words, None, "there is no model to judge")
    plain = MARKER.sub("", text)
    passages = tuple(plain[at : at + MAX_PASSAGE_CHARS] for at in range(0, len(plain), MAX_PASSAGE_CHARS))[:3]
    try:
        rulings = await judge.judge([Pair(str(expected.value), passages)], timeout_s=JUDGE_WITHIN_S)
    except ModelError as error:
        return Met(expected.words, None, error.user_message)
    judgement = rulings.judgements[0]
    if judgement is None:
        return Met(expected.words, None, "the judge gave no readable word")
    is_met = judgement.ruling is Ruling.SUPPORTED
    return Met(expected.words, is_met, "" if is_met else judgement.reason or judgement.ruling.value)


def _plain(text: str) -> str:
    """Without markers, case, width and kind of white space."""
    return " ".join(unicodedata.normalize("NFKC", MARKER.sub("", text)).casefold().split())


def _host(url: str) -> str:
    parts = urlsplit(url)
    return (parts.hostname or parts.path.rpartition("/")[2]).casefold().removeprefix("www.")
