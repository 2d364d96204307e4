"""kill -9 of a worker while it writes and while it checks: the same findings, and no finished model call paid again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.job import ResearchRequest
from tests.durable.processes import Process, Reader, front
from tests.findings.pages import PAGES, QUESTION
from tests.loopback.findings_responders import findings_responder, mode_in
from tests.loopback.openai_responders import ChatCall, Fault
from tests.loopback.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def stuck_at(mode: str) -> object:
    def respond(call: ChatCall) -> str | Fault:
        return Fault(hang_first=True) if mode_in(call.system) == mode else findings_responder(call)

    return respond


@pytest.mark.parametrize(
    "modes", [("idea", "freeform"), ("library", "idea", "freeform")], ids=["one kind", "several kinds"]
)
async def test_findings_outlive_their_worker(tmp_path: Path, modes: tuple[str, ...]) -> None:
    """S004-03, D8: killed while the report is being written; the ideas are not written again."""
    async with World.of(PAGES) as world:
        env = world.env(tmp_path, "tavily", model=True)
        world.model.respond = stuck_at("freeform")  # type: ignore[assignment]  # one of its kinds
        worker = await Process.start("worker", env)
        try:
            async with front(env) as house:
                job = await house.researcher.submit(ResearchRequest(QUESTION, modes=modes))
                reader = Reader()
                following = asyncio.create_task(reader.follow(house, job.id))
                await asyncio.wait_for(world.model.hanging.wait(), 30)
                await reader.until(lambda: "Ideas: written" in str(reader.events[-1].data))
                await worker.killed()
                world.model.respond = findings_responder
                worker = await Process.start("worker", env)
                done = await following
        finally:
            await worker.killed()
    written = [mode_in(call.system) for call in world.model.calls]

    assert done["status"] == "completed"
    found = done["result"]["findings"]
    assert found["modes"] == ["idea", "freeform"]
    assert len(found["ideas"]) == len(PAGES)
    assert found["report"]["content"].startswith("## Abstract")
    assert reader.attempts >= {2}
    assert written.count("freeform") == 2
    assert written.count("idea") == 1
