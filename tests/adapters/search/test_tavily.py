"""Tavily through its SDK: what is asked of it and what becomes of its answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from adapters.search.service import Surroundings
from adapters.search.tavily import MAX_QUERY_CHARS, TavilySearch, build
from core.model.errors import SetupError
from core.model.job import LOCAL
from core.model.source import SearchFilters, SearchQuery
from tests.loopback.search_corpus import Document
from tests.loopback.search_world import SearchWorld

TIDES = Document("https://tides.test/moon", "Tides", "The moon raises the tides of the sea.")
NEAP = Document("https://neap.test/moon", "Neap tides", "Neap tides follow the quarter moon.")


def make_tavily(world: SearchWorld) -> TavilySearch:
    tavily = build(world.env("tavily"), Surroundings())
    assert tavily is not None
    return tavily


async def test_a_result_becomes_a_hit_with_its_extract() -> None:
    """The extract is not the page, so the page is still to be read (S003-09)."""
    async with SearchWorld([TIDES]) as world:
        tavily = make_tavily(world)

        hits = await tavily.search(SearchQuery("what raises tides"), limit=5, scope=LOCAL)

        await tavily.aclose()
    assert [(hit.url, hit.title, hit.text, hit.is_complete) for hit in hits] == [
        (TIDES.url, "Tides", TIDES.text, False)
    ]


async def test_filters_reach_the_service() -> None:
    """Recency, news and domains are Tavily's own parameters (S003-07)."""
    filters = SearchFilters(
        recency="week", include_domains=("neap.test",), exclude_domains=("tides.test",), content_type="news"
    )
    async with SearchWorld([TIDES, NEAP]) as world:
        tavily = make_tavily(world)

        hits = await tavily.search(SearchQuery("tides", filters), limit=3, scope=LOCAL)

        await tavily.aclose()
        asked = json.loads(world.asked[0].body)
    assert [hit.url for hit in hits] == [NEAP.url]
    assert hits[0].published_at == datetime(2024, 5, 17, tzinfo=UTC)
    assert {key: asked[key] for key in ("time_range", "topic", "max_results")} == {
        "time_range": "week",
        "topic": "news",
        "max_results": 3,
    }
    assert (asked["include_domains"], asked["exclude_domains"]) == (["neap.test"], ["tides.test"])


async def test_a_long_question_is_cut_at_a_word_before_it_is_refused() -> None:
    """Tavily refuses queries over 400 characters; gorkd takes questions of up to 1999 (S003-01)."""
    async with SearchWorld([TIDES]) as world:
        tavily = make_tavily(world)

        hits = await tavily.search(SearchQuery("tides and the moon " * 100), limit=3, scope=LOCAL)

        await tavily.aclose()
        asked = json.loads(world.asked[0].body)
    assert len(hits) == 1
    assert len(asked["query"]) <= MAX_QUERY_CHARS
    assert asked["query"].split()[-1] in {"tides", "and", "the", "moon"}


def test_without_a_key_there_is_no_tavily(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK would go on without a key, and read the process's own environment for one."""
    monkeypatch.setenv("TAVILY_API_KEY", "from-the-process")

    built = build({"TAVILY_API_KEY": "  "}, Surroundings())

    assert built is None


@pytest.mark.parametrize(
    ("env", "named"),
    [
        pytest.param({"TAVILY_API_KEY": "tvly-ключ"}, "TAVILY_API_KEY", id="key not ASCII"),
        pytest.param({"TAVILY_API_KEY": "tvly a b"}, "TAVILY_API_KEY", id="key with spaces"),
        pytest.param({"TAVILY_API_KEY": "k", "TAVILY_BASE_URL": "ftp://x"}, "TAVILY_BASE_URL", id="not http"),
        pytest.param({"TAVILY_API_KEY": "k", "TAVILY_BASE_URL": "api.tavily.com"}, "TAVILY_BASE_URL", id="no scheme"),
        pytest.param({"TAVILY_API_KEY": "k", "TAVILY_BASE_URL": "http://[::1"}, "TAVILY_BASE_URL", id="broken"),
    ],
)
def test_wrong_settings_name_their_variable_and_not_the_key(env: dict[str, str], named: str) -> None:
    """An operator reads which variable to mend; a secret is in no message."""
    with pytest.raises(SetupError) as caught:
        build(env, Surroundings())

    assert named in str(caught.value)
    assert "tvly" not in str(caught.value)
