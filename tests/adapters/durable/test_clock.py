"""The machine's clock is set an hour forward or back under running workers (libfaketime)."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path

import pytest

from core.model.job import ResearchRequest
from tests.adapters.durable.outside import QUESTION, calls, hang_at, heal
from tests.adapters.durable.processes import Process, Reader, front
from tests.loopback.world import World
from tests.shared_data import ROOT

HOUR = 3600
# Under libfaketime each `time.sleep` of Python 3.11 ends at once with EINVAL (it sleeps until a moment of the
# stopwatch, which the library moves although told not to); to wait for an event is left alone.
SLEEPING = "import threading, time\ntime.sleep = lambda seconds: threading.Event().wait(seconds) and None\n"


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """A file that says by how much the clock of processes with `moved` is off."""
    if not libraries():
        if os.environ.get("CI") == "true":
            pytest.fail("libfaketime is not installed")
        pytest.skip("libfaketime is not installed")
    file = tmp_path / "clock"
    file.write_text("+0")
    (tmp_path / "sitecustomize.py").write_text(SLEEPING)
    return file


def libraries() -> list[Path]:
    return [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), *Path("/usr/lib").glob("faketime/libfaketime.so.1")]


def set_clock(file: Path, seconds: int) -> None:
    file.write_text(f"{seconds:+d}")


def moved(env: dict[str, str], clock: Path) -> dict[str, str]:
    """The settings of a process whose wall clock follows the file; its stopwatch runs as ever."""
    return {
        **env,
        "PYTHONPATH": f"{clock.parent}{os.pathsep}{ROOT}",
        "LD_PRELOAD": str(libraries()[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",  # second; reading the file each time would cost more than the work
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


@pytest.mark.slow
@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
async def test_clock_that_jumps_disturbs_nothing(
    jump: int, world: World, anywhere: dict[str, str], clock: Path
) -> None:
    """A running job is neither late nor taken from its worker, rate limits let pass, and new jobs are answered."""
    world.model.first_token_s = 8.0  # longer than it takes to suspect a worker
    env = {**moved(anywhere, clock), "GORKD_SEARCH_RATES": "tavily=30/10"}
    workers = await asyncio.gather(*(Process.start("worker", env) for _ in range(2)))
    async with front(anywhere) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await reader.until(lambda: bool(reader.events) and reader.events[-1].data.get("stage") == "synthesizing")
        set_clock(clock, jump)
        done = await following
        world.model.first_token_s = 0.0
        later = await house.researcher.submit(ResearchRequest("How high is the tide in the Bay of Fundy?"))
        last = await Reader().follow(house, later.id, within_s=40)
    log = [line for worker in workers for line in worker.lines]
    await asyncio.gather(*(worker.killed() for worker in workers))

    assert (done["status"], last["status"]) == ("completed", "completed")
    assert reader.attempts == {1}
    assert (calls(world, "plan"), calls(world, "answer")) == (2, 2)
    assert [line for line in log if line.get("event") == "took over from a silent worker"] == []
    assert seconds_apart(log) > HOUR / 2  # the clock did jump


def seconds_apart(log: list[dict[str, str]]) -> float:
    times = sorted(datetime.fromisoformat(line["ts"]) for line in log if "ts" in line)
    return (times[-1] - times[0]).total_seconds()


@pytest.mark.slow
async def test_dead_worker_does_not_live_on_because_the_clock_was_set_back(
    world: World, one_machine: dict[str, str], clock: Path
) -> None:
    """Its job is resumed by another within 20 s, although its last beat lies an hour ahead."""
    hang_at("answer", hang_first=True)(world)
    env = moved(one_machine, clock)
    worker = await Process.start("worker", env)
    async with front(one_machine) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        other = await Process.start("worker", env)
        heal(world)
        set_clock(clock, -HOUR)
        await worker.killed()
        killed_at = asyncio.get_running_loop().time()
        await reader.until(lambda: reader.events[-1].attempt == 2, within_s=40)
        resumed_s = asyncio.get_running_loop().time() - killed_at
        done = await following
    await other.killed()

    print(f"resumed by the other worker {resumed_s:.1f} s after the kill")
    assert done["status"] == "completed"
    assert resumed_s < 20
