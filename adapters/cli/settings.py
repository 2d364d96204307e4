"""`gorkd settings`: what a workspace has set for itself, for whoever runs gorkd."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from adapters.cli.running import Exit, Operating, print_json, run_command, say
from core.model.job import Json
from core.presentation import wording
from core.presentation.render import iso_utc, printable
from core.settings.desk import OPERATOR, KeptSettings, SettingChange, SettingsDesk
from core.settings.tenant import FIELDS, GROUPS, read_setting, write_setting

# The option that names a workspace or server: a mistyped one is refused, since nothing would be found for it


_TENANT = re.compile(r"local|(?:discord|slack):\S+")


def known_tenant(text: str) -> str:
    """`text` without spaces around it; empty stays empty. Raises `typer.BadParameter` on what names no tenant."""
    tenant = text.strip()
    if tenant and not _TENANT.fullmatch(tenant):
        raise typer.BadParameter(f"“{tenant}” is none; write local, discord:<guild> or slack:<team>.")
    return tenant


LOG_LENGTH = 100
_Tenant = Annotated[
    str,
    typer.Option(
        "--tenant",
        "--workspace",
        metavar="TENANT",
        help="One of local, discord:<guild> or slack:<team>.",
        callback=known_tenant,
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def settings_command(operating: Operating) -> typer.Typer:
    app = typer.Typer(no_args_is_help=True)

    @app.command("show")
    def show(*, tenant: _Tenant = "local", as_json: _Json = False) -> None:
        """Print the settings as they hold now."""
        run_command(lambda: _show(operating, tenant.strip(), as_json=as_json))

    @app.command("set")
    def change(
        key: Annotated[str, typer.Argument(help="The setting, as show names it.", metavar="KEY", show_default=False)],
        value: Annotated[
            str,
            typer.Argument(help="Its new value; several in quotes, with commas.", metavar="VALUE", show_default=False),
        ],
        *,
        tenant: _Tenant = "local",
    ) -> None:
        """Change one setting; it holds from the next question on."""
        run_command(lambda: _set(operating, tenant.strip(), key.strip(), value))

    @app.command("log")
    def log(*, tenant: _Tenant = "local", as_json: _Json = False) -> None:
        """Print who changed what, newest first."""
        run_command(lambda: _log(operating, tenant.strip(), as_json=as_json))

    return app


async def _show(operating: Operating, tenant: str, *, as_json: bool) -> Exit:
    async with operating.open_settings() as desk:
        kept = await desk.show(tenant)
    if as_json:
        written: dict[str, Json] = {key: write_setting(key, kept.settings) for key in FIELDS}
        print_json({"tenant": tenant, "version": kept.version, "settings": written})
    else:
        sys.stdout.write(printable(_listed(kept)) + "\n")
    return Exit.ANSWERED


async def _set(operating: Operating, tenant: str, key: str, value: str) -> Exit:
    async with operating.open_settings() as desk:
        changes = await _save(desk, tenant, key, value)
    for change in changes:
        sys.stdout.write(printable(f"{change.key}: {change.before} → {change.after}") + "\n")
    say(wording.SETTINGS_SAVED if changes else wording.SETTINGS_UNCHANGED)
    return Exit.ANSWERED


async def _save(desk: SettingsDesk, tenant: str, key: str, value: str) -> tuple[SettingChange, ...]:
    kept = await desk.show(tenant)
    return await desk.save(tenant, read_setting(key, value, kept.settings), version=kept.version, who=OPERATOR)


async def _log(operating: Operating, tenant: str, *, as_json: bool) -> Exit:
    async with operating.open_settings() as desk:
        changes = await desk.log(tenant, limit=LOG_LENGTH)
    if as_json:
        rows: list[Json] = [
            {"at": iso_utc(one.at), "who": one.who, "key": one.key, "before": one.before, "after": one.after}
            for one in changes
        ]
        print_json({"tenant": tenant, "changes": rows})
        return Exit.ANSWERED
    for one in changes:
        line = f"{iso_utc(one.at)}  {one.who or 'forgotten'}  {one.key}: {one.before or '-'} → {one.after or '-'}"
        sys.stdout.write(printable(line) + "\n")
    say(f"{wording.counted(len(changes), 'change')} in {tenant}")
    return Exit.ANSWERED


def _listed(kept: KeptSettings) -> str:
    width = max(map(len, FIELDS)) + 2
    lines: list[str] = []
    for group, title in GROUPS.items():
        lines += ["", title] if lines else [title]
        lines += [
            f"  {field.key:<{width}}{write_setting(field.key, kept.settings)}"
            for field in FIELDS.values()
            if field.group == group
        ]
    return "\n".join(lines)
