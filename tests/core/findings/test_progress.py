"""Modes that run at once have a line each in the message that waits."""

from __future__ import annotations

from core.findings.results import Telling
from core.model.job import Event, JobStatus
from core.pipeline.work import Progress
from core.presentation.snapshot import Snapshot
from tests.fakes import make_deps, make_job


async def test_each_mode_has_its_line() -> None:
    """D8: the last thing told of one mode does not hide the others; the status is that of the last in the race."""
    deps, job = make_deps(), make_job("How?")
    telling = Telling(Progress(job, deps), ["idea", "freeform"])

    await telling.doing("idea", "written", JobStatus.SYNTHESIZING)
    await telling.doing("freeform", "searching", JobStatus.SEARCHING)

    events: list[Event] = await deps.events.read(job.id)
    snapshot = Snapshot()
    for event in events:
        snapshot = snapshot.after(event)
    assert snapshot.parts == ("Ideas: written", "Report: searching")
    assert snapshot.stage == "searching"
