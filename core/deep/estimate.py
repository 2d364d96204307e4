"""How long deep research takes and what it costs, learned from the earlier jobs of the same scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from core.events import Json
from core.trace import ToolTrace

USUAL = "Deep research typically takes 1–3 minutes."  # the specification's own estimate (S002-02)
MIN_JOBS = 3  # fewer say nothing of the next


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
