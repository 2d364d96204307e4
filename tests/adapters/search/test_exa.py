"""Exa through its SDK: what is asked of it and what becomes of its answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from adapters.search.exa import ExaSearch, build
from adapters.search.service import Surroundings
from core.model.errors import ProviderRejected
from core.model.job import LOCAL
from core.model.source import ContentType, Recency, SearchFilters, SearchQuery
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import EXA_KEY, SearchWorld

NOW = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)
OLD = Document("https://old.test/tides", "Old tides", "tides", published_at=datetime(2020, 1, 1, tzinfo=UTC))
NEW = Document("https://new.test/tides", "New tides", "tides", published_at=datetime(2024, 5, 30, tzinfo=UTC))


def make_exa(world: SearchWorld) -> ExaSearch:
    return ExaSearch(EXA_KEY, world.base_url("exa"), Surroundings(clock=lambda: NOW))


async def test_a_result_becomes_a_hit_without_text() -> None:
    """Contents are neither asked for nor paid for; the page is read afterwards (S003-09)."""
    async with SearchWorld([NEW]) as world:
        exa = make_exa(world)

        hits = await exa.search(SearchQuery("why tides"), limit=5, scope=LOCAL)

        await exa.aclose()
        asked = json.loads(world.asked[0].body)
    assert "contents" not in asked
    assert [(hit.url, hit.title, hit.text, hit.is_complete, hit.author, hit.published_at) for hit in hits] == [
        (NEW.url, "New tides", "", False, "Ada Moore", NEW.published_at)
    ]


@pytest.mark.parametrize(
    ("recency", "since"),
    [("day", "2024-05-31"), ("week", "2024-05-25"), ("month", "2024-05-01"), ("year", "2023-06-01")],
)
async def test_recency_is_counted_back_from_now(recency: Recency, since: str) -> None:
    """Exa knows dates, not spans (S003-05)."""
    async with SearchWorld([NEW, OLD]) as world:
        exa = make_exa(world)

        hits = await exa.search(SearchQuery("tides", SearchFilters(recency=recency)), limit=5, scope=LOCAL)

        await exa.aclose()
        asked = json.loads(world.asked[0].body)
    assert asked["startPublishedDate"].startswith(since)
    assert OLD.url not in {hit.url for hit in hits}


@pytest.mark.parametrize(
    ("content_type", "category"), [("news", "news"), ("academic", "publication"), ("general", None)]
)
async def test_the_kind_of_content_is_exas_category(content_type: ContentType, category: str | None) -> None:
    """S003-07."""
    filters = SearchFilters(include_domains=("new.test",), exclude_domains=("old.test",), content_type=content_type)
    async with SearchWorld([NEW, OLD]) as world:
        exa = make_exa(world)

        hits = await exa.search(SearchQuery("tides", filters), limit=5, scope=LOCAL)

        await exa.aclose()
        asked = json.loads(world.asked[0].body)
    assert asked.get("category") == category
    assert (asked["includeDomains"], asked["excludeDomains"]) == (["new.test"], ["old.test"])
    assert [hit.url for hit in hits] == [NEW.url]


async def test_a_refused_query_says_why_in_the_log() -> None:
    """The service's own words on a 400."""
    fault = Fault(status=400, body=b'{"error": "numResults too large"}')
    async with SearchWorld([NEW], faults={"exa": fault}) as world:
        exa = make_exa(world)

        with pytest.raises(ProviderRejected, match="numResults too large"):
            await exa.search(SearchQuery("tides"), limit=5, scope=LOCAL)

        await exa.aclose()


def test_without_a_key_there_is_no_exa(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK would read the process's own environment."""
    monkeypatch.setenv("EXA_API_KEY", "from-the-process")

    built = build({}, Surroundings())

    assert built is None
