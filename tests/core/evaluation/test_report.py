"""What an evaluation found: figures, changes, disagreements, JUnit's XML and a page."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from adapters.cli.evaluating import page_of
from core.evaluation.cases import Met
from core.evaluation.report import (
    Run,
    changes_since,
    disagreements,
    figures,
    grades_of,
    junit_xml,
    state_of,
    totals_of,
)
from core.evaluation.running import Outcome, SaidClaim
from core.model.answer import Confidence, Verdict
from core.model.codec import decode, encode

TALL = SaidClaim("The Eddystone lighthouse is 49 metres tall.", Verdict.SUPPORTED)
OTHER = SaidClaim("The Eddystone lighthouse is 71 metres tall.", Verdict.PARTIAL)
GOOD = Outcome(
    "height", "How tall is it?", "job_1", TALL.text, "", "high", (TALL,), ("https://a.example",), 0.25, 900, 2.0,
    (Met("contains: 49", True), Met("max_cost: 1.0", None, "no price")),
)  # fmt: skip
BAD = replace(GOOD, summary=OTHER.text, confidence="low", claims=(OTHER,), met=(Met("contains: 49", False, "not so"),))
BROKEN = Outcome("broken", "Why?", "job_2", cost_usd=None, error="The model did not answer.", seconds=4.0)
NOTHING = Outcome("nothing", "Who?", "job_3", "I couldn't find it.", confidence="insufficient", seconds=1.0)


def run(*outcomes: Outcome, **configuration: str) -> Run:
    return Run("towers", "2026-11-22T10:00:00Z", configuration, outcomes)


def test_totals_count_what_they_say():
    totals = totals_of(run(GOOD, BROKEN, NOTHING))

    assert (totals.questions, totals.answered, totals.insufficient, totals.failed) == (3, 1, 1, 1)
    assert (totals.met, totals.unmet, totals.unknown) == (1, 0, 1)
    assert (totals.cost_usd, totals.unpriced, totals.seconds, totals.ticked_share) == (0.25, 1, 2.0, 1.0)
    assert dict(figures(totals))["cost"] == "over $0.2500"


@pytest.mark.parametrize(("outcome", "state"), [(GOOD, "pass"), (BAD, "FAIL"), (BROKEN, "error"), (NOTHING, "asked")])
def test_a_state_is_one_word(outcome: Outcome, state: str):
    assert state_of(outcome) == state


def test_what_changed_since_the_last_run_is_told():
    changes = changes_since(run(GOOD, NOTHING), run(BAD, NOTHING, BROKEN))

    assert [(change.case_id, change.is_worse) for change in changes] == [("height", True), ("broken", None)]
    assert changes[0].says == "pass → FAIL; high → low; 1 sentence contradicted"
    assert changes_since(run(GOOD), run(GOOD)) == []


def test_disagreements_stand_claim_by_claim():
    more = SaidClaim("It was built of granite by James Douglass.", Verdict.SUPPORTED)
    longer = replace(NOTHING, confidence="medium", claims=(more,))

    found = disagreements(run(NOTHING, GOOD), run(longer, BAD))

    assert [mine.case_id for mine, _, _ in found] == ["height", "nothing"]
    assert [(pair.before, pair.now) for pair in found[0][2].contradicted] == [(TALL.text, OTHER.text)]
    assert found[1][2].added == (more.text,)


def test_junit_reads_as_suites_cases_and_failures():
    hostile = replace(GOOD, question="<b>\x1b[31m&\x00", summary="￾")

    suites = ElementTree.fromstring(junit_xml([run(hostile, BROKEN, replace(BAD, case_id="bad"))]))

    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["height", "broken", "bad"]
    assert suite[1].find("error").get("message") == BROKEN.error
    assert suite[2].find("failure").get("message") == "contains: 49 (not so)"


def test_a_run_survives_being_kept():
    kept = run(GOOD, BROKEN, NOTHING, GORKD_MODEL="a")

    assert decode(encode(kept), Run) == kept


def test_the_page_escapes_everything():
    """Two runs side by side; nothing in it acts and nothing is loaded."""
    lie = "<script>alert(1)</script>"
    hostile = replace(GOOD, case_id=f'"{lie}', question=lie, summary=lie, claims=(SaidClaim(lie, Verdict.PARTIAL),))

    page = page_of(run(hostile, GORKD_MODEL=lie), run(replace(BAD, case_id=f'"{lie}'), GORKD_MODEL="b"))

    assert "<script" not in page
    assert "src=" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<section>") == 2


def test_only_content_grades_an_answer():
    """What it cost says nothing of whether it is right; a refusal is no answer of a level."""
    dear = replace(GOOD, met=(Met("max_cost: 0.1", False, "dear"),))

    grades = [grades_of(run(one)) for one in (GOOD, BAD, dear, NOTHING)]

    assert [[(one.level, one.is_right) for one in found] for found in grades] == [
        [(Confidence.HIGH, True)], [(Confidence.LOW, False)], [], [],
    ]  # fmt: skip


def test_a_grade_is_named_after_its_case():
    """Whoever could guess a question could find it by its hash."""
    made, voted = grades_of(run(GOOD)), grades_of(run(GOOD), of_jobs=True)

    assert [(one.key, one.job_id) for one in made + voted] == [
        (f"towers/{GOOD.case_id}", ""), (f"towers/{GOOD.case_id}", GOOD.case_id),
    ]  # fmt: skip
