"""BM25 over a handful of texts: whoever says more of what is rare stands higher."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.terms import bm25

WORDS = st.lists(st.sampled_from("tide moon ocean salt ferment yeast".split()), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        pytest.param("yeast", "yeast ferments sugar", "the moon moves the sea", id="has the word or not"),
        pytest.param("sea yeast", "yeast and more", "sea and more", id="the rarer word counts more"),
        pytest.param("tides", "tides tides tides now", "tides come now again", id="said more often"),
        pytest.param("tides", "tides rise", "tides rise and then a great many other things are told", id="shorter"),
        pytest.param("fermented", "yeast ferments sugar", "yeast eats sugar", id="another form of the word"),
        pytest.param("酵母", "酵母は糖を食べる", "月が海を動かす", id="without spaces"),
    ],
)
def test_the_better_text_scores_higher(query: str, better: str, worse: str) -> None:
    first, second, *_ = bm25(query, [better, worse, "sea", "a sea of salt"])

    assert first > second >= 0


@given(WORDS, st.lists(WORDS, max_size=6), st.randoms(use_true_random=False))
def test_a_text_scores_above_nothing_if_it_shares_a_word_wherever_it_stands(query, texts, rng) -> None:
    """The order in which the texts come changes nothing."""
    scores = dict(zip(texts, bm25(query, texts), strict=True))
    shuffled = rng.sample(texts, len(texts))

    assert all((scores[text] > 0) == bool(set(query.split()) & set(text.split())) for text in texts)
    assert bm25(query, shuffled) == pytest.approx([scores[text] for text in shuffled])
