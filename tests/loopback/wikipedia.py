"""MediaWiki's action API as far as search and extracts go (mediawiki.org, API:Search, Extension:TextExtracts).

A plain list of words finds the pages that hold them all; `a OR b` those that hold any. Below `/{language}/` is the wiki
of the documents at `{language}.…`, whose counterparts in other languages have the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aiohttp import web

from tests.loopback.search_corpus import Document, best_matches, words_of

DISAMBIGUATION = " (disambiguation)"  # a title that ends so is a disambiguation page


def routes(documents: Sequence[Document]) -> Iterable[web.RouteDef]:
    numbered = [(document.id or str(1000 + place), document) for place, document in enumerate(documents)]

    def wiki(language: str) -> dict[str, Document]:
        return {number: one for number, one in numbered if not language or one.url.startswith(f"https://{language}")}

    async def api(request: web.Request) -> web.Response:
        asked = request.query
        language = request.match_info.get("language", "")
        by_id = wiki(f"{language}." if language else "")
        if not request.headers.get("User-Agent", "").startswith("gorkd/"):
            return web.Response(status=403, text="Please set a user-agent and respect our robot policy")
        if asked.get("action") != "query" or asked.get("format") != "json" or asked.get("formatversion") != "2":
            return _error("badvalue", "Unrecognized value")
        pages = _search(by_id, asked) if asked.get("generator") == "search" else _extracts(by_id, asked)
        if isinstance(pages, web.Response):
            return pages
        if "langlinks" in asked.get("prop", ""):
            there = wiki(f"{asked['lllang']}.")
            for page in pages:
                counterpart = there.get(str(page["pageid"]))
                if counterpart is not None:
                    page["langlinks"] = [{"lang": asked["lllang"], "title": counterpart.title}]
        return web.json_response({"batchcomplete": True} | ({"query": {"pages": pages}} if pages else {}))

    return [web.get("/w/api.php", api), web.get("/{language}/w/api.php", api)]


def _search(by_id: dict[str, Document], asked: object) -> list[dict[str, object]] | web.Response:
    parameters = dict(asked)  # type: ignore[call-overload]  # a multidict
    terms = parameters.get("gsrsearch", "")
    if not terms or not 1 <= int(parameters.get("gsrlimit", 10)) <= 500:
        return _error("missingparam", "The gsrsearch parameter must be set")
    need_all = " OR " not in terms
    found = best_matches(list(by_id.values()), words_of(terms.replace(" OR ", " ")), need_all=need_all)
    ids = {id(document): page_id for page_id, document in by_id.items()}
    pages: list[dict[str, object]] = [
        {
            "pageid": int(ids[id(document)]),
            "ns": 0,
            "title": document.title,
            "index": place + 1,
            **_told(document),
            **({"pageprops": {"disambiguation": ""}} if document.title.endswith(DISAMBIGUATION) else {}),
        }
        for place, document in enumerate(found[: int(parameters.get("gsrlimit", 10))])
    ]
    return sorted(pages, key=lambda page: str(page["title"]))  # the API's order is not the ranking


def _told(document: Document) -> dict[str, object]:
    return {
        "fullurl": document.url,
        "revisions": [{"timestamp": document.published_at.strftime("%Y-%m-%dT%H:%M:%SZ")}],
    }


def _extracts(by_id: dict[str, Document], asked: object) -> list[dict[str, object]] | web.Response:
    parameters = dict(asked)  # type: ignore[call-overload]
    titles = {document.title: page_id for page_id, document in by_id.items()}
    ids = [titles[parameters["titles"]]] if "titles" in parameters else parameters.get("pageids", "").split("|")
    is_told = parameters.get("prop") == "extracts|info|revisions"
    if (parameters.get("prop") != "extracts" and not is_told) or "explaintext" not in parameters:
        return _error("unknown_prop", "only plain extracts are served here")
    pages: list[dict[str, object]] = []
    for place, page_id in enumerate(ids):
        document = by_id.get(page_id)
        if document is None:
            pages.append({"pageid": int(page_id), "missing": True})
            continue
        page: dict[str, object] = {"pageid": int(page_id), "ns": 0, "title": document.title}
        page |= _told(document) if is_told else {}
        pages.append(page | ({"extract": document.text} if place == 0 else {}))  # whole extracts: one a request
    return pages


def _error(code: str, info: str) -> web.Response:
    return web.json_response({"error": {"code": code, "info": info}}, headers={"MediaWiki-API-Error": code})
