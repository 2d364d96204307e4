"""One call to the model as a value: asked once more after a slip, read as JSON, with what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.answer import ModelUsage
from core.deps import Deps
from core.errors import ModelError
from core.events import Json
from core.llm import ask
from core.ports import ChatRequest
from core.render import one_line
from core.wording import needs_model

MAX_LINE_CHARS = 400  # of a single entry of an answer; longer ones are a model gone astray


@dataclass(frozen=True)
class Said:
    """The object a model answered with, and what the calls for it cost."""

    fields: Mapping[str, Json]
    usage: tuple[ModelUsage, ...]


async def ask_step(
    deps: Deps, purpose: str, *, system: str, user: str, schema_name: str, schema: Mapping[str, Json], within_s: float
) -> Said:
    """Without fields where the answer could not be read twice: every step has rules for what it was not told.

    Raises `ModelError` when the model fails twice, or does not answer within `within_s` seconds.
    """
    if deps.model is None:
        raise ModelError("no model is configured", user_message=needs_model("Deep research"))
    settings = deps.settings.deep
    timeout_s = min(settings.step_timeout_s, within_s)
    request = ChatRequest(
        purpose, system, user, schema_name, schema, settings.max_step_tokens, timeout_s, temperature=0.0
    )
    try:
        told = await ask(deps.model, request, dict, within_s=within_s)
    except ModelError as exc:
        deps.count_error(purpose, exc)
        raise
    if told.unread:
        deps.count_error(purpose, told.unread)
    return Said(told.value or {}, told.usage)


def listed(value: Json, *, most: int) -> tuple[str, ...]:
    """The strings of a list that say something, each once and on one line."""
    texts = (
        [one_line(text)[:MAX_LINE_CHARS] for text in value if isinstance(text, str)] if isinstance(value, list) else []
    )
    return tuple(dict.fromkeys(text for text in texts if text))[:most]


def line(value: Json) -> str:
    """A string on one line; "" for anything else."""
    return one_line(value)[:MAX_LINE_CHARS] if isinstance(value, str) else ""


def number(value: Json) -> int:
    """A number from `3`, `"3"`, `"F3"` or `"src_3"`; 0 for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    digits = "".join(char for char in value if char in "0123456789") if isinstance(value, str) else ""
    return int(digits) if 0 < len(digits) < 7 else 0


def strings(most: int) -> dict[str, Json]:
    """The schema of a list of at most `most` strings; without a bound small models go on for ever."""
    return {"type": "array", "items": {"type": "string"}, "maxItems": most}
