"""The exact key of a question: what may differ between two askings of one question, and what may not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.model.job import QueryIntent, ResearchRequest
from core.stages.cache import answer_key, normalise_question
from core.stages.intake import parse_intent
from tests.fakes import NOW


def key(query: str, *, days: int = 0, **request: object) -> str:
    return answer_key(ResearchRequest(query, **request), parse_intent(query), now=NOW + timedelta(days=days))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "same",
    [
        "what is an enzyme",
        "What  is an ENZYME?",
        "What is an enzyme??? ",
        "“What is an enzyme”",
        "What is an enzyme, please?",
        "Hi, what is an enzyme? Thanks!",
    ],
)
def test_spelling_space_punctuation_and_politeness_do_not_matter(same: str) -> None:
    """S003-04: the exact key ignores what changes nothing."""
    assert key(same) == key("What is an enzyme?")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What changed in the 2023 report?", "What changed in the 2024 report?"),
        ("Did A sue B?", "Did B sue A?"),
        ("Is Python 3.11 faster?", "Is Python 31.1 faster?"),
        ("What is C?", "What is C++?"),
        ("What is C#?", "What is C?"),
        ("Is -5 even?", "Is 5 even?"),
        ("Is 50% enough?", "Is 50 enough?"),
        ("Is it safe?", "Is it not safe?"),
        ("US law", "us laws"),
    ],
)
def test_what_changes_the_question_changes_the_key(one: str, other: str) -> None:
    """S003-04: a number, an order, a sign or a negation makes another question."""
    assert key(one) != key(other)


def test_options_context_and_language_are_part_of_the_key() -> None:
    """An answer for one mode, depth, count or context is not the answer for another."""
    plain = key("What is an enzyme?")

    assert plain != key("What is an enzyme?", modes=("deep",))
    assert plain != key("What is an enzyme?", depth="deep")
    assert plain != key("What is an enzyme?", top_k=3)
    assert plain != key("What is an enzyme?", context="for children")
    request = ResearchRequest("What is an enzyme?")
    intent = parse_intent("What is an enzyme?")
    german = QueryIntent(intent.question_type, language="de")
    assert answer_key(request, intent, now=NOW) != answer_key(request, german, now=NOW)


def test_a_question_of_today_has_another_key_tomorrow() -> None:
    """Time-bound questions carry the day; settled ones do not."""
    assert key("What are the latest results?") != key("What are the latest results?", days=1)
    assert key("What is an enzyme?") == key("What is an enzyme?", days=1)


@given(st.text(min_size=1, max_size=200))
@example("HI:0")
@example("0:thanks")
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    """A normal form is its own normal form, and never empty for text that has a letter or a digit."""
    once = normalise_question(text)

    assert normalise_question(once) == once
    assert once or not any(character.isalnum() for character in text)
