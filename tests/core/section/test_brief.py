"""The files that say what a paper is about, and the sections that come of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.errors import InvalidQuery
from core.section.sections import PLANS, Section, default_queries, read_brief, sections_in

RUN = {
    "experimental_plan": "plan words",
    "experiment_code": "code words",
    "execution_result": {"stdout": "stdout words"},
    "metrics": {"slope": -0.2},
    "plots": ["funnel.png"],
    "results": "result words",
    "verdict": "verdict words",
    "reasoning": "reasoning words",
    "summary": "summary words",
}
CONTEXT = {
    "concept": {"description": "concept words", "open_questions": ["first question", "second question"]},
    "hypothesis": {"description": "hypothesis words", "method_combination": "combination words"},
}


def brief():
    return read_brief([("run.json", json.dumps(RUN)), ("paper.json", json.dumps(CONTEXT))])


@pytest.mark.parametrize(
    ("section", "query"),
    [
        pytest.param("introduction", "concept words first question second question hypothesis words", id="S001-25"),
        pytest.param("methods", "plan words combination words code words", id="S001-26"),
        pytest.param("results", "stdout words slope: -0.2 funnel.png", id="S001-27"),
        pytest.param("discussion", "verdict words reasoning words result words", id="S001-28"),
        pytest.param("abstract", "concept words summary words", id="S001-29"),
        pytest.param("conclusion", "verdict words reasoning words concept words", id="S001-30"),
    ],
)
def test_the_default_query_is_made_of_the_fields_of_its_section(section: str, query: str) -> None:
    """S001-25, S001-26, S001-27, S001-28, S001-29, S001-30: those fields, in that order."""
    assert default_queries(Section(section), brief()) == (query,)


def test_every_section_has_its_focus_and_what_may_be_searched_for() -> None:
    """S001-22, S001-31: six sections; the words are those of the specification."""
    assert [section.value for section in Section] == [
        "abstract", "introduction", "methods", "results", "discussion", "conclusion",
    ]  # fmt: skip
    assert {section.value: (plan.focus, plan.search_for) for section, plan in PLANS.items()} == {
        "abstract": (
            "High-level overview, key contributions",
            "Positioning within field, contribution clarity, related high-level work",
        ),
        "introduction": (
            "Background, problem statement, related work",
            "Specific related work gaps, alternative problem formulations, historical context",
        ),
        "methods": (
            "Similar methodologies, technical approaches",
            "Specific implementation details, alternative methods, parameter choices, evaluation protocols",
        ),
        "results": (
            "Comparable results, benchmarks, experimental outcomes",
            "Specific benchmarks, baseline comparisons, similar experimental setups, performance metrics",
        ),
        "discussion": (
            "Related findings, comparisons, limitations",
            "Conflicting results, alternative interpretations, limitations of similar work, future directions",
        ),
        "conclusion": (
            "Summary, implications, future work",
            "Future work directions, broader implications, connections to other fields",
        ),
    }
    assert all(plan.instructions for plan in PLANS.values())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("Write the introduction", ["introduction"], id="by name"),
        pytest.param("materials and methods please", ["methods"], id="materials and methods"),
        pytest.param("METHODOLOGY", ["methods"], id="methodology"),
        pytest.param("write related work from this thread", ["introduction"], id="related work"),
        pytest.param("results, then the discussion", ["results", "discussion"], id="two"),
        pytest.param("the whole paper", [section.value for section in Section], id="paper"),
    ],
)
def test_a_request_names_its_sections(text: str, named: list[str]) -> None:
    """S001-22: with the usual names for methods."""
    assert [section.value for section in sections_in(text)] == named


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("concept: {title: x}", "paper.yaml: the field concept.description is missing.", id="missing"),
        pytest.param("concept: {description: ''}", "concept.description is empty", id="empty"),
        pytest.param("concept: {description: x, hypotesis: y}", "no field concept.hypotesis", id="misspelt"),
        pytest.param("concept: {descriptoin: x}", "no field concept.descriptoin", id="misspelt, and so missing"),
        pytest.param("concept: {description: x}\nextra: 1", "no field extra", id="unknown at the top"),
        pytest.param("concept: just words", "the field concept must have fields of its own", id="no fields"),
        pytest.param("a: [", "paper.yaml, line 1: this is no valid YAML or JSON.", id="broken"),
        pytest.param("just words", "expected fields such as `concept:`", id="no mapping"),
        pytest.param("a: &x 1\nconcept: {description: *x}", "YAML aliases", id="aliases"),
        pytest.param("verdict: yes", "The context is missing", id="an experiment alone"),
        pytest.param("[" * 190_000, "nested more than 30 levels deep", id="lists in lists"),
        pytest.param("- " * 95_000, "nested more than 30 levels deep", id="items in items"),
        pytest.param(f"a: [{'1,' * 90_000}1]", "more than 10,000 values", id="very many values"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_field(text: str, said: str) -> None:
    """A person can mend the file from the sentence alone."""
    with pytest.raises(InvalidQuery) as refused:
        read_brief([("paper.yaml", text)])

    assert said in refused.value.user_message


def test_numbers_are_read_as_they_are_written() -> None:
    """A metric keeps its noughts, and a number of any length is text."""
    long = "1:" * 90_000 + "1"

    brief = read_brief([("p.yaml", f"concept: {{description: 0.50, title: 2024-01-02, open_questions: {long}}}")])

    assert (brief.concept.description, brief.concept.title) == ("0.50", "2024-01-02")
    assert brief.concept.open_questions.startswith("1:1:1")


def test_a_section_without_its_fields_names_them() -> None:
    """Results need something that was found."""
    alone = read_brief([("paper.json", json.dumps(CONTEXT))])

    with pytest.raises(InvalidQuery, match=r"experiment\.metrics"):
        default_queries(Section.RESULTS, alone)


@given(st.text(max_size=200))
def test_any_text_is_a_brief_or_refused_in_words(text: str) -> None:
    """No file breaks anything: text without fields is never a brief."""
    with pytest.raises(InvalidQuery, match=r"^paper\.yaml|^The context|^concept"):
        read_brief([("paper.yaml", text)])
