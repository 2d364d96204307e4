"""Who stands behind an address: whole domains only, and the order of the kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.authority import authority, kind_of, read_kinds, registrable_domain
from core.model.errors import SetupError
from core.model.source import SourceKind

KINDS = {
    "https://www.fda.gov/drugs": SourceKind.OFFICIAL,
    "https://www.gov.uk/vat": SourceKind.OFFICIAL,
    "https://ec.europa.eu/x": SourceKind.OFFICIAL,
    "https://www.who.int/news": SourceKind.OFFICIAL,
    "https://docs.python.org/3/": SourceKind.OFFICIAL,
    "https://requests.readthedocs.io/en/latest": SourceKind.OFFICIAL,
    "https://docs.example.com/api": SourceKind.OFFICIAL,
    "https://www.w3.org/TR/html": SourceKind.STANDARDS,
    "https://datatracker.ietf.org/doc/rfc9110": SourceKind.STANDARDS,
    "https://www.rfc-editor.org/rfc/rfc9110": SourceKind.STANDARDS,
    "https://www.nature.com/articles/1": SourceKind.PEER_REVIEWED,
    "https://www.nejm.org/doi/1": SourceKind.PEER_REVIEWED,
    "https://pubmed.ncbi.nlm.nih.gov/1/": SourceKind.PEER_REVIEWED,
    "https://arxiv.org/abs/2509.10446": SourceKind.PREPRINT,
    "https://www.medrxiv.org/content/1": SourceKind.PREPRINT,
    "https://en.wikipedia.org/wiki/A": SourceKind.REFERENCE,
    "https://www.britannica.com/a": SourceKind.REFERENCE,
    "https://www.reuters.com/a": SourceKind.ESTABLISHED_PRESS,
    "https://news.bbc.co.uk/a": SourceKind.ESTABLISHED_PRESS,
    "https://old.reddit.com/r/a": SourceKind.FORUM,
    "https://alice.substack.com/p/a": SourceKind.FORUM,
    "https://NATURE.COM./a": SourceKind.PEER_REVIEWED,
    "https://nature.com:443/a": SourceKind.PEER_REVIEWED,
    "file:///srv/notes.md": SourceKind.LOCAL,
}

LOOK_ALIKES = [
    "https://nature.com.evil.example/a",
    "https://www.nature.com.evil.example/a",
    "https://evilnature.com/a",
    "https://nature-com.example/a",
    "https://nature.com@evil.example/a",
    "https://evil.example/nature.com",
    "https://evil.example/?u=https://nature.com",
    "https://evil.example#nature.com",
    "https://fda.gov.co/a",
    "https://fda.gov.evil.com/a",
    "https://fdagov.com/a",
    "https://docs.alice.github.io/a",
    "https://docs.google.com/document/d/1",
    "http://127.0.0.1/a",
    "http://[::1]:80/a",
    "https://nаture.com/a",  # a Cyrillic letter
    "not an address",
    "",
]


@pytest.mark.parametrize(("url", "kind"), KINDS.items(), ids=list(KINDS))
def test_known_publishers_have_their_kind(url: str, kind: SourceKind) -> None:
    assert kind_of(url) is kind


@pytest.mark.parametrize("url", LOOK_ALIKES)
def test_look_alikes_are_unknown(url: str) -> None:
    """A domain matches as a whole or not at all."""
    assert kind_of(url) is SourceKind.UNKNOWN


@given(st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,8}){0,2}", fullmatch=True))
def test_whatever_follows_a_known_domain_takes_its_standing_away(tail: str) -> None:
    assert kind_of(f"https://www.nature.com.{tail}.example/") is SourceKind.UNKNOWN


def test_the_operators_table_beats_hint_and_ours() -> None:
    overrides = {"example.org": SourceKind.OFFICIAL, "blog.example.org": SourceKind.FORUM}

    assert kind_of("https://www.example.org/a", overrides=overrides) is SourceKind.OFFICIAL
    assert kind_of("https://blog.example.org/a", overrides=overrides) is SourceKind.FORUM
    assert kind_of("https://example.org/a", hint=SourceKind.PREPRINT, overrides=overrides) is SourceKind.OFFICIAL
    assert kind_of("https://example.com/a", hint=SourceKind.PREPRINT, overrides=overrides) is SourceKind.PREPRINT
    assert kind_of("https://nature.com/a", overrides={"nature.com": SourceKind.UNKNOWN}) is SourceKind.UNKNOWN


def test_the_operators_table_is_read_from_words() -> None:
    kinds = read_kinds(" Intranet.Example = official, blog.example=forum ,")

    assert kinds == {"intranet.example": SourceKind.OFFICIAL, "blog.example": SourceKind.FORUM}
    assert read_kinds("") == {}


@pytest.mark.parametrize(
    "entry", ["example.org", "example.org=great", "=official", "https://a.example/=forum", "a b=forum"]
)
def test_what_is_no_table_is_refused_by_name(entry: str) -> None:
    with pytest.raises(SetupError, match=r"GORKD_SOURCE_KINDS: .* official, standards"):
        read_kinds(f"example.net=forum, {entry}")


def test_authority_falls_in_the_order_of_the_kinds() -> None:
    weights = [authority(kind) for kind in SourceKind]

    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == len(weights)
    assert 0 <= min(weights) <= max(weights) <= 1


DOMAINS = {
    "example.com": "example.com",
    "a.b.example.com": "example.com",
    "news.bbc.co.uk": "bbc.co.uk",
    "shop.example.com.au": "example.com.au",
    "cs.ox.ac.uk": "ox.ac.uk",
    "tax.service.gov.uk": "service.gov.uk",
    "alice.github.io": "alice.github.io",
    "www.alice.github.io": "alice.github.io",
    "x.readthedocs.io": "x.readthedocs.io",
    "bob.blogspot.com": "bob.blogspot.com",
    "carol.wordpress.com": "carol.wordpress.com",
    "dan.substack.com": "dan.substack.com",
    "medium.com": "medium.com",
    "www.web.de": "web.de",
    "EXAMPLE.com.": "example.com",
    "example.com:8080": "example.com",
    "127.0.0.1:80": "127.0.0.1",
    "[::1]:80": "::1",
    "localhost": "localhost",
    "": "",
}


@pytest.mark.parametrize(("host", "domain"), DOMAINS.items(), ids=[host or "empty" for host in DOMAINS])
def test_the_registrable_domain_is_the_owners(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


@given(st.from_regex(r"[a-z]{1,6}(\.[a-z]{2,6}){1,4}", fullmatch=True))
def test_a_registrable_domain_is_its_own(host: str) -> None:
    """It is the end of the host, and taking it twice changes nothing."""
    domain = registrable_domain(host)

    assert host == domain or host.endswith(f".{domain}")
    assert registrable_domain(domain) == domain
