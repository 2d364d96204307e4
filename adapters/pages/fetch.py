"""The one page fetcher: address in, readable page out, every step bounded.

Redirects are followed here, not by the client, so that each hop passes the guard and the robots.txt of its own site.
No cookies, no credentials, and no proxy: it would dial for us, out of the guard's sight. `GORKD_FETCH_PROXY` names one
that filters what it reaches by itself; what an address says of itself is judged here all the same.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver
from aiolimiter import AsyncLimiter
from yarl import URL

from adapters.pages.body import ACCEPT_ENCODING, document_kind, may_be_readable, media_type, read_body
from adapters.pages.extraction import Extraction, PageDocument
from adapters.pages.guard import Guard, GuardedResolver, IPNetwork, NewSocket, Refused, check_url, parse_allow
from adapters.pages.workers import AttachedFiles, ExtractionWorkers
from adapters.proxies import DaemonResolver, read_proxy
from core.model.errors import AddressBlocked, FetchError, PageStatus, PageTimeout, PageUnreadable, RobotsDisallowed
from core.model.ports import Clock, utc_now
from core.model.source import Page

if TYPE_CHECKING:
    from protego import Protego

ROBOT = "gorkd"  # our name in robots.txt
USER_AGENT = f"Mozilla/5.0 (compatible; {ROBOT}; research assistant)"
_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.1"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_HEADER_BYTES = 32 * 1024  # a header line; some sites send 20 KB of policies
_MAX_VALIDATOR = 500  # characters of an ETag; longer ones exist, and are not worth their room
_NOT_MODIFIED = 304
_MAX_WORKERS = 4  # parsing is a tenth of the time of reading; more only costs memory


@dataclass(frozen=True)
class FetchLimits:
    """Sizes in bytes, times in seconds."""

    max_bytes: int = 5 * 1024 * 1024  # after decompression
    total_s: float = 10.0  # one page, from its address to its text
    connect_s: float = 2.0  # one address
    robots_s: float = 4.0  # a robots.txt with its redirects
    max_redirects: int = 5
    at_once: int = 64  # pages; bounds memory to this many times `max_bytes`
    per_host_at_once: int = 4  # a browser opens six connections to a host
    per_host_per_second: float = 5.0


@dataclass(frozen=True)
class _Answer:
    """What came of asking for a page; no document when it has not changed."""

    url: URL
    document: PageDocument | None
    etag: str = ""
    last_modified: str = ""


@dataclass
class _Read:
    """A page that is being read, and how many wait for it."""

    task: asyncio.Task[Page] | None = None
    waiting: int = 0


class WebPages:
    """A `PageFetcher` over HTTP. One instance a process and event loop; `aclose` it."""

    def __init__(
        self,
        *,
        allow: Sequence[IPNetwork] = (),
        user_agent: str = USER_AGENT,
        robot: str = ROBOT,
        limits: FetchLimits = FetchLimits(),
        workers: int | None = None,
        clock: Clock = utc_now,
        resolver: AbstractResolver | None = None,
        new_socket: NewSocket = socket.socket,
        proxy: str = "",
    ) -> None:
        """`allow` lists networks that may be read although private, on any port. `proxy` is a filtering egress.

        `workers` is the number of parsing processes, by default one a processor and at most four. `resolver` and
        `new_socket` replace the system's, beneath the guard.
        """
        self._limits = limits
        self._user_agent = user_agent
        self._clock = clock
        self._resolver = resolver
        self._proxy = proxy or None
        self._guard = Guard(allow, new_socket=new_socket)
        self._politeness = Politeness(at_once=limits.per_host_at_once, per_second=limits.per_host_per_second)
        self._robots = Robots(self._ask_robots, robot=robot, clock=clock)
        self._workers = ExtractionWorkers(count=workers or min(os.cpu_count() or 1, _MAX_WORKERS))
        self._places = asyncio.Semaphore(limits.at_once)
        self._session: aiohttp.ClientSession | None = None
        self._reads: dict[tuple[str, Page | None], _Read] = {}

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, clock: Clock = utc_now) -> WebPages:
        """Reads `GORKD_FETCH_ALLOW GORKD_FETCH_PROXY`. Raises `SetupError`."""
        allow, proxy = parse_allow(env.get("GORKD_FETCH_ALLOW", "")), read_proxy(env, "GORKD_FETCH_PROXY")
        return cls(allow=allow, clock=clock, proxy=proxy)

    @property
    def attachments(self) -> AttachedFiles:
        """The reader of files that come with questions, on the same parsing processes."""
        return AttachedFiles(self._workers)

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        """The readable page behind `url`, within `total_s`; `known` if it is still the same. Raises `FetchError`.

        Of several who ask for it at once one asks the site, and its text is taken out once.
        """
        key = (url, known)
        read = self._reads.setdefault(key, _Read())
        read.task = read.task or asyncio.create_task(self._fetch(url, known))
        read.waiting += 1
        try:
            return await asyncio.shield(read.task)
        finally:
            read.waiting -= 1
            if not read.waiting:
                self._reads.pop(key, None)
                read.task.cancel()  # where it has not ended, nobody waits for it any more
                await asyncio.gather(read.task, return_exceptions=True)

    async def _fetch(self, url: str, known: Page | None) -> Page:
        try:
            async with asyncio.timeout(self._limits.total_s), self._places:
                address = check_url(url)
                self._workers.prepare()  # it takes half a second to start, and the page as long to come
                answer = await self._follow(address, known)
                if known is not None and answer.document is None:
                    return replace(known, read_at=self._clock())
                if answer.document is None:
                    raise PageStatus(url, _NOT_MODIFIED)
                extraction = await self._workers.extract(answer.document)
        except TimeoutError as exc:
            raise PageTimeout(url, f"not read within {self._limits.total_s:g} s") from exc
        page = _page(str(answer.url), extraction, self._clock())
        return replace(page, etag=answer.etag, last_modified=answer.last_modified)

    async def download(self, url: str, *, max_bytes: int, within_s: float) -> PageDocument:
        """What is behind `url`, under the rules of a page but larger and slower. Raises `FetchError`."""
        answer = await self._answered(url, None, max_bytes, within_s, is_raw=False)
        if answer.document is None:
            raise PageStatus(url, _NOT_MODIFIED)
        return answer.document

    async def fetch_raw(
        self, url: str, *, known: Page | None = None, max_bytes: int, within_s: float
    ) -> tuple[Page, bytes]:
        """Whatever is behind `url`, a list or a feed, under the rules of a page: its address and validators, and its
        bytes, which are none where its server says that it is the same as `known`. Raises `FetchError`.
        """
        answer = await self._answered(url, known, max_bytes, within_s, is_raw=True)
        if known is not None and answer.document is None:
            return replace(known, read_at=self._clock()), b""
        if answer.document is None:
            raise PageStatus(url, _NOT_MODIFIED)
        page = Page(str(answer.url), "", "", self._clock(), etag=answer.etag, last_modified=answer.last_modified)
        return page, answer.document.body

    async def _answered(
        self, url: str, known: Page | None, max_bytes: int, within_s: float, *, is_raw: bool
    ) -> _Answer:
        try:
            async with asyncio.timeout(within_s), self._places:
                return await self._follow(check_url(url), known, max_bytes=max_bytes, is_raw=is_raw)
        except TimeoutError as exc:
            raise PageTimeout(url, f"not downloaded within {within_s:g} s") from exc

    async def warm_up(self) -> None:
        """Start the parsing processes, so that the first page need not wait for them. Raises `SetupError`."""
        await asyncio.to_thread(RobotsRules.parse, "", "")  # imports what reads robots.txt
        await self._workers.warm_up()

    async def aclose(self) -> None:
        """Close connections and end the parsing processes. Idempotent."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        await self._workers.aclose()

    async def _follow(
        self, url: URL, known: Page | None, *, max_bytes: int | None = None, is_raw: bool = False
    ) -> _Answer:
        """The document at the end of the redirects, and where that is; none if it is still that of `known`."""
        start = url
        for _ in range(self._limits.max_redirects + 1):
            await self._obey_robots(url)
            conditions = _conditions(known) if known is not None and known.url == str(url) else {}
            async with self._politeness.turn(url.host or ""), self._get(url, conditions) as response:
                target = _redirect(response, url)
                if conditions and response.status == _NOT_MODIFIED:
                    return _Answer(url, None)
                if target is None:
                    document = await _download(response, url, max_bytes or self._limits.max_bytes, is_raw=is_raw)
                    return _Answer(url, document, *(_validator(response, name) for name in ("ETag", "Last-Modified")))
            url = target
        raise FetchError(str(start), f"more than {self._limits.max_redirects} redirects")

    async def _obey_robots(self, url: URL) -> None:
        allowed = await self._robots.allow(str(url), str(url.origin()))
        if allowed is None:
            refusal = RobotsDisallowed(str(url), "its robots.txt could not be read, which means no (RFC 9309, 2.3.1.4)")
            refusal.reason = "robots.txt could not be read"
            raise refusal
        if not allowed:
            raise RobotsDisallowed(str(url), f"robots.txt disallows it for {ROBOT}")

    async def _ask_robots(self, address: str) -> RobotsAnswer:
        """RFC 9309, 2.3.1: 4xx means no rules, 429, 5xx and silence mean that the site cannot say."""
        url = check_url(address)
        try:
            async with asyncio.timeout(self._limits.robots_s):
                for _ in range(self._limits.max_redirects + 1):
                    async with self._get(url) as response:
                        target = _redirect(response, url)
                        if target is None:
                            return await _robots_answer(response, url)
                    url = target
        except (TimeoutError, PageTimeout):
            return RobotsAnswer(None)
        except AddressBlocked:
            if str(url) == address:
                raise
            return RobotsAnswer(None)
        return RobotsAnswer("")  # too many redirects count as "not available" (2.3.1.2)

    @asynccontextmanager
    async def _get(
        self, url: URL, conditions: Mapping[str, str] = MappingProxyType({})
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One request without redirects; all errors of the client become ours here."""
        try:
            if self._proxy:
                self._guard.check_unresolved(url.host or "", url.port or 0)
            async with self._client().get(
                url, headers=conditions, allow_redirects=False, proxy=self._proxy
            ) as response:
                yield response
        except aiohttp.ClientSSLError as exc:
            raise FetchError(str(url), f"no safe connection: {exc}") from exc
        except aiohttp.ClientConnectorError as exc:
            if isinstance(exc.os_error, Refused):
                raise AddressBlocked(str(url), str(exc.os_error)) from exc
            raise FetchError(str(url), f"cannot be reached: {exc.os_error}") from exc
        except Refused as exc:
            raise AddressBlocked(str(url), str(exc)) from exc
        except aiohttp.ServerTimeoutError as exc:
            raise PageTimeout(str(url), "no connection in time") from exc
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            if isinstance(exc, TimeoutError):
                raise
            raise FetchError(str(url), f"broken answer: {type(exc).__name__}: {str(exc)[:200]}") from exc

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = (
                aiohttp.TCPConnector(resolver=DaemonResolver())
                if self._proxy
                else aiohttp.TCPConnector(
                    resolver=GuardedResolver(self._resolver or DaemonResolver(), self._guard),
                    socket_factory=self._guard.open_socket,
                    use_dns_cache=False,  # every connection is judged by the name's answer of now
                    limit=2 * self._limits.at_once,
                )
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers={"User-Agent": self._user_agent, "Accept": _ACCEPT, "Accept-Encoding": ACCEPT_ENCODING},
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect_s),
                auto_decompress=False,
                trust_env=False,
                max_line_size=_MAX_HEADER_BYTES,
                max_field_size=_MAX_HEADER_BYTES,
            )
        return self._session


async def _download(response: aiohttp.ClientResponse, url: URL, max_bytes: int, *, is_raw: bool) -> PageDocument:
    """What is raw may be of any kind."""
    if not 200 <= response.status < 300:
        raise PageStatus(str(url), response.status)
    kind, charset = media_type(response.headers.get("Content-Type", ""))
    if not (is_raw or may_be_readable(kind)):
        raise PageUnreadable(str(url), f"{kind} is not a readable kind of page")
    body = await read_body(response, str(url), max_bytes=max_bytes)
    document = "text" if is_raw else document_kind(kind, body)
    if document is None:
        raise PageUnreadable(str(url), f"{kind or 'unlabelled'} data is not a readable kind of page")
    return PageDocument(str(url), document, "" if is_raw else charset, body)


def _conditions(known: Page) -> dict[str, str]:
    """The headers that ask for a page only if it has changed (RFC 9110, 13.1)."""
    validators = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in validators.items() if value}


def _validator(response: aiohttp.ClientResponse, name: str) -> str:
    """What the server knows this version by, if it can be sent back as it is."""
    value = response.headers.get(name, "")
    return value if len(value) <= _MAX_VALIDATOR and value.isascii() and value.isprintable() else ""


def _redirect(response: aiohttp.ClientResponse, url: URL) -> URL | None:
    """Where `response` sends us; None when it does not. Raises `AddressBlocked`."""
    location = response.headers.get("Location", "").strip()
    if response.status not in _REDIRECTS or not location:
        return None
    try:
        target = urljoin(str(url), location.replace(" ", "%20"))
    except ValueError as exc:
        raise AddressBlocked(str(url), f"redirects to a malformed address: {exc}") from exc
    return check_url(target)


async def _robots_answer(response: aiohttp.ClientResponse, url: URL) -> RobotsAnswer:
    if response.status == 429 or response.status >= 500:
        return RobotsAnswer(None)
    if not 200 <= response.status < 300:
        return RobotsAnswer("")
    body = await read_body(response, str(url), max_bytes=MAX_ROBOTS_BYTES, cut=True)
    return RobotsAnswer(body.decode("utf-8", errors="replace"))


def _page(url: str, extraction: Extraction, read_at: datetime) -> Page:
    published_at = None
    with suppress(ValueError):
        published_at = datetime.fromisoformat(extraction.published_on or "").replace(tzinfo=UTC)
    if published_at is not None and published_at > read_at + timedelta(days=1):
        published_at = None  # a date to come is an error of the page
    return Page(
        url=url,
        title=extraction.title,
        text=extraction.text,
        read_at=read_at,
        author=extraction.author,
        published_at=published_at,
        ids=extraction.ids,
        entries=extraction.entries,
    )


# How hard one host may be asked: so many requests at once, so many a second


_MAX_HOSTS = 1_000  # remembered; the longest unused are forgotten first


class _Host:
    def __init__(self, at_once: int, per_second: float) -> None:
        self.places = asyncio.Semaphore(at_once)
        self.rate = AsyncLimiter(max_rate=max(per_second, 1.0), time_period=max(1.0, 1.0 / per_second))
        self.users = 0


class Politeness:
    """Waits until a host may be asked. `at_once` ≥ 1 requests in flight, `per_second` > 0 begun, for each host."""

    def __init__(self, *, at_once: int, per_second: float) -> None:
        self._at_once = at_once
        self._per_second = per_second
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        known = self._hosts.setdefault(host, _Host(self._at_once, self._per_second))
        self._hosts.move_to_end(host)
        known.users += 1
        try:
            async with known.places:
                await known.rate.acquire()
                yield
        finally:
            known.users -= 1
            self._forget()

    def _forget(self) -> None:
        for host in list(self._hosts)[: max(0, len(self._hosts) - _MAX_HOSTS)]:
            if not self._hosts[host].users:
                del self._hosts[host]


# robots.txt: what a site asks of visitors like us (RFC 9309). Matching is protego's. Before it parses, groups of other
# robots are folded into one, because it keeps every rule once per named robot and a hostile file names thousands; and
# our own group is found by equal names, as the RFC says.


MAX_ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5: parsers must take at least 500 KiB
FRESH_FOR = timedelta(hours=1)  # RFC 9309, 2.4 allows 24 hours; sites change their mind faster
UNREACHABLE_FOR = timedelta(minutes=1)  # a failing site gets another chance soon
_MAX_SITES = 500
_MAX_LINES = 20_000
_OUR_GROUP = "us"
_OTHER_GROUP = "them"
_AGENT_LINE = re.compile(r"^[\s\ufeff]*user[- ]?agent\s*(?::\s*|\s+)([^#]*)", re.IGNORECASE)
_RULE_LINE = re.compile(r"^\s*(?:allow|d[iaso]{2,4}l+[ao]w)\b", re.IGNORECASE)  # protego forgives misspellings
_PRODUCT_TOKEN = re.compile(r"^[A-Za-z_-]+")


@dataclass(frozen=True)
class RobotsAnswer:
    """What asking for a robots.txt gave: its text, "" when there is none, None when the server failed."""

    text: str | None


class RobotsRules:
    """A parsed robots.txt, for one robot."""

    def __init__(self, parsed: Protego) -> None:
        self._parsed = parsed

    @classmethod
    def parse(cls, text: str, robot: str) -> RobotsRules:
        """`robot` is a product token, e.g. `gorkd`. Never raises; takes time linear in `text`."""
        from protego import Protego

        return cls(Protego.parse(_folded(text, robot)))

    def allows(self, url: str) -> bool:
        return bool(self._parsed.can_fetch(url, _OUR_GROUP))


@dataclass
class _Known:
    rules: RobotsRules | None  # None: unreachable
    until: datetime


class Robots:
    """Remembers the rules of sites. `ask` fetches one robots.txt; its errors pass through."""

    def __init__(self, ask: Callable[[str], Awaitable[RobotsAnswer]], *, robot: str, clock: Clock) -> None:
        self._ask = ask
        self._robot = robot
        self._clock = clock
        self._sites: OrderedDict[str, _Known] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def allow(self, url: str, site: str) -> bool | None:
        """Whether `url` of `site` (its origin) may be read; None is a no of a site that cannot say (RFC 9309)."""
        lock = self._asking.setdefault(site, asyncio.Lock())
        try:
            async with lock:
                rules = await self._rules(site)
        finally:
            if not lock.locked():
                self._asking.pop(site, None)
        return rules.allows(url) if rules is not None else None

    async def _rules(self, site: str) -> RobotsRules | None:
        known = self._sites.get(site)
        if known is not None and known.until > self._clock():
            self._sites.move_to_end(site)
            return known.rules
        answer = await self._ask(f"{site}/robots.txt")
        if answer.text is None:
            self._remember(site, _Known(None, self._clock() + UNREACHABLE_FOR))
            return None
        rules = await asyncio.to_thread(RobotsRules.parse, answer.text, self._robot)
        self._remember(site, _Known(rules, self._clock() + FRESH_FOR))
        return rules

    def _remember(self, site: str, known: _Known) -> None:
        self._sites[site] = known
        self._sites.move_to_end(site)
        while len(self._sites) > _MAX_SITES:
            self._sites.popitem(last=False)


def _folded(text: str, robot: str) -> str:
    """The rules of `text` with its robots named `us`, `*` or `them`, each once a group.

    Other lines are left out, for they neither end a group (RFC 9309, 2.2.4) nor allow anything.
    """
    lines: list[str] = []
    named: set[str] = set()
    for line in text.splitlines()[:_MAX_LINES]:
        found = _AGENT_LINE.match(line)
        if found is None:
            if _RULE_LINE.match(line):
                named.clear()
                lines.append(line)
            continue
        group = _group(found.group(1).strip(), robot)
        if group not in named:
            named.add(group)
            lines.append(f"User-agent: {group}")
    return "\n".join(lines)


def _group(value: str, robot: str) -> str:
    if value == "*" or value.startswith("* "):
        return "*"
    token = _PRODUCT_TOKEN.match(value)
    return _OUR_GROUP if token is not None and token.group().lower() == robot.lower() else _OTHER_GROUP
