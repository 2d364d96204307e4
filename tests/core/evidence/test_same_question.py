"""Whether two questions ask for the same: rules that can only say no (D12)."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.evidence.same_question import strict_veto, veto
from tests.evals.variants import VARIANTS
from tests.shared_data import shared_data

LOOK_ALIKE = {
    "number": ("Is 5 mg of ramipril enough?", "Is 10 mg of ramipril enough?"),
    "version": ("What is new in Django 4.2?", "What is new in Django 5.2?"),
    "year": ("Who won the Tour de France in 2019?", "Who won the Tour de France in 2021?"),
    "month": ("What did the ECB decide in May 2023?", "What did the ECB decide in June 2023?"),
    "unit": ("How far is 5 km?", "How far is 5 miles?"),
    "money": ("best phone under $300", "best phone under €300"),
    "sign": ("How do I learn C?", "How do I learn C++?"),
    "name": ("What does Pfizer produce?", "What does Merck produce?"),
    "name within a name": ("What is the capital of Niger?", "What is the capital of Nigeria?"),
    "first name within another": ("How old is Chris Evans?", "How old is Christina Evans?"),
    "names of one root": ("Is React worth learning?", "Is Reactor worth learning?"),
    "name in small letters": ("side effects of ramipril", "side effects of enalapril"),
    "acronym": ("What does the WHO say about salt?", "What does the FDA say about salt?"),
    "denial": ("Which drugs may be crushed?", "Which drugs may not be crushed?"),
    "denial in one word": ("Which mushrooms are edible?", "Which mushrooms aren't edible?"),
    "without": ("recipes with sugar", "recipes without sugar"),
    "opposite": ("What raises cholesterol?", "What lowers cholesterol?"),
    "opposite prefix": ("Is it legal in Peru?", "Is it illegal in Peru?"),
    "superlative": ("What is the largest lake in Africa?", "What is the smallest lake in Africa?"),
    "roles": ("Why did Sparta attack Athens?", "Why did Athens attack Sparta?"),
    "direction": ("How do I move data from Oracle to Postgres?", "How do I move data from Postgres to Oracle?"),
    "comparison": ("Is Rust safer than Zig?", "Is Zig safer than Rust?"),
    "roles of words": ("What is the effect of sleep on memory?", "What is the effect of memory on sleep?"),
    "passive": ("Was Athens attacked by Sparta?", "Did Athens attack Sparta?"),
    "qualifier added": ("treatment of gout", "treatment of gout in children"),
    "qualifier replaced": ("Symptoms of anaemia in men", "Symptoms of anaemia in women"),
    "what is asked": ("When did Kodak fail?", "Why did Kodak fail?"),
    "limit": ("How many people died after the flood?", "How many people died before the flood?"),
}
SAME = {
    "voice": ("Did Sparta attack Athens?", "Was Athens attacked by Sparta?"),
    "frame": ("How do vaccines work?", "Can you explain how vaccines work?"),
    "order of a list": ("What is the difference between Rust and Zig?", "What is the difference between Zig and Rust?"),
    "year elsewhere": ("Who won the 2019 Tour de France?", "Who won the Tour de France in 2019?"),
    "synonym": ("When was the bridge built?", "When was the bridge constructed?"),
    "initials": ("What does the European Central Bank do?", "What does the ECB do?"),
    "population": ("How many people live in Lima?", "What is the population of Lima?"),
    "short name": ("What is Postgres used for?", "What is PostgreSQL used for?"),
    "contraction": ("What's a neutrino?", "What is a neutrino?"),
}
WORDS = ["Sparta", "Athens", "attack", "legal", "ships", "not", "in", "2019", "5", "mg", "the", "why", "did", "than"]
QUESTIONS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize("pair", LOOK_ALIKE.values(), ids=LOOK_ALIKE)
def test_look_alikes_are_told_apart_whichever_came_first(pair: tuple[str, str]) -> None:
    """One change makes another question."""
    for one, other in permutations(pair):
        assert veto(one, other) != ""


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_other_words_for_the_same_are_let_through(pair: tuple[str, str]) -> None:
    """Also by the strict guard, which forgives ways of asking and nothing else."""
    for one, other in permutations(pair):
        assert (veto(one, other), strict_veto(one, other)) == ("", "")


@pytest.mark.parametrize(
    "pair",
    [
        ("Is anxiety caused by coffee?", "Does anxiety cause coffee?"),
        ("Who was beaten by Napoleon?", "Who beat Napoleon?"),
        ("Wer besiegte Napoleon?", "Wen besiegte Napoleon?"),
        ("Does the dog beat the cat?", "Does a cat beat a dog?"),
        ("How do I convert Celsius to Fahrenheit?", "How can I convert Fahrenheit to Celsius?"),
    ],
)
def test_without_a_confirmation_who_does_it_to_whom_must_be_the_same(pair: tuple[str, str]) -> None:
    """D12: what the strict guard lets pass is shown at once."""
    assert all(strict_veto(one, other) for one, other in permutations(pair))


@given(st.one_of(st.text(max_size=80), QUESTIONS))
def test_a_question_is_never_told_apart_from_itself(question: str) -> None:
    """Whatever it is made of."""
    assert strict_veto(question, question) == ""


@given(QUESTIONS, QUESTIONS)
@example("attack not Sparta legal", "Sparta not attack")
def test_the_strict_guard_lets_pass_nothing_that_the_guard_stops(one: str, other: str) -> None:
    """It only adds reasons; neither depends on which question came first."""
    assert veto(one, other) == "" or strict_veto(one, other) != ""
    assert (veto(one, other) == "") is (veto(other, one) == "")
    assert (strict_veto(one, other) == "") is (strict_veto(other, one) == "")


def test_few_variants_of_real_questions_pass() -> None:
    """D12: at most 5 % of look-alikes by the guard alone; a sample of `make eval`."""
    import random

    rng = random.Random(2)
    lines = (shared_data("expertqa") / "questions.jsonl").read_text(encoding="utf-8").splitlines()[::25]
    questions = [json.loads(line)["question"] for line in lines]
    names = ["Lisbon", "Newton", "Hamlet"]
    pairs = [(one, change(one, names, rng)) for one in questions for change in VARIANTS.values()]
    pairs = [(one, other) for one, other in pairs if other and other != one]

    passed = [pair for pair in pairs if not strict_veto(*pair)]

    assert len(pairs) > 200
    assert len(passed) <= 0.05 * len(pairs)
