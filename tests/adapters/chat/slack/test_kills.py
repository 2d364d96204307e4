"""kill -9 of the app and of the worker: after the restart there is exactly one final answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.durable.outside import PAGES, QUESTION, hang_at, heal
from tests.adapters.durable.processes import LineSeen, Process, ignore
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import ADA, GENERAL, Message
from tests.loopback.slack_world import SlackWorld
from tests.loopback.world import World

BOTH_WAYS = pytest.mark.parametrize("streaming", [pytest.param(one, marks=pytest.mark.slow) for one in ("auto", "off")])
FIRST_CALL = {"auto": "chat.startStream", "off": "chat.postMessage"}  # by how progress is shown


@dataclass
class Two:
    """`gorkd slack` and `gorkd worker`, each of which may be killed and started again."""

    world: World
    slack: SlackWorld
    env: dict[str, str]
    app: Process
    worker: Process

    async def asked(self) -> None:
        """Ask; returns when the model has begun an answer that it will not finish."""
        hang_at("answer", hang_first=True)(self.world)
        await self.slack.mentions(ADA, GENERAL, QUESTION)
        await asyncio.wait_for(self.world.model.hanging.wait(), 40)

    async def restart_app(self) -> None:
        await self.app.killed()
        self.slack.socket.connected.clear()
        self.app = await Process.start("slack", self.env, wait=False)

    async def restart_worker(self, on_line: LineSeen = ignore) -> None:
        await self.worker.killed()
        heal(self.world)
        self.worker = await Process.start("worker", self.env, on_line=on_line)

    def of(self, ending: str) -> list[Message]:
        return [one for one in self.slack.state.of_bot(GENERAL) if one.text.startswith(ending)]

    async def answered_once(self) -> None:
        """The answer and its sources are there, and nothing else."""
        await self.slack.until(lambda: self.of("Research Complete") and self.of("Sources: "), within_s=40)
        assert len(self.slack.state.of_bot(GENERAL)) == 2


@asynccontextmanager
async def two_processes(data: Path, streaming: str) -> AsyncIterator[Two]:
    async with World.of(PAGES) as world, SlackWorld.open() as slack:
        env = {**world.env(data, "tavily", model=True), **slack.env(), "GORKD_SLACK_STREAMING": streaming}
        worker = await Process.start("worker", env)
        app = await Process.start("slack", env, wait=False)
        two = Two(world, slack, env, app, worker)
        try:
            await asyncio.wait_for(slack.socket.connected.wait(), 20)
            yield two
        finally:
            await two.app.killed()
            await two.worker.killed()


@pytest.mark.parametrize("streaming", ["auto", pytest.param("off", marks=pytest.mark.slow)])
async def test_app_that_is_killed_right_after_the_acknowledgement_answers_after_its_restart(
    tmp_path: Path, streaming: str
) -> None:
    """Ack is not done: the question was stored before it, with the place its answer belongs to."""
    async with two_processes(tmp_path, streaming) as two:
        for method in FIRST_CALL.values():
            two.slack.api.faults[method] = Fault("down", times=1000)
        await two.slack.mentions(ADA, GENERAL, QUESTION)
        await two.app.killed()
        two.slack.api.faults.clear()
        assert two.slack.state.of_bot(GENERAL) == []

        await two.restart_app()

        await two.answered_once()


@BOTH_WAYS
async def test_app_that_is_killed_after_posting_and_before_noting_where_finds_its_message(
    tmp_path: Path, streaming: str
) -> None:
    """The placeholder is found by its metadata; there is no second one."""
    async with two_processes(tmp_path, streaming) as two:
        hang_at("answer", hang_first=True)(two.world)
        two.slack.api.faults[FIRST_CALL[streaming]] = Fault("lost", times=1)
        two.slack.api.faults["conversations.replies"] = Fault("down", times=1000)
        await two.slack.mentions(ADA, GENERAL, QUESTION)
        await two.slack.until(lambda: two.slack.state.of_bot(GENERAL))
        await two.app.killed()
        two.slack.api.faults.clear()

        await two.restart_app()
        await two.restart_worker()

        await two.answered_once()


@BOTH_WAYS
async def test_app_that_is_killed_mid_job_goes_on_with_its_message(tmp_path: Path, streaming: str) -> None:
    async with two_processes(tmp_path, streaming) as two:
        await two.asked()
        await two.slack.until(lambda: two.slack.state.of_bot(GENERAL))
        placeholder = two.slack.state.of_bot(GENERAL)[0]

        await two.restart_app()
        await two.restart_worker()

        await two.answered_once()
        assert two.of("Research Complete")[0].ts == placeholder.ts


@BOTH_WAYS
async def test_answer_that_was_finished_while_the_app_was_away_is_delivered(tmp_path: Path, streaming: str) -> None:
    async with two_processes(tmp_path, streaming) as two:
        await two.asked()
        await two.app.killed()
        finished = asyncio.Event()

        def note(_: Process, line: dict[str, Any]) -> None:
            if line.get("stage") == "deliver":
                finished.set()

        await two.restart_worker(note)
        await asyncio.wait_for(finished.wait(), 30)

        await two.restart_app()

        await two.answered_once()


@BOTH_WAYS
async def test_worker_that_is_killed_mid_job_costs_no_second_message(tmp_path: Path, streaming: str) -> None:
    async with two_processes(tmp_path, streaming) as two:
        await two.asked()

        await two.restart_worker()

        await two.answered_once()


@BOTH_WAYS
async def test_stopped_app_says_that_the_answer_will_come_and_it_does(tmp_path: Path, streaming: str) -> None:
    """SIGTERM: nothing is left "thinking"."""
    async with two_processes(tmp_path, streaming) as two:
        await two.asked()
        await two.slack.until(lambda: two.slack.state.of_bot(GENERAL))
        two.app.running.terminate()
        await two.app.ended(within_s=20)
        told = two.slack.state.of_bot(GENERAL)[0].text

        await two.restart_app()
        await two.restart_worker()

        await two.answered_once()
        assert told == "I am being restarted; your answer will appear here."


@BOTH_WAYS
async def test_event_sent_to_an_app_that_is_away_comes_again_and_is_answered_once(
    tmp_path: Path, streaming: str
) -> None:
    """Slack sends an event four times over some minutes."""
    async with two_processes(tmp_path, streaming) as two:
        await two.app.killed()
        two.slack.socket.connected.clear()
        two.slack.retry_delays_s = (0.0, 0.5, 5.0)

        sending = asyncio.create_task(two.slack.mentions(ADA, GENERAL, QUESTION))
        await two.restart_app()
        await sending

        await two.answered_once()
