"""arXiv's query API, Atom (info.arxiv.org, API user's manual), and the papers beside it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from aiohttp import web

from tests.loopback.search_corpus import Document, best_matches, words_of
from tests.pdfs import make_pdf


def routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    by_id = {document.id or f"2405.{place:05d}": document for place, document in enumerate(documents)}
    ids = {id(document): arxiv_id for arxiv_id, document in by_id.items()}

    async def query(request: web.Request) -> web.Response:
        if "id_list" in request.query:
            known = by_id.get(request.query["id_list"].split("v")[0])
            return _feed(_entry(ids[id(known)], known) if known else "")
        search_query = request.query.get("search_query", "")
        if not re.search(r"\ball:\S", search_query):
            return _feed(_error("incorrect search_query"), status=400)
        most = int(request.query.get("max_results", "10"))
        terms = words_of(" ".join(re.findall(r'all:"?([^")]+)"?', re.sub(r" (?:AND|OR) ", " | ", search_query))))
        found = best_matches(list(by_id.values()), terms, need_all=" OR " not in search_query)
        return _feed("".join(_entry(ids[id(document)], document) for document in found[:most]))

    async def pdf(request: web.Request) -> web.Response:
        known = by_id.get(request.match_info["id"].split("v")[0])
        if known is None:
            return web.Response(status=404)
        lines = [known.title, *textwrap.wrap(re.sub(r"[()\\\\]|[^ -~]", "", known.text), 45)[:10]]
        return web.Response(body=make_pdf(lines, title=known.title), content_type="application/pdf")

    return [web.get("/api/query", query), web.get("/pdf/{id}", pdf)]


def _feed(entries: str, status: int = 200) -> web.Response:
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">ArXiv Query</title>
<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">1</opensearch:totalResults>
{entries}</feed>"""
    return web.Response(text=text, status=status, content_type="application/atom+xml")


def _entry(arxiv_id: str, document: Document) -> str:
    at = document.published_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    title = escape(document.title).replace(" ", "\n  ", 1)  # arXiv wraps long titles
    authors = "".join(f"<author><name>{escape(name)}</name></author>" for name in document.author.split(", "))
    return f"""<entry><id>http://arxiv.org/abs/{arxiv_id}v2</id><updated>{at}</updated><published>{at}</published>
<title>{title}</title><summary>  {escape(document.text)}
</summary>{authors}<link href="http://arxiv.org/abs/{arxiv_id}v2" rel="alternate" type="text/html"/></entry>"""


def _error(message: str) -> str:
    return f"""<entry><id>http://arxiv.org/api/errors#incorrect_query</id><title>Error</title>
<summary>{message}</summary><link href="http://arxiv.org/api/errors" rel="alternate"/></entry>"""
