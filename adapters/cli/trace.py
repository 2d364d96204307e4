"""What a job did, step by step, as a table for people or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.deep.viewing import tool_trace_json, trace_lines
from core.model.events import Json
from core.model.job import ResearchJob
from core.pipeline.trace import ToolTrace
from core.pipeline.tracing import (
    TraceEntry,
    dollars,
    in_order,
    totals_line,
    totals_of,
    what_was_done,
    without_repeats,
)
from core.presentation.render import iso_utc, one_line

NO_TRACE = "Nothing was recorded for this job, or its trace is older than 30 days."


def print_trace(
    console: Console,
    job: ResearchJob,
    entries: Sequence[TraceEntry],
    *,
    with_prompts: bool,
    tool_trace: ToolTrace | None = None,
) -> None:
    """Everything in the order in which it began, then the sums; with their prompts also the model calls in full.

    `tool_trace` is what a job that researches in rounds has written of its plan.
    """
    console.print(Text(f"{job.id} · {job.status.value} · {one_line(job.query)}"), soft_wrap=True)
    for line in trace_lines(tool_trace) if tool_trace else []:
        console.print(Text(line), soft_wrap=True)
    if not entries:
        console.print(Text(NO_TRACE))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", expand=True)
    for heading in ("Start", "Took"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Step", no_wrap=True)
    table.add_column("What", ratio=3, overflow="fold", min_width=20)
    for heading in ("Tokens", "Cost"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Outcome", ratio=2, overflow="fold")
    for entry, times in without_repeats(in_order(entries)):
        table.add_row(*_cells(job, entry, times), style="bold" if entry.kind == "stage" else "")
    console.print(table)
    console.print(Text(totals_line(totals_of(entries))), soft_wrap=True)
    if with_prompts:
        for entry in in_order(entries):
            _print_exchange(console, entry)


def trace_json(
    job: ResearchJob, entries: Sequence[TraceEntry], *, with_prompts: bool, tool_trace: ToolTrace | None = None
) -> dict[str, Json]:
    totals = totals_of(entries)
    return {
        "job_id": job.id,
        "status": job.status.value,
        "question": job.query,
        "totals": {
            "model_calls": totals.model_calls,
            "tokens": totals.tokens,
            "cost_usd": totals.cost_usd,
            "searches": totals.searches,
            "pages_read": totals.pages_read,
            "pages_failed": totals.pages_failed,
            "models_without_price": list(totals.unpriced),
        },
        "tool_trace": tool_trace_json(tool_trace) if tool_trace else None,
        "entries": [_entry_json(entry, with_prompts=with_prompts) for entry in in_order(entries)],
    }


def _cells(job: ResearchJob, entry: TraceEntry, times: int) -> tuple[Text, ...]:
    began = (entry.at - job.created_at).total_seconds() - entry.seconds
    tokens = f"{entry.prompt_tokens}+{entry.completion_tokens}{'~' if entry.is_estimated else ''}"
    cells = (
        f"{max(began, 0.0):.2f} s",
        f"{entry.seconds:.2f} s" if entry.kind != "mark" else "",
        entry.name if entry.kind in ("stage", "mark", "page") else f"{entry.kind} {entry.name}",
        what_was_done(entry),
        tokens if entry.kind == "model" else "",
        dollars(entry.cost_usd) if entry.cost_usd is not None else "",
        f"{entry.outcome if entry.outcome != 'done' else ''}{f' ({times} times)' if times > 1 else ''}",
    )
    return tuple(Text(one_line(cell)) for cell in cells)


def _print_exchange(console: Console, entry: TraceEntry) -> None:
    said = entry.exchange
    if not (said.system or said.user or said.answer):
        return
    for heading, text in (("system", said.system), ("user", said.user), ("answer", said.answer)):
        console.print(Text(f"\n── {one_line(entry.name)}: {heading} ──", style="bold"))
        for line in text.splitlines():
            console.print(Text(one_line(line)), soft_wrap=True)


def _entry_json(entry: TraceEntry, *, with_prompts: bool) -> dict[str, Json]:
    row: dict[str, Json] = {
        "kind": entry.kind,
        "name": entry.name,
        "at": iso_utc(entry.at),
        "seconds": round(entry.seconds, 4),
        "outcome": entry.outcome,
        "detail": entry.detail,
    }
    if entry.kind in ("search", "page"):
        row["results"] = entry.results
    if entry.kind == "model":
        row |= {
            "prompt_tokens": entry.prompt_tokens,
            "completion_tokens": entry.completion_tokens,
            "is_estimated": entry.is_estimated,
            "cost_usd": entry.cost_usd,
        }
        if with_prompts:
            said = entry.exchange
            row["exchange"] = {"system": said.system, "user": said.user, "answer": said.answer}
    return row
