"""What the steps of deep research show the model of its state, each part fenced and cut to its budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.deep.state import ChecklistItem, DeepState, Fact
from core.llm import estimate_tokens
from core.stages.prompting import fenced

MAX_SHOWN_QUERIES = 20  # earlier ones; older ones are not repeated by chance


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
