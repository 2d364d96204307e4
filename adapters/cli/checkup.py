"""What `doctor` found, one line a part."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from core.checkup import Finding, State, is_healthy
from core.events import Json
from core.render import one_line

_SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warning": ("look", "yellow"),
    "failed": ("FAIL", "bold red"),
    "off": ("off", "dim"),
}


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    width = max((len(finding.part) for finding in findings), default=0)
    for finding in findings:
        sign, style = _SIGNS[finding.state]
        line = Text.assemble((f"{sign:<5}", style), f"{finding.part:<{width}}  ", one_line(finding.says))
        console.print(line, soft_wrap=True)


def findings_json(findings: Sequence[Finding]) -> dict[str, Json]:
    return {
        "healthy": is_healthy(findings),
        "parts": [{"part": found.part, "state": found.state, "says": found.says} for found in findings],
    }
