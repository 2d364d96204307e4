"""arXiv: abstracts of preprints, politely."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from adapters.search.arxiv import SERVICE, ArxivSearch
from adapters.search.clients import Gate
from adapters.search.service import Surroundings
from core.model.errors import ProviderRateLimited, ProviderRejected
from core.model.job import LOCAL
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.model.works import WorkIds
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

NO_FILTERS = SearchFilters()
NOW = datetime(2024, 6, 1, 12, 30, tzinfo=UTC)
PREPRINT = Document(
    "https://arxiv.org/abs/2405.01234",
    "Surface codes on hexagonal lattices",
    "We study surface codes.  A threshold of 1 % is found.",
    author="A. Moore, B. Lee, C. Roe, D. Yu",
    id="2405.01234",
)


async def ask(world: SearchWorld, question: str, *, filters: SearchFilters = NO_FILTERS) -> list[SearchHit]:
    arxiv = ArxivSearch(world.base_url("arxiv"), Surroundings(clock=lambda: NOW))
    try:
        return list(await arxiv.search(SearchQuery(question, filters), limit=5, scope=LOCAL))
    finally:
        await arxiv.aclose()


async def test_an_entry_becomes_an_abstract_on_the_page_of_all_versions() -> None:
    """Wrapped titles are joined, many authors shortened (S003-10)."""
    async with SearchWorld([PREPRINT]) as world:
        hits = await ask(world, "What are surface codes?")

    assert hits == [
        SearchHit(
            provider="arxiv",
            url="https://arxiv.org/abs/2405.01234",
            title="Surface codes on hexagonal lattices",
            text="We study surface codes. A threshold of 1 % is found.",
            is_complete=True,
            published_at=PREPRINT.published_at,
            author="A. Moore, B. Lee, C. Roe et al.",
            kind=SourceKind.PREPRINT,
            ids=WorkIds(arxiv="2405.01234"),
        )
    ]


async def test_an_old_style_id_keeps_its_archive() -> None:
    """Ids before 2007 have a slash."""
    async with SearchWorld([Document("https://x.test/", "Strings", "Strings.", id="hep-th/9901001")]) as world:
        hits = await ask(world, "strings")

    assert [hit.url for hit in hits] == ["https://arxiv.org/abs/hep-th/9901001"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What are surface codes?", 'all:"surface" AND all:"codes"'),
        (
            "How do surface codes help gardening?",
            'all:"surface" OR all:"codes" OR all:"help" OR all:"gardening"',
        ),
    ],
    ids=["few words", "many words"],
)
async def test_few_words_are_all_wanted_of_many_any(question: str, expected: str) -> None:
    """One request has to do: there is no time for a second look three seconds later."""
    async with SearchWorld([PREPRINT]) as world:
        hits = await ask(world, question)

        searches = [asked.parameters["search_query"] for asked in world.asked]
    assert [hit.title for hit in hits] == [PREPRINT.title]
    assert searches == [expected]


async def test_recency_is_a_range_of_submission() -> None:
    """In arXiv's own form, GMT to the minute."""
    async with SearchWorld([PREPRINT]) as world:
        await ask(world, "codes", filters=SearchFilters(recency="week"))

        asked = world.asked[0].parameters["search_query"]
    assert asked == '(all:"codes") AND submittedDate:[202405251230 TO 202406011230]'


async def test_an_error_in_the_feed_is_a_refusal() -> None:
    """arXiv sends errors as entries, with status 200 too."""
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#x</id>
<summary>incorrect query</summary></entry></feed>"""
    async with SearchWorld([PREPRINT], faults={"arxiv": Fault(body=body)}) as world:
        with pytest.raises(ProviderRejected, match="incorrect query"):
            await ask(world, "codes")


async def test_a_search_within_three_seconds_of_another_is_refused_at_once() -> None:
    """arXiv's terms; the question goes on without it (S003-08)."""
    gate = Gate(SERVICE, SERVICE.rate)
    await gate.turn()

    async with asyncio.timeout(0.5):
        with pytest.raises(ProviderRateLimited) as caught:
            await gate.turn()

    assert caught.value.retry_after_s == 3.0
