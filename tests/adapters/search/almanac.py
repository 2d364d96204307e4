"""An example of a search provider over one GET: what its file in adapters/search would hold, whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from adapters.search.clients import GetClient, OnlineSearch
from adapters.search.service import (
    Service,
    Surroundings,
    keywords,
    parse_answer,
    parse_items,
    parse_json,
)
from core.model.ports import ProviderStrength
from core.model.source import SearchHit, SearchQuery, SourceKind
from core.pipeline.limits import CallRate

SERVICE = Service(
    "almanac",
    "The almanac",
    url_variable="ALMANAC_BASE_URL",
    needs="an address in ALMANAC_BASE_URL",
    domain="almanac.test",
    rate=CallRate(2, 1.0, burst=1),
)


def build(env: Mapping[str, str], around: Surroundings) -> Almanac | None:
    url = SERVICE.address(env)
    return Almanac(url, around) if url else None


class Almanac(OnlineSearch):
    service = SERVICE
    strength: ProviderStrength = "reference"

    def __init__(self, url: str, around: Surroundings) -> None:
        self._url, self._api = url, GetClient(SERVICE, around, url)
        super().__init__(self._api, around)

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        body = await self._api.get(self._url, {"words": " ".join(keywords(query.text))})
        pages = parse_items(SERVICE, _Page, parse_answer(SERVICE, _Answer, parse_json(SERVICE, body)).pages)
        return [SearchHit(self.name, page.address, page.title, kind=SourceKind.REFERENCE) for page in pages]


class _Answer(BaseModel):
    pages: list[object]


class _Page(BaseModel):
    address: str
    title: str
