"""PubMed through NCBI's E-utilities: abstracts with their labels, no key needed.

Two round trips: esearch gives ids, efetch their records (Entrez Programming Utilities Help, NBK25501).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from pydantic import BaseModel, Field

from adapters.search.clients import GetClient, OnlineSearch
from adapters.search.hits import admits, keywords, name_authors, parse_answer, parse_json, parse_xml, reach, text_of
from adapters.search.service import ApiKey, Service, Surroundings, WebAddress, garbled, read_settings, with_path
from core.model.errors import ProviderRejected
from core.model.ports import ProviderStrength
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.model.works import WorkIds
from core.pipeline.limits import CallRate

SERVICE = Service(
    "pubmed",
    "PubMed",
    url_variable="PUBMED_BASE_URL",
    key_variable="NCBI_API_KEY",
    domain="nih.gov",
    rate=CallRate(3, 1.0, burst=2, max_wait_s=4.0),  # NBK25497, "Usage Guidelines"
    rate_with_key=CallRate(10, 1.0, burst=5),  # ditto
)
API_PATH = "/entrez/eutils"
PUBLIC = f"https://eutils.ncbi.nlm.nih.gov{API_PATH}"
PAGE = "https://pubmed.ncbi.nlm.nih.gov/{}/"
TOOL = "gorkd"
SPARE = 3  # records asked for beyond the limit, since some have no abstract
MAX_RECORDS = 40
MAX_KEYWORDS = 12  # all of them must match
RETRACTED = "[Retracted]"
# Publication types of MeSH (nlm.nih.gov/mesh/pubtypes.html)
RETRACTIONS = frozenset({"Retracted Publication", "Retraction of Publication"})
GUIDELINES = frozenset(
    {"Guideline", "Practice Guideline", "Consensus Development Conference", "Consensus Development Conference, NIH"}
)
_RETRACTED_IN = "MedlineCitation/CommentsCorrectionsList/CommentsCorrections[@RefType='RetractionIn']"
_UNTAGGED = re.compile(r"\[[^\[\]]*\]|\b(?:AND|OR|NOT)\b")  # what is syntax and no word


class PubmedSettings(BaseModel):
    base_url: WebAddress = Field(default=PUBLIC, alias="PUBMED_BASE_URL")
    api_key: ApiKey | None = Field(default=None, alias="NCBI_API_KEY")


def build(env: Mapping[str, str], around: Surroundings) -> PubmedSearch:
    settings = read_settings(PubmedSettings, env)
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    return PubmedSearch(settings.base_url, around, api_key=key)


class PubmedSearch(OnlineSearch):
    """`base_url` is the folder of esearch.fcgi, or an origin; the key triples the public service's rate limit."""

    service = SERVICE
    strength: ProviderStrength = "scholarly"

    def __init__(self, base_url: str, around: Surroundings, *, api_key: str = "") -> None:
        self._url = with_path(base_url, API_PATH)
        self._always = {"db": "pubmed", "tool": TOOL} | ({"api_key": api_key} if api_key else {})
        self._api = GetClient(SERVICE, around, self._url)
        super().__init__(self._api, around)

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        words = keywords(_UNTAGGED.sub(" ", query.text) if query.is_verbatim else query.text, most=MAX_KEYWORDS)
        if not words or not admits(PAGE.format(1), query.filters):
            return []
        most = min(limit + SPARE, MAX_RECORDS)
        ids = await self._ids(query.text if query.is_verbatim else " ".join(words), most, query.filters)
        if not ids and len(words) > 2:  # no record has them all: any of them, best first
            ids = await self._ids(" OR ".join(words), most, query.filters)
        return await self._read(ids) if ids else []

    async def _ids(self, term: str, most: int, filters: SearchFilters) -> list[str]:
        span = reach(filters.recency)
        parameters = {"term": term, "retmode": "json", "retmax": str(most), "sort": "relevance"}
        if span is not None:
            parameters |= {"datetype": "pdat", "reldate": str(span.days)}
        body = await self._api.get(f"{self._url}/esearch.fcgi", {**self._always, **parameters})
        result = parse_answer(SERVICE, _Answer, parse_json(SERVICE, body)).esearchresult
        if result.error:
            raise ProviderRejected(SERVICE.name, f"esearch: {result.error[:200]}")
        return [pmid for pmid in result.idlist if pmid.isascii() and pmid.isdigit()]

    async def _read(self, ids: Sequence[str]) -> list[SearchHit]:
        parameters = {"id": ",".join(ids), "retmode": "xml", "rettype": "abstract"}
        body = await self._api.get(f"{self._url}/efetch.fcgi", {**self._always, **parameters})
        root = parse_xml(SERVICE, body)
        if root.tag != "PubmedArticleSet":
            raise garbled(SERVICE, f"efetch gave <{root.tag[:40]}>")
        found = {pmid: hit for pmid, hit in map(_read_record, root.iterfind("PubmedArticle")) if hit is not None}
        return [found[pmid] for pmid in ids if pmid in found]  # efetch does not keep the ranking


class _Result(BaseModel):
    idlist: list[str] = []
    error: str = Field(default="", alias="ERROR")


class _Answer(BaseModel):
    esearchresult: _Result


def _read_record(record: Element) -> tuple[str, SearchHit | None]:
    """The PMID and the hit; None for a record without an abstract, which could not support anything."""
    pmid = text_of(record.find("MedlineCitation/PMID"))
    article = record.find("MedlineCitation/Article")
    abstract = _abstract(article) if article is not None else ""
    if article is None or not abstract or not (pmid.isascii() and pmid.isdigit()):
        return pmid, None
    kinds = {text_of(kind) for kind in article.iterfind("PublicationTypeList/PublicationType")}
    is_retracted = kinds & RETRACTIONS or record.find(_RETRACTED_IN) is not None
    mark = f"{RETRACTED} " if is_retracted else ""
    hit = SearchHit(
        provider=SERVICE.name,
        url=PAGE.format(pmid),
        title=mark + text_of(article.find("ArticleTitle")).removesuffix("."),
        text=mark + abstract,
        is_complete=True,
        published_at=_published_at(article),
        author=_author(article),
        kind=SourceKind.PREPRINT if "Preprint" in kinds else SourceKind.PEER_REVIEWED,
        is_guideline=bool(kinds & GUIDELINES),
        ids=_ids(record, pmid),
    )
    return pmid, hit


def _ids(record: Element, pmid: str) -> WorkIds:
    """Its other ids stand behind the citation."""
    known = {one.get("IdType", ""): text_of(one) for one in record.iterfind("PubmedData/ArticleIdList/ArticleId")}
    return WorkIds.of(pmid=pmid, doi=known.get("doi", ""), pmcid=known.get("pmc", ""))


def _abstract(article: Element) -> str:
    """One paragraph a section, `LABEL: text` where the section has a label."""
    paragraphs: list[str] = []
    for section in article.iterfind("Abstract/AbstractText"):
        text, label = text_of(section), section.get("Label", "")
        if text:
            paragraphs.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return "\n\n".join(paragraphs)


def _author(article: Element) -> str | None:
    """`Moore A, Lee B et al. (The Lancet)`."""
    names = [
        text_of(author.find("CollectiveName"))
        or f"{text_of(author.find('LastName'))} {text_of(author.find('Initials'))}".strip()
        for author in article.iterfind("AuthorList/Author")
    ]
    journal = text_of(article.find("Journal/Title"))
    return " ".join(part for part in (name_authors(names), f"({journal})" if journal else "") if part) or None


def _published_at(article: Element) -> datetime | None:
    """The earlier of the electronic and the printed date; a missing month or day counts as the first."""
    dates = [article.find("ArticleDate"), article.find("Journal/JournalIssue/PubDate")]
    times = [time for time in map(_read_date, dates) if time is not None]
    return min(times, default=None)


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
