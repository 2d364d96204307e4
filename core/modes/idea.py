"""Ideas and approaches, each with the page that carries it (core/findings)."""

from __future__ import annotations

from core.findings.research import conduct
from core.findings.viewing import finding_files
from core.model.config import FindingsSettings
from core.modes.mode import Mode
from core.modes.options import DEPTH, TOP_K

MODE = Mode(
    name="idea",
    title="Ideas",
    description="The best ideas and approaches, each with its source",
    deadline_s=FindingsSettings().deadline_s,
    run=conduct,
    files=finding_files,
    options=(
        TOP_K,
        DEPTH,
    ),
    needs_model=True,
)
