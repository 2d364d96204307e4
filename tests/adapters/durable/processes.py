"""Workers as real processes: started, killed without warning, started again."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bots.config import read_settings
from bots.wiring import House, open_house
from core.model.job import Event
from tests.commands import Running, start

READY = "is ready"
START_S = 90.0  # of a machine that starts four other things meanwhile; it says nothing of ours


LineSeen = Callable[["Process", dict[str, Any]], None]


def ignore(process: Process, line: dict[str, Any]) -> None:
    pass


@dataclass
class Process:
    """`gorkd <name>`; `lines` are its log entries. `on_line` is called with each as it comes."""

    running: Running
    on_line: LineSeen = ignore
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    printed: list[str] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    _readers: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    async def start(
        cls, name: str, env: Mapping[str, str], *, on_line: LineSeen = ignore, wait: bool = True, module: str = "bots"
    ) -> Process:
        process = cls(await start(name, env={"GORKD_LOG_LEVEL": "info", **env}, module=module), on_line)
        process._readers = [asyncio.create_task(process._read_out()), asyncio.create_task(process._read_log())]
        if wait:
            try:
                await process.wait_ready()
            except BaseException:
                process.kill()
                raise
        return process

    async def wait_ready(self) -> None:
        await asyncio.wait_for(self.ready.wait(), START_S)
        assert self.running.returncode is None, self.lines[-3:]

    def kill(self) -> None:
        """As the kernel would: nothing is said, nothing is tidied."""
        if self.running.returncode is None:
            self.running.send_signal(signal.SIGKILL)

    async def killed(self) -> None:
        self.kill()
        await self.ended()

    async def ended(self, within_s: float = 60.0) -> int:
        code = await asyncio.wait_for(self.running.wait(), within_s)
        await asyncio.gather(*self._readers)
        return code

    def said(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("event") == event]

    async def _read_out(self) -> None:
        assert self.running.stdout is not None
        async for line in self.running.stdout:
            self.printed.append(line.decode().rstrip())
            if READY in line.decode():
                self.address = line.decode().rpartition(" ")[2].strip()
                self.ready.set()
        self.ready.set()

    async def _read_log(self) -> None:
        assert self.running.stderr is not None
        async for raw in self.running.stderr:
            try:
                line = json.loads(raw)
            except ValueError:
                line = {"event": raw.decode(errors="replace").strip()}
            self.lines.append(line)
            self.on_line(self, line)


@asynccontextmanager
async def front(env: Mapping[str, str]) -> AsyncIterator[House]:
    """What a bot has: it enqueues and follows, and runs nothing."""
    async with open_house(env, read_settings(env), grace_s=0, role="front") as house:
        yield house


async def all_ended(house: House, *, within_s: float) -> None:
    """Wait until no job is under way. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while await house.deps.jobs.unfinished(limit=1):  # noqa: ASYNC110  # other processes change it
            await asyncio.sleep(0.5)


@dataclass
class Reader:
    """Somebody who follows a job as it is shown: the sentences that stand on the screen, and every event."""

    events: list[Event] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, condition: Callable[[], bool], *, within_s: float = 40.0) -> None:
        """Wait for the event that makes `condition` true."""
        async with asyncio.timeout(within_s):
            while not condition():
                self._came.clear()
                await self._came.wait()

    async def follow(self, house: House, job_id: str, *, within_s: float = 60.0) -> Mapping[str, Any]:
        """The JSON of the job's end."""
        async with asyncio.timeout(within_s):
            async for event in house.researcher.follow(job_id):
                self.take(event)
        assert self.events[-1].type == "complete"
        return self.events[-1].data

    def take(self, event: Event) -> None:
        self.events.append(event)
        self._came.set()
        if event.type == "answer":
            name, text = str(event.data["id"]), event.data["text"]
            if text is None:
                self.shown.pop(name, None)
            else:
                assert name not in self.shown or event.data["mark"] is not None
                self.shown[name] = str(text)

    @property
    def attempts(self) -> set[int]:
        return {event.attempt for event in self.events}
