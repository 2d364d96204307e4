"""SearXNG: what is asked of an instance, and what its ways of refusing are told as."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from adapters.doctor import search_probe
from core.model.errors import ProviderError, ProviderRateLimited, ProviderRejected, ProviderUnavailable, SetupError
from core.model.job import LOCAL
from core.model.source import SearchFilters, SearchQuery
from core.pipeline.checkup import examine
from tests.adapters.search.making import CORPUS, QUERY, ask_failing, provider
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import Asked, SearchWorld

EMPTY = {"query": "x", "number_of_results": 0, "results": [], "answers": [], "infoboxes": [], "suggestions": []}


async def asked_for(query: SearchQuery, *, limit: int = 3) -> list[Asked]:
    async with SearchWorld(CORPUS) as world, provider("searxng", world.env("searxng")) as searched:
        await searched.search(query, limit=limit, scope=LOCAL)
        return world.asked


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(SearchQuery("why do tides rise"), {"language": "en", "pageno": "1"}, id="plain"),
        pytest.param(SearchQuery("Warum steigt die Flut an der Küste?"), {"language": "de"}, id="language"),
        pytest.param(SearchQuery("Flut Küste", SearchFilters(language="de")), {"language": "de"}, id="question's"),
        pytest.param(SearchQuery("tides", SearchFilters(recency="week")), {"time_range": "week"}, id="time range"),
        pytest.param(SearchQuery("tides", SearchFilters(content_type="news")), {"categories": "news"}, id="news"),
        pytest.param(
            SearchQuery("tides", SearchFilters(include_domains=("tides.test", "a.test"))),
            {"q": "tides site:tides.test OR site:a.test"},
            id="sites",
        ),
    ],
)
async def test_what_an_instance_is_asked(query: SearchQuery, expected: dict[str, str]) -> None:
    """N-06, S003-08: JSON in the question's language, with its time range and sites."""
    asked = await asked_for(query)

    assert asked[0].parameters.items() >= {"format": "json", **expected}.items()
    assert "time_range" not in asked[0].parameters or "time_range" in expected


async def test_a_second_page_is_asked_for_where_one_is_too_short() -> None:
    """Ten results a page; a third is never asked for."""
    asked = await asked_for(SearchQuery("tides"), limit=25)

    assert [one.parameters["pageno"] for one in asked] == ["1", "2"]


async def test_the_operators_own_host_needs_no_permission() -> None:
    """N-06: the named instance may be on this machine or in its network; what it finds there may not be opened."""
    async with SearchWorld(CORPUS) as world, provider("searxng", world.env("searxng")) as searched:
        host = urlsplit(world.base_url("searxng")).hostname
        hits = await searched.search(QUERY, limit=3, scope=LOCAL)

    assert host == "127.0.0.1"
    assert hits[0].title == "Why tides rise"


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        pytest.param(Fault(status=403, body=b"Forbidden"), ProviderRejected, "search.formats", id="JSON is off"),
        pytest.param(Fault(status=429, body=b"Too Many"), ProviderRateLimited, "botdetection.ip_lists", id="limiter"),
        pytest.param(
            Fault(
                body=json.dumps(
                    EMPTY | {"unresponsive_engines": [["brave", "Suspended: too many requests"], ["google", "CAPTCHA"]]}
                ).encode()
            ),
            ProviderUnavailable,
            "brave: Suspended: too many requests, google: CAPTCHA",
            id="engines are silent",
        ),
    ],
)
async def test_each_way_of_refusing_is_told_with_what_to_change(
    fault: Fault, kind: type[ProviderError], says: str
) -> None:
    """S003-23: `gorkd doctor` prints the line; nothing found is no longer taken for nothing there."""
    async with (
        SearchWorld(CORPUS, faults={"searxng": fault}) as world,
        provider("searxng", world.env("searxng")) as searched,
    ):
        with pytest.raises(kind):
            await searched.search(QUERY, limit=3, scope=LOCAL)
        (finding,) = await examine([search_probe(searched)])

    assert finding.state == "failed"
    assert says in finding.says


async def test_an_empty_answer_of_engines_that_all_answered_is_believed() -> None:
    """D11: nothing found is an answer."""
    body = json.dumps(EMPTY | {"unresponsive_engines": []}).encode()

    assert await ask_failing("searxng", Fault(body=body)) == []


@pytest.mark.parametrize(
    ("box", "found"),
    [
        pytest.param({"infobox": "Tide", "id": "https://wiki.test/Tide", "content": "Rise and fall."}, 1, id="article"),
        pytest.param({"infobox": "Tide", "content": "Rise and fall.", "urls": []}, 0, id="without address"),
        pytest.param("Tide", 0, id="rubbish"),
    ],
)
async def test_an_article_that_stands_beside_the_results_is_one(box: object, found: int) -> None:
    """The engines for encyclopedias answer with an infobox alone."""
    hits = await ask_failing("searxng", Fault(body=json.dumps(EMPTY | {"infoboxes": [box]}).encode()))

    assert [(hit.title, hit.text) for hit in hits] == [("Tide", "Rise and fall.")] * found


async def test_it_is_off_without_an_address_and_named_without_one_refused() -> None:
    """No instance of strangers is asked by default."""
    with pytest.raises(SetupError, match="SEARXNG_BASE_URL"):
        async with provider("searxng", {}):
            pass


async def test_dates_are_kept() -> None:
    """S003-10: what an engine tells of a page's age."""
    dated = [replace(document) for document in CORPUS]
    async with SearchWorld(dated) as world, provider("searxng", world.env("searxng")) as searched:
        (hit, *_) = await searched.search(QUERY, limit=1, scope=LOCAL)

    assert hit.published_at == dated[0].published_at
