"""Names to addresses, in threads that never keep the program from ending, for every client that dials.

The event loop's own look-up runs in the default executor, which the interpreter joins at exit: with a dead name
server that is up to half a minute of silence after the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

from aiohttp.abc import AbstractResolver, ResolveResult

MAX_LOOKUPS = 32  # at once; more wait, and give up with their request


class DaemonResolver(AbstractResolver):
    """The system's name service, one daemon thread a look-up. For one event loop. Raises `OSError`."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(MAX_LOOKUPS)
        self._turn = asyncio.Semaphore(MAX_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        with contextlib.suppress(OSError, UnicodeError):  # an address is its own: nothing to wait for
            return _addresses(host, port, family, socket.AI_NUMERICHOST)
        async with self._turn:
            if not self._free.acquire(blocking=False):
                raise OSError("too many name look-ups hang")
            return await self._look_up(host, port, family)

    async def close(self) -> None:
        pass

    async def _look_up(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[ResolveResult]] = loop.create_future()

        def settle(result: list[ResolveResult] | OSError) -> None:
            if done.done():
                return
            if isinstance(result, OSError):
                done.set_exception(result)
            else:
                done.set_result(result)

        def work() -> None:
            result: list[ResolveResult] | OSError
            try:
                result = _addresses(host, port, family)
            except OSError as exc:
                result = exc
            except UnicodeError as exc:  # a label that is empty or too long for IDNA
                result = OSError(f"not a host name: {exc}")
            finally:
                self._free.release()
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(settle, result)

        threading.Thread(target=work, name=f"resolve-{host[:40]}", daemon=True).start()
        return await done


def _addresses(host: str, port: int, family: socket.AddressFamily, flags: int = 0) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
    return [
        ResolveResult(hostname=host, host=str(address[0]), port=int(address[1]), family=kind, proto=protocol, flags=0)
        for kind, _, protocol, _, address in found
    ]
