"""A loopback server that speaks OpenAI's chat completions and embeddings, with scripted answers and faults.

A test hands it a `respond` function from a `ChatCall` to the JSON text of the answer or to a `Fault`.
By hand: `python -m tests.loopback.openai_world --port 8088`, then point OPENAI_BASE_URL at it.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import ArrayLike

from tests.loopback.deep_responders import DEEP
from tests.loopback.findings_responders import findings_responder, mode_in
from tests.loopback.library_responders import LIBRARY
from tests.loopback.openai_responders import (
    UNSET,
    ChatCall,
    Fault,
    GullibleModel,
    Respond,
    answer_responder,
    by_schema,
    hashed_vector,
    in_turn,
    plan_responder,
    tokenise,
    verdicts_responder,
)
from tests.loopback.section_responders import SECTION

__all__ = [
    "ChatCall",
    "EmbeddingCall",
    "Fault",
    "GullibleModel",
    "OpenAIWorld",
    "Respond",
    "answer_responder",
    "by_schema",
    "hashed_vector",
    "in_turn",
    "openai_world",
    "plan_responder",
    "schema_problems",
    "tokenise",
    "verdicts_responder",
]

BY_DEFAULT = by_schema(
    {
        "plan": plan_responder,
        "doctor": lambda call: '{"word": "ready"}',
        **LIBRARY,
        "verdicts": verdicts_responder,
        **DEEP,
        **SECTION,
        "": lambda call: findings_responder(call) if mode_in(call.system) else SECTION[""](call),
    }
)


@dataclass(frozen=True)
class EmbeddingCall:
    """One embeddings request as the endpoint saw it."""

    model: str
    texts: tuple[str, ...]
    encoding_format: str
    key: str
    body: Mapping[str, Any]


class OpenAIWorld:
    """The server's script and its memory; change any attribute between calls.

    `first_token_s` and `token_s` are the model's pace; where it has none, and breaks off nowhere, so many
    `tokens_at_once` are sent: an event for each is most of what a test would cost.
    `rejects` names request fields, or values of `response_format.type`, that are refused with 400. `ignores_stream`
    answers whole. `keys` and `models`, when set, are the only ones accepted. `embed` maps a text to its vector, or the
    whole call to a `Fault` through `embedding_fault`; more than `max_embedding_texts` are `too_many`. `said` is what is
    answered to a GET, or to a POST elsewhere, by path; `azure` is the `api-version` without which nothing is, where it
    is set. `search` answers the Responses API, which is not there without it.
    """

    def __init__(self, respond: Respond | str | Fault = BY_DEFAULT) -> None:
        self.respond: Respond | str | Fault = respond
        self.first_token_s = 0.0
        self.token_s = 0.0
        self.tokens_at_once = 6
        self.rejects: set[str] = set()
        self.reject_status = 400
        self.ignores_stream = False
        self.keys: set[str] = set()
        self.models: set[str] = set()
        self.embed: Callable[[str], ArrayLike] = hashed_vector
        self.embedding_fault: Fault | None = None
        self.embedding_s = 0.0
        self.only_floats = False
        self.max_embedding_chars = 1_000_000
        self.max_embedding_texts = 2048
        self.too_many = Fault(status=400, kind="invalid_request_error", message="'$.input' is invalid: array too long")
        self.said: dict[str, Any] = {}
        self.azure = ""
        self.search: Callable[[Mapping[str, Any]], dict[str, Any] | Fault] | None = None
        self.searches: list[Mapping[str, Any]] = []
        self.calls: list[ChatCall] = []
        self.answered_at: dict[int, float] = {}  # loop time at which a streamed answer was out, by its place in `calls`
        self.refused: list[str] = []
        self.embedding_calls: list[EmbeddingCall] = []
        self.open_calls = 0
        self.most_open_calls = 0
        self.aborted = asyncio.Event()
        self.hanging = asyncio.Event()
        self.closing = asyncio.Event()
        self.url = ""

    @property
    def prompt_tokens(self) -> int:
        """Of all calls together."""
        return sum(call.prompt_tokens for call in self.calls)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_post("/v1/responses", self._responses)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/openai/deployments/{model}/chat/completions", self._chat)
        app.router.add_route("*", "/{path:.*}", self._say)
        return app

    async def _say(self, request: web.Request) -> web.Response:
        said = self.said.get(request.path)
        return web.Response(status=404, text="404 page not found") if said is None else web.json_response(said)

    async def _models(self, request: web.Request) -> web.Response:
        if request.path in self.said:
            return web.json_response(self.said[request.path])
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    async def _responses(self, request: web.Request) -> web.Response:
        """The Responses API, where the script has `search`; else an address that is not there, as on most endpoints."""
        body = await request.json()
        if self.search is None:
            self.refused.append("no responses")
            return web.Response(status=404, text="404 page not found")
        self.searches.append(body)
        answer = self.search(body)
        return _error(answer) if isinstance(answer, Fault) else web.json_response(answer)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.open_calls += 1
        self.most_open_calls = max(self.most_open_calls, self.open_calls)
        try:
            return await self._answer(request)
        except (asyncio.CancelledError, ConnectionResetError):
            self.aborted.set()
            raise
        finally:
            self.open_calls -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.azure:
            key = request.headers.get("api-key", "")
            if request.query.get("api-version") != self.azure or "model" not in request.match_info:
                return _error(Fault(status=404, code="404", message="Resource not found"))
        refusal = self._gate(key, body.get("model", "")) or self._unsupported(body)
        if refusal is not None:
            self.refused.append(refusal.message)
            return _error(refusal)
        call = self._as_asked_before(_chat_call(body, key))
        self.calls.append(call)
        place = len(self.calls) - 1
        answer = self.respond(call) if callable(self.respond) else self.respond
        fault = Fault(text=answer) if isinstance(answer, str) else answer
        if fault.hang_first:
            await self._hang()
        if fault.status >= 400:
            return _error(fault)
        if fault.raw is not None:
            return web.Response(body=fault.raw, headers={"Content-Type": fault.content_type})
        if self.ignores_stream or not body.get("stream"):
            await asyncio.sleep(self.first_token_s)
            return web.json_response(_whole(call, fault))
        response = await self._stream(request, call, fault)
        self.answered_at[place] = asyncio.get_running_loop().time()
        return response

    def _as_asked_before(self, call: ChatCall) -> ChatCall:
        """Where the schema of an earlier call is told in words alone, by that call's name of it."""
        told = re.search(r"follow this JSON schema:\n(\{.*\})$", call.system, re.MULTILINE)
        schema = json.loads(told.group(1)) if told and not call.schema_name else None
        known = (one for one in reversed(self.calls) if one.schema and one.schema == schema)
        return replace(call, schema_name=one.schema_name, schema=one.schema) if (one := next(known, None)) else call

    async def _stream(self, request: web.Request, call: ChatCall, fault: Fault) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        pace_s = self.token_s if fault.drip_s is None else fault.drip_s
        loop = asyncio.get_running_loop()
        start = loop.time() + self.first_token_s
        is_timed = pace_s > 0 or {fault.cut_after, fault.end_after, fault.hang_after} != {None}
        size = 1 if is_timed else self.tokens_at_once
        pieces, thought = (
            ["".join(tokens[at : at + size]) for at in range(0, len(tokens), size)]
            for tokens in (tokenise(fault.text), tokenise(fault.thought))
        )
        await response.write(_event(call, fault, {"role": "assistant", "content": ""}))
        for piece in thought:
            await response.write(_event(call, fault, {"reasoning_content": piece}))
        for position, piece in enumerate([*pieces, None]):
            if position == fault.cut_after:
                request.transport.abort()
                return response
            if position == fault.end_after:
                return response
            if position == fault.hang_after:
                await self._hang()
            # Against a schedule, so that the pace does not drift with the machine's load.
            await asyncio.sleep(max(0.0, start + position * pace_s - loop.time()))
            if piece is not None:
                await response.write(_event(call, fault, {"content": piece}))
        if fault.refusal is not None:
            await response.write(_event(call, fault, {"refusal": fault.refusal}))
        for delta in _call_deltas(fault):
            await response.write(_event(call, fault, delta))
        await response.write(_event(call, fault, {}, finish_reason=fault.finish_reason))
        if (call.body.get("stream_options") or {}).get("include_usage") and fault.usage is not None:
            await response.write(_sse({**_frame(call), "choices": [], "usage": _usage(call, fault)}))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _hang(self) -> None:
        self.hanging.set()
        await self.closing.wait()

    def _gate(self, key: str, model: str) -> Fault | None:
        if self.keys and key not in self.keys:
            # Echoes the key in full, as careless endpoints do.
            return Fault(status=401, code="invalid_api_key", message=f"Incorrect API key provided: {key}")
        if self.models and model not in self.models:
            return Fault(status=404, code="model_not_found", message=f"The model `{model}` does not exist")
        return None

    def _unsupported(self, body: Mapping[str, Any]) -> Fault | None:
        """A refusal in the words of real endpoints, or of OpenAI when the schema is not strict."""
        wanted = body.get("response_format") or {}
        named = self.rejects & {*body, *({"response_format." + wanted["type"]} if wanted else ())}
        for name in sorted(named):
            message = f"Unsupported parameter: '{name.partition('.')[0]}' ({name}) is not supported with this model."
            return Fault(status=self.reject_status, kind="invalid_request_error", message=message)
        if problem := _unanswered_call(body["messages"]):
            return Fault(status=400, kind="invalid_request_error", message=problem)
        if wanted.get("type") == "json_schema":
            problems = schema_problems(wanted["json_schema"].get("schema"))
            if not wanted["json_schema"].get("strict"):
                problems.append("strict is not set")
            if problems:
                message = f"Invalid schema for response_format '{wanted['json_schema'].get('name')}': {problems[0]}"
                return Fault(status=400, kind="invalid_request_error", message=message)
        return None

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        self.open_calls += 1
        self.most_open_calls = max(self.most_open_calls, self.open_calls)
        try:
            return await self._embed(request)
        finally:
            self.open_calls -= 1

    async def _embed(self, request: web.Request) -> web.Response:
        body = await request.json()
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = body["input"]
        texts = tuple([given] if isinstance(given, str) else given)
        encoding = body.get("encoding_format", "float")
        self.embedding_calls.append(EmbeddingCall(body.get("model", ""), texts, encoding, key, body))
        fault = self._gate(key, body.get("model", "")) or self.embedding_fault
        if "encoding_format." + encoding in self.rejects:
            fault = Fault(status=400, message="Unknown value for encoding_format")
        if max(map(len, texts)) > self.max_embedding_chars:
            fault = Fault(status=400, message="input is too long: it exceeds the maximum context length")
        if not all(texts):
            fault = Fault(status=400, kind="invalid_request_error", message="'$.input' is invalid")
        if len(texts) > self.max_embedding_texts:
            fault = self.too_many
        await asyncio.sleep(self.embedding_s)
        if fault is not None and fault.hang_first:
            await self._hang()
        if fault is not None and fault.raw is not None:
            return web.Response(body=fault.raw, headers={"Content-Type": fault.content_type})
        if fault is not None:
            return _error(fault)
        rows = [
            {"object": "embedding", "index": i, "embedding": self._encoded(text, encoding)}
            for i, text in enumerate(texts)
        ]
        used = sum(len(tokenise(text)) for text in texts)
        usage = {"prompt_tokens": used, "total_tokens": used}
        # Real JSON has no NaN, but endpoints written in Python send it.
        reply = json.dumps({"object": "list", "data": rows, "model": body.get("model", ""), "usage": usage})
        return web.Response(text=reply, content_type="application/json")

    def _encoded(self, text: str, encoding: str) -> str | list[float]:
        vector = np.asarray(self.embed(text), dtype="<f4")
        if encoding == "base64" and not self.only_floats:
            return base64.b64encode(vector.tobytes()).decode()
        return [float(number) for number in vector]


def schema_problems(schema: object, path: str = "$") -> list[str]:
    """What strict structured output would refuse in `schema`, each with its place; empty when it is fine."""
    if not isinstance(schema, Mapping):
        return [f"{path} is no schema"]
    problems = []
    if path == "$" and schema.get("type") != "object":
        problems.append("$ must be of type object")
    problems += [
        f"{path}: '{word}' is not permitted"
        for word in ("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "default", "patternProperties")
        if word in schema
    ]
    kinds = schema.get("type")
    if not kinds and not ({"anyOf", "$ref", "enum", "const"} & schema.keys()):
        problems.append(f"{path} has no type")
    if "object" in (kinds if isinstance(kinds, list) else [kinds]):
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            problems.append(f"{path}: 'additionalProperties' is required to be false")
        if sorted(schema.get("required", [])) != sorted(properties):
            problems.append(f"{path}: 'required' must name every property")
    parts = {f"{path}.{name}": part for name, part in schema.get("properties", {}).items()}
    parts |= {f"{path}.$defs.{name}": part for name, part in schema.get("$defs", {}).items()}
    parts |= {f"{path}|{i}": part for i, part in enumerate(schema.get("anyOf", []))}
    if "items" in schema:
        parts[f"{path}[]"] = schema["items"]
    return problems + [problem for place, part in parts.items() for problem in schema_problems(part, place)]


@asynccontextmanager
async def openai_world(respond: Respond | str | Fault = BY_DEFAULT, *, port: int = 0) -> AsyncIterator[OpenAIWorld]:
    """A running world; `world.url` is what OPENAI_BASE_URL should say."""
    world = OpenAIWorld(respond)
    runner = web.AppRunner(world.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        world.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield world
    finally:
        world.closing.set()
        await runner.cleanup()


def _chat_call(body: Mapping[str, Any], key: str) -> ChatCall:
    said = {message["role"]: message.get("content") or "" for message in body["messages"]}
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    return ChatCall(
        model=body.get("model", ""),
        system=said.get("system", ""),
        user=said.get("user", ""),
        schema_name=wanted.get("name", ""),
        schema=wanted.get("schema", {}),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens") or 0,
        prompt_tokens=sum(len(tokenise(text)) for text in said.values()),
        key=key,
        at=asyncio.get_running_loop().time(),
        body=body,
    )


def _call_deltas(fault: Fault) -> list[dict[str, Any]]:
    """As OpenAI streams them: the name first, then the arguments in two pieces that only know their index."""
    deltas: list[dict[str, Any]] = []
    for place, (name, arguments) in enumerate(fault.calls):
        half = len(arguments) // 2
        begun = {"index": place, "id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": ""}}
        pieces = [{"index": place, "function": {"arguments": part}} for part in (arguments[:half], arguments[half:])]
        deltas += [{"tool_calls": [piece]} for piece in [begun, *pieces]]
    return deltas


def _unanswered_call(messages: Sequence[Mapping[str, Any]]) -> str:
    """What OpenAI says when a call is not followed by its result."""
    for place, message in enumerate(messages):
        ids = {call["id"] for call in message.get("tool_calls") or ()}
        behind = messages[place + 1 : place + 1 + len(ids)]
        if ids != {answer.get("tool_call_id") for answer in behind if answer["role"] == "tool"} and ids:
            return "An assistant message with 'tool_calls' must be followed by tool messages responding to each."
    return ""


def _error(fault: Fault) -> web.Response:
    if fault.raw is not None:
        return web.Response(body=fault.raw, status=fault.status, headers={"Content-Type": fault.content_type})
    body = {"error": {"message": fault.message, "type": fault.kind, "param": None, "code": fault.code}}
    return web.json_response(body, status=fault.status, headers=fault.headers)


def _frame(call: ChatCall) -> dict[str, Any]:
    return {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 0, "model": call.model}


def _event(call: ChatCall, fault: Fault, delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _sse({**_frame(call), "choices": [choice] if fault.has_choices else []})


def _sse(chunk: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _usage(call: ChatCall, fault: Fault) -> Any:
    if fault.usage is not UNSET:
        return fault.usage
    written = len(tokenise(fault.text))
    return {
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": call.prompt_tokens + written,
    }


def _whole(call: ChatCall, fault: Fault) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": fault.text, "refusal": fault.refusal}
    if fault.calls:
        message["tool_calls"] = [
            {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for place, (name, arguments) in enumerate(fault.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": fault.finish_reason}
    frame = {**_frame(call), "object": "chat.completion"}
    return {**frame, "choices": [choice] if fault.has_choices else [], "usage": _usage(call, fault)}


async def _serve(port: int, *, first_token_s: float, token_s: float) -> None:
    """Until interrupted."""
    async with openai_world(port=port) as world:
        world.first_token_s, world.token_s = first_token_s, token_s
        print(f"export OPENAI_BASE_URL={world.url} GORKD_EMBEDDING_MODEL=hashing", flush=True)
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="A loopback endpoint that speaks OpenAI's API.")
    arguments.add_argument("--port", type=int, default=8088)
    arguments.add_argument("--first-token-s", type=float, default=0.3)
    arguments.add_argument("--token-s", type=float, default=0.01)
    chosen = arguments.parse_args()
    asyncio.run(_serve(chosen.port, first_token_s=chosen.first_token_s, token_s=chosen.token_s))
