"""What `doctor` found: a line for each part, or for each endpoint what it can do."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from core.checkup import Finding, State, Trial, is_healthy
from core.events import Json
from core.presentation.render import one_line

_SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warning": ("look", "yellow"),
    "failed": ("FAIL", "bold red"),
    "off": ("off", "dim"),
}


MOST_COLUMNS, LEAST_COLUMNS = 100, 24  # of a line, which is hard to read when longer; of a column of words


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


def print_trial(console: Console, trial: Trial) -> None:
    """One endpoint; wrapped on a terminal alone, so that a line stays a line in a pipe."""
    console.print(Text(one_line(trial.title), "bold"), soft_wrap=True)
    width = max((len(finding.part) for finding in trial.findings), default=0)
    for finding in trial.findings:
        sign, style = _SIGNS[finding.state]
        head = Text.assemble("  ", (f"{sign:<5}", style), f"{finding.part:<{width}}  ")
        for line in _wrapped(console, finding.says, indent=len(head)):
            console.print(head + Text(line), soft_wrap=True)
            head = Text(" " * len(head))
        for line in _wrapped(console, f"→ {finding.instead}" if finding.instead else "", indent=len(head)):
            console.print(head + Text(line, "dim"), soft_wrap=True)
            head = Text(" " * len(head))
    console.print()


def _wrapped(console: Console, text: str, *, indent: int) -> list[str]:
    """Without an indent where there is none of it to see: a pipe, or a terminal too narrow for columns."""
    plain = one_line(text)
    width = min(console.width, MOST_COLUMNS) - indent
    is_wide = console.is_terminal and width >= LEAST_COLUMNS
    return textwrap.wrap(plain, width) if is_wide else [plain] * bool(plain)


def print_changes(console: Console, trials: Sequence[Trial]) -> None:
    """The lines for `.env`, each once, and whether gorkd can work with what is there."""
    changes = dict.fromkeys(line for trial in trials for finding in trial.findings for line in finding.change)
    if changes:
        console.print(Text("For .env:"))
        for line in changes:
            console.print(Text(f"  {one_line(line)}", "yellow"), soft_wrap=True)
        console.print()
    ill = [trial.title for trial in trials if not trial.is_usable]
    good = "Usable; the lines above make it better." if changes else "Usable as it is."
    console.print(Text(f"Not usable as it is: {'; '.join(ill)}." if ill else good), soft_wrap=True)


def trials_json(trials: Sequence[Trial]) -> dict[str, Json]:
    return {
        "usable": all(trial.is_usable for trial in trials),
        "endpoints": [
            {
                "title": trial.title,
                "findings": [
                    {
                        "part": found.part,
                        "state": found.state,
                        "says": found.says,
                        "instead": found.instead,
                        "change": list(found.change),
                    }
                    for found in trial.findings
                ],
            }
            for trial in trials
        ],
    }
