"""PubMed through NCBI's E-utilities: abstracts with their labels, no key needed; a provider, and a registry.

Two round trips: esearch gives ids, efetch their records (Entrez Programming Utilities Help, NBK25501). The registry is
asked whether works stand: retractions, expressions of concern and errata stand in a record's links.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from pydantic import BaseModel, Field

from adapters.search.clients import GetSearch
from adapters.search.service import Service, Surroundings, admits, garbled, hit_of_work, keywords, reach, text_of
from core.model.errors import ProviderRejected
from core.model.ports import ProviderStrength
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.model.works import Notice, NoticeKind, WorkIds, WorkRecord
from core.pipeline.limits import CallRate
from core.works.registry import Registry

API_PATH = "/entrez/eutils"
SERVICE = Service(
    "pubmed",
    "PubMed",
    url_variable="PUBMED_BASE_URL",
    key_variable="NCBI_API_KEY",
    public=f"https://eutils.ncbi.nlm.nih.gov{API_PATH}",
    domain="nih.gov",
    rate=CallRate(3, 1.0, burst=2, max_wait_s=4.0),  # NBK25497, "Usage Guidelines"
    rate_with_key=CallRate(10, 1.0, burst=5),  # ditto
)
PAGE = "https://pubmed.ncbi.nlm.nih.gov/{}/"
TOOL = "gorkd"
SPARE = 3  # records asked for beyond the limit, since some have no abstract
MAX_RECORDS = 40
MAX_KEYWORDS = 12  # all of them must match
# Publication types of MeSH (nlm.nih.gov/mesh/pubtypes.html)
RETRACTIONS = frozenset({"Retracted Publication", "Retraction of Publication"})
GUIDELINES = frozenset(
    {"Guideline", "Practice Guideline", "Consensus Development Conference", "Consensus Development Conference, NIH"}
)
_LINKS = "MedlineCitation/CommentsCorrectionsList/CommentsCorrections"
_NOTICES: dict[str, NoticeKind] = {  # RefType (nlm.nih.gov/bsd/licensee/elements_descriptions.html)
    "RetractionIn": "retraction",
    "PartialRetractionIn": "concern",
    "ExpressionOfConcernIn": "concern",
    "ErratumIn": "correction",
    "CorrectedandRepublishedIn": "correction",
}
GATHER_S = 0.05  # works that are asked about within it go in one call: without a key there are three a second
MAX_TOGETHER = 50  # works of one call
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_UNTAGGED = re.compile(r"\[[^\[\]]*\]|\b(?:AND|OR|NOT)\b")  # what is syntax and no word


def build(env: Mapping[str, str], around: Surroundings) -> Pubmed:
    return Pubmed(SERVICE.address(env), around, api_key=SERVICE.key(env))


build_registry = build


class Pubmed(GetSearch, Registry):
    """A provider, and a `Registry` that is not searched. `base_url` is the folder of esearch.fcgi, or an origin."""

    service = SERVICE
    strength: ProviderStrength = "scholarly"
    path = API_PATH

    def __init__(self, base_url: str, around: Surroundings, *, api_key: str = "") -> None:
        super().__init__(base_url, around)
        self._always = {"db": "pubmed", "tool": TOOL} | ({"api_key": api_key} if api_key else {})
        self._wanted: list[WorkIds] = []
        self._looking: set[asyncio.Task[list[WorkRecord]]] = set()
        self._gathering: asyncio.Task[list[WorkRecord]] | None = None

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        words = keywords(_UNTAGGED.sub(" ", query.text) if query.is_verbatim else query.text, most=MAX_KEYWORDS)
        if not words or not admits(PAGE.format(1), query.filters):
            return []
        most = min(limit + SPARE, MAX_RECORDS)
        ids = await self._ids(query.text if query.is_verbatim else " ".join(words), most, query.filters)
        if not ids and len(words) > 2:  # no record has them all: any of them, best first
            ids = await self._ids(" OR ".join(words), most, query.filters)
        found = {text_of(one.find("MedlineCitation/PMID")): _hit(one) for one in await self._read(ids)}
        return [hit for pmid in ids if (hit := found.get(pmid)) is not None]  # efetch does not keep the ranking

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        if not ids.pmid and (not ids.doi or '"' in ids.doi):
            return None
        if self._gathering is None or len(self._wanted) >= MAX_TOGETHER:
            self._wanted = []
            self._gathering = asyncio.create_task(self._look_up(self._wanted))
            self._looking.add(self._gathering)
            self._gathering.add_done_callback(self._looked_up)
        self._wanted.append(ids)
        found = await asyncio.shield(self._gathering)
        return [record for record in found if record.ids.shares_one_with(ids)][:1]

    async def aclose(self) -> None:
        for task in (looking := [*self._looking]):
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        await super().aclose()

    async def _look_up(self, wanted: Sequence[WorkIds]) -> list[WorkRecord]:
        """The records of all works that are `wanted` in a moment; those that PubMed knows."""
        await asyncio.sleep(GATHER_S)
        self._gathering = None  # who comes now is asked about with the next
        pmids = [ids.pmid for ids in wanted if ids.pmid]
        dois = {ids.doi for ids in wanted if not ids.pmid}
        if dois:
            term = " OR ".join(f'"{doi}"[aid]' for doi in sorted(dois))
            pmids += await self._ids(term, 2 * len(dois) + SPARE, SearchFilters())
        return [_record(one) for one in await self._read(list(dict.fromkeys(pmids)))]

    def _looked_up(self, task: asyncio.Task[list[WorkRecord]]) -> None:
        self._looking.discard(task)
        if self._gathering is task:
            self._gathering = None
        if not task.cancelled():
            task.exception()  # whoever still waits is told

    async def _ids(self, term: str, most: int, filters: SearchFilters) -> list[str]:
        span = reach(filters.recency)
        parameters = {"term": term, "retmode": "json", "retmax": str(most), "sort": "relevance"}
        if span is not None:
            parameters |= {"datetype": "pdat", "reldate": str(span.days)}
        url = f"{self._url}/esearch.fcgi"
        result = (await self._api.ask(_PubmedAnswer, url, {**self._always, **parameters})).esearchresult
        if result.error:
            raise ProviderRejected(SERVICE.name, f"esearch: {result.error[:200]}")
        return [pmid for pmid in result.idlist if _is_number(pmid)]

    async def _read(self, ids: Sequence[str]) -> list[Element]:
        if not ids:
            return []
        parameters = {"id": ",".join(ids), "retmode": "xml", "rettype": "abstract"}
        root = await self._api.ask_xml(f"{self._url}/efetch.fcgi", {**self._always, **parameters})
        if root.tag != "PubmedArticleSet":
            raise garbled(SERVICE, f"efetch gave <{root.tag[:40]}>")
        articles = root.iterfind("PubmedArticle")
        return [one for one in articles if _is_number(text_of(one.find("MedlineCitation/PMID")))]


class _IdList(BaseModel):
    idlist: list[str] = []
    error: str = Field(default="", alias="ERROR")


class _PubmedAnswer(BaseModel):
    esearchresult: _IdList


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _hit(one: Element) -> SearchHit | None:
    article = one.find("MedlineCitation/Article")
    if article is None:
        return None
    record, kinds = _record(one), _kinds(article)
    kind = SourceKind.PREPRINT if "Preprint" in kinds else SourceKind.PEER_REVIEWED
    published_at = min(_dates(article), default=None)  # of the electronic and the printed date
    url, is_marked = PAGE.format(record.ids.pmid), bool(kinds & RETRACTIONS)
    hit = hit_of_work(SERVICE, record, url, published_at=published_at, kind=kind, is_marked=is_marked)
    return replace(hit, is_guideline=bool(kinds & GUIDELINES)) if hit else None


def _record(one: Element) -> WorkRecord:
    """A `PubmedArticle`; its other ids stand behind the citation."""
    found = one.find("MedlineCitation/Article")
    article = found if found is not None else Element("Article")
    known = {name.get("IdType", ""): text_of(name) for name in one.iterfind("PubmedData/ArticleIdList/ArticleId")}
    pmid = text_of(one.find("MedlineCitation/PMID"))
    years = [date.year for date in _dates(article)]
    return WorkRecord(
        ids=WorkIds.of(pmid=pmid, doi=known.get("doi", ""), pmcid=known.get("pmc", "")),
        title=text_of(article.find("ArticleTitle")).removesuffix("."),
        authors=tuple(_authors(article)),
        year=str(min(years, default="")),
        venue=text_of(article.find("Journal/Title")),
        kind="posted-content" if "Preprint" in _kinds(article) else "journal-article",
        abstract=_abstract(article),
        notices=tuple(_notices(one, article)),
        said_by=(SERVICE.name,),
        years=tuple(dict.fromkeys(map(str, years))),
    )


def _kinds(article: Element) -> set[str]:
    return {text_of(kind) for kind in article.iterfind("PublicationTypeList/PublicationType")}


def _notices(one: Element, article: Element) -> list[Notice]:
    """Their dates are the years of what they are cited as: `Lancet. 2010 Feb 6;375(9713):445`."""
    notices: list[Notice] = []
    for link in one.iterfind(_LINKS):
        kind = _NOTICES.get(link.get("RefType", ""))
        pmid, year = text_of(link.find("PMID")), _YEAR.search(text_of(link.find("RefSource")))
        if kind is not None:
            url = PAGE.format(pmid) if _is_number(pmid) else ""
            notices.append(Notice(kind, url, year[0] if year else "", said_by=SERVICE.label))
    is_told = any(notice.kind == "retraction" for notice in notices)
    if "Retracted Publication" in _kinds(article) and not is_told:
        notices.append(Notice("retraction", said_by=SERVICE.label))
    return notices


def _abstract(article: Element) -> str:
    """One paragraph a section, `LABEL: text` where the section has a label."""
    paragraphs: list[str] = []
    for section in article.iterfind("Abstract/AbstractText"):
        text, label = text_of(section), section.get("Label", "")
        if text:
            paragraphs.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return "\n\n".join(paragraphs)


def _authors(article: Element) -> list[str]:
    """`Moore A`, or the name of a body of people."""
    names = (
        text_of(author.find("CollectiveName"))
        or f"{text_of(author.find('LastName'))} {text_of(author.find('Initials'))}".strip()
        for author in article.iterfind("AuthorList/Author")
    )
    return [name for name in names if name]


def _dates(article: Element) -> list[datetime]:
    dates = [article.find("ArticleDate"), article.find("Journal/JournalIssue/PubDate")]
    return [time for time in map(_read_date, dates) if time is not None]


def _read_date(date: Element | None) -> datetime | None:
    if date is None:
        return None
    year = text_of(date.find("Year")) or text_of(date.find("MedlineDate"))[:4]
    month, day = text_of(date.find("Month")), text_of(date.find("Day"))
    for form, text in (
        ("%Y %m %d", f"{year} {month} {day}"),
        ("%Y %b %d", f"{year} {month} {day}"),
        ("%Y %m", f"{year} {month}"),
        ("%Y %b", f"{year} {month}"),
        ("%Y", year),
    ):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
