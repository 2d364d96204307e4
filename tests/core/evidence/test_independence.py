"""Independent sources: other owners and other texts; and the best choice among those that are tied."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.authority import CATALOGUES, heaviest_independent, same_quote, same_voice
from core.model.source import Source, SourceKind, SourceMetadata

NOW = datetime(2026, 11, 20, tzinfo=UTC)
QUOTE = "The council of the town voted on Tuesday to close the old bridge until the spring."


def make_source(number: int, content: str, domain: str, author: str | None = None) -> Source:
    url = f"https://{domain}/{number}"
    metadata = SourceMetadata(domain, 1, "fake", author=author)
    return Source(f"src_{number}", url, "Title", content, f"hash{number}", NOW, metadata)


def random_text(seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"word{rng.randrange(200)}" for _ in range(300))


def test_different_texts_of_different_owners_are_independent() -> None:
    first, second = make_source(1, random_text(1), "a.example"), make_source(2, random_text(2), "b.example")

    assert not same_voice(first, second)


@pytest.mark.parametrize(
    ("content", "domain"),
    [(random_text(2), "www.a.example"), (f"Menu Login {random_text(1)} Imprint", "b.example")],
    ids=["one-owner", "copy-with-other-furniture"],
)
def test_one_owner_or_one_text_is_one_voice(content: str, domain: str) -> None:
    assert same_voice(make_source(1, random_text(1), "a.example"), make_source(2, content, domain))


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("www.bbc.com", "news.bbc.co.uk", True),
        ("en.wikipedia.org", "de.wikipedia.org", True),
        ("en.wikipedia.org", "www.wikiwand.com", True),
        ("dbpedia.org", "fr.wikipedia.org", True),
        ("amazon.de", "www.amazon.co.jp", True),
        ("google.com", "www.google.com.br", True),
        ("theguardian.com", "guardian.co.uk", True),
        ("stanford.edu", "stanford.com", False),
        ("cdc.gov", "cdc.org", False),
        ("nytimes.com", "washingtonpost.com", False),
        ("alice.github.io", "alice.gitlab.io", False),
        ("127.0.0.1", "127.0.0.2", False),
    ],
)
def test_one_owner_under_several_names_is_one_voice(first: str, second: str, is_one: bool) -> None:
    """D24: its other suffixes, its other names, its mirrors; not who has its name where only some may register."""
    sources = make_source(1, random_text(1), first), make_source(2, random_text(2), second)

    assert same_voice(*sources) == is_one


TITLE = "Heights of towers at sea measured from above"


@pytest.mark.parametrize(
    ("titles", "authors", "is_one"),
    [
        ((TITLE, f"{TITLE}."), ("Alice Moore, Bo Lee", "Moore A, Lee B"), True),
        ((TITLE, TITLE.upper()), ("Alice Moore", None), True),
        ((TITLE, TITLE), ("Alice Moore", "Karl Weber"), False),
        ((TITLE, f"{TITLE} and below"), ("Alice Moore", "Alice Moore"), False),
        (("Towers", "Towers"), (None, None), False),
    ],
    ids=["journal version", "author unknown", "other authors", "another paper", "short title"],
)
def test_a_paper_and_its_preprint_are_one_voice(
    titles: tuple[str, str], authors: tuple[str | None, str | None], is_one: bool
) -> None:
    preprint = make_source(1, random_text(1), "arxiv.org", authors[0])
    journal = make_source(2, random_text(2), "nature.com", authors[1])
    preprint = replace(preprint, title=titles[0], metadata=replace(preprint.metadata, kind=SourceKind.PREPRINT))
    journal = replace(journal, title=titles[1], metadata=replace(journal.metadata, kind=SourceKind.PEER_REVIEWED))

    assert same_voice(preprint, journal) == is_one


def test_sites_of_many_owners_are_many_voices() -> None:
    assert not same_voice(make_source(1, "One.", "alice.github.io"), make_source(2, "Two.", "bob.github.io"))


@pytest.mark.parametrize("catalogue", sorted(CATALOGUES))
@pytest.mark.parametrize(
    ("authors", "content", "is_one"),
    [
        (("Moore A", "Lee B"), random_text(2), False),
        (("Moore A", "Moore A"), random_text(2), True),
        (("Moore A", "Lee B"), f"Abstract {random_text(1)}", True),
        ((None, None), random_text(2), False),
    ],
    ids=["other authors", "the same authors", "a copy", "authors unknown"],
)
def test_papers_of_a_catalogue_are_owned_by_their_authors(
    catalogue: str, authors: tuple[str | None, str | None], content: str, is_one: bool
) -> None:
    """Who lists a paper does not answer for it; a copy is one voice all the same."""
    first, second = (
        make_source(1, random_text(1), catalogue, authors[0]),
        make_source(2, content, catalogue, authors[1]),
    )

    assert same_voice(first, second) == is_one


def test_only_long_quotes_show_that_they_were_copied() -> None:
    """A short sentence is written alike by chance."""
    assert same_quote(QUOTE, QUOTE.replace("Tuesday", "tuesday"))
    assert not same_quote(
        QUOTE, "Trains between the two cities were cancelled for the whole of the week after the storm."
    )
    assert not same_quote("It closed in May.", "It closed in May.")


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_the_heaviest_independent_set_is_the_heaviest(weights: list[float], ties: set[tuple[int, int]]) -> None:
    """Compared with trying all sets."""
    tied = ties | {(second, first) for first, second in ties}
    numbered = dict(enumerate(weights))

    chosen = heaviest_independent(numbered, lambda first, second: (first, second) in tied)

    best = 0.0
    for bits in range(2 ** len(weights)):
        group = [place for place in range(len(weights)) if bits >> place & 1]
        if not any((one, other) in tied for one in group for other in group if one < other):
            best = max(best, sum(weights[place] for place in group))
    assert sum(numbered[place] for place in chosen) == pytest.approx(best)
