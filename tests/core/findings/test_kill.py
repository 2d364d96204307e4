"""kill -9 of a worker while it writes and while it checks: the same findings, and no finished model call paid again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.model.job import ResearchRequest
from tests.adapters.durable.processes import Process, Reader, front
from tests.core.findings.pages import PAGES, QUESTION, offer_web_search
from tests.loopback.findings_responders import findings_responder, mode_in
from tests.loopback.openai_responders import ChatCall, Fault
from tests.loopback.web_world import PageSpec
from tests.loopback.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def stuck_at(mode: str) -> object:
    def respond(call: ChatCall) -> str | Fault:
        return Fault(hang_first=True) if mode_in(call.system) == mode else findings_responder(call)

    return respond


async def killed_once(
    env: dict[str, str], modes: tuple[str, ...], at: Callable[[Reader], bool], mend: Callable[[], None]
) -> tuple[Any, Reader]:
    """Ask; when `at` is reached the worker is killed, the outside is mended, and another worker goes on to the end."""
    worker = await Process.start("worker", env)
    try:
        async with front(env) as house:
            job = await house.researcher.submit(ResearchRequest(QUESTION, modes=modes))
            reader = Reader()
            following = asyncio.create_task(reader.follow(house, job.id))
            await reader.until(lambda: at(reader), within_s=30)
            await worker.killed()
            mend()
            worker = await Process.start("worker", env)
            return await following, reader
    finally:
        await worker.killed()


@pytest.mark.parametrize(
    "modes", [("idea", "freeform"), ("library", "idea", "freeform")], ids=["one kind", "several kinds"]
)
async def test_findings_outlive_a_kill_while_they_are_written(tmp_path: Path, modes: tuple[str, ...]) -> None:
    """S004-03, D8: killed while the report is being written; the ideas are not written again."""
    async with World.of(PAGES) as world:
        world.model.respond = stuck_at("freeform")  # type: ignore[assignment]  # one of its kinds

        def mend() -> None:
            world.model.respond = findings_responder

        done, reader = await killed_once(
            world.env(tmp_path, "tavily", model=True),
            modes,
            lambda reader: world.model.hanging.is_set() and "Ideas: written" in str(reader.events[-1].data),
            mend,
        )
    written = [mode_in(call.system) for call in world.model.calls]

    assert done["status"] == "completed"
    found = done["result"]["findings"]
    assert found["modes"] == ["idea", "freeform"]
    assert len(found["ideas"]) == len(PAGES)
    assert found["report"]["content"].startswith("## Abstract")
    assert reader.attempts >= {2}
    assert written.count("freeform") == 2
    assert written.count("idea") == 1


async def test_findings_outlive_a_kill_while_they_are_checked(tmp_path: Path) -> None:
    """S004-03, S004-16: killed while a cited page is being opened; no mode searches and writes again."""
    async with World.of(PAGES) as world:
        offer_web_search(world)
        whole = world.web.pages["/batch"]
        world.web.pages["/batch"] = PageSpec(behaviour="hang")

        done, reader = await killed_once(
            world.env(tmp_path, "tavily", model=True),
            ("idea", "freeform"),
            lambda reader: sum(event.type == "source" for event in reader.events) == len(PAGES) - 1,
            lambda: world.web.pages.update({"/batch": whole}),
        )
    searched = [mode_in(body["instructions"]) for body in world.model.searches]

    assert done["status"] == "completed"
    assert len(done["result"]["findings"]["ideas"]) == len(PAGES)
    assert done["result"]["findings"]["report"]["content"].startswith("## Abstract")
    assert reader.attempts >= {2}
    assert sorted(searched) == ["freeform", "idea"]
    assert {call.schema_name for call in world.model.calls} == {"verdicts"}  # what is checked, and nothing is written
