"""Crossref's REST API: what publishers register of a DOI, with retractions, also those that Retraction Watch found.

No key. With a mail address (`GORKD_CONTACT_EMAIL`) calls go to the polite pool, which may ask more often.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

from pydantic import BaseModel, Field

from adapters.search.clients import GetClient
from adapters.search.service import Service, Surroundings, clean_line, clean_text, parse_items, with_path
from core.model.works import Notice, NoticeKind, WorkIds, WorkRecord
from core.pipeline.limits import CallRate
from core.works.registry import Registry

API_PATH = "/v1"
# crossref.org, REST API, "Access and authentication": single records 5 a second, 10 in the polite pool, one at a time
# or three; lists 1 and 3. Who asks for a reference list waits for its turn.
SERVICE = Service(
    "crossref",
    "Crossref",
    url_variable="CROSSREF_BASE_URL",
    key_variable="GORKD_CONTACT_EMAIL",
    public=f"https://api.crossref.org{API_PATH}",
    domain="crossref.org",
    rate=CallRate(5, 1.0, burst=2),
    rate_with_key=CallRate(10, 1.0, burst=5),
    at_once=1,
)
_LISTS = CallRate(1, 1.0, burst=1, max_wait_s=120.0)
_LISTS_POLITE = CallRate(3, 1.0, burst=1, max_wait_s=120.0)
_AT_ONCE_POLITE = 3
ROWS = 5  # of a search by title
MAX_AUTHORS = 100
_TAGS = re.compile(r"<[^<>]+>")  # abstracts are JATS
# Crossref's types of updates (crossref.org, "Registering updates"), and Retraction Watch's words.
_KINDS: dict[str, NoticeKind] = {
    "retraction": "retraction",
    "withdrawal": "retraction",
    "removal": "retraction",
    "partial_retraction": "concern",
    "expression_of_concern": "concern",
    "correction": "correction",
    "corrigendum": "correction",
    "erratum": "correction",
}


def build_registry(env: Mapping[str, str], around: Surroundings) -> Crossref:
    return Crossref(SERVICE.address(env), around, contact=env.get("GORKD_CONTACT_EMAIL", "").strip())


class Crossref(Registry):
    """A `Registry`. `base_url` is the folder of `works`, or an origin."""

    name = SERVICE.name

    def __init__(self, base_url: str, around: Surroundings, *, contact: str = "") -> None:
        self._url = with_path(base_url, API_PATH)
        self._always = {"mailto": contact} if contact else {}
        service = replace(SERVICE, at_once=_AT_ONCE_POLITE) if contact else SERVICE
        rates = {**around.rates, SERVICE.name: _LISTS_POLITE if contact else _LISTS}
        lists = replace(around, rates=rates) if SERVICE.is_at_home(self._url) else around
        self._records = GetClient(service, around, self._url)
        self._lists = GetClient(service, lists, self._url, bucket="crossref lists")

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        if not ids.doi:
            return None
        address = f"{self._url}/works/{quote(ids.doi, safe='')}"
        found = await self._records.ask_for_one(_CrossrefAnswer, address, self._always)
        return [_record(found.message)] if found else []

    async def by_title(self, title: str, *, author: str = "", year: str = "") -> Sequence[WorkRecord] | None:
        """The year is not asked for: a wrong one must not hide the work."""
        parameters = {**self._always, "query.bibliographic": title, "rows": str(ROWS)}
        parameters |= {"query.author": author} if author else {}
        found = await self._lists.ask(_RecordList, f"{self._url}/works", parameters)
        return [_record(item) for item in parse_items(SERVICE, _Item, found.message.items)]

    async def aclose(self) -> None:
        await self._records.aclose()
        await self._lists.aclose()


class _Date(BaseModel):
    parts: list[list[int | None]] = Field(default=[], alias="date-parts")

    @property
    def text(self) -> str:
        """`2010-02-06`, as far as it goes."""
        numbers = [number for number in (self.parts[0] if self.parts else []) if number]
        return "-".join(f"{number:0{4 if place == 0 else 2}d}" for place, number in enumerate(numbers))


class _Person(BaseModel):
    given: str = ""
    family: str = ""
    name: str = ""  # of a body of people


class _Update(BaseModel):
    doi: str = Field(default="", alias="DOI")
    type: str = ""
    label: str = ""
    source: str = ""
    updated: _Date = _Date()


class _Related(BaseModel):
    id: str = ""
    kind: str = Field(default="", alias="id-type")


class _Item(BaseModel):
    doi: str = Field(alias="DOI")
    title: list[str] = []
    author: list[_Person] = []
    venue: list[str] = Field(default=[], alias="container-title")
    issued: _Date = _Date()
    online: _Date = Field(default=_Date(), alias="published-online")
    print: _Date = Field(default=_Date(), alias="published-print")
    type: str = ""
    abstract: str = ""
    updates: list[_Update] = Field(default=[], alias="updated-by")
    relation: dict[str, list[_Related]] = {}
    cited_by: int | None = Field(default=None, alias="is-referenced-by-count")


class _CrossrefAnswer(BaseModel):
    message: _Item


class _Items(BaseModel):
    items: list[object] = []


class _RecordList(BaseModel):
    message: _Items


def _record(item: _Item) -> WorkRecord:
    names = (person.name or f"{person.given} {person.family}".strip() for person in item.author[:MAX_AUTHORS])
    versions = [
        WorkIds.of(doi=other.id)
        for name in ("is-preprint-of", "has-preprint", "is-version-of", "has-version")
        for other in item.relation.get(name, [])
        if other.kind == "doi" and other.id
    ]
    return WorkRecord(
        ids=WorkIds.of(doi=item.doi),
        title=clean_line(item.title[0]) if item.title else "",
        authors=tuple(filter(None, map(clean_line, names))),
        year=item.issued.text[:4],
        venue=clean_line(item.venue[0]) if item.venue else "",
        kind=item.type,
        abstract=" ".join(clean_text(_TAGS.sub(" ", item.abstract)).split()),
        versions=tuple(dict.fromkeys(versions)),
        notices=tuple(_notices(item.updates)),
        cited_by=item.cited_by,
        said_by=(SERVICE.name,),
        years=tuple(dict.fromkeys(filter(None, (date.text[:4] for date in (item.issued, item.online, item.print))))),
    )


def _notices(updates: Sequence[_Update]) -> list[Notice]:
    """A notice that both the publisher and Retraction Watch tell of stands once."""
    found: dict[tuple[str, str], Notice] = {}
    for update in updates:
        kind = _KINDS.get(update.type.casefold().replace("-", "_").replace(" ", "_"))
        if kind is None:
            continue
        url = f"https://doi.org/{update.doi}" if update.doi else ""
        by = "Retraction Watch" if update.source == "retraction-watch" else SERVICE.label
        found.setdefault((kind, url.casefold()), Notice(kind, url, update.updated.text, said_by=by))
    return list(found.values())
