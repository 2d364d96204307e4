"""How far each of the modes is, a line each, while they run at once."""

from __future__ import annotations

from collections.abc import Sequence

from core.events import Json
from core.findings.results import ResearchMode
from core.job import JobStatus, furthest_behind
from core.presentation.progress import Progress

TITLES: dict[ResearchMode, str] = {"idea": "Ideas", "implementation": "Implementations", "freeform": "Report"}


class Telling:
    """The job's status is that of the mode that is furthest behind."""

    def __init__(self, progress: Progress, modes: Sequence[ResearchMode]) -> None:
        self._progress = progress
        self._doing: dict[ResearchMode, tuple[str, JobStatus]] = dict.fromkeys(modes, ("starting", JobStatus.SEARCHING))

    async def doing(self, mode: ResearchMode, what: str, status: JobStatus) -> None:
        """One mode has come further; the others' lines are told again."""
        self._doing[mode] = (what, status)
        stage = furthest_behind(status for _, status in self._doing.values())
        parts: list[Json] = [f"{TITLES[name]}: {said}" for name, (said, _) in self._doing.items()]
        line = f"{TITLES[mode]}: {what}"
        await self._progress.status(stage, message=line, data={"line": line, "parts": parts, "mode": mode})
