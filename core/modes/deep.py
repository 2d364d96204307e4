"""Iterative research: minutes instead of seconds, by a checklist that can be steered (core/deep)."""

from __future__ import annotations

from core.answer import JobResult
from core.deep.asking import NEEDS_MODEL
from core.deep.research import conduct
from core.errors import SetupError
from core.modes.mode import Mode
from core.modes.options import ROUNDS
from core.work import Work


async def run(work: Work) -> JobResult:
    """Raises `SetupError` without a language model, which no rule can replace here."""
    if work.deps.model is None:
        raise SetupError("deep research without a model", user_message=NEEDS_MODEL)
    return await conduct(work)


MODE = Mode(
    name="deep",
    title="Deep research",
    description="Rounds of search and reading by a checklist, typically 1–3 minutes",
    deadline_s=600.0,
    run=run,
    is_steerable=True,
    options=(ROUNDS,),
    needs_model=True,
)
