"""One attempt at one job, as whatever researches it sees it; and until when."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from core.model.errors import SetupError
from core.model.job import ResearchJob
from core.model.ports import ChatModel, Steps
from core.pipeline.deps import Deps
from core.pipeline.progress import Progress
from core.presentation.wording import needs_model
from core.stages.gathering import Gathering


@dataclass(frozen=True)
class Deadline:
    """When a job must have ended, in the event loop's time (seconds)."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(asyncio.get_running_loop().time() + seconds)

    def remaining(self, *, reserve_s: float = 0.0) -> float:
        """Seconds left, less `reserve_s` for what must still be done afterwards; never below 0."""
        return max(0.0, self.ends_at - reserve_s - asyncio.get_running_loop().time())


SET_A_MODEL = "Set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible endpoint, such as a local one."


@dataclass(frozen=True)
class Work:
    """What a mode is given for one attempt at one job."""

    job: ResearchJob
    deps: Deps
    steps: Steps
    progress: Progress
    gathering: Gathering
    deadline: Deadline

    def model_for(self, what: str) -> ChatModel:
        """For `what` no rule can do. Raises `SetupError` that says so where no model is configured."""
        if self.deps.model is None:
            words = f"{needs_model(what)} The mode `quick` works without one."
            raise SetupError(f"{what} without a model", user_message=words, operator_message=f"{words} {SET_A_MODEL}")
        return self.deps.model
