"""The pool of parsing processes: each takes one document at a time and can be killed without harm to the others.

A worker is a plain child process on one end of a socket pair (adapters/pages/worker.py). It ends when it takes too
long, needs too much memory, has served its share, or when its parent goes away, however that happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.pages.extraction import BROKE_READER, LENGTH, Extraction, PageDocument
from core.model.errors import FetchError, PageTimeout, PageUnreadable, SetupError

EXTRACTION_LIMIT_S = 5.0
MEMORY_LIMIT_BYTES = 768 * 1024 * 1024  # address space; 5 MB of HTML need at most some 500 MB (tests/adapters/pages)
STARTUP_LIMIT_S = 20.0  # an interpreter and its imports on a machine under load; half a second on an idle one
_DOCUMENTS_A_WORKER = 200  # parsers leak and cache; a fresh start costs 0.3 s
_MAX_ANSWER_BYTES = 32 * 1024 * 1024  # the longest paper, a sixth of it as JSON escapes
_PNG = b"\x89PNG\r\n\x1a\n"
_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    channel: socket.socket
    served: int = 0
    is_between_documents: bool = False  # and so may take another; not before it has said that it is ready

    @property
    def is_alive(self) -> bool:
        """The kernel closes a killed process's end of the channel before it can be waited for."""
        if self.process.poll() is not None:
            return False
        try:
            return self.channel.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True  # open, and nothing is said
        except OSError:
            return False

    def kill(self) -> None:
        self.channel.close()
        self.process.kill()


class ExtractionWorkers:
    """At most `count` processes, started when first needed."""

    def __init__(
        self,
        *,
        count: int,
        limit_s: float = EXTRACTION_LIMIT_S,
        memory_bytes: int = MEMORY_LIMIT_BYTES,
    ) -> None:
        self._count = count
        self._limit_s = limit_s
        self._memory_bytes = memory_bytes
        self._turn = asyncio.Semaphore(count)
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._killed: list[subprocess.Popen[bytes]] = []
        self._is_closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """Those that run now, ready or not."""
        return tuple(worker.process.pid for worker in (*self._idle, *self._busy))

    async def extract(self, document: PageDocument) -> Extraction:
        """Raises `PageTimeout` when parsing takes too long and `PageUnreadable` when there is no text to be had."""
        fields = await self._answered(document)
        try:
            return Extraction.from_fields(fields)
        except ValueError as exc:
            raise PageUnreadable(document.url, f"the parser's answer is garbled: {exc}") from exc

    async def picture(self, document: PageDocument) -> bytes:
        """The page that is asked for, as PNG. Raises as `extract`."""
        fields = await self._answered(document)
        try:
            png = b64decode(str(fields.get("picture", "")), validate=True)
        except ValueError as exc:
            raise PageUnreadable(document.url, "the painter's answer is garbled") from exc
        if not png.startswith(_PNG):  # a worker may have been taken over by a page
            raise PageUnreadable(document.url, "the painter's answer is no picture")
        return png

    async def _answered(self, document: PageDocument) -> Mapping[str, object]:
        async with self._turn, self._worker(document.url) as worker:
            worker.is_between_documents = False
            try:
                async with asyncio.timeout(self._limit_s):
                    answer = await _ask(worker.channel, document)
            except TimeoutError as exc:
                raise PageTimeout(document.url, f"could not be parsed within {self._limit_s:g} s") from exc
            except (OSError, ValueError) as exc:
                raise PageUnreadable(document.url, f"{BROKE_READER}: {exc}") from exc
            worker.served += 1
            fields = _parsed(answer, document.url)
            worker.is_between_documents = bool(fields.get("fit", True))
        if "error" in fields:
            raise PageUnreadable(document.url, str(fields["error"])[:300])
        return fields

    def prepare(self) -> None:
        """Start one more process, unless all are there, for a document that is still on its way."""
        if len(self._idle) + len(self._busy) < self._count and not self._is_closed:
            with contextlib.suppress(PageUnreadable):  # said when the document is there
                self._idle.insert(0, self._start("prepared"))  # behind those that are ready

    async def warm_up(self) -> None:
        """Start every worker and wait until each can parse. Raises `SetupError`."""

        async def start_one() -> None:
            async with self._turn, self._worker("warm-up"):
                await started.wait()

        started = asyncio.Barrier(self._count)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._count):
                    group.create_task(start_one())
        except* FetchError as failed:
            raise SetupError(f"pages cannot be parsed: {failed.exceptions[0]}") from failed

    async def aclose(self) -> None:
        """Kill all workers and wait until they are gone. Idempotent."""
        self._is_closed = True
        while self._idle:
            self._end(self._idle.pop())
        for worker in self._busy:
            worker.process.kill()  # its channel is still being read, and ends by itself now
        for _ in range(self._count):
            await self._turn.acquire()
        for _ in range(self._count):
            self._turn.release()
        await asyncio.to_thread(_reap, self._killed)

    @contextlib.asynccontextmanager
    async def _worker(self, url: str) -> AsyncIterator[_Worker]:
        """A worker for one document: back among the idle ones afterwards, killed when it is still at it."""
        worker = self._take_idle() or self._start(url)
        self._busy.append(worker)
        try:
            if not worker.is_between_documents:
                await _until_ready(worker, url)
            yield worker
        finally:
            self._busy.remove(worker)
            is_fit = worker.is_between_documents and worker.served < _DOCUMENTS_A_WORKER
            if is_fit and worker.is_alive and not self._is_closed:
                self._idle.append(worker)
            else:
                self._end(worker)

    def _take_idle(self) -> _Worker | None:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            self._end(worker)
        return None

    def _start(self, url: str) -> _Worker:
        if self._is_closed:
            raise PageUnreadable(url, "the page reader is shut down")
        self._killed = [process for process in self._killed if process.poll() is None]
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                return _Worker(_spawn(theirs, self._limit_s, self._memory_bytes), ours)
            except OSError as exc:
                ours.close()
                raise PageUnreadable(url, f"no parser could be started: {exc}") from exc

    def _end(self, worker: _Worker) -> None:
        worker.kill()
        self._killed.append(worker.process)


def _spawn(channel: socket.socket, limit_s: float, memory_bytes: int) -> subprocess.Popen[bytes]:
    """A worker without our environment (it holds keys), our session (Ctrl-C is for us) or our open files."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "adapters.pages.worker", str(int(limit_s) + 1), str(memory_bytes)],
        stdin=channel.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env={"LANG": "C.UTF-8", "PATH": os.defpath},
        start_new_session=True,
    )


async def _until_ready(worker: _Worker, url: str) -> None:
    try:
        async with asyncio.timeout(STARTUP_LIMIT_S):
            await _receive(worker.channel)
    except TimeoutError as exc:
        raise PageTimeout(url, "no parser was ready in time") from exc
    except (OSError, ValueError) as exc:
        raise PageUnreadable(url, f"no parser could be started: {exc}") from exc
    worker.is_between_documents = True


async def _ask(channel: socket.socket, document: PageDocument) -> bytes:
    fields = {
        "url": document.url, "kind": document.kind, "charset": document.charset, "max_chars": document.max_chars,
        "page": document.page, "quote": document.quote,
    }  # fmt: skip
    header = json.dumps(fields).encode()
    message = LENGTH.pack(len(header)) + header + LENGTH.pack(len(document.body)) + document.body
    await asyncio.get_running_loop().sock_sendall(channel, message)
    return await _receive(channel)


def _parsed(answer: bytes, url: str) -> Mapping[str, object]:
    try:
        fields = json.loads(answer)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise PageUnreadable(url, "the parser's answer is garbled")
    return fields


async def _receive(channel: socket.socket) -> bytes:
    """One answer. Raises `OSError` when the worker ends without one, `ValueError` on an absurd length."""
    (size,) = LENGTH.unpack(await _exactly(channel, LENGTH.size))
    if size > _MAX_ANSWER_BYTES:
        raise ValueError(f"an answer of {size} bytes")
    return await _exactly(channel, size)


async def _exactly(channel: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    received = bytearray()
    while len(received) < count:
        piece = await loop.sock_recv(channel, min(count - len(received), 1 << 20))
        if not piece:
            raise ConnectionResetError("it ended without an answer")
        received += piece
    return bytes(received)


def _reap(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.wait()
    processes.clear()
