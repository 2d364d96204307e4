"""arXiv's query API (Atom): abstracts of preprints, no key.

arXiv asks for one request in three seconds on one connection (info.arxiv.org, API terms of use). A
question cannot wait for that: one request a search, and a search that comes too soon is refused at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element

from adapters.search.clients import GetSearch
from adapters.search.service import (
    Service,
    Surroundings,
    admits,
    deadline,
    garbled,
    keywords,
    name_authors,
    parse_time,
    reach,
    text_of,
)
from core.library.ingest import PaperRecord
from core.model.errors import ProviderRejected
from core.model.ports import ProviderStrength
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.model.works import WorkIds
from core.pipeline.limits import CallRate

API_PATH = "/api/query"
SERVICE = Service(
    "arxiv",
    "arXiv",
    url_variable="ARXIV_BASE_URL",
    public=f"https://export.arxiv.org{API_PATH}",
    domain="arxiv.org",
    rate=CallRate(1, 3.0, burst=1, max_wait_s=0.0),  # info.arxiv.org, API terms of use
    at_once=1,
)
PUBLIC_SITE = "https://arxiv.org"
MAX_KEYWORDS = 10
MAX_REQUIRED_WORDS = 3  # of more words hardly an abstract has all: then any, those with the most first
MAX_RESULTS = 50
ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"
_ID = re.compile(r"arxiv\.org/abs/([\w.\-]+(?:/\d+)?)")
_VERSION = re.compile(r"v\d+$")


def build(env: Mapping[str, str], around: Surroundings) -> ArxivSearch:
    return ArxivSearch(SERVICE.address(env), around)


class ArxivSearch(GetSearch):
    """`base_url` is the address of the query script, or an origin."""

    service = SERVICE
    strength: ProviderStrength = "scholarly"
    path = API_PATH
    attempts = 1  # a second one would wait three seconds

    @property
    def site(self) -> str:
        """Where the papers lie, at `/pdf/{id}`: arXiv's own site, else beside the script that answers for it."""
        return PUBLIC_SITE if SERVICE.is_at_home(self._url) else self._url.removesuffix(API_PATH)

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        words = keywords(query.text, most=MAX_KEYWORDS)
        if not words or not admits("https://arxiv.org/", query.filters):
            return []
        entries = await self._entries(words, limit, query.filters)
        return [hit for entry in entries if (hit := _hit(entry))]

    async def look_up(self, arxiv_id: str) -> PaperRecord | None:
        """What arXiv's catalogue says of a paper; None for an id it does not know. Raises `ProviderError`."""
        async with deadline(SERVICE, self._search_s):
            root = await self._api.ask_xml(self._url, {"id_list": arxiv_id, "max_results": "1"})
        entry = root.find(f"{ATOM}entry")
        return _record(entry) if entry is not None else None

    async def find_papers(self, query: str, limit: int) -> list[PaperRecord]:
        """What the catalogue has about something, best first. Raises `ProviderError`."""
        words = keywords(query, most=MAX_KEYWORDS)
        if not words:
            return []
        async with deadline(SERVICE, self._search_s):
            entries = await self._entries(words, limit, SearchFilters())
        return [record for entry in entries if (record := _record(entry))]

    async def _entries(self, words: Sequence[str], limit: int, filters: SearchFilters) -> list[Element]:
        operator = " AND " if len(words) <= MAX_REQUIRED_WORDS else " OR "
        search_query = operator.join(f'all:"{word}"' for word in words)
        span = reach(filters.recency)
        if span is not None:
            now = self._clock()
            search_query = f"({search_query}) AND submittedDate:[{now - span:%Y%m%d%H%M} TO {now:%Y%m%d%H%M}]"
        parameters = {"search_query": search_query, "start": "0", "max_results": str(min(limit, MAX_RESULTS))}
        parameters |= {"sortBy": "relevance", "sortOrder": "descending"}
        root = await self._api.ask_xml(self._url, parameters)
        if root.tag != f"{ATOM}feed":
            raise garbled(SERVICE, f"not an Atom feed but <{root.tag[:40]}>")
        entries = root.findall(f"{ATOM}entry")
        for entry in entries:
            if "arxiv.org/api/errors" in text_of(entry.find(f"{ATOM}id")):
                raise ProviderRejected(SERVICE.name, text_of(entry.find(f"{ATOM}summary"))[:200] or "refused the query")
        return entries


def _record(entry: Element) -> PaperRecord | None:
    """None for an entry that is no paper."""
    found = _ID.search(text_of(entry.find(f"{ATOM}id")))
    if found is None:
        return None
    published = parse_time(text_of(entry.find(f"{ATOM}published")))
    return PaperRecord(
        id=found[1],
        title=text_of(entry.find(f"{ATOM}title")),
        authors=tuple(text_of(name) for name in entry.iterfind(f"{ATOM}author/{ATOM}name")),
        published=published.date().isoformat() if published else "",
        doi=text_of(entry.find(f"{ARXIV}doi")),
        url=f"https://arxiv.org/abs/{found[1]}",
        abstract=text_of(entry.find(f"{ATOM}summary")),
    )


def _hit(entry: Element) -> SearchHit | None:
    """None for an entry without an arXiv id or an abstract."""
    record = _record(entry)
    if record is None or not record.abstract:
        return None
    return SearchHit(
        provider=SERVICE.name,
        url=_VERSION.sub("", record.url),  # the page of all versions, as others link it
        title=record.title,
        text=record.abstract,
        is_complete=True,
        published_at=parse_time(text_of(entry.find(f"{ATOM}published"))),
        author=name_authors(record.authors),
        kind=SourceKind.PREPRINT,
        ids=WorkIds.of(arxiv=record.id, doi=record.doi),
    )
