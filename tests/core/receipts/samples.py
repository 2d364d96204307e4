"""One answered job, researched and checked by the real pipeline over a few scripted pages, and its receipt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from core.model.answer import JobResult
from core.model.job import ResearchJob, ResearchRequest
from core.model.ports import ChatRequest
from core.model.source import Source
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.pipeline.tool_traces import TraceEntry
from core.receipts.container import write_receipt
from core.receipts.receipt import Receipt, build_receipt
from tests.fakes import NOW, FakeModel, FakeSearch, Idle, by_words, hit, make_deps

QUESTION = "How tall is the Eddystone lighthouse?"
TALL = "The Eddystone lighthouse is 49 metres tall and stands on the Eddystone Rocks."
BUILT = "James Douglass designed the present Eddystone lighthouse, and it was finished in 1882."
FREE = "The tower was finished in 1882"
FILLER = "Mariners feared the reef for centuries, and several a tower was lost to storms before this one. "
PAGES = {
    "https://trinity.example/eddystone": f"{FILLER * 60}\n\n{TALL}\n\n{FILLER * 60}",
    "https://towers.example/history": f"{FILLER * 3}\n\n{BUILT} {FILLER * 40}",
}
KEY = bytes(range(32))


@dataclass(frozen=True)
class Answered:
    job: ResearchJob
    result: JobResult
    sources: Sequence[Source]


@cache
def answered() -> Answered:
    """A verbatim sentence and one that the judge confirmed."""
    return asyncio.run(_answer())


@cache
def receipt() -> Receipt:
    told = answered()
    checked = TraceEntry("model", "check", NOW, 0.4, "done", "judge-7b")
    return build_receipt(told.job, told.result, told.sources, [checked], issuer="https://gorkd.test")


@cache
def file(*, is_signed: bool = True) -> bytes:
    return write_receipt(receipt(), KEY if is_signed else None)


async def _answer() -> Answered:
    written = {"summary": f"{TALL[:-1]} [1]. {FREE} [2].", "detail": f"{BUILT[:-1]} [2].", "citations": []}
    plan = {"type": "factual", "language": "en", "entities": ["Eddystone"], "time": "", "recency": "any",
            "content": "general", "queries": [QUESTION]}  # fmt: skip
    model = FakeModel({"plan": json.dumps(plan), "answer": json.dumps(written), "check": _checked})
    hits = [hit(url, text, rank=rank, is_complete=True) for rank, (url, text) in enumerate(PAGES.items())]
    deps = make_deps(search=[FakeSearch("web", hits)], model=model)
    asked = ResearchRequest(QUESTION, asker="U123-somebody", context="")
    job = await Researcher(deps, Idle()).submit(asked)
    await run_job(job.id, deps, DirectSteps())
    result = await deps.jobs.result(job.id)
    assert result is not None
    return Answered(await deps.jobs.get(job.id), result, await deps.sources.sources(job.id))


def _checked(request: ChatRequest) -> str:
    """By words; and that the tower was finished in 1882 is said."""

    def told(item: str, verdict: str) -> str:
        return "supported" if FREE in item and "finished in 1882" in item.partition("<passage>")[2] else verdict

    return by_words(request, told)
