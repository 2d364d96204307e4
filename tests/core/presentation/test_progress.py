"""What a running job tells the world, and that telling never fails it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.records.jobs import SqlEventLog, SqlJobStore
from core.model.answer import Claim, Evidence, Verdict
from core.model.errors import StaleAttempt, StoreError
from core.model.job import Event, EventType, JobStatus, ResearchJob
from core.pipeline.deps import Deps
from core.pipeline.work import Progress
from core.presentation.wording import STATUS_MESSAGES
from core.text.saying import speaking
from tests.fakes import NOW, Ledger, make_deps, make_job, make_source
from tests.records import MemoryTables

EVIDENCE = Evidence("src_1", "The Moon pulls.", 0, 15, Verdict.SUPPORTED)


async def begin(deps: Deps | None = None) -> tuple[Progress, Deps]:
    deps = deps or make_deps()
    job = make_job("Why tides?")
    await deps.jobs.save(job)
    return Progress(job, deps), deps


class BrokenEvents(SqlEventLog):
    """A log that fails every append with its error."""

    def __init__(self, tables: MemoryTables, error: Exception) -> None:
        super().__init__(tables, clock=lambda: NOW)
        self.error = error

    async def append(self, job_id: str, attempt: int, type: EventType, data: object) -> Event:
        raise self.error


class BrokenJobs(SqlJobStore):
    """A store that takes a job once and then fails with its error."""

    def __init__(self, tables: MemoryTables, error: Exception) -> None:
        super().__init__(tables)
        self._error = error

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        if job.status is not JobStatus.PENDING:
            raise self._error
        return await super().save(job, dedupe_key=dedupe_key)


def broken_deps(broken: str, error: Exception) -> Deps:
    tables = MemoryTables()
    deps = make_deps(tables=tables)
    if broken == "events":
        return replace(deps, events=BrokenEvents(tables, error))
    return replace(deps, jobs=BrokenJobs(tables, error))


@pytest.mark.parametrize(
    "status", [JobStatus.PLANNING, JobStatus.SEARCHING, JobStatus.FETCHING, JobStatus.SYNTHESIZING]
)
async def test_a_status_is_stored_with_the_job_and_told(status: JobStatus) -> None:
    """G-01: the job's status is what was last told, in the same words everywhere."""
    progress, deps = await begin()

    await progress.status(status, data={"queries": ["tides"]})

    assert (await deps.jobs.get("job_1")).status is status
    (event,) = await deps.events.read("job_1")
    assert event.type == "status"
    assert event.data["stage"] == status.value
    assert event.data["message"] == STATUS_MESSAGES[status]
    assert event.data["data"] == {"queries": ["tides"]}


async def test_progress_is_told_in_the_language_of_the_job() -> None:
    """N-28: whoever asked in German reads in German what is being done, wherever it is shown."""
    progress, deps = await begin()

    with speaking("de"):
        await progress.status(JobStatus.PLANNING)

    (event,) = await deps.events.read("job_1")
    assert event.data["message"] == "Suche wird geplant"


async def test_progress_only_grows() -> None:
    """From 0 to below 1 in the order of the stages: only `complete` is the end."""
    progress, deps = await begin()

    for status in (JobStatus.PLANNING, JobStatus.SEARCHING, JobStatus.FETCHING, JobStatus.SYNTHESIZING):
        await progress.status(status)

    shares = [float(str(event.data["progress"])) for event in await deps.events.read("job_1")]
    assert shares == sorted(set(shares))
    assert all(0 < share < 1 for share in shares)


async def test_a_status_may_have_words_of_its_own() -> None:
    progress, deps = await begin()

    await progress.status(JobStatus.SEARCHING, message="Searching once more")

    assert (await deps.events.read("job_1"))[0].data["message"] == "Searching once more"


@pytest.mark.parametrize(("source_id", "told"), [("src_3", "src_3"), ("src_0", None)])
async def test_a_source_is_told_with_its_number_once_it_has_one(source_id: str, told: str | None) -> None:
    """A source is told as soon as it is read; numbers come with the ranking."""
    progress, deps = await begin()

    await progress.source(replace(make_source(3, "x", title="Tides"), id=source_id))

    (event,) = await deps.events.read("job_1")
    assert event.type == "source"
    assert dict(event.data) == {
        "id": told,
        "url": "https://site3.example/page",
        "title": "Tides",
        "domain": "site3.example",
        "provider": "web",
    }


@pytest.mark.parametrize(
    ("verdict", "mark"),
    [(Verdict.SUPPORTED, "✓"), (Verdict.PARTIAL, "◐"), (Verdict.MOVED, "↪"), (Verdict.UNCHECKED, "◐")],
)
@pytest.mark.parametrize("section", ["summary", "detail"])
async def test_a_sentence_is_told_with_its_section_verdict_and_mark(verdict: Verdict, mark: str, section: str) -> None:
    """The marks of DESIGN's streaming: one a verdict."""
    progress, deps = await begin()

    evidence = replace(EVIDENCE, verdict=verdict)
    await progress.sentence(Claim(f"{section}-4", "The Moon pulls", verdict, (evidence,)), "The Moon pulls [1].")

    (event,) = await deps.events.read("job_1")
    assert event.type == "answer"
    assert dict(event.data) == {
        "section": section,
        "id": f"{section}-4",
        "text": "The Moon pulls [1].",
        "verdict": verdict.value,
        "mark": mark,
        "before": " ",
    }


async def test_what_is_retracted_has_no_text() -> None:
    """The same id with null removes the sentence."""
    progress, deps = await begin()
    await progress.sentence(Claim("summary-0", "x", Verdict.SUPPORTED, (EVIDENCE,)), "x [1].")

    await progress.retract("summary-0")

    assert [(event.data["id"], event.data["text"]) for event in await deps.events.read("job_1")] == [
        ("summary-0", "x [1]."),
        ("summary-0", None),
    ]


@pytest.mark.parametrize("broken", ["events", "jobs"])
async def test_a_store_that_fails_costs_no_answer(broken: str) -> None:
    """S003-18: logged, counted by type, and the job goes on."""
    error = StoreError("disk full")
    deps = broken_deps(broken, error)
    progress, deps = await begin(deps)

    await progress.status(JobStatus.SEARCHING)

    assert progress.job.status is JobStatus.SEARCHING
    assert isinstance(deps.record, Ledger)
    assert deps.record.values("errors", "deliver:StoreError") == [1]


@pytest.mark.parametrize("broken", ["events", "jobs"])
async def test_an_older_attempt_stops_at_once(broken: str) -> None:
    """A stalled worker that wakes up may no longer write: the error passes, and nothing is counted as a fault."""
    error = StaleAttempt("attempt 2 owns the job")
    deps = broken_deps(broken, error)
    progress, deps = await begin(deps)

    with pytest.raises(StaleAttempt):
        await progress.status(JobStatus.SEARCHING)

    assert isinstance(deps.record, Ledger)
    assert deps.record.kept == []
