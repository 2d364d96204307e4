"""The benchmark itself: that it runs and prints its tables. Its figures are never judged in tests."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from core.evaluation.report import Run
from core.model.codec import decode
from tests.bench.__main__ import PARTS, main
from tests.bench.conditions import Conditions, Pace, tokens_in
from tests.bench.model_script import ModelCall
from tests.bench.outside import ROBOTS, Journal
from tests.bench.waiting import read_journal
from tests.figures import Goal, Row, format_table, run_parts
from tests.shared_data import DataAbsent

AT_ONCE = Pace(first_token_s=0.0, token_s=0.0, search_s=0.0, page_s=0.0)
SMALL = Conditions(AT_ONCE, quick_token_s=0.0, questions_at_once=2, real_pages=False, made_up_pages=15)


@pytest.mark.slow
def test_questions_are_answered_and_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """With an outside that never waits, every question is answered and every figure printed."""
    code = main(["questions"], SMALL)

    printed = capsys.readouterr().out
    assert code == 0
    assert re.search(r"^sources kept( +[1-9]\d*){3}$", printed, re.MULTILINE)
    assert "failed" not in printed
    assert re.search(r"^failing +0 ok +≤ 0$", printed, re.MULTILINE)


@pytest.mark.slow
def test_pages_and_followers_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """With a few followers of jobs that tell without a pause, nothing is lost and every figure printed."""
    few = replace(SMALL, followers=24, followed_jobs=4, event_pause_s=0.0)

    code = main(["serving"], few)

    printed = capsys.readouterr().out
    assert code == 0
    assert re.search(r"^events lost +0 ok +≤ 0$", printed, re.MULTILINE)
    assert re.search(r"^events twice +0 ok +≤ 0$", printed, re.MULTILINE)
    assert re.search(r"^from request to last byte \(ms\) +\d", printed, re.MULTILINE)


@pytest.mark.slow
def test_acknowledgements_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Every way in is asked, and every question acknowledged."""
    code = main(["acks"], replace(SMALL, asked_at_once=8))

    printed = capsys.readouterr().out
    assert code == 0
    assert re.search(r"^not acknowledged( +0 ok)+ +≤ 0$", printed, re.MULTILINE)


def test_a_name_that_is_no_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error names what there is."""
    code = main(["quetsions"], SMALL)

    said = capsys.readouterr().err
    assert code == 2
    assert all(name in said for name in PARTS)


def test_waiting_counts_what_overlaps_once() -> None:
    """A plan of 2 s beside an early search and its page, a gap of ours, then an answer of 3 s."""
    calls = (ModelCall(10.0, "plan", 100, 10, 2.0), ModelCall(12.5, "answer", 100, 10, 3.0))
    journal = Journal(calls, searches=(10.0,), pages=((10.4, ROBOTS), (10.7, "/a"), (10.7, "/b")), late_s=0.0)

    waited = read_journal(journal, Pace(), 10.0, 16.0)

    assert waited.waiting_s == pytest.approx(5.0)
    assert waited.path_s == pytest.approx(2.0 + 0.4 + 0.3 + 3.0)
    assert (waited.searches, waited.pages, waited.robots) == (1, 2, 1)


def test_a_check_beside_the_answer_is_not_on_the_path_but_one_behind_it_is() -> None:
    """An answer of 3 s from 10.0, judged beside it and, for 1.2 s, behind it."""
    calls = [ModelCall(10.0, "answer", 100, 10, 3.0), ModelCall(11.0, "verdicts", 100, 10, 1.5)]
    calls += [ModelCall(13.1, "answers", 100, 10, 1.2)]

    waited = read_journal(Journal(tuple(calls), (), (), late_s=0.0), Pace(), 10.0, 14.5)

    assert waited.path_s == pytest.approx(3.0 + 1.2)
    assert waited.behind_s == pytest.approx(1.5)


def test_what_a_call_would_still_have_written_when_it_was_given_up_is_not_on_the_path() -> None:
    """Nobody waited for the reasons of a check behind an answer of 3 s, with which it would have taken 2 s."""
    calls = (ModelCall(10.0, "answer", 100, 10, 3.0), ModelCall(13.1, "verdicts", 100, 10, 2.0))

    waited = read_journal(Journal(calls, (), (), late_s=0.0), Pace(), 10.0, 14.5)

    assert waited.path_s == pytest.approx(3.0 + 1.4)


@pytest.mark.parametrize(
    ("value", "goal", "mark"),
    [
        pytest.param(1.1, Goal(1.1), "ok", id="at-the-limit"),
        pytest.param(1.2, Goal(1.1), "over", id="above-a-ceiling"),
        pytest.param(34.0, Goal(35, is_floor=True), "over", id="below-a-floor"),
        pytest.param(36.0, Goal(35, is_floor=True), "ok", id="above-a-floor"),
    ],
)
def test_figures_are_marked_against_their_goal(value: float, goal: Goal, mark: str) -> None:
    """A figure that misses its goal says so beside it."""
    table = format_table("speed", ("now",), [Row("figure", [value], "s", goal=goal)])

    assert f"{value:.2f} {mark}" in table


def test_a_token_is_four_characters() -> None:
    """The unit of the pace, rounded up."""
    assert [tokens_in(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]


def test_what_is_measured_is_kept_as_evaluations_keep_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A figure over its goal is a failure of the report, and the next run says what changed."""
    values = iter((1.0, 2.0))

    def measure() -> str:
        return format_table("speed", ("now",), [Row("figure", [next(values)], "s", goal=Goal(1.5))])

    codes = [run_parts(["--keep", str(tmp_path)], {"speed": measure}, name="bench") for _ in range(2)]

    kept = decode((tmp_path / "run.json").read_text("utf-8"), Run)
    assert codes == [0, 0]
    assert [(one.expectation, one.is_met) for one in kept.outcomes[0].met] == [("figure (s) ≤ 1.5", False)]
    assert "speed: pass → FAIL" in capsys.readouterr().out
    assert "<failure" in (tmp_path / "junit.xml").read_text("utf-8")


def test_a_part_without_its_data_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    def measure() -> None:
        raise DataAbsent("/nowhere")

    code = run_parts([], {"absent": measure}, name="evals")

    assert code == 0
    assert "skipped: no data at /nowhere" in capsys.readouterr().out
