"""What an OpenAI-compatible endpoint accepts of a request, and a request in its words.

Found out on the first refusal, or from answers that cannot be read, and remembered for the process's life.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from adapters.llm.endpoint import OPENAI_URL, Endpoint
from core.model.job import Json
from core.model.ports import ChatRequest, Tool, ToolTurn

if TYPE_CHECKING:
    import openai


if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam

THINKING_TOKENS = 4000  # added to every limit once a model is seen to think; what is not used costs nothing
_NO_BOUNDS = ("maxitems", "minitems")
_OUTPUT_WORDS = ("response_format", "json_schema", "json_object", "structured output")
_WEAKER_OUTPUT: Mapping[str, Literal["json_object", "text"]] = {"json_schema": "json_object", "json_object": "text"}
_MOST = re.compile(
    r"max_(?:completion_)?tokens.{0,60}?(?:at most|less than or equal to|<=|maximum (?:of|is))\D{1,4}(\d+)", re.I | re.S
)


@dataclass(frozen=True)
class Dialect:
    """What the endpoint is known to accept. `thinking` is what its model needs before an answer, in tokens.

    `refused` are names of `REFUSALS`; `most_tokens` bounds an answer, 0 for no bound; `has_structured` says that it
    has held to a schema once.
    """

    output: Literal["json_schema", "json_object", "text"] = "json_schema"
    limit: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    refused: frozenset[str] = frozenset()
    is_limit_sure: bool = False
    most_tokens: int = 0
    thinking: int = 0
    has_structured: bool = False

    def takes(self, name: str) -> bool:
        return name not in self.refused


def first_dialect(endpoint: Endpoint) -> Dialect:
    """OpenAI's own models take the newer name of the limit alone, and some local servers the older one alone."""
    host = urlsplit(endpoint.base_url).hostname or ""
    is_openai = endpoint.base_url == OPENAI_URL or host.endswith(".azure.com")
    thinking = endpoint.max_tokens.get("thinking", 0)
    return Dialect(limit="max_completion_tokens" if is_openai else "max_tokens", thinking=thinking)


def request_body(endpoint: Endpoint, request: ChatRequest, dialect: Dialect) -> dict[str, object]:
    """`request.max_tokens` is what may be written in all, thoughts included."""
    is_structured = bool(request.schema) and not request.tools
    is_asked = is_structured and not request.in_words and dialect.output != "text"
    is_told = not is_structured or (is_asked and dialect.output == "json_schema")
    system = request.system if is_told else f"{request.system}\n\n{_in_words(request)}"
    body: dict[str, object] = {
        "model": endpoint.model,
        "messages": [
            *([{"role": "system", "content": system}] if system else []),
            {"role": "user", "content": request.user},
            *turn_messages(request.turns),
        ],
        dialect.limit: min(request.max_tokens, dialect.most_tokens or request.max_tokens),
        "stream": True,
    }
    if dialect.takes("usage"):
        body["stream_options"] = {"include_usage": True}
    if request.temperature is not None and dialect.takes("temperature"):
        body["temperature"] = request.temperature
    if endpoint.reasoning_effort and dialect.takes("effort"):
        body["reasoning_effort"] = endpoint.reasoning_effort
    if request.tools:
        body["tools"] = tool_params(request.tools)
    elif is_asked:
        body["response_format"] = _response_format(request, dialect)
    return body


def _response_format(request: ChatRequest, dialect: Dialect) -> Mapping[str, object]:
    if dialect.output == "json_object":
        return {"type": "json_object"}
    schema = dict(request.schema) if dialect.takes("bounds") else _without_bounds(dict(request.schema))
    return {"type": "json_schema", "json_schema": {"name": request.schema_name, "schema": schema, "strict": True}}


def _without_bounds(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {name: _without_bounds(part) for name, part in schema.items() if name.lower() not in _NO_BOUNDS}
    return [_without_bounds(part) for part in schema] if isinstance(schema, list) else schema


def _in_words(request: ChatRequest) -> str:
    schema = json.dumps(dict(request.schema), ensure_ascii=False)
    example = json.dumps(_example(dict(request.schema)), ensure_ascii=False)
    return (
        "Answer with one JSON object and nothing else: no text before or after it. It must follow this JSON schema:\n"
        f"{schema}\nSo it looks like this, with your own words for the dots:\n{example}"
    )


def _example(schema: Json) -> Json:
    """The shape of an object that follows `schema`."""
    if not isinstance(schema, dict):
        return "…"
    allowed, properties = schema.get("enum"), schema.get("properties")
    if isinstance(allowed, list) and allowed:
        return allowed[0]
    if isinstance(properties, dict):
        return {name: _example(part) for name, part in properties.items()}
    if schema.get("type") == "array":
        return [_example(schema.get("items"))]
    return {"integer": 1, "number": 0.5, "boolean": True}.get(str(schema.get("type")), "…")


def simpler(dialect: Dialect, exc: openai.APIStatusError) -> Dialect | None:
    """The dialect without what the endpoint names as the reason of its refusal; None when that is something else."""
    said = str(exc).lower()
    # llama-cpp-python answers 500 to what it cannot validate; a gateway's page may hold any word.
    is_named = exc.status_code >= 500 and not isinstance(exc.body, str) and _REFUSAL.search(said)
    if exc.status_code not in {400, 404, 422, 501} and not is_named:
        return None
    most = _MOST.search(said)
    if most and not dialect.most_tokens and int(most[1]) > 0:
        return replace(dialect, most_tokens=int(most[1]))
    if not dialect.is_limit_sure and dialect.limit in said:
        is_new = dialect.limit == "max_completion_tokens"
        return replace(dialect, limit="max_tokens" if is_new else "max_completion_tokens", is_limit_sure=True)
    for name, words in REFUSALS.items():
        if dialect.takes(name) and words.search(said):
            return replace(dialect, refused=dialect.refused | {name})
    weaker = _WEAKER_OUTPUT.get(dialect.output) if any(word in said for word in _OUTPUT_WORDS) else None
    return replace(dialect, output=weaker) if weaker else None


_REFUSAL = re.compile(
    "validation error|unsupported|not supported|literal_error|extra_forbidden|unexpected keyword|response_format"
    "|json_schema|json_object|structured output|m(?:ax|in)items|stream_options|include_usage|max_completion_tokens"
    r"|temperature|reasoning_effort|\btools\b|tool_choice"
)
# By what of a dialect is given up, how endpoints name it; the most telling first.
REFUSALS = {
    "bounds": re.compile("maxitems|minitems"),
    "temperature": re.compile("temperature"),
    "effort": re.compile(r"reasoning[ _.]?effort|\breasoning\b"),
    "usage": re.compile("stream_options|include_usage"),
    "tools": re.compile(r"\btools?\b|tool_choice|function.call"),
}


# Tools and the turns with them, in the words of the OpenAI-compatible API


def tool_params(tools: Sequence[Tool]) -> list[ChatCompletionFunctionToolParam]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]


def turn_messages(turns: Sequence[ToolTurn]) -> Iterator[ChatCompletionMessageParam]:
    """Each turn as the model's calls and the answer to every one of them, which the API insists on."""
    for turn in turns:
        yield {
            "role": "assistant",
            "tool_calls": [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in turn.calls
            ],
        }
        for call, result in zip(turn.calls, turn.results, strict=True):
            yield {"role": "tool", "tool_call_id": call.id, "content": result}
