"""Identical questions at once: one is researched, the others follow it; a lost leader costs nobody the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.model.errors import ModelUnavailable
from core.model.job import Event, JobStatus, ResearchJob, ResearchRequest, Scope
from core.model.ports import ChatDelta, ChatRequest
from core.pipeline.conversation import read_steering
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import CLAIM_TTL, DirectSteps, run_job
from core.presentation.snapshot import Snapshot
from core.stages.cache import answer_key
from core.stages.deliver import deliver_failure
from tests.core.cats import PLAN, QUESTION, cat_search, final, written
from tests.fakes import FakeModel, Idle, Ticking, make_deps

ANSWER = written("Cats purr because the muscles of the larynx twitch [1].")
PURR = "Cats purr because the muscles of the larynx twitch [1]."


class GatedModel(FakeModel):
    """Writes the answer once the gate is open."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__(answers)
        self.gate = asyncio.Event()
        self.is_writing = asyncio.Event()

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if request.purpose == "answer":
            self.is_writing.set()
            await self.gate.wait()
        async for delta in super().stream(request):
            yield delta


@pytest.fixture
def model() -> GatedModel:
    return GatedModel({"plan": PLAN, "answer": ANSWER})


@pytest.fixture
def deps(model: GatedModel) -> Deps:
    return make_deps(search=[cat_search()], model=model, clock=Ticking())


async def submit(deps: Deps, query: str = QUESTION, **request: Any) -> ResearchJob:
    return await Researcher(deps, Idle()).submit(ResearchRequest(query, **request))


async def begin(deps: Deps, **request: Any) -> tuple[ResearchJob, asyncio.Task[None]]:
    job = await submit(deps, **request)
    return job, run(deps, job)


def run(deps: Deps, job: ResearchJob) -> asyncio.Task[None]:
    """As a worker does: whatever stops it leaves the job for the next attempt."""
    return asyncio.create_task(run_job(job.id, deps, DirectSteps(), is_resumable=True))


async def told(deps: Deps, job: ResearchJob, stage: str) -> None:
    """Returns when the job has said that it is in `stage`."""
    async with asyncio.timeout(5):
        async for event in deps.events.follow(job.id):
            if event.type == "status" and event.data["stage"] == stage:
                return


async def shown_once(deps: Deps, job: ResearchJob, *, attempt: int = 1) -> None:
    """Returns when this attempt has shown a sentence."""
    async with asyncio.timeout(5):
        async for event in deps.events.follow(job.id):
            if event.type == "answer" and event.data["text"] and event.attempt == attempt:
                return


async def end_of(deps: Deps, job: ResearchJob) -> Any:
    return final(await deps.events.read(job.id))


def shown(events: Sequence[Event]) -> list[str]:
    """What stands on the screen of a reader just before the end."""
    snapshot = Snapshot()
    for event in events:
        snapshot = snapshot.after(event)
    return list(snapshot.sentences.values())


async def test_ten_at_once_are_researched_once_and_answered_to_all(deps: Deps, model: GatedModel):
    """Each has its own id, its own progress and its own end; nine say when the answer was given."""
    asked = [await begin(deps) for _ in range(10)]
    await model.is_writing.wait()

    model.gate.set()
    await asyncio.gather(*(running for _, running in asked))

    ends = [await end_of(deps, job) for job, _ in asked]
    assert len(model.calls("answer")) == len(model.calls("plan")) == 1
    assert [end["job_id"] for end in ends] == [job.id for job, _ in asked]
    assert {end["answer"]["summary"] for end in ends} == {PURR}
    assert sorted(end["metadata"]["cached"] for end in ends) == [False] + 9 * [True]
    for job, _ in asked:
        events = await deps.events.read(job.id)
        assert shown(events) == [PURR]
        assert [event.data["stage"] for event in events if event.type == "status"][-1] == "synthesizing"
        assert [source.url for source in await deps.sources.sources(job.id)] == ["https://cats.example/purr"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"is_fresh": True}, id="fresh"),
        pytest.param({"scope": Scope("local", "user:2")}, id="another scope"),
        pytest.param({"context": "for a vet"}, id="another context"),
        pytest.param({"query": "Why do lions purr?"}, id="another question"),
        pytest.param({"feedback": "shorter"}, id="with feedback"),
        pytest.param({"quoted": "Cats bark."}, id="with a message to check"),
    ],
)
async def test_what_is_not_the_same_question_is_researched_apart(deps: Deps, model: GatedModel, other: dict[str, Any]):
    """What is asked elsewhere, or is to be looked up anew, waits for nobody."""
    asked = [await begin(deps), await begin(deps, **{"query": QUESTION, **other})]
    await model.is_writing.wait()

    model.gate.set()
    await asyncio.gather(*(running for _, running in asked))

    assert len(model.calls("answer")) == 2
    assert [(await end_of(deps, job))["metadata"]["cached"] for job, _ in asked] == [False, False]


@pytest.mark.parametrize("private", [0, 1], ids=["the first", "the second"])
async def test_what_is_asked_in_private_in_an_open_channel_is_told_to_nobody_else(
    deps: Deps, model: GatedModel, private: int
):
    """Neither its answer nor its progress shows under another's question."""
    channel = Scope("discord:1", "channel:1")
    asked = [await begin(deps, scope=channel, is_private=number == private) for number in range(2)]
    await model.is_writing.wait()

    model.gate.set()
    await asyncio.gather(*(running for _, running in asked))

    assert [(await end_of(deps, job))["metadata"]["cached"] for job, _ in asked] == [False, False]


async def test_an_answer_of_before_is_not_shared(deps: Deps, model: GatedModel):
    """What is too weak for the cache does not come back through the other door."""
    model.gate.set()
    model.answers["answer"] = written("Purring may help bones heal [1].")
    first, running = await begin(deps)
    await running
    assert (await end_of(deps, first))["answer"]["confidence"] == "low"

    second, running = await begin(deps)
    await running

    assert (await end_of(deps, second))["metadata"]["cached"] is False
    assert len(model.calls("answer")) == 2


@pytest.mark.parametrize("status", [JobStatus.CANCELLED, JobStatus.FAILED])
async def test_when_the_leader_ends_without_an_answer_another_takes_its_place(
    deps: Deps, model: GatedModel, status: JobStatus
):
    """One of those who followed researches, and the rest follow that one."""
    leader, leading = await begin(deps)
    await model.is_writing.wait()
    followers = [await begin(deps) for _ in range(3)]
    for job, _ in followers:
        await told(deps, job, "synthesizing")

    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)
    await deliver_failure(replace(leader, attempt=2), deps, status, error=None)
    model.gate.set()
    await asyncio.gather(*(running for _, running in followers))

    ends = [await end_of(deps, job) for job, _ in followers]
    assert {end["answer"]["summary"] for end in ends} == {PURR}
    assert sorted(end["metadata"]["cached"] for end in ends) == [False, True, True]
    assert len(model.calls("plan")) == 2


async def test_a_leader_that_falls_silent_is_left(deps: Deps, model: GatedModel, monkeypatch: pytest.MonkeyPatch):
    """Its worker may be gone for good; whoever waits for it takes over."""
    monkeypatch.setattr("core.pipeline.runner.SILENCE_S", 0.05)
    silent = await submit(deps)
    key_holder = replace(silent, status=JobStatus.SEARCHING)
    await deps.jobs.save(key_holder)
    job = await submit(deps)
    await _claim(deps, silent)
    model.gate.set()

    await run_job(job.id, deps, DirectSteps())

    assert (await end_of(deps, job))["answer"]["summary"] == PURR
    assert (await end_of(deps, job))["metadata"]["cached"] is False


async def test_a_leader_that_was_forgotten_is_nobody(deps: Deps, model: GatedModel):
    """The claim of a job that is gone holds up no one."""
    gone = await submit(deps)
    await _claim(deps, replace(gone, id="job_gone"))
    model.gate.set()

    await run_job(gone.id, deps, DirectSteps())

    assert (await end_of(deps, gone))["metadata"]["cached"] is False


async def test_a_follower_that_is_restarted_shows_nothing_twice(deps: Deps, model: GatedModel):
    """Its second attempt takes back what the first had told, and follows again."""
    model.hangs_after = 8  # pieces: the sentence is out, the answer has not ended
    _, leading = await begin(deps)
    model.gate.set()
    follower, following = await begin(deps)
    await shown_once(deps, follower)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)

    again = run(deps, follower)
    await shown_once(deps, follower, attempt=2)
    again.cancel()
    leading.cancel()
    await asyncio.gather(leading, again, return_exceptions=True)

    events = await deps.events.read(follower.id)
    first = [event.data["text"] for event in events if event.type == "answer" and event.attempt == 1]
    second = [event.data["text"] for event in events if event.type == "answer" and event.attempt == 2]
    assert (first, second) == ([PURR], [None, PURR])


@pytest.mark.parametrize("steered", ["leader", "follower"])
async def test_what_people_say_to_a_job_parts_it_from_the_others(deps: Deps, model: GatedModel, steered: str):
    """An answer that was steered is no answer to the question as it was asked."""
    leader, leading = await begin(deps)
    await model.is_writing.wait()
    follower, following = await begin(deps)
    await told(deps, follower, "synthesizing")

    await deps.jobs.steer((leader if steered == "leader" else follower).id, read_steering("only about lions"))
    model.gate.set()
    await asyncio.gather(leading, following)

    assert (await end_of(deps, follower))["metadata"]["cached"] is False
    assert len(model.calls("answer")) == 2


async def test_an_outage_ends_every_question_in_words():
    """Each tries for itself once; nobody inherits another's failure."""
    model = FakeModel({"plan": PLAN, "answer": ModelUnavailable("down")})
    deps = make_deps(search=[cat_search()], model=model, clock=Ticking())
    asked = [await begin(deps) for _ in range(6)]

    await asyncio.wait_for(asyncio.gather(*(running for _, running in asked)), 20)

    assert {(await end_of(deps, job))["status"] for job, _ in asked} == {"failed"}
    assert len(model.calls("plan")) == 6


async def _claim(deps: Deps, job: ResearchJob) -> None:
    await deps.limits.claim(job.scope, answer_key(job.request, job.intent, now=deps.clock()), job.id, ttl=CLAIM_TTL)
