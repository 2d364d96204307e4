"""Quotes stand in the source unaltered, or they do not stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.verbatim import verify_quote

CONTENT = (
    "Preface.\nThe committee met on 3 May 2021 in Geneva.  It did not approve the plan, because the ‘cost’ was\n"
    "too high — about 4.5 million francs [12]. Dr Keller voted against it; the infor-\nmation was confidential."
)


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("The committee met on 3 May 2021 in Geneva.", "The committee met on 3 May 2021 in Geneva"),
        ("“the committee met on 3 May 2021”", "The committee met on 3 May 2021"),
        ("because the 'cost' was too high - about 4.5 million", "because the ‘cost’ was\ntoo high — about 4.5 million"),
        ("about 4.5 million francs. Dr Keller voted", "about 4.5 million francs [12]. Dr Keller voted"),
        (
            "Dr Keller voted against it; the information was confidential",
            "Dr Keller voted against it; the infor-\nmation was confidential",
        ),
        ("It did not aprove the plan, because", "It did not approve the plan, because"),
    ],
    ids=["exact", "case and marks", "dashes and lines", "reference left out", "hyphen at line end", "slip"],
)
def test_a_true_quote_is_found_where_it_stands(quote: str, expected: str) -> None:
    """Offsets are of the text as read, so the quote shown is the source's own letters (S003-17)."""
    span = verify_quote(quote, CONTENT)

    assert span is not None
    assert CONTENT[slice(*span)] == expected


@pytest.mark.parametrize(
    "quote",
    [
        "The committee met on 3 May 2022 in Geneva.",
        "The committee met on 3 June 2021 in Geneva.",
        "The committee met on 3 May 2021 in Genoa.",
        "It did approve the plan, because the cost was too high",
        "It did not approve the plan, because the cost was too low",
        "It did not approve the plans, because the cost was too high",
        "too high — about 4.5 billion francs",
        "about 4.5 million francs [13]. Dr Keller voted",
        "Dr Kellner voted against it",
        "Dr Keller voted for it; the information was",
        "The committee met in Geneva.",
        "Nothing of the kind was ever written here at all.",
        "ommittee met on 3 May 2021 in Genev",
        "",
        " … ",
    ],
    ids=[
        "year", "month", "place", "negation", "opposite", "plural", "scale", "reference", "name", "preposition",
        "left out", "invented", "cut words", "empty", "marks only",
    ],
)  # fmt: skip
def test_an_altered_quote_is_refused_however_alike(quote: str) -> None:
    """A changed number, name, negation or word is no quote, even above 85 % alike."""
    assert verify_quote(quote, CONTENT) is None


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=200), st.data())
def test_whole_words_of_any_text_verify_at_their_place(text: str, data: st.DataObject) -> None:
    """What is cut out of the source between blanks is found, and what is found is alike."""
    words = text.split()
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = " ".join(words[first : last + 1])

    span = verify_quote(quote, text)

    if span is not None:
        assert 0 <= span[0] < span[1] <= len(text)
    elif any(character.isalnum() for character in quote) and text.isascii():
        raise AssertionError(f"{quote!r} was not found in {text!r}")


ODD_WORDS = st.sampled_from(["Alpha", "beta", "ﬁne", "naïve", "co\u00adoperate", "don’t", "x`y", "Straße", "e-mail"])


@given(st.lists(st.tuples(ODD_WORDS, st.sampled_from([" ", "  ", "\n\n", " \u200b"])), min_size=3, max_size=12))
def test_a_quote_is_found_at_the_source_s_own_letters(written: list[tuple[str, str]]) -> None:
    """Plain and odd letters side by side, however wide the gaps: the span is that of the words as they stand."""
    words = [word for word, _ in written]
    text = "".join(word + gap for word, gap in written)

    span = verify_quote(" ".join(words[1:]).upper(), text)

    assert span is not None
    assert text[slice(*span)].replace("\u200b", " ").split() == words[1:]
