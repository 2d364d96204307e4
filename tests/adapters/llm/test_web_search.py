"""A model's own web search through the real SDK against a loopback endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.llm.endpoint import Endpoint
from adapters.llm.openai import OpenAIWebSearch, build_web_search
from core.model.errors import ModelGarbled, ModelRejected, WebSearchUnavailable
from core.model.job import Depth
from core.model.ports import FoundPage, SearchedText
from tests.adapters.llm.test_openai import REQUEST
from tests.loopback.openai_world import Fault, OpenAIWorld, openai_world

TIDES, MOON = "https://tides.test/", "https://moon.test/"


def response(*items: Mapping[str, Any], usage: object = None) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "output": list(items), "usage": usage}


def message(text: str = "Two tides a day.", **more: Any) -> dict[str, Any]:
    note = {"type": "url_citation", "url": TIDES, "title": "Tides", "start_index": 0, "end_index": 3}
    content = {"type": "output_text", "text": text, "annotations": [note], **more}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [content]}


SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "action": {"type": "search", "query": "tides", "sources": [{"type": "url", "url": TIDES}]},
}
OPENED = {"type": "web_search_call", "id": "ws_2", "action": {"type": "open_page", "url": MOON}}


async def searched(world: OpenAIWorld, *, depth: Depth = "light") -> SearchedText:
    model = build_web_search({"OPENAI_BASE_URL": world.url, "GORKD_MODEL": "small"})
    assert model is not None
    try:
        return await model.search_and_write(REQUEST, depth=depth)
    finally:
        await model.aclose()


async def test_pages_queries_and_paid_searches_come_with_the_text() -> None:
    """A cited page keeps its title; what was only opened is a page too, and costs no search."""
    usage = {"input_tokens": 12, "output_tokens": 7}
    async with openai_world() as world:
        world.search = lambda body: response(SEARCH, OPENED, message(), usage=usage)

        found = await searched(world, depth="deep")

    assert found.text == "Two tides a day."
    assert found.pages == (FoundPage(TIDES, "Tides"), FoundPage(MOON))
    assert found.queries == ("tides",)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.searches) == (12, 7, 1)
    assert world.searches[0]["tools"] == [{"type": "web_search", "search_context_size": "high"}]


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"input_tokens": -5, "output_tokens": 7}, {"input_tokens": True, "output_tokens": 7}],
    ids=["none", "empty", "negative", "boolean"],
)
async def test_usage_that_cannot_be_read_is_estimated(usage: object) -> None:
    """What an answer cost is never less than nothing."""
    async with openai_world() as world:
        world.search = lambda body: response(SEARCH, message(), usage=usage)

        found = await searched(world)

    assert found.usage.is_estimated
    assert min(found.usage.prompt_tokens, found.usage.completion_tokens) > 0


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (message(" \n"), ModelGarbled),
        ({"type": "message", "content": "odd"}, ModelGarbled),
        ({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}, ModelRejected),
    ],
    ids=["blank", "odd", "refusal"],
)
async def test_a_response_without_text_is_our_error(item: Mapping[str, Any], error: type[Exception]) -> None:
    async with openai_world() as world:
        world.search = lambda body: response(item)

        with pytest.raises(error):
            await searched(world)


async def test_an_endpoint_without_it_is_asked_once() -> None:
    """Research goes on by our own search, and the next question does not ask again."""
    async with openai_world() as world:
        model = OpenAIWebSearch(Endpoint(model="small", base_url=world.url))

        for _ in range(2):
            with pytest.raises(WebSearchUnavailable):
                await model.search_and_write(REQUEST, depth="light")
        await model.aclose()

    assert world.refused == ["no responses"]


async def test_what_an_endpoint_cannot_list_is_not_asked_for() -> None:
    """One that does not know the list of sources is asked again without it."""

    def answer(body: Mapping[str, Any]) -> dict[str, Any] | Fault:
        return Fault(status=400, message="Unknown parameter: 'include'") if "include" in body else response(message())

    async with openai_world() as world:
        world.search = answer

        found = await searched(world)

    assert found.pages == (FoundPage(TIDES, "Tides"),)
    assert ["include" in body for body in world.searches] == [True, False]
