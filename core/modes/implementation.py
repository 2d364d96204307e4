"""Working code for a problem, each with its source; code is parsed and never run (core/findings)."""

from __future__ import annotations

from core.findings.research import conduct
from core.findings.viewing import finding_files
from core.model.config import FindingsSettings
from core.modes.mode import Mode
from core.modes.options import DEPTH, TOP_K

MODE = Mode(
    name="implementation",
    title="Implementations",
    description="Working code with its dependencies and source",
    deadline_s=FindingsSettings().deadline_s,
    run=conduct,
    files=finding_files,
    options=(
        TOP_K,
        DEPTH,
    ),
    needs_model=True,
)
