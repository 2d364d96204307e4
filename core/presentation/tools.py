"""gorkd as a tool for other programs: what it is called, what goes in and comes out, and how far it is meanwhile.

Each tool is an async generator that yields `ToolProgress` and, last, one `ToolResult` (S002-15).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.deep.output import TOOL_NAME, source_json
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import Event, JobStatus, Json, ResearchJob, ResearchRequest, Scope
from core.model.source import Source
from core.pipeline.conversation import following
from core.pipeline.researcher import Researcher
from core.pipeline.trace import trace_id_of
from core.presentation import wording
from core.presentation.bibliography import answer_markdown
from core.presentation.render import job_json


@dataclass(frozen=True)
class ToolProgress:
    """`progress` is 0…1; `stage` is `refining`, `iteration_1`, …, or the status of a quick job."""

    stage: str
    message: str
    progress: float
    data: Mapping[str, Json]


@dataclass(frozen=True)
class ToolResult:
    """`text` is for whoever reads it; `payload` is `{type, data}`, with data as the tool's output schema says."""

    text: str
    payload: Mapping[str, Json]
    is_error: bool = False

    @property
    def data(self) -> dict[str, Json]:
        data = self.payload["data"]
        return dict(data) if isinstance(data, dict) else {}


ToolSteps = AsyncGenerator[ToolProgress | ToolResult, None]
Executor = Callable[[Mapping[str, Json], Researcher, Scope], ToolSteps]


@dataclass(frozen=True)
class ToolConfig:
    """A tool as it is registered. `streaming` tools tell their progress."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json]
    executor: Executor
    streaming: bool = True


def execute_deep_research(params: Mapping[str, Json], researcher: Researcher, scope: Scope) -> ToolSteps:
    """Raises `InvalidQuery` for wrong parameters, and what refuses the question."""
    rounds = params.get("max_iterations", 10)
    if not isinstance(rounds, int) or isinstance(rounds, bool) or not 1 <= rounds <= 20:
        raise InvalidQuery("max_iterations must be a whole number from 1 to 20.", rule="max_iterations")
    request = ResearchRequest(
        _question(params), scope=scope, modes=("deep",), context=_text(params, "context"), max_iterations=rounds
    )
    return _run(request, researcher, _deep_result)


def execute_research(params: Mapping[str, Json], researcher: Researcher, scope: Scope) -> ToolSteps:
    """Raises `InvalidQuery` for wrong parameters, and what refuses the question."""
    request = ResearchRequest(_question(params), scope=scope, context=_text(params, "context"))
    return _run(request, researcher, _quick_result, after=_text(params, "follow"))


@dataclass(frozen=True)
class _Ended:
    """A job that has ended, with its JSON."""

    job: ResearchJob
    shown: Mapping[str, Json]
    text: str
    sources: Sequence[Source]


async def _run(
    request: ResearchRequest, researcher: Researcher, conclude: Callable[[_Ended], ToolResult], *, after: str = ""
) -> ToolSteps:
    """A job from its submission to its end; who stops listening cancels it. `after` is the job that it follows."""
    if after:
        request = following(await researcher.job(after), request)
    job = await researcher.submit(request)
    has_ended = False
    try:
        async for event in researcher.follow(job.id):
            if event.type == "status":
                yield _progress(event)
        job = await researcher.job(job.id)
        has_ended = True
        result, sources = await researcher.result(job.id), await researcher.sources(job.id)
        text = answer_markdown(job, result, sources) if result else wording.failure_sentence(job)
        yield conclude(_Ended(job, job_json(job, result, sources), text, sources))
    finally:
        if not has_ended:
            with suppress(GorkdError):
                await asyncio.shield(researcher.cancel(job.id))


def _progress(event: Event) -> ToolProgress:
    data = event.data.get("data")
    details = dict(data) if isinstance(data, dict) else {}
    share = event.data.get("progress")
    return ToolProgress(
        stage=str(details.get("stage") or event.data.get("stage")),
        message=str(event.data.get("message")),
        progress=float(share) if isinstance(share, int | float) else 0.0,
        data=details,
    )


def _deep_result(ended: _Ended) -> ToolResult:
    output = ended.shown.get("result")
    if ended.job.status is JobStatus.COMPLETED and isinstance(output, dict):
        return ToolResult(f"Research complete. {ended.text}", {"type": "deep_research_result", "data": output})
    failed: dict[str, Json] = {
        "trace_id": trace_id_of(ended.job.id),
        "answer": "",
        "sources": [source_json(source, ()) for source in ended.sources],  # what was found is not lost
        "checklist_coverage": {"satisfied": [], "gaps": []},
        "iterations_used": 0,
        "status": "error",
    }
    sentence = wording.failure_sentence(ended.job)
    return ToolResult(sentence, {"type": "deep_research_result", "data": failed}, is_error=True)


def _quick_result(ended: _Ended) -> ToolResult:
    keys = ("job_id", "status", "answer", "citations", "sources", "offer")
    data: dict[str, Json] = {key: ended.shown[key] for key in keys}
    is_answered = ended.job.status is JobStatus.COMPLETED
    text = ended.text if is_answered else wording.failure_sentence(ended.job)
    return ToolResult(text, {"type": "research_result", "data": data}, is_error=not is_answered)


def _question(params: Mapping[str, Json]) -> str:
    """Programs that know one of the tools call the other's argument by the name that they know."""
    return _text(params, "query") or _text(params, "question")


def _text(params: Mapping[str, Json], name: str) -> str:
    value = params.get(name, "")
    if not isinstance(value, str):
        raise InvalidQuery(f"{name} must be text.", rule=name)
    return value


_STRING: Mapping[str, Json] = {"type": "string"}
_STRINGS: Mapping[str, Json] = {"type": "array", "items": {"type": "string"}}

# Name, description and schemas are those of the tool's specification, word for word (S002-01 … S002-04).
DEEP_RESEARCH = ToolConfig(
    name=TOOL_NAME,
    title="Deep research",
    description="""Conducts in-depth research on a question using PubMed and web search. Use this when:
- The question requires synthesizing information from multiple sources
- A simple search won't suffice
- The user needs a well-researched, cited answer

Before calling this tool, inform the user that deep research typically takes 1-3 minutes and ask if they'd like to \
proceed.

Do NOT use this for:
- Simple factual lookups
- Questions about the current report/stream content
- Questions that can be answered from context""",
    input_schema={
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The research question to investigate"},
            "context": {
                "type": "string",
                "description": "Optional context about the user's needs, domain, or constraints",
            },
            "max_iterations": {
                "type": "integer",
                "default": 10,
                "description": "Maximum research iterations (default 10)",
            },
        },
        "required": ["question"],
    },
    output_schema={
        "type": "object",
        "properties": {
            "trace_id": dict(_STRING),
            "answer": {"type": "string", "description": "the synthesized answer with inline citations"},
            "sources": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": dict(_STRING),
                        "type": {"type": "string", "enum": ["pubmed", "web"]},
                        "title": dict(_STRING),
                        "url": dict(_STRING),
                        "snippet": dict(_STRING),
                    },
                    "required": ["id", "type", "title", "url", "snippet"],
                },
            },
            "checklist_coverage": {
                "type": "object",
                "properties": {"satisfied": dict(_STRINGS), "gaps": dict(_STRINGS)},
                "required": ["satisfied", "gaps"],
            },
            "iterations_used": {"type": "integer"},
            "status": {"type": "string", "enum": ["completed", "max_iterations_reached", "error"]},
        },
        "required": ["trace_id", "answer", "sources", "checklist_coverage", "iterations_used", "status"],
    },
    executor=execute_deep_research,
)

RESEARCH = ToolConfig(
    name="research",
    title="Quick research",
    description="""Answers one question from a single round of search, in seconds, with every sentence checked against \
the source it cites. Use this for look-ups, recent events and short explanations. `offer` in the result proposes deep \
research where the answer is not sure; ask the user before starting it.""",
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The question, fewer than 2000 characters"},
            "context": {"type": "string", "description": "What the answer should take into account"},
            "follow": {"type": "string", "description": "The job_id of the answer that this question follows"},
        },
        "required": ["query"],
    },
    output_schema={
        "type": "object",
        "properties": {
            "job_id": dict(_STRING),
            "status": dict(_STRING),
            "answer": {"type": ["object", "null"]},
            "citations": {"type": "array", "items": {"type": "object"}},
            "sources": {"type": "array", "items": {"type": "object"}},
            "offer": {"type": ["object", "null"]},
        },
        "required": ["job_id", "status", "answer", "citations", "sources", "offer"],
    },
    executor=execute_research,
)

TOOLS: Mapping[str, ToolConfig] = {tool.name: tool for tool in (DEEP_RESEARCH, RESEARCH)}
