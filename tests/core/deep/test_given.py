"""Deep research that starts from something: the sources of an answer, a file, an address, a thread."""

from __future__ import annotations

from dataclasses import replace

from core.model.job import Attachment, JobStatus, Scope
from core.pipeline.runner import DirectSteps, run_job
from tests.core.deep.making import SOUND, address, deep_deps, look_at, pubmed, research, scripted, tavily
from tests.core.deep.world import QUESTION
from tests.fakes import make_job


async def test_deeper_starts_from_the_sources_of_the_quick_answer():
    """Its facts are taken out before anything is searched for, and what is known is not read again."""
    deps = deep_deps(model=scripted())
    quick = make_job(QUESTION, id="job_q")
    await deps.jobs.save(quick)
    await run_job("job_q", deps, DirectSteps())
    earlier = {source.url for source in await deps.sources.sources("job_q")}
    blind = replace(deps, model=scripted(), providers={"tavily": tavily(), "pubmed": pubmed()})

    ran = await research(blind, basis="job_q")

    assert ran.job.status is JobStatus.COMPLETED
    assert earlier != set()
    assert {source["url"] for source in ran.details["sources"]} == earlier
    assert ran.trace.state["knowledge_base"]["facts"] != []
    assert ran.result.answer.citations


async def test_a_basis_of_another_scope_is_not_there():
    """Nothing private leaks through an id."""
    deps = deep_deps(model=scripted())
    await deps.jobs.save(make_job(QUESTION, id="job_q", scope=Scope("slack:T1", "user:U1")))
    await run_job("job_q", deps, DirectSteps())

    ran = await research(replace(deps, providers={"tavily": tavily()}, model=scripted()), basis="job_q")

    assert ran.details["sources"] == []


async def test_a_file_that_came_along_is_read_first():
    """A fact from it is bound to its words as any other's."""
    deps = deep_deps(search=(tavily(),), model=scripted())
    text = f"{SOUND[0].sections[1][1]} {SOUND[0].conclusion}"
    job = make_job(QUESTION, modes=("deep",), attachments=("study.txt",))
    await deps.jobs.save(job)
    await deps.jobs.attach(job, [Attachment("study.txt", "text/plain", "study", text)])

    await run_job(job.id, deps, DirectSteps())
    ran = await look_at(deps, job.id)

    assert [source["title"] for source in ran.details["sources"]] == ["study.txt"]
    assert SOUND[0].conclusion in ran.trace.state["knowledge_base"]["facts"]


async def test_an_address_in_the_question_is_read():
    """Also when no search would find it."""
    deps = deep_deps(search=(tavily(),), model=scripted())

    ran = await research(deps, query=f"{QUESTION} See {address(SOUND[1])}")

    assert [source["url"] for source in ran.details["sources"]] == [address(SOUND[1])]
