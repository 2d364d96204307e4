"""How long deep research takes is learned from the scope's earlier jobs (S002-02)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.deep.viewing import USUAL, estimate_from, usual_duration
from core.model.job import LOCAL
from core.pipeline.tool_traces import ToolTrace, TraceStatus
from tests.core.deep.making import deep_deps, research
from tests.fakes import NOW


def trace(minutes: float, cost: float | None) -> ToolTrace:
    return ToolTrace(
        id=f"t{minutes}", scope=LOCAL, user_id="local", org_id=None, tool_name="deep_research", input_params={},
        created_at=NOW, status=TraceStatus.COMPLETED, started_at=NOW, completed_at=NOW + timedelta(minutes=minutes),
        metrics={"cost_usd": cost},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("traces", "sentence"),
    [
        pytest.param([], USUAL, id="none"),
        pytest.param([trace(2, 0.1), trace(3, 0.1)], USUAL, id="too few"),
        pytest.param(
            [trace(2, 0.02), trace(4, 0.04), trace(9, 0.3)],
            "Deep research here typically takes 4 min and costs about $0.04 (the last 3 jobs).",
            id="median, not mean",
        ),
        pytest.param(
            [trace(0.2, None)] * 3,
            "Deep research here typically takes under a minute (the last 3 jobs).",
            id="no price",
        ),
    ],
)
def test_duration_is_refined_by_past_jobs(traces: list[ToolTrace], sentence: str):
    """S002-02, D9: the specification's own words until there is something to learn from."""
    assert usual_duration(estimate_from(traces)) == sentence


async def test_the_card_shows_the_estimate_of_this_scope():
    """D9: the first message of an explicit deep question says how long it takes, and it starts at once."""
    deps = deep_deps()
    for number in range(3):
        await research(deps, query=f"What is chloride good for in case {number}?", id=f"job_{number}0")

    ran = await research(deps, id="job_9")

    told = [event.data["data"] for event in ran.events if "card" in (event.data.get("data") or {})]
    assert told[0]["note"].endswith("(the last 3 jobs).")
    assert told[-1]["card"]["estimate"]["jobs"] == 3
