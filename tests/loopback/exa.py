"""Exa's POST /search (docs.exa.ai, API reference)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from aiohttp import web

from tests.loopback.search_corpus import Document, best_matches, words_of

KEY = "exa-loopback"
CATEGORIES = {"company", "news", "publication", "personal site", "financial report", "people"}


def routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    async def search(request: web.Request) -> web.Response:
        if request.headers.get("x-api-key") != KEY:
            return web.json_response({"error": "Invalid API key", "tag": "INVALID_API_KEY"}, status=401)
        asked = await request.json()
        query = asked.get("query")
        if not isinstance(query, str) or not query or asked.get("category", "news") not in CATEGORIES:
            return web.json_response({"error": "Validation error", "tag": "INVALID_REQUEST_BODY"}, status=400)
        found = [document for document in best_matches(documents, words_of(query)) if _is_wanted(document, asked)]
        results = [_result(document, asked) for document in found[: asked.get("numResults", 10)]]
        body = {"requestId": "r1", "resolvedSearchType": "neural", "results": results, "costDollars": {"total": 0.005}}
        return web.json_response(body)

    return [web.post("/search", search)]


def _is_wanted(document: Document, asked: dict[str, object]) -> bool:
    since = asked.get("startPublishedDate")
    if isinstance(since, str) and document.published_at < datetime.fromisoformat(since):
        return False
    host = document.url.split("/")[2]
    include, exclude = asked.get("includeDomains") or [], asked.get("excludeDomains") or []
    assert isinstance(include, list)
    assert isinstance(exclude, list)
    return (not include or any(host.endswith(domain) for domain in include)) and not any(
        host.endswith(domain) for domain in exclude
    )


def _result(document: Document, asked: dict[str, object]) -> dict[str, object]:
    result: dict[str, object] = {
        "id": document.url,
        "url": document.url,
        "title": document.title,
        "publishedDate": document.published_at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "author": document.author,
        "score": 0.4,
    }
    return result | ({"text": document.text} if "contents" in asked else {})
