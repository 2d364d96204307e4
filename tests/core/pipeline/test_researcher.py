"""The door inward: who is let in, and what a late follower sees."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from adapters.records.jobs import SqlEventLog
from core.model.answer import JobResult
from core.model.delivery import Address
from core.model.errors import InvalidQuery, JobNotFound, QueueFull, StoreError
from core.model.job import LOCAL, Event, JobStatus, ResearchJob, ResearchRequest, Scope
from core.modes import MODES
from core.modes.mode import Mode
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.pipeline.work import SILENCE_S, Progress
from core.tenancy.admission import BudgetSpent
from core.tenancy.forgetting import Forgotten, Whose
from tests.core.cats import QUESTION
from tests.fakes import NOW, FakeModel, Idle, Ledger, make_deps, make_job
from tests.records import MemoryTables


async def fail(deps: Deps, job: ResearchJob) -> None:
    await deps.jobs.finish(replace(job, status=JobStatus.FAILED, completed_at=NOW), JobResult(answer=None))


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
async def test_what_is_said_to_be_impossible_without_a_model_is(mode: Mode) -> None:
    """And nothing else is: interfaces refuse by the table what the mode itself would refuse."""
    deps = make_deps(model=None)
    job = await deps.jobs.save(make_job(QUESTION, modes=(mode.name,)))

    await run_job(job.id, deps, DirectSteps())

    error = (await deps.jobs.get(job.id)).error
    assert ("a language model" in (error.message if error else "")) == mode.needs_model
    assert Researcher(deps, Idle()).can_research(mode) is not mode.needs_model
    assert Researcher(replace(deps, models={mode.name: FakeModel({})}), Idle()).can_research(mode)


async def test_marks_are_explained_with_the_first_answer_somebody_gets() -> None:
    """Once a person, whatever is asked at the same time by others; who had no answer yet has had no mark."""
    deps = make_deps()
    researcher = Researcher(deps, Idle())

    async def ending(place: int, asker: str, status: JobStatus = JobStatus.COMPLETED) -> ResearchJob:
        asked = replace(make_job(f"{QUESTION} {place}", asker=asker), id=f"job_{place}")
        job = replace(asked, status=status, created_at=NOW + timedelta(seconds=place), completed_at=NOW)
        await deps.jobs.finish(job, JobResult(answer=None))
        return job

    failed, first, second = await ending(1, "U1", JobStatus.FAILED), await ending(2, "U1"), await ending(3, "U1")
    another, nobody = await ending(4, "U2"), await ending(5, "")

    told = [await researcher.is_first_answer(job) for job in (failed, first, second, another, nobody)]

    assert told == [False, True, False, True, False]


async def test_submitting_stores_the_job_then_enqueues_it_under_its_id() -> None:
    """S003-03: id, status pending, time; the same key in a scope is the same job."""
    deps, queue = make_deps(), Idle()
    researcher = Researcher(deps, queue)

    job = await researcher.submit(ResearchRequest(f"  {QUESTION} "), dedupe_key="m1")
    again = await researcher.submit(ResearchRequest(QUESTION), dedupe_key="m1")

    assert job.id.startswith("job_")
    assert (job.status, job.query, job.scope) == (JobStatus.PENDING, QUESTION, LOCAL)
    assert again.id == job.id
    assert set(queue.enqueued) == {job.id}
    assert (await researcher.job(job.id)).id == job.id


@pytest.mark.parametrize(("quiet_s", "is_begun_again"), [(SILENCE_S, True), (SILENCE_S - 1, False)])
async def test_a_job_that_runs_elsewhere_is_not_begun_here_unless_nothing_is_heard_of_it(
    quiet_s: float, is_begun_again: bool
) -> None:
    """What runs in another process would be taken from it; what was lost with its process must go on somewhere."""
    queue, time = Idle(), [NOW]
    deps = make_deps(clock=lambda: time[0])
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION), dedupe_key="m1")
    await Progress(job, deps).status(JobStatus.SEARCHING)
    time[0] += timedelta(seconds=quiet_s)

    await Researcher(deps, queue).submit(ResearchRequest(QUESTION), dedupe_key="m1")

    assert queue.enqueued == [job.id] * is_begun_again


async def test_a_job_that_its_process_loses_later_is_begun_here_and_one_that_ends_is_not() -> None:
    """Who is killed says nothing any more: whoever watches what it began would wait for ever."""
    queue, time, has_ended = Idle(), [NOW], asyncio.Event()

    async def sleep(seconds: float) -> None:
        ends_at = time[0] + timedelta(seconds=seconds)
        await has_ended.wait()
        time[0] = max(time[0], ends_at)

    deps = make_deps(clock=lambda: time[0])
    elsewhere, here = Researcher(deps, Idle()), Researcher(deps, queue, sleep=sleep)
    lost, ends = [await elsewhere.submit(ResearchRequest(QUESTION), dedupe_key=key) for key in ("lost", "ends")]
    for job in (lost, ends):
        await Progress(job, deps).status(JobStatus.SEARCHING)

    for key in ("lost", "ends", "lost"):
        await here.submit(ResearchRequest(QUESTION), dedupe_key=key)
    at_first = [*queue.enqueued]
    await run_job(ends.id, deps, DirectSteps())
    has_ended.set()
    await asyncio.gather(*here._elsewhere.values())

    assert (at_first, queue.enqueued) == ([], [lost.id])


@pytest.mark.parametrize(
    ("asked", "refusal", "said"),
    [
        (ResearchRequest("asdfghjkl"), InvalidQuery, None),
        (ResearchRequest(QUESTION, modes=("magic",)), InvalidQuery, "quick"),
        (ResearchRequest(QUESTION), BudgetSpent, None),
    ],
    ids=["no question", "no mode", "not admitted"],
)
async def test_a_question_that_is_refused_is_not_stored(
    asked: ResearchRequest, refusal: type[Exception], said: str | None
) -> None:
    """S003-01: nothing is kept and nothing enqueued; a budget is asked about before that."""
    deps, queue = make_deps(), Idle()

    async def refuse(request: ResearchRequest) -> None:
        raise BudgetSpent("spent", user_message="Your budget is used up.")

    with pytest.raises(refusal, match=said):
        await Researcher(deps, queue, admit=refuse).submit(asked)

    assert queue.enqueued == []
    assert await deps.jobs.unfinished(limit=5) == []


async def test_the_message_that_waits_is_stored_before_the_work_starts() -> None:
    """A crash right after the queue took the job leaves nobody waiting; a refused one waits for nothing."""
    deps = make_deps()
    waiting: list[list[tuple[str, Address]]] = []

    class Watching(Idle):
        async def enqueue(self, job: ResearchJob) -> None:
            waiting.append(await deps.messages.waiting("discord"))
            if job.query.startswith("How"):
                raise QueueFull(1)

    address = Address("discord", {"channel_id": 1})
    researcher = Researcher(deps, Watching())
    job = await researcher.submit(ResearchRequest(QUESTION), address=address)
    with pytest.raises(QueueFull):
        await researcher.submit(ResearchRequest("How do cats purr?"), address=address)

    assert waiting[0] == [(job.id, address)]
    assert len(waiting[1]) == 2
    assert await deps.messages.waiting("discord") == [(job.id, address)]


@pytest.mark.parametrize("status", [JobStatus.PENDING, JobStatus.SEARCHING, JobStatus.COMPLETED])
async def test_a_question_that_was_accepted_is_not_refused_when_it_is_sent_again(status: JobStatus) -> None:
    """Slack sends an event up to four times: a queue that is full by then has its job already."""
    deps = make_deps()

    class Full(Idle):
        async def enqueue(self, job: ResearchJob) -> None:
            raise QueueFull(1)

    first = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION), dedupe_key="m1")
    await deps.jobs.save(replace(first, status=status))

    again = await Researcher(deps, Full()).submit(ResearchRequest(QUESTION), dedupe_key="m1")

    assert (again.id, again.status) == (first.id, status)


async def test_a_follower_of_an_ended_job_gets_what_is_kept_and_else_its_end() -> None:
    """S003-22: nobody waits for ever for a log that is no longer kept, or that cannot be read."""
    deps = make_deps()
    door = Researcher(deps, Idle())
    unreadable = Researcher(replace(deps, events=Unread(MemoryTables(), clock=lambda: NOW)), Idle())
    job = make_job(QUESTION)
    await fail(deps, job)

    expired = [event async for event in door.follow(job.id, after=7)]
    unread = [event async for event in unreadable.follow(job.id)]
    await deps.events.append(job.id, 1, "complete", {"status": "kept"})
    kept = [event async for event in door.follow(job.id)]

    assert [(event.seq, event.type, event.data["status"]) for event in expired] == [(8, "complete", "failed")]
    assert [(event.type, event.data["status"]) for event in unread] == [("complete", "failed")]
    assert [event.data for event in kept] == [{"status": "kept"}]
    with pytest.raises(JobNotFound):
        await anext(aiter(door.follow("job_unknown")))


class Unread(SqlEventLog):
    """A log that is written to and cannot be read, as behind a connection that broke."""

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        raise StoreError("away")


CHANNEL, OTHER = Scope("discord:1", "channel:2"), Scope("discord:1", "channel:3")


@pytest.mark.parametrize(
    "act",
    [
        lambda door, job: door.retry(job, "U1", scope=OTHER),
        lambda door, job: door.ask_again(job, "U1", scope=OTHER),
        lambda door, job: door.improve(job, "shorter", "U1", scope=OTHER),
        lambda door, job: door.rate(job, "U1", good=True, scope=OTHER),
        lambda door, job: door.forget(job, "U1", scope=OTHER),
    ],
    ids=["retry", "ask again", "improve", "rate", "forget"],
)
async def test_a_job_of_another_scope_is_not_there(act: Callable[[Researcher, str], Awaitable[object]]) -> None:
    """What was asked in one channel can be acted on in no other."""
    door = Researcher(make_deps(), Idle())
    job = await door.submit(ResearchRequest(QUESTION, CHANNEL, asker="U1"))

    with pytest.raises(JobNotFound):
        await act(door, job.id)


async def test_votes_are_counted_once_an_asker() -> None:
    """👍 twice is one vote; 👎 after it is another, with its reason; S003-26's figures gain them."""
    deps = make_deps()
    door = Researcher(deps, Idle())
    job = await door.submit(ResearchRequest(QUESTION, CHANNEL, asker="U1"))

    for good in (True, True, False):
        await door.rate(job.id, "U1", good=good, reason=" wrong year ", scope=CHANNEL)

    (vote,) = await deps.evaluations.ratings(job.id)
    assert (vote.is_good, vote.reason) == (False, "wrong year")
    ledger = cast(Ledger, deps.record)
    assert (ledger.values("ratings", "good"), ledger.values("ratings", "bad")) == ([1], [1])


class Erasing:
    """Notes what is to be erased."""

    def __init__(self) -> None:
        self.erased: list[str] = []

    async def __call__(self, whose: Whose) -> Forgotten:
        assert whose == Whose(job_id=whose.job_id)
        self.erased.append(whose.job_id)
        return Forgotten(1, 1, {})


async def test_only_ones_own_question_can_be_forgotten() -> None:
    """And whose message was deleted, by its key."""
    erase = Erasing()
    door = Researcher(make_deps(), Idle(), erase=erase)
    job = await door.submit(ResearchRequest(QUESTION, CHANNEL, asker="U1"), dedupe_key="discord:5")

    with pytest.raises(JobNotFound):
        await door.forget(job.id, "U2", scope=CHANNEL)
    await door.forget(job.id, "U1", scope=CHANNEL)
    was_there = [await door.forget_asked(key, scope=CHANNEL) for key in ("discord:5", "discord:6")]

    assert erase.erased == [job.id] * 2
    assert was_there == [True, False]


async def test_a_question_taken_back_takes_its_retries_along() -> None:
    """They ask the same."""
    deps, erase = make_deps(), Erasing()
    door = Researcher(deps, Idle(), erase=erase)
    job = await door.submit(ResearchRequest(QUESTION, CHANNEL, asker="U1"), dedupe_key="discord:5")
    await fail(deps, job)
    retry = await door.retry(job.id, "U1", scope=CHANNEL)

    await door.forget_asked("discord:5", scope=CHANNEL)

    assert erase.erased == [job.id, retry.id]


async def test_a_question_taken_back_takes_what_it_was_changed_to_along() -> None:
    """And a message asks what it was changed to last."""
    deps, erase = make_deps(), Erasing()
    door = Researcher(deps, Idle(), erase=erase)
    jobs = [await door.submit(ResearchRequest(QUESTION, CHANNEL, asker="U1"), dedupe_key="discord:5")]
    other = await door.submit(ResearchRequest("What is a reef?", CHANNEL, asker="U1"), dedupe_key="discord:6")
    await fail(deps, jobs[0])
    for question in ("What causes the neap tides?", "What causes the spring tides?"):
        old = await door.asked_last("discord:5", scope=CHANNEL)
        assert old == await deps.jobs.get(jobs[-1].id)
        jobs.append(await door.ask_changed(jobs[-1].id, question, "U1", scope=CHANNEL, dedupe_key=question))
        await fail(deps, jobs[-1])

    await door.forget_asked("discord:5", scope=CHANNEL)

    assert set(erase.erased) == {job.id for job in jobs}
    assert other.id not in erase.erased


async def test_what_could_not_be_erased_everywhere_is_said() -> None:
    """Nobody is told that something is gone while it may still be there."""

    async def erase(whose: Whose) -> Forgotten:
        return Forgotten(0, 0, {"Redis": "Redis does not answer."})

    door = Researcher(make_deps(), Idle(), erase=erase)
    job = await door.submit(ResearchRequest(QUESTION, CHANNEL, asker="U1"))

    with pytest.raises(StoreError) as failed:
        await door.forget(job.id, "U1", scope=CHANNEL)

    assert failed.value.user_message == "Redis does not answer."


async def test_history_is_for_the_asker_alone() -> None:
    """One's own questions of every channel of the tenant, newest first."""
    door = Researcher(make_deps(), Idle())
    mine = [
        await door.submit(ResearchRequest(f"Why {word}?", scope, asker="U1"))
        for word, scope in (("do cats purr", CHANNEL), ("do dogs bark", OTHER))
    ]
    await door.submit(ResearchRequest("Why do birds sing?", CHANNEL, asker="U2"))

    history = await door.history("U1", tenant="discord:1", limit=5)

    assert {job.id for job in history} == {job.id for job in mine}
    assert await door.history("U1", tenant="discord:2", limit=5) == []


async def test_files_are_stored_before_the_job_can_begin_and_too_many_are_refused() -> None:
    """A worker that takes the job at once finds them; a crash before that is mended by the event sent again."""
    deps = make_deps()
    seen: list[int] = []

    class Eager(Idle):
        async def enqueue(self, job: ResearchJob) -> None:
            seen.append(len(await deps.jobs.attached(job.id)))

    door = Researcher(deps, Eager())
    note = await door.read_attachment("note.txt", "text/plain", b"Cats purr.")
    request = ResearchRequest(QUESTION, CHANNEL, asker="U1")
    job = await door.submit(request, dedupe_key="k", attachments=[note])
    await deps.jobs.attach(job, [])
    await door.submit(request, dedupe_key="k", attachments=[note])

    assert seen == [1, 1]
    assert job.request.attachments == ("note.txt",)
    with pytest.raises(InvalidQuery, match="at most 5 files"):
        await door.submit(ResearchRequest(QUESTION), attachments=[note] * 6)
