"""Tavily's POST /search (docs.tavily.com, API reference)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from email.utils import format_datetime

from aiohttp import web

from tests.loopback.search_corpus import Document, best_matches, words_of

KEY = "tvly-loopback"
TOPICS = {"general", "news", "finance"}
RANGES = {"day", "week", "month", "year"}


def routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    async def search(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return _refuse(401, "Unauthorized: missing or invalid API key.")
        asked = await request.json()
        query = asked.get("query")
        if not isinstance(query, str) or not query.strip():
            return _refuse(400, "Query is missing.")
        if len(query) > 400:
            return _refuse(400, "Query is too long. Max query length is 400 characters.")
        if asked.get("topic", "general") not in TOPICS or asked.get("time_range", "day") not in RANGES:
            return _refuse(400, "Invalid topic or time range.")
        most = asked.get("max_results", 5)
        if not 0 <= most <= 20:
            return _refuse(400, "max_results must be between 0 and 20.")
        found = [document for document in best_matches(documents, words_of(query)) if _is_wanted(document, asked)]
        results = [_result(document, asked.get("topic") == "news") for document in found[:most]]
        return web.json_response({"query": query, "answer": None, "results": results, "response_time": 0.1})

    return [web.post("/search", search)]


def _is_wanted(document: Document, asked: dict[str, list[str]]) -> bool:
    host = document.url.split("/")[2]
    include, exclude = asked.get("include_domains") or [], asked.get("exclude_domains") or []
    return (not include or any(host.endswith(domain) for domain in include)) and not any(
        host.endswith(domain) for domain in exclude
    )


def _result(document: Document, is_news: bool) -> dict[str, object]:
    result: dict[str, object] = {
        "url": document.url,
        "title": document.title,
        "content": document.text[:400],
        "score": 0.9,
        "raw_content": None,
    }
    return result | ({"published_date": format_datetime(document.published_at, usegmt=True)} if is_news else {})


def _refuse(status: int, error: str) -> web.Response:
    return web.json_response({"detail": {"error": error}}, status=status)
