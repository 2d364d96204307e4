"""The library through kill -9: a folder that was being added goes on, and so does a question."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from core.library import wording
from core.model.job import ResearchRequest
from tests.adapters.durable.processes import Process, Reader, front
from tests.commands import Ended, gorkd, start
from tests.loopback.openai_responders import Fault, by_schema
from tests.loopback.world import World
from tests.pdfs import make_pdf

Env = dict[str, str]
PAPERS = 12
TIDES = make_pdf(
    ["Tides and the Moon", "Abstract. The tides of the oceans are studied."],
    ["The gravity of the moon pulls the water", "of the oceans and causes the tides."],
)
CAUSE = "The gravity of the moon pulls the water of the oceans and causes the tides"


async def library(*arguments: str, data: str) -> Ended:
    """`gorkd library …`, without a model."""
    return await gorkd("library", *arguments, env={"GORKD_DATA": data})


async def test_adding_a_folder_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    """What was added stays and is not read again, what was in hand is added, and every paper is whole."""
    folder, data = tmp_path / "papers", str(tmp_path / "data")
    folder.mkdir()
    for number in range(PAPERS):
        (folder / f"2401.{number:05}v1.md").write_text(f"# Paper {number}\n\n" + f"The value is {number}. " * 400)

    first = await start("library", "add", str(folder), env={"GORKD_DATA": data})
    assert first.stdout is not None
    seen = [(await first.stdout.readline()).decode() for _ in range(2)]
    first.kill()
    await first.wait()
    second = await library("add", str(folder), data=data)
    validated = await library("validate", data=data)

    lines = second.out.splitlines()
    states = ["there" if line.endswith("is there already") else "added" for line in lines]
    assert all(line.endswith("  added\n") for line in seen)
    assert len(lines) == PAPERS
    assert states == sorted(states, reverse=True)  # first what is there, then what is added
    assert 2 <= states.count("there") < PAPERS
    assert f"{states.count('added')} papers added, {states.count('there')} there already" in second.err
    assert (validated.code, validated.err) == (0, f"gorkd: {PAPERS} papers looked at, 0 faults found\n")


@pytest.mark.slow
async def test_a_question_to_the_library_outlives_its_worker(tmp_path: Path, world: World, one_machine: Env) -> None:
    """The papers and chunks that were found are not looked for again; the answer is written once more."""
    (tmp_path / "2401.00001v1.pdf").write_bytes(TIDES)
    await library("add", str(tmp_path / "2401.00001v1.pdf"), data=one_machine["GORKD_DATA"])
    text = json.dumps({"summary": f"{CAUSE} [2401.00001v1, page 2].", "detail": "", "citations": []})
    world.model.respond = by_schema({"answer": lambda call: Fault(text=text, hang_first=True)})
    worker = await Process.start("worker", one_machine)
    async with front(one_machine) as house:
        asked = ResearchRequest("What causes the tides of the oceans?", modes=("library",))
        job = await house.researcher.submit(asked)
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        await worker.killed()
        world.model.respond = by_schema({"answer": lambda call: text})

        worker = await Process.start("worker", one_machine, wait=False)
        done = await following
        result = await house.researcher.result(job.id)
    await worker.killed()

    told = {
        attempt: [event.data.get("message") for event in reader.events if event.attempt == attempt]
        for attempt in (1, 2)
    }
    assert done["status"] == "completed"
    assert f"{CAUSE} [2401.00001v1, page 2]" in str(result.details["query_result"])
    assert {wording.STAGE_1, wording.STAGE_3} <= set(told[1])
    assert wording.STAGE_3 in told[2]
    assert wording.STAGE_1 not in told[2]
