"""The sections of a paper: what each is for, what it is searched for first, and what an agent may look for (S001); and
how people ask for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

import regex

from core.model.errors import InvalidQuery
from core.model.job import Attachment, ResearchRequest
from core.section.brief import Brief, ExperimentResult, is_brief, read_brief

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
        raise InvalidQuery(f"For the section {section.value} the context needs one of: {fields}.", rule="brief")
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
    raise InvalidQuery(f"Which section shall I write? One of: {known}; or: paper.", rule="section")


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
            Section.ABSTRACT: "abstract",
            Section.INTRODUCTION: r"introduction|intro|background|related\s+work",
            Section.METHODS: r"methods?|methodology|materials?(?:\s+and\s+methods?)?",
            Section.RESULTS: "results?",
            Section.DISCUSSION: "discussion",
            Section.CONCLUSION: "conclusions?",
        }.items()
    }
)
_PAPER = regex.compile(r"\b(?:paper|all|everything|whole)\b", regex.IGNORECASE)


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

_WRITE = regex.compile(r"^\W*(?:please\s+)?(?:write|draft)\b", regex.IGNORECASE)
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
    if not is_order(text):
        return False
    if _FROM_THREAD.search(text):
        return True
    return any(is_brief(entry.name) and _holds_concept(entry) for entry in attachments)


def is_order(text: str) -> bool:
    """Whether it says to write a section, from whatever: a question of a thread that is no question."""
    return bool(_WRITE.search(text)) and _names_section(text)


def words_for(choice: str) -> str:
    """What somebody asks who has picked one of `CHOICES`."""
    return f"Write the {choice}"


def check_request(text: str, attachments: Sequence[Attachment], *, is_in_thread: bool) -> None:
    """Whether a section can be begun from this. Raises `InvalidQuery` that names the file and the field.

    Whether the thread has anything to say is found out by whoever writes.
    """
    sections = sections_in(text)
    files = [(entry.name, entry.text) for entry in attachments if is_brief(entry.name)]
    if files:
        possible_sections(sections, read_brief(files))
    elif not is_in_thread:
        raise InvalidQuery(NO_BRIEF, rule="brief")


def _names_section(text: str) -> bool:
    try:
        return bool(sections_in(text))
    except InvalidQuery:
        return False


def _holds_concept(attachment: Attachment) -> bool:
    """Also one with a fault in it, which the section's own error then names."""
    try:
        read_brief([(attachment.name, attachment.text)])
    except InvalidQuery:
        return "concept" in attachment.text
    return True
