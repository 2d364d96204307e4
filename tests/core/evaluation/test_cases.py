"""Questions as people write them, and what an answer must hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.evaluation.cases import Answered, Case, Expectation, check_expectations, read_cases, voted_case
from core.evaluation.running import asking
from core.evidence.judge import JsonJudge
from core.model.answer import JobResult
from core.model.errors import InvalidQuery
from core.model.job import Scope
from tests.core.evaluation import worlds
from tests.fakes import make_job

FILE = """
name: Lighthouses
defaults: {max_seconds: 60, mode: quick}
questions:
  - id: eddystone
    ask: How tall is the Eddystone lighthouse?
    expect:
      contains: [49, [metres, m]]
      not_contains: 71
      cites_domain: trinity.example
      confidence_at_least: low
      max_cost: 0.01
      max_seconds: 5
      judge: It gives the height.
  - ask: Who keeps it?
    must_be_insufficient: true
    mode: deep
  - Is it lit?
"""


def test_a_file_is_read_with_its_defaults():
    """A question's own values go before the file's; a list is of texts that must all be there."""
    first, second, third = read_cases(FILE)

    assert [one.words for one in first.expects] == [
        "max_seconds: 5.0", "contains: 49", "contains: metres or m", "not_contains: 71",
        "cites_domain: trinity.example", "confidence_at_least: low", "max_cost: 0.01", "judge: It gives the height.",
    ]  # fmt: skip
    assert (second.id, second.request.modes) == ("q2", ("deep",))
    assert [one.words for one in second.expects] == ["max_seconds: 60.0", "must_be_insufficient: true"]
    assert (third.question, third.request.is_fresh) == ("Is it lit?", True)


WRONG = {
    "no YAML": ("questions: [", "line 1"),
    "no list": ("name: x", "questions"),
    "no question": ("questions: [{id: a}]", "a has no `ask`"),
    "an unknown expectation": ("questions: [{ask: x, expect: {containz: y}}]", "containz"),
    "an unknown field": ("questions: [{ask: x, expects: {}}]", "expects"),
    "an unknown default": ("defaults: {ask: x}\nquestions: [x]", "ask"),
    "a number that is none": ("questions: [{ask: x, max_cost: cheap}]", "max_cost"),
    "a negative number": ("questions: [{ask: x, max_seconds: -1}]", "max_seconds"),
    "a flag that is none": ("questions: [{ask: x, must_be_insufficient: 1}]", "must_be_insufficient"),
    "a level that is none": ("questions: [{ask: x, confidence_at_least: sure}]", "confidence_at_least"),
    "an empty text": ("questions: [{ask: x, contains: ['']}]", "contains"),
    "two of one id": ("questions: [{ask: x, id: a}, {ask: y, id: a}]", "a is the id"),
    "none at all": ("questions: []", "0"),
    "an unknown mode": ("questions: [{ask: x, mode: sideways}]", "sideways"),
    "an import of no question": ("questions: [x]\nimport: {file: a, each: {id: x}}", "no `ask`"),
    "an import of no number": ("questions: [x]\nimport: {file: a, first: 0}", "first"),
    "too deep": ("[" * 2_000, "file"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_understood_is_named(text: str, says: str):
    with pytest.raises(InvalidQuery) as refused:
        read_cases(text, lambda path: "[{}]")

    assert says in refused.value.user_message


IMPORT = """
questions: ["Is it lit?"]
import:
  file: data.json
  first: 2
  each: {id: "pm-{KEY}", ask: "{QUESTION}", judge: ["In short: {answer}.", [x, "{answer}"]], max_seconds: 9}
"""
DATA = (
    '{"7": {"QUESTION": "Is it tall?", "answer": "yes"}, "8": {"QUESTION": "Why {answer}?", "answer": "no"}, "9": {}}'
)


def test_questions_are_imported_from_a_file_of_answers():
    """Each entry fills a template; what an entry holds is no template itself."""
    cases = read_cases(IMPORT, {"data.json": DATA}.get)

    assert [(case.id, case.question) for case in cases] == [
        ("q1", "Is it lit?"), ("pm-7", "Is it tall?"), ("pm-8", "Why {answer}?"),
    ]  # fmt: skip
    assert [one.words for one in cases[1].expects] == ["judge: In short: yes.", "judge: x or yes", "max_seconds: 9.0"]


def test_a_file_that_is_not_there_costs_its_questions_alone():
    assert [case.id for case in read_cases(IMPORT)] == ["q1"]


async def answered() -> Answered:
    return await asking(lambda case: worlds.deps())(read_cases(FILE)[0])


HOLDS = [
    (Expectation("contains", "49 METRES"), True),
    (Expectation("contains", "71", ("71", "49")), True),
    (Expectation("contains", "71"), False),
    (Expectation("not_contains", "71"), True),
    (Expectation("not_contains", "49"), False),
    (Expectation("cites_domain", "trinity.example"), True),
    (Expectation("cites_domain", "www.trinity.example"), True),
    (Expectation("cites_domain", "inity.example"), False),
    (Expectation("must_be_insufficient", True), False),
    (Expectation("must_be_insufficient", False), True),
    (Expectation("confidence_at_least", "low"), True),
    (Expectation("confidence_at_least", "high"), False),
    (Expectation("max_seconds", 60.0), True),
    (Expectation("max_seconds", 0.0), False),
    (Expectation("max_cost", 1.0), None),
]


@pytest.mark.parametrize(("expected", "is_met"), HOLDS, ids=lambda one: getattr(one, "words", str(one)))
async def test_what_an_answer_holds(expected: Expectation, is_met: bool | None):
    """A model without a price leaves open what it cost."""
    found = await answered()

    met = await check_expectations(Case("a", found.job.request, (expected,)), found)

    assert [one.is_met for one in met] == [is_met]
    assert bool(met[0].says) is (is_met is not True)


@pytest.mark.parametrize(
    ("says", "is_met"), [("The Eddystone lighthouse is 49 metres tall.", True), ("It was painted green.", False)]
)
async def test_a_judge_reads_the_answer_for_what_it_must_say(says: str, is_met: bool):
    found, judge = await answered(), JsonJudge(worlds.model())

    met = await check_expectations(
        Case("a", found.job.request, (Expectation("judge", says),)), replace(found, judge=judge)
    )

    assert met[0].is_met is is_met


async def test_without_a_model_to_judge_it_stays_open():
    found = await answered()

    met = await check_expectations(
        Case("a", found.job.request, (Expectation("judge", "It is tall."),)), replace(found, judge=None)
    )

    assert met[0].is_met is None


async def test_a_question_that_failed_meets_nothing():
    failed = Answered(make_job("Why?"), None)

    met = await check_expectations(Case("a", failed.job.request, (Expectation("max_cost", 1.0),)), failed)

    assert met[0].is_met is False


def test_a_bad_answers_question_is_asked_as_it_was_understood():
    """In its place, whose library and rules it had; nothing else of the conversation comes along."""
    scope = Scope("slack:T1", "channel:C1")
    job = make_job("And how tall?", scope=scope, asker="U1", thread="slack:C1:1", basis="job_0", feedback="longer")

    case = voted_case(job, JobResult(None, understood="How tall is it?"), "It says 49.")

    assert (case.question, case.request.scope, case.id) == ("How tall is it?", scope, job.id)
    assert (case.request.asker, case.request.thread, case.request.basis, case.request.feedback) == ("", "", "", "")
    assert [one.words for one in case.expects] == ["judge: It says 49."]
