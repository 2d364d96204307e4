"""Who runs first and how many at once, when more is asked than can run; and what a stopping worker leaves."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from adapters.durable.journal import DurableSettings
from adapters.durable.queue import INTERACTIVE_S
from core.model.job import JobStatus, ResearchRequest, Scope
from core.modes import MODES
from tests.adapters.durable.outside import QUESTION, USUAL, calls, hang_at, heal
from tests.adapters.durable.processes import Process, Reader, front
from tests.adapters.durable.test_kill import ended
from tests.loopback.openai_responders import ChatCall, Fault, by_schema
from tests.loopback.world import World

Env = dict[str, str]
PER_TENANT = DurableSettings.model_fields["jobs_per_tenant"].default
LONG_MODES = [name for name, mode in MODES.items() if mode.deadline_s > INTERACTIVE_S]


def hang_number(world: World) -> None:
    """The model never plans a question that has a number in it."""

    def stuck(call: ChatCall) -> Fault:
        return replace(Fault(text=str(USUAL["plan"](call))), hang_first="Number" in call.user)

    world.model.respond = by_schema({**USUAL, "plan": stuck})


def numbered(number: int, tenant: str, **request: object) -> ResearchRequest:
    asked = ResearchRequest(f"{QUESTION} Number {number}?", scope=Scope(tenant, "channel:1"), is_fresh=True)
    return replace(asked, **request)  # type: ignore[arg-type]


@pytest.mark.slow
async def test_one_tenant_cannot_keep_the_others_from_being_answered(world: World, anywhere: Env) -> None:
    """It has as many places as agreed, those beyond wait and are told so, and another tenant is answered at once."""
    hang_number(world)
    worker = await Process.start("worker", anywhere)
    async with front(anywhere) as house:
        jobs = [await house.researcher.submit(numbered(number, "discord:1")) for number in range(PER_TENANT + 4)]
        other = await house.researcher.submit(ResearchRequest(QUESTION, scope=Scope("discord:2", "channel:1")))
        asked_at = time.monotonic()
        done = await Reader().follow(house, other.id, within_s=40)
        answered_s = time.monotonic() - asked_at
        async with asyncio.timeout(20):
            while calls(world, "plan") < PER_TENANT + 1:  # noqa: ASYNC110  # another process asks
                await asyncio.sleep(0.05)
        waiting = [job for job in jobs if (await house.researcher.job(job.id)).status is JobStatus.PENDING]
        places = [await house.researcher.position(job.id) for job in waiting]
        told = {job.id: [event.data["message"] for event in await house.deps.events.read(job.id)] for job in jobs}
    await worker.killed()

    print(f"the other tenant was answered in {answered_s:.1f} s")
    assert done["status"] == "completed"
    assert len(waiting) == len(jobs) - PER_TENANT
    assert places == [0, 1, 2, 3]
    assert waiting == jobs[PER_TENANT:], "the first asked begins first"
    ahead = [text for job in waiting for text in told[job.id]]
    assert {"2 questions are ahead of yours", "3 questions are ahead of yours"} & set(ahead)
    assert [text for job in waiting for text in told[job.id] if not text.endswith("ahead of yours")] == []


@pytest.mark.slow
async def test_who_waits_for_an_answer_goes_before_who_expects_a_report(world: World, one_machine: Env) -> None:
    """When all places are taken, a quick question asked last begins before deep ones that were asked first."""
    hang_number(world)
    worker = await Process.start("worker", one_machine)
    scope = Scope("discord:1", "channel:1")
    async with front(one_machine) as house:
        holding = [await house.researcher.submit(numbered(number, "discord:1")) for number in range(PER_TENANT)]
        async with asyncio.timeout(20):
            while calls(world, "plan") < PER_TENANT:  # noqa: ASYNC110  # another process asks
                await asyncio.sleep(0.05)
        deep = [
            await house.researcher.submit(numbered(number, "discord:1", modes=(LONG_MODES[0],)))
            for number in range(100, 102)
        ]
        quick = await house.researcher.submit(ResearchRequest(QUESTION, scope=scope))
        place = await house.researcher.position(quick.id)
        await house.researcher.cancel(holding[0].id)
        done = await Reader().follow(house, quick.id, within_s=40)
        began = [(await house.researcher.job(job.id)).created_at for job in deep]
    await worker.killed()

    assert place == 0
    assert done["status"] == "completed"
    assert all(at < quick.created_at for at in began)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_what_does_not_end_in_time_is_handed_over_at_once(world: World, one_machine: Env) -> None:
    """Told to stop, a worker lets jobs run for thirty seconds; then another goes on, without waiting further."""
    hang_at("answer", hang_first=True)(world)
    worker = await Process.start("worker", one_machine)
    async with front(one_machine) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id, within_s=90))
        # Started meanwhile: a call that hangs for long before the worker is told to stop would end within its grace.
        other, _ = await asyncio.gather(
            Process.start("worker", one_machine), asyncio.wait_for(world.model.hanging.wait(), 40)
        )
        worker.running.terminate()
        told_at = time.monotonic()
        waiting = await house.researcher.submit(ResearchRequest("How high is the tide in the Bay of Fundy?"))
        heal(world)
        taken = await Reader().follow(house, waiting.id, within_s=40)
        code = await worker.ended(60)
        stopped_s = time.monotonic() - told_at
        status = await ended(house, job.id)
        resumed_s = time.monotonic() - told_at - stopped_s
        await following
    await other.killed()

    print(f"stopped after {stopped_s:.1f} s, answered {resumed_s:.1f} s later")
    assert (code, taken["status"], status) == (0, "completed", JobStatus.COMPLETED)
    assert [line for line in worker.lines if line.get("job_id") == waiting.id] == []
    assert 29 < stopped_s < 40
    assert resumed_s < 5
    assert reader.attempts == {1, 2}
    assert calls(world, "plan") == 2
