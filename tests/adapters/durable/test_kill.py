"""kill -9 of a worker, anywhere in a job: the job ends once, and what was finished is not done again."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession

from adapters.durable.queue import DurableQueue
from bots.wiring import House
from core.model.errors import StoreError
from core.model.job import TERMINAL_STATUSES, JobStatus, ResearchRequest
from tests.adapters.durable.outside import QUESTION, USUAL, calls, hang_at, hang_search, heal
from tests.adapters.durable.processes import LineSeen, Process, Reader, front
from tests.adapters.durable.tables import until
from tests.loopback.openai_responders import ChatCall, Fault, by_schema
from tests.loopback.world import World

Env = dict[str, str]


@dataclass(frozen=True)
class Moment:
    """Where a job stands when its worker dies, and which model calls it has paid for by then."""

    prepare: Callable[[World], None]
    arrival: Callable[[World, Reader], Coroutine[None, None, object]]
    paid: tuple[str, ...] = ()


async def shows_text(world: World, reader: Reader) -> None:
    await reader.until(lambda: bool(reader.shown))


async def searches(world: World, reader: Reader) -> None:
    await reader.until(lambda: reader.events[-1].data.get("stage") == "searching")


async def hangs(world: World, reader: Reader) -> None:
    await asyncio.wait_for(world.model.hanging.wait(), 40)


GIVEN_UP = "took over from a silent worker"
SHOWING = "while sentences are shown"
MOMENTS = {
    SHOWING: Moment(hang_at("answer", hang_after=60), shows_text, paid=("plan",)),
    "while the plan is made": Moment(hang_at("plan", hang_first=True), hangs),
    "while a provider is asked": Moment(hang_search, searches, paid=("plan",)),
    "while the answer is on its way": Moment(hang_at("answer", hang_first=True), hangs, paid=("plan",)),
}


@pytest.mark.parametrize(
    "name",
    [SHOWING, *(pytest.param(name, marks=pytest.mark.slow) for name in MOMENTS if name != SHOWING)],
)
async def test_worker_that_is_killed_goes_on_where_it_was(name: str, world: World, one_machine: Env) -> None:
    """One end, nothing shown twice, no finished model call paid again, resumed at its restart and not when given up."""
    moment = MOMENTS[name]
    env = one_machine
    moment.prepare(world)
    worker = await Process.start("worker", env)
    async with front(env) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await reader.until(lambda: bool(reader.events))
        await moment.arrival(world, reader)
        await worker.killed()
        paid = {schema: calls(world, schema) for schema in moment.paid}
        heal(world)

        worker = await Process.start("worker", env, wait=False)
        done = await following
        result = await house.researcher.result(job.id)
    await worker.killed()

    assert done["status"] == "completed"
    assert [event.type for event in reader.events].count("complete") == 1
    assert {schema: calls(world, schema) for schema in moment.paid} == paid
    assert reader.attempts == {1, 2}
    assert " ".join(text for name, text in reader.shown.items() if name.startswith("summary")) == result.answer.summary
    assert worker.said(GIVEN_UP) == []


async def test_worker_that_is_killed_between_two_calls_at_once_asks_only_for_what_was_in_flight(
    world: World, one_machine: Env
) -> None:
    """The summary stands, the detail hangs: the next attempt gives both once, from sources with the same numbers."""

    def hangs_at_detail(call: ChatCall) -> str | Fault:
        is_detail = "Write `detail`" in call.user
        return Fault(hang_first=True) if is_detail else by_schema(USUAL)(call)

    world.model.respond = hangs_at_detail
    env = {**one_machine, "GORKD_WRITING": "parallel"}
    worker = await Process.start("worker", env)
    async with front(env) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await reader.until(lambda: bool(reader.events))
        await hangs(world, reader)
        await reader.until(lambda: len(reader.shown) >= 2)
        asked = calls(world, "plan"), parts(world, "summary")
        await worker.killed()
        heal(world)

        worker = await Process.start("worker", env, wait=False)
        done = await following
        result = await house.researcher.result(job.id)
    await worker.killed()

    assert done["status"] == "completed"
    assert result.answer.detail != ""
    assert [event.type for event in reader.events].count("complete") == 1
    assert asked == (1, 1)
    assert calls(world, "plan") == 1
    assert parts(world, "summary") <= 2  # its last words may have been on their way
    assert parts(world, "detail") == 2
    assert " ".join(text for name, text in reader.shown.items() if name.startswith("summary")) == result.answer.summary


@pytest.mark.slow
async def test_what_waited_for_its_store_and_is_then_killed_goes_on_where_it_was(world: World, anywhere: Env) -> None:
    """The same step has the same place in the journal, however often the job was begun: none is taken for another."""
    hang_at("answer", hang_after=60)(world)
    worker = await Process.start("worker", anywhere)
    async with front(anywhere) as house:
        tables = house.deps.sources._tables  # type: ignore[attr-defined]
        await tables.execute("ALTER TABLE sources RENAME TO away")
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        await until(lambda: worker.said("the job waits for its store"))
        await tables.execute("ALTER TABLE away RENAME TO sources")
        await hangs(world, Reader())
        assert isinstance(house.queue, DurableQueue)
        recorded = await (await house.queue.client()).list_workflow_steps_async(job.id)
        await worker.killed()
        heal(world)

        worker = await Process.start("worker", anywhere, wait=False)
        async with asyncio.timeout(40):
            done = await ended(house, job.id)
    await worker.killed()

    assert [(step["function_id"], step["function_name"]) for step in recorded] == [(1, "step-plan"), (2, "step-search")]
    assert done is JobStatus.COMPLETED
    assert calls(world, "plan") == 1


@pytest.mark.slow
async def test_job_whose_journal_does_not_fit_goes_on_without_the_rest_of_it(world: World, one_machine: Env) -> None:
    """As earlier releases left it: the plan under the second number, since the first attempt at it was not recorded."""
    hang_at("answer", hang_after=60)(world)
    worker = await Process.start("worker", one_machine)
    async with front(one_machine) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        await hangs(world, Reader())
        await worker.killed()
        heal(world)
        with closing(sqlite3.connect(f"{one_machine['GORKD_DATA']}/dbos.sqlite")) as journal, journal:
            journal.execute("DELETE FROM operation_outputs WHERE function_name = 'step-search'")
            moved = journal.execute("UPDATE operation_outputs SET function_id = 2 WHERE function_name = 'step-plan'")
            assert moved.rowcount == 1

        worker = await Process.start("worker", one_machine, wait=False)
        async with asyncio.timeout(40):
            done = await ended(house, job.id)
    await worker.killed()

    assert done is JobStatus.COMPLETED
    assert calls(world, "plan") == 1


def parts(world: World, part: str) -> int:
    """How often the model was asked to write `part` alone."""
    return sum(f"Write `{part}`" in call.user for call in world.model.calls)


@pytest.mark.slow
async def test_cancelling_interrupts_the_model_call_and_stays_so_after_a_restart(
    world: World, one_machine: Env
) -> None:
    """The call is dropped, the job is cancelled once, and a worker that starts later leaves it alone."""
    env = one_machine
    hang_at("answer", hang_after=60)(world)
    worker = await Process.start("worker", env)
    async with front(env) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await asyncio.wait_for(world.model.hanging.wait(), 40)

        started = time.monotonic()
        await house.researcher.cancel(job.id)
        cancelled_s = time.monotonic() - started
        done = await following
        await asyncio.wait_for(world.model.aborted.wait(), 5)
        await worker.killed()
        asked = len(world.model.calls)
        worker = await Process.start("worker", env)
        stored = await house.researcher.job(job.id)
        events = await house.deps.events.read(job.id)
    await worker.killed()

    print(f"cancelled in {cancelled_s:.1f} s")
    assert done["status"] == "cancelled"
    assert stored.status is JobStatus.CANCELLED
    assert [event.type for event in events].count("complete") == 1
    assert len(world.model.calls) == asked
    assert cancelled_s < 4


@pytest.mark.slow
async def test_worker_that_is_told_to_stop_hands_its_job_over(world: World, one_machine: Env) -> None:
    """SIGTERM: what can end in time ends; a job that was only enqueued waits for the next worker."""
    env = one_machine
    world.model.first_token_s = 1.0
    worker = await Process.start("worker", env)
    async with front(env) as house:
        running = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        async for event in house.researcher.follow(running.id):
            reader.take(event)
            if event.data.get("stage") == "synthesizing":
                break
        worker.running.terminate()
        code = await worker.ended()
        done = await house.researcher.job(running.id)
        waiting = await house.researcher.submit(ResearchRequest("How high is the tide in the Bay of Fundy?"))
        worker = await Process.start("worker", env)
        last = await Reader().follow(house, waiting.id)
    await worker.killed()

    assert code == 0
    assert done.status is JobStatus.COMPLETED
    assert last["status"] == "completed"


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_kill_after_any_line_of_the_log_costs_nothing(world: World, one_machine: Env) -> None:
    """Every step boundary and what lies between: the worker dies at its first, second, third … log entry of a job."""
    line_count = 0
    async with front(one_machine) as house:
        for turn in range(1, 40):
            worker = await Process.start("worker", one_machine, on_line=_killer(at=turn))
            asked = len(world.model.calls)
            job = await house.researcher.submit(ResearchRequest(f"{QUESTION} Part {turn}?"))
            reader = Reader()
            following = asyncio.create_task(reader.follow(house, job.id, within_s=30))
            died = asyncio.create_task(worker.ended())
            await asyncio.wait([following, died], return_when=asyncio.FIRST_COMPLETED)
            line_count = sum(line.get("job_id") == job.id for line in worker.lines)
            await worker.killed()
            again = await Process.start("worker", one_machine)
            done = await following
            await asyncio.gather(died, again.killed())

            print(f"killed at entry {turn}: {worker.lines[-1].get('event')} {worker.lines[-1].get('stage', '')}")
            assert done["status"] == "completed"
            assert [event.type for event in await house.deps.events.read(job.id)].count("complete") == 1
            written = [call for call in world.model.calls[asked:] if call.schema_name in ("plan", "answer")]
            assert len(written) <= 3  # two, and the one that was interrupted; the judge is asked of two sources besides
            if line_count < turn:
                break

    assert line_count > 6


def _killer(*, at: int) -> LineSeen:
    """Kills at the log's `at`-th entry about a job."""
    seen = 0

    def on_line(process: Process, line: dict[str, Any]) -> None:
        nonlocal seen
        seen += "job_id" in line
        if seen == at:
            process.kill()

    return on_line


@pytest.mark.slow
async def test_another_worker_takes_over_from_one_that_stays_away(world: World, anywhere: Env) -> None:
    """Within 20 s, and only what was interrupted is done again."""
    hang_at("answer", hang_after=60)(world)
    worker = await Process.start("worker", anywhere)
    async with front(anywhere) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        other = await Process.start("worker", anywhere)
        heal(world)
        await worker.killed()
        killed_at = time.monotonic()
        done = await following
        resumed_s = time.monotonic() - killed_at
    await other.killed()

    print(f"answered by the other worker {resumed_s:.1f} s after the kill")
    assert done["status"] == "completed"
    assert reader.attempts == {1, 2}
    assert calls(world, "plan") == 1
    assert other.said(GIVEN_UP) != []
    assert resumed_s < 20


@pytest.mark.slow
async def test_worker_that_stalls_and_comes_back_can_no_longer_write(world: World, anywhere: Env) -> None:
    """Its job is taken over; when it wakes up, its attempt is over and the job has one end."""
    hang_at("answer", hang_after=60)(world)
    stalled = await Process.start("worker", anywhere)
    async with front(anywhere) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        other = await Process.start("worker", anywhere)
        stalled.running.send_signal(signal.SIGSTOP)
        heal(world)
        done = await following
        stalled.running.send_signal(signal.SIGCONT)
        world.model.closing.set()  # what the stalled worker waited for goes on
        later = await Reader().follow(
            house, (await house.researcher.submit(ResearchRequest("How high is the tide?"))).id
        )
        events = await house.deps.events.read(job.id)
    stalled.running.terminate()
    await asyncio.gather(stalled.ended(), other.killed())

    assert done["status"] == later["status"] == "completed"
    assert [event.type for event in events].count("complete") == 1
    assert events[-1].type == "complete"
    assert events[-1].attempt == 2


@pytest.mark.slow
@pytest.mark.parametrize("service", ["postgres_server", "redis_server"])
async def test_server_that_restarts_within_a_job_costs_time_only(
    service: str, world: World, many_machines: Env, request: pytest.FixtureRequest
) -> None:
    """The database or Redis is gone for two seconds while the answer is written, without a trace of its memory."""
    server = request.getfixturevalue(service)
    world.model.first_token_s = 3.0
    worker = await Process.start("worker", many_machines)
    async with front(many_machines) as house:
        job = await house.researcher.submit(ResearchRequest(QUESTION))
        reader = Reader()
        following = asyncio.create_task(reader.follow(house, job.id))
        await reader.until(lambda: bool(reader.events) and reader.events[-1].data.get("stage") == "synthesizing")
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(2)  # how long it is gone
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(40):
            done = await ended(house, job.id)
        following.cancel()
    await worker.killed()

    assert done is JobStatus.COMPLETED
    assert calls(world, "plan") == 1


async def ended(house: House, job_id: str) -> JobStatus:
    """The job's status once it has one that stays."""
    while True:
        try:
            status = (await house.researcher.job(job_id)).status
        except StoreError:
            status = JobStatus.PENDING
        if status in TERMINAL_STATUSES:
            return status
        await asyncio.sleep(0.2)


@pytest.mark.slow
async def test_everything_in_one_process_is_killed_and_goes_on(world: World, one_machine: Env) -> None:
    """`gorkd all`: asked over HTTP, killed, started again; the job is there and ends."""
    env = {**one_machine, "HOST": "127.0.0.1", "PORT": "0"}
    hang_at("answer", hang_after=60)(world)
    process = await Process.start("all", env)
    async with ClientSession() as client:
        async with client.post(f"{process.address}/v1/research", json={"query": QUESTION}) as answer:
            job_id = (await answer.json())["job_id"]
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        await process.killed()
        heal(world)
        process = await Process.start("all", env)
        async with front(one_machine) as house:
            done = await Reader().follow(house, job_id, within_s=40)
        async with client.get(f"{process.address}/v1/jobs/{job_id}") as answer:
            shown = await answer.json()
    await process.killed()

    assert done["status"] == shown["status"] == "completed"
    assert calls(world, "plan") == 1
