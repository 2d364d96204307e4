"""The sections of a paper: what each is for, and what is looked for (S001); and how people ask for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, TypeVar

import regex
import yaml
from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from core.model.errors import InvalidQuery
from core.model.job import Attachment, ResearchRequest
from core.presentation.render import cut, one_line
from core.text.saying import say

MAX_QUERY_CHARS = 2000  # of a default query: what embedding models read, and long runs print more


class Section(StrEnum):
    """In the order in which they stand in a paper (S001-22)."""

    ABSTRACT = "abstract"
    INTRODUCTION = "introduction"
    METHODS = "methods"
    RESULTS = "results"
    DISCUSSION = "discussion"
    CONCLUSION = "conclusion"


@dataclass(frozen=True)
class SectionPlan:
    """`requires` says which fields the default query needs; `words` is how long the section may be."""

    title: str
    default_query: Callable[[Brief], tuple[str, ...]]
    focus: str
    search_for: str
    instructions: str
    requires: str
    words: int


def default_queries(section: Section, brief: Brief) -> tuple[str, ...]:
    """One query of the parts that the brief has (S001-25 … S001-30). Raises `InvalidQuery` for none of them."""
    parts = [" ".join(part.split()) for part in PLANS[section].default_query(brief) if part.strip()]
    if not parts:
        fields = PLANS[section].requires
        raise InvalidQuery(
            say("For the section {section} the context needs one of: {fields}.", section=section.value, fields=fields),
            rule="brief",
        )
    room = MAX_QUERY_CHARS // len(parts)
    return (" ".join(part[:room] for part in parts),)


def sections_in(text: str) -> tuple[Section, ...]:
    """Those that a request names, in the order of a paper; all of them for a paper. Raises `InvalidQuery` for none."""
    named = [section for section, pattern in _NAMES.items() if pattern.search(text)]
    if named:
        return tuple(named)
    if _PAPER.search(text):
        return tuple(Section)
    known = ", ".join(section.value for section in Section)
    raise InvalidQuery(say("Which section shall I write? One of: {known}; or: paper.", known=known), rule="section")


def possible_sections(sections: Sequence[Section], brief: Brief) -> list[Section]:
    """Those that the brief has something for. Raises `InvalidQuery` when it has nothing for any."""
    possible: list[Section] = []
    problem: InvalidQuery | None = None
    for section in sections:
        try:
            default_queries(section, brief)
            possible.append(section)
        except InvalidQuery as exc:
            problem = exc
    if problem is not None and not possible:
        raise problem
    return possible


def _ran(brief: Brief) -> ExperimentResult:
    return brief.experiment or ExperimentResult()


PLANS: Mapping[Section, SectionPlan] = MappingProxyType(
    {
        Section.ABSTRACT: SectionPlan(
            "Abstract",
            lambda brief: (brief.concept.description, _ran(brief).summary),
            "High-level overview, key contributions",
            "Positioning within field, contribution clarity, related high-level work",
            "One paragraph: the problem, the approach, what was found where there was an experiment, and why it "
            "matters. Cite at most two papers, and only where the field's position needs it.",
            "concept.description, experiment.summary",
            200,
        ),
        Section.INTRODUCTION: SectionPlan(
            "Introduction",
            lambda brief: (brief.concept.description, brief.concept.open_questions, brief.hypothesis.description),
            "Background, problem statement, related work",
            "Specific related work gaps, alternative problem formulations, historical context",
            "Lead from the field's background to the problem, say what related work has found and what it leaves "
            "open, and end with the hypothesis or aim of this work.",
            "concept.description, concept.open_questions, hypothesis.description",
            600,
        ),
        Section.METHODS: SectionPlan(
            "Materials and Methods",
            lambda brief: (
                _ran(brief).experimental_plan,
                brief.hypothesis.method_combination,
                _ran(brief).experiment_code,
            ),
            "Similar methodologies, technical approaches",
            "Specific implementation details, alternative methods, parameter choices, evaluation protocols",
            "Describe what was done so that it can be repeated, and base choices of method and parameter on work "
            "that did the same.",
            "experiment.experimental_plan, hypothesis.method_combination, experiment.experiment_code",
            600,
        ),
        Section.RESULTS: SectionPlan(
            "Results",
            lambda brief: (_ran(brief).execution_result.stdout, _ran(brief).metrics, _ran(brief).plots),
            "Comparable results, benchmarks, experimental outcomes",
            "Specific benchmarks, baseline comparisons, similar experimental setups, performance metrics",
            "Report what the experiment gave, with its own numbers, and set it beside comparable results. "
            "Interpret nothing: that is the discussion's part.",
            "experiment.execution_result.stdout, experiment.metrics, experiment.plots",
            500,
        ),
        Section.DISCUSSION: SectionPlan(
            "Discussion",
            lambda brief: (_ran(brief).verdict, _ran(brief).reasoning, _ran(brief).results),
            "Related findings, comparisons, limitations",
            "Conflicting results, alternative interpretations, limitations of similar work, future directions",
            "Say what the results mean beside what others found, where they agree and where they conflict, and "
            "what limits them.",
            "experiment.verdict, experiment.reasoning, experiment.results",
            600,
        ),
        Section.CONCLUSION: SectionPlan(
            "Conclusion",
            lambda brief: (_ran(brief).verdict, _ran(brief).reasoning, brief.concept.description),
            "Summary, implications, future work",
            "Future work directions, broader implications, connections to other fields",
            "Sum up what was asked and found, what follows from it, and what should be done next.",
            "experiment.verdict, experiment.reasoning, concept.description",
            300,
        ),
    }
)
_NAMES: Mapping[Section, regex.Pattern[str]] = MappingProxyType(
    {
        section: regex.compile(rf"\b(?:{words})\b", regex.IGNORECASE)
        for section, words in {
            Section.ABSTRACT: "abstract|zusammenfassung|résumé|resumen|riassunto|samenvatting|resumo",
            Section.INTRODUCTION: r"introduction|intro|background|related\s+work|einleitung|introducción|introduzione|"
            "inleiding|introdução",
            Section.METHODS: r"methods?|methodology|materials?|methoden?|méthodes?|métodos?|metodi",
            Section.RESULTS: "results?|ergebnisse?|résultats?|resultados?|risultati|resultaten",
            Section.DISCUSSION: "discussion|diskussion|discusión|discussione|discussie|discussão",
            Section.CONCLUSION: "conclusions?|fazit|schlussfolgerung(?:en)?|conclusión|conclusiones|conclusion[ei]|"
            "conclusies?|conclus(?:ão|ões)",
        }.items()
    }
)
_PAPER = regex.compile(r"\b(?:paper|all|everything|whole|artikel|article|artículo|articolo|artigo)\b", regex.IGNORECASE)


# Asking for a section of a paper: what can be chosen, which messages ask for one, and what is wrong with a request


NO_BRIEF = (
    "A section needs a context: attach a YAML or JSON file with `concept:` and `description:`, "
    "or ask in a thread in which I have answered questions."
)
WHOLE_PAPER = "paper"
CHOICES: Mapping[str, str] = MappingProxyType(
    {
        **{section.value: PLANS[section].title for section in Section},
        Section.INTRODUCTION.value: "Introduction, with related work",
        WHOLE_PAPER: "Whole paper: every section there is material for",
    }
)  # by the word that names it, as people choose it

_WRITE = regex.compile(
    r"^\W*(?:(?:please|bitte|por\s+favor|per\s+favore|s'il\s+(?:te|vous)\s+plaît)\W+)?(?:write|draft|schreiben?|schreib|"
    r"verfassen?|écri[st]|écrivez|rédige[rz]?|escrib[ae]|redacta|scrivi|schrijf|escrev[ae]|redija)\b",
    regex.IGNORECASE,
)
_FROM_THREAD = regex.compile(r"\bfrom\s+(?:this|the)\s+(?:thread|conversation)\b", regex.IGNORECASE)


def read_section_request(request: ResearchRequest, attachments: Sequence[Attachment]) -> ResearchRequest:
    """In the mode `section` where it asks for one, and checked then; else as it is. Raises `InvalidQuery`."""
    if request.modes == ("quick",) and asks_for_section(request.query, attachments):
        request = replace(request, modes=("section",))
    if "section" in request.modes:
        check_request(request.query, attachments, is_in_thread=bool(request.thread))
    return request


def asks_for_section(text: str, attachments: Sequence[Attachment]) -> bool:
    """`write the introduction` with a file that has a `concept`, or `write related work from this thread`."""
    briefs = (entry for entry in attachments if is_brief(entry.name))
    return is_order(text) and bool(_FROM_THREAD.search(text) or any(map(_holds_concept, briefs)))


def is_order(text: str) -> bool:
    """Whether it says to write a section, from whatever: a question of a thread that is no question."""
    try:
        return bool(_WRITE.search(text) and sections_in(text))
    except InvalidQuery:
        return False


def words_for(choice: str) -> str:
    """What somebody asks who has picked one of `CHOICES`."""
    return f"Write the {choice}"


def check_request(text: str, attachments: Sequence[Attachment], *, is_in_thread: bool) -> None:
    """Refuse what no section can be begun from, by an `InvalidQuery` that names file and field. Reads no thread."""
    sections = sections_in(text)
    files = [(entry.name, entry.text) for entry in attachments if is_brief(entry.name)]
    if files:
        possible_sections(sections, read_brief(files))
    elif not is_in_thread:
        raise InvalidQuery(say(NO_BRIEF), rule="brief")


def _holds_concept(attachment: Attachment) -> bool:
    """Also one with a fault in it, which the section's own error then names."""
    try:
        read_brief([(attachment.name, attachment.text)])
    except InvalidQuery:
        return "concept" in attachment.text
    return True


# What a section is written about: concept, hypothesis and experiment, read from YAML or JSON files of the asker's


MAX_BRIEF_CHARS = 200_000  # a file; the output of a long run is cut below
MAX_VALUES = 10_000  # of a file, its lists and mappings included; reading them takes a second
MAX_DEPTH = 30  # of lists and mappings within each other; people's files have five
MAX_FIELD_CHARS = 20_000  # of one field: what is longer is a log, of which the beginning and the end matter


def _as_text(value: object) -> str:
    """A text, or a list, mapping or number as text: items and pairs one a line."""
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, Mapping):
        text = "\n".join(f"{name}: {_as_text(entry)}" for name, entry in value.items())
    elif isinstance(value, list):
        text = "\n".join(map(_as_text, value))
    else:
        text = "" if value is None else str(value)
    half = MAX_FIELD_CHARS // 2
    return text if len(text) <= MAX_FIELD_CHARS else f"{text[:half]}\n[…]\n{text[-half:]}"


class _AsWritten(yaml.SafeLoader):
    """Numbers and dates stay the text that they are: `0.50` keeps its nought, and `1:1:1…` costs no long sum."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- as the loader declares it
        first: [(tag, pattern) for tag, pattern in known if tag.rpartition(":")[2] in ("null", "bool", "merge")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


T = TypeVar("T")
Text = Annotated[str, BeforeValidator(_as_text)]
_STRICT = {"extra": "forbid"}


@dataclass(frozen=True)
class Hypothesis:
    __pydantic_config__ = _STRICT
    description: Text = ""
    method_combination: Text = ""


@dataclass(frozen=True)
class PaperConcept:
    __pydantic_config__ = _STRICT
    description: Text
    title: Text = ""
    open_questions: Text = ""


@dataclass(frozen=True)
class ExecutionResult:
    __pydantic_config__ = _STRICT
    stdout: Text = ""


@dataclass(frozen=True)
class ExperimentResult:
    """`metrics` and `plots` may be lists or mappings in the file; here they are lines of text."""

    __pydantic_config__ = _STRICT
    experimental_plan: Text = ""
    experiment_code: Text = ""
    execution_result: ExecutionResult = ExecutionResult()
    metrics: Text = ""
    plots: Text = ""
    results: Text = ""
    verdict: Text = ""
    reasoning: Text = ""
    summary: Text = ""


@dataclass(frozen=True)
class Brief:
    """All that the asker has said of the work: a context file's fields. `experiment` is None where there was none."""

    __pydantic_config__ = _STRICT
    concept: PaperConcept
    hypothesis: Hypothesis = Hypothesis()
    experiment: ExperimentResult | None = None

    @property
    def text(self) -> str:
        """Everything as a document, a heading a field: what sentences on the own work are checked against."""
        parts = [("Title", self.concept.title), ("Concept", self.concept.description)]
        parts += [("Open questions", self.concept.open_questions), ("Hypothesis", self.hypothesis.description)]
        parts.append(("Combination of methods", self.hypothesis.method_combination))
        if self.experiment is not None:
            ran = self.experiment
            parts += [("Experimental plan", ran.experimental_plan), ("Code", ran.experiment_code)]
            parts += [("Output", ran.execution_result.stdout), ("Metrics", ran.metrics), ("Plots", ran.plots)]
            parts += [("Results", ran.results), ("Verdict", ran.verdict), ("Reasoning", ran.reasoning)]
            parts.append(("Summary", ran.summary))
        return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts if text)


_CONTEXT: TypeAdapter[Brief] = TypeAdapter(Brief)
_EXPERIMENT: TypeAdapter[ExperimentResult] = TypeAdapter(ExperimentResult)
_EXPERIMENT_FIELDS = frozenset(field.name for field in fields(ExperimentResult))


def read_brief(files: Sequence[tuple[str, str]]) -> Brief:
    """From (name, text) of the context file and perhaps the experiment's, in any order.

    The file with `concept` is the context. Raises `InvalidQuery` with a sentence that names file and field.
    """
    context: Brief | None = None
    experiment: ExperimentResult | None = None
    for name, text in files:
        value = _load(name, text)
        if "concept" in value or not _EXPERIMENT_FIELDS.intersection(value):
            context = _validated(_CONTEXT, name, value)
        else:
            experiment = _validated(_EXPERIMENT, name, value)
    if context is None:
        raise InvalidQuery(say("The context is missing: a YAML or JSON file with a field `concept`."), rule="brief")
    if not context.concept.description:
        raise InvalidQuery(say("concept.description is empty: say what the paper is about."), rule="brief")
    return replace(context, experiment=experiment or context.experiment)


def is_brief(name: str) -> bool:
    """Whether a file's name says that it may hold a brief."""
    return name.lower().endswith((".yaml", ".yml", ".json"))


def _load(name: str, text: str) -> Mapping[str, object]:
    if len(text) > MAX_BRIEF_CHARS:
        raise InvalidQuery(
            say("{name} is longer than {most} characters.", name=name, most=f"{MAX_BRIEF_CHARS:,}"), rule="brief"
        )
    try:
        _refuse_bombs(name, text)
        value: object = yaml.load(text, _AsWritten)  # noqa: S506 -- a safe loader; JSON is YAML
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise InvalidQuery(
            say("{place}: this is no valid YAML or JSON.", place=f"{name}{where}"), rule="brief"
        ) from exc
    if not isinstance(value, dict):
        raise InvalidQuery(say("{name}: expected fields such as `concept:`, found none.", name=name), rule="brief")
    return {str(key): entry for key, entry in value.items()}


def _refuse_bombs(name: str, text: str) -> None:
    """An alias can blow a small file up without end, and the parser's time grows with the square of the depth."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
        if number > MAX_VALUES:
            raise InvalidQuery(
                say("{name} has more than {most} values.", name=name, most=f"{MAX_VALUES:,}"), rule="brief"
            )
        if isinstance(event, yaml.AliasEvent):
            raise InvalidQuery(say("{name} uses YAML aliases (*name); write the values out.", name=name), rule="brief")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InvalidQuery(
                say("{name} is nested more than {most} levels deep.", name=name, most=MAX_DEPTH), rule="brief"
            )


def _validated(adapter: TypeAdapter[T], name: str, value: Mapping[str, object]) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as exc:
        faults = sorted(exc.errors(), key=lambda fault: fault["type"] != "unexpected_keyword_argument")
        raise InvalidQuery(f"{name}: {_fault(faults[0])}", rule="brief") from exc  # a misspelt field is also missing


def _fault(error: ErrorDetails) -> str:
    place = ".".join(str(part) for part in error["loc"])
    match error["type"]:
        case "missing":
            return say("the field {place} is missing.", place=place)
        case "unexpected_keyword_argument":
            return say("there is no field {place}; docs/section.md lists those there are.", place=place)
        case "dataclass_type" | "dataclass_exact_type":
            return say(
                "the field {place} must have fields of its own, not {given}.",
                place=place,
                given=cut(one_line(repr(error["input"])), 40),
            )
        case _:
            return say("the field {place}: {why}.", place=place, why=one_line(error["msg"]))
