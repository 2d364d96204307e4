"""A quick question from its submission to its last event, over one page about cats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.model.job import Event, ResearchRequest
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from tests.fakes import FakeSearch, Idle, hit

QUESTION = "Why do cats purr?"
TRUSTED = "https://www.nih.gov/purr"  # of such standing that an answer from it is repeated
PURR = (
    "Cats purr because the muscles of the larynx twitch about 25 times a second. "
    "Purring may help bones heal. The sound was first recorded in 1834 by Gustav Meyer."
)
PLAN = json.dumps(
    {
        "recency": "any",
        "content": "general",
        "queries": ["cat purring larynx"],
        "type": "explanation",
        "language": "en",
        "entities": ["cats"],
        "time": "",
    }
)


def written(summary: str, detail: str = "", citations: Sequence[dict[str, str]] = ()) -> str:
    return json.dumps({"summary": summary, "detail": detail, "citations": list(citations)})


def cat_search(*, url: str = "https://cats.example/purr", **more: Any) -> FakeSearch:
    return FakeSearch("web", [hit(url, PURR, title="Purring", is_complete=True)], **more)


async def research(deps: Deps, query: str = QUESTION, **request: Any) -> list[Event]:
    """Submit, run, and read back the whole log."""
    job = await Researcher(deps, Idle()).submit(ResearchRequest(query, **request))
    await run_job(job.id, deps, DirectSteps())
    return await deps.events.read(job.id)


def final(events: Sequence[Event]) -> Any:
    assert [event.type for event in events].count("complete") == 1
    assert events[-1].type == "complete"
    return events[-1].data
