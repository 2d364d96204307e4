"""No answer, said in the language of the question."""

from __future__ import annotations

import pytest

from core.presentation.follow_ups import REFUSALS, refusal_in


@pytest.mark.parametrize("language", REFUSALS)
def test_refusal_says_what_was_searched_and_where(language: str) -> None:
    """Queries and places stand in it as they are, four queries at most."""
    refusal = refusal_in(language)

    said = refusal.summary(["a {b}", "2", "3", "4", "5"], ["exa", "files"])

    assert '"a {b}", "2", "3", "4"' in said
    assert '"5"' not in said
    assert f"{refusal.web}, {refusal.files}" in said
    assert said.startswith(refusal.no_answer)


@pytest.mark.parametrize("part", ["no_answer", "searched", "advice"])
def test_no_language_borrows_from_another(part: str) -> None:
    assert len({getattr(refusal, part) for refusal in REFUSALS.values()}) == len(REFUSALS)


def test_where_nothing_was_searched_nothing_is_claimed() -> None:
    assert refusal_in("de").summary(["x"], []) == REFUSALS["de"].no_answer


@pytest.mark.parametrize("language", ["", "sv", "xx"])
def test_language_that_is_not_known_is_answered_in_english(language: str) -> None:
    assert refusal_in(language) == REFUSALS["en"]
