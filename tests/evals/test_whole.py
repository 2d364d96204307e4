"""The set behind the evaluation `whole` is what it says it is, and its scripted judge says what it knows."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.evals.datasets import DataAbsent
from tests.evals.whole.cases import answer_worlds, cited, high_worlds, pair_worlds, read_lines, sentence_worlds, text_of
from tests.evals.whole.judge import Judge, ScriptedModel
from tests.evals.whole.report import run_world

MAX_OWN_CHARS = 300  # a longer cell would rather be a text than a sentence of ours


def test_there_are_enough_sentences_of_each_kind():
    true = Counter(line.kind for line in read_lines("true"))
    false = Counter(line.kind for line in read_lines("false"))

    assert len(true) == 16
    assert len(false) == 16
    assert min([*true.values(), *false.values()]) >= 10
    assert true.total() + false.total() >= 400


def test_pairs_contradict_in_the_same_and_in_other_words_or_not_at_all():
    kinds = Counter(world.kind for world in pair_worlds())

    assert kinds["plain"] >= 76
    assert kinds["other words"] >= 38
    assert kinds["compatible"] >= 200
    assert len(list(high_worlds())) >= 20


@pytest.mark.parametrize("name", ["true", "false", "pairs", "high", "answers", "later", "unseen"])
def test_cases_are_short_and_stand_once(name):
    lines = read_lines(name)

    assert max(len(cell) for line in lines for cell in line.cells) <= MAX_OWN_CHARS
    assert len({line.cells for line in lines}) == len(lines)


def test_every_reference_leads_to_a_text():
    try:
        worlds = [*sentence_worlds(), *answer_worlds()]
    except DataAbsent as exc:
        pytest.skip(f"no test data at {exc} (set GORKD_TEST_DATA)")

    assert all(text.strip() for world in worlds for text in world.texts)


def test_no_false_sentence_stands_in_its_text():
    for line in read_lines("false"):
        reference, written = line.cells
        try:
            text = text_of(reference)
        except DataAbsent as exc:
            pytest.skip(f"no test data at {exc} (set GORKD_TEST_DATA)")

        if line.kind not in ("attribution", "denial", "limiter"):  # these leave out the frame alone
            assert written.partition(" >> ")[2] or written.rstrip(".") not in " ".join(text.split()), line.id


def test_markers_stand_before_the_stop_and_not_on_leads():
    assert cited("Two reasons:\n- One.\n- Two.", 2) == "Two reasons:\n- One [2].\n- Two [2]."


def test_the_right_judge_knows_what_each_source_says():
    world = next(world for world in pair_worlds() if world.kind == "plain")
    model = ScriptedModel(world, Judge.RIGHT)

    said = [model.opinion(world.target[0], text) for text in world.texts]

    assert said == ["supported", "contradicted"]


def test_a_sentence_that_two_sources_carry_passes_the_whole_house():
    world = next(high_worlds())

    outcome = run_world(world, Judge.RIGHT)

    assert outcome.shown
    assert outcome.asked_in_vain == ()
