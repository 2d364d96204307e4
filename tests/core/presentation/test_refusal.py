"""No answer, said in the language of the question."""

from __future__ import annotations

import pytest

from core.presentation.follow_ups import advice_in, no_answer
from core.tenancy.settings import SourcePolicy
from core.text.saying import LANGUAGES, say, speaking

SEARCHED = (["a {b}", "2", "3", "4", "5"], ["exa", "files"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_refusal_says_what_was_searched_and_where(language: str) -> None:
    """Queries and places stand in it as they are, four queries at most; where nothing was, nothing is claimed."""
    said = no_answer(language, *SEARCHED)

    assert '"a {b}", "2", "3", "4"' in said
    assert '"5"' not in said
    with speaking(language):
        assert f"{say('the web')}, {say('the local files')}" in said
    assert said.startswith(f"{no_answer(language, ['x'], [])} ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_refusal_says_that_only_some_sources_count_there(language: str) -> None:
    """N-19: who asks in a channel with a lens knows nothing of it; five of them at most are named."""
    lens = SourcePolicy(("files",), tuple(f"site{number}.example" for number in range(9)), ("bad.example",), True)

    said = no_answer(language, *SEARCHED, policy=lens).removeprefix(no_answer(language, *SEARCHED))

    with speaking(language):
        assert say("the local files") in said
        assert say("primary sources") in said
    assert [f"site{number}.example" in said for number in (0, 2, 3, 8)] == [True, True, False, False]
    assert say("{number} more", number=6).split()[0] in said
    assert "bad.example" not in said
    assert no_answer(language, *SEARCHED, policy=SourcePolicy(block=("bad.example",))) == no_answer(language, *SEARCHED)


def test_no_language_borrows_from_another() -> None:
    for said in (no_answer(language, ["x"], []) for language in LANGUAGES), map(advice_in, LANGUAGES):
        assert len(set(said)) == len(LANGUAGES)
    assert len({no_answer(language, *SEARCHED).partition(". ")[2] for language in LANGUAGES}) == len(LANGUAGES)


@pytest.mark.parametrize("language", ["", "sv", "xx"])
def test_language_that_is_not_known_is_answered_in_english(language: str) -> None:
    assert (no_answer(language, *SEARCHED), advice_in(language)) == (no_answer("en", *SEARCHED), advice_in("en"))
