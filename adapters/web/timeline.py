"""What a job did as a timeline: a row for each step with its bar, and the prompts for those who may read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.job import ResearchJob
from core.render import cut, one_line, printable
from core.tracing import Exchange, TraceEntry, dollars, in_order, totals_line, totals_of, what_was_done, without_repeats

SHOWN_CHARS = 20_000  # of one prompt or answer; the rest is for `gorkd trace`
MAX_ROWS = 300
_MIN_WIDTH = 0.6  # of 100: a step of a millisecond is still seen


@dataclass(frozen=True)
class RowView:
    """`left` and `width` are the bar's, of 100; `exchange` holds what was sent and said, by heading."""

    kind: str
    began: str
    took: str
    name: str
    what: str
    tokens: str
    cost: str
    outcome: str
    left: float
    width: float
    exchange: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TimelineView:
    rows: tuple[RowView, ...]
    totals: str
    has_prompts: bool
    left_out: int


def timeline_view(job: ResearchJob, entries: Sequence[TraceEntry], *, with_prompts: bool) -> TimelineView:
    """In the order in which things began. Without `with_prompts` no exchange is in it."""
    rows = without_repeats(in_order(entries))
    start = job.created_at
    whole = max([(entry.at - start).total_seconds() for entry in entries], default=0.0) or 1.0
    return TimelineView(
        rows=tuple(_row(job, entry, times, whole, with_prompts=with_prompts) for entry, times in rows[:MAX_ROWS]),
        totals=totals_line(totals_of(entries)),
        has_prompts=with_prompts,
        left_out=max(0, len(rows) - MAX_ROWS),
    )


def _row(job: ResearchJob, entry: TraceEntry, times: int, whole: float, *, with_prompts: bool) -> RowView:
    began = max((entry.at - job.created_at).total_seconds() - entry.seconds, 0.0)
    left = min(100 * began / whole, 100 - _MIN_WIDTH)
    tokens = f"{entry.prompt_tokens:,} + {entry.completion_tokens:,}{' (estimated)' if entry.is_estimated else ''}"
    outcome = "" if entry.outcome == "done" else entry.outcome
    return RowView(
        kind=entry.kind,
        began=f"{began:.2f} s",
        took=f"{entry.seconds:.2f} s" if entry.kind != "mark" else "",
        name=one_line(entry.name if entry.kind in ("stage", "mark", "page") else f"{entry.kind} {entry.name}"),
        what=one_line(what_was_done(entry)),
        tokens=tokens if entry.kind == "model" else "",
        cost=dollars(entry.cost_usd) if entry.cost_usd is not None else "",
        outcome=one_line(f"{outcome}{f' ({times} times)' if times > 1 else ''}"),
        left=round(left, 2),
        width=round(min(max(100 * entry.seconds / whole, _MIN_WIDTH), 100 - left), 2),
        exchange=_exchange(entry.exchange) if with_prompts else (),
    )


def _exchange(said: Exchange) -> tuple[tuple[str, str], ...]:
    texts = (("Instructions", said.system), ("Prompt", said.user), ("Answer", said.answer))
    return tuple((heading, cut(printable(text), SHOWN_CHARS)) for heading, text in texts if text)
