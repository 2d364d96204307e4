"""The model of languages says what its makers' own code says of it, and takes little room."""

from __future__ import annotations

import tracemalloc
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from core.presentation.follow_ups import REFUSALS
from core.text.identifier import Identifier
from tests.shared_data import ROOT


@cache
def _whole() -> Identifier:
    return Identifier(lambda _: True)


@cache
def _theirs() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _texts() -> list[str]:
    """In seven languages and their mixtures; as short as a word, and as long as a page."""
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = [line for line in readme.splitlines() if line.strip()]
    return [
        *(refusal.advice for refusal in REFUSALS.values()),
        *lines,
        readme,
        "Мост через реку",
        "東京の人口",
        "ΑΘΗΝΑ",
        "ZÜRICH",
        "12",
        "",
        " ",
    ]


def test_every_language_is_as_likely_as_in_the_model_as_it_is_packaged():
    for text in _texts():
        assert dict(_whole().shares(text)) == pytest.approx(dict(_theirs().rank(text)), abs=1e-4)


@given(st.text(max_size=60))
def test_no_text_is_told_otherwise(text: str) -> None:
    assert dict(_whole().shares(text)) == pytest.approx(dict(_theirs().rank(text)), abs=1e-4)


def test_of_some_languages_the_shares_are_those_among_themselves():
    some = Identifier({"de", "nl", "sr"}.__contains__)
    theirs = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    theirs.set_languages(["de", "nl", "sr"])

    for text in ("Die Brücke über den Fluss", "De brug over de rivier", "Мост преко реке", "Most preko reke"):
        assert dict(some.shares(text)) == pytest.approx(dict(theirs.rank(text)), abs=1e-4)


def test_the_model_takes_a_sixth_of_its_room_and_never_much_more():
    """Written out it takes 65 MB in each process, and 105 MB while it is read."""
    tracemalloc.start()
    try:
        kept = Identifier(lambda code: len(code) == 2)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept.shares("Die Brücke über den Fluss")
    assert held < 15_000_000
    assert most < 45_000_000
