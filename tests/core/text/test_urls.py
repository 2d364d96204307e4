"""Addresses: one form for all spellings of a page's address, and never two pages under one."""

from __future__ import annotations

import json
from string import ascii_letters, digits
from urllib.parse import quote, urlencode, urlunsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.text.urls import canonical_url, domain_of, is_web_url
from tests.shared_data import shared_data

HOSTS = st.lists(st.text(ascii_letters + digits, min_size=1, max_size=8), min_size=2, max_size=4).map(".".join)
PATHS = st.lists(st.text(max_size=8), max_size=4).map(lambda parts: "/" + "/".join(quote(part) for part in parts))
# "q0" and the like: no tracking parameter begins so.
QUERIES = st.lists(st.tuples(st.integers(0, 9).map("q{}".format), st.text(max_size=8)), max_size=4)
URLS = st.builds(
    lambda scheme, host, path, query: urlunsplit((scheme, host, path, urlencode(query), "")),
    st.sampled_from(["http", "https"]),
    HOSTS,
    PATHS,
    QUERIES,
)


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param("http://example.com/tides?a=1&b=2", id="http"),
        pytest.param("HTTPS://EXAMPLE.com/tides?a=1&b=2", id="case of scheme and host"),
        pytest.param("https://www.example.com/tides?a=1&b=2", id="www"),
        pytest.param("https://www.www.example.com/tides?a=1&b=2", id="www twice"),
        pytest.param("https://m.example.com/tides?a=1&b=2", id="mobile host"),
        pytest.param("https://amp.example.com/tides/amp?a=1&b=2", id="amp"),
        pytest.param("https://example.com:443/tides?a=1&b=2", id="default port"),
        pytest.param("https://example.com./tides?a=1&b=2", id="dot of the root"),
        pytest.param("https://example.com/tides/?a=1&b=2", id="trailing slash"),
        pytest.param("https://example.com/tides/index.html?a=1&b=2", id="index.html"),
        pytest.param("https://example.com/tides?b=2&a=1", id="order of parameters"),
        pytest.param("https://example.com/tides?a=1&utm_source=x&b=2&fbclid=y", id="tracking"),
        pytest.param("https://example.com/tides?a=1&b=2#neap", id="fragment"),
        pytest.param("  https://example.com/tides?a=1&b=2\n", id="white space around"),
    ],
)
def test_spellings_of_one_page_are_one(variant: str) -> None:
    """S003-10: what does not change the page does not change the canonical form."""
    assert canonical_url(variant) == "https://example.com/tides?a=1&b=2"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("https://a.example/x", "https://a.example/y", id="path"),
        pytest.param("https://a.example/x", "https://a.example/X", id="case of the path"),
        pytest.param("https://a.example/x?id=1", "https://a.example/x?id=2", id="value"),
        pytest.param("https://a.example/x?id=1", "https://a.example/x?no=1", id="name"),
        pytest.param("https://a.example/x", "https://a.example/x?id=1", id="with and without a query"),
        pytest.param("https://a.example/x", "https://b.example/x", id="host"),
        pytest.param("https://de.wiki.example/x", "https://en.wiki.example/x", id="language host"),
        pytest.param("https://a.example:8443/x", "https://a.example/x", id="port"),
        pytest.param("https://a.example/x?q=%E4", "https://a.example/x?q=%F6", id="bytes that are no UTF-8"),
        pytest.param("https://a.example/x?q=a%26b=c", "https://a.example/x?q=a&b=c", id="escaped ampersand"),
        pytest.param("file:///docs/a.md", "file:///docs/b.md", id="files"),
    ],
)
def test_different_pages_stay_different(one: str, other: str) -> None:
    """S003-10: deduplication never merges two documents."""
    assert canonical_url(one) != canonical_url(other)


def test_a_letter_and_its_escape_are_one() -> None:
    assert canonical_url("https://a.example/café?q=é") == canonical_url("https://a.example/caf%C3%A9?q=%C3%A9")


@given(URLS)
@example("https://a.example/index.html/index.html")
@example("https://a.example/x/amp/amp//")
@example("https://a.example/x%20?utm_source=y")
def test_the_canonical_form_is_its_own(url: str) -> None:
    """Idempotent, and an address that can be asked."""
    canonical = canonical_url(url)

    assert canonical_url(canonical) == canonical
    assert is_web_url(canonical)


@given(URLS, st.permutations(["utm_medium=mail", "gclid=1", "ref=home"]))
def test_tracking_never_makes_another_page(url: str, tracking: list[str]) -> None:
    tracked = url + ("&" if "?" in url else "?") + "&".join(tracking)

    assert canonical_url(tracked) == canonical_url(url)


@given(HOSTS, QUERIES, QUERIES)
def test_queries_are_one_exactly_when_their_parameters_are(
    host: str, one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    """Same parameters in any order are the same page; anything else is another."""
    first, second = (f"https://{host}/x?{urlencode(query)}" for query in (one, other))

    assert (canonical_url(first) == canonical_url(second)) == (sorted(one) == sorted(other))


@given(st.text(st.characters(), max_size=60), st.sampled_from(["", "http://", "https://a.example/", "https://a.b/?q="]))
def test_no_text_is_too_strange(text: str, before: str) -> None:
    """Addresses come from strangers; nothing raises, and the canonical form stays as it is."""
    url = before + text
    canonical = canonical_url(url)

    assert canonical_url(canonical) == canonical
    assert "/" not in domain_of(url)
    assert domain_of(url) or not is_web_url(url)


@pytest.mark.parametrize(
    ("url", "canonical", "domain"),
    [
        pytest.param("http://[", "http://[", "", id="bracket"),
        pytest.param("http://[::1", "http://[::1", "", id="open bracket"),
        pytest.param("http://\\", "https://\\/", "", id="backslash"),
        pytest.param("http://.//!", "http://.//!", ".", id="root alone"),
        pytest.param("https://a.example/?q=\ud800", "https://a.example/?q=%ED%A0%80", "a.example", id="surrogate"),
        pytest.param("http://a.example:99999/", "http://a.example:99999/", "a.example", id="no port"),
    ],
)
def test_broken_addresses_do_not_raise(url: str, canonical: str, domain: str) -> None:
    """What cannot be read stays as it is, and is of no domain."""
    assert canonical_url(url) == canonical
    assert domain_of(url) == domain
    assert is_web_url(url) is bool(domain)


@pytest.mark.parametrize("unit", ["/", "/amp", "/index.html", "www.", "a=b&", "%41", "?", "["])
def test_long_addresses_take_no_longer_than_their_length(unit: str) -> None:
    """A search result may name an address made to be slow: 100 KB end well within the limit of a test."""
    for url in (
        f"https://a.example/{unit * 20_000}x",
        f"https://{unit * 20_000}x",
        f"https://a.example/?{unit * 20_000}",
    ):
        assert canonical_url(url)


def test_nasty_strings_are_addresses_of_nothing_or_keep_their_form() -> None:
    """Real nasty strings in every place of an address."""
    strings = json.loads(shared_data("strings", "naughty.json").read_text(encoding="utf-8"))

    for nasty in strings:
        for url in (nasty, f"https://a.example/{nasty}", f"https://a.example/?q={nasty}", f"https://{nasty}/x"):
            canonical = canonical_url(url)
            assert canonical_url(canonical) == canonical
            assert isinstance(domain_of(url), str)


@pytest.mark.parametrize(
    ("url", "domain", "is_web"),
    [
        pytest.param("https://www.Example.com/x", "example.com", True, id="www goes, lower case"),
        pytest.param("https://blog.example.com:8443/", "blog.example.com", True, id="port goes"),
        pytest.param("file:///home/a.md", "", False, id="file"),
        pytest.param("ftp://example.com/x", "", False, id="other scheme"),
        pytest.param("javascript:alert(1)", "", False, id="script"),
        pytest.param("https://user:pass@example.com/", "example.com", False, id="credentials"),
        pytest.param("https://example.com@evil.example/", "evil.example", False, id="a name that looks like the host"),
        pytest.param("not an address", "", False, id="words"),
        pytest.param("https:///x", "", False, id="no host"),
    ],
)
def test_the_domain_people_read_is_the_host_that_is_asked(url: str, domain: str, is_web: bool) -> None:
    assert domain_of(url) == domain
    assert is_web_url(url) is is_web
