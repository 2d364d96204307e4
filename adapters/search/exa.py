"""Exa through its own SDK: search by meaning, for conceptual questions. Gives addresses, not texts."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from adapters.search.faults import deadline, status_error
from adapters.search.gate import Gate, Rate
from adapters.search.hits import parse_time, tidy
from adapters.search.recency import reach
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
from core.ports import Clock, ProviderStrength
from core.source import ContentType, SearchHit, SearchQuery

if TYPE_CHECKING:
    from exa_py import AsyncExa
    from exa_py.api import Category, Result

ACCESS = Access("exa", "Exa", url_variable="EXA_BASE_URL", key_variable="EXA_API_KEY")
RATE = Rate(calls=10, period_s=1)  # queries a second (docs.exa.ai, rate limits)
MAX_QUERY_CHARS = 2000  # a question is shorter (core/config.py); this bounds what a plan may add
MAX_RESULTS = 25  # of a plain key


class ExaSettings(BaseModel):
    api_key: ApiKey | None = Field(default=None, alias="EXA_API_KEY")
    base_url: WebAddress = Field(default="https://api.exa.ai", alias="EXA_BASE_URL")


def build(env: Mapping[str, str], around: Surroundings) -> ExaSearch | None:
    """None without a key. Raises `SetupError`."""
    settings = read_settings(ExaSettings, env)
    if settings.api_key is None:
        return None
    key, proxy = settings.api_key.get_secret_value(), around.proxies.of(settings.base_url)
    return ExaSearch(key, base_url=settings.base_url, limits=around.limits, proxy=proxy)


class ExaSearch:
    name = ACCESS.name
    strength: ProviderStrength = "conceptual"

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str,
        limits: TimeLimits = DEFAULT_LIMITS,
        proxy: str | None = None,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        if not api_key:
            raise ValueError("Exa needs a key")
        self._api_key = api_key
        self._base_url = base_url
        self._limits = limits
        self._proxy = proxy
        self._clock = clock
        self._gate = Gate(ACCESS, RATE if is_public(base_url, "exa.ai") else None)
        self._client: AsyncExa | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        if limit < 1 or not query.text.strip():
            return []
        async with deadline(ACCESS, self._limits.search_s):
            await self._gate.turn()
            results = await self._ask(query, min(limit, MAX_RESULTS))
        return tidy((hit for hit in map(_hit, results) if hit is not None), limit=limit, filters=query.filters)

    async def warm_up(self) -> None:
        """Import the SDK, so that the first question need not."""
        await self._open()

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _ask(self, query: SearchQuery, limit: int) -> list[Result]:
        client = await self._open()
        filters = query.filters
        span = reach(filters.recency)
        with our_errors(ACCESS, self._gate):
            try:
                response = await client.search(
                    " ".join(query.text.split())[:MAX_QUERY_CHARS],
                    contents=False,  # else it sends, and bills, 10 000 characters a result
                    num_results=limit,
                    include_domains=list(filters.include_domains) or None,
                    exclude_domains=list(filters.exclude_domains) or None,
                    start_published_date=(self._clock() - span).isoformat(timespec="seconds") if span else None,
                    category=_category(filters.content_type),
                )
            except ValueError as exc:
                if "status code 400" in str(exc):  # the one refusal that is left to the client (sdk.py)
                    raise status_error(ACCESS, 400, detail=str(exc)[:200]) from exc
                raise
            results: list[Result] = response.results
        return results

    async def _open(self) -> AsyncExa:
        """One client a loop. The import takes a second, so a thread does it."""
        await asyncio.to_thread(importlib.import_module, "exa_py")
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            import httpx
            from exa_py import AsyncExa

            exa = self._client = AsyncExa(self._api_key, api_base=self._base_url, timeout=self._limits.search_s)
            exa._client = httpx.AsyncClient(  # as it makes its own, which would read the environment
                base_url=exa.base_url, headers=exa.headers, timeout=exa.timeout, proxy=self._proxy, trust_env=False
            )
            Manners(ACCESS, self._gate, self._limits, is_proxied=self._proxy is not None).teach(self._client.client)
            self._loop = loop
        return self._client


def _category(content_type: ContentType) -> Category | None:
    if content_type == "news":
        return "news"
    return "publication" if content_type == "academic" else None


def _hit(result: Result) -> SearchHit | None:
    """None for a result whose parts are not text: the SDK passes on whatever the service sent."""
    url, title, author = result.url, result.title, result.author
    if not isinstance(url, str) or not isinstance(title, str | None) or not isinstance(author, str | None):
        return None
    published = result.published_date if isinstance(result.published_date, str) else None
    return SearchHit(
        provider=ACCESS.name, url=url, title=title or "", published_at=parse_time(published), author=author or None
    )
