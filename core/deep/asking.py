"""One call to the model as a value: asked once more after a slip, read as JSON, with what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from core.answer import ModelUsage
from core.deps import Deps
from core.errors import ModelError, ModelGarbled, ModelTimeout
from core.events import Json
from core.llm import UNREADABLE, ask
from core.ports import ChatRequest
from core.presentation.render import one_line
from core.presentation.wording import needs_model

MAX_LINE_CHARS = 400  # of a single entry of an answer; longer ones are a model gone astray


@dataclass(frozen=True)
class Said:
    """The object a model answered with, and what the calls for it cost."""

    fields: Mapping[str, Json]
    usage: tuple[ModelUsage, ...]


async def ask_model(
    deps: Deps, purpose: str, *, system: str, user: str, schema_name: str, schema: Mapping[str, Json], within_s: float
) -> Said:
    """Without fields where the answer could not be read twice: every step has rules for what it was not told.

    Raises `ModelError` when the model fails twice, or does not answer within `within_s` seconds.
    """
    if deps.model is None:
        raise ModelError("no model is configured", user_message=needs_model("Deep research"))
    model, settings = deps.model, deps.settings.deep
    timeout_s = min(settings.step_timeout_s, within_s)
    request = ChatRequest(
        purpose, system, user, schema_name, schema, settings.max_step_tokens, timeout_s, temperature=0.0
    )
    ends_at = asyncio.get_running_loop().time() + within_s

    def remaining_s() -> float:
        return ends_at - asyncio.get_running_loop().time()

    try:
        async with asyncio.timeout_at(ends_at):
            told = await ask(model, request, dict, remaining_s=remaining_s)
    except TimeoutError as exc:
        raise ModelTimeout(f"no {purpose} in {within_s:.0f} s", user_message="The model took too long.") from exc
    except ModelError as exc:
        deps.count_error(purpose, exc)
        raise
    if told.value is None:
        deps.count_error(purpose, ModelGarbled(f"no {schema_name} could be read", user_message=UNREADABLE))
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
