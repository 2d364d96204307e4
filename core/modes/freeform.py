"""A research report in five sections, every claim with its source (core/findings)."""

from __future__ import annotations

from core.findings.research import conduct
from core.findings.viewing import finding_files
from core.model.config import FindingsSettings
from core.modes.mode import Mode
from core.modes.options import DEPTH

MODE = Mode(
    name="freeform",
    title="Report",
    description="A research report in five sections, like a paper",
    deadline_s=FindingsSettings().deadline_s,
    run=conduct,
    files=finding_files,
    options=(DEPTH,),
    needs_model=True,
)
