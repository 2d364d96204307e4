"""A job that is taken up again: the next attempt, what was shown is taken back, and one end."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from dbos import error

from adapters.durable import worker
from adapters.durable.journal import DurableSettings
from core.model.answer import Claim, JobResult, Verdict
from core.model.codec import encode
from core.model.errors import ModelUnavailable, StaleAttempt, StoreError
from core.model.job import Event, EventType, JobStatus, Json, ResearchJob
from core.pipeline.deps import Deps
from core.pipeline.runner import MAX_ATTEMPTS, DirectSteps, JobCancelled, run_job
from core.pipeline.work import Progress
from core.stages.drafting import NO_DETAIL, NO_REST
from tests.fakes import FakeModel, FakeSearch, hit, make_deps, make_job

T = TypeVar("T")
TWITCH = "Cats purr because the muscles of the larynx twitch about 25 times a second"
PURR = f"{TWITCH}. Purring may help bones heal."


class Failing:
    """Steps that all end so."""

    def __init__(self, how: Exception) -> None:
        self._how = how

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        raise self._how


def cats() -> Deps:
    return make_deps(search=[FakeSearch("web", [hit("https://cats.example/purr", PURR, is_complete=True)])])


async def begun(deps: Deps, *, attempt: int = 1) -> ResearchJob:
    """A job whose worker died while two sentences were on the screen."""
    job = replace(make_job("Why do cats purr?"), attempt=attempt)
    progress = Progress(job, deps)
    await progress.status(JobStatus.PLANNING)
    await progress.status(JobStatus.SYNTHESIZING)
    await progress.sentence(Claim("summary-0", "Cats purr.", Verdict.SUPPORTED), "Cats purr [1].")
    await progress.sentence(Claim("summary-1", "Dogs bark.", Verdict.SUPPORTED), "Dogs bark [1].")
    await progress.retract("summary-1")
    return progress.job


def shown(events: list[Event]) -> dict[str, str]:
    standing = {str(event.data["id"]): event.data["text"] for event in events if event.type == "answer"}
    return {name: str(text) for name, text in standing.items() if text is not None}


async def test_what_an_earlier_attempt_has_shown_is_taken_back_first() -> None:
    """No reader sees text twice; each sentence that stood is removed once, before anything new."""
    deps = cats()
    job = await begun(deps)

    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    events = await deps.events.read(job.id)
    second = [event for event in events if event.attempt == 2]
    answers = [event for event in second if event.type == "answer"]
    assert (answers[0].data["id"], answers[0].data["text"]) == ("summary-0", None)
    assert [event.data["id"] for event in answers if event.data["text"] is None] == ["summary-0"]
    assert all("[1]" in text for text in shown(events).values())
    assert events[-1].type == "complete"
    assert events[-1].data["status"] == "completed"


@pytest.mark.parametrize(
    ("detail", "told"), [("", NO_DETAIL), ("Purring may help bones heal [1].", NO_REST)], ids=["summary", "detail"]
)
async def test_what_a_killed_worker_had_shown_stays_when_the_model_is_then_away_for_good(
    detail: str, told: str
) -> None:
    """As where the endpoint dies in the midst of an answer: checked anew, with the place of the break."""
    gone = ModelUnavailable("gone")
    deps = replace(cats(), model=FakeModel({"plan": gone, "answer": gone, "check": gone}))
    job = replace(make_job("Why do cats purr?"), attempt=1)
    progress = Progress(job, deps)
    await progress.status(JobStatus.SYNTHESIZING)
    await progress.sentence(Claim("summary-0", "", Verdict.SUPPORTED), "Dogs bark at night [1].")
    await progress.sentence(Claim("summary-1", "", Verdict.SUPPORTED), f"{TWITCH} [1].")
    await progress.sentence(Claim("detail-0", "", Verdict.SUPPORTED), detail or None)
    again = Progress(replace(progress.job, attempt=2), deps)  # killed before it showed anything
    await again.status(JobStatus.SYNTHESIZING)
    await again.take_back()

    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    end = (await deps.events.read(job.id))[-1]
    assert (end.type, end.attempt, end.data["status"]) == ("complete", 3, "completed")
    answer: Any = end.data["answer"]
    assert (answer["summary"], answer["detail"]) == (
        (f"[…] {TWITCH} [1].", f"{detail} […]") if detail else (f"[…] {TWITCH} [1]. […]", "")
    )
    assert told in answer["limitations"]
    assert [claim["verdict"] for claim in answer["claims"]] == ["supported"] * (2 if detail else 1)


async def test_attempt_that_was_overtaken_writes_no_more() -> None:
    """A stalled worker that wakes up is refused by the store and by the log."""
    deps = cats()
    job = await begun(deps)
    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    with pytest.raises(StaleAttempt):
        await Progress(job, deps).status(JobStatus.SYNTHESIZING)

    assert [event.type for event in await deps.events.read(job.id)].count("complete") == 1


async def test_steps_that_are_replayed_take_nothing_back() -> None:
    """Died between the last step and the end: the sentences on the screen are the answer's."""
    deps = cats()
    kept: dict[str, Any] = {}

    class Journal:
        async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
            if name not in kept:
                kept[name] = await step()
            return kept[name]  # type: ignore[no-any-return]

    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)
    await run_job(job.id, deps, Journal())
    before = shown(await deps.events.read(job.id))
    await deps.jobs.save(replace(job, attempt=1, status=JobStatus.SYNTHESIZING))

    await run_job(job.id, deps, Journal(), is_resumable=True)

    assert before != {}
    assert shown(await deps.events.read(job.id)) == before


async def test_end_that_was_stored_but_not_told_is_told() -> None:
    """Followers wait for `complete`, whoever dies."""
    deps = cats()
    job = await begun(deps)
    await deps.jobs.finish(replace(job, status=JobStatus.COMPLETED), JobResult(answer=None))

    await run_job(job.id, deps, DirectSteps(), is_resumable=True)
    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    assert [event.type for event in await deps.events.read(job.id)].count("complete") == 1


async def test_interrupted_job_is_left_for_the_next_attempt() -> None:
    """A worker that stops does not cancel what others will go on with."""
    deps = make_deps(search=[FakeSearch("web", hangs=True)])
    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)
    running = asyncio.create_task(run_job(job.id, deps, DirectSteps(), is_resumable=True))
    async for event in deps.events.follow(job.id):
        if event.data.get("stage") == "searching":
            break

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (await deps.jobs.get(job.id)).status is JobStatus.SEARCHING


async def test_attempt_whose_job_the_journal_gave_to_another_is_not_repeated() -> None:
    """The other may not have begun: one attempt more would overtake them."""

    deps = cats()
    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)

    with pytest.raises(StaleAttempt):
        await run_job(job.id, deps, Failing(StaleAttempt("another worker has taken the job over")), is_resumable=True)

    left = await deps.jobs.get(job.id)
    assert (left.status, left.attempt) == (JobStatus.PLANNING, job.attempt)


async def test_of_two_attempts_the_one_goes_on_that_the_journal_has_given_the_job_to(tmp_path, monkeypatch) -> None:
    """An attempt with a later number that is not the journal's gives up: the job would be without an end."""
    attempts, is_ours = 0, iter([True, False])
    monkeypatch.setattr(worker, "_still_owns", lambda _: next(is_ours))
    monkeypatch.setattr(worker, "FIRST_PAUSE_S", 0.0)

    async def overtaken(job_id: str) -> None:
        nonlocal attempts
        attempts += 1
        raise StaleAttempt(f"attempt {attempts} of {job_id}")

    settings = DurableSettings(url="sqlite://", folder=tmp_path)
    await worker.DurableWorker(settings, "worker-1", overtaken)._run_until_stored("job_1")

    assert attempts == 2


async def test_a_journal_that_cannot_tell_whose_a_job_is_leaves_it_to_the_later_attempt(monkeypatch) -> None:
    """The question is none of DBOS's public ones, nor is a job's course: without them a worker still starts, an older
    attempt ends, and what does not fit says so."""

    async def journal(*_: object) -> str:
        raise error.DBOSUnexpectedStepError("job_1", 3, "step-plan", "step-search")

    monkeypatch.delattr("dbos._datasource._still_owns")
    monkeypatch.delattr("dbos._context.get_local_dbos_context")
    monkeypatch.setattr(worker.DBOS, "run_step_async", journal)

    assert not worker._still_owns("job_1")
    with pytest.raises(error.DBOSUnexpectedStepError):
        await worker.DurableSteps().run("search", never, str)


async def test_a_journal_that_fits_nowhere_is_gone_on_with_behind_what_it_holds(monkeypatch) -> None:
    """Each place is another one, and a number that PostgreSQL's INTEGER holds, however often an attempt went astray."""
    context, places = SimpleNamespace(function_id=4), list[int]()

    async def journal(*_: object) -> str:
        context.function_id += 1  # as DBOS counts
        places.append(context.function_id)
        if len(places) <= 50:
            raise error.DBOSUnexpectedStepError("job_1", context.function_id, "step-plan", "step-search")
        return encode("found")

    monkeypatch.setattr("dbos._context.get_local_dbos_context", lambda: context)
    monkeypatch.setattr(worker.DBOS, "run_step_async", journal)

    assert await worker.DurableSteps().run("search", never, str) == "found"

    assert places == sorted(set(places))
    assert places[-1] < 2**31


async def never() -> str:
    raise AssertionError("a step that the journal knows ran again")


async def test_step_that_says_cancelled_ends_the_job_as_cancelled() -> None:
    """Once, with its last event."""

    deps = cats()
    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)

    await run_job(job.id, deps, Failing(JobCancelled()), is_resumable=True)

    assert (await deps.jobs.get(job.id)).status is JobStatus.CANCELLED
    assert (await deps.events.read(job.id))[-1].data["status"] == "cancelled"


async def test_job_that_takes_its_worker_down_each_time_fails_in_words() -> None:
    """It does not go round for ever."""
    deps = cats()
    job = await begun(deps, attempt=MAX_ATTEMPTS)

    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    last = (await deps.events.read(job.id))[-1]
    assert last.data["status"] == "failed"
    assert isinstance(last.data["error"], dict)
    assert last.data["error"]["code"] == "INTERNAL_ERROR"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
async def test_a_worker_that_can_open_no_more_files_costs_the_job_time_alone(number: int) -> None:
    """What is read at its first use, such as a prompt, is there in a moment."""

    deps = cats()
    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)

    with pytest.raises(StoreError, match="no file can be opened"):
        await run_job(job.id, deps, Failing(OSError(number, "no")), is_resumable=True)
    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    assert (await deps.jobs.get(job.id)).status is JobStatus.COMPLETED


@pytest.mark.parametrize(("number", "is_kept"), [(errno.EMFILE, False), (errno.ENFILE, False), (errno.ENOENT, True)])
async def test_the_journal_keeps_no_outcome_of_a_step_that_could_open_no_file(
    monkeypatch: pytest.MonkeyPatch, number: int, *, is_kept: bool
) -> None:
    """DBOS keeps each `Exception` as what came of the step, and would tell it again to every attempt."""
    kept: list[Exception] = []

    async def journal(_: object, step: Callable[[], Awaitable[str]]) -> str:
        try:
            return await step()
        except Exception as exc:
            kept.append(exc)
            raise

    async def full() -> str:
        raise OSError(number, "no")

    monkeypatch.setattr(worker.DBOS, "run_step_async", journal)

    with pytest.raises(OSError if is_kept else StoreError):
        await worker.DurableSteps().run("search", full, str)

    assert bool(kept) is is_kept


@pytest.mark.parametrize("kept", ["jobs", "events"])
async def test_end_that_could_not_be_stored_or_told_is_not_passed_over(kept: str) -> None:
    """A durable runner hears of it and tries again; then the job has its end, and whoever follows it is told."""
    deps, is_full = cats(), True

    class FullAtFirst:
        def __getattr__(self, name: str) -> Any:
            return getattr(getattr(deps, kept), name)

        async def finish(self, job: ResearchJob, result: JobResult) -> None:
            if is_full:
                raise StoreError("database or disk is full")
            await deps.jobs.finish(job, result)

        async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
            if is_full and type == "complete":
                raise StoreError("database or disk is full")
            return await deps.events.append(job_id, attempt, type, data)

    job = make_job("Why do cats purr?")
    await deps.jobs.save(job)
    full: Deps = replace(deps, **{kept: FullAtFirst()})
    with pytest.raises(StoreError, match="could not be stored" if kept == "jobs" else "is full"):
        await run_job(job.id, full, DirectSteps(), is_resumable=True)
    is_full = False

    await run_job(job.id, full, DirectSteps(), is_resumable=True)

    assert (await deps.jobs.get(job.id)).status is JobStatus.COMPLETED
    assert (await deps.events.read(job.id))[-1].type == "complete"


async def test_a_job_that_was_forgotten_is_passed_over() -> None:
    """Its journal may still name it."""
    await run_job("job_gone", cats(), DirectSteps(), is_resumable=True)
