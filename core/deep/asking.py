"""One call of deep research to the model: what it is shown of the state, fenced and cut to a budget, and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.deep.state import ChecklistItem, DeepState, Fact
from core.llm.ask_model import ask_model
from core.llm.prices import estimate_tokens
from core.model.answer import ModelUsage
from core.model.errors import ModelError
from core.model.events import Json
from core.model.ports import ChatRequest
from core.pipeline.deps import Deps
from core.presentation.render import one_line
from core.presentation.wording import needs_model
from core.stages.prompting import fenced

MAX_LINE_CHARS = 400  # of a single entry of an answer; longer ones are a model gone astray
MAX_SHOWN_QUERIES = 20  # earlier ones; older ones are not repeated by chance


@dataclass(frozen=True)
class StepAnswer:
    """The object a model answered with, and what the calls for it cost."""

    fields: Mapping[str, Json]
    usage: tuple[ModelUsage, ...]


async def ask_step(
    deps: Deps, purpose: str, *, system: str, user: str, schema_name: str, schema: Mapping[str, Json], within_s: float
) -> StepAnswer:
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
        told = await ask_model(deps.model, request, dict, within_s=within_s)
    except ModelError as exc:
        deps.count_error(purpose, exc)
        raise
    if told.unread:
        deps.count_error(purpose, told.unread)
    return StepAnswer(told.value or {}, told.usage)


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


def question_frame(state: DeepState) -> str:
    """The refined question, its boundaries, and what the asker wished since."""
    refined = state.refined
    scope = [f"In scope: {'; '.join(refined.in_scope)}"] if refined.in_scope else []
    scope += [f"Out of scope: {'; '.join(refined.out_of_scope)}"] if refined.out_of_scope else []
    parts = [_frame("question", refined.question)]
    parts += [_frame("scope", "\n".join(scope))] if scope else []
    parts += [_frame("wishes", "\n".join(f"- {wish}" for wish in state.constraints))] if state.constraints else []
    return "\n".join(parts)


def checklist_frame(items: Iterable[ChecklistItem], *, with_coverage: bool = False) -> str:
    """`1. description`, with what is still missing; with coverage also how far it is covered."""
    return _frame("checklist", "\n".join(_item_line(item, with_coverage=with_coverage) for item in items))


def facts_frame(facts: Sequence[Fact], *, max_tokens: int) -> str:
    """`F3 [source 2, items 1, 4]: …`; of too many the newest."""
    lines: list[str] = []
    for fact in reversed(facts):
        line = _fact_line(fact)
        max_tokens -= estimate_tokens(line) + 1
        if max_tokens < 0:
            break
        lines.append(line)
    return _frame("facts", "\n".join(reversed(lines)) or "none yet")


def queries_frame(state: DeepState) -> str:
    """Earlier queries with how many new facts came of their round."""
    lines = [f"- {query} ({round_.new_facts} new facts)" for round_ in state.rounds for query in round_.queries]
    return _frame("queries", "\n".join(lines[-MAX_SHOWN_QUERIES:])) if lines else ""


def _item_line(item: ChecklistItem, *, with_coverage: bool) -> str:
    coverage = f" [{item.coverage.value}]" if with_coverage else ""
    missing = f" (still missing: {item.missing})" if item.missing else ""
    return f"{item.id}.{coverage} {item.description}{missing}"


def _fact_line(fact: Fact) -> str:
    source = fact.evidence.source_id.removeprefix("src_")
    about = f"source {source}" + (f", items {', '.join(fact.items)}" if fact.items else "")
    return f"F{fact.number} [{about}]: {fact.text}"


def _frame(tag: str, text: str) -> str:
    return f"<{tag}>\n{fenced(text)}\n</{tag}>"
