"""The Python call of S004: `Researcher().research(query, mode=…, top_k=…, depth=…)`, synchronous and asynchronous.

It opens the same parts as the commands, from the environment, answers one question, and closes them again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from bots.config import read_settings
from bots.wiring import open_house
from core.findings.parsing import parse_research_result
from core.findings.results import (
    DEFAULT_TOP_K,
    IdeaResult,
    ImplementationResult,
    ResearchFindings,
    ResearchMode,
    ResearchModeInput,
    ResearchReport,
    ResearchSource,
    normalise_modes,
)
from core.findings.viewing import read_view
from core.model.errors import GorkdError
from core.model.job import Depth, JobStatus, ResearchRequest
from core.presentation.wording import failure_sentence

__all__ = [
    "IdeaResult",
    "ImplementationResult",
    "ResearchFindings",
    "ResearchMode",
    "ResearchModeInput",
    "ResearchReport",
    "ResearchSource",
    "Researcher",
    "parse_research_result",
]


class Researcher:
    """Finds ideas, implementations and a report. `env` are the settings, by default those of the process."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)

    def research(
        self,
        query: str,
        mode: ResearchModeInput | None = None,
        top_k: int = DEFAULT_TOP_K,
        depth: Depth = "light",
    ) -> ResearchFindings:
        """As `research_async`; not to be called where an event loop runs."""
        return asyncio.run(self.research_async(query, mode, top_k, depth))

    async def research_async(
        self,
        query: str,
        mode: ResearchModeInput | None = None,
        top_k: int = DEFAULT_TOP_K,
        depth: Depth = "light",
    ) -> ResearchFindings:
        """All three modes by default. Only what is verified; raises `ValueError` for a mode, `GorkdError` else."""
        modes = normalise_modes(mode)
        request = ResearchRequest(query, modes=modes, top_k=top_k, depth=depth)
        async with open_house(self._env, read_settings(self._env), grace_s=0.0) as house:
            job = await house.researcher.submit(request)
            async for _ in house.researcher.follow(job.id):
                pass
            job, result = await house.researcher.job(job.id), await house.researcher.result(job.id)
        view = read_view(result)
        if job.status is not JobStatus.COMPLETED or view is None:
            raise GorkdError(f"{job.id} ended as {job.status}", user_message=failure_sentence(job))
        return view.findings
