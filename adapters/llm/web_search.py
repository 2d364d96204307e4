"""The `web_search` tool of the Responses API: a model that searches while it writes, through the `openai` SDK.

Whether an endpoint offers it is found out on the first refusal and remembered. Its citations are addresses to be
opened and checked, never evidence by themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from adapters.llm.endpoint import Connection, Endpoint, timeout
from adapters.llm.failures import GARBLED, SLOW, call_failures, declined, model_error, safe_cause
from adapters.llm.openai import chat_endpoint
from adapters.llm.reading import attribute, read_usage
from core.llm.prices import estimate_usage
from core.model.errors import ModelGarbled, ModelTimeout, WebSearchUnavailable
from core.model.job import Depth
from core.model.ports import ChatRequest, FoundPage, SearchedText

if TYPE_CHECKING:
    import openai
    from openai.types.responses import Response

log = logging.getLogger(__name__)

MAX_PAGES = 200  # of one answer; a model opens a few dozen
_CONTEXT_SIZES: dict[Depth, Literal["medium", "high"]] = {"light": "medium", "deep": "high"}
_NO_SUCH_THING = frozenset({404, 405, 501})
_REFUSED = frozenset({400, 422})


def build_web_search(env: Mapping[str, str]) -> OpenAIWebSearch | None:
    """For the model of `build_chat`; None where none is configured."""
    endpoint = chat_endpoint(env)
    return OpenAIWebSearch(endpoint) if endpoint else None


class OpenAIWebSearch:
    """A `WebSearchModel`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection = Connection(endpoint)
        self._is_offered = True
        self._lists_sources = True

    @property
    def name(self) -> str:
        return self._endpoint.model

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def search_and_write(self, request: ChatRequest, *, depth: Depth) -> SearchedText:
        """See `WebSearchModel`. An answer cut at `max_tokens` is given as far as it came."""
        if not self._is_offered:
            raise WebSearchUnavailable(f"{self._endpoint.host} offers no web_search")
        try:
            async with asyncio.timeout(request.timeout_s):
                response = await self._create(request, depth)
        except TimeoutError as exc:
            said = f"{self._endpoint.host} did not end a web search in {request.timeout_s:g} s"
            raise ModelTimeout(said, operator_message=SLOW) from exc
        except call_failures() as exc:
            raise model_error(exc, self._endpoint) from safe_cause(exc, self._endpoint)
        return self._read(response, request)

    async def _create(self, request: ChatRequest, depth: Depth) -> Response:
        import openai

        client = await self._connection.client()
        try:
            return await self._ask(client, request, depth)
        except openai.APIStatusError as exc:
            said = str(exc).lower()
            if self._lists_sources and exc.status_code in _REFUSED and "include" in said:
                self._lists_sources = False
                return await self._ask(client, request, depth)
            if exc.status_code in _NO_SUCH_THING or (
                exc.status_code in _REFUSED and ("tool" in said or "web_search" in said)
            ):
                self._is_offered = False
                log.info("%s offers no web_search; research goes on by our own search", self._endpoint.host)
                raise WebSearchUnavailable(f"{self._endpoint.host}: HTTP {exc.status_code}") from exc
            raise

    async def _ask(self, client: openai.AsyncOpenAI, request: ChatRequest, depth: Depth) -> Response:
        import openai

        return await client.responses.create(
            model=self._endpoint.model,
            instructions=request.system,
            input=request.user,
            tools=[{"type": "web_search", "search_context_size": _CONTEXT_SIZES[depth]}],
            include=["web_search_call.action.sources"] if self._lists_sources else openai.omit,
            max_output_tokens=request.max_tokens,
            store=False,
            timeout=timeout(request.timeout_s),
        )

    def _read(self, response: Response, request: ChatRequest) -> SearchedText:
        """Defensively: the SDK does not validate what it builds."""
        items = _listed(response, "output")
        parts = [part for item in items if _word(item, "type") == "message" for part in _listed(item, "content")]
        text = "".join(_word(part, "text") for part in parts if _word(part, "type") == "output_text")
        refusal = "".join(_word(part, "refusal") for part in parts)
        if refusal and not text:
            raise declined(self._endpoint.redact(refusal))
        if not text.strip():
            raise ModelGarbled(f"{self._endpoint.host} sent a response without text", operator_message=GARBLED)
        calls = [item for item in items if _word(item, "type") == "web_search_call"]
        pages: dict[str, FoundPage] = {}
        for page in [*_cited(parts), *_found(calls)]:
            known = pages.get(page.url)
            pages[page.url] = known if known and known.title else page
        queries = [query for call in calls for query in _queries(attribute(call, "action"))]
        told = read_usage(attribute(response, "usage"), "input_tokens", "output_tokens")
        paid = replace(told or estimate_usage(request, text), searches=sum(_is_search(call) for call in calls))
        return SearchedText(text, tuple(pages.values())[:MAX_PAGES], tuple(dict.fromkeys(queries)), paid)


def _is_search(call: object) -> bool:
    """What vendors charge for; opening a page and looking for a word in it is free (openai.com/api/pricing)."""
    return _word(attribute(call, "action"), "type") not in ("open_page", "find", "find_in_page")


def _cited(parts: list[object]) -> Iterator[FoundPage]:
    for part in parts:
        for note in _listed(part, "annotations"):
            if _word(note, "type") == "url_citation" and _word(note, "url"):
                yield FoundPage(_word(note, "url"), _word(note, "title"))


def _found(calls: list[object]) -> Iterator[FoundPage]:
    """What its searches listed and what it opened."""
    for call in calls:
        action = attribute(call, "action")
        for source in [*_listed(action, "sources"), action]:
            if _word(source, "url"):
                yield FoundPage(_word(source, "url"))


def _queries(action: object) -> list[str]:
    queries = [query for query in _listed(action, "queries") if isinstance(query, str)]
    return queries or ([_word(action, "query")] if _word(action, "query") else [])


def _listed(value: object, name: str) -> list[object]:
    found = attribute(value, name)
    return found if isinstance(found, list) else []


def _word(value: object, name: str) -> str:
    found = attribute(value, name)
    return found if isinstance(found, str) else ""
