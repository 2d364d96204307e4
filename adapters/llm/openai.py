"""Chat completions of any OpenAI-compatible endpoint, streamed, through the `openai` SDK.

What an endpoint cannot do (strict schemas, newer parameter names, usage in streams) is found out on
the first refusal and remembered. No retries here: whether to try again is the pipeline's decision.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from adapters.llm.endpoint import (
    OPENAI_URL,
    Connection,
    Endpoint,
    checked_key,
    checked_url,
    second_endpoint,
    setting,
    timeout,
)
from adapters.llm.failures import SLOW, call_failures, model_error, safe_cause, wrong_page
from adapters.llm.reading import Answer, Piece, read_piece
from adapters.llm.tools import tool_params, turn_messages
from adapters.proxies import Proxies
from core.errors import ModelTimeout, SetupError, ToolsUnsupported
from core.llm import estimate_usage
from core.ports import ChatDelta, ChatRequest

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
log = logging.getLogger(__name__)

# The smallest current model that follows a strict schema, answers without reasoning first and has no announced end.
DEFAULT_MODEL = "gpt-5.4-mini"
STALL_S = 20.0  # between two pieces of an answer that has begun; busy endpoints pause for seconds, not for this long
NO_TOOLS = "This model takes no tools."
MAX_REFUSALS = 6  # ways in which an endpoint may differ, hence calls until all are known


def build_chat(env: Mapping[str, str], *, model: str = "") -> OpenAIChat | None:
    """`model`, else the one that `GORKD_MODEL` names, where `OPENAI_BASE_URL` is; None when neither key nor URL is set.

    A local endpoint needs no key. Raises `SetupError` on an address or key that cannot be one.
    """
    endpoint = chat_endpoint(env, model=model)
    return OpenAIChat(endpoint) if endpoint else None


def chat_endpoint(env: Mapping[str, str], *, model: str = "") -> Endpoint | None:
    """Where the model of `build_chat` is; None and errors as there."""
    key, url = setting(env, "OPENAI_API_KEY"), setting(env, "OPENAI_BASE_URL")
    if not key and not url:
        return None
    return Endpoint(
        model=model or setting(env, "GORKD_MODEL") or DEFAULT_MODEL,
        base_url=checked_url(url or OPENAI_URL, name="OPENAI_BASE_URL"),
        api_key=checked_key(key, name="OPENAI_API_KEY"),
        proxies=Proxies.from_env(env),
    )


def build_check(env: Mapping[str, str]) -> OpenAIChat | None:
    """The model that `GORKD_CHECK_MODEL` names and that judges citations instead of the one that writes; None without.

    It lives at `GORKD_CHECK_BASE_URL` with `GORKD_CHECK_API_KEY`, by default where the chat model lives. The chat
    endpoint's key is not sent to another host. Raises `SetupError` on an address or key that cannot be one.
    """
    endpoint = second_endpoint(env, model="GORKD_CHECK_MODEL", url="GORKD_CHECK_BASE_URL", key="GORKD_CHECK_API_KEY")
    return OpenAIChat(endpoint) if endpoint else None


def build_mode_chats(env: Mapping[str, str], modes: Iterable[str]) -> dict[str, OpenAIChat]:
    """By mode the model that `GORKD_MODELS` names for it (`deep=a, section=b`); one client for one name.

    Empty where no model is configured at all. Raises `SetupError` on anything else, and on a mode that is none.
    """
    known, chats, by_mode = set(modes), dict[str, OpenAIChat](), dict[str, OpenAIChat]()
    for entry in filter(None, map(str.strip, setting(env, "GORKD_MODELS").split(","))):
        mode, _, name = (part.strip() for part in entry.partition("="))
        if mode not in known or not name:
            raise SetupError(
                f"GORKD_MODELS: {entry!r} names no model for a mode. Write mode=model, several separated by commas, "
                f"e.g. deep={DEFAULT_MODEL}; the modes are {', '.join(sorted(known))}."
            )
        chat = chats.get(name) or build_chat(env, model=name)
        if chat is not None:
            by_mode[mode] = chats[name] = chat
    return by_mode


@dataclass(frozen=True)
class Dialect:
    """What the endpoint is known to accept."""

    output: Literal["json_schema", "json_object", "text"] = "json_schema"
    limit: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    reports_usage: bool = True
    has_tools: bool = True


class OpenAIChat:
    """A `ChatModel`. `stall_s` bounds the silence between two pieces of an answer that has begun."""

    def __init__(self, endpoint: Endpoint, *, stall_s: float = STALL_S) -> None:
        self._endpoint = endpoint
        self._connection = Connection(endpoint)
        self._stall_s = stall_s
        self._dialect = Dialect()

    @property
    def name(self) -> str:
        return self._endpoint.model

    async def warm_up(self) -> None:
        """Import the SDK and open the client, so that the first question does not pay for it; no network."""
        await self._connection.client()

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See `ChatModel.stream`. An answer cut at `max_tokens` just ends: its JSON shows that it is incomplete."""
        now = asyncio.get_running_loop().time
        deadline = now() + request.timeout_s
        answer = Answer()
        opened = await self._by(deadline, self._open(request), request)
        async with opened, aclosing(self._pieces(opened)) as pieces:
            until = deadline
            while piece := await self._by(until, anext(pieces, None), request):
                answer.add(piece)
                if piece.text:
                    yield ChatDelta(text=piece.text)
                until = min(deadline, now() + self._stall_s) if answer.length else deadline
        answer.check_ending(self._endpoint)
        said = answer.text + "".join(call.arguments for call in answer.calls)
        yield ChatDelta(usage=answer.usage or estimate_usage(request, said), calls=answer.calls)

    async def _by(self, until: float, step: Awaitable[T], request: ChatRequest) -> T:
        """The step's result by loop time `until`; its failures as ours."""
        try:
            async with asyncio.timeout_at(until):
                return await step
        except TimeoutError as exc:
            limits = f"{request.timeout_s:g} s a call, {self._stall_s:g} s between two pieces"
            raise ModelTimeout(
                f"{self._endpoint.host} sent nothing more in time ({limits})", user_message=SLOW
            ) from exc
        except call_failures() as exc:
            raise model_error(exc, self._endpoint) from safe_cause(exc, self._endpoint)

    async def _open(self, request: ChatRequest) -> openai.AsyncStream[object]:
        """The stream, asked for in the fullest dialect the endpoint accepts."""
        import openai

        client = await self._connection.client()
        for _ in range(MAX_REFUSALS - 1):
            dialect = self._dialect
            if request.tools and not dialect.has_tools:
                raise ToolsUnsupported(f"{self._endpoint.host} takes no tools", user_message=NO_TOOLS)
            try:
                return await _create(client, self._endpoint.model, request, dialect)
            except openai.APIStatusError as exc:
                simpler = _simpler(dialect, exc)
                if simpler is None:
                    raise
                log.warning("%s refused part of the request; going on with %s", self._endpoint.host, simpler)
                self._dialect = simpler
        return await _create(client, self._endpoint.model, request, self._dialect)

    async def _pieces(self, opened: openai.AsyncStream[object]) -> AsyncGenerator[Piece, None]:
        """The stream's chunks; of an endpoint that does not stream, the whole completion as one."""
        content_type = opened.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == "application/json":
            yield read_piece(json.loads(await opened.response.aread()))
        elif content_type in {"text/html", "application/xhtml+xml"}:
            raise wrong_page(self._endpoint, content_type)
        else:
            async for chunk in opened:
                yield read_piece(chunk)


async def _create(
    client: openai.AsyncOpenAI, model: str, request: ChatRequest, dialect: Dialect
) -> openai.AsyncStream[object]:
    """Asked without the SDK's types: building its object of every token took two fifths of the time of reading one."""
    import openai

    return await client.post(
        "/chat/completions",
        cast_to=object,
        body=_body(model, request, dialect),
        options={"timeout": timeout(request.timeout_s)},
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )


def _body(model: str, request: ChatRequest, dialect: Dialect) -> dict[str, object]:
    is_told = dialect.output == "json_schema" or request.tools or not request.schema
    system = request.system if is_told else _with_schema(request)
    body: dict[str, object] = {
        "model": model,
        "messages": [
            *([{"role": "system", "content": system}] if system else []),
            {"role": "user", "content": request.user},
            *turn_messages(request.turns),
        ],
        dialect.limit: request.max_tokens,
        "stream": True,
    }
    if dialect.reports_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = tool_params(request.tools)
    elif request.schema and dialect.output != "text":
        body["response_format"] = _response_format(request, dialect)
    return body


def _response_format(request: ChatRequest, dialect: Dialect) -> Mapping[str, object]:
    if dialect.output == "json_object":
        return {"type": "json_object"}
    schema = dict(request.schema)
    return {"type": "json_schema", "json_schema": {"name": request.schema_name, "schema": schema, "strict": True}}


def _with_schema(request: ChatRequest) -> str:
    schema = json.dumps(dict(request.schema), ensure_ascii=False)
    return (
        f"{request.system}\n\nAnswer with one JSON object and nothing else. It must follow this JSON schema:\n{schema}"
    )


def _simpler(dialect: Dialect, exc: openai.APIStatusError) -> Dialect | None:
    """The dialect without what the endpoint names as the reason of its refusal; None when that is something else."""
    if exc.status_code not in {400, 404, 422}:
        return None
    said = str(exc).lower()
    if dialect.limit == "max_completion_tokens" and "max_completion_tokens" in said:
        return replace(dialect, limit="max_tokens")
    if dialect.reports_usage and ("stream_options" in said or "include_usage" in said):
        return replace(dialect, reports_usage=False)
    if dialect.has_tools and re.search(r"\btools?\b|tool_choice|function.call", said):
        return replace(dialect, has_tools=False)
    is_about_output = any(word in said for word in _OUTPUT_WORDS)
    weaker = _WEAKER_OUTPUT.get(dialect.output) if is_about_output else None
    return replace(dialect, output=weaker) if weaker else None


_OUTPUT_WORDS = ("response_format", "json_schema", "json_object", "structured output")
_WEAKER_OUTPUT: Mapping[str, Literal["json_object", "text"]] = {"json_schema": "json_object", "json_object": "text"}
