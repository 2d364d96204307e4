"""Iterative research: minutes instead of seconds, by a checklist that can be steered (core/deep)."""

from __future__ import annotations

from core.deep.research import conduct
from core.modes.mode import ROUNDS, Mode
from core.text.saying import later

MODE = Mode(
    name="deep",
    title=later("Deep research"),
    description=later("Rounds of search and reading by a checklist, typically 1–3 minutes"),
    deadline_s=600.0,
    run=conduct,
    is_steerable=True,
    options=(ROUNDS,),
    needs_model=True,
)
