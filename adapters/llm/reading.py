"""What an endpoint sends, read defensively: a chunk of a stream or a whole completion, and the answer they add up to.

Nobody validates it before, so any field may be missing or of another type. What stands in fields of its own for the
model's thoughts (`reasoning_content`, `reasoning`) is not shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from pydantic_core import from_json

from adapters.llm.endpoint import Endpoint
from adapters.llm.failures import BROKE_OFF, GARBLED, declined, unavailable
from core.model.answer import ModelUsage
from core.model.errors import ModelGarbled
from core.model.job import Json
from core.model.ports import ToolCall
from core.text.growing_json import parse_object, read_object

ALL_THOUGHT = (
    "The model used up its tokens before it answered; give it more with thinking=… in GORKD_MAX_TOKENS, "
    "or set a lower GORKD_REASONING_EFFORT."
)
LOOK_EVERY = 256  # characters between two looks whether an answer goes in circles
LONGEST_LOOP, LEAST_LOOPED, LOOPS = 160, 160, 5  # characters of what is repeated, and in all; and how often
MAX_ANSWER_CHARS = 400_000  # a hundred times a long answer; an endpoint that goes on is broken
MAX_EVENT_BYTES = 8 * MAX_ANSWER_CHARS  # all of it in one event, each letter as `\u5929`, and what stands around it


@dataclass(frozen=True)
class CallPiece:
    """Part of a tool call: those of one `place` are put together, their `arguments` in order."""

    place: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class StreamPiece:
    """One chunk. `finish_reason` is "" until the last one with a choice; `thought` is in a field of its own."""

    text: str = ""
    thought: str = ""
    refusal: str = ""
    finish_reason: str = ""
    has_choice: bool = False
    usage: ModelUsage | None = None
    calls: tuple[CallPiece, ...] = ()


class EventReader:
    """What an endpoint sends, parsed from JSON as it is taken: server-sent events, or plain JSON whatever it is called.

    `feed` takes bytes, `end` gives what is whole only then. `is_done` from `[DONE]` on, behind which nothing is read.
    Raises `ValueError` for what is neither, and for an event of more than `MAX_EVENT_BYTES`.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._is_begun = False
        self._is_plain = self._is_stream = False
        self.is_done = False

    def feed(self, block: bytes) -> Iterator[object]:
        block = self._rest + block
        if not self._is_begun:
            block = block.removeprefix(b"\xef\xbb\xbf").lstrip()
            self._is_begun, self._is_plain = bool(block), block.startswith(b"{")
            self._is_stream = block.startswith((b"data:", b":", b"event:", b"id:", b"retry:"))
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1  # a last \r may be half of a line's end
        end = 0 if self._is_plain else end
        self._rest = block[end:]
        for line in block[:end].splitlines():
            if line.startswith(b"data:"):
                self._data.append(line[5:])
                self._data_bytes += len(line) + 1
            elif not line and self._data:
                data, self._data, self._data_bytes = b"\n".join(self._data).strip(), [], 0
                if data.startswith(b"[DONE]"):
                    self.is_done = True
                    return
                if data:
                    yield _json(data)
        if len(self._rest) + self._data_bytes > MAX_EVENT_BYTES:
            raise ValueError(f"more than {MAX_EVENT_BYTES} bytes in one event")

    def end(self) -> Iterator[object]:
        if self._is_plain:
            try:
                yield _json(self._rest)
            except ValueError:  # an object a line
                yield from map(_json, self._rest.splitlines())
        elif self._is_begun and not self._is_stream:
            raise ValueError(f"neither events nor JSON: {self._rest[:200].decode(errors='replace')!r}")


def _json(data: bytes) -> object:
    """A letter that is none costs itself, not what follows it."""
    return json.loads(data.decode(errors="replace"))


def read_piece(chunk: object) -> StreamPiece:
    """From parsed JSON."""
    choices = attribute(chunk, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = attribute(choice, "delta") or attribute(choice, "message")
    said = {name: value for name, value in message.items() if value} if isinstance(message, dict) else {}
    usage = attribute(chunk, "usage")
    return StreamPiece(
        text=_text(said.pop("content", "")),
        thought=_text(said.get("reasoning_content")) or _text(said.get("reasoning")) if said else "",
        refusal=_text(said.get("refusal", "")),
        finish_reason=_text(attribute(choice, "finish_reason")),
        has_choice=choice is not None,
        usage=read_usage(usage, "prompt_tokens", "completion_tokens") if usage else None,
        calls=_calls(said.get("tool_calls")) if said else (),
    )


@dataclass
class Answer:
    """What the pieces so far add up to. `text` is without thoughts, `length` counts all that came."""

    texts: list[str] = field(default_factory=list)
    length: int = 0
    refusal: str = ""
    finish_reason: str = ""
    pieces: int = 0
    has_choice: bool = False
    usage: ModelUsage | None = None
    called: dict[int, ToolCall] = field(default_factory=dict)
    has_thought: bool = False
    thought: list[str] = field(default_factory=list)
    is_begun: bool = False
    looked_at: int = 0
    end: str = ""  # of all that came, thoughts and what is held back included

    @property
    def is_all_thought(self) -> bool:
        """Cut at the limit of tokens before any of it was an answer."""
        return self.finish_reason == "length" and not self.text.strip() and not self.called

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """In the order in which they were begun; one without a name is none."""
        return tuple(call for call in self.called.values() if call.name)

    def add_rest(self, thoughts: Thoughts) -> str:
        """What was held back and is no thought, at the end."""
        rest = thoughts.end()
        self.texts.append(rest)
        self.has_thought = self.has_thought or thoughts.has_thought
        return rest

    def take_from_beside(self, schema: Mapping[str, Json]) -> str:
        """The object asked for, which some endpoints put into a tool's call, or with the thoughts; "" for none."""
        beside = [*(call.arguments for call in self.calls), _last_object("".join(self.thought))]
        found = next((text for text in beside if text and read_object(text, schema) is not None), "")
        if self.text.strip() or self.finish_reason == "length" or not found:
            return ""
        self.texts.append(found)
        self.called.clear()
        return found

    def add(self, piece: StreamPiece, text: str) -> None:
        """`text` is what of the piece, and of those before it, may be shown.

        Raises `ModelGarbled` when the answer outgrows any answer.
        """
        self.texts.append(text)
        self.end = (self.end + piece.text)[-4 * LOOK_EVERY :]
        self.is_begun = self.is_begun or bool(piece.text)
        if piece.thought:
            self.has_thought = True
            self.thought.append(piece.thought)
        self.length += len(piece.text) + len(piece.refusal)
        self.refusal += piece.refusal
        self.finish_reason = piece.finish_reason or self.finish_reason
        self.pieces += 1
        self.has_choice = self.has_choice or piece.has_choice
        self.usage = piece.usage or self.usage
        for part in piece.calls:
            known = self.called.get(part.place, ToolCall(f"call_{part.place}", "", ""))
            arguments = known.arguments + part.arguments
            self.called[part.place] = ToolCall(part.id or known.id, part.name or known.name, arguments)
            self.length += len(part.arguments)
        if self.length > MAX_ANSWER_CHARS:
            raise ModelGarbled(f"more than {MAX_ANSWER_CHARS} characters of answer", operator_message=GARBLED)
        if self.length >= self.looked_at + LOOK_EVERY:
            self.looked_at = self.length
            if repeats_itself(self.end):
                raise ModelGarbled("the model repeats itself without end", operator_message=GARBLED)

    def check_ending(self, endpoint: Endpoint) -> None:
        """Raises the `ModelError` that the way it ended amounts to. A cut at the token limit is none: part will do."""
        if self.refusal or self.finish_reason == "content_filter":
            raise declined(endpoint.redact(self.refusal) or "content filter")
        if self.text.strip():
            if not self.finish_reason and not self.calls and not _is_whole(self.text):
                cut = f"{endpoint.host} broke off after {self.length} characters of answer"
                raise unavailable(endpoint, cut, did=BROKE_OFF)
        elif self.calls:
            return
        elif not self.pieces:
            raise unavailable(endpoint, f"{endpoint.host} ended the stream before it began", did=BROKE_OFF)
        elif not self.has_choice:
            raise ModelGarbled(f"{endpoint.host} sent no choices", operator_message=GARBLED)
        elif not self.finish_reason:
            raise unavailable(endpoint, f"{endpoint.host} broke off before any text", did=BROKE_OFF)
        elif self.finish_reason == "length":
            said = f"{endpoint.host} used all its tokens without an answer, for thinking"
            raise ModelGarbled(said, operator_message=ALL_THOUGHT)
        else:
            raise ModelGarbled(f"empty answer (finish_reason {self.finish_reason!r})", operator_message=GARBLED)


def repeats_itself(text: str) -> bool:
    """Whether it ends in the same words over and over, as small models do until their tokens are used up."""
    for period in range(2, LONGEST_LOOP + 1):
        length = max(LEAST_LOOPED, LOOPS * period)
        if len(text) < length + period:
            return False
        end = text[-length:]
        if end == text[-length - period : -period] and any(char.isalnum() for char in end[:period]):
            return True
    return False


def _is_whole(text: str) -> bool:
    """Some endpoints never send a finish_reason; a closed object is as good."""
    try:
        return bool(parse_object(text))
    except ModelGarbled:
        return False


def attribute(value: object, name: str) -> object:
    """A field of an SDK object or of parsed JSON; None when there is no such thing."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _calls(value: object) -> tuple[CallPiece, ...]:
    parts: list[CallPiece] = []
    for at, entry in enumerate(value if isinstance(value, list) else []):
        function, place = attribute(entry, "function"), attribute(entry, "index")
        name, arguments = _text(attribute(function, "name")), _text(attribute(function, "arguments"))
        parts.append(CallPiece(place if isinstance(place, int) else at, _text(attribute(entry, "id")), name, arguments))
    return tuple(parts)


def _text(value: object) -> str:
    """A string, or the texts of content parts."""
    if isinstance(value, list):
        return "".join(_text(attribute(part, "text")) for part in value)
    return value if isinstance(value, str) else ""


def read_usage(value: object, prompt_name: str, completion_name: str) -> ModelUsage | None:
    """None unless both counts can be read."""
    prompt, completion = _count(attribute(value, prompt_name)), _count(attribute(value, completion_name))
    if prompt is None or completion is None:
        return None
    return ModelUsage(prompt_tokens=prompt, completion_tokens=completion)


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:18])
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# What a model thinks before it answers, kept back from everybody: tags in the text of an answer, whole or split


_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think")
_OPENINGS = (
    *(f"<{tag}>" for tag in _TAGS),
    "[think]",
    "◁think▷",
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary<|message|>",
)
_NAMED = re.compile("|".join(map(re.escape, _OPENINGS)), re.IGNORECASE)
_OPENING = re.compile(rf"\s*(?:{_NAMED.pattern})", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{'|'.join(_TAGS)})>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE)
_ENDING = re.compile(r"<\|(?:end|return|im_end)\|>\s*\Z")
_ANSWER = re.compile(r"\s*(?:```\w*\s*)?[\[{]")
_MOST_BRACES = 50  # in a thought that is not closed; each is a look whether the answer begins there


class Thoughts:
    """Parts the thoughts from an answer as it comes: `feed` gives what may be passed on, `end` the rest.

    An opening tag counts only where the text begins, a closing one also without it, as templates that open the
    thought for the model leave it. Only what begins as JSON is passed on at once: all else is held until its end,
    since it may turn out to have been a thought.
    """

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._held = ""
        self._is_answer = False
        self.has_thought = False

    def feed(self, text: str) -> str:
        if self._is_answer:
            return text
        self._held += text
        self._drop_thoughts()
        if self._is_json and not _OPENING.match(self._held) and not self._may_open() and _ANSWER.match(self._held):
            return self._release()
        return ""

    def end(self) -> str:
        """What was held back and is no thought; of a thought that is not closed an object that ends it."""
        if self._is_answer:
            return ""
        self._drop_thoughts()
        if _OPENING.match(self._held):
            self.has_thought = True
            self._held = _last_object(self._held) if self._is_json else ""
        return _ENDING.sub("", self._release())

    def _drop_thoughts(self) -> None:
        while closing := self._closing():
            self._held = self._held[closing.end() :]
            self.has_thought = True

    def _closing(self) -> re.Match[str] | None:
        """The tag that ends a thought: the next one after an opening at the beginning, or one that nothing opens."""
        opening = _OPENING.match(self._held)
        closing = _CLOSING.search(self._held, opening.end() if opening else 0)
        if closing is None or opening:
            return closing
        return None if _NAMED.search(self._held[: closing.start()]) else closing

    def _may_open(self) -> bool:
        """Whether what is held may be the beginning of an opening tag."""
        begun = self._held.lstrip().lower()
        return any(opening.startswith(begun) for opening in _OPENINGS)

    def _release(self) -> str:
        text, self._held = self._held, ""
        self._is_answer = True
        return text


def _last_object(text: str) -> str:
    """The JSON object that a text ends with, "" where there is none."""
    whole = text.rstrip("` \n")
    for brace in islice(re.finditer(r"\{", whole), _MOST_BRACES):
        try:
            from_json(whole[brace.start() :])
        except ValueError:
            continue
        return whole[brace.start() :]
    return ""
