"""Chat completions of any OpenAI-compatible endpoint, streamed, through the `openai` SDK.

What an endpoint cannot do (strict schemas, newer parameter names, usage in streams, long prompts) is found out on the
first refusal and remembered. No retries of failures here: whether to try again is the pipeline's decision. Which model
answers in which mode is read here, and a model that searches while it writes (`web_search` of the Responses API) asked.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from adapters.llm.endpoint import (
    OPENAI_URL,
    THINKING_TOKENS,
    Connection,
    Endpoint,
    checked_key,
    checked_url,
    context_tokens,
    first_dialect,
    request_body,
    second_endpoint,
    setting,
    simpler,
    timeout,
    tuning,
)
from adapters.llm.failures import (
    GARBLED,
    SLOW,
    call_failures,
    declined,
    model_error,
    safe_cause,
    told,
    was_dropped,
    wrong_page,
)
from adapters.llm.reading import (
    Answer,
    EventReader,
    StreamPiece,
    Thoughts,
    attribute,
    read_piece,
    read_usage,
)
from adapters.llm.window import Fitted, Window, is_local
from adapters.proxies import Proxies
from core.llm.prices import estimate_usage
from core.model.answer import ModelUsage
from core.model.errors import (
    ModelError,
    ModelGarbled,
    ModelTimeout,
    PromptTooLong,
    SetupError,
    ToolsUnsupported,
    WebSearchUnavailable,
)
from core.model.job import Depth
from core.model.ports import ChatDelta, ChatRequest, FoundPage, SearchedText
from core.text.growing_json import read_object

if TYPE_CHECKING:
    import openai
    from openai.types.responses import Response

T = TypeVar("T")
log = logging.getLogger(__name__)

# The smallest current model that follows a strict schema, answers without reasoning first and has no announced end.
DEFAULT_MODEL = "gpt-5.4-mini"
STALL_S = 20.0  # between two pieces of an answer that has begun; busy endpoints pause for seconds, not for this long
NO_TOOLS = "This model takes no tools."
GATHER_S = 0.15  # too short to be seen; five tokens of a usual model
SOCKET_TURNS = 3  # of the loop, until anyio has given what lies in a socket: it listens only while it is read from
AT_ONCE_S = 1.0  # of a stream, read as it comes: verdicts are over by then, and wait for nothing
MAX_AHEAD_BYTES = 1 << 18  # of a stream; a fast model sends 50 KB a second
DRAIN_S = 0.1  # for what an endpoint still sends when it has said that it is done
MAX_REFUSALS = 9  # ways in which an endpoint may differ, hence calls until all are known
MAX_DROPPED = 2  # times in a row that a call may meet a connection which the endpoint has just closed
MAX_FITS = 3  # shorter prompts in a row that may be too long still


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
        context_tokens=context_tokens(env),
        **tuning(env),
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


class OpenAIChat:
    """A `ChatModel`. `stall_s` bounds the silence between two pieces of an answer that has begun.

    `dialect` and `window` are what has been found out of the endpoint so far.
    """

    def __init__(self, endpoint: Endpoint, *, stall_s: float = STALL_S) -> None:
        self.dialect = first_dialect(endpoint)
        self.window = Window(endpoint)
        self.name = endpoint.model
        self._endpoint = endpoint
        self._connection = Connection(endpoint)
        self._stall_s = stall_s

    @property
    def host(self) -> str:
        """Where it is, with its port; never with a key."""
        return self._endpoint.host

    @property
    def is_local(self) -> bool:
        """On this machine or in its network, where most servers answer one call after the other."""
        return is_local(self._endpoint.base_url)

    async def warm_up(self) -> None:
        """Import the SDK and open the client, so that the first question does not pay for it; no network."""
        await self._connection.client()

    async def aclose(self) -> None:
        await self.window.aclose()
        await self._connection.aclose()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """See `ChatModel.stream`.

        Asked again, within the same time, with fewer sources where the prompt is too long, and once with more room
        where a model used up all of it for thinking. An answer cut at its limit ends, and says so.
        """
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        await self._by(deadline, self._prepare(request), request)
        spent, fits, has_more_room = ModelUsage(), 0, False
        while True:
            call = _Call(request, self.window.fit(request, thinking=self.dialect.thinking))
            try:
                async with aclosing(self._answer(call, deadline)) as texts:
                    async for text in texts:
                        yield ChatDelta(text=text)
            except PromptTooLong as exc:
                fits += 1
                if call.answer.length or fits > MAX_FITS or not self.window.learn(exc, call.fitted.request):
                    self.window.forget()
                    raise
                continue
            if call.answer.has_thought and not self.dialect.thinking:
                self.dialect = replace(self.dialect, thinking=THINKING_TOKENS)
            if not call.answer.is_all_thought or has_more_room:
                break
            has_more_room, spent = True, _sum(spent, call.usage)
            room = max(2 * self.dialect.thinking, THINKING_TOKENS)
            log.warning("%s thought until its tokens were used up; it gets %d more", self._endpoint.host, room)
            self.dialect = replace(self.dialect, thinking=room)
        call.answer.check_ending(self._endpoint)
        self._learn(call)
        note = self.window.notice(call.fitted.request, call.answer.usage)
        yield ChatDelta(
            usage=_sum(spent, call.usage),
            calls=call.answer.calls,
            is_cut=call.answer.finish_reason == "length",
            notes=tuple(filter(None, (call.fitted.note, note))),
        )

    async def _prepare(self, request: ChatRequest) -> None:
        await self.window.known(await self._connection.client(), request)

    async def _answer(self, call: _Call, deadline: float) -> AsyncGenerator[str, None]:
        """What may be shown of one answer, piece by piece, without what the model thinks."""
        now = asyncio.get_running_loop().time
        answer, request = call.answer, call.request
        thoughts = Thoughts(is_json=bool(request.schema) and not request.tools)
        opened, text = await self._by(deadline, self._open(call), request), ""
        try:
            async with opened, aclosing(self._pieces(opened)) as come:
                until = deadline
                while pieces := await self._by(until, anext(come, None), request):
                    for piece in pieces:
                        said = thoughts.feed(piece.text)
                        text += said
                        answer.add(piece, said)
                    if text:
                        yield text
                    text = ""
                    until = min(deadline, now() + self._stall_s) if answer.is_begun else deadline
        except ModelError:
            if rest := text + answer.add_rest(thoughts):
                yield rest  # what came before a break is not lost
            raise
        rest = answer.add_rest(thoughts)
        if request.schema and not request.tools:
            rest += answer.take_from_beside(request.schema)
        if rest:
            yield rest

    def _learn(self, call: _Call) -> None:
        """From an answer's shape, whether the endpoint holds to schemas, or its model needs them in words."""
        request = call.request
        if not request.schema or request.tools or call.answer.finish_reason == "length":
            return
        is_read = read_object(call.answer.text, request.schema) is not None
        is_asked = not request.in_words and self.dialect.output != "text"
        if is_asked and is_read:
            self.dialect = replace(self.dialect, has_structured=True)
        elif request.in_words and is_read and self.dialect.output != "text" and not self.dialect.has_structured:
            log.warning("%s does not hold to schemas; from now on they are told in words", self._endpoint.host)
            self.dialect = replace(self.dialect, output="text")

    async def _by(self, until: float, step: Awaitable[T], request: ChatRequest) -> T:
        """The step's result by loop time `until`; its failures as ours."""
        try:
            async with asyncio.timeout_at(until):
                return await step
        except TimeoutError as exc:
            limits = f"{request.timeout_s:g} s a call, {self._stall_s:g} s between two pieces"
            raise ModelTimeout(
                f"{self._endpoint.host} sent nothing more in time ({limits})", operator_message=SLOW
            ) from exc
        except call_failures() as exc:
            raise model_error(exc, self._endpoint) from safe_cause(exc, self._endpoint)

    async def _open(self, call: _Call) -> openai.AsyncStream[object]:
        """The stream, asked for in the fullest dialect the endpoint accepts."""
        import openai

        client = await self._connection.client()
        for _ in range(MAX_REFUSALS - 1):
            dialect = self.dialect
            if call.request.tools and not dialect.takes("tools"):
                raise ToolsUnsupported(f"{self._endpoint.host} takes no tools", operator_message=NO_TOOLS)
            try:
                return await self._create(client, call.fitted.request)
            except openai.APIStatusError as exc:
                if isinstance(model_error(exc, self._endpoint), PromptTooLong | ModelGarbled):
                    raise
                weaker = simpler(dialect, exc)
                if weaker is None:
                    raise
                log.warning("%s refused part of the request; going on with %s", self._endpoint.host, weaker)
                self.dialect = weaker
        return await self._create(client, call.fitted.request)

    async def _create(self, client: openai.AsyncOpenAI, request: ChatRequest) -> openai.AsyncStream[object]:
        """Asked without the SDK's types: building its object of every token took two fifths of the time of reading."""
        import openai

        dropped = 0
        while True:
            try:
                return await client.post(
                    "/chat/completions",
                    cast_to=object,
                    body=request_body(self._endpoint, request, self.dialect),
                    options={"timeout": timeout(request.timeout_s)},
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
            except openai.APIConnectionError as exc:
                dropped += 1
                if dropped > MAX_DROPPED or not was_dropped(exc):
                    raise

    async def _pieces(self, opened: openai.AsyncStream[object]) -> AsyncGenerator[list[StreamPiece], None]:
        """The stream's chunks, as many at once as have come; of an endpoint that does not stream, the whole completion.

        The SDK opens the stream; its own way to read one took as long as all else that is done with a chunk.
        """
        content_type = opened.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type in {"text/html", "application/xhtml+xml"}:
            raise wrong_page(self._endpoint, content_type)
        events, request = EventReader(), opened.response.request
        async with aclosing(_gathered(opened.response.aiter_bytes())) as blocks:
            while not events.is_done:
                block, pieces, broken = await anext(blocks, None), list[StreamPiece](), None
                try:
                    for said in events.end() if block is None else events.feed(block):
                        pieces.append(read_piece(told(said, request)))
                except call_failures() as exc:
                    broken = exc
                if pieces:
                    yield pieces  # what came before a break is not lost
                if broken:
                    raise broken
                if block is None:
                    return
            # a connection is used again only where all of it was read; how it ends is of no account any more
            with suppress(TimeoutError, *call_failures()):
                async with asyncio.timeout(DRAIN_S):
                    await anext(blocks, None)


async def _gathered(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """`chunks` as they come for `AT_ONCE_S`, then in one what has come until the next multiple of `GATHER_S`.

    Token by token half of a question's processor time went into waking up. All streams pass on what they have at the
    same moments, so that the loop wakes up once for them; what comes behind a pause is passed on at once, the end of a
    long stream up to `GATHER_S` late. No more is read while `MAX_AHEAD_BYTES` wait for whoever takes them.
    """
    loop = asyncio.get_running_loop()
    come, news, taken = bytearray(), asyncio.Event(), asyncio.Event()
    begun_at, told_at, has_waited = math.inf, -GATHER_S, False
    turn: asyncio.Handle

    def tell() -> None:
        nonlocal told_at
        told_at = loop.time()
        news.set()

    def wait(turns: int = SOCKET_TURNS) -> None:
        nonlocal has_waited, turn
        has_waited = not turns
        if turns:
            turn = loop.call_soon(wait, turns - 1)
        elif come:
            tell()

    async def read() -> None:
        nonlocal begun_at
        while True:
            wait()  # comes to its end only if the chunk does not come meanwhile
            chunk = await anext(chunks, None)
            turn.cancel()
            if chunk is None:
                return
            come.extend(chunk)
            begun_at = min(begun_at, loop.time())
            while len(come) > MAX_AHEAD_BYTES:
                tell()
                taken.clear()
                await taken.wait()
            if loop.time() - told_at >= GATHER_S:
                tell()  # also where every chunk is there before the loop has turned so often, being busy with others
            if has_waited and loop.time() - begun_at >= AT_ONCE_S:
                await asyncio.sleep(GATHER_S - loop.time() % GATHER_S)

    reading = asyncio.create_task(read())
    reading.add_done_callback(lambda _: news.set())
    try:
        while come or not reading.done():
            if not reading.done():
                await news.wait()
            news.clear()
            if come:
                block = bytes(come)
                come.clear()
                taken.set()
                yield block
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


@dataclass
class _Call:
    """One request on its way: as it was asked, as it is sent, and what came of it."""

    request: ChatRequest
    fitted: Fitted
    answer: Answer = field(default_factory=Answer)

    @property
    def usage(self) -> ModelUsage:
        said = self.answer.text + "".join(call.arguments for call in self.answer.calls)
        return self.answer.usage or estimate_usage(self.fitted.request, said)


def _sum(first: ModelUsage, second: ModelUsage) -> ModelUsage:
    return replace(
        second,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
    )


# The `web_search` tool of the Responses API: a model that searches while it writes, through the `openai` SDK


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
        self.name = endpoint.model
        self._is_offered = True
        self._lists_sources = True

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
