"""NCBI's E-utilities: esearch as JSON, efetch as XML (Entrez Programming Utilities Help, NBK25501)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from aiohttp import web

from tests.loopback.pubmed_query import BadSyntax, search
from tests.loopback.registries import Paper, papers_of
from tests.loopback.search_corpus import Document

BAD_KEY = "bad-key"
RETRACTED = "Retracted: "  # a title that begins so is a retracted publication
RETRACTED_IN = "Retracted in another issue: "  # one whose type does not say so yet, only its link to the notice
PRACTICE = "Practice: "  # a guideline whose own title does not say so
TYPES = {RETRACTED: "Retracted Publication", PRACTICE: "Practice Guideline", RETRACTED_IN: "Clinical Trial"}
REF_TYPES = {
    "retraction": "RetractionIn",
    "expression_of_concern": "ExpressionOfConcernIn",
    "correction": "ErratumIn",
}
_LABELLED = re.compile(r"^([A-Z][A-Z /&]+): (.*)$", re.DOTALL)
_HEAD = (
    '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2024//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_240101.dtd">\n'
)


def routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    by_id = {paper.pmid or str(30_000_000 + place): paper for place, paper in enumerate(papers_of(documents, "pubmed"))}

    async def esearch(request: web.Request) -> web.Response:
        asked = request.query
        refusal = _refusal(request)
        if refusal is not None:
            return refusal
        if asked.get("retmode") != "json" or not asked.get("term"):
            return web.json_response({"esearchresult": {"ERROR": "Empty term and query_key - nothing todo"}})
        try:
            found = search(asked["term"], by_id)
        except BadSyntax as exc:
            return web.json_response({"esearchresult": {"ERROR": f"Invalid query: {exc}"}})
        ids = {id(document): pmid for pmid, document in by_id.items()}
        most = int(asked.get("retmax", "20"))
        id_list = [ids[id(document)] for document in found[:most]]
        result = {"count": str(len(found)), "retmax": str(most), "retstart": "0", "idlist": id_list}
        return web.json_response({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})

    async def efetch(request: web.Request) -> web.Response:
        refusal = _refusal(request)
        if refusal is not None:
            return refusal
        ids = request.query.get("id", "").split(",")
        if request.query.get("retmode") != "xml" or not all(pmid.isdigit() for pmid in ids):
            return web.Response(status=400, text="ID list is empty or wrong")
        known = sorted(pmid for pmid in ids if pmid in by_id)  # the answer's order is not the request's
        body = "".join(_article(pmid, by_id[pmid]) for pmid in known)
        return web.Response(text=f"{_HEAD}<PubmedArticleSet>{body}</PubmedArticleSet>", content_type="text/xml")

    return [web.get("/entrez/eutils/esearch.fcgi", esearch), web.get("/entrez/eutils/efetch.fcgi", efetch)]


def _refusal(request: web.Request) -> web.Response | None:
    if request.query.get("db") != "pubmed" or not request.query.get("tool"):
        return web.json_response({"error": "db and tool are required"}, status=400)
    if request.query.get("api_key") == BAD_KEY:
        return web.json_response({"error": "API key invalid", "api-key": BAD_KEY}, status=400)
    return None


def _article(pmid: str, document: Paper) -> str:
    at = document.published_at
    mark = next((prefix for prefix in TYPES if document.title.startswith(prefix)), "")
    kinds = ["Journal Article", *([TYPES[mark]] if mark else [])]
    types = "".join(f'<PublicationType UI="D016428">{kind}</PublicationType>' for kind in kinds)
    notices = "".join(
        f'<CommentsCorrections RefType="{REF_TYPES[update.type]}"><RefSource>Loopback. {update.date[:4]};1(2):3'
        f'</RefSource><PMID Version="1">{update.pmid}</PMID></CommentsCorrections>'
        for update in document.updates_for("pubmed")
    ) + ('<CommentsCorrections RefType="RetractionIn"><PMID>1</PMID></CommentsCorrections>' * (mark == RETRACTED_IN))
    corrections = f"<CommentsCorrectionsList>{notices}</CommentsCorrectionsList>" if notices else ""
    names = "".join(
        f"<Author><LastName>{escape(last or first)}</LastName><Initials>{first[:1]}</Initials></Author>"
        for first, _, last in (name.rpartition(" ") for name in document.names)
    )
    others = {"pubmed": pmid, "doi": document.doi, "pmc": document.pmcid}
    ids = "".join(f'<ArticleId IdType="{kind}">{escape(name)}</ArticleId>' for kind, name in others.items() if name)
    title = document.title.removeprefix(mark)
    parts = "".join(_abstract_part(part) for part in document.text.split("\n\n") if part)
    abstract = f"<Abstract>{parts}</Abstract>" if parts else ""
    return f"""<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">{pmid}</PMID><Article>
<Journal><JournalIssue><PubDate><Year>{at.year}</Year><Month>{at:%b}</Month><Day>{at:%d}</Day></PubDate></JournalIssue>
<Title>{escape(document.venue)}</Title></Journal><ArticleTitle>{escape(title)}</ArticleTitle>{abstract}
<AuthorList>{names}</AuthorList>
<PublicationTypeList>{types}</PublicationTypeList>
</Article>{corrections}</MedlineCitation><PubmedData><ArticleIdList>{ids}</ArticleIdList></PubmedData></PubmedArticle>"""


def _abstract_part(part: str) -> str:
    labelled = _LABELLED.match(part)
    if labelled:
        return f'<AbstractText Label="{escape(labelled[1])}">{escape(labelled[2])}</AbstractText>'
    return f"<AbstractText>{escape(part)}</AbstractText>"
