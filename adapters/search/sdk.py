"""The same manners for vendors' own clients, which sit on httpx: time to connect, size, statuses, errors.

Their clients have one timeout for everything and drop `Retry-After`, so hooks on the httpx client see to both.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adapters.resolver import DaemonResolver
from adapters.search.faults import broken, error_in_answer, garbled, status_error, too_late, unreachable
from adapters.search.gate import Gate
from adapters.search.http import MAX_BODY_BYTES
from adapters.search.settings import Access, TimeLimits
from core.errors import ProviderError

if TYPE_CHECKING:
    import httpx

LEFT_TO_THE_CLIENT = frozenset({400})  # the only one whose body tells the operator more than its status


class Manners:
    """Hooks for one httpx client of one provider, in one event loop."""

    def __init__(self, access: Access, gate: Gate, limits: TimeLimits, *, is_proxied: bool = False) -> None:
        self._is_proxied = is_proxied
        self._access = access
        self._gate = gate
        self._limits = limits
        self._names = DaemonResolver()

    def teach(self, client: httpx.AsyncClient) -> None:
        """From now on `client` connects within the limit, caps answers and raises our errors for statuses."""
        client.event_hooks = {"request": [self._before], "response": [self._after]}

    async def _before(self, request: httpx.Request) -> None:
        connect_s = await self._limits.to_connect_s()
        timeout = {**request.extensions.get("timeout", {}), "connect": connect_s}
        request.extensions = {**request.extensions, "timeout": timeout}
        request.headers["Accept-Encoding"] = "identity"  # httpx unpacks whole chunks: a bomb would pass the cap
        if not self._is_proxied:  # behind a proxy names may be known to the proxy alone
            await self._look_up(request.url.host, request.url.port or 443, connect_s)

    async def _look_up(self, host: str, port: int, within_s: float) -> None:
        """A name that cannot be found must not leave one of httpx's own look-ups behind (adapters/resolver.py)."""
        try:
            async with asyncio.timeout(within_s):
                await self._names.resolve(host, port, socket.AF_UNSPEC)
        except TimeoutError as exc:
            error = unreachable(self._access, f"{host} not looked up in {within_s:.1f} s")
            raise self._gate.note(error, is_unreachable=True) from exc
        except OSError as exc:
            error = unreachable(self._access, exc.strerror or f"{host} is not known")
            raise self._gate.note(error, is_unreachable=True) from exc

    async def _after(self, response: httpx.Response) -> None:
        import httpx

        self._gate.note_reached()
        if not response.is_success and response.status_code not in LEFT_TO_THE_CLIENT:
            retry_after = response.headers.get("Retry-After")
            raise self._gate.note(status_error(self._access, response.status_code, retry_after=retry_after))
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise garbled(self._access, "compressed although it was asked not to be")
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _capped(response.stream, self._access)
            error = error_in_answer(self._access, await response.aread()) if response.is_success else None
            if error is not None:  # the clients take it for an answer without results
                raise self._gate.note(error)


@contextmanager
def our_errors(access: Access, gate: Gate) -> Iterator[None]:
    """Turns what an httpx client, or a vendor's code around it, raises into ours."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
        raise gate.note(unreachable(access, str(exc) or "no connection in time"), is_unreachable=True) from exc
    except httpx.TimeoutException as exc:
        raise too_late(access, f"no answer in time: {type(exc).__name__}") from exc
    except httpx.TransportError as exc:
        raise broken(access, f"connection lost: {type(exc).__name__}", plain="the connection was lost") from exc
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise garbled(access, type(exc).__name__) from exc
    except ProviderError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as exc:
        raise garbled(access, f"the client could not read the answer: {type(exc).__name__}") from exc


def _capped(stream: httpx.AsyncByteStream, access: Access) -> httpx.AsyncByteStream:
    import httpx

    class CappedStream(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise garbled(access, f"answer over {MAX_BODY_BYTES} bytes")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return CappedStream()
