"""Wikipedia, or any MediaWiki with the TextExtracts extension: whole articles as plain text, no key.

The Wikipedia in the question's language is searched; what its articles link to as their English counterpart is read
beside them, since it is often the longer one. Both are one voice (core/evidence/authority.py).

Two round trips: one search that also tells addresses and dates, then the articles in parallel, since
the API gives only one whole extract a request (mediawiki.org, Extension:TextExtracts).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from adapters.search.clients import GetSearch
from adapters.search.service import Service, Surroundings, admits, garbled, keywords, parse_items, parse_time
from core.model.errors import ProviderError, ProviderRateLimited, ProviderRejected
from core.model.ports import ProviderStrength
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.pipeline.limits import CallRate
from core.text.language import language_of, small_words

SERVICE = Service(
    "wikipedia",
    "Wikipedia",
    url_variable="WIKIPEDIA_BASE_URL",
    public="https://{language}.wikipedia.org",
    domain="wikipedia.org",
    rate=CallRate(40, 2.0, burst=20),  # no limit is published; far below what a browser's page causes
)
API_PATH = "/w/api.php"
MAX_ARTICLES = 5  # an encyclopedia's sixth match is rarely on the topic, and each costs a request
MAX_BESIDE = 2  # English counterparts of the first articles
ENGLISH = "en"
MAX_KEYWORDS = 12  # the search engine wants every word to match
_EXTRACTS = {"prop": "extracts", "explaintext": "1", "exsectionformat": "wiki"}
_HEADING = re.compile(r"^(={2,6}) ?([^\n]*?[^\s=]) ?\1$", re.MULTILINE)  # one space at most: linear on any text


def build(env: Mapping[str, str], around: Surroundings) -> WikipediaSearch:
    return WikipediaSearch(SERVICE.address(env), around)


class WikipediaSearch(GetSearch):
    """`base_url` is the address of api.php, or an origin; `{language}` may stand in it."""

    service = SERVICE
    strength: ProviderStrength = "reference"
    path = API_PATH

    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        language = self._language(query)
        words = [word for word in keywords(query.text) if word not in small_words(language)] or keywords(query.text)
        if not words:
            return []
        return await self._search(words[:MAX_KEYWORDS], min(limit, MAX_ARTICLES), language, query.filters)

    def _language(self, query: SearchQuery) -> str:
        """English where the address is that of one wiki."""
        if "{language}" not in self._url:
            return ENGLISH
        return language_of(query.text) or query.filters.language or ENGLISH

    async def _search(self, words: list[str], most: int, language: str, filters: SearchFilters) -> list[SearchHit]:
        """In the language and beside it in English; in English alone where the language has nothing or fails."""
        failure: ProviderError | None = None
        if language != ENGLISH and self._is_admitted(language, filters):
            try:
                if hits := await self._search_one(words, most, language):
                    return hits
            except ProviderError as exc:
                failure = exc
        hits = await self._search_one(words, most, ENGLISH) if self._is_admitted(ENGLISH, filters) else []
        if failure is not None and not hits:
            raise failure
        return hits

    def _is_admitted(self, language: str, filters: SearchFilters) -> bool:
        """A mirror may give its own addresses or Wikipedia's."""
        return any(admits(site.format(language=language), filters) for site in (self._url, SERVICE.public))

    async def _search_one(self, words: list[str], most: int, language: str) -> list[SearchHit]:
        pages = await self._find(" ".join(words), most, language)
        if not pages and len(words) > 2:  # no article has them all: any of them, best first
            pages = await self._find(" OR ".join(words), most, language)
        beside = [page.langlinks[0].title for page in pages if page.langlinks][:MAX_BESIDE]
        own, english = await asyncio.gather(
            self._read(pages, language), asyncio.gather(*(self._counterpart(title) for title in beside))
        )
        return [*own, *(hit for hit in english if hit is not None)]

    async def _find(self, terms: str, most: int, language: str) -> list[_Page]:
        """The articles that match, best first, without disambiguation pages."""
        parameters = {
            "generator": "search",
            "gsrsearch": terms,
            "gsrlimit": str(most + 2),  # disambiguation pages are dropped below
            "gsrnamespace": "0",
            "prop": "info|pageprops|revisions",
            "inprop": "url",
            "ppprop": "disambiguation",
            "rvprop": "timestamp",
        }
        if language != ENGLISH:
            parameters |= {"prop": f"{parameters['prop']}|langlinks", "lllang": ENGLISH, "lllimit": "max"}
        pages = parse_items(SERVICE, _Page, await self._query(parameters, language))
        articles = [page for page in pages if "disambiguation" not in page.pageprops and page.fullurl]
        return sorted(articles, key=lambda page: page.index)[:most]

    async def _read(self, pages: Sequence[_Page], language: str) -> list[SearchHit]:
        """An article that cannot be read is left out; raises `ProviderError` when none can."""
        outcomes = await asyncio.gather(*(self._extract(page, language) for page in pages), return_exceptions=True)
        hits: list[SearchHit] = []
        failures: list[ProviderError] = []
        for page, outcome in zip(pages, outcomes, strict=True):
            if isinstance(outcome, ProviderError):
                failures.append(outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            elif outcome:
                hits.append(_hit(page, outcome))
        if failures and not hits:
            raise failures[0]
        return hits

    async def _extract(self, page: _Page, language: str) -> str:
        extracts = parse_items(
            SERVICE, _Extract, await self._query({**_EXTRACTS, "pageids": str(page.pageid)}, language)
        )
        return extracts[0].extract if extracts else ""

    async def _counterpart(self, title: str) -> SearchHit | None:
        """The English article of that title; None where it cannot be read, which costs nothing of the others."""
        about = {"prop": f"{_EXTRACTS['prop']}|info|revisions", "inprop": "url", "rvprop": "timestamp"}
        try:
            pages = await self._query({**_EXTRACTS, **about, "titles": title}, ENGLISH)
            (page,), (text,) = parse_items(SERVICE, _Page, pages), parse_items(SERVICE, _Extract, pages)
        except (ProviderError, ValueError):
            return None
        return _hit(page, text.extract) if text.extract else None

    async def _query(self, parameters: Mapping[str, str], language: str) -> list[object]:
        """The `pages` of one `action=query` call; none when nothing matched."""
        always = {"action": "query", "format": "json", "formatversion": "2"}
        url = self._url.format(language=language)
        answer = await self._api.ask(_WikipediaAnswer, url, {**always, **parameters})
        if answer.error is not None and answer.error.code == "ratelimited":
            raise ProviderRateLimited(SERVICE.name, f"API error ratelimited: {answer.error.info[:200]}")
        if answer.error is not None:
            raise ProviderRejected(SERVICE.name, f"API error {answer.error.code}: {answer.error.info[:200]}")
        if answer.query is None and answer.batchcomplete is None:
            raise garbled(SERVICE, "not an answer of the MediaWiki API")
        return answer.query.pages if answer.query else []


class _Error(BaseModel):
    code: str = ""
    info: str = ""


class _Pages(BaseModel):
    pages: list[object] = []


class _WikipediaAnswer(BaseModel):
    query: _Pages | None = None
    batchcomplete: bool | None = None
    error: _Error | None = None


class _Revision(BaseModel):
    timestamp: str | None = None


class _ArticleLink(BaseModel):
    """The article of the same subject in another language."""

    title: str


class _Page(BaseModel):
    pageid: int
    title: str
    index: int = 0
    fullurl: str = ""
    pageprops: dict[str, object] = {}
    revisions: list[_Revision] = []
    langlinks: list[_ArticleLink] = []


class _Extract(BaseModel):
    extract: str = ""


def _hit(page: _Page, text: str) -> SearchHit:
    return SearchHit(
        provider=SERVICE.name,
        url=page.fullurl,
        title=page.title,
        text=_HEADING.sub(lambda found: f"{'#' * len(found[1])} {found[2]}", text),  # as Markdown, like other sources
        is_complete=True,
        published_at=parse_time(page.revisions[0].timestamp) if page.revisions else None,
        kind=SourceKind.REFERENCE,
    )
