"""A library of six short papers, a brief, and a model that summarises, scores, searches and writes as it is told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from adapters.records.library import SqlLibrary
from core.library.paper import Index, Paper, PaperChunk
from core.model.config import SectionSettings
from core.model.errors import ToolsUnsupported
from core.model.job import LOCAL, Attachment
from core.model.ports import ChatRequest, Vector
from core.pipeline.deps import Deps
from core.pipeline.runner import DirectSteps, run_job
from tests.fakes import FakeModel, make_deps, make_job
from tests.loopback.openai_responders import hashed_vector

AT = datetime(2026, 3, 1, tzinfo=UTC)
BRIEF = """
concept:
  description: Tides in harbours depend on the moon and the wind.
  open_questions:
    - How much does the wind add to a tide?
hypothesis:
  description: Wind adds a tenth to the height of a tide.
  method_combination: Tide gauges combined with anemometers.
"""
SENTENCES = (
    "The moon pulls the water of the oceans and causes the tides of the world.",
    "Strong wind raised the tide in the harbour of Brest by 40 centimetres.",
    "Tide gauges measured the height of the water every ten minutes.",
    "Anemometers on the pier measured the speed of the wind.",
    "The sun adds about half as much to the tides as the moon.",
    "Storm surges flooded the coast of Holland in 1953.",
)


USUAL = SectionSettings()


class Hashing:
    """An `EmbeddingModel` of hashed words."""

    name = "hashing"

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [hashed_vector(text) for text in texts]


def paper(number: int, **fields: object) -> Paper:
    known: dict[str, object] = {"authors": (f"Author{number}, A.",), "published": "2020", **fields}
    title = str(known.pop("title", f"Study {number} of Water"))
    return Paper(f"240{number}.0000{number}", title, f"hash-{number}", AT + timedelta(days=number), **known)  # type: ignore[arg-type]


PAPERS = tuple(paper(number) for number in range(1, 7))
KEYS = tuple(f"author{number}2020study" for number in range(1, 7))


async def shelve(library: SqlLibrary, papers: Sequence[Paper] = PAPERS, *, chunks_each: int = 1) -> None:
    for entry, sentence in zip(papers, SENTENCES, strict=False):
        parts = [f"{sentence} Part {at} of it." if at else sentence for at in range(chunks_each)]
        text = "\n\n".join(parts)
        chunks = []
        for at, part in enumerate(parts):
            start = text.index(part)
            (vector,) = await Hashing().embed([part])
            chunks.append(PaperChunk(entry, at, part, start, start + len(part), embedding=vector))
        await library.put(LOCAL, entry, text, {Index.SUMMARY: [], Index.CONTENT: chunks}, b"")


def items(call: ChatRequest) -> list[str]:
    """The texts of the numbered blocks of a prompt."""
    return re.findall(r'<source id="\d+">\n(.*?)\n</source>', call.user, re.DOTALL)


def summaries(call: ChatRequest) -> str:
    rows = [{"number": at, "summary": f"It says: {text}"} for at, text in enumerate(items(call), start=1)]
    return json.dumps({"items": rows})


def scores(call: ChatRequest) -> str:
    return json.dumps({"items": [{"number": at, "score": 0.8} for at in range(1, len(items(call)) + 1)]})


@dataclass
class Agent:
    """Asks for these queries in turn, by structured output, and then has enough."""

    queries: Sequence[str] = ()
    asked: list[ChatRequest] = field(default_factory=list)

    def __call__(self, call: ChatRequest) -> str:
        self.asked.append(call)
        if call.tools:
            raise ToolsUnsupported("no tools")
        made = call.user.count("You searched for")
        if made < len(self.queries):
            return json.dumps({"missing": "more", "action": "search", "query": self.queries[made]})
        return json.dumps({"missing": "nothing is missing", "action": "enough", "query": ""})


def model(prose: str, *, agent: Callable[[ChatRequest], str] | None = None, **answers: object) -> FakeModel:
    usual: Mapping[str, object] = {
        "summaries": summaries,
        "scores": scores,
        "agent": agent or Agent(),
        "section": json.dumps({"text": prose}),
    }
    return FakeModel({**usual, **answers})


async def written(
    chat: FakeModel,
    *,
    query: str = "Write the introduction",
    brief: str = BRIEF,
    section: SectionSettings = USUAL,
    **shelf: int,
):
    """Deps, the job and its result."""
    deps: Deps = make_deps(model=chat)
    deps = replace(deps, settings=replace(deps.settings, section=section))
    assert isinstance(deps.library, SqlLibrary)
    await shelve(deps.library, **shelf)
    job = await deps.jobs.save(make_job(query, modes=("section",), attachments=("paper.yaml",)))
    await deps.jobs.attach(job, [Attachment("paper.yaml", "application/yaml", "paper.yaml", brief)])
    await run_job(job.id, deps, DirectSteps())
    return deps, await deps.jobs.get(job.id), await deps.jobs.result(job.id)
