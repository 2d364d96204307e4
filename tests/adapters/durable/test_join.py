"""Identical questions at once, in real processes: one is researched, also when its worker is killed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bots.wiring import House
from core.model.job import ResearchRequest
from tests.adapters.durable.outside import QUESTION, calls, hang_at, heal
from tests.adapters.durable.processes import Process, Reader, front
from tests.bots.test_ask import ask
from tests.loopback.world import World

Env = dict[str, str]
ASKED = 10


async def ask_all(house: House) -> tuple[list[str], list[Reader], list[asyncio.Task[Mapping[str, Any]]]]:
    jobs = await asyncio.gather(*(house.researcher.submit(ResearchRequest(QUESTION)) for _ in range(ASKED)))
    readers = [Reader() for _ in jobs]
    following = [asyncio.create_task(reader.follow(house, job.id)) for reader, job in zip(readers, jobs, strict=True)]
    return [job.id for job in jobs], readers, following


def check_ends(ids: list[str], ends: list[Mapping[str, Any]], readers: list[Reader]) -> None:
    """Each asker has the answer under their own id, one end, and on the screen what the answer says."""
    assert [end["job_id"] for end in ends] == ids
    assert {end["status"] for end in ends} == {"completed"}
    assert len({end["answer"]["summary"] for end in ends}) == 1
    assert sorted(end["metadata"]["cached"] for end in ends) == [False] + [True] * (ASKED - 1)
    for reader, end in zip(readers, ends, strict=True):
        assert [event.type for event in reader.events].count("complete") == 1
        told = " ".join(text for name, text in reader.shown.items() if name.startswith("summary"))
        assert told in {"", end["answer"]["summary"]}


@pytest.mark.parametrize("settings", ["many_machines", pytest.param("one_machine", marks=pytest.mark.slow)])
async def test_ten_identical_questions_cost_one_answer(
    settings: str, world: World, request: pytest.FixtureRequest
) -> None:
    """On two workers, with and without Redis: the model is called as for one."""
    env: Env = request.getfixturevalue(settings)
    world.model.first_token_s = 0.5
    workers = await asyncio.gather(*(Process.start("worker", env) for _ in range(2)))
    async with front(env) as house:
        ids, readers, following = await ask_all(house)
        ends = list(await asyncio.gather(*following))
    await asyncio.gather(*(worker.killed() for worker in workers))

    assert (calls(world, "plan"), calls(world, "answer")) == (1, 1)
    check_ends(ids, ends, readers)


@pytest.mark.slow
async def test_killing_the_worker_of_the_one_that_is_researched_costs_nobody_the_answer(
    world: World, one_machine: Env
) -> None:
    """It goes on where it was, its followers with it, and what was paid for is not paid again."""
    hang_at("answer", hang_after=60)(world)
    worker = await Process.start("worker", one_machine)
    async with front(one_machine) as house:
        ids, readers, following = await ask_all(house)
        for reader in readers:
            await reader.until(lambda reader=reader: bool(reader.shown))  # type: ignore[misc]
        await worker.killed()
        heal(world)
        worker = await Process.start("worker", one_machine)
        ends = list(await asyncio.gather(*following))
    await worker.killed()

    assert (calls(world, "plan"), calls(world, "answer")) == (1, 2)
    check_ends(ids, ends, readers)


@pytest.mark.slow
async def test_two_commands_at_once_share_one_answer(world: World, tmp_path: Path) -> None:
    """`gorkd ask` twice in one data folder, without any worker."""
    world.model.first_token_s = 2.0
    env = world.env(tmp_path, "tavily", model=True)

    first, second = await asyncio.gather(*(ask("--json", QUESTION, env=env) for _ in range(2)))

    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert calls(world, "answer") == 1
    assert first.json["answer"]["summary"] == second.json["answer"]["summary"]
    assert first.json["job_id"] != second.json["job_id"]
