"""SearXNG's GET /search with format=json (docs.searxng.org, Search API), as an instance with JSON switched on answers.

Ten results a page. Engines that did not answer are listed as pairs; `wikidata` is the one that is always suspended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from aiohttp import web

from tests.loopback.search_corpus import Document, best_matches, words_of

PAGE = 10
RANGES = {"", "day", "week", "month", "year"}


def routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    async def search(request: web.Request) -> web.Response:
        asked = request.query
        if asked.get("format") != "json":
            return web.Response(text="<html><body>SearXNG</body></html>", content_type="text/html")
        if not asked.get("q", "").strip():
            return _refuse("No query")
        if asked.get("time_range", "") not in RANGES or not asked.get("pageno", "1").isdigit():
            return _refuse("Invalid value for a parameter")
        found = best_matches(documents, words_of(asked["q"]))
        start = (int(asked.get("pageno", "1")) - 1) * PAGE
        return web.json_response(
            {
                "query": asked["q"],
                "number_of_results": 0,
                "results": [_result(document, start + place) for place, document in enumerate(found[start:][:PAGE])],
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": [],
                "unresponsive_engines": [["wikidata", "Suspended: access denied"]] if found else [],
            }
        )

    return [web.get("/search", search)]


def _result(document: Document, place: int) -> dict[str, object]:
    return {
        "url": document.url,
        "title": document.title,
        "content": document.text[:300],
        "publishedDate": document.published_at.isoformat() if document.published_at else None,
        "thumbnail": "",
        "engine": "duckduckgo",
        "template": "default.html",
        "parsed_url": [*urlsplit(document.url), ""],
        "img_src": "",
        "priority": "",
        "engines": ["duckduckgo"],
        "positions": [place + 1],
        "score": 1.0 / (place + 1),
        "category": "general",
    }


def _refuse(error: str) -> web.Response:
    return web.json_response({"error": error}, status=400)
