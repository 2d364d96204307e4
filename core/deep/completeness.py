"""Step 3d: how far each item of the checklist is covered, by the facts alone (S002-11)."""

from __future__ import annotations

from collections.abc import Mapping

from core.deep.asking import ask_step, line, number
from core.deep.framing import checklist_frame, facts_frame, question_frame
from core.deep.state import Completeness, Coverage, DeepState, ItemCheck
from core.deps import Deps
from core.events import Json, rows
from core.llm import strict
from core.prompts import load_prompt

MAX_FACTS = 12  # named for one item


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
        schema=_schema(state),
        within_s=within_s,
    )
    checks = [_read(row) for row in rows(said.fields.get("items"))]
    return Completeness(tuple(check for check in checks if check is not None), said.usage)


def _schema(state: DeepState) -> dict[str, Json]:
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
