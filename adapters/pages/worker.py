"""The process that all parsers come from, and the parsers: each reads documents from a socket and answers with JSON.

Imports are paid for once, by a parent that reads no page and holds nothing of ours; its children are born by forking
in milliseconds. Whatever a page does to a parser happens there, where it can be killed: the parent ends a child whose
socket we close, the kernel one that takes too long or too much memory. No environment and no secrets are inherited.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import resource
import select
import signal
import socket
import sys
from base64 import b64encode

from adapters.pages.extract import STOP_WORDS, extract, warm_up
from adapters.pages.extraction import LENGTH, LIMITS, TOO_MUCH_MEMORY, NoText, PageDocument

_IDLE_MS = 100  # after which no parser seems to be waited for


def main() -> None:
    """Bear parsers until whoever started us closes our standard input, a socket."""
    logging.disable(logging.CRITICAL)
    sys.modules["py3langid"] = None  # type: ignore[assignment] # trafilatura would load it, and numpy, and never ask it
    with socket.socket(fileno=os.dup(0)) as asker:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        warm_up()
        gc.collect()
        gc.freeze()  # else every collection in a child would copy the pages it shares with us
        born = _bear(asker)
        if born is not None:
            asker.close()
            _serve(*born)


def _bear(asker: socket.socket) -> tuple[socket.socket, float, int] | None:
    """Fork a parser for each socket that comes with its limits, and end it when the other end of that socket closes.

    Returns its socket and limits in a child, and None in the parent when `asker` closes and no child is left.
    """
    parsers: dict[int, tuple[socket.socket, int]] = {}  # by the socket's number, with the process's
    hears, bell = socket.socketpair()
    with hears, bell:
        bell.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler nothing rings
        signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
        watched = select.poll()
        for rings in (asker, hears):
            watched.register(rings, select.POLLIN)
        is_asked = True
        idle_ms: int | None = _IDLE_MS
        while is_asked or parsers:
            if not (rung := watched.poll(idle_ms)):
                _, idle_ms = STOP_WORDS.hashes, None  # whoever is born from now on need not read them
            for number, _ in rung:
                if number == hears.fileno():
                    hears.recv(4096)
                elif number in parsers:
                    os.kill(parsers[number][1], signal.SIGKILL)  # it is ours: nobody else waits for it
                    watched.unregister(number)
                elif (limits := _asked(asker)) is None:
                    is_asked = False
                    watched.unregister(asker)
                elif pid := os.fork():
                    parsers[limits[0].fileno()] = limits[0], pid
                    watched.register(limits[0], 0)
                else:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for others, _ in parsers.values():
                        others.close()
                    return limits
            _bury(parsers, watched)
    return None


def _asked(asker: socket.socket) -> tuple[socket.socket, float, int] | None:
    message, numbers, _, _ = socket.recv_fds(asker, LIMITS.size, 1)
    if not message:
        return None
    milliseconds, memory_bytes = LIMITS.unpack(message)
    return socket.socket(fileno=numbers[0]), milliseconds / 1000, memory_bytes


def _bury(parsers: dict[int, tuple[socket.socket, int]], watched: select.poll) -> None:
    """Let go of the sockets of children that have ended: only then does whoever waits for an answer hear of it."""
    with contextlib.suppress(ChildProcessError):
        while dead := os.waitpid(-1, os.WNOHANG)[0]:
            number = next(number for number, (_, pid) in parsers.items() if pid == dead)
            with contextlib.suppress(KeyError):  # one that we have killed
                watched.unregister(number)
            parsers.pop(number)[0].close()


def _serve(parent: socket.socket, seconds: float, memory_bytes: int) -> None:
    """Answer documents until the other end closes."""
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    with parent:
        _send(parent, json.dumps({"pid": os.getpid()}).encode())
        while (document := _receive(parent)) is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)  # default action: the kernel ends us, even inside C code
            answer = _answer(document)
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(parent, answer)


def _limit(what: int, most: int) -> None:
    # macOS knows these limits but refuses some values; there time is the only limit.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (most, most))


def _answer(document: PageDocument) -> bytes:
    try:
        if document.page:
            return json.dumps({"picture": b64encode(_picture(document)).decode()}).encode()
        return extract(document).to_json()
    except NoText as exc:
        return _failure(str(exc), is_fit=True)
    except MemoryError:
        return _failure(TOO_MUCH_MEMORY, is_fit=False)
    except RecursionError:
        return _failure("nested too deeply", is_fit=True)
    except Exception as exc:  # noqa: BLE001 - the process border: any parser bug costs this page only, and is named
        return _failure(f"the parser failed: {type(exc).__name__}: {str(exc)[:200]}", is_fit=False)


def _picture(document: PageDocument) -> bytes:
    from adapters.pages.pdf.picture import paint_page  # needs Pillow, which reading does not

    return paint_page(document.body, document.page, document.quote)


def _failure(message: str, *, is_fit: bool) -> bytes:
    """`is_fit` says that this process may go on to the next document."""
    return json.dumps({"error": message, "fit": is_fit}).encode()


def _receive(parent: socket.socket) -> PageDocument | None:
    """The next document: length and JSON of its fields, then length and bytes of its body; None at the end."""
    header = _block(parent)
    body = _block(parent) if header is not None else None
    if header is None or body is None:
        return None
    return PageDocument(body=body, **json.loads(header))


def _block(parent: socket.socket) -> bytes | None:
    size = _exactly(parent, LENGTH.size)
    return _exactly(parent, LENGTH.unpack(size)[0]) if size is not None else None


def _exactly(parent: socket.socket, count: int) -> bytes | None:
    received = bytearray()
    while len(received) < count:
        piece = parent.recv(min(count - len(received), 1 << 20))
        if not piece:
            return None
        received += piece
    return bytes(received)


def _send(parent: socket.socket, answer: bytes) -> None:
    parent.sendall(LENGTH.pack(len(answer)) + answer)


if __name__ == "__main__":
    main()
