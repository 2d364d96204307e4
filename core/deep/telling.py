"""What a running deep research job says: how long it may take, the lines of its specification (S002-13), and the card.

Every status event carries its line and the whole card, so that whoever looks later or loses a line sees all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from core.deep.state import DeepState
from core.model.events import Json
from core.model.job import JobStatus
from core.pipeline.trace import ToolTrace
from core.presentation.progress import Progress
from core.presentation.wording import counted

USUAL = "Deep research typically takes 1–3 minutes."  # the specification's own estimate (S002-02)
MIN_JOBS = 3  # fewer say nothing of the next
STARTING = "🔍 Starting deep research..."
REFINING = "📝 Refining question and generating research plan..."
COMPLETE = "✓ Research complete. Synthesizing answer..."
REFINED_SHARE = 0.1  # S002-15
FIRST_ROUND_SHARE = 0.3
LAST_ROUND_SHARE = 0.85


@dataclass(frozen=True)
class Estimate:
    """Medians of `jobs` earlier ones; the cost None where the model has no price."""

    minutes: float
    cost_usd: float | None
    jobs: int

    @property
    def sentence(self) -> str:
        cost = f" and costs about ${self.cost_usd:.2f}" if self.cost_usd is not None and self.cost_usd >= 0.005 else ""
        minutes = "under a minute" if self.minutes < 0.75 else f"{round(self.minutes)} min"
        return f"Deep research here typically takes {minutes}{cost} (the last {self.jobs} jobs)."

    def as_json(self) -> dict[str, Json]:
        return {"minutes": round(self.minutes, 2), "cost_usd": self.cost_usd, "jobs": self.jobs}


def estimate_from(traces: Sequence[ToolTrace]) -> Estimate | None:
    """None of too few."""
    lasted = [
        (trace.completed_at - trace.started_at).total_seconds() / 60
        for trace in traces
        if trace.completed_at is not None and trace.started_at is not None
    ]
    if len(lasted) < MIN_JOBS:
        return None
    costs = [cost for trace in traces if isinstance(cost := trace.metrics.get("cost_usd"), int | float)]
    return Estimate(median(lasted), median(costs) if costs else None, len(lasted))


def usual_duration(estimate: Estimate | None) -> str:
    """One sentence for who is about to wait."""
    return estimate.sentence if estimate else USUAL


@dataclass
class Teller:
    """The voice of one attempt. `estimate` is known once the plan is being made."""

    progress: Progress
    max_rounds: int
    estimate: Estimate | None = None
    _stage: str = field(default="starting")
    _iteration: int = 0

    async def starting(self, state: DeepState) -> None:
        await self._say(STARTING, JobStatus.PLANNING, 0.0, state, note=usual_duration(self.estimate))

    async def refining(self, state: DeepState) -> None:
        self._stage = "refining"
        await self._say(REFINING, JobStatus.PLANNING, REFINED_SHARE, state)

    async def planned(self, state: DeepState) -> None:
        line = f"✓ Generated checklist with {len(state.checklist)} items to investigate"
        await self._say(line, JobStatus.PLANNING, REFINED_SHARE, state)

    async def known(self, state: DeepState) -> None:
        line = f"  → Starting from {counted(len(state.facts), 'fact')} of earlier research"
        await self._say(line, JobStatus.PLANNING, REFINED_SHARE, state)

    async def heard(self, line: str, state: DeepState) -> None:
        await self._say(f"  → {line}", JobStatus.PLANNING, share_of(state, self.max_rounds), state)

    async def round(self, number: int, state: DeepState) -> None:
        self._stage, self._iteration = f"iteration_{number}", number
        line = f"🔄 Iteration {number}/{self.max_rounds}"
        await self._say(line, JobStatus.SEARCHING, share_of(state, self.max_rounds), state)

    async def searching(self, state: DeepState) -> None:
        now = state.rounds[-1]
        share = share_of(state, self.max_rounds)
        lines = [f'  → Searching PubMed: "{query}"' for query in now.pubmed]
        lines += [f'  → Searching Web: "{query}"' for query in now.web]
        for line in lines:
            await self._say(line, JobStatus.SEARCHING, share, state, queries=[*now.queries])

    async def processing(self, state: DeepState) -> None:
        line = f"  → Processing {state.rounds[-1].results} results..."
        await self._say(line, JobStatus.FETCHING, share_of(state, self.max_rounds), state)

    async def checked(self, state: DeepState) -> None:
        line = f"  → Checklist: {state.satisfied}/{len(state.checklist)} items satisfied"
        await self._say(line, JobStatus.FETCHING, share_of(state, self.max_rounds), state)

    async def synthesizing(self, state: DeepState) -> None:
        self._stage = "synthesizing"
        await self._say(COMPLETE, JobStatus.SYNTHESIZING, LAST_ROUND_SHARE, state)

    async def _say(
        self,
        line: str,
        status: JobStatus,
        share: float,
        state: DeepState,
        *,
        note: str = "",
        queries: list[Json] | None = None,
    ) -> None:
        data: dict[str, Json] = {
            "line": line,
            "stage": self._stage,
            "iteration": self._iteration,
            "card": card_json(state, self.estimate, max_rounds=self.max_rounds),
        }
        data |= {"note": note} if note else {}
        data |= {"queries": queries} if queries else {}
        await self.progress.status(status, message=line.strip(), share=share, data=data)


def share_of(state: DeepState, max_rounds: int) -> float:
    """How far the search is, between the first round's share and the answer's: by rounds or by items, the more."""
    rounds = (max(1, len(state.rounds)) - 1) / max(1, max_rounds)
    items = state.satisfied / len(state.checklist) if state.checklist else 0.0
    return round(FIRST_ROUND_SHARE + (LAST_ROUND_SHARE - FIRST_ROUND_SHARE) * max(rounds, items), 2)


def card_json(state: DeepState, estimate: Estimate | None, *, max_rounds: int) -> dict[str, Json]:
    """What a message shows while it waits: the plan, and how much of it is covered."""
    items: list[Json] = [
        {"id": item.id, "description": item.description, "coverage": item.coverage.value} for item in state.checklist
    ]
    return {
        "question": state.refined.question or state.question,
        "in_scope": [*state.refined.in_scope],
        "out_of_scope": [*state.refined.out_of_scope],
        "checklist": items,
        "satisfied": state.satisfied,
        "facts": len(state.facts),
        "iteration": len(state.rounds),
        "max_iterations": max_rounds,
        "constraints": [*state.constraints],
        "estimate": estimate.as_json() if estimate else None,
        "duration": usual_duration(estimate),
    }
