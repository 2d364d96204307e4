"""Text that fits, and links that do not lie."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from adapters.chat.fitting import fit, true_link, units
from tests.golden.strategies import texts


def doubled(text: str) -> str:
    return "".join(f"\\{char}" if char in "*_" else char for char in text)


@given(texts, st.integers(10, 300))
def test_fitted_text_keeps_the_limit_in_whole_graphemes(text: str, limit: int):
    """Escaped length counts; what is kept is a beginning of the text and ends at a grapheme."""
    shown = fit(text, limit, doubled)

    assert units(shown) <= limit
    if shown != doubled(text):
        kept = shown.removesuffix("…").rstrip()
        whole = regex.findall(r"\X", text)
        assert any(doubled("".join(whole[:count])).rstrip() == kept for count in range(len(whole) + 1))


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("Short.", 10, "Short.", id="fits"),
        pytest.param("One is one. Two is two. Three.", 26, "One is one. Two is two. …", id="sentence"),
        pytest.param("One is one [1]✓. Two is a longer one.", 26, "One is one [1]✓. …", id="sentence with a mark"),
        pytest.param("Words without any end of sentence", 20, "Words without any …", id="word"),
        pytest.param("It is cited here [1, 2] and on", 22, "It is cited here …", id="no half citation"),
        pytest.param("甲は乙だ。丙は丁だ。戊は己だ。", 13, "甲は乙だ。丙は丁だ。 …", id="cjk"),
        pytest.param("y" * 30, 12, "y" * 10 + " …", id="one long word"),
    ],
)
def test_cut_stands_where_a_reader_would_cut(text: str, limit: int, expected: str):
    assert fit(text, limit) == expected


@pytest.mark.parametrize(
    ("url", "host", "address"),
    [
        ("https://www.nejm.org/a?b=1#c", "nejm.org", "https://www.nejm.org/a?b=1#c"),
        ("http://a.test:8080/x y", "a.test", "http://a.test:8080/x%20y"),
        ("https://\uff46da.gov/", "fda.gov", "https://fda.gov/"),
        ("https://bücher.example/é", "xn--bcher-kva.example", "https://xn--bcher-kva.example/%C3%A9"),
        ("https://a.test/x)(y>|z", "a.test", "https://a.test/x%29%28y%3E%7Cz"),
        ("https://fda.gov@evil.test/", "", ""),
        ("javascript:alert(1)", "", ""),
        ("file:///etc/passwd", "", ""),
        ("https://ex ample.test/", "", ""),
        ("https://a.test:port/", "", ""),
        ("https://a.test/\ud800", "a.test", "https://a.test/%EF%BF%BD"),
        ("", "", ""),
    ],
)
def test_link_shows_where_it_goes(url: str, host: str, address: str):
    assert true_link(url) == (host, address)


@given(texts)
def test_link_has_nothing_that_ends_markup(url: str):
    host, address = true_link(f"https://{url}")

    assert not set(host + address) & set(" <>|()[]\\\n`*@")
