"""Calls to a language model as values: complete, retry once, count tokens, price, and read JSON as it grows.

Pure: the model comes in as a port, time as arguments. The one invariant of the reading part: text that
has been streamed is never lost, however the answer ends.
"""

from __future__ import annotations

import asyncio
import math
import re
import string
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic_core import from_json

from core.answer import ModelUsage, Section
from core.errors import GorkdError, ModelGarbled, ModelRateLimited
from core.events import Json
from core.ports import ChatDelta, ChatModel, ChatRequest

T = TypeVar("T")

MAX_RETRY_WAIT_S = 10.0  # told to wait longer than this, failing now is kinder than a silent pause
SECTIONS: tuple[Section, ...] = ("summary", "detail")


@dataclass(frozen=True)
class Completion:
    text: str
    usage: ModelUsage


async def complete(model: ChatModel, request: ChatRequest) -> Completion:
    """The whole answer of one call. Usage is estimated when the model reports none. Raises `ModelError`."""
    pieces: list[str] = []
    usage: ModelUsage | None = None
    async for delta in model.stream(request):
        pieces.append(delta.text)
        usage = delta.usage or usage
    text = "".join(pieces)
    return Completion(text, usage or estimate_usage(request, text))


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
        wait_s = _wait_before_retry_s(exc, delay_s)
        if not exc.retryable or wait_s > MAX_RETRY_WAIT_S or wait_s >= remaining_s():
            raise
    await sleep(wait_s)
    return await call()


def _wait_before_retry_s(exc: GorkdError, delay_s: float) -> float:
    asked_s = exc.retry_after_s if isinstance(exc, ModelRateLimited) else None
    return delay_s if asked_s is None else max(asked_s, delay_s)


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` costs, erring high for the vocabularies in use today.

    Four ASCII letters or blanks a token (English prose runs at 4.2–4.7), two ASCII digits or signs,
    two letters of other alphabets, one CJK character, half an emoji or other rare character.
    """
    ascii_part = text.encode("ascii", "ignore")
    signs = len(ascii_part.translate(None, _LETTERS_AND_BLANKS))
    letters = len(ascii_part) - signs
    other = len(text) - len(ascii_part)
    wide = len(_WIDE.findall(text)) if other else 0
    rare = len(_RARE.findall(text)) if other else 0
    return math.ceil(letters / 4 + signs / 2 + (other - wide - rare) / 2 + wide + 2 * rare)


_LETTERS_AND_BLANKS = (string.ascii_letters + " \n").encode()
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\uffef\U00020000-\U0003ffff]")
_RARE = re.compile("[\U00010000-\U0001ffff\U000e0000-\U0010ffff]")


def estimate_usage(request: ChatRequest, text: str) -> ModelUsage:
    """What a call cost when the endpoint does not say."""
    prompt = estimate_tokens(request.system) + estimate_tokens(request.user)
    return ModelUsage(prompt_tokens=prompt, completion_tokens=estimate_tokens(text), is_estimated=True)


def cost_usd(usage: ModelUsage, model: str, prices: Mapping[str, tuple[float, float]]) -> float | None:
    """Dollars of one call; None when the model has no price.

    `prices` are dollars per million tokens of (prompt, completion) by model name; a dated name
    (`…-2026-03-17`) costs what its family costs.
    """
    price = prices.get(model) or prices.get(_DATED.sub("", model))
    if price is None:
        return None
    prompt, completion = price
    return (usage.prompt_tokens * prompt + usage.completion_tokens * completion) / 1_000_000


_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def parse_object(text: str) -> dict[str, Json]:
    """The JSON object in a finished answer. Raises `ModelGarbled` when there is none, or only part of one.

    Tolerates `<think>` blocks, prose and fences around it, and the usual slips inside: raw line breaks
    in strings, invalid escapes, trailing commas.
    """
    value = _whole_object(text)
    if value is not None:
        return value
    raise ModelGarbled(
        f"no JSON object in {len(text)} characters of answer: {text[:80]!r}",
        user_message="The model's answer could not be read; please try again.",
    )


def parse_partial(buffer: str) -> dict[str, Json]:
    """What can be read of an object that is still being written; its last string may be cut. {} if nothing."""
    start = _growing_start(buffer)
    return {} if start is None else _read(buffer[start:]) or _read_to_first_fault(buffer[start:])


class PartialJson:
    """A JSON object read while it grows. `value` is what could be read so far.

    Reading starts over each time (a microsecond a kilobyte), so a long answer is read again only
    when it has grown by 1/256: linear in its length, and still by the word in answers of normal size.
    """

    def __init__(self) -> None:
        self.value: dict[str, Json] = {}
        self._pieces: list[str] = []
        self._length = 0
        self._length_read = 0
        self._is_faulty = False

    @property
    def text(self) -> str:
        """Everything fed so far."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def feed(self, text: str) -> bool:
        """Whether `value` was read anew."""
        self._pieces.append(text)
        self._length += len(text)
        grown = self._length - self._length_read
        if self._is_faulty or grown == 0 or grown < self._length_read // 256:
            return False
        self._read_again()
        return True

    def finish(self) -> bool:
        """Read all that came; whether the object was complete."""
        whole = _whole_object(self.text)
        if whole is None and not self._is_faulty:
            self._read_again()
        self.value = self.value if whole is None else whole
        return whole is not None

    def _read_again(self) -> None:
        self._length_read = self._length
        text = self.text
        start = _growing_start(text)
        if start is None:
            return
        value = _read(text[start:])
        if value is None:
            # What follows a fault cannot be read as a growing object; `finish` looks at the whole once more.
            self._is_faulty = True
            value = _read_to_first_fault(text[start:])
        self.value = value


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


class AnswerStream:
    """Turns the deltas of a structured answer into its sections as they grow, and finally into a draft."""

    def __init__(self) -> None:
        self.usage: ModelUsage | None = None
        self._json = PartialJson()
        self._shown: dict[Section, SectionUpdate] = {}

    def feed(self, delta: ChatDelta) -> list[SectionUpdate]:
        """The sections that changed, with all of their text so far."""
        self.usage = delta.usage or self.usage
        if not self._json.feed(delta.text):
            return []
        fields = _answer_fields(self._json.value)
        last = next(reversed(fields), None)
        updates = [
            SectionUpdate(section, _text_of(fields[section]), is_final=section != last)
            for section in SECTIONS
            if section in fields
        ]
        changed = [update for update in updates if update != self._shown.get(update.section)]
        self._shown.update({update.section: update for update in changed})
        return changed

    def finish(self) -> DraftAnswer:
        """The best that can be made of all that came; empty when nothing could be read."""
        streamed = _answer_fields(self._json.value)
        is_complete = self._json.finish()
        fields = _answer_fields(self._json.value)
        if not any(section in fields for section in SECTIONS):
            fields, is_complete = streamed, False
        return DraftAnswer(
            summary=_text_of(fields.get("summary")),
            detail=_text_of(fields.get("detail")),
            citations=_citations_of(fields.get("citations")),
            is_complete=is_complete,
        )


def _answer_fields(value: dict[str, Json]) -> dict[str, Json]:
    """The object with the sections: some models wrap it once, as in `{"answer": {…}}`."""
    inner = next(iter(value.values())) if len(value) == 1 else None
    return inner if isinstance(inner, dict) else value


def _text_of(value: Json) -> str:
    """Text from whatever stands where a string belongs; lists and objects by their texts, one a line."""
    if isinstance(value, str):
        return value
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


_OPENING = re.compile(r'\{\s*"')
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_MAX_STARTS = 50  # braces in prose before the answer; more is not an answer


def _growing_start(text: str) -> int | None:
    """Where the object begins in text that is still coming; None while it is not there or may be a thought."""
    blank = len(text) - len(text.lstrip())
    if text[blank : blank + 1] == "{":
        return blank
    thought_end = 0
    for thought in _THOUGHT_END.finditer(text):
        thought_end = thought.end()
    if not thought_end and text[blank : blank + 6].lower() == "<think":
        return None
    opening = _OPENING.search(text, thought_end)
    return opening.start() if opening else None


def _whole_object(text: str) -> dict[str, Json] | None:
    """The first object of a finished text that is closed, readable and not empty.

    What is drafted inside a thought is no answer, nor is a part of an object that is not closed.
    """
    start = _growing_start(text)
    for _ in range(_MAX_STARTS):
        end = None if start is None else _object_end(text, start)
        if end is None:
            return None
        value = _read(text[start:end], is_partial=False)
        if value:
            return value
        opening = _OPENING.search(text, end)
        start = opening.start() if opening else None
    return None


_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'
_BRACKETS = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)


def _object_end(text: str, start: int) -> int | None:
    """The position after the bracket that closes the one at `start`; None when it is not closed."""
    depth = 0
    for token in _BRACKETS.finditer(text, start):
        sign = token[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _read(text: str, *, is_partial: bool = True) -> dict[str, Json] | None:
    """The object that `text` begins with, mended where needed; None when it cannot be read."""
    partial: Literal["off", "trailing-strings"] = "trailing-strings" if is_partial else "off"
    for reading in (_as_written, _mended):
        try:
            value = from_json(reading(text), allow_partial=partial, allow_inf_nan=False)
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None


def _read_to_first_fault(text: str) -> dict[str, Json]:
    """What stands before the fault in an object that cannot be read whole."""
    readable, faulty = 0, len(text)
    while faulty - readable > 1:
        middle = (readable + faulty) // 2
        if _read(text[:middle]) is None:
            faulty = middle
        else:
            readable = middle
    return _read(text[:readable]) or {}


def _as_written(text: str) -> bytes:
    """UTF-8. Halves of surrogate pairs, which endpoints send in separate deltas, are joined."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        whole = text[:-1] if "\ud800" <= text[-1] <= "\udbff" else text
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


_SLIPS = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_PAIR = r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
_ESCAPES = re.compile(_PAIR + r"|\\u[\da-fA-F]{4}|\\.?|[\x00-\x1f]", re.DOTALL)


def _mended(text: str) -> bytes:
    """`text` with the slips of models that write JSON by hand put right."""
    return _as_written(_SLIPS.sub(lambda slip: _ESCAPES.sub(_mend, slip[0]) if slip[0] != "," else "", text))


def _mend(found: re.Match[str]) -> str:
    escape = found[0]
    if not escape.startswith("\\"):
        return f"\\u{ord(escape):04x}"
    if len(escape) == 6:  # a pair, which is twelve long, is right as it stands
        return "\\ufffd" if escape[2] in "dD" and escape[3] in "89abcdefABCDEF" else escape
    if len(escape) == 12 or escape == "\\" or escape[1] in '"\\/bfnrt':
        return "" if escape == "\\" else escape
    return "\\" + escape
