"""What one deep research found out is offered to the next in the same scope (S002-22, S002-23)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from core.model.errors import PageStatus
from core.model.job import LOCAL, JobStatus, Scope
from core.pipeline.deps import Deps
from tests.core.deep.making import SOUND, Ran, address, deep_deps, page_text, pubmed, research, scripted, tavily
from tests.fakes import NOW, FakePages

LATER = "Which patients with low serum chloride have a higher cardiovascular mortality risk?"
YEAR = timedelta(days=365)


async def after(deps: Deps, *, by: timedelta = timedelta(hours=1), **request: object) -> Ran:
    """A second job, some time later, with nothing new to be found by search."""
    later = replace(
        deps, clock=lambda: NOW + by, providers={name: type(p)(p.name, ()) for name, p in deps.providers.items()}
    )
    model = scripted()
    return await research(replace(later, model=model), query=LATER, id="job_2", **request)


def facts_of(ran: Ran) -> list[str]:
    return list(ran.trace.state["knowledge_base"]["facts"])


async def test_facts_of_an_earlier_job_are_starting_knowledge():
    """S002-22, S002-23: with the day they were read; their sources are this job's own."""
    deps = deep_deps()
    first = await research(deps)

    ran = await after(deps)

    assert set(facts_of(ran)) <= set(facts_of(first))
    assert facts_of(ran) != []
    assert any(line.startswith("  → Starting from") for line in ran.lines)
    assert {entry["learned_on"] for entry in ran.trace.state["knowledge_base"]["evidence"]} == {NOW.date().isoformat()}
    assert any(f"on {NOW.date().isoformat()}" in line for line in ran.result.answer.limitations)
    sources = {source.id: source for source in await deps.sources.sources("job_2")}
    for entry in ran.trace.state["knowledge_base"]["evidence"]:
        assert sources[entry["source_id"]].content[entry["start"] : entry["end"]] == entry["quote"]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"scope": Scope("slack:T1", "channel:C1")}, id="another scope"),
        pytest.param({"scope": Scope(LOCAL.tenant, "user:U1")}, id="somebody's own"),
        pytest.param({"is_fresh": True}, id="asked for afresh"),
    ],
)
async def test_nothing_is_taken_over_from_elsewhere(request_: dict[str, object]):
    """Nothing private leaks, and who asks afresh gets nothing old."""
    deps = deep_deps()
    await research(deps)

    ran = await after(deps, **request_)

    assert facts_of(ran) == []


async def test_an_old_fact_is_looked_up_again():
    """S002-22: older than its kind of question allows, it must still stand in the page and in PubMed."""
    web_only = (tavily(*SOUND),)
    deps = deep_deps(search=web_only)
    await research(deps)
    changed = {address(study): page_text(study) for study in SOUND} | {address(SOUND[0]): "Nothing of it is left here."}
    gone = {**changed, address(SOUND[1]): PageStatus(address(SOUND[1]), 404)}

    ran = await after(replace(deps, pages=FakePages(gone)), by=YEAR)

    urls = {source["url"] for source in ran.details["sources"]}
    assert address(SOUND[0]) not in urls
    assert address(SOUND[1]) not in urls
    assert address(SOUND[2]) in urls
    days = {entry["learned_on"] for entry in ran.trace.state["knowledge_base"]["evidence"]}
    assert days == {(NOW + YEAR).date().isoformat()}


async def test_a_paper_that_was_retracted_since_is_dropped():
    """S002-22: an old fact from PubMed is asked for by its id, and its retraction is seen."""
    deps = deep_deps(search=(pubmed(*SOUND),))
    await research(deps)
    papers = pubmed(*SOUND)
    papers.hits = [replace(hit, title=f"[Retracted] {hit.title}") for hit in papers.hits]

    later = replace(deps, clock=lambda: NOW + YEAR, providers={"pubmed": papers}, model=scripted())
    ran = await research(later, query=LATER, id="job_2")

    assert any(query.text.endswith("[uid]") for query in papers.asked)
    assert facts_of(ran) == []
    assert ran.job.status is JobStatus.COMPLETED
