"""The queue of a single process: bounded, idempotent, cancellable, and stopping in good order (S003-23)."""

from __future__ import annotations

import asyncio
import logging

import pytest

from adapters.durable.queue import InProcessQueue
from core.model.errors import QueueFull
from core.model.ports import job_id_var
from tests.adapters.records.samples import make_job


class Work:
    """Jobs that run until they are told to end; a record of what became of each."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended: list[str] = []
        self.interrupted: list[str] = []
        self.never_began: list[str] = []
        self.may_end: dict[str, asyncio.Event] = {}
        self._began: dict[str, asyncio.Event] = {}

    async def run(self, job_id: str) -> None:
        self.started.append(job_id)
        self._event(self._began, job_id).set()
        try:
            await self._event(self.may_end, job_id).wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # storing the end takes a turn of the loop
            self.interrupted.append(job_id)
            raise
        self.ended.append(job_id)

    async def mark_cancelled(self, job_id: str) -> None:
        self.never_began.append(job_id)

    async def began(self, number: int) -> None:
        await self._event(self._began, f"job_{number}").wait()

    def let_end(self, number: int) -> None:
        self._event(self.may_end, f"job_{number}").set()

    @staticmethod
    def _event(events: dict[str, asyncio.Event], job_id: str) -> asyncio.Event:
        return events.setdefault(job_id, asyncio.Event())


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def queue(work):
    """One at a time, two may wait."""
    queue = InProcessQueue(work.run, concurrency=1, limit=2, on_cancelled=work.mark_cancelled)
    yield queue
    await queue.aclose(0)


async def test_jobs_run_in_order_of_arrival_at_most_so_many_at_once(queue, work):
    """The second starts when the first has ended."""
    for number in (1, 2, 3):
        await queue.enqueue(make_job(number))
    await work.began(1)
    started_at_first = list(work.started)

    work.let_end(1)
    await work.began(2)

    assert started_at_first == ["job_1"]
    assert work.started == ["job_1", "job_2"]


async def test_position_counts_those_ahead(queue, work):
    """0 is next; one that runs or is not here has no place."""
    for number in (1, 2, 3):
        await queue.enqueue(make_job(number))

    assert [await queue.position(f"job_{number}") for number in (1, 2, 3, 4)] == [None, 0, 1, None]


async def test_full_queue_refuses_and_has_room_again_later(queue, work):
    """The bound is on what waits; refusing one job harms no other."""
    for number in (1, 2, 3):
        await queue.enqueue(make_job(number))

    with pytest.raises(QueueFull):
        await queue.enqueue(make_job(4))
    work.let_end(1)
    await work.began(2)
    await queue.enqueue(make_job(4))

    assert await queue.position("job_4") == 1


async def test_job_that_waits_or_runs_is_not_taken_twice(queue, work):
    """Enqueueing is idempotent by id, even when the queue is full."""
    for number in (1, 2, 3, 1, 2, 3):
        await queue.enqueue(make_job(number))
    for number in (1, 2, 3):
        work.let_end(number)

    await work.began(3)

    assert work.started == ["job_1", "job_2", "job_3"]


async def test_cancelling_a_running_job_waits_for_its_clean_up(queue, work):
    """When `cancel` returns, the job has stored its own end, and the next one runs."""
    await queue.enqueue(make_job(1))
    await queue.enqueue(make_job(2))
    await work.began(1)

    await queue.cancel("job_1")
    await work.began(2)

    assert work.interrupted == ["job_1"]
    assert work.never_began == []


async def test_cancelling_twice_interrupts_once(queue, work):
    """A second press of the button does not cut the clean-up short."""
    await queue.enqueue(make_job(1))
    await work.began(1)

    await asyncio.gather(queue.cancel("job_1"), queue.cancel("job_1"))

    assert work.interrupted == ["job_1"]


async def test_waiting_job_that_is_cancelled_never_starts_and_is_reported(queue, work):
    """Nobody ran it, so its owner is told to mark it."""
    await queue.enqueue(make_job(1))
    await queue.enqueue(make_job(2))
    await work.began(1)

    await queue.cancel("job_2")
    work.let_end(1)
    await queue.aclose(5)

    assert work.never_began == ["job_2"]
    assert work.started == ["job_1"]


async def test_job_cancelled_between_start_and_first_step_is_reported(queue, work):
    """A task that was made and never ran counts as not begun."""
    await queue.enqueue(make_job(1))

    await queue.cancel("job_1")

    assert (work.started, work.never_began) == ([], ["job_1"])


async def test_cancelling_an_unknown_job_does_nothing(queue, work):
    """A cancel that comes late is no error."""
    await queue.cancel("job_9")

    assert work.never_began == []


async def test_error_of_one_job_is_logged_and_the_next_one_runs(caplog):
    """Whatever escapes a job costs that job only; the log has the traceback and the job's id."""
    finished = asyncio.Event()
    ids = []

    async def run(job_id: str) -> None:
        ids.append(job_id_var.get())
        if job_id == "job_1":
            raise RuntimeError("broken")
        finished.set()

    queue = InProcessQueue(run, concurrency=1, limit=2, on_cancelled=run)
    with caplog.at_level(logging.ERROR):
        await queue.enqueue(make_job(1))
        await queue.enqueue(make_job(2))
        await finished.wait()
        await queue.aclose(1)

    assert ids == ["job_1", "job_2"]
    assert [record.exc_info[0] for record in caplog.records] == [RuntimeError]


async def test_closing_lets_running_jobs_end_and_starts_no_other(queue, work):
    """Within the grace a running job ends by itself; a waiting one stays for the next start."""
    await queue.enqueue(make_job(1))
    await queue.enqueue(make_job(2))
    await work.began(1)

    closing = asyncio.create_task(queue.aclose(30))
    work.let_end(1)
    await closing

    assert (work.ended, work.started, work.never_began) == (["job_1"], ["job_1"], [])


async def test_closing_cancels_what_outlasts_the_grace(queue, work):
    """With no grace left the job is interrupted and awaited."""
    await queue.enqueue(make_job(1))
    await work.began(1)

    await queue.aclose(0)

    assert work.interrupted == ["job_1"]


async def test_closed_queue_takes_no_work(queue):
    """A process that stops refuses instead of losing the question."""
    await queue.aclose(0)

    with pytest.raises(QueueFull):
        await queue.enqueue(make_job(1))
