"""The words of a question that are worth looking up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.search.service import MAX_KEYWORDS, MAX_WORD_CHARS, keywords

SYNTAX = set("\"'()[]{}:*^~+|/\\<>=&!?,;")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("How does photosynthesis work?", ["photosynthesis", "work"], id="question words go"),
        pytest.param("What is Newton's second law?", ["newton", "second", "law"], id="possessive"),
        pytest.param("Compare PEP-8 and COVID-19", ["pep-8", "covid-19"], id="hyphens stay"),
        pytest.param("What is it that he was?", ["what", "is", "it", "that", "he", "was"], id="only stopwords"),
        pytest.param("tides Tides TIDES", ["tides"], id="each once"),
        pytest.param("Πώς λειτουργεί η φωτοσύνθεση", ["πώς", "λειτουργεί", "η", "φωτοσύνθεση"], id="another script"),
        pytest.param("?!* -- \x00", [], id="no words"),
    ],
)
def test_the_informative_words_in_order(question: str, expected: list[str]) -> None:
    """Indexes want words, not sentences."""
    assert keywords(question) == expected


@given(st.text(max_size=400))
def test_no_search_syntax_passes(question: str) -> None:
    """Whatever an index gives a meaning to stays behind, and the number and length of words is bounded."""
    words = keywords(question)

    assert len(words) <= MAX_KEYWORDS
    assert all(0 < len(word) <= MAX_WORD_CHARS and not word.startswith(("-", ".")) for word in words)
    assert not {char for word in words for char in word} & (SYNTAX - {"'"})
