"""Exa through its own SDK: search by meaning, for conceptual questions. Gives addresses, not texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from adapters.search.clients import OnlineSearch, VendorClient
from adapters.search.service import Service, Surroundings, parse_time, reach, shorten, status_error
from core.model.ports import ProviderStrength
from core.model.source import ContentType, SearchHit, SearchQuery
from core.pipeline.limits import CallRate

if TYPE_CHECKING:
    import httpx
    from exa_py import AsyncExa
    from exa_py.api import Category, Result

SERVICE = Service(
    "exa",
    "Exa",
    url_variable="EXA_BASE_URL",
    key_variable="EXA_API_KEY",
    public="https://api.exa.ai",
    domain="exa.ai",
    rate=CallRate(10, 1.0, burst=5),  # queries a second (docs.exa.ai, rate limits)
)
MAX_QUERY_CHARS = 2000  # a question is shorter (core/model/config.py); this bounds what a plan may add
MAX_RESULTS = 25  # of a plain key
_CATEGORIES: Mapping[ContentType, Category] = {"news": "news", "academic": "publication"}


def build(env: Mapping[str, str], around: Surroundings) -> ExaSearch | None:
    """None without a key. Raises `SetupError`."""
    url, key = SERVICE.address(env), SERVICE.key(env)
    return ExaSearch(key, url, around) if key else None


class ExaSearch(OnlineSearch):
    service = SERVICE
    strength: ProviderStrength = "conceptual"

    def __init__(self, api_key: str, base_url: str, around: Surroundings) -> None:
        def connect(http: httpx.AsyncClient) -> AsyncExa:
            from exa_py import AsyncExa

            exa = AsyncExa(api_key, api_base=base_url, timeout=around.limits.search_s)
            http.headers.update(exa.headers)
            exa._client = http  # it would make its own, which reads the environment
            return exa

        self._exa = VendorClient(SERVICE, around, base_url, module="exa_py", connect=connect)
        super().__init__(self._exa, around)

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        filters = query.filters
        span = reach(filters.recency)
        async with self._exa.turn() as client:
            try:
                response = await client.search(
                    shorten(query.text, MAX_QUERY_CHARS),
                    contents=False,  # else it sends, and bills, 10 000 characters a result
                    num_results=min(limit, MAX_RESULTS),
                    include_domains=list(filters.include_domains) or None,
                    exclude_domains=list(filters.exclude_domains) or None,
                    start_published_date=(self._clock() - span).isoformat(timespec="seconds") if span else None,
                    category=_CATEGORIES.get(filters.content_type),
                )
            except ValueError as exc:
                if "status code 400" in str(exc):  # the one refusal that is left to the client (clients.py)
                    raise status_error(SERVICE, 400, detail=str(exc)[:200]) from exc
                raise
            results: list[Result] = response.results
        return [hit for result in results if (hit := _hit(result))]


def _hit(result: Result) -> SearchHit | None:
    """None for a result whose parts are not text: the SDK passes on whatever the service sent."""
    url, title, author = result.url, result.title, result.author
    if not isinstance(url, str) or not isinstance(title, str | None) or not isinstance(author, str | None):
        return None
    published = result.published_date if isinstance(result.published_date, str) else None
    return SearchHit(
        provider=SERVICE.name, url=url, title=title or "", published_at=parse_time(published), author=author or None
    )
