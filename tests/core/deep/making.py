"""A deep research job made of fakes: abstracts, pages and a scripted model that reads what it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from adapters.records.traces import SqlTraceStore
from core.model.answer import JobResult
from core.model.config import Settings
from core.model.errors import FetchError
from core.model.job import Event, ResearchJob
from core.model.ports import ChatRequest
from core.model.source import SearchHit, SourceKind
from core.pipeline.deps import Deps
from core.pipeline.runner import run_job
from core.pipeline.tool_traces import ToolTrace, trace_id_of
from tests.core.deep.world import CHLORIDE, QUESTION, Study
from tests.fakes import FakeModel, FakeSearch, Journal, make_deps, make_job
from tests.loopback.deep_responders import DEEP
from tests.loopback.openai_responders import ChatCall, answer_responder, plan_responder, verdicts_responder

T = TypeVar("T")
Answer = Callable[[ChatRequest], str]
PURPOSES = {"refine": "refined_question", "queries": "queries", "facts": "facts", "coverage": "coverage"}


def scripted(**instead: object) -> FakeModel:
    """The scripted model of the loopback world, by purpose; `instead` replaces single answers."""
    usual = {purpose: _reading(DEEP[schema]) for purpose, schema in PURPOSES.items()}
    usual |= {
        "answer": _reading(answer_responder),
        "check": _reading(verdicts_responder),
        "plan": _reading(plan_responder),
    }
    return FakeModel({**usual, **instead})


def _reading(responder: Callable[[ChatCall], object]) -> Answer:
    def answer(request: ChatRequest) -> str:
        call = ChatCall(
            model="fake-1", system=request.system, user=request.user, schema_name=request.schema_name,
            schema=request.schema, max_tokens=request.max_tokens, prompt_tokens=0, key="", at=0.0, body={},
        )  # fmt: skip
        return str(responder(call))

    return answer


def abstract(study: Study, *, rank: int = 0, title: str = "") -> SearchHit:
    return SearchHit(
        "pubmed",
        f"https://pubmed.ncbi.nlm.nih.gov/{study.pmid}/",
        title or study.title,
        study.abstract,
        is_complete=True,
        rank=rank,
        author=study.author,
        kind=SourceKind.PEER_REVIEWED,
    )


def address(study: Study) -> str:
    return f"https://site{study.pmid}.example/study"


def page_text(study: Study) -> str:
    return "\n\n".join([*(text for _, text in study.sections), study.conclusion])


def pubmed(*studies: Study, **more: object) -> FakeSearch:
    hits = [abstract(study, rank=rank) for rank, study in enumerate(studies)]
    return replace(FakeSearch("pubmed", hits, strength="scholarly"), **more)  # type: ignore[arg-type]


def tavily(*studies: Study, **more: object) -> FakeSearch:
    hits = [SearchHit("tavily", address(s), s.title, s.abstract[:60], rank=n) for n, s in enumerate(studies)]
    return replace(FakeSearch("tavily", hits), **more)  # type: ignore[arg-type]


SOUND = tuple(study for study in CHLORIDE if not study.title.startswith("Retracted"))


def deep_deps(
    *,
    model: FakeModel | None = None,
    search: tuple[FakeSearch, ...] | None = None,
    pages: Mapping[str, str | FetchError] | None = None,
    settings: Settings | None = None,
) -> Deps:
    searches = (pubmed(*SOUND), tavily(*SOUND)) if search is None else search
    texts: Mapping[str, str | FetchError] = {address(study): page_text(study) for study in CHLORIDE}
    return make_deps(
        search=searches, pages=texts if pages is None else pages, model=model or scripted(), settings=settings
    )


@dataclass
class Ran:
    """What became of a job: its result, its events and its trace."""

    job: ResearchJob
    result: JobResult | None
    events: list[Event]
    trace: ToolTrace | None

    @property
    def details(self) -> Mapping[str, object]:
        return self.result.details

    @property
    def lines(self) -> list[str]:
        return [str(event.data["data"]["line"]) for event in self.events if "line" in (event.data.get("data") or {})]  # type: ignore[index, operator, union-attr]


async def research(
    deps: Deps, *, query: str = QUESTION, steps: Journal | None = None, id: str = "job_1", **request: object
) -> Ran:
    """One deep job from its submission to its end."""
    job = make_job(query, id=id, modes=("deep",), **request)
    await deps.jobs.save(job)
    await run_job(job.id, deps, steps or Journal(), is_resumable=steps is not None)
    return await look_at(deps, job.id)


async def look_at(deps: Deps, job_id: str) -> Ran:
    assert isinstance(deps.traces, SqlTraceStore)
    return Ran(
        await deps.jobs.get(job_id),
        await deps.jobs.result(job_id),
        await deps.events.read(job_id),
        await deps.traces.get(trace_id_of(job_id)),
    )
