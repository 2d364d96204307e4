"""Processes forked from one that has imported everything: an import costs more than most commands and tests do.

Each is a process of its own, to be killed as any other, with memory, settings and standard streams of its own. Commands
of gorkd are forked from a template, and so are the workers of the suite, whose template has imported the tests as well.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import logging
import multiprocessing
import os
import runpy
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType

from _pytest.assertion.rewrite import AssertionRewritingHook
from execnet import XSpec, gateway_io
from execnet.gateway_base import ExecModel, Popen2IO
from hypothesis.internal.conjecture.providers import _get_local_constants

from adapters.pages import workers
from adapters.pages.workers import NURSERY, Nursery
from adapters.web.app import templates
from core.pipeline.runner import rehearse
from core.text.language import detect_language
from tests.shared_data import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")
_VENDORS = (  # imported by who first needs them, who may be in a hurry
    "dbos", "exa_py", "openai.resources.chat", "openai.resources.embeddings", "openai.resources.responses",
    "psycopg_pool", "slack_bolt.adapter.socket_mode.aiohttp", "tavily",
)  # fmt: skip
_PR_SET_PDEATHSIG = 1
_MANY = 100  # files of tests: whoever runs fewer may need none of the tables, which take 0.8 s of processor time
_CONTEXT.set_forkserver_preload([
    "bots.operating", "bots.processes", "bots.research", "bots.wiring", "tests.forked",
    "adapters.chat.discord.bot", "adapters.chat.slack.bot", "adapters.durable.worker", *_VENDORS, "tests.rehearsed",
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


def prepare() -> None:
    """Do once what every answer and every page would begin with."""
    rehearse()
    for name in templates().list_templates():
        templates().get_template(name)


def fork_workers(places: Iterable[str]) -> None:
    """From here on pytest-xdist's workers are forks of a process that has imported the tests in `places`.

    What a place is: a file or a folder, perhaps with `::` and a test's name behind it.
    """
    asks, theirs = socket.socketpair()
    if (parent := os.fork()) == 0:
        try:
            asks.close()
            _serve(theirs, [Path(place.partition("::")[0]) for place in places])
        finally:
            os._exit(0)
    theirs.close()

    @atexit.register
    def end() -> None:
        asks.close()
        os.waitpid(parent, 0)

    gateway_io.create_io = lambda spec, execmodel: _Worker(asks, spec, execmodel)  # type: ignore[assignment]


class _Worker(Popen2IO):
    """What execnet has of a process that it would have started itself."""

    def __init__(self, asks: socket.socket, spec: XSpec, execmodel: ExecModel) -> None:
        assert spec.popen
        (said, mouth), (ear, heard) = os.pipe(), os.pipe()
        socket.send_fds(asks, [b"?"], [said, heard])
        self._process = os.pidfd_open(int(asks.recv(16)))
        os.close(said)
        os.close(heard)
        super().__init__(os.fdopen(mouth, "wb"), os.fdopen(ear, "rb"), execmodel)

    def wait(self) -> None:
        select.select([self._process], [], [])

    def kill(self) -> None:
        signal.pidfd_send_signal(self._process, signal.SIGKILL)


def _serve(asks: socket.socket, places: Iterable[Path]) -> None:
    """Import the tests, and fork a worker for each pair of streams, until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the workers end by it, and then so does this
    logging.root.handlers.clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, AssertionRewritingHook)]
    files = [file for place in places for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]
    inside = [file.resolve().relative_to(ROOT) for file in files if file.resolve().is_relative_to(ROOT)]
    names = [".".join(file.with_suffix("").parts) for file in inside]
    talks = any(name.startswith("tests.adapters.") for name in names)
    for name in (*names, *(_VENDORS if talks else ())):
        if select.select([asks], [], [], 0)[0] and not asks.recv(1, socket.MSG_PEEK):
            return  # interrupted before a worker was wanted
        with contextlib.suppress(BaseException):  # a worker does it again, and tells of it
            importlib.import_module(name)
    if talks:
        detect_language("Mareas")  # its table takes longer than a busy machine has for a provider
    if len(names) > _MANY:
        prepare()
        _get_local_constants()  # all files parsed for what Hypothesis draws from: 0.7 s a worker in a fresh clone
    gc.freeze()
    while True:
        asked, streams, _, _ = socket.recv_fds(asks, 1, 2)
        if not asked:
            break
        if (worker := os.fork()) == 0:
            asks.close()
            _work(*streams)
        for stream in streams:
            os.close(stream)
        asks.send(str(worker).encode())
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _work(said: int, heard: int) -> None:
    os.dup2(said, 0)
    os.dup2(heard, 1)
    os.close(said)
    os.close(heard)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.modules["__main__"] = ModuleType("__main__")  # not pytest's, which each forked command would import
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    try:
        exec(eval(sys.stdin.readline()))  # as execnet has a new interpreter begin
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        os._exit(0)


def _become(
    module: str,
    arguments: tuple[str, ...],
    env: dict[str, str],
    streams: tuple[Connection, ...],
    parsers: socket.socket,
) -> None:
    with contextlib.suppress(AttributeError):  # only Linux has it: to end with the template, whoever ends that, and how
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
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
