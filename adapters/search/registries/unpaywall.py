"""Unpaywall: where a work with a DOI is free to read. It wants a mail address of who asks, and no key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from pydantic import BaseModel, Field

from adapters.search.clients import GetClient
from adapters.search.openalex import open_copies
from adapters.search.service import Service, Surroundings, clean_line, with_path
from core.model.works import OpenCopy, WorkIds, WorkRecord
from core.pipeline.limits import CallRate
from core.works.registry import Registry

API_PATH = "/v2"
SERVICE = Service(
    "unpaywall",
    "Unpaywall",
    url_variable="UNPAYWALL_BASE_URL",
    public=f"https://api.unpaywall.org{API_PATH}",
    domain="unpaywall.org",
    rate=CallRate(10, 1.0, burst=5),  # 100,000 a day (unpaywall.org/products/api)
    needs="GORKD_CONTACT_EMAIL",
    hints={422: "set GORKD_CONTACT_EMAIL to an address of your own; it refuses those of examples"},
)


def build_registry(env: Mapping[str, str], around: Surroundings) -> Unpaywall | None:
    url, contact = SERVICE.address(env), env.get("GORKD_CONTACT_EMAIL", "").strip()
    return Unpaywall(url, around, contact=contact) if contact else None


class Unpaywall(Registry):
    """A `Registry` that knows DOIs alone and is not searched. `base_url` is an origin, or ends in the version."""

    name = SERVICE.name

    def __init__(self, base_url: str, around: Surroundings, *, contact: str) -> None:
        self._url = with_path(base_url, API_PATH)
        self._always = {"email": contact}
        self._api = GetClient(SERVICE, around, self._url)

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        if not ids.doi:
            return None
        found = await self._api.ask_for_one(_OpenWork, f"{self._url}/{quote(ids.doi, safe='/')}", self._always)
        return [_record(found)] if found else []

    async def aclose(self) -> None:
        await self._api.aclose()


class _Location(BaseModel):
    url: str | None = None
    url_for_pdf: str | None = None
    version: str | None = None
    repository_institution: str | None = None


class _OpenWork(BaseModel):
    doi: str
    title: str | None = None
    year: int | None = None
    is_oa: bool | None = None
    locations: list[_Location] = Field(default=[], alias="oa_locations")


def _record(work: _OpenWork) -> WorkRecord:
    return WorkRecord(
        ids=WorkIds.of(doi=work.doi),
        title=clean_line(work.title or ""),
        year=str(work.year or ""),
        copies=tuple(copy for place in work.locations for copy in _copies(place)),
        is_open=work.is_oa,
        said_by=(SERVICE.name,),
    )


def _copies(place: _Location) -> list[OpenCopy]:
    page = place.url if place.url != place.url_for_pdf else None
    return open_copies(place.version, place.repository_institution, place.url_for_pdf, page)
