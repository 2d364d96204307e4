"""kill -9 of the worker between the searches for a section: it goes on behind the last one and pays nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.model.job import LOCAL, Attachment, ResearchRequest
from tests.adapters.durable.processes import Process, Reader, front
from tests.core.section.shelves import BRIEF, shelve_papers
from tests.loopback.openai_responders import ChatCall, Fault, by_schema
from tests.loopback.section_responders import QUERIES, SECTION, agent_responder
from tests.loopback.world import World


def agent_that_hangs(call: ChatCall) -> str | Fault:
    """After its first search; the one before is made."""
    made = sum(message["role"] == "tool" for message in call.body["messages"])
    return Fault(hang_first=True) if made == 1 else agent_responder(call)


@pytest.mark.slow
async def test_worker_that_is_killed_between_searches_pays_for_none_again(tmp_path: Path) -> None:
    """Resumable at every search: each prompt was answered once, and the section is what it would have been."""
    async with World.of({}) as world:
        env = world.env(tmp_path, "tavily", model=True, embedder=True)
        await shelve_papers(env, LOCAL)
        world.model.respond = by_schema({**SECTION, "": agent_that_hangs})
        worker = await Process.start("worker", env)
        async with front(env) as house:
            request = ResearchRequest("Write the introduction", modes=("section",))
            job = await house.researcher.submit(request, attachments=[Attachment("p.yaml", "", "", BRIEF)])
            reader = Reader()
            following = asyncio.create_task(reader.follow(house, job.id))
            await asyncio.wait_for(world.model.hanging.wait(), 40)
            await worker.killed()
            world.model.respond = by_schema(SECTION)
            paid = [call for call in world.model.calls if call.schema_name.startswith("evidence_")]

            worker = await Process.start("worker", env, wait=False)
            done = await following
            result = await house.researcher.result(job.id)
        await worker.killed()

    assert done["status"] == "completed"
    assert reader.attempts == {1, 2}
    (section,) = result.details["sections"]
    assert [search["query"] for search in section["searches"][1:]] == list(QUERIES)
    prompts = [call.user for call in world.model.calls if call.schema_name.startswith("evidence_")]
    assert len(paid) > 0
    assert len(prompts) == len(set(prompts)) > len(paid)
