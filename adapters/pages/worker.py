"""The process that parses: reads documents from its standard input, a socket, and answers with JSON.

Whatever a page does to a parser happens here, where it can be killed: the parent kills on timeout, the kernel on too
much memory, and an alarm ends even a worker whose parent has died. It inherits no environment and no secrets.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import signal
import socket
import sys
from base64 import b64encode
from typing import cast

from adapters.pages.extract import extract, warm_up
from adapters.pages.extraction import LENGTH, TOO_MUCH_MEMORY, DocumentKind, NoText, PageDocument

READY = b'{"ready": true}'


def main() -> None:
    """Serve until the parent closes the socket. Arguments: seconds a document may take, bytes of memory."""
    seconds, memory_bytes = int(sys.argv[1]), int(sys.argv[2])
    logging.disable(logging.CRITICAL)
    with socket.socket(fileno=os.dup(0)) as parent:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        warm_up()
        _limit(resource.RLIMIT_AS, memory_bytes)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, 0)
        _send(parent, READY)
        while (document := _receive(parent)) is not None:
            signal.alarm(seconds + 1)  # default action: the kernel ends the process, even inside C code
            answer = _answer(document)
            signal.alarm(0)
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
    fields: dict[str, str] = json.loads(header)
    kind = cast(DocumentKind, fields["kind"])
    sizes = int(fields["max_chars"]), int(fields["page"])
    return PageDocument(fields["url"], kind, fields["charset"], body, *sizes, fields["quote"])


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
