"""The sections of a paper: what each is for, what it is searched for first, and what an agent may look for (S001)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import regex

from core.model.errors import InvalidQuery
from core.section.brief import Brief, ExperimentResult

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
