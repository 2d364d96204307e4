"""The drawing of the errors is the whole tree."""

from __future__ import annotations

import re
from pathlib import Path

import core.model.errors

ROOT = Path(__file__).parents[3]


def test_every_error_stands_in_the_drawing_below_what_it_is_a_kind_of() -> None:
    """Who reads it knows what can happen, also what is defined beside the code that raises it."""
    drawn: dict[str, str] = {}
    above = ["GorkdError"]
    for indent, name in re.findall(
        r"^    ((?:│ {3}| {4})*)[├└]── (\w+)", core.model.errors.__doc__ or "", re.MULTILINE
    ):
        depth = len(indent) // 4
        drawn[name] = above[depth]
        above[depth + 1 :] = [name]
    bases = {
        name: base
        for floor in ("core", "adapters", "bots")
        for path in (ROOT / floor).rglob("*.py")
        for name, named in re.findall(r"^class (\w+)\(([^)]*)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for base in re.findall(r"(?:^|,)\s*(\w+)\s*(?=,|$)", named)
    }
    raised = {name: base for name, base in bases.items() if base == "GorkdError" or base in drawn}

    assert drawn == raised
