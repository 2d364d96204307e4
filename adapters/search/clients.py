"""How a service is asked: over one GET, or through its vendor's own client; what is alike for all is written here.

Calls wait for their turn at a gate, which knows the rate and that a service is down; they are bounded in time and
size, a GET is retried once where that is safe, and what goes wrong is an error of ours (service.py).
"""

from __future__ import annotations

import asyncio
import importlib
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from xml.etree.ElementTree import Element

import aiohttp
import stamina
from aiolimiter import AsyncLimiter
from pydantic import AliasChoices, BaseModel, Field

from adapters.proxies import DaemonResolver, authorities, capped
from adapters.search.service import (
    Item,
    Service,
    Surroundings,
    TimeLimits,
    broken,
    deadline,
    error_in_answer,
    garbled,
    parse_answer,
    parse_json,
    parse_time,
    parse_xml,
    status_error,
    tidy,
    too_late,
    unreachable,
    with_path,
)
from core.model.errors import ProviderError, ProviderRateLimited, ProviderUnavailable
from core.model.job import Scope
from core.model.ports import ProviderStrength
from core.model.source import SearchHit, SearchQuery
from core.pipeline.limits import CallRate

if TYPE_CHECKING:
    import httpx

UNREACHABLE_FOR_S = 1.5  # the rest of a question's calls fail at once; the question itself is tried again after 2 s
REACHED_FOR_S = 15.0  # so long after an answer a lost connection is a busy machine's, and closes nothing
MAX_CLOSED_S = 60.0  # a server that asks for a longer silence is tried once a minute
UNLIMITED_AT_ONCE = 64  # towards a host without a published limit; twenty questions at once need about that
POLL_S = 0.05  # how soon a waiting caller notices that the provider is down
MAX_BODY_BYTES = 5_000_000  # ten long articles; more is a mistake or an attack
CHUNK_BYTES = 64 * 1024
LEFT_TO_THE_CLIENT = frozenset({400})  # the only status whose body tells the operator more than itself

Vendor = TypeVar("Vendor")


class OnlineSearch(ABC):
    """What every provider of the network does alike. A provider is its `service`, its `strength` and `find`."""

    service: Service
    strength: ProviderStrength

    def __init__(self, client: GetClient | VendorClient[Any], around: Surroundings) -> None:
        self._client = client
        self._search_s = around.limits.search_s
        self._clock = around.clock

    @property
    def name(self) -> str:
        return self.service.name

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        if limit < 1 or not query.text.strip():
            return []
        async with deadline(self.service, self._search_s):
            found = await self.find(query, limit)
        return tidy(found, limit=limit, filters=query.filters)

    @abstractmethod
    async def find(self, query: SearchQuery, limit: int) -> Iterable[SearchHit]:
        """What the service has, best first; it may be more than `limit` (at least 1). Raises `ProviderError`."""

    async def warm_up(self) -> None:
        """Do what the first question would otherwise wait for; nobody is asked."""
        await self._client.warm_up()

    async def aclose(self) -> None:
        await self._client.aclose()


class GetSearch(OnlineSearch):
    """A provider that is asked by GET. `base_url` is the address that answers, or an origin that does so at `path`."""

    path = ""
    attempts = 2

    def __init__(self, base_url: str, around: Surroundings) -> None:
        self._url = with_path(base_url, self.path)
        self._api = GetClient(self.service, around, self._url, attempts=self.attempts)
        super().__init__(self._api, around)


class WebResult(BaseModel):
    """A page as web searches list it; `content` is what they took of it."""

    url: str
    title: str | None = None
    content: str | None = None
    published: str | None = Field(default=None, validation_alias=AliasChoices("publishedDate", "published_date"))

    def hit(self, service: Service) -> SearchHit:
        title, text = self.title or "", self.content or ""
        return SearchHit(service.name, self.url, title, text, published_at=parse_time(self.published))


class GetClient:
    """Holds the connections to one service that is asked by GET. `attempts` counts the first one.

    `bucket` names the rate that all processes share where that is not the service's only one.
    """

    def __init__(
        self, service: Service, around: Surroundings, url: str, *, attempts: int = 2, bucket: str = ""
    ) -> None:
        self._service = service
        self._gate = gate = Gate(service, around.rate_at(service, url))
        self._turns = around.turns_of(service, bucket)
        self._limits = around.limits
        self._agent = around.agent
        self._attempts = attempts
        self._proxies = around.proxies
        self._session: aiohttp.ClientSession | None = None
        self._session_loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(gate.at_once)

    async def get(self, url: str, parameters: Mapping[str, str], *, none_at: int = 200) -> bytes:
        """The body of a 200 answer; "" for one of the status `none_at`, which says that the service has none.

        Raises `ProviderError`; the caller bounds the whole search.
        """
        again = stamina.AsyncRetryingCaller(
            attempts=self._attempts, timeout=None, wait_initial=0.1, wait_max=0.5, wait_jitter=0.3
        )
        return await again(self._is_hiccup, self._get_in_turn, url, parameters, none_at)

    async def ask(self, model: type[Item], url: str, parameters: Mapping[str, str]) -> Item:
        """What an answer in JSON says. Raises `ProviderError`, as those below."""
        return self._parsed(model, await self.get(url, parameters))

    async def ask_for_one(self, model: type[Item], url: str, parameters: Mapping[str, str]) -> Item | None:
        """Likewise; None for a 404, which says that the service has none."""
        body = await self.get(url, parameters, none_at=404)
        return self._parsed(model, body) if body else None

    async def ask_xml(self, url: str, parameters: Mapping[str, str]) -> Element:
        return parse_xml(self._service, await self.get(url, parameters))

    def _parsed(self, model: type[Item], body: bytes) -> Item:
        return parse_answer(self._service, model, parse_json(self._service, body))

    async def warm_up(self) -> None:
        """There is nothing to import."""

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _is_hiccup(self, error: Exception) -> bool:
        """A 5xx or a lost connection; not a server that could not be reached, which must cost no more time."""
        return isinstance(error, ProviderUnavailable) and not self._gate.is_closed

    async def _get_in_turn(self, url: str, parameters: Mapping[str, str], none_at: int) -> bytes:
        session = self._open_session()
        async with self._slots:
            if self._turns is not None:
                await self._turns.take()
            await self._gate.turn()
            return await self._get_once(session, url, parameters, none_at)

    async def _get_once(
        self, session: aiohttp.ClientSession, url: str, parameters: Mapping[str, str], none_at: int
    ) -> bytes:
        service, connect_s = self._service, await self._limits.to_connect_s()
        timeout = aiohttp.ClientTimeout(total=self._limits.search_s, connect=connect_s)
        try:
            # A redirect would send the question to a host that nobody configured.
            proxy = self._proxies.of(url)
            async with session.get(
                url, params=parameters, allow_redirects=False, proxy=proxy, timeout=timeout
            ) as response:
                self._gate.note_reached()
                if response.status == none_at != 200:
                    return b""
                if response.status != 200:
                    retry_after = response.headers.get("Retry-After")
                    raise self._gate.note(status_error(service, response.status, retry_after=retry_after))
                return await self._read(response)
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as exc:
            is_late = isinstance(exc, TimeoutError)
            error = unreachable(service, f"no connection in {connect_s:.1f} s" if is_late else _describe(exc))
            raise self._gate.note(error, is_unreachable=True) from exc
        except TimeoutError as exc:
            raise too_late(service, f"no answer in {self._limits.search_s:g} s") from exc
        except (aiohttp.InvalidURL, aiohttp.ContentTypeError) as exc:
            raise garbled(service, _describe(exc)) from exc
        except aiohttp.ClientResponseError as exc:
            raise garbled(service, f"not HTTP: {exc.message}") from exc
        except aiohttp.ClientPayloadError as exc:
            raise broken(service, "the answer was cut off", plain="its answer was cut off") from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise broken(service, f"connection lost: {_describe(exc)}", plain="the connection was lost") from exc

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Piece by piece, because `read()` would unpack a compressed bomb whole."""
        body = bytearray()
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise garbled(self._service, f"answer over {MAX_BODY_BYTES} bytes")
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


class VendorClient(Generic[Vendor]):
    """A vendor's own client over an httpx client of ours, with the manners of `GetClient`.

    `module` is the vendor's, which takes so long to import that a thread does it; `connect` makes its client from ours.
    Their clients have one timeout for everything and drop `Retry-After`, so hooks on the httpx client see to both.
    """

    def __init__(
        self,
        service: Service,
        around: Surroundings,
        base_url: str,
        *,
        module: str,
        connect: Callable[[httpx.AsyncClient], Vendor],
    ) -> None:
        self._service, self._base_url, self._module, self._connect = service, base_url, module, connect
        self._gate = Gate(service, around.rate_at(service, base_url))
        self._limits: TimeLimits = around.limits
        self._proxy = around.proxies.of(base_url)
        self._names = DaemonResolver()
        self._http: httpx.AsyncClient | None = None
        self._vendor: Vendor | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Vendor]:
        """The vendor's client, for one call, when it may be made; what that raises becomes an error of ours."""
        await self._gate.turn()
        vendor = await self._open()
        with _our_errors(self._service, self._gate):
            yield vendor

    async def warm_up(self) -> None:
        await self._open()

    async def aclose(self) -> None:
        http, self._http, self._vendor = self._http, None, None
        if http is not None:
            await http.aclose()

    async def _open(self) -> Vendor:
        """One client a loop."""
        await asyncio.to_thread(importlib.import_module, self._module)
        loop = asyncio.get_running_loop()
        if self._vendor is None or self._loop is not loop:
            import httpx

            self._http = httpx.AsyncClient(
                base_url=self._base_url,
                timeout=self._limits.search_s,
                proxy=self._proxy,
                verify=authorities(),
                trust_env=False,
            )
            self._http.event_hooks = {"request": [self._before], "response": [self._after]}
            self._vendor, self._loop = self._connect(self._http), loop
        return self._vendor

    async def _before(self, request: httpx.Request) -> None:
        connect_s = await self._limits.to_connect_s()
        timeout = {**request.extensions.get("timeout", {}), "connect": connect_s}
        request.extensions = {**request.extensions, "timeout": timeout}
        request.headers["Accept-Encoding"] = "identity"  # httpx unpacks whole chunks: a bomb would pass the cap
        if self._proxy is None:  # behind a proxy names may be known to the proxy alone
            await self._look_up(request.url.host, request.url.port or 443, connect_s)

    async def _look_up(self, host: str, port: int, within_s: float) -> None:
        """A name that cannot be found must not leave one of httpx's own look-ups behind (adapters/proxies.py)."""
        try:
            async with asyncio.timeout(within_s):
                await self._names.resolve(host, port, socket.AF_UNSPEC)
        except TimeoutError as exc:
            error = unreachable(self._service, f"{host} not looked up in {within_s:.1f} s")
            raise self._gate.note(error, is_unreachable=True) from exc
        except OSError as exc:
            error = unreachable(self._service, exc.strerror or f"{host} is not known")
            raise self._gate.note(error, is_unreachable=True) from exc

    async def _after(self, response: httpx.Response) -> None:
        import httpx

        self._gate.note_reached()
        if not response.is_success and response.status_code not in LEFT_TO_THE_CLIENT:
            retry_after = response.headers.get("Retry-After")
            raise self._gate.note(status_error(self._service, response.status_code, retry_after=retry_after))
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise garbled(self._service, "compressed although it was asked not to be")
        if isinstance(response.stream, httpx.AsyncByteStream):
            too_much = garbled(self._service, f"answer over {MAX_BODY_BYTES} bytes")
            response.stream = capped(httpx.AsyncByteStream, response.stream, MAX_BODY_BYTES, too_much)
            error = error_in_answer(self._service, await response.aread()) if response.is_success else None
            if error is not None:  # the clients take it for an answer without results
                raise self._gate.note(error)


@contextmanager
def _our_errors(service: Service, gate: Gate) -> Iterator[None]:
    """Turns what an httpx client, or a vendor's code around it, raises into ours."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
        raise gate.note(unreachable(service, str(exc) or "no connection in time"), is_unreachable=True) from exc
    except httpx.TimeoutException as exc:
        raise too_late(service, f"no answer in time: {type(exc).__name__}") from exc
    except httpx.TransportError as exc:
        raise broken(service, f"connection lost: {type(exc).__name__}", plain="the connection was lost") from exc
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise garbled(service, type(exc).__name__) from exc
    except ProviderError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as exc:
        raise garbled(service, f"the client could not read the answer: {type(exc).__name__}") from exc


class Gate:
    """The turnstile before a service: its rate, and the memory that it is down. Safe across event loops, one at a time.

    A service that could not be reached, or that asked to be left alone, is not asked again for a while; callers that
    are waiting for their turn learn of it at once. Who would wait longer than the rate's `max_wait_s` is refused.
    """

    def __init__(self, service: Service, rate: CallRate | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._rate = rate
        self._clock = clock
        self._limiter: AsyncLimiter | None = None
        self._limiter_loop: asyncio.AbstractEventLoop | None = None
        self._waiting = 0
        self._closed_until = 0.0
        self._reached_at = float("-inf")
        self._closed_by: ProviderError | None = None

    @property
    def at_once(self) -> int:
        """How many calls may be under way together."""
        return self._service.at_once if self._rate else UNLIMITED_AT_ONCE

    @property
    def is_closed(self) -> bool:
        return self._clock() < self._closed_until

    async def turn(self) -> None:
        """Returns when a call may be made. Raises what closed the gate, or `ProviderRateLimited`."""
        self._raise_if_closed()
        limiter = self._limiter_of_this_loop()
        if limiter is None or self._rate is None:
            return
        if not limiter.has_capacity():
            self._refuse_long_wait(self._rate)
            self._waiting += 1
            try:
                while not limiter.has_capacity():
                    await asyncio.sleep(POLL_S)
                    self._raise_if_closed()
            finally:
                self._waiting -= 1
        await limiter.acquire()

    def note(self, error: ProviderError, *, is_unreachable: bool = False) -> ProviderError:
        """Remembers an error that concerns the next calls too, and returns it to be raised."""
        if is_unreachable and self._clock() >= self._reached_at + REACHED_FOR_S:
            self._close(error, UNREACHABLE_FOR_S)
        elif error.retry_after_s:
            self._close(error, min(error.retry_after_s, MAX_CLOSED_S))
        return error

    def note_reached(self) -> None:
        """The server answered, with whatever."""
        self._reached_at = self._clock()

    def _close(self, error: ProviderError, seconds: float) -> None:
        self._closed_until = self._clock() + seconds
        self._closed_by = error

    def _raise_if_closed(self) -> None:
        left_s = self._closed_until - self._clock()
        cause = self._closed_by
        if cause is None or left_s <= 0:
            return
        if isinstance(cause, ProviderRateLimited):
            raise ProviderRateLimited(
                cause.provider,
                cause.reason,
                retry_after_s=left_s,
                operator_message=cause.operator_message,
                plain=cause.plain,
            )
        raise ProviderUnavailable(
            cause.provider, cause.reason, operator_message=cause.operator_message, plain=cause.plain
        )

    def _refuse_long_wait(self, rate: CallRate) -> None:
        expected_s = (self._waiting + 1) * rate.period_s / rate.calls
        if expected_s > rate.max_wait_s:
            reason = f"{self._waiting + 1} calls are waiting for its limit of {rate.calls} in {rate.period_s:g} s"
            raise ProviderRateLimited(self._service.name, reason, retry_after_s=expected_s, plain=rate.spent)

    def _limiter_of_this_loop(self) -> AsyncLimiter | None:
        loop = asyncio.get_running_loop()
        if self._rate is not None and self._limiter_loop is not loop:
            self._limiter = AsyncLimiter(self._rate.calls, self._rate.period_s)
            self._limiter_loop = loop
        return self._limiter
