"""Host names to addresses in threads that nobody waits for.

`loop.getaddrinfo` runs in the default executor, whose threads are joined at exit: a resolver that
hangs for half a minute would keep a finished program alive. These threads are daemons.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress

from aiohttp.abc import AbstractResolver, ResolveResult


async def look_up(host: str, port: int, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
    """The stream addresses of `host`. Raises `OSError`; the caller bounds the time."""
    with suppress(OSError, UnicodeError):  # an address is its own: nothing to wait for
        return _addresses(host, port, family, socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[ResolveResult]] = loop.create_future()

    def deliver(addresses: list[ResolveResult] | OSError) -> None:
        if found.done():
            return
        if isinstance(addresses, OSError):
            found.set_exception(addresses)
        else:
            found.set_result(addresses)

    def run() -> None:
        outcome: list[ResolveResult] | OSError
        try:
            outcome = _addresses(host, port, family)
        except OSError as exc:
            outcome = exc
        except UnicodeError as exc:  # a label that is empty or too long for IDNA
            outcome = OSError(f"{host!r} is no host name: {exc}")
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=run, name=f"look up {host}", daemon=True).start()
    return await found


class DaemonResolver(AbstractResolver):
    """For aiohttp's connector."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return await look_up(host, port, family)

    async def close(self) -> None:
        pass


def _addresses(host: str, port: int, family: int, flags: int = 0) -> list[ResolveResult]:
    rows = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=int(address[1]),
            family=row_family,
            proto=proto,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for row_family, _, proto, _, address in rows
        if not (row_family == socket.AF_INET6 and len(address) > 3 and address[3])  # link-local needs its zone
    ]
