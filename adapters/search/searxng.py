"""SearXNG, a metasearch engine that anyone can run: the whole web without a key. Gives a snippet of each page.

Its JSON is off by default and its limiter takes programs for intruders; both are told with the line to change. An
empty answer is believed only where every engine behind it answered (docs.searxng.org, Search API). How often it
is asked is the operator's to say (GORKD_SEARCH_RATES): the instance is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, Field

from adapters.search.clients import GetSearch, WebResult
from adapters.search.service import Service, Surroundings, clean_line, parse_items, shorten, with_path
from core.model.errors import ProviderError, ProviderUnavailable
from core.model.ports import ProviderStrength
from core.model.source import SearchHit, SearchQuery
from core.pipeline.limits import CallRate
from core.text.language import language_of

SERVICE = Service(
    "searxng",
    "SearXNG",
    url_variable="SEARXNG_BASE_URL",
    needs="an instance's address in SEARXNG_BASE_URL",
    rate=CallRate(30, 10.0, burst=15),  # an instance of one's own; the engines behind it suspend who asks more
    hints={
        403: "at SEARXNG_BASE_URL JSON is switched off: add `json` to `search.formats` in its settings.yml",
        429: "its limiter allows programs four searches an hour: let this machine pass with "
        "`botdetection.ip_lists.pass_ip` in its limiter.toml, or set `server.limiter: false` in its settings.yml; "
        "where no limiter is on, lower its rate in GORKD_SEARCH_RATES",
    },
)
API_PATH = "/search"
MAX_PAGES = 2  # of results; one has ten or more, and each asks all engines again
MAX_QUERY_CHARS = 400  # what the engines behind it take
MAX_SITES = 4  # named in a query; engines ignore longer lists
MAX_ENGINES = 5  # named in an error
_CATEGORIES = {"news": "news", "academic": "general,science"}


def build(env: Mapping[str, str], around: Surroundings) -> SearxngSearch | None:
    """None without an address: there is no instance that everybody may ask."""
    url = SERVICE.address(env)
    return SearxngSearch(url, around) if url else None


class SearxngSearch(GetSearch):
    """`base_url` is the instance's address, with its path where it has one."""

    service = SERVICE
    strength: ProviderStrength = "factual"

    def __init__(self, base_url: str, around: Surroundings) -> None:
        super().__init__(with_path(base_url.removesuffix(API_PATH), "") + API_PATH, around)

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        text = shorten(query.text, MAX_QUERY_CHARS)
        found = await self._page(query, text, 1)
        for number in range(2, MAX_PAGES + 1):
            if not found or len(found) >= limit:
                break
            found += await self._more(query, text, number)
        return found

    async def _more(self, query: SearchQuery, text: str, number: int) -> list[SearchHit]:
        """A further page; that it cannot be had costs nothing of what is there."""
        try:
            return await self._page(query, text, number)
        except ProviderError:
            return []

    async def _page(self, query: SearchQuery, text: str, number: int) -> list[SearchHit]:
        answer = await self._api.ask(_SearxngAnswer, self._url, _parameters(query, text, number))
        boxes = [box for box in answer.infoboxes if isinstance(box, dict) and isinstance(box.get("id"), str)]
        results = [*parse_items(SERVICE, WebResult, answer.results), *parse_items(SERVICE, _InfoBox, boxes)]
        if not results and answer.unresponsive_engines and number == 1:
            raise _silent(answer.unresponsive_engines)
        return [result.hit(SERVICE) for result in results]


def _parameters(query: SearchQuery, text: str, number: int) -> dict[str, str]:
    filters = query.filters
    sites = [f"site:{domain}" for domain in filters.include_domains[:MAX_SITES]]
    parameters = {
        "q": f"{text} {' OR '.join(sites)}".strip(),
        "format": "json",
        "language": language_of(query.text) or filters.language or "en",
        "pageno": str(number),
    }
    if filters.recency != "any":
        parameters["time_range"] = filters.recency
    if filters.content_type in _CATEGORIES:
        parameters["categories"] = _CATEGORIES[filters.content_type]
    return parameters


def _silent(engines: Sequence[object]) -> ProviderUnavailable:
    """For an answer without results where engines are missing: nobody knows what they would have found."""
    named: list[str] = []
    for engine in engines[:MAX_ENGINES]:
        words = [part for part in engine if isinstance(part, str)] if isinstance(engine, list) else []
        named.append(clean_line(": ".join(words))[:80] or "one without a name")
    reason = f"nothing found, and {len(engines)} of its engines did not answer ({', '.join(named)})"
    return ProviderUnavailable(
        SERVICE.name,
        reason,
        operator_message=f"SearXNG: {reason}; its page /stats says more, and settings.yml switches other engines on.",
        plain="its engines did not answer",
    )


class _SearxngAnswer(BaseModel):
    results: list[object]
    infoboxes: list[object] = []
    unresponsive_engines: list[object] = []


class _InfoBox(WebResult):
    """What an encyclopedia says of the subject; `id` is the article's address."""

    url: str = Field(alias="id")
    title: str = Field(default="", alias="infobox")
