"""Every way an endpoint or the SDK can fail, and the error of ours that it becomes."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import httpx2
import openai
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.llm.embeddings import OpenAIEmbeddings
from adapters.llm.endpoint import Endpoint
from adapters.llm.failures import call_failures, model_error, retry_after_s
from adapters.llm.openai import OpenAIChat, build_chat
from core.llm.ask_model import complete
from core.model.errors import (
    ModelError,
    ModelGarbled,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
)
from tests.adapters.llm.test_openai import ANSWER, REQUEST, answer_of, chunk_of
from tests.loopback.openai_world import Fault, openai_world
from tests.shared_data import shared_data

KEY = "sk-verysecret0123456789"
ENDPOINT = Endpoint(model="small", base_url="http://user:hunter2@localhost:9/v1", api_key=KEY)


async def failure_of(fault: Fault, kind: type[ModelError] = ModelError) -> ModelError:
    """What a question ends in at an endpoint with that fault."""
    async with openai_world(fault) as world:
        with pytest.raises(kind) as caught:
            await answer_of(world)
    return caught.value


def sdk_errors() -> Iterator[type[Exception]]:
    """The SDK's public exception classes, and those of its transport."""
    for module in (openai, openai._exceptions, httpx2):
        for name, value in vars(module).items():
            # By its type: `isinstance` would ask the SDK's proxies, and each would load a part of it.
            if issubclass(type(value), type) and issubclass(value, Exception) and not name.startswith("_"):
                yield value


def example_of(kind: type[Exception]) -> Exception:
    """An instance, whatever its constructor asks for."""
    request = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
    known = {
        "message": "it broke",
        "request": request,
        "response": httpx2.Response(400, request=request),
        "body": {"message": "it broke"},
        "completion": openai.types.chat.ChatCompletion.construct(),
        "unsent_messages": [],
    }
    wanted = list(inspect.signature(kind.__init__).parameters.values())[1:]
    named = {p.name: known[p.name] for p in wanted if p.kind is p.KEYWORD_ONLY and p.name in known}
    positional = [
        known.get(p.name, "it broke") for p in wanted if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
    ]
    return kind(*positional, **named)


# Programming mistakes in this project's use of the transport; hiding those would be wrong.
NOT_FAILURES = (httpx2.CookieConflict,)


@pytest.mark.parametrize("kind", sorted(set(sdk_errors()) - set(NOT_FAILURES), key=lambda kind: kind.__qualname__))
def test_no_exception_of_the_sdk_is_unmapped(kind):
    """S003-23: nothing above the adapter ever meets a vendor's error."""
    failure = example_of(kind)

    error = model_error(failure, ENDPOINT)

    assert isinstance(failure, call_failures())
    assert isinstance(error, ModelError)
    assert type(error) is not ModelError
    assert "localhost:9" in str(error) or "declined" in str(error) or "OPENAI_BASE_URL" in str(error)
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        pytest.param(Fault(status=401), ModelRejected, "OPENAI_API_KEY", id="401"),
        pytest.param(Fault(status=401, kind="invalid_request_error"), ModelRejected, "OPENAI_API_KEY", id="401-typed"),
        pytest.param(Fault(status=403), ModelRejected, "OPENAI_API_KEY", id="403"),
        pytest.param(Fault(status=404), ModelRejected, "GORKD_MODEL and OPENAI_BASE_URL", id="404"),
        pytest.param(Fault(status=400, code="model_not_found"), ModelRejected, "GORKD_MODEL", id="unknown-model"),
        pytest.param(Fault(status=400, code="context_length_exceeded"), PromptTooLong, "too long", id="context-length"),
        pytest.param(Fault(status=413), PromptTooLong, "too long", id="413"),
        pytest.param(Fault(status=400), ModelRejected, "refused the request", id="400"),
        pytest.param(Fault(status=418), ModelRejected, "refused the request", id="418"),
        pytest.param(Fault(status=402), ModelRejected, "no quota", id="402"),
        pytest.param(Fault(status=429, code="insufficient_quota"), ModelRejected, "no quota", id="quota"),
        pytest.param(Fault(status=429), ModelRateLimited, "too many requests", id="429"),
        pytest.param(Fault(status=429, kind="tokens"), ModelRateLimited, "too many requests", id="429-tokens"),
        pytest.param(Fault(status=408), ModelTimeout, "in time", id="408"),
        pytest.param(Fault(status=409), ModelUnavailable, "try again", id="409"),
        pytest.param(Fault(status=500), ModelUnavailable, "answers with HTTP 500", id="500"),
        pytest.param(Fault(status=503), ModelUnavailable, "answers with HTTP 503", id="503"),
        pytest.param(Fault(status=504), ModelTimeout, "in time", id="504"),
    ],
)
async def test_status_becomes_an_error_that_says_what_to_do(fault, error, says):
    """S003-23: each refusal names the setting to check, or that trying again may help."""
    failure = await failure_of(fault)

    assert type(failure) is error
    assert says in failure.operator_message


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_prompts_follow_no_redirect(status: int) -> None:
    """Neither do texts to embed; whoever runs gorkd is told of the host alone, for the rest may hold a token."""
    async with openai_world(Fault(text=ANSWER)) as other:

        async def send_on(request: web.Request) -> web.Response:
            place = f"{other.url}{request.path.removeprefix('/v1')}?token=sesame"
            return web.Response(status=status, headers={"Location": place})

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", send_on)
        async with TestServer(app) as server:
            endpoint = Endpoint(model="small", base_url=str(server.make_url("/v1")), api_key=KEY)
            model, embedder = OpenAIChat(endpoint), OpenAIEmbeddings(endpoint)

            with pytest.raises(ModelRejected) as chat:
                await complete(model, REQUEST)
            with pytest.raises(ModelRejected) as embedding:
                await embedder.embed(["a text"])
            await model.aclose()
            await embedder.aclose()

    assert (other.calls, other.embedding_calls) == ([], [])
    for caught in (chat, embedding):
        assert f"points to {other.url.removesuffix('/v1')}; " in caught.value.operator_message
        assert "sesame" not in f"{caught.value.operator_message} {caught.value}"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("rate_limit_exceeded", ModelRateLimited),
        (429, ModelRateLimited),
        ("insufficient_quota", ModelRejected),
        ("context_length_exceeded", PromptTooLong),
        (502, ModelUnavailable),
        (None, ModelUnavailable),
        ("timeout", ModelTimeout),
    ],
)
async def test_error_inside_a_stream_is_told_by_its_code(code, error):
    """An endpoint may fail after it has begun with 200; its code says how."""
    event = {"error": {"message": "it broke", "code": code}}
    failure = await failure_of(Fault(raw=f"data: {json.dumps(event)}\n\n".encode()))

    assert type(failure) is error


@pytest.mark.parametrize(
    ("body", "content_type", "error", "words"),
    [
        ('{"error": {"message": "Insufficient credits", "code": 402}}', "application/json", ModelRejected, "no quota"),
        (
            '{"error": "model \'m\' not found, try pulling it first"}',
            "application/json",
            ModelRejected,
            "knows no model",
        ),
        ('{"detail": "Service overloaded"}', "application/json", ModelUnavailable, "broke off"),
        (
            'data: {"error": "llama runner process has terminated"}\n\n',
            "text/event-stream",
            ModelUnavailable,
            "broke off",
        ),
        ('event: error\ndata: {"message": "upstream died"}\n\n', "text/event-stream", ModelUnavailable, "broke off"),
        ("upstream connect error", "text/plain", ModelGarbled, "could not be read"),
    ],
    ids=["no credits", "ollama", "fastapi", "ollama in a stream", "event", "proxy"],
)
async def test_success_that_tells_of_a_failure_is_one(body, content_type, error, words):
    """N-05: its words say what to do, also where the status says that all is well."""
    failure = await failure_of(Fault(raw=body.encode(), content_type=content_type))

    assert type(failure) is error
    assert words in failure.operator_message


async def test_refused_key_appears_nowhere():
    """A key is in no message, no repr and no traceback, even when the endpoint repeats it."""
    async with openai_world(ANSWER) as world:
        world.keys = {"another"}
        model = build_chat({"OPENAI_BASE_URL": world.url, "OPENAI_API_KEY": KEY})

        with pytest.raises(ModelRejected) as caught:
            await complete(model, REQUEST)
        await model.aclose()

    printed = "".join(traceback.format_exception(caught.value))
    assert KEY not in printed + caught.value.operator_message + repr(vars(model))
    assert "Incorrect API key provided: ***" in str(caught.value)
    assert caught.value.operator_message == "The model endpoint refused the key; check OPENAI_API_KEY."


async def test_address_where_nobody_listens_is_given_up_at_once():
    """A wrong base URL costs no waiting and names its setting."""
    async with openai_world(ANSWER) as world:
        url = world.url
    model = OpenAIChat(Endpoint(model="small", base_url=url))

    with pytest.raises(ModelUnavailable) as caught:
        await complete(model, REQUEST)
    await model.aclose()

    assert "OPENAI_BASE_URL" in caught.value.operator_message
    assert caught.value.retryable


async def test_address_of_a_web_site_is_told_apart_from_a_missing_model():
    """A path that the endpoint does not have is refused with both settings named."""
    async with openai_world(ANSWER) as world:
        model = OpenAIChat(Endpoint(model="small", base_url=world.url.removesuffix("/v1")))

        with pytest.raises(ModelRejected) as caught:
            await complete(model, REQUEST)
        await model.aclose()

    assert "OPENAI_BASE_URL" in caught.value.operator_message


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
    ids=str,
)
def test_time_to_wait_is_read_from_headers(headers, expected):
    """Seconds, milliseconds or a date; what is none of them is no time to wait."""
    assert retry_after_s(httpx2.Headers(headers)) == expected


async def test_rate_limit_carries_the_time_to_wait():
    """S003-23: the pipeline learns when the one retry makes sense."""
    failure = await failure_of(Fault(status=429, headers={"Retry-After": "3"}), ModelRateLimited)

    assert failure.retry_after_s == 3.0
    assert "in a minute" in failure.user_message


async def test_rate_limit_that_lasts_is_said_with_its_minutes():
    """Else "in a minute" would be told again and again where a day's calls are used up."""
    failure = await failure_of(Fault(status=429, headers={"Retry-After": "3590"}), ModelRateLimited)

    assert failure.user_message.endswith("please try again in 60 minutes.")
    assert failure.operator_message.endswith("it takes more in 60 minutes.")


def test_every_listed_model_fault_has_a_case():
    """The list of provider faults is covered here, in test_openai, test_embeddings or core/llm."""
    rows = [json.loads(line) for line in shared_data("hostile_sample", "provider_faults.jsonl").open()]

    listed = {row["id"] for row in rows if row["who"] in {"llm", "embed"}}

    assert listed - ELSEWHERE <= set(CASES)


# Faults of the answer's content, which checking citations and rendering deal with, not the adapter.
ELSEWHERE = {"pf-26", "pf-27", "pf-28", "pf-29", "pf-30", "pf-39"}
CASES = {
    "pf-19": "test_openai: dropped-after-n, ended-after-n",
    "pf-20": "test_openai: cut at the token limit",
    "pf-21": "test_openai: content-filter",
    "pf-22": "test_openai: refusal",
    "pf-23": "test_openai: no-choices",
    "pf-24": "test_llm: fences and prose",
    "pf-25": "test_llm: every prefix",
    "pf-31": "test_llm: long answer",
    "pf-32": "test_openai: empty, blank",
    "pf-33": "context-length",
    "pf-34": "rate limit carries the time to wait",
    "pf-35": "401",
    "pf-36": "500",
    "pf-37": "test_openai: tool-call",
    "pf-38": "test_openai: usage",
    "pf-40": "test_openai: no-headers",
    "pf-41": "test_embeddings: vectors that are none",
}


@pytest.mark.parametrize(
    ("status", "code", "message", "window", "sent"),
    [
        (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens. However, your messages "
         "resulted in 9001 tokens.", 8192, 9001),
        (400, None, "This model's maximum context length is 4096 tokens. However, you requested 5200 tokens "
         "(3700 in the messages, 1500 in the completion).", 4096, 3700),
        (400, None, "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your "
         "request has 1000 input tokens (5000 > 4096 - 1000).", 4096, 1000),
        (400, "exceed_context_size_error", "request (12031 tokens) exceeds the available context size (8192 tokens), "
         "try increasing it", 8192, 12031),
        (400, None, "Trying to keep the first 4861 tokens when context the overflows. However, the model is loaded "
         "with context length of only 4096 tokens, which is not enough.", 4096, 4861),
        (413, "rate_limit_exceeded", "Request too large for model `x` on tokens per minute (TPM): Limit 6000, "
         "Requested 9137, please reduce your message size.", 6000, 9137),
        (400, None, "prompt is too long: 210,000 tokens > 200,000 maximum", 200000, 210000),
        (400, None, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576,
         1200000),
        (400, None, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context "
         "length", 32768, 40000),
        (400, None, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` "
         "tokens and 500 `max_new_tokens`", 8193, 9000),
        (400, None, "Please reduce the length of the messages or completion.", 0, 0),
    ],
    ids=["openai", "vllm", "vllm new", "llama.cpp", "lm studio", "groq", "anthropic", "gemini", "mistral", "tgi",
         "bare"],
)  # fmt: skip
async def test_prompt_that_is_too_long_is_told_with_the_window(status, code, message, window, sent):
    """N-05: in all spellings, so that fewer sources can be sent."""
    failure = await failure_of(Fault(status=status, code=code, message=message), PromptTooLong)

    assert (failure.window, failure.sent) == (window, sent)
    assert "GORKD_CONTEXT_TOKENS" in failure.operator_message


async def test_refusals_of_every_length_say_nothing_of_the_window():
    """pf-33: an endpoint that calls any prompt too long for a while gets whole prompts again afterwards."""
    long = replace(REQUEST, user=f"<source id='1'>\n{'The tower is 42 metres tall. ' * 300}\n</source>\n")
    refusal = Fault(status=400, code="context_length_exceeded", message="Please reduce the length of the messages.")
    async with openai_world(refusal) as world:
        model = OpenAIChat(Endpoint(model="small", base_url=world.url))
        for _ in range(2):
            with pytest.raises(PromptTooLong):
                await complete(model, long)
        world.respond = ANSWER
        await complete(model, long)
        await model.aclose()

    asked = [len(call.user) for call in world.calls]
    assert min(asked) < len(long.user) == asked[-1]
    assert model.window.tokens == 0


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (Fault(status=503, kind="unavailable_error", message="Loading model"), ModelUnavailable, "being loaded"),
        (
            Fault(status=400, message="No models loaded. Please load a model first."),
            ModelRejected,
            "load “small” there",
        ),
        (Fault(status=404, message="model 'small' not found, try pulling it first"), ModelRejected, "knows no model"),
        (Fault(status=404, message="Missing required query parameter: api-version"), ModelRejected, "api-version"),
        (Fault(status=400, message="API key not valid. Please pass a valid API key."), ModelRejected, "OPENAI_API_KEY"),
        (Fault(status=400, code="json_validate_failed", message="Failed to generate JSON."), ModelGarbled, "read"),
        (Fault(text="", finish_reason="length"), ModelGarbled, "GORKD_MAX_TOKENS"),
    ],
    ids=["loading", "nothing loaded", "not pulled", "no version", "key", "groq json", "all thought"],
)
async def test_words_name_the_cause_where_the_number_does_not(fault, error, says):
    failure = await failure_of(fault)

    assert type(failure) is error
    assert says in failure.operator_message


async def _texts(*chunks: bytes) -> list[str]:
    """What a model says in a stream of these bytes, that breaks behind them, and how it ends."""

    async def body():
        for chunk in chunks:
            yield chunk
        raise httpx2.RemoteProtocolError("peer closed connection without sending complete message body")

    headers, request = {"content-type": "text/event-stream"}, httpx2.Request("POST", "http://127.0.0.1/v1")
    opened = SimpleNamespace(response=httpx2.Response(200, headers=headers, content=body(), request=request))
    texts = []
    model = OpenAIChat(ENDPOINT)
    try:
        async for pieces in model._pieces(opened):
            texts += [piece.text for piece in pieces]
    except call_failures() as exc:
        texts.append(type(exc).__name__)
    return texts


@pytest.mark.parametrize(
    ("behind", "end"),
    [
        (b'data: {"error": {"message": "overloaded"}}\n\n', ["APIError"]),
        (b"data: {half\n\n", ["JSONDecodeError"]),
        (b'data: {"choices"', ["RemoteProtocolError"]),
        (b"data: [DONE]\n\n", []),
        (b"data:\n\ndata: [DONE]\n\n", []),
    ],
    ids=["an error is told", "no JSON", "a break", "a break behind the end", "an event without data"],
)
async def test_what_came_with_the_end_of_a_stream_is_not_lost(behind, end):
    """However it ends: what stood in the same chunk before is an answer's text, or tells what it cost."""
    assert await _texts(chunk_of("Swans") + chunk_of(" are white.") + behind) == ["Swans", " are white.", *end]
