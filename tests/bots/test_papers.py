"""A question over papers in a whole house: real catalogues and registries over loopback, two papers retracted (D18)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bots.config import read_settings
from bots.wiring import House, open_house
from core.model.job import ResearchJob, ResearchRequest
from core.presentation.render import job_json
from core.stages.deliver import recheck_due
from tests.loopback.registries import Paper, Update
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

QUESTION = "Why do cats purr?"
GONE = {2: frozenset({"crossref"}), 3: frozenset({"openalex"})}  # each known to one registry alone
SERVICES = ("europepmc", "crossref", "openalex")


def paper(number: int) -> Paper:
    told_by = GONE.get(number)
    notice = Update("retraction", f"10.1000/notice.{number}", f"3199999{number}", told_by=told_by or frozenset())
    return Paper(
        f"https://journal.test/{number}",
        f"Why cats purr: colony {number}",
        f"Cats purr because the muscles of the larynx twitch about {20 + number} times a second. "
        f"Cats of colony {number} purr when they are fed.",
        datetime(2015 + number, 3, 5, tzinfo=UTC),
        doi=f"10.1000/cat.{number}",
        pmid=f"3100000{number}",
        updates=(notice,) if told_by else (),
    )


PAPERS = [paper(number) for number in range(1, 9)]


@asynccontextmanager
async def house_with(
    folder: Path, *, faults: dict[str, Fault] | None = None
) -> AsyncIterator[tuple[House, SearchWorld]]:
    async with SearchWorld(PAPERS, faults=faults or {}) as world:
        env = {
            **world.env(*SERVICES),
            "GORKD_DATA": str(folder),
            "GORKD_PROVIDERS": "europepmc",
            "GORKD_REGISTRIES": ",".join(SERVICES),
        }
        async with open_house(env, read_settings(env), grace_s=1.0) as house:
            yield house, world


async def ask(house: House) -> tuple[ResearchJob, dict]:
    job = await house.researcher.submit(ResearchRequest(QUESTION, is_fresh=True))
    async for _ in house.researcher.follow(job.id):
        pass
    return await house.researcher.job(job.id), await shown(house, job.id)


async def settled(house: House) -> dict:
    """The answer once the registries have spoken: in time, as a rule, or just behind it on a busy machine."""
    job, _ = await ask(house)
    assert house.deps.standing is not None
    await recheck_due(house.deps, house.deps.standing)
    return await shown(house, job.id)


async def shown(house: House, job_id: str) -> dict:
    job = await house.researcher.job(job_id)
    return job_json(job, await house.researcher.result(job_id), await house.researcher.sources(job_id))


def retracted(sources: Sequence[dict]) -> set[str]:
    return {source["id"] for source in sources if source["url"][-1] in map(str, GONE)}


def cited_with_a_mark(answer: dict) -> set[str]:
    return {one["source_id"] for one in answer["citations"] if one["verdict"] != "unsupported"}


async def test_what_any_registry_calls_retracted_carries_nothing(tmp_path: Path) -> None:
    """It stands among the sources as retracted, with its notice where one is known."""
    async with house_with(tmp_path) as (house, _):
        answer = await settled(house)

    gone = {source["id"] for source in answer["sources"] if source["quality"] == "retracted"}
    assert gone == retracted(answer["sources"])
    assert len(gone) == 2
    assert cited_with_a_mark(answer)
    assert not cited_with_a_mark(answer) & gone
    notices = [notice for source in answer["sources"] for notice in source["notices"]]
    assert {notice["kind"] for notice in notices} == {"retraction"}
    assert "https://doi.org/10.1000/notice.2" in {notice["url"] for notice in notices}
    assert all(source["version"] == "abstract" for source in answer["sources"])


@pytest.mark.parametrize("service", ["crossref", "openalex"])
async def test_a_registry_that_hangs_costs_its_own_words(service: str, tmp_path: Path) -> None:
    """The answer goes out with what the others know, and is to be looked at again at once."""
    async with house_with(tmp_path, faults={service: Fault(kind="hang")}) as (house, world):
        job, answer = await ask(house)
        due = [job_id for job_id, _ in await house.deps.standing.due(house.deps.clock(), limit=9)]

    known = {number for number, told_by in GONE.items() if service not in told_by}
    said = {int(source["url"][-1]) for source in answer["sources"] if source["quality"] == "retracted"}
    assert answer["status"] == "completed"
    assert world.asked_of(service)
    assert said <= known  # on a busy machine they too may be late
    assert due == [job.id]


async def test_without_registries_nobody_is_asked_about_papers(tmp_path: Path) -> None:
    """As before."""
    async with SearchWorld(PAPERS) as world:
        env = {**world.env(*SERVICES), "GORKD_DATA": str(tmp_path), "GORKD_PROVIDERS": "europepmc"}
        env["GORKD_REGISTRIES"] = "none"
        async with open_house(env, read_settings(env), grace_s=1.0) as house:
            _, answer = await ask(house)

    assert answer["status"] == "completed"
    assert {asked.service for asked in world.asked} == {"europepmc"}
