"""Tavily through its own SDK: the default for facts. Gives an extract of each page, not the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel

from adapters.search.clients import OnlineSearch, VendorClient, WebResult
from adapters.search.service import Service, Surroundings, parse_answer, parse_items, shorten, status_error
from core.model.ports import ProviderStrength
from core.model.source import SearchHit, SearchQuery
from core.pipeline.limits import CallRate

if TYPE_CHECKING:
    import httpx
    from tavily import AsyncTavilyClient

SERVICE = Service(
    "tavily",
    "Tavily",
    url_variable="TAVILY_BASE_URL",
    key_variable="TAVILY_API_KEY",
    public="https://api.tavily.com",
    domain="tavily.com",
    rate=CallRate(100, 60.0, burst=20),  # of a development key (docs.tavily.com, rate limits)
)
MAX_QUERY_CHARS = 400  # a longer one is refused with 400 (docs.tavily.com, /search)
MAX_RESULTS = 20  # ditto


def build(env: Mapping[str, str], around: Surroundings) -> TavilySearch | None:
    """None without a key: the SDK would silently go on as an anonymous caller. Raises `SetupError`."""
    url, key = SERVICE.address(env), SERVICE.key(env)
    return TavilySearch(key, url, around) if key else None


class TavilySearch(OnlineSearch):
    service = SERVICE
    strength: ProviderStrength = "factual"

    def __init__(self, api_key: str, base_url: str, around: Surroundings) -> None:
        def connect(http: httpx.AsyncClient) -> AsyncTavilyClient:
            from tavily import AsyncTavilyClient

            return AsyncTavilyClient(api_key=api_key, api_base_url=base_url, client=http)

        self._tavily = VendorClient(SERVICE, around, base_url, module="tavily", connect=connect)
        super().__init__(self._tavily, around)

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        async with self._tavily.turn() as client:
            answer = await self._ask(client, query, min(limit, MAX_RESULTS))
        results = parse_items(SERVICE, WebResult, parse_answer(SERVICE, _TavilyAnswer, answer).results)
        return [result.hit(SERVICE) for result in results]

    async def _ask(self, client: AsyncTavilyClient, query: SearchQuery, limit: int) -> object:
        import httpx
        from tavily import errors

        filters = query.filters
        try:
            answer: object = await client.search(
                shorten(query.text, MAX_QUERY_CHARS),
                topic="news" if filters.content_type == "news" else "general",
                time_range=None if filters.recency == "any" else filters.recency,
                max_results=limit,
                include_domains=list(filters.include_domains) or None,
                exclude_domains=list(filters.exclude_domains) or None,
                timeout=self._search_s,
            )
        except errors.TimeoutError as exc:  # it hides httpx's own, which tells connecting from waiting
            if isinstance(exc.__context__, httpx.TimeoutException):
                raise exc.__context__ from exc
            raise httpx.ReadTimeout(str(exc)) from exc
        except errors.BadRequestError as exc:  # of its refusals the only one that our own does not come before
            raise status_error(SERVICE, 400, detail=str(exc)[:200]) from exc
        return answer


class _TavilyAnswer(BaseModel):
    results: list[object]
