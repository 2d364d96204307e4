"""Ideas, implementations and reports as people ask for them at the command line, in a loopback world."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gorkd import Researcher
from tests.commands import Ended, gorkd
from tests.core.findings.pages import INVENTED, PAGES, QUESTION, offer_web_search
from tests.loopback.world import World

ALL = "idea,implementation,freeform"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World.of(PAGES) as opened:
        yield opened


async def command(world: World, data: Path, *arguments: str) -> Ended:
    return await gorkd(*arguments, env=world.env(data, "tavily", model=True))


async def test_three_modes_by_our_own_search(world: World, tmp_path: Path) -> None:
    """S004-02, S004-03, D8, S004-10: an endpoint without web_search gets our whole pages; results come as asked for."""
    ended = await command(world, tmp_path, "ask", QUESTION, "--mode", ALL, "--top-k", "2", "--json")

    job = ended.json
    found = job["result"]["findings"]
    assert ended.code == 0
    assert found["modes"] == ALL.split(",")
    assert (len(found["ideas"]), len(found["implementations"])) == (2, 2)
    assert found["report"]["content"].startswith("## Abstract\n\n")
    assert job["result"]["searched"] == "tavily"
    assert {source["provider"] for source in job["sources"]} == {"tavily"}
    assert all(citation["verdict"] == "supported" for citation in job["citations"])
    assert "Report: searching" in ended.err
    assert "buffering is turned off" in world.model.calls[0].user  # beyond the extract that the search gave


async def test_the_models_own_web_search_is_opened_and_checked(world: World, tmp_path: Path) -> None:
    """S004-16, S004-11: pages that the model found are read; one that it invented is marked and no source."""
    offer_web_search(world, also=[INVENTED])

    ended = await command(world, tmp_path, "ask", QUESTION, "--mode", "idea", "--json")
    job = ended.json
    traced = await command(world, tmp_path, "trace", job["job_id"])

    assert ended.code == traced.code == 0
    assert world.model.searches[0]["tools"] == [{"type": "web_search", "search_context_size": "medium"}]
    assert {source["provider"] for source in job["sources"]} == {"web_search"}
    assert all(source["relevance"] > 0 for source in job["sources"])
    assert all("invented" not in idea["source"] for idea in job["result"]["findings"]["ideas"])
    marked = [item for item in job["result"]["items"] if not item["verified"]]
    assert [(item["url"], item["why_unverified"]) for item in marked] == [
        (INVENTED.url, "its address was not among the search results")
    ]
    assert "web_search" in traced.out
    assert " 1 search " in traced.out


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        pytest.param("both", 'The mode "both" is retired; use freeform.', id="retired"),
        pytest.param("quick,nonsense", 'There is no mode "nonsense"; known modes: quick, deep', id="unknown"),
    ],
)
async def test_modes_that_cannot_be_asked_for(world: World, tmp_path: Path, mode: str, words: str) -> None:
    """S004-15: the sentence names what to use instead."""
    ended = await command(world, tmp_path, "ask", QUESTION, "--mode", mode)

    assert ended.code == 2
    assert words in ended.err


async def test_findings_are_taken_into_the_library(world: World, tmp_path: Path) -> None:
    """S004-15: by the job's id, once; questions to the library are then answered from them."""
    job = (await command(world, tmp_path, "ask", QUESTION, "--mode", "idea,freeform", "--json")).json

    added = await command(world, tmp_path, "library", "add", "--job", job["job_id"])
    again = await command(world, tmp_path, "library", "add", "--job", job["job_id"])
    unknown = await command(world, tmp_path, "library", "add", "--job", "job_unknown")
    await command(world, tmp_path, "ask", "--mode", "library", QUESTION)

    assert (added.code, again.code, unknown.code) == (0, 0, 2)
    assert f"{job['job_id']}  Research: {QUESTION}  added" in added.out
    assert "is there already" in again.out
    assert "There is no such job" in unknown.err
    assert f'<source paper="{job["job_id"]}">\nStreaming sends each token' in next(
        call.user for call in reversed(world.model.calls) if call.schema_name == "answer"
    )


async def test_the_synchronous_call_does_the_same(world: World, tmp_path: Path) -> None:
    """S004-01, S004-02: all three modes where none is named; depth and number are passed on."""
    offer_web_search(world)
    researcher = Researcher(world.env(tmp_path, "tavily", model=True))

    findings = await asyncio.to_thread(researcher.research, QUESTION, top_k=1, depth="deep")

    assert findings.modes == ["idea", "implementation", "freeform"]
    assert (len(findings.ideas), len(findings.implementations)) == (1, 1)
    assert findings.report is not None
    assert {search["tools"][0]["search_context_size"] for search in world.model.searches} == {"high"}
    assert len(world.model.searches) == 6
    assert sum("<first_round>" in search["input"] for search in world.model.searches) == 3
    assert findings.to_source().title == f"Research: {QUESTION}"


async def test_the_python_call_gives_verified_findings(world: World, tmp_path: Path) -> None:
    """S004-01, S004-08, S004-15: the same through Python, with the settings that it is handed."""
    offer_web_search(world, also=[INVENTED])
    researcher = Researcher(world.env(tmp_path, "tavily", model=True))

    findings = await researcher.research_async(QUESTION, mode=["implementation", "freeform"], top_k=5)

    assert findings.modes == ["implementation", "freeform"]
    assert [found.dependencies for found in findings.implementations] == [("requests",)] * len(PAGES)
    assert all(found.source.startswith(world.web.url("/")[:12]) for found in findings.implementations)
    assert "## Methodology" in findings.report.content
    assert findings.ideas == []
