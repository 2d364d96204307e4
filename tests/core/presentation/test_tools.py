"""Tools for other programs: the library's and the reference check, and what is told after a failure (N-29)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping

import jsonschema
import pytest

from core.model.errors import InvalidQuery, JobNotFound, ModelTimeout
from core.model.job import LOCAL, Event, Json, ResearchRequest, Scope, personal
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.tools import TOOLS, ToolResult, check_names, share_tool
from core.watch.tools import WATCH_TOOLS
from tests.core.library import samples as papers
from tests.core.library.test_library_mode import written
from tests.core.modes import test_references as references
from tests.core.receipts.samples import PAGES, QUESTION, TALL
from tests.fakes import FakeModel, FakeSearch, Idle, hit, make_deps
from tests.golden import samples


class AtOnce(Idle):
    """Runs a job when it is enqueued."""

    def __init__(self, deps: Deps) -> None:
        super().__init__()
        self.deps = deps

    async def enqueue(self, job) -> None:
        await run_job(job.id, self.deps, DirectSteps())


ALL = {**TOOLS, "share": share_tool(samples.LINKS)}


async def called(deps: Deps, tool: str, **params: Json) -> ToolResult:
    """Its result, which has the shape that it promises."""
    steps = [step async for step in ALL[tool].executor(params, Researcher(deps, AtOnce(deps)), LOCAL)]
    assert isinstance(steps[-1], ToolResult)
    jsonschema.validate(steps[-1].data, ALL[tool].output_schema)
    return steps[-1]


async def library(**answers: object) -> Deps:
    deps = make_deps(model=FakeModel(answers))
    await papers.shelve(deps.library, papers.TIDES, papers.YEAST)
    return deps


@pytest.mark.parametrize("tool", [*ALL.values(), *WATCH_TOOLS.values()], ids=lambda tool: tool.name)
def test_a_tool_takes_what_it_names_and_refuses_the_rest(tool):
    """A question may be called by either of its names where it is the only thing that is asked."""
    known = tool.input_schema["properties"]
    either = {"query": "", "question": ""} if tool.name in TOOLS and {"query", "question"} & set(known) else {}
    check_names(tool, {**known, **either})

    with pytest.raises(InvalidQuery, match=f"{tool.name} takes no tenant; it takes {', '.join(known) or 'nothing'}."):
        check_names(tool, {**known, "tenant": "discord:1"})


def test_a_watch_does_not_take_a_question_by_the_name_that_it_leaves_unread():
    with pytest.raises(InvalidQuery, match="takes no query"):
        check_names(WATCH_TOOLS["watch"], {"query": "Why?"})


async def test_papers_are_found_read_and_asked():
    deps = await library(answer=written(f"{papers.CAUSE} [2401.00001v1, page 2]."))

    everything = await called(deps, "library_find")
    found = await called(deps, "library_find", query="Fundy")
    read = await called(deps, "library_read", paper_id="2401.00001", page=3)
    answer = await called(deps, "library_ask", query=papers.QUESTION)

    assert [one["paper_id"] for one in everything.data["papers"]] == [papers.TIDES.id, papers.YEAST.id]
    (passage,) = found.data["papers"]
    assert passage["paper_id"] == papers.TIDES.id
    assert "the Bay of Fundy" in passage["passage"]
    assert found.text.startswith(f"1 passage of 2 papers.\n- {papers.TIDES.id}, page {passage['page']}: ")
    assert "the Bay of Fundy" in found.text
    assert (read.data["pages"], read.data["text"]) == (3, papers.TEXTS[papers.TIDES.id].split("\f")[2])
    assert answer.data["citations"][0]["page"] == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param({"paper_id": "none"}, "library_find lists them", id="no such paper"),
        pytest.param({"paper_id": "2401.00001", "page": 9}, "from 1 to 3", id="no such page"),
        pytest.param({"paper_id": "2401.00001", "page": "1"}, "whole number", id="no number"),
    ],
)
async def test_what_is_not_in_the_library_is_refused(asked: Mapping[str, Json], said: str):
    with pytest.raises(InvalidQuery, match=said):
        await called(await library(), "library_read", **asked)


async def test_references_are_checked():
    deps = references.deps_with(references.Shelved("crossref", references.BATHING, references.COLD))

    done = await called(deps, "check_references", text=references.TEXT, name="paper.md")

    assert [row["verdict"] for row in done.data["references"]] == ["matches", "matches", "not found"]
    assert not done.is_error


async def test_a_failure_tells_what_had_been_found():
    """As deep research does; and says that nobody has checked it."""
    silent = ModelTimeout("late", user_message="The model took too long.")
    deps = read_by(FakeModel({"plan": silent, "answer": silent}))

    done = await called(deps, "research", query=QUESTION)

    assert done.is_error
    assert {source["url"] for source in done.data["sources"]} == set(PAGES)
    assert "unchecked" in done.text
    assert all(url in done.text for url in PAGES)


def read_by(model: FakeModel | None) -> Deps:
    hits = [hit(url, text, rank=rank, is_complete=True) for rank, (url, text) in enumerate(PAGES.items())]
    return make_deps(search=[FakeSearch("web", hits)], model=model)


async def test_an_answer_is_retried_improved_refreshed_shared_and_exported():
    """N-29: a failed job is retried from what it found; each deed names the job that it made."""
    silent = ModelTimeout("late", user_message="The model took too long.")
    model = FakeModel({"plan": silent, "answer": silent})
    deps = read_by(model)
    failed = await called(deps, "research", query=QUESTION)
    late = await called(deps, "retry", job_id=failed.data["job_id"])
    model.answers = {"plan": silent, "answer": json.dumps({"summary": f"{TALL[:-1]} [1].", "detail": ""})}
    answered = await called(deps, "retry", job_id=late.data["job_id"])

    job_id = str(answered.data["job_id"])
    made = [await called(deps, how, job_id=job_id, feedback="Be exact.") for how in ("improve", "refresh", "refresh")]
    jobs = [await deps.jobs.get(str(one.data["job_id"])) for one in made]
    shared, kept = await called(deps, "share", job_id=job_id), await called(deps, "export", job_id=job_id, form="ris")

    assert [one.is_error for one in (answered, *made)] == [False] * 4
    assert late.is_error
    assert "unchecked" in late.text
    assert (jobs[0].request.basis, jobs[0].request.feedback) == (job_id, "Be exact.")
    assert (jobs[1].request.refreshes, jobs[1].id) == (job_id, jobs[2].id)
    assert shared.data["url"] == f"{samples.LINKS.public_url}/jobs/{job_id}"
    assert kept.text.startswith("TY  - ")


@pytest.mark.parametrize("tool", ["retry", "improve", "refresh", "share", "export", "research", "library_ask"])
async def test_what_is_another_tenants_is_not_there(tool: str):
    """Nor what is one person's (its id is not enough to read it), was forgotten, or never was."""
    deps = make_deps()
    asked = [Scope("slack:T1", "workspace"), Scope(LOCAL.tenant, personal("a token's"))]
    others = [await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION, scope)) for scope in asked]

    for job_id in (*(job.id for job in others), "job_none"):
        with pytest.raises(JobNotFound):
            await called(deps, tool, job_id=job_id, query=QUESTION, follow=job_id)


class UnderWay(Researcher):
    """Its jobs have begun, and do not end by themselves."""

    async def follow(self, job_id: str, **_: object) -> AsyncGenerator[Event, None]:
        at = (await self.job(job_id)).created_at
        yield Event(1, "status", 1, at, {"stage": "planning", "message": "Planning", "progress": 0.1})

    async def cancel(self, job_id: str) -> None:
        self.cancelled = job_id


@pytest.mark.parametrize(("tool", "is_cancelled"), [("refresh", False), ("retry", False), ("research", True)])
async def test_who_gives_a_call_up_ends_what_nobody_else_waits_for(tool: str, is_cancelled: bool):
    """What is one job for all who ask may be awaited on a page."""
    researcher = UnderWay(make_deps(), Idle())
    asked = await researcher.submit(ResearchRequest(QUESTION, LOCAL))
    steps = TOOLS[tool].executor({"job_id": asked.id, "query": QUESTION}, researcher, LOCAL)

    await anext(steps)
    await steps.aclose()

    assert hasattr(researcher, "cancelled") == is_cancelled


@pytest.mark.parametrize(
    ("tool", "params"), [("retry", {}), ("export", {"form": "exe"}), ("improve", {"feedback": 7})], ids=str
)  # fmt: skip
async def test_what_makes_no_sense_for_an_answer_is_refused(tool: str, params: Mapping[str, Json]):
    deps = read_by(None)
    answered = await called(deps, "research", query=QUESTION)

    with pytest.raises(InvalidQuery):
        await called(deps, tool, job_id=answered.data["job_id"], **params)
