"""docs/architecture.md draws what is there: each file it names, and the way of a job as jobs really go it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from core.model.job import JobStatus, ResearchRequest
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import run_job
from tests.core.cats import QUESTION, TRUSTED, cat_search
from tests.fakes import Idle, Journal, make_deps

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
FILE = re.compile(r"`([\w.*/]+(?:/|\.py|\.md|\.toml))`")
# A row of the table, a numbered step, or another paragraph: within one a file may be named by its last words.
PLACES = [place for place in re.split(r"\n\n|\n(?=\|)", PAGE) if FILE.search(place)]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: " ".join(re.findall(r"\w+", place)[:6]))
def test_every_file_that_is_named_exists(place: str):
    """By its path, or by its name where the same place has named a neighbour or a folder around it."""
    missing = [name for name, candidates in named_in(place) if not any(any(ROOT.glob(path)) for path in candidates)]

    assert missing == []


def test_every_room_is_in_the_table():
    """A room is a folder of a floor with code in it; what lies deeper belongs to its room."""
    rooms = {path.parent.relative_to(ROOT) for floor in ("core", "adapters") for path in (ROOT / floor).glob("*/*.py")}

    assert {str(room) for room in rooms if f"`{room.as_posix()}/`" not in PAGE} == set()


async def test_a_job_takes_the_steps_of_the_diagram():
    """C-04: stored and enqueued by `submit`, then the steps of `quick` in the drawn order, then delivered."""
    deps, queue, journal = deps_of_cats(), Idle(), Journal()
    drawn = re.findall(r'^ +(?:M|M\d) --> M\d\["(\w+): ', PAGE, re.MULTILINE)

    job = await Researcher(deps, queue).submit(ResearchRequest(QUESTION))
    await run_job(job.id, deps, journal)

    assert queue.enqueued == [job.id]
    assert journal.ran == drawn
    assert (await deps.jobs.get(job.id)).status is JobStatus.COMPLETED
    assert (await deps.events.read(job.id))[-1].type == "complete"


async def test_an_earlier_answer_is_delivered_without_a_step():
    """C-04: where the diagram says "yes" neither the queue nor a step is needed."""
    deps, queue, journal = deps_of_cats(), Idle(), Journal()
    first = await Researcher(deps, queue).submit(ResearchRequest(QUESTION))
    waiting = await Researcher(deps, queue).submit(ResearchRequest(QUESTION))
    await run_job(first.id, deps, Journal())

    await run_job(waiting.id, deps, journal)
    again = await Researcher(deps, queue).submit(ResearchRequest(QUESTION))

    assert journal.ran == []
    assert queue.enqueued == [first.id, waiting.id]
    for job in (waiting, again):
        assert (await deps.events.read(job.id))[-1].type == "complete"


def deps_of_cats() -> Deps:
    """A source so good that its answer is repeated."""
    return make_deps(search=[cat_search(url=TRUSTED)])


def named_in(place: str) -> Iterator[tuple[str, list[str]]]:
    """Each file or folder of a place, with the paths it may mean."""
    around: list[str] = [""]
    for name in FILE.findall(place):
        yield name, [f"{folder}{name}" for folder in around]
        if "/" in name:
            folders = name.split("/")[:-1]
            around += ["/".join(folders[:depth]) + "/" for depth in range(2, len(folders) + 1)]
