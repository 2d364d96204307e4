"""Processes that are forked from a template which has imported everything: an import costs more than most commands do.

Each is a process of its own, to be killed as any other, with memory, settings and standard streams of its own.
"""

from __future__ import annotations

import asyncio
import io
import multiprocessing
import os
import runpy
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from adapters.pages import workers
from adapters.pages.workers import NURSERY, Nursery
from tests.shared_data import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([
    "bots.operating", "bots.processes", "bots.research", "bots.wiring", "tests.forked",
    "adapters.chat.discord.bot", "adapters.chat.slack.bot", "adapters.durable.worker",
    "dbos", "exa_py", "openai.resources.chat", "openai.resources.embeddings", "openai.resources.responses",
    "psycopg_pool", "slack_bolt.adapter.socket_mode.aiohttp", "tavily", "tests.rehearsed",
])  # fmt: skip


def template() -> str:
    """The address of this process's template, which is started if need be and ends with it."""
    forkserver.ensure_running()
    return str(forkserver._forkserver._forkserver_address)


def share(address: str) -> None:
    """Fork from the template of another process, which would import once more what that one has."""
    server = forkserver._forkserver
    server._forkserver_address, server._forkserver_alive_fd = address, os.open(os.devnull, os.O_RDONLY)
    server.ensure_running = resource_tracker.ensure_running


@dataclass(frozen=True)
class Forked:
    """What `asyncio.subprocess.Process` offers, as far as tests use it."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    _process: ForkServerProcess
    _has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def start(cls, module: str, *arguments: str, env: Mapping[str, str]) -> Forked:
        """As `python -m module …` would, in the same folder; of the module `-c` the first argument is the code."""
        (stdin, to_it), (from_it, stdout), (errors, stderr) = (_CONTEXT.Pipe(duplex=False) for _ in range(3))
        process = _CONTEXT.Process(
            target=_become,
            args=(module, arguments, dict(env), (stdin, stdout, stderr), NURSERY.start(NURSERY)),
            daemon=True,
        )
        await asyncio.to_thread(process.start)  # the first one waits for the template
        for end in (stdin, stdout, stderr):
            end.close()
        forked = cls(await _written(to_it), await _read(from_it), await _read(errors), process)
        asyncio.get_running_loop().add_reader(process.sentinel, forked._end)
        return forked

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        await self._has_ended.wait()
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, said: bytes = b"") -> tuple[bytes, bytes]:
        self.stdin.write(said)
        self.stdin.close()
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self.wait())
        return out, err

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._has_ended.set()


class _Others(Nursery):
    """The parent of all parsers, started by somebody else, who also ends it."""

    def __init__(self, asks: socket.socket) -> None:
        super().__init__()
        self._its = asks

    def start(self, pool: object) -> socket.socket:
        return self._its

    async def leave(self, pool: object) -> None:
        pass


def _become(
    module: str,
    arguments: tuple[str, ...],
    env: dict[str, str],
    streams: tuple[Connection, ...],
    parsers: socket.socket,
) -> None:
    workers.NURSERY = _Others(parsers)
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(ROOT)
    sys.argv = [module, *arguments]
    if module == "-c":
        sys.argv = ["-c", *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


async def _read(end: Connection) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    pipe = io.FileIO(os.dup(end.fileno()))
    end.close()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _written(end: Connection) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = io.FileIO(os.dup(end.fileno()), "w")
    end.close()
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.streams.FlowControlMixin(loop), pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)
