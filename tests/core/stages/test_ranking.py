"""Which sources are kept, in which order, and that every score means what it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.job import QueryIntent, QuestionType
from core.model.source import Source, SourceKind
from core.model.works import Notice
from core.stages.ranking import Candidate, coverage_of, rank_sources
from tests.fakes import NOW, make_source

QUESTION = "What causes the tides of the ocean?"
FACTUAL = QueryIntent(QuestionType.FACTUAL)
CURRENT = QueryIntent(QuestionType.CURRENT_EVENT)
ANSWER = "The tides of the ocean are caused by the gravity of the Moon and of the Sun, which pull at the water. "
OTHER = "The harbour office opens at nine in the morning and closes at five in the evening on every working day. "


def candidate(
    number: int, content: str = ANSWER * 20, *, rank: int = 0, mentions: int = 1, **more: object
) -> Candidate:
    return Candidate(make_source(number, f"{content} {number}", **more), rank, mentions)  # type: ignore[arg-type]


def ranked(
    *candidates: Candidate, intent: QueryIntent = FACTUAL, similarities: dict[str, float] | None = None, **limits: int
) -> list[Source]:
    limits = {"max_sources": 10, "max_per_domain": 3} | limits
    return rank_sources(candidates, QUESTION, intent, now=NOW, similarities=similarities, **limits)


WORDS = st.lists(st.sampled_from("tides ocean Moon causes water harbour of the is gravity 月 海.".split()), max_size=30)
CANDIDATES = st.lists(
    st.builds(
        lambda words, site, rank, mentions, kind, age, is_extract: Candidate(
            replace(
                make_source(
                    1,
                    " ".join(words),
                    url=f"https://site{site}.example/{len(words)}-{rank}",
                    kind=kind,
                    published_at=None if age is None else NOW - timedelta(days=age),
                ),
                extract_of_page="too large" if is_extract else "",
            ),
            rank,
            mentions,
        ),
        WORDS,
        st.integers(0, 4),
        st.integers(0, 9),
        st.integers(1, 4),
        st.sampled_from(list(SourceKind)),
        st.none() | st.integers(-400, 9000),
        st.booleans(),
    ),
    max_size=20,
)


@given(CANDIDATES, st.sampled_from(list(QuestionType)), st.integers(1, 12), st.integers(1, 4))
def test_ranking_keeps_the_set(candidates: list[Candidate], kind: QuestionType, most: int, per_domain: int) -> None:
    """S003-11: some of the candidates, none twice, within both limits, numbered in order; scores 0…1 and falling."""
    kept = ranked(*candidates, intent=QueryIntent(kind), max_sources=most, max_per_domain=per_domain)

    given_texts = {(entry.source.url, entry.source.content) for entry in candidates}
    assert {(source.url, source.content) for source in kept} <= given_texts
    assert len({source.content_hash for source in kept}) == len(kept) <= most
    assert all(count <= per_domain for count in Counter(source.metadata.domain for source in kept).values())
    assert [source.id for source in kept] == [f"src_{number}" for number in range(1, len(kept) + 1)]
    totals = [source.scores.total for source in kept]
    assert totals == sorted(totals, reverse=True)
    for scores in (source.scores for source in kept):
        parts = (scores.relevance, scores.authority, scores.recency, scores.quality)
        assert all(0 <= part <= 1 for part in parts)
        assert min(parts) - 1e-9 <= scores.total <= max(parts) + 1e-9


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(candidates: list[Candidate], random: object) -> None:
    """Deterministic: the same sources in any order give the same ranking (of different addresses)."""
    unique = list(
        {entry.source.url: entry for entry in {e.source.content_hash: e for e in candidates}.values()}.values()
    )
    shuffled = list(unique)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert ranked(*unique) == ranked(*shuffled)


@pytest.mark.parametrize(
    "intent", [QueryIntent(kind) for kind in QuestionType], ids=lambda intent: intent.question_type
)
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(candidate(2), candidate(1, OTHER * 10 + "Tides. " + OTHER * 10), id="relevance"),
        pytest.param(candidate(2, rank=0), candidate(1, rank=8), id="the provider's order"),
        pytest.param(candidate(2, mentions=3), candidate(1, mentions=1), id="several providers"),
        pytest.param(candidate(2, kind=SourceKind.OFFICIAL), candidate(1, kind=SourceKind.FORUM), id="authority"),
        pytest.param(
            candidate(2, published_at=NOW - timedelta(days=1)),
            candidate(1, published_at=NOW - timedelta(days=2000)),
            id="recency",
        ),
        pytest.param(candidate(2, ANSWER * 20), candidate(1, ANSWER.strip()), id="length"),
    ],
)
def test_all_else_equal_the_better_source_wins(intent: QueryIntent, better: Candidate, worse: Candidate) -> None:
    """S003-11: relevance, authority, recency and quality each count, whatever is asked."""
    first, second = ranked(worse, better, intent=intent)

    assert first.url == better.source.url
    assert first.scores.total > second.scores.total


def test_relevance_outweighs_standing() -> None:
    """An authority on something else helps nobody."""
    off_topic = candidate(1, OTHER * 20, kind=SourceKind.OFFICIAL, published_at=NOW)

    assert ranked(off_topic, candidate(2, kind=SourceKind.UNKNOWN))[0].url == "https://site2.example/page"


def test_kinds_of_publishers_are_ordered() -> None:
    """Official before standards before peer-reviewed … before forums."""
    one_of_each = [candidate(number, kind=kind) for number, kind in enumerate(SourceKind)]

    kept = ranked(*reversed(one_of_each))

    assert [source.metadata.kind for source in kept] == list(SourceKind)


def test_news_fades_within_weeks_and_explanations_within_years() -> None:
    """S003-05, S003-11: a month is old for an event and nothing for an explanation."""
    a_month_ago = candidate(1, published_at=NOW - timedelta(days=30))

    (event,), (explanation,) = (
        ranked(a_month_ago, intent=QueryIntent(kind)) for kind in (QuestionType.CURRENT_EVENT, QuestionType.EXPLANATION)
    )

    assert event.scores.recency < 0.2
    assert explanation.scores.recency > 0.95


@pytest.mark.parametrize(
    "published_at",
    [
        pytest.param(None, id="none"),
        pytest.param(NOW + timedelta(days=900), id="in the future"),
    ],
)
def test_a_date_that_says_nothing_is_neither_fresh_nor_old(published_at: datetime | None) -> None:
    """A page cannot make itself new by a date that has not come."""
    unknown, fresh, old = ranked(
        candidate(1, published_at=published_at),
        candidate(2, published_at=NOW),
        candidate(3, published_at=NOW - timedelta(days=9000)),
        intent=CURRENT,
    )[0:3]

    scores = {source.url: source.scores.recency for source in (unknown, fresh, old)}
    assert (
        scores["https://site3.example/page"]
        < scores["https://site1.example/page"]
        < scores["https://site2.example/page"]
    )


def test_a_date_without_a_zone_is_taken_as_utc() -> None:
    (source,) = ranked(candidate(1, published_at=NOW.replace(tzinfo=None)), intent=CURRENT)

    assert source.scores.recency == 1.0


@pytest.mark.parametrize(
    ("content", "low", "high"),
    [
        pytest.param("", 0.0, 0.0, id="empty"),
        pytest.param("Tides.", 0.0, 0.1, id="a word"),
        pytest.param(
            "The tides of the ocean are caused by the gravity of the Moon and the Sun.", 0.0, 0.2, id="a line"
        ),
        pytest.param("Home\nAbout\nTides\nContact\n" * 40, 0.0, 0.65, id="a menu"),
        pytest.param(ANSWER * 20, 0.95, 1.0, id="prose"),
        pytest.param("海洋的潮汐是由月球和太阳的引力引起的，每天涨落两次，" * 20, 0.95, 1.0, id="Chinese prose"),
    ],
)
def test_quality_is_enough_text_in_sentences(content: str, low: float, high: float) -> None:
    """A text that cannot carry an answer scores low, in scripts without blanks too."""
    (source,) = ranked(Candidate(make_source(1, content)))

    assert low <= source.scores.quality <= high


def test_an_extract_is_worth_less_than_the_page() -> None:
    page = candidate(1).source

    whole, extract = ranked(Candidate(replace(page, extract_of_page="HTTP 403", content_hash="b")), Candidate(page))

    assert extract.extract_of_page
    assert extract.scores.quality < whole.scores.quality


def test_meaning_counts_where_it_is_known() -> None:
    """With an embedder, a source that means the question passes one that only shares its words."""
    one, other = candidate(1), candidate(2)
    similarities = {one.source.url: 0.1, other.source.url: 0.9}

    assert ranked(one, other, similarities=similarities)[0].url == other.source.url


def test_local_files_are_not_limited_by_domain() -> None:
    files = [
        candidate(number, url=f"file:///docs/{number}.md", kind=SourceKind.LOCAL, domain="") for number in range(8)
    ]

    kept = ranked(*files)

    assert len(kept) == 8


def test_hosts_of_one_owner_share_their_places() -> None:
    """S003-11: `blog.` and `news.` of one domain are one voice."""
    same_owner = [candidate(number, url=f"https://part{number}.example.com/x") for number in range(6)]

    assert len(ranked(*same_owner)) == 3


@pytest.mark.parametrize(
    ("content", "low", "high"),
    [
        pytest.param("The tides of the ocean have their causes in the Moon.", 1.0, 1.0, id="everything in one passage"),
        pytest.param("The tides of the ocean.\n\nThe causes of war.", 0.5, 0.99, id="in two passages"),
        pytest.param("A page about tax.", 0.0, 0.0, id="nothing"),
        pytest.param("", 0.0, 0.0, id="no text"),
    ],
)
def test_coverage_is_the_share_of_the_question_in_the_best_passage(content: str, low: float, high: float) -> None:
    (coverage,) = coverage_of([make_source(1, content)], QUESTION)

    assert low - 1e-9 <= coverage <= high + 1e-9


def test_what_was_retracted_ranks_last() -> None:
    """Whatever else speaks for it: it supports nothing (D18)."""
    notice = Notice("retraction", "https://doi.org/10.1000/n")
    retracted = candidate(1, kind=SourceKind.PEER_REVIEWED, notices=(notice,), cited_by=900, published_at=NOW)

    kept = ranked(retracted, candidate(2, OTHER * 20, kind=SourceKind.FORUM, rank=9))

    assert [source.url for source in kept] == ["https://site2.example/page", "https://site1.example/page"]
    assert kept[1].scores.total == 0


def test_among_papers_of_one_age_the_much_cited_one_wins_and_age_is_minded() -> None:
    """Ten citations in a year say more than ten in twenty; no number of them makes a preprint a review."""
    year, long_ago = NOW - timedelta(days=365), NOW - timedelta(days=20 * 365)
    paper = SourceKind.PEER_REVIEWED

    def trust(published_at: datetime | None, cited_by: int | None, kind: SourceKind = paper) -> float:
        (source,) = ranked(candidate(1, kind=kind, published_at=published_at, cited_by=cited_by))
        return source.scores.authority

    assert trust(year, 100) > trust(year, 10) > trust(year, 0) == trust(year, None)
    assert trust(year, 10) > trust(long_ago, 10)
    assert trust(None, 100) == trust(None, None)
    assert trust(year, 10**6, SourceKind.PREPRINT) < trust(year, 0)
