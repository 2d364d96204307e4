"""`gorkd stats`: how gorkd is used, as a table or as CSV."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from adapters.cli.running import Exit, Operating, run_command
from adapters.cli.settings import known_tenant
from core.presentation import wording
from core.presentation.render import printable
from core.tenancy.usage import LEVELS, MAX_DAYS, Origin, Period, Usage, UsageKey, calibration, cost_words, usage_csv

LEAST_WIDTH = 120  # columns; cut figures say something else than whole ones
Grouping = Literal["day", "tenant", "both"]
_KEYS: dict[Grouping, UsageKey] = {"day": "day", "tenant": "tenant", "both": "tenant and day"}


def stats_command(operating: Operating) -> Callable[..., None]:
    def stats(
        *,
        tenant: Annotated[
            str,
            typer.Option(
                "--tenant",
                "--workspace",
                metavar="TENANT",
                help="Only local, discord:<guild> or slack:<team>.",
                callback=known_tenant,
            ),
        ] = "",
        days: Annotated[
            int, typer.Option("--days", metavar="N", min=1, max=MAX_DAYS, help="Today and the days before it.")
        ] = 30,
        by: Annotated[Grouping, typer.Option("--by", help="A row for each day, each tenant, or both.")] = "both",
        shows_calibration: Annotated[
            bool, typer.Option("--calibration", help="How often High, Medium and Low were right, of all that is kept.")
        ] = False,
        as_csv: Annotated[bool, typer.Option("--csv", help="Print a table for spreadsheets.")] = False,
    ) -> None:
        if shows_calibration:
            run_command(partial(run_calibration, operating, tenant=tenant.strip()))
        command = partial(run_stats, operating, tenant=tenant.strip(), days=days, by=by, as_csv=as_csv)
        run_command(command, as_json=False)

    return stats


async def run_stats(operating: Operating, *, tenant: str, days: int, by: Grouping, as_csv: bool) -> Exit:
    """Raises `StoreError` and `SetupError`."""
    period = Period.of_days(days, now=datetime.now(UTC))
    async with operating.open_kept() as kept:
        entries = await kept.usage.usage(period, tenant=tenant, by=_KEYS[by])
    if as_csv:
        sys.stdout.write(usage_csv(entries))
    else:
        wide = Console(highlight=False)
        wide.width = max(wide.width, LEAST_WIDTH)
        print_stats(wide, period, entries)
    return Exit.ANSWERED


async def run_calibration(operating: Operating, *, tenant: str) -> Exit:
    """Raises `StoreError` and `SetupError`."""
    async with operating.open_kept() as kept:
        judged = await kept.evaluations.judged(tenant)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    origins: tuple[Origin, ...] = ("votes", "evaluations")
    for name in ("confidence", *origins):
        table.add_column(name, no_wrap=True)
    for level, *told in zip(LEVELS, *(calibration(judged, origin) for origin in origins), strict=True):
        table.add_row(level.value, *(row.says for row in told))
    wide = Console(highlight=False)
    wide.width = max(wide.width, LEAST_WIDTH)
    wide.print(table)
    return Exit.ANSWERED


def print_stats(console: Console, period: Period, entries: Sequence[Usage]) -> None:
    """A row an entry; the tenant and the day only where there is one."""
    if not entries:
        console.print(f"Nothing was asked from {wording.day(period.begins_at)} on.", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    has_tenant, has_day = any(entry.tenant for entry in entries), any(entry.day for entry in entries)
    for name in ["tenant"] * has_tenant + ["day"] * has_day:
        table.add_column(name, no_wrap=True)
    for name in ("asked", "done", "failed", "cached", "p50 s", "p95 s", "high/medium/low/none", "good/bad", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(*[printable(entry.tenant)] * has_tenant, *[entry.day] * has_day, *_figures(entry))
    console.print(table)


def _figures(entry: Usage) -> list[str]:
    return [
        str(entry.questions),
        str(entry.answered),
        str(entry.failed),
        str(entry.cached),
        f"{entry.p50_s:.1f}" if entry.p50_s is not None else "–",
        f"{entry.p95_s:.1f}" if entry.p95_s is not None else "–",
        f"{entry.high}/{entry.medium}/{entry.low}/{entry.insufficient}",
        f"{entry.good}/{entry.bad}",
        cost_words(entry),
    ]
