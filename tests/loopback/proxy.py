"""A forward proxy that counts. It alone knows the hosts `h<port>.invalid`, which are ports of this machine.

So whatever reaches such a host has gone through the proxy, and nothing else can.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

KNOWN = re.compile(r"h(\d+)\.invalid")


def behind_proxy(text: str) -> str:
    """Addresses of this machine's services as only the proxy knows them."""
    return re.sub(r"127\.0\.0\.1:(\d+)|localhost:(\d+)", lambda found: f"h{found[1] or found[2]}.invalid", text)


@dataclass
class Proxy:
    """`asked` are the targets, `host:port`, in order; a connection that is kept open counts once."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    def hosts(self) -> set[str]:
        return {target.rpartition(":")[0] for target in self.asked}

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await self._pass_on(reader, writer)
        writer.close()

    async def aclose(self) -> None:
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        parts = urlsplit(target if "://" in target else f"//{target}")
        host, port = parts.hostname or "", parts.port or 80
        self.asked.append(f"{host}:{port}")
        known = KNOWN.fullmatch(host)
        if not known:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        there, back = await asyncio.open_connection("127.0.0.1", int(known[1]))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            back.write(head)
        async with asyncio.TaskGroup() as group:
            group.create_task(_pipe(reader, back))
            group.create_task(_pipe(there, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def forward_proxy() -> AsyncIterator[Proxy]:
    proxy = Proxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.aclose()
