"""What a job did, step by step: stages, model calls, searches, page reads, each with its time and its price.

Core code does not know that it is watched: the recording wrappers of core/pipeline/watching.py are put around the ports
where these are built. Tracing never fails a job and never makes it wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from core.presentation.render import one_line
from core.presentation.wording import counted

Kind = Literal["stage", "model", "search", "page", "mark"]


@dataclass(frozen=True)
class Exchange:
    """What a model was sent and what it said, word for word; "" once it is hidden or no longer kept."""

    system: str = ""
    user: str = ""
    answer: str = ""


@dataclass(frozen=True)
class TraceEntry:
    """One thing a job did. `at` is when it ended, `seconds` how long it took.

    `kind` says what the other fields hold:

    - `stage`: `name` is the stage
    - `model`: `name` is the call's purpose, `detail` the model; tokens, cost (None without a price), `exchange`
    - `search`: `name` is the provider, `detail` the query, `results` how many hits
    - `page`: `name` is "page", `detail` the address, `results` the characters of text
    - `mark`: something that happened, such as an error counted or the job resumed: `name` what, `detail` where

    `outcome` is `done`, `cancelled`, or in a few words why it failed.
    """

    kind: Kind
    name: str
    at: datetime
    seconds: float = 0.0
    outcome: str = "done"
    detail: str = ""
    results: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False
    cost_usd: float | None = None
    exchange: Exchange = Exchange()


@dataclass(frozen=True)
class TraceTotals:
    """Sums over a trace. `cost_usd` is None when nothing that was called has a price; `unpriced` are those models."""

    model_calls: int
    tokens: int
    cost_usd: float | None
    searches: int
    pages_read: int
    pages_failed: int
    unpriced: tuple[str, ...] = ()


class TraceLog(Protocol):
    """Where the traces of jobs are kept; they go with their job. Each method raises `StoreError`."""

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None:
        """Add in this order. What belongs to a job that is not stored, or no longer, is dropped silently."""
        ...

    async def read(self, job_id: str) -> list[TraceEntry]:
        """In the order they were added; empty when there are none (any more)."""
        ...


def totals_of(entries: Sequence[TraceEntry]) -> TraceTotals:
    """Calls that failed or were given up are counted with what they had cost by then."""
    calls = [entry for entry in entries if entry.kind == "model"]
    costs = [entry.cost_usd for entry in calls if entry.cost_usd is not None]
    pages = [entry for entry in entries if entry.kind == "page"]
    return TraceTotals(
        model_calls=len(calls),
        tokens=sum(entry.prompt_tokens + entry.completion_tokens for entry in calls),
        cost_usd=sum(costs) if costs else None,
        searches=sum(entry.kind == "search" for entry in entries),
        pages_read=sum(entry.outcome == "done" for entry in pages),
        pages_failed=sum(entry.outcome != "done" for entry in pages),
        unpriced=tuple(dict.fromkeys(entry.detail for entry in calls if entry.cost_usd is None)),
    )


def in_order(entries: Iterable[TraceEntry]) -> list[TraceEntry]:
    """By their beginning, so that a stage stands before what was done in it."""
    return sorted(entries, key=lambda entry: entry.at - timedelta(seconds=entry.seconds))


def without_repeats(entries: Sequence[TraceEntry]) -> list[tuple[TraceEntry, int]]:
    """Marks that say the same one after the other as one, with how often."""
    rows: list[tuple[TraceEntry, int]] = []
    for entry in entries:
        last = rows[-1][0] if rows else None
        if last and entry.kind == last.kind == "mark" and _said(entry) == _said(last):
            rows[-1] = (last, rows[-1][1] + 1)
        else:
            rows.append((entry, 1))
    return rows


def what_was_done(entry: TraceEntry) -> str:
    """The detail of an entry with what came of it, for people."""
    if entry.kind == "search":
        return f"“{entry.detail}” → {counted(entry.results, 'hit')}"
    if entry.kind == "page" and entry.results:
        return f"{entry.detail} ({entry.results} characters)"
    return entry.detail


def totals_line(totals: TraceTotals) -> str:
    """`2 model calls · 1234 tokens · $0.0012 · 3 searches · 5 pages read`, and which models have no price."""
    parts = [
        counted(totals.model_calls, "model call"),
        counted(totals.tokens, "token"),
        "no price known" if totals.cost_usd is None and totals.model_calls else dollars(totals.cost_usd or 0.0),
        f"{totals.searches} {'search' if totals.searches == 1 else 'searches'}",
        f"{counted(totals.pages_read, 'page')} read",
    ]
    if totals.pages_failed:
        parts.append(f"{totals.pages_failed} not read")
    if totals.unpriced:
        parts.append(f"without a price: {', '.join(map(one_line, totals.unpriced))} (set GORKD_PRICES)")
    return " · ".join(parts)


def dollars(amount: float) -> str:
    """`$0.000225`, to the millionth and without needless zeros."""
    return f"${amount:.6f}".rstrip("0").rstrip(".") if amount else "$0"


def _said(entry: TraceEntry) -> tuple[str, str, str]:
    return entry.name, entry.detail, entry.outcome
