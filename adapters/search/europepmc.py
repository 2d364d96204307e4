"""Europe PMC: abstracts of the life sciences, full texts of what is open there; a provider, and a registry. No key.

Queries are in its own syntax (europepmc.org/searchsyntax): fields, phrases, AND, OR, NOT. Full texts come as JATS XML
with their sections (europepmc.org/RestfulWebService, fullTextXML).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from pydantic import AliasPath, BaseModel, Field

from adapters.search.clients import GetSearch
from adapters.search.service import (
    Service,
    Surroundings,
    admits,
    clean_line,
    clean_text,
    deadline,
    hit_of_work,
    keywords,
    parse_items,
    parse_time,
    parse_xml,
    reach,
    strip_tags,
    text_of,
)
from core.model.ports import ProviderStrength
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind, heading
from core.model.works import Notice, NoticeKind, OpenCopy, WorkIds, WorkRecord
from core.pipeline.limits import CallRate
from core.works.registry import Registry

API_PATH = "/europepmc/webservices/rest"
SERVICE = Service(
    "europepmc",
    "Europe PMC",
    url_variable="EUROPEPMC_BASE_URL",
    public=f"https://www.ebi.ac.uk{API_PATH}",
    domain="ebi.ac.uk",
    rate=CallRate(10, 1.0, burst=5),  # none is published; what NCBI allows with a key
)
PAGE = "https://europepmc.org/article/{}/{}"
MAX_RESULTS = 40
SPARE = 3  # records asked for beyond the limit, since some have no abstract
MAX_KEYWORDS = 12  # all of them must match
TITLES = 5  # of a search by title
_SYNTAX = re.compile(r"[^\w\s'’.-]+|\b(?:AND|OR|NOT)\b|\b[A-Z_]+:")
_HEADING = re.compile(r"<h4>\s*(.*?)\s*</h4>", re.IGNORECASE | re.DOTALL)  # labels within abstracts
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NOTICES: dict[str, NoticeKind] = {  # the links of PubMed's records (nlm.nih.gov/bsd/mms/medlineelements.html#cc)
    "retraction in": "retraction",
    "expression of concern in": "concern",
    "erratum in": "correction",
    "corrected and republished in": "correction",
}
_RETRACTED = "retracted publication"
_NO_PROSE = frozenset({"fig", "table-wrap", "xref", "fn", "disp-formula", "supplementary-material", "graphic"})


def build(env: Mapping[str, str], around: Surroundings) -> EuropePmc:
    return EuropePmc(SERVICE.address(env), around)


build_registry = build


class EuropePmc(GetSearch, Registry):
    """A provider and a `Registry`. `base_url` is the folder of `search`, or an origin."""

    service = SERVICE
    strength: ProviderStrength = "scholarly"
    path = API_PATH

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        if not admits(PAGE.format("MED", 1), query.filters):
            return []
        return [hit for one in await self._found(query, limit + SPARE) if (hit := _hit(one)) is not None]

    async def find_works(self, query: str, limit: int) -> Sequence[WorkRecord] | None:
        async with deadline(SERVICE, self._search_s):
            return [_record(found) for found in await self._found(SearchQuery(query), limit)]

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        asked = (
            f'DOI:"{ids.doi}"' if ids.doi and '"' not in ids.doi
            else f"EXT_ID:{ids.pmid} AND SRC:MED" if ids.pmid
            else f"PMCID:{ids.pmcid}" if ids.pmcid
            else ""
        )  # fmt: skip
        if not asked:
            return None
        return [_record(found) for found in await self._search(asked, 1, SearchFilters())]

    async def by_title(self, title: str, *, author: str = "", year: str = "") -> Sequence[WorkRecord] | None:
        """By the words of the title, all of them; the author narrows a title of few words."""
        words = _SYNTAX.sub(" ", title).split()
        if not words:
            return None
        asked = " AND ".join(f'TITLE:"{word}"' for word in words[: 2 * MAX_KEYWORDS])
        name = " ".join(_SYNTAX.sub(" ", author).split())
        asked += f' AND AUTH:"{name}"' if name and len(words) <= 3 else ""
        return [_record(found) for found in await self._search(asked, TITLES, SearchFilters())]

    async def full_text(self, pmcid: str) -> str:
        """An open article with the headings of its sections, "" where none may be read. Raises `ProviderError`."""
        body = await self._api.get(f"{self._url}/{pmcid}/fullTextXML", {}, none_at=404)
        return _full_text(parse_xml(SERVICE, body)) if body else ""

    async def _found(self, query: SearchQuery, limit: int) -> list[_FoundPaper]:
        words = keywords(_SYNTAX.sub(" ", query.text) if query.is_verbatim else query.text, most=MAX_KEYWORDS)
        if not words:
            return []
        most, quoted = min(limit, MAX_RESULTS), [f'"{word}"' for word in words]
        asked = query.text if query.is_verbatim else " AND ".join(quoted)
        found = await self._search(asked, most, query.filters)
        if not found and len(words) > 2:  # no record has them all: any of them, best first
            found = await self._search(" OR ".join(quoted), most, query.filters)
        return found

    async def _search(self, asked: str, most: int, filters: SearchFilters) -> list[_FoundPaper]:
        span = reach(filters.recency)
        if span is not None:
            now = self._clock()
            asked = f"({asked}) AND FIRST_PDATE:[{now - span:%Y-%m-%d} TO {now:%Y-%m-%d}]"
        parameters = {"query": asked, "format": "json", "resultType": "core", "pageSize": str(most)}
        answer = await self._api.ask(_EuropePmcAnswer, f"{self._url}/search", parameters)
        return parse_items(SERVICE, _FoundPaper, answer.list.result)


class _PaperAuthor(BaseModel):
    full: str = Field(default="", alias="fullName")
    body: str = Field(default="", alias="collectiveName")


class _FullTextLink(BaseModel):
    id: str = ""
    source: str = ""
    type: str = ""
    reference: str = ""


class _Copy(BaseModel):
    availability: str = Field(default="", alias="availabilityCode")
    style: str = Field(default="", alias="documentStyle")
    site: str = ""
    url: str = ""


class _FoundPaper(BaseModel):
    id: str
    source: str = "MED"
    pmid: str = ""
    pmcid: str = ""
    doi: str = ""
    title: str = ""
    authors: list[_PaperAuthor] = Field(default=[], validation_alias=AliasPath("authorList", "author"))
    journal: str = Field(default="", validation_alias=AliasPath("journalInfo", "journal", "title"))
    year: str = Field(default="", alias="pubYear")
    published: str = Field(default="", alias="firstPublicationDate")
    abstract: str = Field(default="", alias="abstractText")
    kinds: list[str] = Field(default=[], validation_alias=AliasPath("pubTypeList", "pubType"))
    open_access: str = Field(default="", alias="isOpenAccess")
    cited_by: int | None = Field(default=None, alias="citedByCount")
    links: list[_FullTextLink] = Field(
        default=[], validation_alias=AliasPath("commentCorrectionList", "commentCorrection")
    )
    copies: list[_Copy] = Field(default=[], validation_alias=AliasPath("fullTextUrlList", "fullTextUrl"))

    @property
    def is_open(self) -> bool:
        return self.open_access == "Y"

    @property
    def names(self) -> list[str]:
        return [clean_line(one.full or one.body) for one in self.authors if one.full or one.body]


class _PaperList(BaseModel):
    result: list[object] = []


class _EuropePmcAnswer(BaseModel):
    list: _PaperList = Field(alias="resultList")


def _record(found: _FoundPaper) -> WorkRecord:
    links = [(link.type.casefold(), link) for link in found.links]
    notices = [_notice(_NOTICES[kind], link) for kind, link in links if kind in _NOTICES]
    kinds = {kind.casefold() for kind in found.kinds}
    if _RETRACTED in kinds and not any(notice.kind == "retraction" for notice in notices):
        notices.append(Notice("retraction", said_by=SERVICE.label))
    versions = [link.id for kind, link in links if kind.startswith("preprint") and link.source == "MED" and link.id]
    free = {"OA": "published", "F": ""}
    return WorkRecord(
        ids=WorkIds.of(doi=found.doi, pmid=found.pmid, pmcid=found.pmcid),
        title=clean_line(found.title).removesuffix("."),
        authors=tuple(found.names),
        year=found.year if found.year.isdigit() else "",
        venue=clean_line(found.journal),
        kind="posted-content" if found.source == "PPR" else "journal-article" if "journal article" in kinds else "",
        abstract=_abstract(found.abstract),
        versions=tuple(WorkIds.of(pmid=pmid) for pmid in versions),
        copies=tuple(
            OpenCopy(copy.url, is_pdf=copy.style == "pdf", host=copy.site.replace("_", " "))
            for copy in found.copies
            if copy.availability in free and copy.url
        ),
        is_open=found.is_open or None,
        notices=tuple(notices),
        cited_by=found.cited_by,
        said_by=(SERVICE.name,),
    )


def _notice(kind: NoticeKind, link: _FullTextLink) -> Notice:
    """Its date is the year of what it is cited as: `Lancet. 2010 Feb 6;375(9713):445`."""
    url = f"https://pubmed.ncbi.nlm.nih.gov/{link.id}/" if link.source == "MED" and link.id else ""
    year = _YEAR.search(link.reference)
    return Notice(kind, url, year[0] if year else "", said_by=SERVICE.label)


def _hit(found: _FoundPaper) -> SearchHit | None:
    kind = SourceKind.PREPRINT if found.source == "PPR" else SourceKind.PEER_REVIEWED
    url, published_at = PAGE.format(found.source, found.id), parse_time(found.published)
    return hit_of_work(SERVICE, _record(found), url, published_at=published_at, kind=kind)


def _abstract(text: str) -> str:
    """One paragraph a section, `LABEL: text` where the section has a label."""
    first, *sections = _HEADING.split(text)
    paragraphs = [first] + [
        f"{label.upper()}: {body}" for label, body in zip(sections[::2], sections[1::2], strict=True)
    ]
    return "\n\n".join(line for line in (" ".join(clean_text(strip_tags(one)).split()) for one in paragraphs) if line)


def _full_text(article: Element) -> str:
    """Abstract and body, a paragraph a block, below the headings of their sections."""
    abstract = article.find("front/article-meta/abstract")
    body = article.find("body")
    if body is None:
        return ""
    blocks = [*([heading("Abstract", 1), *_blocks(abstract, 2)] if abstract is not None else []), *_blocks(body, 1)]
    return "\n\n".join(blocks)


def _blocks(part: Element, depth: int) -> Iterator[str]:
    for child in part:
        if child.tag == "title":
            continue
        if child.tag == "sec":
            title = text_of(child.find("title"))
            if title:
                yield heading(title, depth)
            yield from _blocks(child, depth + 1)
        elif child.tag == "table-wrap":
            yield from _table(child)
        elif child.tag == "fig":
            caption = text_of(child.find("caption"))
            if caption:
                yield f"{text_of(child.find('label'))} {caption}".strip()
        elif child.tag == "list":
            yield from (f"- {text}" for item in child.iterfind("list-item") if (text := text_of(item)))
        elif child.tag not in _NO_PROSE and (text := text_of(child)):
            yield text


def _table(table: Element) -> Iterator[str]:
    """Its caption, and its rows with their cells between bars."""
    named = f"{text_of(table.find('label'))} {text_of(table.find('caption'))}".strip()
    rows = (" | ".join(text_of(cell) for cell in row if cell.tag in ("td", "th")) for row in table.iter("tr"))
    yield "\n".join(filter(None, (named, *rows)))
