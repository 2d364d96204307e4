"""Steps 1, 2 and 3d: what exactly is asked, what a good answer must address, and how far that is covered (S002-11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.deep.state import ChecklistItem, Completeness, Coverage, DeepState, Fact, ItemCheck, RefinedQuestion
from core.llm.ask_model import ask_model, strict
from core.llm.prices import estimate_tokens
from core.model.answer import ModelUsage
from core.model.errors import ModelError
from core.model.job import Json, ResearchJob, rows
from core.model.ports import ChatDelta, ChatRequest
from core.pipeline.conversation import needs_context, standalone_by_rules, turns_behind
from core.pipeline.deps import Deps
from core.presentation.render import one_line
from core.presentation.wording import needs_model
from core.prompts import load_prompt
from core.stages.prompting import asked, fenced, said_before
from core.text.growing_json import PartialJson
from core.text.saying import say

MAX_TERMS = 8
MAX_BOUNDARIES = 3
MAX_FACTS = 12  # named for one item


async def refine_question(job: ResearchJob, deps: Deps, *, within_s: float) -> RefinedQuestion:
    """One call for both steps, since the second needs nothing but the first. Raises `ModelError`.

    What was said before in the job's thread tells what a follow-up means.
    """
    settings = deps.settings.deep
    turns = await turns_behind(job, deps)
    said = await ask_step(
        deps,
        "refine",
        system=load_prompt("refine_question").substitute(
            today=deps.clock().date().isoformat(), min_items=settings.min_items, max_items=settings.max_items
        ),
        user=f"{said_before(turns)}\n{asked(job)}" if turns else asked(job),
        schema_name="refined_question",
        schema=strict(
            {
                "question": {"type": "string"},
                "in_scope": strings(MAX_BOUNDARIES),
                "out_of_scope": strings(MAX_BOUNDARIES),
                "key_terms": strings(MAX_TERMS),
                "checklist": strings(settings.max_items),
            }
        ),
        within_s=within_s,
    )
    question = line(said.fields.get("question")) or job.query
    return RefinedQuestion(
        question=standalone_by_rules(job.query, turns) if needs_context(question) else question,
        in_scope=listed(said.fields.get("in_scope"), most=MAX_BOUNDARIES),
        out_of_scope=listed(said.fields.get("out_of_scope"), most=MAX_BOUNDARIES),
        key_terms=listed(said.fields.get("key_terms"), most=MAX_TERMS),
        checklist=generate_checklist(said, job, most=settings.max_items),
        usage=said.usage,
    )


def generate_checklist(said: StepAnswer, job: ResearchJob, *, most: int) -> tuple[str, ...]:
    """The model's items, `most` at most; the question itself when it gave none."""
    items = tuple(item.removeprefix("- [ ] ").strip() for item in listed(said.fields.get("checklist"), most=most))
    return tuple(item for item in items if item) or (job.query,)


async def check_completeness(
    state: DeepState, deps: Deps, *, within_s: float, on_gap: Callable[[Completeness], None] | None = None
) -> Completeness:
    """Without a fact every item is unsatisfied, and what was checked already stays; no model is asked then.

    `on_gap` hears once what has been checked when the first item turns out to lack something, while the rest is still
    being checked. Raises `ModelError`.
    """
    if not state.facts or state.to_check == state.checked:
        return Completeness()
    known = facts_frame(state.facts, max_tokens=2 * deps.settings.deep.max_known_tokens)
    growing, has_gap = PartialJson(), on_gap is None

    def look_for_gap(delta: ChatDelta) -> None:
        nonlocal has_gap
        if has_gap or on_gap is None or not growing.feed(delta.text):
            return
        checks = _checks(rows(growing.value.get("items"))[:-1])
        has_gap = any(check.coverage is not Coverage.SATISFIED for check in checks)
        if has_gap:
            on_gap(Completeness(checks))

    said = await ask_step(
        deps,
        "coverage",
        system=load_prompt("check_completeness").substitute(),
        user="\n".join([question_frame(state), checklist_frame(state.checklist), known]),
        schema_name="coverage",
        schema=_coverage_schema(state),
        within_s=within_s,
        hear=look_for_gap,
    )
    return Completeness(_checks(rows(said.fields.get("items"))), said.usage)


def _checks(found: Sequence[Mapping[str, Json]]) -> tuple[ItemCheck, ...]:
    return tuple(check for check in map(_read, found) if check is not None)


def _coverage_schema(state: DeepState) -> dict[str, Json]:
    """A row for each item, which can name no other."""
    row = strict(
        {
            "id": {"type": "string", "enum": [item.id for item in state.checklist]},
            "coverage": {"type": "string", "enum": [coverage.value for coverage in Coverage]},
            "facts": {"type": "array", "items": {"type": "integer"}, "maxItems": MAX_FACTS},
            "missing": {"type": "string"},
        }
    )
    return strict({"items": {"type": "array", "items": row, "maxItems": len(state.checklist)}})


def _read(row: Mapping[str, Json]) -> ItemCheck | None:
    coverage = line(row.get("coverage")).lower()
    if coverage not in list(Coverage):
        return None
    listed = row.get("facts")
    facts = tuple(filter(None, map(number, listed))) if isinstance(listed, list) else ()
    return ItemCheck(str(number(row.get("id"))), Coverage(coverage), facts, line(row.get("missing")))


# One call of deep research to the model: what it is shown of the state, fenced and cut to a budget, and its answer


MAX_LINE_CHARS = 400  # of a single entry of an answer; longer ones are a model gone astray
MAX_SHOWN_QUERIES = 20  # earlier ones; older ones are not repeated by chance


@dataclass(frozen=True)
class StepAnswer:
    """The object a model answered with, and what the calls for it cost."""

    fields: Mapping[str, Json]
    usage: tuple[ModelUsage, ...]


async def ask_step(
    deps: Deps,
    purpose: str,
    *,
    system: str,
    user: str,
    schema_name: str,
    schema: Mapping[str, Json],
    within_s: float,
    hear: Callable[[ChatDelta], None] | None = None,
) -> StepAnswer:
    """Without fields where the answer could not be read twice: every step has rules for what it was not told.

    `hear` is told of all that comes. Raises `ModelError` when the model fails twice, or does not answer within
    `within_s` seconds.
    """
    if deps.model is None:
        raise ModelError("no model is configured", user_message=needs_model(say("Deep research")))
    settings = deps.settings.deep
    timeout_s = min(settings.step_timeout_s, within_s)
    request = ChatRequest(
        purpose, system, user, schema_name, schema, settings.max_step_tokens, timeout_s, temperature=0.0
    )
    try:
        told = await ask_model(deps.model, request, dict, within_s=within_s, hear=hear)
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
    lines: list[str] = []
    for item in items:
        coverage = f" [{item.coverage.value}]" if with_coverage else ""
        missing = f" (still missing: {item.missing})" if item.missing else ""
        lines.append(f"{item.id}.{coverage} {item.description}{missing}")
    return _frame("checklist", "\n".join(lines))


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


def _fact_line(fact: Fact) -> str:
    source = fact.evidence.source_id.removeprefix("src_")
    about = f"source {source}" + (f", items {', '.join(fact.items)}" if fact.items else "")
    return f"F{fact.number} [{about}]: {fact.text}"


def _frame(tag: str, text: str) -> str:
    return f"<{tag}>\n{fenced(text)}\n</{tag}>"
