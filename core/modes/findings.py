"""The modes that list what they find, each item with the page that carries it (core/findings). Code is never run."""

from __future__ import annotations

from core.findings.research import conduct
from core.findings.viewing import finding_files
from core.model.config import FindingsSettings
from core.modes.mode import DEPTH, TOP_K, Mode, Option
from core.text.saying import later


def _mode(name: str, title: str, description: str, options: tuple[Option, ...]) -> Mode:
    return Mode(
        name=name,
        title=title,
        description=description,
        deadline_s=FindingsSettings().deadline_s,
        run=conduct,
        files=finding_files,
        options=options,
        needs_model=True,
    )


IDEA = _mode("idea", later("Ideas"), later("The best ideas and approaches, each with its source"), (TOP_K, DEPTH))
IMPLEMENTATION = _mode(
    "implementation",
    later("Implementations"),
    later("Working code with its dependencies and source"),
    (TOP_K, DEPTH),
)
FREEFORM = _mode("freeform", later("Report"), later("A research report in five sections, like a paper"), (DEPTH,))
