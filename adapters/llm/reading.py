"""What an endpoint sends, read defensively: a chunk of a stream or a whole completion, and the answer they add up to.

Nobody validates it before, so any field may be missing or of another type.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adapters.llm.endpoint import Endpoint
from adapters.llm.failures import GARBLED, declined, unavailable
from adapters.llm.thinking import Thoughts
from core.model.answer import ModelUsage
from core.model.errors import ModelGarbled
from core.model.ports import ToolCall
from core.text.growing_json import parse_object

ALL_THOUGHT = (
    "The model used up its tokens before it answered; give it more with thinking=… in GORKD_MAX_TOKENS, "
    "or set a lower GORKD_REASONING_EFFORT."
)
LOOK_EVERY = 256  # characters between two looks whether an answer goes in circles
LONGEST_LOOP, LEAST_LOOPED, LOOPS = 160, 160, 5  # characters of what is repeated, and in all; and how often
MAX_ANSWER_CHARS = 400_000  # a hundred times a long answer; an endpoint that goes on is broken


@dataclass(frozen=True)
class CallPiece:
    """Part of a tool call: those of one `place` are put together, their `arguments` in order."""

    place: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class StreamPiece:
    """One chunk. `finish_reason` is "" until the last one with a choice; `is_thought` says that it holds thoughts."""

    text: str = ""
    is_thought: bool = False
    refusal: str = ""
    finish_reason: str = ""
    has_choice: bool = False
    usage: ModelUsage | None = None
    calls: tuple[CallPiece, ...] = ()


def read_piece(chunk: object) -> StreamPiece:
    """From parsed JSON."""
    choices = attribute(chunk, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = attribute(choice, "delta") or attribute(choice, "message")
    return StreamPiece(
        text=_text(attribute(message, "content")),
        is_thought=any(_text(attribute(message, name)) for name in ("reasoning_content", "reasoning")),
        refusal=_text(attribute(message, "refusal")),
        finish_reason=_text(attribute(choice, "finish_reason")),
        has_choice=choice is not None,
        usage=read_usage(attribute(chunk, "usage"), "prompt_tokens", "completion_tokens"),
        calls=_calls(attribute(message, "tool_calls")),
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

    def add(self, piece: StreamPiece, text: str) -> None:
        """`text` is what of the piece, and of those before it, may be shown.

        Raises `ModelGarbled` when the answer outgrows any answer.
        """
        self.texts.append(text)
        self.end = (self.end + piece.text)[-4 * LOOK_EVERY :]
        self.is_begun = self.is_begun or bool(piece.text)
        self.has_thought = self.has_thought or piece.is_thought
        self.length += len(piece.text)
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
                raise unavailable(endpoint, f"{endpoint.host} broke off after {self.length} characters of answer")
        elif self.calls:
            return
        elif not self.pieces:
            raise unavailable(endpoint, f"{endpoint.host} ended the stream before it began")
        elif not self.has_choice:
            raise ModelGarbled(f"{endpoint.host} sent no choices", operator_message=GARBLED)
        elif not self.finish_reason:
            raise unavailable(endpoint, f"{endpoint.host} broke off before any text")
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
        parts.append(
            CallPiece(
                place if isinstance(place, int) else at,
                _text(attribute(entry, "id")),
                _text(attribute(function, "name")),
                _text(attribute(function, "arguments")),
            )
        )
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
