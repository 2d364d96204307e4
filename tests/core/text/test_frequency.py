"""How much a word tells: what everybody says in any text little, a name much, in each language that has a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.terms import terms
from core.text.language import rarity

ADDED_AND_ASKED = {
    "en": ("really exactly actually today", "photosynthesis mortgage cathedral Eiffel"),
    "de": ("wirklich genau eigentlich heute", "Photosynthese Hypothek Kathedrale Eiffelturm"),
    "fr": ("vraiment simplement aujourd'hui toujours", "photosynthèse hypothèque volcan Eiffel"),
    "es": ("realmente verdad siempre hoy", "fotosíntesis hipoteca catedrales Eiffel"),
    "it": ("davvero proprio sempre oggi", "fotosintesi mutuatario cattedrali Eiffel"),
    "nl": ("echt precies eigenlijk vandaag", "fotosynthese hypotheek kathedraal Eiffeltoren"),
    "pt": ("realmente verdade sempre hoje", "fotossíntese hipoteca catedrais Eiffel"),
}


@pytest.mark.parametrize("language", ADDED_AND_ASKED)
def test_a_filler_tells_less_than_half_of_what_a_subject_tells(language: str) -> None:
    added, asked = ([rarity(term, language) for term in terms(text)] for text in ADDED_AND_ASKED[language])

    assert max(added) < min(asked) / 2


@given(st.text(min_size=1, max_size=30), st.sampled_from([*ADDED_AND_ASKED, "pl", ""]))
def test_every_word_tells_something(term: str, language: str) -> None:
    """Also what no table has; so no question weighs nothing."""
    assert 0 < rarity(term, language) <= 1


def test_a_language_without_a_table_weighs_all_words_alike() -> None:
    assert {rarity(term, "pl") for term in ("really", "naprawdę", "Eiffel")} == {1.0}
