"""Steps 1 and 2: what exactly is asked, where it ends, and what a good answer must address (S002-06, S002-07)."""

from __future__ import annotations

from core.conversation import needs_context, standalone_by_rules, turns_behind
from core.deep.asking import Said, ask_step, line, listed, strings
from core.deep.state import RefinedQuestion
from core.deps import Deps
from core.events import Json
from core.job import ResearchJob
from core.llm import strict
from core.prompts import load_prompt
from core.stages.prompting import asked, said_before

MAX_TERMS = 8
MAX_BOUNDARIES = 3


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
        schema=_schema(settings.max_items),
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


def _schema(max_items: int) -> dict[str, Json]:
    return strict(
        {
            "question": {"type": "string"},
            "in_scope": strings(MAX_BOUNDARIES),
            "out_of_scope": strings(MAX_BOUNDARIES),
            "key_terms": strings(MAX_TERMS),
            "checklist": strings(max_items),
        }
    )


def generate_checklist(said: Said, job: ResearchJob, *, most: int) -> tuple[str, ...]:
    """The model's items, `most` at most; the question itself when it gave none."""
    items = tuple(item.removeprefix("- [ ] ").strip() for item in listed(said.fields.get("checklist"), most=most))
    return tuple(item for item in items if item) or (job.query,)
