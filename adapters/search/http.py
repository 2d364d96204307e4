"""One GET to a keyless API: bounded in time and size, rate-limited, retried once where that is safe, errors in ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
import stamina

from adapters.proxies import DIRECT, Proxies
from adapters.resolver import DaemonResolver
from adapters.search.faults import broken, garbled, status_error, too_late, unreachable
from adapters.search.gate import Gate
from adapters.search.settings import Access, TimeLimits
from core.errors import ProviderUnavailable

MAX_BODY_BYTES = 5_000_000  # ten long articles; more is a mistake or an attack
CHUNK_BYTES = 64 * 1024


class ApiClient:
    """Holds the connections to one service. `attempts` counts the first one."""

    def __init__(
        self,
        access: Access,
        gate: Gate,
        limits: TimeLimits,
        *,
        agent: str,
        attempts: int = 2,
        proxies: Proxies = DIRECT,
    ) -> None:
        self._access = access
        self._gate = gate
        self._limits = limits
        self._agent = agent
        self._attempts = attempts
        self._proxies = proxies
        self._session: aiohttp.ClientSession | None = None
        self._session_loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(gate.at_once)

    async def get(self, url: str, parameters: Mapping[str, str]) -> bytes:
        """The body of a 200 answer. Raises `ProviderError`; the caller bounds the whole search."""
        again = stamina.AsyncRetryingCaller(
            attempts=self._attempts, timeout=None, wait_initial=0.1, wait_max=0.5, wait_jitter=0.3
        )
        return await again(self._is_hiccup, self._get_in_turn, url, parameters)

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _is_hiccup(self, error: Exception) -> bool:
        """A 5xx or a lost connection; not a server that could not be reached, which must cost no more time."""
        return isinstance(error, ProviderUnavailable) and not self._gate.is_closed

    async def _get_in_turn(self, url: str, parameters: Mapping[str, str]) -> bytes:
        session = self._open_session()
        async with self._slots:
            await self._gate.turn()
            return await self._get_once(session, url, parameters)

    async def _get_once(self, session: aiohttp.ClientSession, url: str, parameters: Mapping[str, str]) -> bytes:
        access, connect_s = self._access, await self._limits.to_connect_s()
        timeout = aiohttp.ClientTimeout(total=self._limits.search_s, connect=connect_s)
        try:
            # A redirect would send the question to a host that nobody configured.
            proxy = self._proxies.of(url)
            async with session.get(
                url, params=parameters, allow_redirects=False, proxy=proxy, timeout=timeout
            ) as response:
                self._gate.note_reached()
                if response.status != 200:
                    retry_after = response.headers.get("Retry-After")
                    raise self._gate.note(status_error(access, response.status, retry_after=retry_after))
                return await self._read(response)
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as exc:
            is_late = isinstance(exc, TimeoutError)
            error = unreachable(access, f"no connection in {connect_s:.1f} s" if is_late else _describe(exc))
            raise self._gate.note(error, is_unreachable=True) from exc
        except TimeoutError as exc:
            raise too_late(access, f"no answer in {self._limits.search_s:g} s") from exc
        except (aiohttp.InvalidURL, aiohttp.ContentTypeError) as exc:
            raise garbled(access, _describe(exc)) from exc
        except aiohttp.ClientResponseError as exc:
            raise garbled(access, f"not HTTP: {exc.message}") from exc
        except aiohttp.ClientPayloadError as exc:
            raise broken(access, "the answer was cut off", plain="its answer was cut off") from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise broken(access, f"connection lost: {_describe(exc)}", plain="the connection was lost") from exc

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Piece by piece, because `read()` would unpack a compressed bomb whole."""
        body = bytearray()
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise garbled(self._access, f"answer over {MAX_BODY_BYTES} bytes")
        return bytes(body)

    def _open_session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.closed or self._session_loop is not loop:
            self._session = aiohttp.ClientSession(
                # No limit here: waiting for a free connection would count as connecting.
                connector=aiohttp.TCPConnector(limit=0, resolver=DaemonResolver()),
                headers={"User-Agent": self._agent},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            self._slots = asyncio.Semaphore(self._gate.at_once)
            self._session_loop = loop
        return self._session


def _describe(error: BaseException) -> str:
    """A few words without the address, whose parameters may hold a key."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or type(error).__name__
