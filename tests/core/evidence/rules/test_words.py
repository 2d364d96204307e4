"""Tokens, stems and numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.rules.words import Kind, stem, tokenize


@given(st.text(max_size=300))
def test_every_token_is_its_span_of_the_text(text: str) -> None:
    """Offsets are exact, in order, and never overlap, whatever the text."""
    tokens = tokenize(text)

    assert all(token.text == text[token.start : token.end] for token in tokens)
    assert all(left.end <= right.start for left, right in pairwise(tokens))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("increased", "increasing"), ("studies", "study"), ("colour", "color"), ("won", "win"), ("children", "child"),
        ("organisations", "organizations"), ("running", "run"), ("patients", "patient's"),
        ("rates", "rate"), ("noted", "note"),
    ],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    """Inflection and spelling do not part a claim from its source."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("university", "universe"), ("policy", "police"), ("wing", "win")])
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    """A stem is not so short that other words share it."""
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234.5 men", [1234.5]),
        ("twenty-five of one hundred", [25.0, 100.0]),
        ("1.2 million", [1_200_000.0]),
        ("the 2nd and the third", [2.0, 3.0]),
        ("2018–19", [2018.0, 2019.0]),
        ("COVID-19 and IL-6", []),
        ("one of them", []),
        ("1 1/4 cups or 1¼, 2/3 or ⅔ cup, 1/4-inch bolts", [1.25, 1.25, 2 / 3, 2 / 3, 0.25]),
        ("on 9/3/1931 and 4/10, in phase 1/2 trials", [9.0, 3.0, 1931.0, 4.0, 10.0, 1.0, 2.0]),
        ("a bet of US$2.2m, 5m long, and €3bn", [2_200_000.0, 5.0, 3e9]),
        ("open 24/7", [24.0]),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, values: list[float]) -> None:
    """Digits, words, scales and short years; not the digits of a name."""
    assert [token.value for token in tokenize(text) if token.kind is Kind.NUMBER] == values
