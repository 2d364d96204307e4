"""A full disk and a locked database, in real processes: a clear sentence, nothing broken, and work goes on."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from bots.wiring import House
from core.model.errors import StoreError
from core.model.job import JobStatus, ResearchJob, ResearchRequest
from tests.adapters.durable.outside import QUESTION, calls
from tests.adapters.durable.processes import Process, Reader, front
from tests.adapters.durable.test_kill import ended
from tests.loopback.world import World

Env = dict[str, str]
FILES = ("gorkd.db", "dbos.sqlite")
WAITS = "the job waits for its store"


@contextmanager
def disk(folder: Path, mib: int) -> Iterator[str]:
    """A new folder on a disk of its own; why this user may have none, or nothing."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", folder]
    refused = subprocess.run(mount, capture_output=True, text=True, check=False).stderr.strip()
    try:
        yield refused
    finally:
        if not refused:
            subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own, of 8 MiB."""
    with disk(tmp_path / "disk", 8) as refused:
        if refused:
            pytest.skip(f"this user may not mount a small disk: {refused}")
        yield tmp_path / "disk"


def fill(folder: Path) -> Path:
    """Take what is left of the disk; the file whose removal frees it again."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the right to write, as a process that is stuck does."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def damage(folder: Path) -> dict[str, list[str]]:
    """What SQLite's own check says of each file."""
    found = {}
    for name in FILES:
        with closing(sqlite3.connect(folder / name)) as connection:
            found[name] = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    return found


async def at_the_answer(house: House, world: World) -> ResearchJob:
    """A job that waits for the model's answer."""
    world.model.first_token_s = 2.0
    job = await house.researcher.submit(ResearchRequest(QUESTION))
    reader = Reader()
    async with asyncio.timeout(20):
        async for event in house.researcher.follow(job.id):
            reader.take(event)
            if event.data.get("stage") == "synthesizing":
                break
    return job


async def said(worker: Process, event: str) -> None:
    async with asyncio.timeout(30):
        while not worker.said(event):  # noqa: ASYNC110  # another process says it
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_full_disk_is_named_and_what_runs_goes_on_when_there_is_room(
    world: World, one_machine: Env, small_disk: Path
) -> None:
    """Who asks meanwhile is told why at once; the job that was running is answered, once; both files are whole."""
    env = {**one_machine, "GORKD_DATA": str(small_disk)}
    worker = await Process.start("worker", env)
    async with front(env) as house:
        job = await at_the_answer(house, world)
        ballast = fill(small_disk)
        await said(worker, WAITS)
        with pytest.raises(StoreError) as refused:
            await house.researcher.submit(ResearchRequest("How high is the tide in the Bay of Fundy?"))

        ballast.unlink()
        async with asyncio.timeout(40):
            status = await ended(house, job.id)
        later = await house.researcher.submit(ResearchRequest("How often do spring tides occur?"))
        last = await Reader().follow(house, later.id)
        events = await house.deps.events.read(job.id)
    worker.running.terminate()
    await worker.ended()

    assert "database or disk is full" in refused.value.operator_message
    assert status is JobStatus.COMPLETED
    assert last["status"] == "completed"
    assert [event.type for event in events].count("complete") == 1
    assert damage(small_disk) == {name: ["ok"] for name in FILES}
    assert calls(world, "plan") == 2


@pytest.mark.slow
async def test_full_disk_at_start_is_a_sentence(one_machine: Env, small_disk: Path) -> None:
    """Not a traceback, and not a process that looks ready."""
    fill(small_disk)

    worker = await Process.start("worker", {**one_machine, "GORKD_DATA": str(small_disk)}, wait=False)
    code = await worker.ended(30)

    said_last = worker.lines[-1]["event"]
    assert code != 0
    assert "GORKD_DATA" in said_last
    assert "full" in said_last or "space" in said_last
    assert not any("Traceback" in str(line) for line in worker.lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
async def test_locked_database_costs_time_only(name: str, world: World, one_machine: Env) -> None:
    """A process that holds a file for longer than anybody waits: the job ends when it lets go, and no step is lost."""
    worker = await Process.start("worker", one_machine)
    folder = Path(one_machine["GORKD_DATA"])
    async with front(one_machine) as house:
        job = await at_the_answer(house, world)
        with locked(folder / name):
            if name == "gorkd.db":
                with pytest.raises(StoreError) as refused:
                    await house.researcher.submit(ResearchRequest("How high is the tide in the Bay of Fundy?"))
                assert "another process holds gorkd.db" in refused.value.operator_message
            await asyncio.sleep(9)  # how long it is held
        async with asyncio.timeout(40):
            status = await ended(house, job.id)
            async for _ in house.researcher.follow(job.id):  # its end is told after it is stored
                pass
        events = await house.deps.events.read(job.id)
    worker.running.terminate()
    await worker.ended()

    assert status is JobStatus.COMPLETED
    assert [event.type for event in events].count("complete") == 1
    assert calls(world, "plan") == 1
    assert damage(folder) == {name: ["ok"] for name in FILES}
