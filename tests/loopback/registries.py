"""Crossref, OpenAlex, Europe PMC and Unpaywall, with bodies in their real shapes.

Recorded by hand from the documentation (api.crossref.org, developers.openalex.org, europepmc.org/RestfulWebService,
unpaywall.org/data-format): the fields that gorkd reads, and some around them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from aiohttp import web

from tests.loopback.search_corpus import Document, best_matches, words_of

CONTACT = "librarian@example.org"
OPENALEX_KEY = "openalex-loopback"
EVERYWHERE = frozenset({"crossref", "openalex", "europepmc", "pubmed", "unpaywall"})


@dataclass(frozen=True)
class Update:
    """`type` is Crossref's word; `doi` and `pmid` are the notice's own. Who knows of it stands in `told_by`."""

    type: str
    doi: str = ""
    pmid: str = ""
    date: str = "2021-03-04"
    source: str = "publisher"
    told_by: frozenset[str] = EVERYWHERE


@dataclass(frozen=True)
class Paper(Document):
    """A published work; its `text` is the abstract, `sections` are headings and paragraphs of its full text."""

    doi: str = ""
    pmid: str = ""
    pmcid: str = ""
    arxiv: str = ""
    authors: tuple[str, ...] = ()
    venue: str = "The loopback journal"
    updates: tuple[Update, ...] = ()
    cited_by: int = 7
    sections: tuple[tuple[str, str], ...] = ()
    open_pdf: str = ""
    open_version: str = "publishedVersion"
    is_preprint: bool = False
    journal_doi: str = ""  # of a preprint's journal version
    known_to: frozenset[str] = EVERYWHERE

    @property
    def names(self) -> tuple[str, ...]:
        return self.authors or (self.author,)

    @property
    def is_open(self) -> bool:
        return bool(self.sections or self.open_pdf or self.arxiv)

    def updates_for(self, registry: str) -> list[Update]:
        return [update for update in self.updates if registry in update.told_by]

    @property
    def is_retracted_in_openalex(self) -> bool:
        return any(update.type == "retraction" for update in self.updates_for("openalex"))


def papers_of(documents: Sequence[Document], registry: str) -> list[Paper]:
    """Of documents that are no papers the same words, as every service of the world knows them."""
    papers = [one if isinstance(one, Paper) else _plain(one, place) for place, one in enumerate(documents)]
    return [paper for paper in papers if registry in paper.known_to]


@functools.lru_cache(maxsize=10_000)
def _plain(document: Document, place: int) -> Paper:
    plain = Paper(document.url, document.title, document.text, document.published_at, document.author)
    return replace(plain, pmid=document.id or str(30_000_000 + place))


# Crossref


def crossref_routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    papers = papers_of(documents, "crossref")
    by_doi = {paper.doi.casefold(): paper for paper in papers if paper.doi}

    async def one(request: web.Request) -> web.Response:
        paper = by_doi.get(request.match_info["doi"].casefold())
        if paper is None:
            return web.Response(status=404, text="Resource not found.")
        return web.json_response(
            {"status": "ok", "message-type": "work", "message-version": "1.0.0", "message": _crossref(paper)}
        )

    async def several(request: web.Request) -> web.Response:
        asked = f"{request.query.get('query.bibliographic', '')} {request.query.get('query.author', '')}"
        found = best_matches([*by_doi.values()], words_of(asked))[: int(request.query.get("rows", "20"))]
        items = [_crossref(by_doi[paper.doi.casefold()]) for paper in found if isinstance(paper, Paper)]
        message = {"total-results": len(items), "items": items, "items-per-page": 20, "facets": {}}
        return web.json_response({"status": "ok", "message-type": "work-list", "message": message})

    return [web.get("/v1/works", several), web.get("/v1/works/{doi:.+}", one)]


def crossref_answer(paper: Paper) -> bytes:
    """What it says of one work."""
    return json.dumps({"status": "ok", "message-type": "work", "message": _crossref(paper)}).encode()


def _crossref(paper: Paper) -> dict[str, object]:
    at = paper.published_at
    names = [name.rpartition(" ") for name in paper.names]
    updates = [
        {
            "updated": {"date-parts": [[int(part) for part in update.date.split("-")]]},
            "DOI": update.doi,
            "type": update.type,
            "source": update.source,
            "label": update.type.replace("_", " ").capitalize(),
        }
        for update in paper.updates_for("crossref")
    ]
    item: dict[str, object] = {
        "DOI": paper.doi,
        "type": "posted-content" if paper.is_preprint else "journal-article",
        "title": [paper.title],
        "author": [
            {"given": first, "family": last, "sequence": "first" if place == 0 else "additional", "affiliation": []}
            for place, (first, _, last) in enumerate(names)
        ],
        "container-title": [] if paper.is_preprint else [paper.venue],
        "issued": {"date-parts": [[at.year, at.month, at.day]]},
        "is-referenced-by-count": paper.cited_by,
        "abstract": f"<jats:title>Abstract</jats:title><jats:p>{escape(paper.text)}</jats:p>",
        "URL": f"https://doi.org/{paper.doi}",
        "relation": {},
    }
    if updates:
        item["updated-by"] = updates
    if paper.journal_doi:
        item["relation"] = {"is-preprint-of": [{"id-type": "doi", "id": paper.journal_doi, "asserted-by": "subject"}]}
    return item


# OpenAlex


def openalex_routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    papers = papers_of(documents, "openalex")
    numbers = {id(paper): 4_000_000_000 + place for place, paper in enumerate(papers)}

    def known_as(place: str) -> Paper | None:
        for paper in papers:
            arxiv = f"doi:10.48550/arxiv.{paper.arxiv}" if paper.arxiv else ""
            names = {f"doi:{paper.doi}", f"pmid:{paper.pmid}", f"pmcid:{paper.pmcid}", f"W{numbers[id(paper)]}", arxiv}
            if place.casefold() in {name.casefold() for name in names if name.partition(":")[2] or name[:1] == "W"}:
                return paper
        return None

    async def one(request: web.Request) -> web.Response:
        paper = known_as(request.match_info["place"])
        if paper is None:
            return web.json_response({"error": "Not Found"}, status=404)
        return web.json_response(_openalex(paper, numbers[id(paper)]))

    async def several(request: web.Request) -> web.Response:
        if request.query.get("api_key") != OPENALEX_KEY:
            return web.json_response({"error": "Unauthorized", "message": "API key required"}, status=401)
        wanted = request.query.get("filter", "")
        text = wanted.partition("title.search:")[2] or request.query.get("search", "")
        if not text or any(mark in wanted.replace("from_publication_date:", "").partition(":")[2] for mark in ',|"'):
            return web.json_response({"error": "Invalid query parameters error."}, status=400)
        found = _by_words(papers, text.split(" OR "))[: int(request.query.get("per_page", "25"))]
        results = [_openalex(paper, numbers[id(paper)]) for paper in found]
        meta = {"count": len(results), "db_response_time_ms": 12, "page": 1, "per_page": 25}
        return web.json_response({"meta": meta, "results": results, "group_by": []})

    return [web.get("/works", several), web.get("/works/{place:.+}", one)]


def _openalex(paper: Paper, number: int) -> dict[str, object]:
    places: dict[str, list[int]] = {}
    for place, word in enumerate(paper.text.split()):
        places.setdefault(word, []).append(place)
    published = _location(paper.url, "journal", paper.venue, is_oa=False, version="publishedVersion")
    locations = [published]
    if paper.open_pdf:
        version = paper.open_version
        locations.append(
            _location("", "repository", "An open repository", is_oa=True, version=version, pdf=paper.open_pdf)
        )
    if paper.arxiv:
        address = f"http://arxiv.org/abs/{paper.arxiv}"
        locations.append(_location(address, "repository", "arXiv", is_oa=True, version="submittedVersion"))
    ids = {"openalex": f"https://openalex.org/W{number}"}
    ids |= {"doi": f"https://doi.org/{paper.doi}"} if paper.doi else {}
    ids |= {"pmid": f"https://pubmed.ncbi.nlm.nih.gov/{paper.pmid}"} if paper.pmid else {}
    ids |= {"pmcid": f"https://www.ncbi.nlm.nih.gov/pmc/articles/{paper.pmcid[3:]}"} if paper.pmcid else {}
    return {
        "id": ids["openalex"],
        "doi": ids.get("doi"),
        "ids": ids,
        "display_name": paper.title,
        "publication_year": paper.published_at.year,
        "publication_date": f"{paper.published_at:%Y-%m-%d}",
        "type": "preprint" if paper.is_preprint else "article",
        "authorships": [
            {"author_position": "middle", "author": {"id": "https://openalex.org/A1", "display_name": name}}
            for name in paper.names
        ],
        "primary_location": published,
        "locations": locations,
        "open_access": {"is_oa": paper.is_open, "oa_status": "green" if paper.is_open else "closed"},
        "cited_by_count": paper.cited_by,
        "is_retracted": paper.is_retracted_in_openalex,
        "abstract_inverted_index": places or None,
    }


def _location(url: str, kind: str, name: str, *, is_oa: bool, version: str, pdf: str = "") -> dict[str, object]:
    return {
        "is_oa": is_oa,
        "landing_page_url": url or None,
        "pdf_url": pdf or None,
        "version": version,
        "license": None,
        "source": {"id": "https://openalex.org/S1", "display_name": name, "type": kind, "issn_l": None},
    }


# Europe PMC


class BadQuery(Exception):
    pass


def europepmc_routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    papers = papers_of(documents, "europepmc")

    async def search(request: web.Request) -> web.Response:
        asked = request.query
        if asked.get("format") != "json" or not asked.get("query") or asked.get("resultType") != "core":
            return web.json_response({"errCode": 404, "errMsg": "Query is missing"}, status=400)
        try:
            found = search_europepmc(asked["query"], papers)
        except BadQuery as exc:
            return web.json_response({"errCode": 400, "errMsg": str(exc)}, status=400)
        results = [_europepmc(paper) for paper in found[: int(asked.get("pageSize", "25"))]]
        body = {"version": "6.9", "hitCount": len(found), "request": {}, "resultList": {"result": results}}
        return web.json_response(body)

    async def full_text(request: web.Request) -> web.Response:
        pmcid = request.match_info["pmcid"]
        paper = next((one for one in papers if one.pmcid == pmcid and one.sections), None)
        if paper is None:
            return web.Response(status=404)
        return web.Response(text=jats(paper), content_type="application/xml")

    base = "/europepmc/webservices/rest"
    return [web.get(f"{base}/search", search), web.get(f"{base}/{{pmcid}}/fullTextXML", full_text)]


def search_europepmc(query: str, papers: Sequence[Paper]) -> list[Paper]:
    """AND binds no tighter than OR here: gorkd sends the one or the other, with a span of dates in brackets."""
    if query.count('"') % 2 or query.count("(") != query.count(")"):
        raise BadQuery("a quotation mark or parenthesis is not closed")
    asked, _, span = query.partition(" AND FIRST_PDATE:")
    asked = asked.strip("()") if span else asked
    operator = any if " OR " in asked else all
    parts = [part.strip() for part in re.split(r" (?:AND|OR) ", asked)]
    since, until = (span.strip("[]").split(" TO ")) if span else ("", "9999")
    found = [
        paper
        for paper in papers
        if operator(_is_met(part, paper) for part in parts) and since <= f"{paper.published_at:%Y-%m-%d}" <= until
    ]
    words = words_of(re.sub(r"\b[A-Z_]+:", " ", asked))
    return sorted(found, key=lambda paper: -len(words & words_of(f"{paper.title} {paper.text}")))


def _is_met(part: str, paper: Paper) -> bool:
    field, colon, value = part.partition(":") if not part.startswith('"') else ("", "", part)
    value = (value if colon or not field else field).strip('"').casefold()
    texts: dict[str, Callable[[], bool]] = {
        "DOI": lambda: paper.doi.casefold() == value,
        "EXT_ID": lambda: paper.pmid == value,
        "PMCID": lambda: paper.pmcid.casefold() == value,
        "SRC": lambda: value == ("ppr" if paper.is_preprint else "med"),
        "TITLE": lambda: words_of(value) <= words_of(paper.title),
        "AUTH": lambda: words_of(value) <= words_of(" ".join(paper.names)),
        "ABSTRACT": lambda: words_of(value) <= words_of(paper.text),
    }
    if colon and field not in texts:
        raise BadQuery(f"unknown field {field}")
    return texts[field]() if colon else words_of(value) <= words_of(f"{paper.title} {paper.text}")


def _europepmc(paper: Paper) -> dict[str, object]:
    number = paper.pmid or str(40_000_000 + abs(hash(paper.doi)) % 1_000_000)
    links = [
        {"id": update.pmid, "source": "MED", "reference": f"Loopback. {update.date[:4]};1(2):3", "type": kind,
         "orderIn": 1}
        for update in paper.updates_for("europepmc")
        if (kind := {"retraction": "Retraction in", "expression_of_concern": "Expression of concern in",
                     "correction": "Erratum in"}.get(update.type, ""))
    ]  # fmt: skip
    kinds = [
        "Journal Article",
        *(["Retracted Publication"] if any("Retraction" in str(x["type"]) for x in links) else []),
    ]
    body: dict[str, object] = {
        "id": number,
        "source": "PPR" if paper.is_preprint else "MED",
        "title": f"{paper.title}.",
        "authorString": ", ".join(paper.names),
        "authorList": {"author": [{"fullName": name, "lastName": name.split()[-1]} for name in paper.names]},
        "journalInfo": {"yearOfPublication": paper.published_at.year, "journal": {"title": paper.venue}},
        "pubYear": str(paper.published_at.year),
        "firstPublicationDate": f"{paper.published_at:%Y-%m-%d}",
        "abstractText": f"<h4>Findings </h4>{escape(paper.text)}" if paper.text else "",
        "pubTypeList": {"pubType": kinds},
        "isOpenAccess": "Y" if paper.sections else "N",
        "inEPMC": "Y" if paper.pmcid else "N",
        "citedByCount": paper.cited_by,
    }
    if paper.pmid:
        body["pmid"] = paper.pmid
    if paper.pmcid:
        body["pmcid"] = paper.pmcid
    if paper.doi:
        body["doi"] = paper.doi
    if links:
        body["commentCorrectionList"] = {"commentCorrection": links}
    if paper.open_pdf:
        copy = {"availability": "Open access", "availabilityCode": "OA", "documentStyle": "pdf", "site": "Europe_PMC",
                "url": paper.open_pdf}  # fmt: skip
        body["fullTextUrlList"] = {"fullTextUrl": [copy]}
    return body


def jats(paper: Paper) -> str:
    """An article of the open-access subset, with a table and a reference list."""
    sections = "".join(
        f"<sec id='s{place}'><title>{escape(title)}</title><p>{escape(text)}</p></sec>"
        for place, (title, text) in enumerate(paper.sections)
    )
    table = (
        "<table-wrap id='t1'><label>Table 1</label><caption><p>Means</p></caption><table><tbody>"
        "<tr><th>Group</th><th>Mean</th></tr><tr><td>A</td><td>4.2</td></tr></tbody></table></table-wrap>"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving '
        'and Interchange DTD v1.3 20210610//EN" "JATS-archivearticle1-3.dtd">'
        f"<article><front><article-meta><title-group><article-title>{escape(paper.title)}</article-title></title-group>"
        f"<abstract><p>{escape(paper.text)}</p></abstract></article-meta></front><body>{sections}{table}</body>"
        "<back><ref-list><ref><mixed-citation>Somebody, Something, 1999</mixed-citation></ref></ref-list></back>"
        "</article>"
    )


# Unpaywall


def unpaywall_routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    by_doi = {paper.doi.casefold(): paper for paper in papers_of(documents, "unpaywall") if paper.doi}

    async def one(request: web.Request) -> web.Response:
        if "@" not in request.query.get("email", ""):
            return web.json_response({"HTTP_status_code": 422, "error": True, "message": "Email required"}, status=422)
        paper = by_doi.get(request.match_info["doi"].casefold())
        if paper is None:
            return web.json_response({"HTTP_status_code": 404, "error": True, "message": "not found"}, status=404)
        place = {
            "url": paper.open_pdf,
            "url_for_pdf": paper.open_pdf,
            "url_for_landing_page": None,
            "version": paper.open_version,
            "host_type": "repository",
            "license": "cc-by",
            "repository_institution": "An open repository",
        }
        places = [place] if paper.open_pdf else []
        body = {"doi": paper.doi, "doi_url": f"https://doi.org/{paper.doi}", "title": paper.title,
                "genre": "journal-article", "year": paper.published_at.year, "is_oa": paper.is_open,
                "best_oa_location": place if places else None,
                "oa_locations": places, "z_authors": None}  # fmt: skip
        return web.Response(body=json.dumps(body), content_type="application/json")

    return [web.get("/v2/{doi:.+}", one)]


def _by_words(papers: Sequence[Paper], alternatives: Sequence[str]) -> list[Paper]:
    """Those with all words of one of the alternatives."""
    wanted = [words_of(words) for words in alternatives]
    texts = {id(paper): words_of(f"{paper.title} {paper.text}") for paper in papers}
    found = [paper for paper in papers if any(words and words <= texts[id(paper)] for words in wanted)]
    most = set().union(*wanted)
    return sorted(found, key=lambda paper: -len(most & texts[id(paper)]))
