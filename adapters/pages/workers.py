"""The pool of parsing processes: each takes one document at a time and can be killed without harm to the others.

A parser is born by the one process that all come from (adapters/pages/worker.py), and known here by our end of its
socket. It ends when it takes too long, needs too much memory, has served its share, or when that end is closed,
however that happens. Files that people attach to a question are read by the same workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from adapters.pages.body import document_kind, media_type
from adapters.pages.extraction import BROKE_READER, LENGTH, LIMITS, DocumentKind, Extraction, PageDocument, plain_reason
from core.model.errors import FetchError, PageTimeout, PageUnreadable, SetupError
from core.model.job import MAX_ATTACHMENT_BYTES, Attachment, AttachmentUnreadable
from core.presentation.render import one_line
from core.text.saying import say, say_again

EXTRACTION_LIMIT_S = 5.0
MEMORY_LIMIT_BYTES = 768 * 1024 * 1024  # address space; 5 MB of HTML need at most some 500 MB (tests/adapters/pages)
STARTUP_LIMIT_S = 20.0  # an interpreter and its imports on a machine under load; half a second on an idle one
_PATIENCE = 2.0  # times the limit: for one that has got rid of its alarm; ours counts while this process is held up too
_DOCUMENTS_A_WORKER = 200  # parsers leak and cache
_MAX_ANSWER_BYTES = 32 * 1024 * 1024  # the longest paper, a sixth of it as JSON escapes
_PNG = b"\x89PNG\r\n\x1a\n"
_ROOT = Path(__file__).resolve().parents[2]


class Nursery:
    """The process that parsers come from: started with the first, one for all pools, ended with the last of them.

    It has neither our environment (it holds keys), nor our session (Ctrl-C is for us), nor our open files.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._asks: socket.socket | None = None
        self._pools: set[object] = set()

    def start(self, pool: object) -> socket.socket:
        """What to ask by. Raises `OSError`."""
        self._pools.add(pool)
        if self._asks is None or self._process is None or self._process.poll() is not None:
            if self._asks is not None:
                self._asks.close()
            self._asks, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "adapters.pages.worker"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=_ROOT,
                    env={"LANG": "C.UTF-8", "PATH": os.defpath},
                    start_new_session=True,
                )
        return self._asks

    def bear(self, pool: object, limit_s: float, memory_bytes: int) -> socket.socket:
        """Our end of a new parser's socket, over which it will say that it is ready. Raises `OSError`."""
        asks = self.start(pool)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                socket.send_fds(asks, [LIMITS.pack(round(1000 * limit_s), memory_bytes)], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    async def leave(self, pool: object) -> None:
        """The last pool to leave waits until all are gone."""
        self._pools.discard(pool)
        if not self._pools and self._asks is not None and self._process is not None:
            self._asks.close()
            process, self._asks = self._process, None
            await asyncio.to_thread(process.wait)


NURSERY = Nursery()


@dataclass
class _Worker:
    channel: socket.socket
    pid: int = 0  # once it has said that it is ready
    served: int = 0
    is_between_documents: bool = False  # and so may take another

    @property
    def is_alive(self) -> bool:
        """The other end of a dead process's channel is closed."""
        try:
            return self.channel.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True  # open, and nothing is said
        except OSError:
            return False


class ExtractionWorkers:
    """At most `count` processes, started when first needed."""

    def __init__(
        self, *, count: int, limit_s: float = EXTRACTION_LIMIT_S, memory_bytes: int = MEMORY_LIMIT_BYTES
    ) -> None:
        self._count = count
        self._limit_s = limit_s
        self._memory_bytes = memory_bytes
        self._turn = asyncio.Semaphore(count)
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._is_closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the parsers that are ready."""
        return tuple(worker.pid for worker in (*self._idle, *self._busy) if worker.pid and worker.is_alive)

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
            began_at = time.monotonic()
            try:
                async with asyncio.timeout(_PATIENCE * self._limit_s):  # the kernel ends it sooner, by its own clock
                    answer = await _ask(worker.channel, document)
            except (OSError, ValueError) as exc:  # TimeoutError is one
                if time.monotonic() - began_at >= self._limit_s:
                    raise PageTimeout(document.url, f"could not be parsed within {self._limit_s:g} s") from exc
                raise PageUnreadable(document.url, f"{BROKE_READER}: {exc}") from exc
            worker.served += 1
            fields = _parsed(answer, document.url)
            worker.is_between_documents = bool(fields.get("fit", True))
        if "error" in fields:
            raise PageUnreadable(document.url, str(fields["error"])[:300])
        return fields

    def prepare(self) -> None:
        """Start what parsers come from, for a document that is still on its way."""
        if not self._is_closed:
            with contextlib.suppress(OSError):  # said when the document is there
                NURSERY.start(self)

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
        """End all parsers. Idempotent; returns when they are gone, unless other pools have parsers too."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().channel.close()
        for worker in self._busy:
            worker.channel.shutdown(socket.SHUT_RDWR)  # it is still being read, and ends by itself now
        for _ in range(self._count):
            await self._turn.acquire()
        for _ in range(self._count):
            self._turn.release()
        await NURSERY.leave(self)

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
                worker.channel.close()

    def _take_idle(self) -> _Worker | None:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            worker.channel.close()
        return None

    def _start(self, url: str) -> _Worker:
        if self._is_closed:
            raise PageUnreadable(url, "the page reader is shut down")
        try:
            return _Worker(NURSERY.bear(self, self._limit_s, self._memory_bytes))
        except OSError as exc:
            raise PageUnreadable(url, f"no parser could be started: {exc}") from exc


async def _until_ready(worker: _Worker, url: str) -> None:
    try:
        async with asyncio.timeout(STARTUP_LIMIT_S):
            worker.pid = int(json.loads(await _receive(worker.channel))["pid"])
    except TimeoutError as exc:
        raise PageTimeout(url, "no parser was ready in time") from exc
    except (OSError, ValueError) as exc:
        raise PageUnreadable(url, f"no parser could be started: {exc}") from exc
    worker.is_between_documents = True


async def _ask(channel: socket.socket, document: PageDocument) -> bytes:
    header = json.dumps({name: value for name, value in vars(document).items() if name != "body"}).encode()
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


# Files that people attach to a question, read by the same killable workers as pages


MAX_NAME_CHARS = 120
_BY_SUFFIX: dict[str, DocumentKind] = {
    ".pdf": "pdf", ".txt": "text", ".text": "text", ".md": "text", ".markdown": "text", ".rst": "text",
    ".csv": "text", ".log": "text", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".yaml": "text", ".yml": "text", ".json": "text", ".bib": "text", ".bibtex": "text", ".ris": "text", ".tex": "text",
    ".docx": "docx",
}  # fmt: skip
_READABLE = "PDF, Word (.docx), text, Markdown, BibTeX, RIS, YAML, JSON and HTML"


class AttachedFiles:
    """Its `read` is a `ReadAttachment`."""

    def __init__(self, workers: ExtractionWorkers) -> None:
        self._workers = workers

    async def read(self, name: str, media_type: str, content: bytes) -> Attachment:
        name = one_line(PurePath(name.replace("\\", "/")).name)[:MAX_NAME_CHARS] or "file"
        if not content:
            raise _unreadable(name, "it is empty")
        if len(content) > MAX_ATTACHMENT_BYTES:
            raise _unreadable(name, f"it is larger than {MAX_ATTACHMENT_BYTES // 1_000_000} MB")
        kind, charset = _kind(name, media_type, content)
        try:
            found = await self._workers.extract(PageDocument(f"attachment:{name}", kind, charset, content))
        except FetchError as exc:
            is_known = kind == "pdf" or isinstance(exc, PageTimeout)
            raise _unreadable(name, plain_reason(exc) if is_known else "it holds no readable text") from exc
        cut = say("Of {name}: {what}.", name=name, what=say_again(found.gap)) if found.gap else ""
        return Attachment(name, media_type, found.title or name, found.text, cut)


def _kind(name: str, label: str, content: bytes) -> tuple[DocumentKind, str]:
    """By the bytes and the label as for a page; by the file's ending where the label says nothing we know."""
    kind, charset = media_type(label)
    by_name = _BY_SUFFIX.get(PurePath(name).suffix.lower())
    found = by_name if by_name == "docx" else document_kind(kind, content) or by_name
    is_other = (found == "pdf" and b"%PDF-" not in content[:1024]) or (found == "docx" and content[:2] != b"PK")
    if found is None or is_other:
        raise _unreadable(name, f"it is not one of the kinds I read ({_READABLE})")
    return found, charset


def _unreadable(name: str, why: str) -> AttachmentUnreadable:
    return AttachmentUnreadable(
        f"attachment refused: {why}", user_message=say("I could not read {name}: {why}.", name=name, why=say_again(why))
    )
