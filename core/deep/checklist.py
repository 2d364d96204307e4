"""Steps 1, 2 and 3d: what exactly is asked, what a good answer must address, and how far that is covered (S002-11)."""

from __future__ import annotations

from collections.abc import Mapping

from core.deep.asking import (
    StepAnswer,
    ask_step,
    checklist_frame,
    facts_frame,
    line,
    listed,
    number,
    question_frame,
    strings,
)
from core.deep.state import Completeness, Coverage, DeepState, ItemCheck, RefinedQuestion
from core.llm.ask_model import strict
from core.model.events import Json, rows
from core.model.job import ResearchJob
from core.pipeline.conversation import needs_context, standalone_by_rules, turns_behind
from core.pipeline.deps import Deps
from core.prompts import load_prompt
from core.stages.prompting import asked, said_before

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
        schema=_refined_schema(settings.max_items),
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


def _refined_schema(max_items: int) -> dict[str, Json]:
    return strict(
        {
            "question": {"type": "string"},
            "in_scope": strings(MAX_BOUNDARIES),
            "out_of_scope": strings(MAX_BOUNDARIES),
            "key_terms": strings(MAX_TERMS),
            "checklist": strings(max_items),
        }
    )


def generate_checklist(said: StepAnswer, job: ResearchJob, *, most: int) -> tuple[str, ...]:
    """The model's items, `most` at most; the question itself when it gave none."""
    items = tuple(item.removeprefix("- [ ] ").strip() for item in listed(said.fields.get("checklist"), most=most))
    return tuple(item for item in items if item) or (job.query,)


async def check_completeness(state: DeepState, deps: Deps, *, within_s: float) -> Completeness:
    """Without a fact every item is unsatisfied, and what was checked already stays; no model is asked then.

    Raises `ModelError`.
    """
    if not state.facts or state.to_check == state.checked:
        return Completeness()
    known = facts_frame(state.facts, max_tokens=2 * deps.settings.deep.max_known_tokens)
    said = await ask_step(
        deps,
        "coverage",
        system=load_prompt("check_completeness").substitute(),
        user="\n".join([question_frame(state), checklist_frame(state.checklist), known]),
        schema_name="coverage",
        schema=_coverage_schema(state),
        within_s=within_s,
    )
    checks = [_read(row) for row in rows(said.fields.get("items"))]
    return Completeness(tuple(check for check in checks if check is not None), said.usage)


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
