"""An OpenAI-compatible endpoint: where it is, its settings, and the SDK's client for it.

Shared by chat and embeddings. The key stands in no repr, and `redact` keeps it out of every message. What it accepts
of a request, and a request in its words, stand here.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import BaseModel, SecretStr

from adapters.proxies import DIRECT, Proxies, authorities, capped
from core.model.errors import SetupError
from core.model.job import Json
from core.model.ports import ChatRequest, ToolTurn

if TYPE_CHECKING:
    import httpx2
    import openai
    from openai.types.chat import ChatCompletionMessageParam

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"  # the SDK insists on a key; local endpoints ignore it
CONNECT_TIMEOUT_S = 2.0  # an unreachable endpoint must not cost the answer its five seconds
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
PURPOSES = (
    "thinking", "plan", "answer", "check", "refine", "queries", "facts", "coverage", "summary", "summaries", "scores",
    "agent", "prose", "rephrase", "idea", "implementation", "freeform", "doctor",
)  # fmt: skip  # of model calls, as traces name them
LEAST_WINDOW, MOST_TOKENS = 1024, 10_000_000
MAX_BODY_BYTES, MAX_TOLD_BYTES = 64_000_000, 4_000_000  # a thousand embeddings in JSON; all the models of OpenRouter
MAX_ERROR_BYTES = 1_000_000  # what an error's page says behind it is not read
MAX_PACKED_BYTES = 256_000  # unpacked, they may be a thousand times as long
MAX_MESSAGE_CHARS = 300  # of an endpoint's own words in a log line
_KEY_SHAPE = re.compile(r"\b(sk|key|pk)-[\w*\-]{6,}")


class Endpoint(BaseModel, frozen=True):
    """One model at one address. The `*_setting` names are what a message tells the operator to check."""

    model: str
    base_url: str = OPENAI_URL
    api_key: SecretStr = SecretStr(NO_KEY)
    model_setting: str = "GORKD_MODEL"
    url_setting: str = "OPENAI_BASE_URL"
    key_setting: str = "OPENAI_API_KEY"
    proxies: Proxies = DIRECT
    context_tokens: int = 0  # the model's window, 0 where it is to be found out
    max_tokens: Mapping[str, int] = {}  # of an answer by the call's purpose; `thinking` is added to each
    reasoning_effort: str = ""

    @property
    def has_key(self) -> bool:
        return self.api_key.get_secret_value() != NO_KEY

    @property
    def host(self) -> str:
        """Host and port, for log lines; an address may carry credentials, so it is never logged whole."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def is_openai(self) -> bool:
        """Whose windows are larger than any prompt of ours, and who do not tell them."""
        return self.base_url == OPENAI_URL or (urlsplit(self.base_url).hostname or "").endswith(".azure.com")

    @property
    def address(self) -> tuple[str, dict[str, str]]:
        """`base_url` without its query, and that query, as Azure's `?api-version=…`, for every call."""
        parts = urlsplit(self.base_url)
        path = parts.path.rstrip("/").removesuffix("/chat/completions")  # as Azure's portal shows it to be copied
        return urlunsplit((parts.scheme, parts.netloc, path, "", "")), dict(parse_qsl(parts.query))

    def redact(self, text: str) -> str:
        """`text` without the key or anything shaped like one, cut to a log line's length."""
        if self.has_key:
            text = text.replace(self.api_key.get_secret_value(), "***")
        return _KEY_SHAPE.sub(r"\1-***", " ".join(text.split()))[:MAX_MESSAGE_CHARS]


def setting(env: Mapping[str, str], *names: str) -> str:
    """The first of `names` that is set to something, trimmed; "" when none is."""
    return next((value for name in names if (value := env.get(name, "").strip())), "")


def tuning(env: Mapping[str, str]) -> dict[str, object]:
    """What `GORKD_MAX_TOKENS` and `GORKD_REASONING_EFFORT` say, by an endpoint's fields. Raises `SetupError`."""
    limits: dict[str, int] = {}
    for entry in filter(None, map(str.strip, setting(env, "GORKD_MAX_TOKENS").split(","))):
        name, _, number = (part.strip() for part in entry.partition("="))
        if name not in PURPOSES or not 1 <= whole(number) <= MOST_TOKENS:
            raise SetupError(
                f"GORKD_MAX_TOKENS: {entry!r} is no limit of a step. Write step=tokens, several separated by commas, "
                f"e.g. answer=3000, thinking=8000; the steps are {', '.join(PURPOSES)}."
            )
        limits[name] = whole(number)
    effort = setting(env, "GORKD_REASONING_EFFORT").lower()
    if effort and effort not in EFFORTS:
        raise SetupError(f"GORKD_REASONING_EFFORT is one of {', '.join(EFFORTS)}")
    return {"max_tokens": limits, "reasoning_effort": effort}


def context_tokens(env: Mapping[str, str]) -> int:
    """`GORKD_CONTEXT_TOKENS`, 0 where it is not set. Raises `SetupError`."""
    said = setting(env, "GORKD_CONTEXT_TOKENS")
    if said and not LEAST_WINDOW <= whole(said) <= MOST_TOKENS:
        raise SetupError(f"GORKD_CONTEXT_TOKENS is a number of tokens from {LEAST_WINDOW}, e.g. 8192")
    return whole(said)


def whole(text: str) -> int:
    """A number written in digits, else 0."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def second_endpoint(env: Mapping[str, str], *, model: str, url: str, key: str) -> Endpoint | None:
    """Where the model is that the setting `model` names; `url` and `key` are settings too, by default the chat model's.

    None when no model is named. The chat endpoint's key is not sent to another host. Raises `SetupError`.
    """
    name = setting(env, model)
    if not name:
        return None
    chat_url = setting(env, "OPENAI_BASE_URL") or OPENAI_URL
    own_url, own_key = setting(env, url), setting(env, key)
    url_setting = url if own_url else "OPENAI_BASE_URL"
    address = checked_url(own_url or chat_url, name=url_setting)
    is_chat_host = urlsplit(address).netloc == urlsplit(chat_url).netloc
    key_setting = "OPENAI_API_KEY" if is_chat_host and not own_key else key
    return Endpoint(
        model=name,
        base_url=address,
        api_key=checked_key(setting(env, key_setting), name=key_setting),
        model_setting=model,
        url_setting=url_setting,
        key_setting=key_setting,
        proxies=Proxies.from_env(env),
        context_tokens=context_tokens(env),
        **tuning(env),
    )


def checked_url(url: str, *, name: str) -> str:
    """`url` without a trailing slash. Raises `SetupError` when it is no http(s) address."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or re.search(r"\s", url):
        raise SetupError(f"{name} is not an http(s) address, e.g. http://127.0.0.1:11434/v1")
    return url.rstrip("/")


def checked_key(key: str, *, name: str) -> SecretStr:
    """Raises `SetupError` on what cannot stand in an HTTP header; the message does not repeat it."""
    if not re.fullmatch(r"[!-~]*", key):
        raise SetupError(f"{name} contains blanks or other characters that no key has")
    return SecretStr(key or NO_KEY)


class Connection:
    """Opens the SDK's client on first use, off the event loop: importing it costs most of a second of CPU."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._client: openai.AsyncOpenAI | None = None
        self._lock = threading.Lock()

    async def client(self) -> openai.AsyncOpenAI:
        if self._client is not None:
            return self._client
        return await asyncio.to_thread(self._open_once)

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open_once(self) -> openai.AsyncOpenAI:
        with self._lock:
            client = self._client = self._client or self._open()
            return client

    def _open(self) -> openai.AsyncOpenAI:
        # Always, from the making of a client on, the SDK looks into `sys.modules["httpx"]`, and breaks on it while
        # another thread imports it.
        importlib.import_module("httpx")
        import openai

        url, query = self.endpoint.address
        is_azure = "api-version" in query and not url.endswith("/v1")  # its newer addresses speak as all others do
        kind = partial(openai.AsyncAzureOpenAI, api_version=query["api-version"]) if is_azure else openai.AsyncOpenAI
        client: openai.AsyncOpenAI = kind(
            api_key=self.endpoint.api_key.get_secret_value(),
            base_url=url,
            default_query=query,
            http_client=openai.DefaultAsyncHttpxClient(
                proxy=self.endpoint.proxies.of(self.endpoint.base_url),
                verify=authorities(),
                trust_env=False,
                follow_redirects=False,  # the prompt would go to a host that nobody configured
                headers={"Accept-Encoding": "identity"},  # a packed answer has a lower bound, as it may unpack to much
                event_hooks={"response": [_bounded]},
                timeout=timeout(60.0),
            ),
            timeout=timeout(60.0),
            max_retries=0,  # the pipeline decides on retries; the SDK's own would hide the time they take
        )
        _ = client.embeddings  # imported on first access, which belongs to warming up
        return client


async def _bounded(response: httpx2.Response) -> None:
    """The SDK reads whole what is no stream, and what an error says."""
    import httpx2

    packed = response.headers.get("Content-Encoding", "identity").lower()
    if packed not in ("identity", "gzip", "deflate"):
        raise httpx2.DecodingError(f"packed as {packed} although it was asked not to be", request=response.request)
    told = MAX_BODY_BYTES if response.request.method == "POST" else MAX_TOLD_BYTES
    plain = told if response.is_success else MAX_ERROR_BYTES
    most = plain if packed == "identity" else MAX_PACKED_BYTES
    is_status_enough = most == MAX_ERROR_BYTES
    too_much = None if is_status_enough else httpx2.DecodingError(f"more than {most} bytes", request=response.request)
    response.stream = capped(httpx2.AsyncByteStream, response.stream, most, too_much)


def timeout(seconds: float) -> openai.Timeout:
    import openai

    return openai.Timeout(seconds, connect=min(CONNECT_TIMEOUT_S, seconds))


# What an OpenAI-compatible endpoint accepts of a request, and a request in its words


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
    thinking = endpoint.max_tokens.get("thinking", 0)
    return Dialect(limit="max_completion_tokens" if endpoint.is_openai else "max_tokens", thinking=thinking)


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
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in request.tools
        ]
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
