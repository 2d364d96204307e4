"""The chat adapter through the real SDK against a loopback endpoint: its good days and its dialects."""

from __future__ import annotations

import asyncio
import json
import selectors
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from adapters.llm.endpoint import Endpoint
from adapters.llm.openai import (
    AT_ONCE_S,
    DEFAULT_MODEL,
    GATHER_S,
    MAX_AHEAD_BYTES,
    OpenAIChat,
    _gathered,
    build_chat,
    build_check,
    build_mode_chats,
)
from adapters.llm.reading import MAX_EVENT_BYTES, EventReader
from core.llm.ask_model import AnswerStream, complete
from core.model.errors import ModelGarbled, ModelRejected, ModelTimeout, ModelUnavailable, SetupError
from core.model.ports import ChatRequest
from core.text.growing_json import parse_object
from tests.loopback.openai_responders import in_turn, tokenise
from tests.loopback.openai_world import Fault, OpenAIWorld, openai_world

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
REQUEST = ChatRequest(
    purpose="answer",
    system="You are a research assistant.",
    user="What is a cygnet?",
    schema_name="answer",
    schema=SCHEMA,
    max_tokens=100,
    timeout_s=5.0,
)
ANSWER = json.dumps({"summary": "A cygnet is a young swan, 天鹅 in Chinese 🦢."})


@asynccontextmanager
async def chat(world: OpenAIWorld, *, stall_s: float = 20.0) -> AsyncIterator[OpenAIChat]:
    model = OpenAIChat(Endpoint(model="small", base_url=world.url), stall_s=stall_s)
    try:
        yield model
    finally:
        await model.aclose()


async def answer_of(world: OpenAIWorld, request: ChatRequest = REQUEST, *, stall_s: float = 20.0) -> str:
    """The whole text of one call with a fresh adapter."""
    async with chat(world, stall_s=stall_s) as model:
        return (await complete(model, request)).text


def chunk_of(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n".encode()


async def _feed(stream: AnswerStream, model: OpenAIChat) -> None:
    async for delta in model.stream(REQUEST):
        stream.feed(delta)


async def test_answer_arrives_in_pieces_with_its_usage():
    """S003-13: structured output is streamed; the last delta carries what it cost."""
    async with openai_world(ANSWER) as world, chat(world) as model:
        world.tokens_at_once = 1
        deltas = [delta async for delta in model.stream(REQUEST)]

    assert "".join(delta.text for delta in deltas[:-1]) == ANSWER
    assert deltas[-1].usage is not None
    assert deltas[-1].usage.prompt_tokens == world.calls[0].prompt_tokens
    assert deltas[-1].usage.completion_tokens == len(tokenise(ANSWER))
    assert not deltas[-1].usage.is_estimated


async def test_request_asks_for_the_strict_schema_and_the_token_limit():
    """S003-13: the endpoint is told the schema by name, strictly, and how much to write at most."""
    async with openai_world(ANSWER) as world:
        await answer_of(world)

        body = world.calls[0].body

    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    assert body["max_tokens"] == 100
    assert body["stream_options"] == {"include_usage": True}
    assert (world.calls[0].system, world.calls[0].user) == (REQUEST.system, REQUEST.user)


JSON_OBJECT = {"response_format": {"type": "json_object"}}
NONE_OF_THEM = {"response_format": None, "max_completion_tokens": 100, "stream_options": None}


@pytest.mark.parametrize(
    ("rejects", "accepted", "status"),
    [
        ({"response_format.json_schema"}, JSON_OBJECT, 400),
        ({"response_format.json_schema"}, JSON_OBJECT, 404),
        ({"response_format.json_schema"}, JSON_OBJECT, 500),
        ({"response_format"}, {"response_format": None}, 422),
        ({"max_tokens"}, {"max_tokens": None, "max_completion_tokens": 100}, 400),
        ({"stream_options"}, {"stream_options": None}, 400),
        ({"response_format", "max_tokens", "stream_options"}, NONE_OF_THEM, 400),
        ({"response_format", "max_tokens", "stream_options"}, NONE_OF_THEM, 500),
    ],
    ids=["schema-400", "schema-404", "schema-500", "output-422", "limit", "usage", "all-400", "all-500"],
)
async def test_what_the_endpoint_cannot_do_is_left_out_and_remembered(rejects, accepted, status):
    """D6: any OpenAI-compatible endpoint serves, whatever of the newer parameters it lacks."""
    async with openai_world(ANSWER) as world, chat(world) as model:
        world.rejects, world.reject_status = rejects, status
        first = await complete(model, REQUEST)
        refusals = len(world.refused)
        second = await complete(model, REQUEST)

    assert first.text == second.text == ANSWER
    assert {name: world.calls[0].body.get(name) for name in accepted} == accepted
    assert 0 < refusals == len(world.refused)


@pytest.mark.parametrize(
    ("name", "status", "message", "is_twice"),
    [
        pytest.param(
            "response_format",
            500,
            "1 validation error:\n {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': "
            "\"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}",
            True,
            id="llama-cpp-python",
        ),
        pytest.param("response_format", 500, "Cannot use json_schema with this backend", True, id="json_schema"),
        pytest.param("stream_options", 502, "stream_options: unknown field", False, id="usage"),
        pytest.param("temperature", 503, "This model takes no temperature", False, id="temperature"),
    ],
)
async def test_server_error_that_names_what_was_asked_for_is_a_refusal_of_that(name, status, message, is_twice):
    """D6: local servers answer 5xx to what they cannot validate; without it they answer."""

    def respond(call):
        return Fault(status=status, kind="internal_server_error", message=message) if name in call.body else ANSWER

    async with openai_world(respond) as world, chat(world) as model:
        request = replace(REQUEST, temperature=0.0)
        answers = [(await complete(model, request)).text for _ in range(2)]

    assert answers == [ANSWER, ANSWER]
    assert [name in call.body for call in world.calls] == [True, *([True] if is_twice else []), False, False]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, message="The service is overloaded"),
        Fault(status=502, raw=b"<html>Bad gateway: our tools and the temperature of json_schema</html>"),
    ],
    ids=["words", "a page"],
)
async def test_server_error_that_names_nothing_leaves_the_dialect_as_it_is(fault):
    """A gateway that is down for a moment costs no structured output for good."""
    async with openai_world(fault) as world, chat(world) as model:
        with pytest.raises(ModelUnavailable):
            await complete(model, replace(REQUEST, temperature=0.0))

    assert model.dialect.output == "json_schema"
    assert model.dialect.refused == frozenset()


@pytest.mark.parametrize("rejects", [{"response_format.json_schema"}, {"response_format"}])
async def test_schema_goes_into_the_prompt_where_the_endpoint_takes_none(rejects):
    """Without structured output the model still learns the shape of the answer."""
    async with openai_world(ANSWER) as world:
        world.rejects = rejects
        await answer_of(world)

    assert json.dumps(SCHEMA) in world.calls[0].system
    assert "JSON" in world.calls[0].system


async def test_endpoint_that_does_not_stream_is_read_whole():
    """A completion sent in one piece is as good as a stream."""
    async with openai_world(ANSWER) as world, chat(world) as model:
        world.ignores_stream = True
        completion = await complete(model, REQUEST)

    assert completion.text == ANSWER
    assert completion.usage.completion_tokens == len(tokenise(ANSWER))


@pytest.mark.parametrize(
    "usage",
    [None, {}, "many", {"prompt_tokens": None, "completion_tokens": 3}, {"prompt_tokens": -1, "completion_tokens": 1}],
    ids=["missing", "empty", "string", "null", "negative"],
)
async def test_usage_that_cannot_be_read_is_estimated(usage):
    """Cost is never unknown: what the endpoint does not report is estimated and marked so."""
    async with openai_world(Fault(text=ANSWER, usage=usage)) as world, chat(world) as model:
        completion = await complete(model, REQUEST)

    assert completion.usage.is_estimated
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0


async def test_usage_in_strings_is_read():
    """Counts that an endpoint quotes are counts all the same."""
    async with (
        openai_world(Fault(text=ANSWER, usage={"prompt_tokens": "12", "completion_tokens": "7"})) as world,
        chat(world) as model,
    ):
        completion = await complete(model, REQUEST)

    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (12, 7)


async def test_answer_cut_at_the_token_limit_ends_as_far_as_it_came():
    """Part of an answer is something: the JSON shows that it is incomplete, and the draft keeps it."""
    async with openai_world(Fault(text=ANSWER[:30], finish_reason="length")) as world:
        text = await answer_of(world)

    assert text == ANSWER[:30]
    with pytest.raises(ModelGarbled):
        parse_object(text)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param(Fault(refusal="I cannot help with that."), ModelRejected, id="refusal"),
        pytest.param(Fault(text="", finish_reason="content_filter"), ModelRejected, id="content-filter"),
        pytest.param(Fault(text="{", finish_reason="content_filter"), ModelRejected, id="content-filter-midway"),
        pytest.param(Fault(has_choices=False), ModelGarbled, id="no-choices"),
        pytest.param(Fault(text=""), ModelGarbled, id="empty"),
        pytest.param(Fault(text=" \n\t"), ModelGarbled, id="blank"),
        pytest.param(Fault(text="", finish_reason="length"), ModelGarbled, id="all-spent-on-reasoning"),
        pytest.param(Fault(text="", finish_reason="tool_calls"), ModelGarbled, id="tool-call"),
        pytest.param(Fault(raw=chunk_of("x" * 400_001)), ModelGarbled, id="endless"),
        pytest.param(Fault(refusal="x" * 400_001), ModelGarbled, id="endless-refusal"),
        pytest.param(
            Fault(raw=b" " * MAX_EVENT_BYTES + b"{}", content_type="application/json"), ModelGarbled, id="endless-json"
        ),
        *(
            pytest.param(Fault(text=ANSWER, cut_after=n), ModelUnavailable, id=f"dropped-after-{n}")
            for n in (0, 1, 10, len(tokenise(ANSWER)))
            if n < len(tokenise(ANSWER))
        ),
        *(pytest.param(Fault(text=ANSWER, end_after=n), ModelUnavailable, id=f"ended-after-{n}") for n in (0, 1, 10)),
        pytest.param(Fault(raw=b""), ModelUnavailable, id="nothing"),
        pytest.param(Fault(raw=b"data: {not json}\n\n"), ModelGarbled, id="garbage"),
        pytest.param(Fault(raw=b"data: \xff\xfe\n\n"), ModelGarbled, id="no-utf8"),
        pytest.param(Fault(raw=b"data: []\n\ndata: 7\n\ndata: null\n\n"), ModelGarbled, id="odd-json"),
        pytest.param(Fault(raw=b'data: {"choices":[{"delta":null}]}\n\n'), ModelUnavailable, id="no-delta"),
        pytest.param(Fault(raw=b'data: {"choices":[{"delta":{"content":{}}}]}\n\n'), ModelUnavailable, id="odd-text"),
        pytest.param(Fault(raw=b'data: {"error":{"message":"overloaded"}}\n\n'), ModelUnavailable, id="error-event"),
        pytest.param(Fault(raw=b"<html>", content_type="text/html"), ModelRejected, id="web-page"),
        pytest.param(Fault(raw=b"{", content_type="application/json"), ModelGarbled, id="half-json"),
        pytest.param(Fault(raw=b"data: " + b"[" * 100_000 + b"\n\n"), ModelGarbled, id="nested-event"),
        pytest.param(Fault(raw=b"[" * 100_000, content_type="application/json"), ModelGarbled, id="nested-json"),
    ],
)
async def test_answer_that_goes_wrong_ends_in_our_error(fault, error):
    """S003-23: whatever an endpoint does, the pipeline sees one of its own errors."""
    async with openai_world(fault) as world:
        with pytest.raises(error) as caught:
            await answer_of(world)

    assert type(caught.value) is error
    assert caught.value.user_message.endswith(".")


async def test_text_before_a_break_reaches_the_draft():
    """Nothing that was streamed is lost when the connection drops."""
    text = json.dumps({"summary": "Swans are white. Cygnets are grey.", "detail": "More.", "citations": []})
    stream = AnswerStream()
    async with openai_world(Fault(text=text, cut_after=len(tokenise(text[:30])))) as world, chat(world) as model:
        with pytest.raises(ModelUnavailable):
            await _feed(stream, model)

    draft = stream.finish()
    assert draft.summary.startswith("Swans are white")
    assert not draft.is_complete


async def test_complete_object_without_finish_reason_is_an_answer():
    """Some endpoints never say why they stop; a closed object needs no reason."""
    async with openai_world(Fault(text=ANSWER, finish_reason=None)) as world:
        assert await answer_of(world) == ANSWER


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(hang_first=True), id="no-headers"),
        pytest.param(Fault(text=ANSWER, hang_after=0), id="no-first-token"),
        pytest.param(Fault(text=ANSWER, hang_after=3), id="silence-midway"),
        pytest.param(Fault(text=ANSWER, drip_s=0.05), id="drip"),
    ],
)
async def test_whole_call_is_bounded(fault):
    """`timeout_s` bounds the call however the endpoint spends it: silent or dripping."""
    async with openai_world(fault) as world:
        started = asyncio.get_running_loop().time()
        with pytest.raises(ModelTimeout):
            await answer_of(world, replace(REQUEST, timeout_s=0.4))

        assert asyncio.get_running_loop().time() - started < 2.0


async def test_stall_between_pieces_ends_before_the_deadline():
    """An answer that stops coming is given up after the stall limit, not at the end of the job's time."""
    async with openai_world(Fault(text=ANSWER, hang_after=3)) as world:
        with pytest.raises(ModelTimeout, match=r"0\.2 s between"):
            await answer_of(world, replace(REQUEST, timeout_s=30.0), stall_s=0.2)


async def test_slow_first_token_is_no_stall():
    """A model that thinks before it writes has all of the call's time for it."""
    async with openai_world(ANSWER) as world:
        world.first_token_s = 0.4

        assert await answer_of(world, stall_s=0.2) == ANSWER


@pytest.mark.parametrize(("drops", "is_answered"), [(1, True), (2, True), (9, False)])
async def test_connection_that_was_closed_meanwhile_is_opened_anew(drops, is_answered):
    """llama.cpp's server closes a kept connection just as the next request is on its way, which it never reads."""
    asked: list[str] = []

    async def serve(reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return  # the client went
        if head.startswith("POST"):
            await reader.readexactly(int(head.lower().partition("content-length: ")[2].split()[0]))
            asked.append(head)
        body = chunk_of(ANSWER) + b'data: {"choices": [{"finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
        status = b"200 OK\r\nContent-Type: text/event-stream" if head.startswith("POST") else b"404 Not Found"
        if not head.startswith("POST") or len(asked) > drops:
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    model = OpenAIChat(Endpoint(model="small", base_url=f"http://127.0.0.1:{port}/v1"))
    async with server:
        answered = await asyncio.gather(complete(model, REQUEST), return_exceptions=True)
        await model.aclose()

    assert [getattr(answer, "text", type(answer)) for answer in answered] == [
        ANSWER if is_answered else ModelUnavailable
    ]
    assert len(asked) == (drops + 1 if is_answered else 3)


@pytest.mark.parametrize("begins", ['{"summary": "', ""], ids=["in JSON", "in prose where JSON was asked for"])
async def test_answer_that_goes_in_circles_is_not_read_to_its_end(begins):
    """S003-23: a small model writes on until its tokens are used up, a minute for nothing."""
    async with openai_world(
        begins + "It is written in a formal style, but it is not what you asked for. " * 60
    ) as world:
        with pytest.raises(ModelGarbled, match="repeats itself"):
            await answer_of(world)


async def test_cancelling_drops_the_call():
    """`CancelledError` passes, and the endpoint is not left writing for nobody."""
    async with openai_world(Fault(text=ANSWER, hang_after=2)) as world, chat(world) as model:
        call = asyncio.create_task(complete(model, REQUEST))
        await world.hanging.wait()

        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(world.aborted.wait(), 5)

    assert call.cancelled()


async def test_adapter_never_retries_by_itself():
    """S003-23: retrying once is the pipeline's decision; an adapter's own would double it."""
    async with openai_world(in_turn(Fault(status=500), ANSWER)) as world:
        with pytest.raises(ModelUnavailable):
            await answer_of(world)

    assert len(world.calls) == 1


async def test_twenty_calls_at_once_share_one_client():
    """One adapter serves all jobs of a worker."""
    async with openai_world(ANSWER) as world, chat(world) as model:
        answers = await asyncio.gather(*(complete(model, REQUEST) for _ in range(20)))

    assert {answer.text for answer in answers} == {ANSWER}


@pytest.mark.parametrize(
    ("env", "key", "model"),
    [
        pytest.param({"OPENAI_API_KEY": " sk-abc \n"}, "sk-abc", DEFAULT_MODEL, id="key"),
        pytest.param({"GORKD_MODEL": "llama"}, "none", "llama", id="keyless"),
        pytest.param({"OPENAI_API_KEY": "", "GORKD_MODEL": " "}, "none", DEFAULT_MODEL, id="blank"),
    ],
)
async def test_model_is_built_from_the_environment(env, key, model):
    """D6: a local endpoint needs no key; blanks around values are not part of them."""
    async with openai_world(ANSWER) as world:
        built = build_chat({"OPENAI_BASE_URL": world.url + "/", **env})

        await complete(built, REQUEST)
        await built.aclose()

    assert (world.calls[0].key, world.calls[0].model) == (key, model)
    assert built.name == model


async def test_a_mode_may_have_a_model_of_its_own():
    """D6: one model for all modes, unless one is named for a mode; one client for one name."""
    env = {"OPENAI_API_KEY": "sk-abc", "GORKD_MODELS": " deep=big ,section = big,library=small"}

    built = build_mode_chats(env, ["quick", "deep", "section", "library"])

    assert {mode: chat.name for mode, chat in built.items()} == {"deep": "big", "section": "big", "library": "small"}
    assert built["deep"] is built["section"]
    assert build_mode_chats({"GORKD_MODELS": "deep=big"}, ["deep"]) == {}


@pytest.mark.parametrize("wrong", ["deep", "deep=", "deeep=big", "=big"])
def test_a_model_for_no_mode_is_refused(wrong: str):
    with pytest.raises(SetupError, match="GORKD_MODELS"):
        build_mode_chats({"OPENAI_API_KEY": "sk-abc", "GORKD_MODELS": wrong}, ["quick", "deep"])


def test_no_model_without_key_or_address():
    """D6: a model's name alone is no model; the answer is extractive then."""
    assert build_chat({"GORKD_MODEL": "gpt-x", "OPENAI_API_KEY": " "}) is None


@pytest.mark.parametrize(
    "env",
    [
        {"OPENAI_BASE_URL": "localhost:11434"},
        {"OPENAI_BASE_URL": "http://"},
        {"OPENAI_BASE_URL": "http://[::1/v1"},
        {"OPENAI_BASE_URL": "http://host:port/v1"},
        {"OPENAI_BASE_URL": "ftp://host/v1"},
        {"OPENAI_API_KEY": "sk-with blank"},
        {"OPENAI_API_KEY": "sk-ключ"},
    ],
    ids=lambda env: next(iter(env.values())),
)
def test_impossible_settings_are_refused_at_the_start(env):
    """One clear sentence that names the setting, and no key in it."""
    with pytest.raises(SetupError, match=next(iter(env))) as caught:
        build_chat(env)

    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "env",
    [
        {"GORKD_CONTEXT_TOKENS": "many"},
        {"GORKD_CONTEXT_TOKENS": "12"},
        {"GORKD_MAX_TOKENS": "answer"},
        {"GORKD_MAX_TOKENS": "novel=9"},
        {"GORKD_MAX_TOKENS": "answer=0"},
        {"GORKD_REASONING_EFFORT": "harder"},
    ],
    ids=str,
)
def test_tuning_that_cannot_be_is_refused_by_name(env):
    """A slip shows at the start and not in an answer."""
    with pytest.raises(SetupError, match=next(iter(env))):
        build_chat({"OPENAI_API_KEY": "sk-abc", **env})


async def test_tuning_goes_into_the_request():
    """N-05: limits by step with room for thinking, and the effort, dropped where it is refused."""
    env = {"GORKD_MAX_TOKENS": "answer=300, thinking=1000", "GORKD_REASONING_EFFORT": "low"}
    async with openai_world(ANSWER) as world:
        model = build_chat({"OPENAI_BASE_URL": world.url, **env})
        await complete(model, REQUEST)
        world.rejects = {"reasoning_effort"}
        await complete(model, REQUEST)
        await model.aclose()

    bodies = [call.body for call in world.calls]
    assert [body["max_tokens"] for body in bodies] == [1300, 1300]
    assert [body.get("reasoning_effort") for body in bodies] == ["low", None]


async def test_bounds_of_lists_are_left_out_where_they_are_refused():
    """An endpoint that takes no `maxItems` still gets the rest of the schema."""
    bounded = {"type": "array", "items": {"type": "string"}, "maxItems": 2}
    schema = {**SCHEMA, "properties": {"summary": bounded}}
    async with openai_world(in_turn(Fault(status=400, message="'maxItems' is not permitted"), ANSWER)) as world:
        await answer_of(world, replace(REQUEST, schema=schema))

    sent = [call.schema["properties"]["summary"] for call in world.calls]
    assert sent == [bounded, {"type": "array", "items": {"type": "string"}}]


@pytest.mark.parametrize("unit", ["2+", "O.M.L.", "aceb-", "The last keeper left the tower. "], ids=str)
async def test_answer_that_goes_in_circles_is_given_up(unit):
    """Small models say one thing over and over until their tokens are used up."""
    text = json.dumps({"summary": "It is 42 metres tall. a" + unit * 2000})
    async with openai_world(text) as world:
        with pytest.raises(ModelGarbled, match="repeats itself"):
            await answer_of(world)


def test_window_that_is_set_is_the_checking_models_too():
    """N-01: whoever sets it serves both, and the smaller of two models needs it most."""
    model = build_check(
        {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "GORKD_CHECK_MODEL": "m", "GORKD_CONTEXT_TOKENS": "4096"}
    )

    assert model.window.tokens == 4096


async def test_what_comes_while_an_answer_is_read_is_read_in_one_go():
    """Not a turn of the loop for each token: what came while the one before was worked on is one."""
    more, waits = asyncio.Event(), []

    async def tokens():
        for number in range(30):
            if not more.is_set():
                waits.append(number)
                await asyncio.sleep(0) if number == 0 else await more.wait()
            yield bytes([number])

    seen = []
    async for tokens_at_once in _gathered(tokens()):
        seen.append(tokens_at_once)
        asyncio.get_running_loop().call_soon(more.set)

    assert seen == [b"\0", bytes(range(1, 30))]
    assert waits == [0, 1]


class PassingTime(asyncio.SelectorEventLoop):
    """A loop whose time passes only while nothing can be done."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self.now


class _Skipping(selectors.DefaultSelector):
    def __init__(self, loop: PassingTime) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.now += timeout or 0.0
        return super().select(0)


def read_in_time(tokens: int, every_s: float, *, turns: int) -> tuple[list[float], float, int]:
    """How late each of the tokens of a stream was passed on, how late its end, and how often one was waited for.

    All that has come by then is given at once, after so many turns of the loop.
    """
    late, waits = [], 0

    async def tokens_in_time():
        nonlocal waits
        come, now = 0, asyncio.get_running_loop().time
        for number in range(1, tokens + 1):
            if (left := number * every_s - now()) > 0:
                waits += 1
                await asyncio.sleep(left)
            if number > come:
                for _ in range(turns):
                    await asyncio.sleep(0)
                come = int(now() / every_s + 1e-6)
            yield b"."

    async def read() -> float:
        async for block in _gathered(tokens_in_time()):
            now = asyncio.get_running_loop().time()
            late.extend(now - (len(late) + place) * every_s for place in range(1, len(block) + 1))
        return asyncio.get_running_loop().time() - tokens * every_s

    with asyncio.Runner(loop_factory=PassingTime) as runner:
        end = runner.run(read())
    return late, end, waits


@pytest.mark.parametrize("turns", [0, 2], ids=["at hand", "in a socket"])
def test_verdicts_and_other_short_streams_wait_for_nothing(turns):
    """Neither a token nor the end: verdicts are a second or less, and a question waits for several of them."""
    late, end, waits = read_in_time(30, 0.03, turns=turns)

    assert (len(late), waits) == (30, 30)
    assert max(late) == pytest.approx(0.0, abs=1e-6)
    assert end == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("turns", [0, 2], ids=["at hand", "in a socket"])
def test_a_long_stream_is_read_in_gulps_and_ends_a_moment_late_at_most(turns):
    """What lay in the socket over a gulp's pause is passed on at its end, not at that of the next one."""
    late, end, waits = read_in_time(400, 0.03, turns=turns)

    assert len(late) == 400
    assert max(late) <= GATHER_S + 1e-6
    assert end <= GATHER_S + 1e-6
    assert late[0] == pytest.approx(0.0, abs=1e-6)
    assert waits <= AT_ONCE_S / 0.03 + (400 * 0.03 - AT_ONCE_S) / GATHER_S + 2


def test_a_stream_that_never_pauses_is_passed_on_all_the_same():
    """While the loop is busy with others a token lies in the socket whenever it is looked into."""

    async def tokens():
        for _ in range(200):
            loop.now += 0.02
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            yield b"."

    async def read() -> list[float]:
        return [loop.now async for _ in _gathered(tokens())]

    loop = PassingTime()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        told = runner.run(read())

    assert max(after - before for before, after in pairwise([0.0, *told, 200 * 0.02])) <= GATHER_S + 0.04


async def test_no_more_is_read_ahead_than_is_taken():
    """An endpoint that sends without end fills no memory while an answer is worked on."""
    sent = 0

    async def flood():
        nonlocal sent
        for _ in range(1000):
            sent += MAX_AHEAD_BYTES // 10
            yield bytes(MAX_AHEAD_BYTES // 10)

    taken = 0
    async for block in _gathered(flood()):
        taken += len(block)
        await asyncio.sleep(0)
        assert len(block) + sent - taken <= 2.2 * MAX_AHEAD_BYTES

    assert taken == sent == 1000 * (MAX_AHEAD_BYTES // 10)


async def test_letter_by_letter_a_flood_takes_no_longer_to_gather():
    """What has come is not counted anew with every piece: 30,000 would take ten seconds of the loop."""

    async def letters():
        for _ in range(30_000):
            yield b"x"

    began_s = time.process_time()
    blocks = [block async for block in _gathered(letters())]

    assert b"".join(blocks) == b"x" * 30_000
    assert time.process_time() - began_s < 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_are_read_however_a_stream_is_cut(end: str, size: int):
    """A chunk may end anywhere, between the two characters of a line's end and within a letter too."""
    lines = (
        ": ping",
        'data: {"one": "天鹅"}',
        "",
        "event: more",
        "data: [1,",
        "data:2]",
        "",
        "data: [DONE]",
        "",
        "data: 3",
        "",
    )
    stream = "".join(line + end for line in lines).encode()
    events, said = EventReader(), []

    for at in range(0, len(stream), size):
        said += events.feed(stream[at : at + size]) if not events.is_done else []

    assert said == [{"one": "天鹅"}, [1, 2]]
    assert events.is_done


@pytest.mark.parametrize("block", [b"x" * 600, b"data: x\n" * 100, b"data:\n" * 100], ids=["line", "event", "blank"])
def test_an_event_without_end_is_no_answer(block: bytes):
    """Nor one of more than any answer may have: what has come of it is kept until it is whole."""
    events, blocks = EventReader(), MAX_EVENT_BYTES // len(block)
    for _ in range(blocks):
        assert list(events.feed(block)) == []

    with pytest.raises(ValueError, match=f"more than {MAX_EVENT_BYTES} bytes"):
        list(events.feed(block))
