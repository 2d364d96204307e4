"""The option that names a workspace or server: a mistyped one is refused, since nothing would be found for it."""

from __future__ import annotations

import re

import typer

_TENANT = re.compile(r"local|(?:discord|slack):\S+")


def known_tenant(text: str) -> str:
    """`text` without spaces around it; empty stays empty. Raises `typer.BadParameter` on what names no tenant."""
    tenant = text.strip()
    if tenant and not _TENANT.fullmatch(tenant):
        raise typer.BadParameter(f"“{tenant}” is none; write local, discord:<guild> or slack:<team>.")
    return tenant
