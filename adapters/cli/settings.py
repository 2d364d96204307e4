"""`gorkd settings` and `gorkd stats`: what a workspace has set for itself, and how it is used, for who runs gorkd."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from adapters.cli.running import Exit, Operating, print_json, say
from core.model.job import Json
from core.presentation import wording
from core.presentation.render import iso_utc, printable
from core.tenancy.settings import FIELDS, GROUPS, read_setting, write_setting
from core.tenancy.settings_desk import OPERATOR, KeptSettings
from core.tenancy.usage import (
    LEVELS,
    MAX_DAYS,
    JudgedAnswers,
    Origin,
    Period,
    Usage,
    UsageKey,
    calibration,
    cost_words,
    usage_csv,
)
from core.text.saying import say as said
from core.text.saying import say_day, say_many

# The option that names a workspace or server: a mistyped one is refused, since nothing would be found for it


_TENANT = re.compile(r"local|(?:discord|slack):\S+")


def known_tenant(text: str) -> str:
    """`text` without spaces around it; empty stays empty. Raises `typer.BadParameter` on what names no tenant."""
    tenant = text.strip()
    if tenant and not _TENANT.fullmatch(tenant):
        told = said("“{name}” is none; write local, discord:<guild> or slack:<team>.", name=tenant)
        raise typer.BadParameter(told)
    return tenant


def tenant_option(*, help: str) -> object:
    """Whose something is, as the same option of every command."""
    return typer.Option("--tenant", "--workspace", metavar="TENANT", help=help, callback=known_tenant)


LOG_LENGTH = 100
_Tenant = Annotated[str, tenant_option(help="One of local, discord:<guild> or slack:<team>.")]
OneTenant = Annotated[str, tenant_option(help="Only local, discord:<guild> or slack:<team>.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
JobId = Annotated[str, typer.Argument(help="The job's id, job_….", metavar="JOB", show_default=False)]


async def _show(operating: Operating, *, tenant: _Tenant = "local", as_json: AsJson = False) -> Exit:
    """Print the settings as they hold now."""
    async with operating.open_settings() as desk:
        kept = await desk.show(tenant)
    if as_json:
        written: dict[str, Json] = {key: write_setting(key, kept.settings) for key in FIELDS}
        print_json({"tenant": tenant, "version": kept.version, "settings": written})
    else:
        sys.stdout.write(printable(_listed(kept)) + "\n")
    return Exit.ANSWERED


async def _set(
    operating: Operating,
    key: Annotated[str, typer.Argument(help="The setting, as show names it.", metavar="KEY", show_default=False)],
    value: Annotated[
        str, typer.Argument(help="Its new value; several in quotes, with commas.", metavar="VALUE", show_default=False)
    ],
    *,
    tenant: _Tenant = "local",
) -> Exit:
    """Change one setting; it holds from the next question on."""
    async with operating.open_settings() as desk:
        kept = await desk.show(tenant)
        settings = read_setting(key.strip(), value, kept.settings)
        changes = await desk.save(tenant, settings, version=kept.version, who=OPERATOR)
    for change in changes:
        sys.stdout.write(printable(f"{change.key}: {change.before} → {change.after}") + "\n")
    say(said(wording.SETTINGS_SAVED if changes else wording.SETTINGS_UNCHANGED))
    return Exit.ANSWERED


async def _log(operating: Operating, *, tenant: _Tenant = "local", as_json: AsJson = False) -> Exit:
    """Print who changed what, newest first."""
    async with operating.open_settings() as desk:
        changes = await desk.log(tenant, limit=LOG_LENGTH)
    if as_json:
        rows: list[Json] = [{**asdict(one), "at": iso_utc(one.at)} for one in changes]
        print_json({"tenant": tenant, "changes": rows})
        return Exit.ANSWERED
    for one in changes:
        line = f"{iso_utc(one.at)}  {one.who or said('forgotten')}  {one.key}: {one.before or '-'} → {one.after or '-'}"
        sys.stdout.write(printable(line) + "\n")
    say(say_many("{number} change in {place}", "{number} changes in {place}", len(changes), place=tenant))
    return Exit.ANSWERED


settings_command = {"show": _show, "set": _set, "log": _log}


def _listed(kept: KeptSettings) -> str:
    width = max(map(len, FIELDS)) + 2
    lines: list[str] = []
    for group, title in GROUPS.items():
        lines += ["", said(title)] if lines else [said(title)]
        lines += [
            f"  {field.key:<{width}}{write_setting(field.key, kept.settings)}"
            for field in FIELDS.values()
            if field.group == group
        ]
    return "\n".join(lines)


# `gorkd stats`: how gorkd is used, as a table or as CSV


_COLUMNS = ("asked", "done", "failed", "cached", "p50 s", "p95 s", "high/medium/low/insufficient", "good/bad", "cost")
LEAST_WIDTH = 120  # columns; cut figures say something else than whole ones
Grouping = Literal["day", "tenant", "both"]
_KEYS: dict[Grouping, UsageKey] = {"day": "day", "tenant": "tenant", "both": "tenant and day"}


async def stats_command(
    operating: Operating,
    *,
    tenant: OneTenant = "",
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=1, max=MAX_DAYS, help="Today and the days before it.")
    ] = 30,
    by: Annotated[Grouping, typer.Option("--by", help="A row for each day, each tenant, or both.")] = "both",
    shows_calibration: Annotated[
        bool, typer.Option("--calibration", help="How often High, Medium and Low were right, of all that is kept.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table for spreadsheets.")] = False,
) -> Exit:
    """Raises `StoreError` and `SetupError`."""
    period, wide = Period.of_days(days, now=datetime.now(UTC)), Console(highlight=False)
    wide.width = max(wide.width, LEAST_WIDTH)
    async with operating.open_kept() as kept:
        if shows_calibration:
            print_calibration(wide, await kept.evaluations.judged(tenant))
            return Exit.ANSWERED
        entries = await kept.usage(period, tenant, _KEYS[by])
    if as_csv:
        sys.stdout.write(usage_csv(entries))
    else:
        print_stats(wide, period, entries)
    return Exit.ANSWERED


def print_calibration(console: Console, judged: Sequence[JudgedAnswers]) -> None:
    """A row a level: how often it was right, as votes told and as evaluations did."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    origins: tuple[Origin, ...] = ("votes", "evaluations")
    for name in (said("confidence"), said("votes"), said("evaluations")):
        table.add_column(name, no_wrap=True)
    for level, *told in zip(LEVELS, *(calibration(judged, origin) for origin in origins), strict=True):
        table.add_row(wording.say_level(level), *(row.says for row in told))
    console.print(table)


def print_stats(console: Console, period: Period, entries: Sequence[Usage]) -> None:
    """A row an entry; the tenant and the day only where there is one."""
    if not entries:
        told = said("Nothing was asked from {day} on.", day=say_day(period.begins_at))
        console.print(told, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    has_tenant, has_day = any(entry.tenant for entry in entries), any(entry.day for entry in entries)
    for name in [said("tenant")] * has_tenant + [said("day")] * has_day:
        table.add_column(name, no_wrap=True)
    for head in _COLUMNS:
        table.add_column(said(head), justify="right", no_wrap=True)
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
