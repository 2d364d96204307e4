"""OpenAlex: works of all fields, with who cites them and where they are free; a provider, and a registry.

A single work by its id is free and needs no key; searches cost, so without `OPENALEX_API_KEY` none is made
(developers.openalex.org, "Authentication & Pricing").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from pydantic import AliasPath, BaseModel, Field

from adapters.search.clients import GetSearch
from adapters.search.service import (
    Service,
    Surroundings,
    admits,
    clean_line,
    deadline,
    hit_of_work,
    keywords,
    parse_items,
    parse_time,
    reach,
)
from core.model.ports import ProviderStrength
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.model.works import ARXIV_DOI, CopyVersion, Notice, OpenCopy, WorkIds, WorkRecord, ids_in_url
from core.pipeline.limits import CallRate
from core.works.registry import Registry

SERVICE = Service(
    "openalex",
    "OpenAlex",
    url_variable="OPENALEX_BASE_URL",
    key_variable="OPENALEX_API_KEY",
    public="https://api.openalex.org",
    domain="openalex.org",
    rate=CallRate(50, 1.0, burst=10),  # half of what "Rate Limits" allows anybody
)
MAX_RESULTS = 50
TITLES = 5  # of a search by title
MAX_KEYWORDS = 12
MAX_AUTHORS = 100
_FIELDS = (
    "id,doi,ids,display_name,publication_year,publication_date,type,authorships,primary_location,locations,"
    "open_access,cited_by_count,is_retracted,abstract_inverted_index"
)
_SYNTAX = re.compile(r"[^\w\s'’.-]+|\b(?:AND|OR|NOT)\b")  # what its search and its filters give a meaning to
_VERSIONS: dict[str, CopyVersion] = {
    "publishedVersion": "published",
    "acceptedVersion": "accepted",
    "submittedVersion": "submitted",
}


def build(env: Mapping[str, str], around: Surroundings) -> OpenAlex | None:
    """The provider, which needs the key."""
    return build_registry(env, around) if env.get(SERVICE.key_variable, "").strip() else None


def build_registry(env: Mapping[str, str], around: Surroundings) -> OpenAlex:
    return OpenAlex(SERVICE.address(env), around, api_key=SERVICE.key(env))


class OpenAlex(GetSearch, Registry):
    """A provider and a `Registry`. `base_url` is an origin, or the folder of `works`."""

    service = SERVICE
    strength: ProviderStrength = "scholarly"

    def __init__(self, base_url: str, around: Surroundings, *, api_key: str = "") -> None:
        super().__init__(base_url, around)
        self._key = {"api_key": api_key} if api_key else {}

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        if not admits("https://doi.org/", query.filters):
            return []
        return [hit for work in await self._found(query, limit) if (hit := _hit(work)) is not None]

    async def find_works(self, query: str, limit: int) -> Sequence[WorkRecord] | None:
        if not self._key:
            return None
        async with deadline(SERVICE, self._search_s):
            return [_record(work) for work in await self._found(SearchQuery(query), limit)]

    async def _found(self, query: SearchQuery, limit: int) -> list[_Work]:
        words = keywords(query.text, most=MAX_KEYWORDS)
        text = query.text if query.is_verbatim else " ".join(words)
        if not words:
            return []
        most = {"per_page": str(min(limit, MAX_RESULTS))}
        works = await self._search({"search": text, **most}, query.filters)
        if not works and not query.is_verbatim and len(words) > 2:  # nothing has them all
            works = await self._search({"search": " OR ".join(words), **most}, query.filters)
        return works

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        named = {
            "doi:": ids.doi or (ids.arxiv and f"{ARXIV_DOI}{ids.arxiv}"),
            "pmid:": ids.pmid,
            "pmcid:": ids.pmcid,
            "": ids.openalex,
        }
        place = next((f"{kind}{value}" for kind, value in named.items() if value), "")
        if not place:
            return None
        address = f"{self._url}/works/{quote(place, safe=':/')}"
        found = await self._api.ask_for_one(_Work, address, {**self._key, "select": _FIELDS})
        return [_record(found)] if found else []

    async def by_title(self, title: str, *, author: str = "", year: str = "") -> Sequence[WorkRecord] | None:
        words = " ".join(_SYNTAX.sub(" ", title).split())
        if not words or not self._key:
            return None
        found = await self._search({"filter": f"title.search:{words}", "per_page": str(TITLES)}, SearchFilters())
        return [_record(work) for work in found]

    async def _search(self, parameters: Mapping[str, str], filters: SearchFilters) -> list[_Work]:
        span = reach(filters.recency)
        since = {"filter": f"from_publication_date:{self._clock() - span:%Y-%m-%d}"} if span is not None else {}
        parameters = {**self._key, "select": _FIELDS, **since, **parameters}
        return parse_items(SERVICE, _Work, (await self._api.ask(_WorkList, f"{self._url}/works", parameters)).results)


class _WhereHosted(BaseModel):
    is_oa: bool | None = None
    landing_page_url: str | None = None
    pdf_url: str | None = None
    version: str | None = None
    host: str | None = Field(default=None, validation_alias=AliasPath("source", "display_name"))
    kind: str | None = Field(default=None, validation_alias=AliasPath("source", "type"))


class _Authorship(BaseModel):
    name: str | None = Field(default=None, validation_alias=AliasPath("author", "display_name"))


class _Work(BaseModel):
    id: str
    doi: str | None = None
    ids: dict[str, str | int | None] = {}
    display_name: str | None = None
    publication_year: int | None = None
    publication_date: str | None = None
    type: str | None = None
    authorships: list[_Authorship] = []
    primary_location: _WhereHosted | None = None
    locations: list[_WhereHosted] = []
    is_oa: bool | None = Field(default=None, validation_alias=AliasPath("open_access", "is_oa"))
    cited_by_count: int | None = None
    is_retracted: bool | None = None
    abstract_inverted_index: dict[str, list[int]] | None = None

    @property
    def work_ids(self) -> WorkIds:
        """All of them stand as addresses."""
        pmcid = str(self.ids.get("pmcid") or "").rstrip("/").rpartition("/")[2]
        return WorkIds.of(
            doi=(self.doi or "").removeprefix("https://doi.org/"),
            pmid=str(self.ids.get("pmid") or "").rstrip("/").rpartition("/")[2],
            pmcid=pmcid,
            openalex=self.id.rpartition("/")[2],
        )

    @property
    def abstract(self) -> str:
        """Put together from the places of its words."""
        places = [(at, word) for word, ats in (self.abstract_inverted_index or {}).items() for at in ats]
        return " ".join(word for _, word in sorted(places))

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.authorships[:MAX_AUTHORS] if one.name]

    @property
    def venue(self) -> str:
        return clean_line((self.primary_location and self.primary_location.host) or "")


class _WorkList(BaseModel):
    results: list[object] = []


def _record(work: _Work) -> WorkRecord:
    ids = work.work_ids
    elsewhere = (ids_in_url(place.landing_page_url or "") for place in work.locations)
    versions = dict.fromkeys(one for one in elsewhere if not one.is_none and not ids.shares_one_with(one))
    return WorkRecord(
        ids=ids,
        title=clean_line(work.display_name or ""),
        authors=tuple(map(clean_line, work.names)),
        year=str(work.publication_year or ""),
        venue=work.venue,
        kind=work.type or "",
        abstract=work.abstract,
        versions=tuple(versions),
        copies=tuple(
            copy
            for place in work.locations
            if place.is_oa
            for copy in open_copies(place.version, place.host, place.pdf_url, place.landing_page_url)
        ),
        is_open=work.is_oa,
        notices=(Notice("retraction", said_by=SERVICE.label),) if work.is_retracted else (),
        cited_by=work.cited_by_count,
        said_by=(SERVICE.name,),
    )


def open_copies(version: str | None, host: str | None, pdf: str | None, page: str | None) -> list[OpenCopy]:
    """A place where a work is free, in the words of OpenAlex and Unpaywall, which have one maker."""
    known, named = _VERSIONS.get(version or "", ""), clean_line(host or "")
    return [OpenCopy(url, known, is_pdf, named) for url, is_pdf in ((pdf, True), (page, False)) if url]


def _hit(work: _Work) -> SearchHit | None:
    url = (work.primary_location.landing_page_url if work.primary_location else None) or work.doi or work.id
    published_at = parse_time(work.publication_date)
    return hit_of_work(SERVICE, _record(work), url, published_at=published_at, kind=_kind(work))


def _kind(work: _Work) -> SourceKind | None:
    """What lies in a journal its peers have read; of anything else that is not a preprint nobody knows."""
    if work.type == "preprint":
        return SourceKind.PREPRINT
    place = work.primary_location
    return SourceKind.PEER_REVIEWED if place and place.kind == "journal" else None
