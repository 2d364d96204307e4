"""One question to a language model: the call, what is read of its answer, the second try, what it cost.

Whatever asks a model for an object asks here; the model comes in as a port. And an answer as it grows, read as a
draft; and what a job keeps of what it has paid for.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Generic, TypeVar

from core.llm.prices import estimate_usage
from core.model.answer import ModelUsage, Section
from core.model.codec import decode, encode
from core.model.errors import GorkdError, ModelGarbled, ModelTimeout, StoreError
from core.model.job import Json
from core.model.ports import ChatDelta, ChatModel, ChatRequest, EmbeddingModel, JobMemo, ToolCall, Vector, warm_up
from core.text.growing_json import PartialJson, loose_texts, named, read_object, thought_end
from core.text.saying import say
from core.text.sentences import is_chatter

T = TypeVar("T")
MAX_RETRY_WAIT_S = 10.0  # told to wait longer than this, failing now is kinder than a silent pause


def strict(properties: Mapping[str, Json]) -> dict[str, Json]:
    """A JSON schema of an object with exactly these fields, as structured output wants it."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": dict(properties),
    }


@dataclass
class Heard:
    """What has come of an answer until now, as `ChatDelta` has it; none of it is lost, however the answer ends."""

    text: str = ""
    usage: ModelUsage | None = None
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    notes: tuple[str, ...] = ()

    def take(self, delta: ChatDelta) -> None:
        self.text += delta.text
        self.usage = delta.usage or self.usage
        self.calls += delta.calls
        self.is_cut = delta.is_cut or self.is_cut
        self.notes += delta.notes

    @property
    def delta(self) -> ChatDelta:
        """All of it as one piece."""
        return ChatDelta(self.text, self.usage, self.calls, self.is_cut, self.notes)

    def cost(self, request: ChatRequest) -> ModelUsage:
        """As the endpoint says; estimated where it does not."""
        return self.usage or estimate_usage(request, self.text)


@dataclass(frozen=True)
class CountedModel:
    """A model whose calls' costs are put into `paid`, also those of one that is given up or garbled."""

    model: ChatModel
    paid: list[ModelUsage]

    @property
    def name(self) -> str:
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        heard = Heard()
        try:
            async for delta in self.model.stream(request):
                heard.take(delta)
                yield delta
        except (asyncio.CancelledError, ModelGarbled):  # it has answered, or might have
            self.paid.append(heard.cost(request))
            raise
        self.paid.append(heard.cost(request))


async def complete(
    model: ChatModel,
    request: ChatRequest,
    *,
    heard: Heard | None = None,
    hear: Callable[[ChatDelta], None] | None = None,
) -> Heard:
    """The whole answer of one call, which `heard` has as far as it came; `hear` is told of all that comes.

    Raises `ModelError`.
    """
    heard = heard or Heard()
    async for delta in model.stream(request):
        heard.take(delta)
        if hear is not None:
            hear(delta)
    return heard


@dataclass(frozen=True)
class Told(Generic[T]):
    """What was read of an answer; where nothing could be, `unread` is the error, and `text` what stood there."""

    value: T | None
    text: str
    usage: tuple[ModelUsage, ...]
    is_cut: bool = False
    unread: ModelGarbled | None = None


async def ask_model(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[Mapping[str, Json]], T | None],
    *,
    within_s: float = math.inf,
    is_once: bool = False,
    hear: Callable[[ChatDelta], None] | None = None,
) -> Told[T]:
    """What `read` makes of the object that the model answers with; its None says that the object is of no use.

    A second try follows a retryable error, an answer that could not be read (then the schema is stated in words), or
    one that was cut off (then twice as many tokens are allowed). In the second try, or in the only one where it
    `is_once`, the complete part of a cut answer will do. `hear` is told of all that comes. Raises `ModelError` only
    where the model did not answer, or not `within_s`: for an unreadable answer whoever asks has a last resort.
    """
    attempt, heard, usage = request, Heard(), list[ModelUsage]()
    loop = asyncio.get_running_loop()
    ends_at, tries = loop.time() + within_s, 0

    def value_of(text: str) -> T | None:
        fields = read_object(text, request.schema, takes_part=is_once or tries > 1)
        return None if fields is None else read(fields)

    async def once() -> T:
        nonlocal attempt, heard, tries
        tries += 1
        tried, attempt = attempt, request
        try:
            heard = await complete(model, replace(tried, accepts=lambda text: value_of(text) is not None), hear=hear)
            usage.append(heard.cost(tried))
            value = value_of(heard.text)
            if value is None:
                raise ModelGarbled(
                    f"no {request.schema_name} in {len(heard.text)} characters", user_message=say(UNREADABLE)
                )
        except ModelGarbled:
            attempt = with_more_tokens(request) if heard.is_cut else asked_in_words(request)
            raise
        return value

    value, unread = None, None
    try:
        async with asyncio.timeout_at(None if within_s == math.inf else ends_at):
            value = await retry_once(once, remaining_s=lambda: 0.0 if is_once else ends_at - loop.time())
    except TimeoutError as exc:
        late = f"no {request.purpose} in {within_s:.0f} s"
        raise ModelTimeout(late, user_message=say("The model took too long.")) from exc
    except ModelGarbled as exc:
        tries += 1  # there is no other: what is complete of it will do
        value = value_of(heard.text)
        unread = exc if value is None else None
    return Told(value, heard.text, tuple(usage), heard.is_cut, unread)


UNREADABLE = "The model's answer could not be read; please try again."


def asked_in_words(request: ChatRequest) -> ChatRequest:
    """The same with its schema stated in the prompt, which a model follows whose endpoint ignores schemas."""
    return replace(request, in_words=True)


def with_more_tokens(request: ChatRequest) -> ChatRequest:
    """The same for an answer that was cut at its limit."""
    return replace(request, max_tokens=2 * request.max_tokens)


async def retry_once(
    call: Callable[[], Awaitable[T]],
    *,
    delay_s: float = 0.5,
    remaining_s: Callable[[], float] = lambda: math.inf,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """`call()`, and once more after a retryable error (S003-23); then its error stands.

    Waits `delay_s`, or as long as a rate limit asks. There is no second try when that is more than
    `MAX_RETRY_WAIT_S` or than what `remaining_s()` leaves of the job's time.
    """
    try:
        return await call()
    except GorkdError as exc:
        is_garbled = isinstance(exc, ModelGarbled)  # it answered: there is nothing to wait for
        wait_s = 0.0 if is_garbled else max(exc.retry_after_s or 0.0, delay_s)
        if not exc.retryable or wait_s > MAX_RETRY_WAIT_S or wait_s >= remaining_s():
            raise
    await sleep(wait_s)
    return await call()


# An answer of a model as it grows, and as a draft. Pure


SECTIONS: tuple[Section, ...] = ("summary", "detail")


@dataclass(frozen=True)
class SectionUpdate:
    """A section as far as it is written. `is_final` once the model has gone on to something else."""

    section: Section
    text: str
    is_final: bool


@dataclass(frozen=True)
class DraftCitation:
    """A citation as the model gave it, unchecked; `source_id` may be `1`, `src_1` or invented."""

    claim: str
    source_id: str
    quote: str


@dataclass(frozen=True)
class DraftAnswer:
    """An answer as the model wrote it. `is_complete` is False when it was cut off or could not be read to its end."""

    summary: str
    detail: str
    citations: tuple[DraftCitation, ...] = ()
    is_complete: bool = True
    follow_ups: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.summary, self.detail) if part)


_TEXT_END = re.compile(r'"\s*[,}]\s*(?:"\w*"?)?\Z')  # a quote alone may be one that the model has not escaped
_TEXT_END_CHARS = 40


class AnswerStream:
    """Turns the deltas of a structured answer into its sections as they grow, and finally into a draft."""

    def __init__(self) -> None:
        self.heard = Heard()
        self._json = PartialJson()
        self._shown: dict[Section, SectionUpdate] = {}
        self._ended: dict[str, Json] = {}  # the fields that were whole; nobody waits for the name of what follows
        self.is_asking_on = False  # all that makes the answer has been written

    def feed(self, delta: ChatDelta) -> list[SectionUpdate]:
        """The sections that changed, with all of their text so far."""
        self.heard.take(delta)
        if not self._json.feed(delta.text):
            return []
        fields = _answer_fields(self._json.value)
        last = next(reversed(fields), None)
        self.is_asking_on = last == "follow_ups" and "summary" in fields
        if end := _TEXT_END.search(self.heard.text, max(len(self.heard.text) - _TEXT_END_CHARS, 0)):
            self._ended = read_object(f"{self.heard.text[: end.start() + 1]}}}", {}) or {}
        updates = [
            SectionUpdate(section, _text_of(fields[section]), is_final=section != last or self._has_ended(section))
            for section in SECTIONS
            if section in fields
        ]
        changed = [update for update in updates if update != self._shown.get(update.section)]
        self._shown.update({update.section: update for update in changed})
        return changed

    def _has_ended(self, section: Section) -> bool:
        text = _answer_fields(self._json.value)[section]
        return isinstance(text, str) and text == self._ended.get(section)

    def finish(self) -> DraftAnswer:
        """The best that can be made of all that came; empty when nothing could be read."""
        streamed = _answer_fields(self._json.value)
        is_complete = self._json.finish()
        fields = _under_other_names(_answer_fields(self._json.value))
        if not any(section in fields for section in SECTIONS):
            fields, is_complete = streamed, False
        if not is_complete and (loose := loose_texts(self.heard.text, _FIELDS)):
            fields, is_complete = {**fields, **loose}, True
        asked = fields.get("follow_ups")
        return DraftAnswer(
            summary=_text_of(fields.get("summary")),
            detail=_text_of(fields.get("detail")),
            citations=_citations_of(fields.get("citations")),
            is_complete=is_complete,
            follow_ups=tuple(one for one in asked if isinstance(one, str)) if isinstance(asked, list) else (),
        )


def _answer_fields(value: dict[str, Json]) -> dict[str, Json]:
    """The object with the sections: some models wrap it, as in `{"answer": {…}}`, or name the text as they like."""
    for candidate in (value, *value.values()):
        fields = named(candidate, _FIELDS) if isinstance(candidate, dict) else {}
        if any(section in fields for section in SECTIONS):
            return fields
    texts = [name for name in _OTHER_NAMES if isinstance(value.get(name), str)]
    return {**value, "summary": value[texts[0]]} if texts else value


def _under_other_names(fields: dict[str, Json]) -> dict[str, Json]:
    """Where a section is missing, the text that stands under a name of the model's own ("Zusammenfassung")."""
    others = [
        value
        for name, value in fields.items()
        if name not in _FIELDS and not _THINKS.search(name)
        if isinstance(value, str) and len(value.split()) >= MIN_PROSE_WORDS
    ]
    missing = [section for section in SECTIONS if not _text_of(fields.get(section))]
    return fields | dict(zip(missing, others, strict=False)) if "summary" in missing else fields


_THINKS = re.compile(r"thought|think|reason|analy|note|plan|question|query|instruct|title", re.IGNORECASE)
_FIELDS = (*SECTIONS, "citations", "follow_ups")
_OTHER_NAMES = ("answer", "response", "text", "content")  # of a lone text, as small models call it


_THOUGHT = re.compile(r"\A\s*<(think(?:ing)?|thoughts?|reasoning|reflection)>.*?(?:</\1>\s*|\Z)", re.I | re.S)


def _text_of(value: Json) -> str:
    """Text from whatever stands where a string belongs; lists and objects by their texts, one a line.

    What a model thinks there before it answers is none.
    """
    if isinstance(value, str):
        return _THOUGHT.sub("", value)
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text_of, value)))
    if isinstance(value, dict):
        return "\n".join(text for text in value.values() if isinstance(text, str) and text)
    return "" if value is None or isinstance(value, bool) else str(value)


def _citations_of(value: Json) -> tuple[DraftCitation, ...]:
    entries = value if isinstance(value, list) else [value]
    return tuple(
        DraftCitation(*(_text_of(entry.get(key)).strip() for key in ("claim", "source_id", "quote")))
        for entry in entries
        if isinstance(entry, dict)
    )


def read_answer(text: str) -> DraftAnswer:
    """The best that can be made of a finished text, as `AnswerStream` reads it."""
    stream = AnswerStream()
    stream.feed(ChatDelta(text))
    return stream.finish()


def is_answer(text: str) -> bool:
    """Whether a finished text can be shown as an answer: a structured one, also cut off, or prose."""
    draft = read_answer(text)
    return draft.is_complete or bool(draft.summary) or read_prose(text) is not None


def read_prose(text: str) -> DraftAnswer | None:
    """Plain prose with its first paragraph as the summary, and the one it leads to; None for broken JSON or nothing."""
    plain = _FENCE_LINE.sub("", text[thought_end(text) :]).strip()
    if plain.startswith(("{", "[{", "<think")) or plain.count('":') > 2 or len(plain.split()) < MIN_PROSE_WORDS:
        return None
    paragraphs = [_LABEL.sub("", part).strip() for part in re.split(r"\n\s*\n", plain)]
    summary, *rest = [part for part in paragraphs if part and not is_chatter(part)] or [""]
    if rest and len(summary.split()) <= MAX_LEAD_WORDS and not _CITED.search(summary) and _CITED.search(rest[0]):
        summary, *rest = f"{summary}\n\n{rest[0]}", *rest[1:]
    return DraftAnswer(summary, "\n\n".join(rest)) if summary else None


MAX_LEAD_WORDS = 12  # "Here is what I found:"
_CITED = re.compile(r"\[\d")
MIN_PROSE_WORDS = 4  # "I cannot answer." says nothing that can be checked
_FENCE_LINE = re.compile(r"^\s*```\w*\s*$|</?(?:summary|details?|answer)>", re.MULTILINE | re.IGNORECASE)
_LABEL = re.compile(r"\A(?:#+\s*|\*\*)?(?:summary|details?|answer)\b(?:\*\*)?\s*(?::(?:\*\*)?|\n|\Z)\s*", re.IGNORECASE)

# What is paid for once: a job's steps, kept by key so that one that runs again after a crash does not pay twice, and
# embeddings.

log = logging.getLogger(__name__)
MAX_REMEMBERED = 4096  # vectors; 25 MB at 1,536 numbers


async def remembered(memo: JobMemo, job_id: str, key: str, kind: type[T], pay: Callable[[], Awaitable[T]]) -> T:
    """What is kept under `key`, else what `pay` gives, kept. A memo that fails costs a repetition, never the step."""
    kept = await recalled(memo, job_id, key, kind)
    return kept if kept is not None else await kept_anew(memo, job_id, key, await pay())


async def kept_anew(memo: JobMemo, job_id: str, key: str, value: T) -> T:
    """`value`, from now on what is kept under `key`, unless the memo fails."""
    try:
        await memo.put(job_id, key, encode(value))
    except StoreError as exc:
        log.warning("memo not kept", extra={"entry": _entry(key), "error": str(exc)})
    return value


async def recalled(memo: JobMemo, job_id: str, key: str, kind: type[T]) -> T | None:
    """What is kept under `key`; None also where the memo fails, or has what another version wrote."""
    try:
        text = await memo.get(job_id, key)
        return None if text is None else decode(text, kind)
    except StoreError as exc:
        log.warning("memo not read", extra={"entry": _entry(key), "error": str(exc)})
        return None


class RememberingModel:
    """A model whose accepted answers are kept for the job; what was interrupted or of no use is asked for again."""

    def __init__(self, model: ChatModel, memo: JobMemo, job_id: str) -> None:
        self._model, self.name = model, model.name
        self._memo, self._job_id = memo, job_id

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        key = f"model:{request.purpose}:{_digest(request)}"
        kept = await recalled(self._memo, self._job_id, key, Heard)
        if kept is not None:
            yield kept.delta
            return
        deltas: asyncio.Queue[ChatDelta | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(request, key, deltas))
        try:
            come = Heard()  # tokens that were read in one go are passed on in one piece
            while (delta := await deltas.get()) is not None:
                come.take(delta)
                if deltas.empty():
                    yield come.delta
                    come = Heard()
            if come != Heard():
                yield come.delta
            await reading
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, request: ChatRequest, key: str, deltas: asyncio.Queue[ChatDelta | None]) -> None:
        """To its end, and keep it: whoever judges the sentences meanwhile is slower than the model."""
        heard = Heard()
        try:
            await complete(self._model, request, heard=heard, hear=deltas.put_nowait)
            if _is_accepted(request, heard):
                await kept_anew(self._memo, self._job_id, key, heard)
        finally:
            deltas.put_nowait(None)


def _is_accepted(request: ChatRequest, heard: Heard) -> bool:
    """As whoever asked says; else an object where one was asked for, and anything at all where none was."""
    if request.accepts is not None:
        return request.accepts(heard.text)
    if request.schema and not request.tools:
        return read_object(heard.text, request.schema) is not None
    return bool(heard.text.strip() or heard.calls)


def _entry(key: str) -> str:
    """`search`, `page`, `model`: what a key says more is what somebody asked."""
    return key.partition(":")[0]


def _digest(request: ChatRequest) -> str:
    said = [text for turn in request.turns for text in (*(call.arguments for call in turn.calls), *turn.results)]
    asked = (request.system, request.user, request.schema_name, str(request.max_tokens), str(request.in_words))
    parts = (*asked, *said)
    return sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()


# Meaning as cosine similarity, where an embedding model is at hand


class RememberingEmbeddings:
    """An `EmbeddingModel` that asks `model` for no text twice while it is remembered. It keeps digests, no texts."""

    def __init__(self, model: EmbeddingModel, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self._model, self.name = model, model.name
        self._max_remembered = max_remembered
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()

    async def warm_up(self) -> None:
        await warm_up(self._model)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        found = dict(zip(missing, await self._model.embed(list(missing.values())), strict=True)) if missing else {}
        vectors = [found[key] if key in found else self._vectors[key] for key in keys]
        for key, vector in zip(keys, vectors, strict=True):
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._max_remembered:
            self._vectors.popitem(last=False)
        return vectors


async def similarities_to(embedder: EmbeddingModel, query: str, texts: Sequence[str]) -> list[float]:
    """Cosine (−1…1) of each text with `query`, in one call. Raises `ModelError`."""
    query_vector, *vectors = await embedder.embed([query, *texts])
    return [float(query_vector @ vector) for vector in vectors]
