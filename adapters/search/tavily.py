"""Tavily through its own SDK: the default for facts. Gives an extract of each page, not the page."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from adapters.search.faults import deadline, status_error
from adapters.search.gate import Gate, Rate
from adapters.search.hits import parse_answer, parse_items, parse_time, tidy
from adapters.search.sdk import Manners, our_errors
from adapters.search.settings import (
    DEFAULT_LIMITS,
    Access,
    ApiKey,
    Surroundings,
    TimeLimits,
    WebAddress,
    is_public,
    read_settings,
)
from core.job import Scope
from core.ports import ProviderStrength
from core.source import SearchHit, SearchQuery

if TYPE_CHECKING:
    import httpx
    from tavily import AsyncTavilyClient

ACCESS = Access("tavily", "Tavily", url_variable="TAVILY_BASE_URL", key_variable="TAVILY_API_KEY")
RATE = Rate(calls=100, period_s=60)  # of a development key (docs.tavily.com, rate limits)
MAX_QUERY_CHARS = 400  # a longer one is refused with 400 (docs.tavily.com, /search)
MAX_RESULTS = 20  # ditto


class TavilySettings(BaseModel):
    api_key: ApiKey | None = Field(default=None, alias="TAVILY_API_KEY")
    base_url: WebAddress = Field(default="https://api.tavily.com", alias="TAVILY_BASE_URL")


def build(env: Mapping[str, str], around: Surroundings) -> TavilySearch | None:
    """None without a key: the SDK would silently go on as an anonymous caller. Raises `SetupError`."""
    settings = read_settings(TavilySettings, env)
    if settings.api_key is None:
        return None
    key, proxy = settings.api_key.get_secret_value(), around.proxies.of(settings.base_url)
    return TavilySearch(key, base_url=settings.base_url, limits=around.limits, proxy=proxy)


class TavilySearch:
    name = ACCESS.name
    strength: ProviderStrength = "factual"

    def __init__(
        self, api_key: str, *, base_url: str, limits: TimeLimits = DEFAULT_LIMITS, proxy: str | None = None
    ) -> None:
        if not api_key:
            raise ValueError("Tavily needs a key")
        self._api_key = api_key
        self._base_url = base_url
        self._limits = limits
        self._proxy = proxy
        self._gate = Gate(ACCESS, RATE if is_public(base_url, "tavily.com") else None)
        self._http: httpx.AsyncClient | None = None
        self._client: AsyncTavilyClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        if limit < 1 or not query.text.strip():
            return []
        async with deadline(ACCESS, self._limits.search_s):
            await self._gate.turn()
            answer = parse_answer(ACCESS, _Answer, await self._ask(query, min(limit, MAX_RESULTS)))
        results = parse_items(ACCESS, _Result, answer.results)
        return tidy((_hit(result) for result in results), limit=limit, filters=query.filters)

    async def warm_up(self) -> None:
        """Import the SDK, so that the first question need not."""
        await self._open()

    async def aclose(self) -> None:
        http, self._http, self._client = self._http, None, None
        if http is not None:
            await http.aclose()

    async def _ask(self, query: SearchQuery, limit: int) -> object:
        client = await self._open()
        import httpx
        from tavily import errors

        filters = query.filters
        with our_errors(ACCESS, self._gate):
            try:
                answer: object = await client.search(
                    _shorten(query.text),
                    topic="news" if filters.content_type == "news" else "general",
                    time_range=None if filters.recency == "any" else filters.recency,
                    max_results=limit,
                    include_domains=list(filters.include_domains) or None,
                    exclude_domains=list(filters.exclude_domains) or None,
                    timeout=self._limits.search_s,
                )
            except errors.TimeoutError as exc:  # it hides httpx's own, which tells connecting from waiting
                if isinstance(exc.__context__, httpx.TimeoutException):
                    raise exc.__context__ from exc
                raise httpx.ReadTimeout(str(exc)) from exc
            except errors.BadRequestError as exc:
                raise status_error(ACCESS, 400, detail=str(exc)[:200]) from exc
            except _refusals() as exc:  # not reached while the hooks judge statuses first
                raise status_error(ACCESS, 403, detail=type(exc).__name__) from exc
        return answer

    async def _open(self) -> AsyncTavilyClient:
        """One client a loop. The import takes a fifth of a second, so a thread does it."""
        await asyncio.to_thread(importlib.import_module, "tavily")
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._http, self._client = _connect(self._api_key, self._base_url, self._proxy)
            Manners(ACCESS, self._gate, self._limits, is_proxied=self._proxy is not None).teach(self._http)
            self._loop = loop
        return self._client


class _Answer(BaseModel):
    results: list[object]


class _Result(BaseModel):
    url: str
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


def _hit(result: _Result) -> SearchHit:
    return SearchHit(
        provider=ACCESS.name,
        url=result.url,
        title=result.title or "",
        text=result.content or "",
        published_at=parse_time(result.published_date),
    )


def _connect(api_key: str, base_url: str, proxy: str | None) -> tuple[httpx.AsyncClient, AsyncTavilyClient]:
    import httpx
    from tavily import AsyncTavilyClient

    http = httpx.AsyncClient(base_url=base_url, proxy=proxy, trust_env=False)
    return http, AsyncTavilyClient(api_key=api_key, api_base_url=base_url, client=http)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= MAX_QUERY_CHARS:
        return text
    return text[:MAX_QUERY_CHARS].rsplit(" ", 1)[0]


def _refusals() -> tuple[type[Exception], ...]:
    from tavily import errors

    return (
        errors.UsageLimitExceededError,
        errors.ForbiddenError,
        errors.InvalidAPIKeyError,
        errors.MissingAPIKeyError,
        errors.KeylessUnsupportedEndpointError,
    )
