"""Requests that are slow, broken or none at all, sent as bytes: each ends soon, in words, and with a short log."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from adapters.web.app import web_runner
from adapters.web.limits import LINGER_S, PATIENCE_S
from tests.adapters.web.serving import web_app

FORM = "Content-Type: application/x-www-form-urlencoded"


@asynccontextmanager
async def listening(*, silence_s: float = 60.0, patience_s: float = 60.0, linger_s: float = 0.1) -> AsyncIterator[int]:
    """The port of pages that wait `silence_s` for a request, `patience_s` for its body, and `linger_s` after that."""
    app = web_app()
    app[PATIENCE_S], app[LINGER_S] = patience_s, linger_s
    runner = web_runner(app, silence_s=silence_s)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def answer_to(port: int, *lines: str, body: bytes = b"") -> bytes:
    """All that comes back until the other side hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join(lines).encode("latin-1") + body)
    try:
        return await asyncio.wait_for(reader.read(), 15)
    finally:
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [pytest.param([], id="nothing"), pytest.param(["GET / HTTP/1.1", "Host: x", "X-Slow: "], id="half of the headers")],
)
async def test_who_says_nothing_is_let_go(sent: list[str]):
    """Silent connections would use up the process's descriptors."""
    async with listening(silence_s=0.1) as port:
        assert await answer_to(port, *sent) == b""


@pytest.mark.parametrize("path", ["/sign-in", "/", "/v1/research"])
async def test_a_body_that_does_not_come_is_not_waited_for(path: str):
    """Also where nobody has asked for a token yet."""
    async with listening(patience_s=0.1) as port:
        told = await answer_to(
            port, f"POST {path} HTTP/1.1", "Host: x", FORM, "Content-Length: 9", "Connection: close", "", "tok"
        )

    assert told.startswith(b"HTTP/1.1 400 ")
    assert b"did not arrive in time" in told


@pytest.mark.parametrize("path", ["/sign-in", "/v1/research"])
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(f"{FORM}; charset=zlib_codec", id="a charset that is none of text"),
        pytest.param(f"{FORM}; charset=nope", id="an unknown charset"),
        pytest.param("Content-Type: multipart/form-data; boundary=x", id="parts without an end"),
    ],
)
async def test_a_body_that_cannot_be_read_is_the_senders_fault(
    path: str, header: str, caplog: pytest.LogCaptureFixture
):
    """400 in a sentence and no traceback in the log."""
    async with listening() as port:
        told = await answer_to(
            port,
            f"POST {path} HTTP/1.1",
            "Host: x",
            header,
            "Content-Length: 9",
            "Connection: close",
            "",
            "token=\xff\xfe\x00",
        )

    assert told.startswith(b"HTTP/1.1 400 ")
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("path", ["/sign-in", "/", "/v1/research", "/slack/events", "/nowhere"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip", "x"])
async def test_a_packed_body_is_refused_unopened(path: str, encoding: str):
    """415: what 64 KB unpack to has no bound."""
    async with listening() as port:
        told = await answer_to(
            port,
            f"POST {path} HTTP/1.1",
            "Host: x",
            f"Content-Encoding: {encoding}",
            "Content-Length: 24",
            "Connection: close",
            "",
            "",
            body=gzip.compress(b"x" * 9)[:24].ljust(24),
        )

    assert told.startswith(b"HTTP/1.1 415 ")


async def test_after_a_refusal_nothing_more_is_read():
    """Who goes on sending is cut off: what the kernel holds is all that is taken."""
    size = 64 * 1024 * 1024
    async with listening() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST /v1/research HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode())
        told = await asyncio.wait_for(reader.readuntil(b"\r\n"), 15)
        sent = 0
        try:
            while sent < size:
                writer.write(bytes(65536))
                await asyncio.wait_for(writer.drain(), 15)
                sent += 65536
        except ConnectionError:
            pass
        writer.close()

    assert told == b"HTTP/1.1 413 Request Entity Too Large\r\n"
    assert sent < size / 4


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
    ],
)
async def test_no_path_leads_out_of_the_static_files(path: str):
    async with listening() as port:
        told = await answer_to(port, f"GET {path} HTTP/1.1", "Host: x", "Connection: close", "", "")

    assert told.startswith(b"HTTP/1.1 404 ")
    assert b"import" not in told


async def test_what_is_no_request_costs_one_short_line(caplog: pytest.LogCaptureFixture):
    """Its bytes may hold a question or a signature, and a traceback for each would fill the disk."""
    async with listening() as port:
        told = await answer_to(port, "GET /jobs/j?sig=1-abc&query=\xe9 HTTP/1.1", "Host: x", "", "")

    assert told.startswith(b"HTTP/1.0 400 ")
    assert [(record.levelno, record.getMessage(), record.exc_info) for record in caplog.records] == [
        (logging.WARNING, "not a request", None)
    ]
