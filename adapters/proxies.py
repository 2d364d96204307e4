"""Which way calls to vendors and platforms go: directly, or by the proxy that the environment names; and how names
become addresses.

Every client of ours asks here, because the libraries beneath them differ: some read `HTTPS_PROXY` themselves, one of
these forgets `NO_PROXY`, and some read neither. Pages are no vendor's: see adapters/pages/fetch.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

from core.model.errors import SetupError

if TYPE_CHECKING:
    from ssl import SSLContext


@cache
def authorities() -> SSLContext:
    """Who may vouch for a vendor: read once for all of httpx's clients, since each would take 20 ms to read them."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


def capped(kind: type, stream: Any, most: int, too_much: Exception | None) -> Any:
    """`stream`, which raises `too_much` or ends behind `most` bytes; `kind` is what streams are in httpx, or httpx2."""

    class Capped(kind):  # type: ignore[misc]  # each of the two takes its own alone
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > most:
                    if too_much is None:
                        return
                    raise too_much
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Capped()


@dataclass(frozen=True)
class Proxies:
    """Addresses of proxies, "" for none; they may carry a password. `exceptions` are as `NO_PROXY` lists them."""

    https: str = field(default="", repr=False)
    http: str = field(default="", repr=False)
    exceptions: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Proxies:
        """Reads `HTTPS_PROXY HTTP_PROXY NO_PROXY`, also in small letters. Raises `SetupError`."""
        listed = _value(env, "NO_PROXY").replace(",", " ").lower().split()
        return cls(read_proxy(env, "HTTPS_PROXY"), read_proxy(env, "HTTP_PROXY"), tuple(listed))

    def of(self, url: str) -> str | None:
        """The proxy for an `http`, `https`, `ws` or `wss` address; None goes directly."""
        parts = urlsplit(url)
        is_secure = parts.scheme in ("https", "wss")
        proxy = self.https if is_secure else self.http
        host, port = parts.hostname or "", parts.port or (443 if is_secure else 80)
        return None if not proxy or any(_names(entry, host, port) for entry in self.exceptions) else proxy


DIRECT = Proxies()


def read_proxy(env: Mapping[str, str], name: str) -> str:
    """The address in one variable, "" when it is not set. Raises `SetupError`, which does not repeat it."""
    given = _value(env, name)
    if not given:
        return ""
    address = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(address)
        is_proxy = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_proxy = False
    if not is_proxy:
        raise SetupError(f"{name} is not the address of an HTTP proxy, e.g. http://proxy.example.org:3128.")
    return address


def _value(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.lower()) or "").strip()


def _names(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `NO_PROXY` means this host: `*`, a name with all below it, an address, a network; a port
    may follow.
    """
    if entry == "*":
        return True
    name, _, after = entry.rpartition(":")
    if name and after.isdecimal() and (":" not in name or name.endswith("]")):
        if int(after) != port:
            return False
        entry = name
    try:
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        domain = entry.removeprefix("*").removeprefix(".")
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))


# Names to addresses, in threads that never keep the program from ending, for every client that dials. The event
# loop's own look-up runs in the default executor, which the interpreter joins at exit: with a dead name server that is
# up to half a minute of silence after the answer.


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
