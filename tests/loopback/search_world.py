"""All search services in one loopback server, over a corpus that the test gives.

    async with SearchWorld([Document("https://a.test/x", "Tides", "The moon …")]) as world:
        providers = build_providers(world.env(), …)

Each service answers as the real one does and refuses what the real one refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler, Middleware
from multidict import CIMultiDictProxy

from tests.loopback import arxiv, exa, pubmed, registries, searxng, tavily, wikipedia
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault, act_out

TAVILY_KEY = tavily.KEY
EXA_KEY = exa.KEY
ROUTES: dict[str, Callable[[Sequence[Document]], Iterable[web.RouteDef]]] = {
    "tavily": tavily.routes,
    "exa": exa.routes,
    "searxng": searxng.routes,
    "wikipedia": wikipedia.routes,
    "pubmed": pubmed.routes,
    "arxiv": arxiv.routes,
    "europepmc": registries.europepmc_routes,
    "openalex": registries.openalex_routes,
    "crossref": registries.crossref_routes,
    "unpaywall": registries.unpaywall_routes,
}
PATHS = {
    "wikipedia": "/w/api.php",
    "pubmed": "/entrez/eutils",
    "arxiv": "/api/query",
    "europepmc": "/europepmc/webservices/rest",
    "crossref": "/v1",
    "unpaywall": "/v2",
}
KEYS = {
    "tavily": ("TAVILY_API_KEY", tavily.KEY),
    "exa": ("EXA_API_KEY", exa.KEY),
    "openalex": ("OPENALEX_API_KEY", registries.OPENALEX_KEY),
    "unpaywall": ("GORKD_CONTACT_EMAIL", registries.CONTACT),
}


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; `parameters` are those of the address, `body` is "" for a GET."""

    service: str
    path: str
    parameters: Mapping[str, str]
    headers: CIMultiDictProxy[str]
    body: str


class SearchWorld:
    """`documents` is one corpus for all services, or one for each by name. Every answer takes `latency_s`."""

    def __init__(
        self,
        documents: Sequence[Document] | Mapping[str, Sequence[Document]],
        *,
        latency_s: float = 0.0,
        faults: Mapping[str, Fault] | None = None,
    ) -> None:
        self.asked: list[Asked] = []
        self.was_asked = asyncio.Event()
        self.faults: dict[str, Fault] = dict(faults or {})
        self.latency_s = latency_s
        self.answers: dict[str, Fault] = {}  # what single paths answer, e.g. "/pubmed/entrez/eutils/efetch.fcgi"
        self.refuse_pages: set[str] = set()  # Wikipedia's page ids whose extract answers 500
        self._failed: dict[str, int] = {}
        self._closing = asyncio.Event()
        app = web.Application()
        for service, routes in ROUTES.items():
            corpus = documents.get(service, ()) if isinstance(documents, Mapping) else documents
            part = web.Application(middlewares=[self._middleware(service)])
            part.add_routes(routes(corpus))
            app.add_subapp(f"/{service}", part)
        self._server = TestServer(app)

    async def __aenter__(self) -> SearchWorld:
        await self._server.start_server(shutdown_timeout=0.1)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        await self._server.close()

    def base_url(self, service: str) -> str:
        """What the service's `…_BASE_URL` has to be."""
        return str(self._server.make_url(f"/{service}{PATHS.get(service, '')}"))

    def env(self, *services: str) -> dict[str, str]:
        """Settings that point the named services (default all) at this world."""
        env = {f"{service.upper()}_BASE_URL": self.base_url(service) for service in services or ROUTES}
        env.update(KEYS[service] for service in services or ROUTES if service in KEYS)
        return env

    def asked_of(self, service: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.service == service]

    def _middleware(self, service: str) -> Middleware:
        @web.middleware
        async def keep_and_fail(request: web.Request, handler: Handler) -> web.StreamResponse:
            body = await request.text()
            self.asked.append(Asked(service, request.path, dict(request.query), request.headers, body))
            self.was_asked.set()
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            fault = self.faults.get(service)
            failed = self._failed.get(service, 0)
            if fault is not None and (fault.times is None or failed < fault.times):
                self._failed[service] = failed + 1
                return await act_out(fault, request, self._closing)
            if request.path in self.answers:
                return await act_out(self.answers[request.path], request, self._closing)
            if request.query.get("pageids") in self.refuse_pages:
                return web.Response(status=500)
            return await handler(request)

        return keep_and_fail
