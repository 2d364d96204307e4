"""Pages of the web as a corpus of one's own: a page, a list of addresses, a sitemap or a feed, read on a schedule.

Each page lies as a text file in a folder of its tenant's, which local search follows like any other; servers are asked
by the one guarded fetcher alone. A page leaves when its list names it no longer, or its server says that it is gone.
"""

from __future__ import annotations

import asyncio
import fcntl
import io
import logging
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from adapters.search.service import Fetcher, PlacesOf, clean_line
from core.model.codec import decode, encode
from core.model.errors import (
    AddressBlocked,
    FetchError,
    PageStatus,
    PageTooLarge,
    PageUnreadable,
    RobotsDisallowed,
    StoreError,
)
from core.model.ports import Clock
from core.model.source import Page

log = logging.getLogger(__name__)

EVERYBODY = ""  # whose the places in GORKD_FILES are: of all who may search the operator's files
MAX_PAGES = 2_000  # of one place
MAX_LISTS = 50  # sitemaps below one index (sitemaps.org allows 50,000)
MAX_LIST_BYTES = 10_000_000  # sitemaps.org allows 50 MB; half a million addresses are no corpus
LIST_S = 30.0  # for one list
TICK_S = 60.0  # between looks at what is due
SAVE_EVERY = 20  # pages; a process that is killed reads so many again
TRUSTED_FOR = timedelta(days=7)  # a sitemap's word that a page has not changed
_GONE = frozenset({404, 410})
_GZIP = b"\x1f\x8b"
_STATE = "place.json"

ListingKind = Literal["page", "list", "sitemap", "feed"]


@dataclass(frozen=True)
class Listed:
    """An address that a list names; `changed` is when it did, in the list's own words."""

    url: str
    changed: str = ""


@dataclass(frozen=True)
class Listing:
    """What a place names: pages, and the further sitemaps of an index."""

    kind: ListingKind
    pages: tuple[Listed, ...] = ()
    lists: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadListing:
    """A listing as it was read from `url`."""

    url: str
    listing: Listing
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True)
class CorpusPage:
    """A page that lies in a file; `final_url` is where its address led."""

    url: str
    final_url: str
    title: str
    read_at: datetime
    changed: str = ""
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True)
class PlaceState:
    """What is known of a place since it was read last; `read_at` is None before the first time has ended."""

    address: str
    listings: tuple[ReadListing, ...] = ()
    pages: tuple[CorpusPage, ...] = ()
    read_at: datetime | None = None


@dataclass
class Corpus:
    """The places in `folder`. `own` are those of everybody who may search the operator's files, `others` gives those
    of each tenant. `every` is the time from one reading of a place to the next.
    """

    folder: Path
    fetcher: Fetcher
    own: Sequence[str]
    others: PlacesOf
    clock: Clock
    every: timedelta
    _reading: asyncio.Task[None] | None = field(default=None, repr=False)
    _first: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _unread: set[tuple[str, str]] = field(default_factory=set, repr=False)  # tenants and their places

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()  # as the index names its files

    def folders(self, tenant: str) -> list[Path]:
        """Where the pages of `tenant` lie; they need not exist yet."""
        if tenant != EVERYBODY:
            return [self.folder / _name(tenant)]
        return [self._place(EVERYBODY, address) for address in self.own]

    def start(self) -> None:
        """Read what is due, now and then again until `aclose`."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._keep_reading())

    async def ready(self, within_s: float) -> None:
        """Waits until all that was due has been read once, but no longer than that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._first.wait()

    def is_unread(self, tenant: str) -> bool:
        """Whether a place of the tenant has not been read to its end yet, as far as this process knows."""
        return any(whose == tenant for whose, _ in self._unread)

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None

    async def read_due(self) -> None:
        """One look at all places. One process at a time; raises `StoreError` and `OSError`."""
        wanted = {EVERYBODY: tuple(self.own), **{key: tuple(places) for key, places in (await self.others()).items()}}
        with _alone(self.folder) as is_alone:
            if not is_alone:
                return
            self._unread &= {(tenant, address) for tenant, addresses in wanted.items() for address in addresses}
            await asyncio.to_thread(self._leave, wanted)
            async with asyncio.TaskGroup() as group:
                for tenant, addresses in wanted.items():
                    for address in addresses:
                        group.create_task(self._read_if_due(tenant, address))

    async def _keep_reading(self) -> None:
        while True:
            try:
                await self.read_due()
            except (StoreError, OSError) as exc:
                log.warning("the corpora were not read: %s", exc)
            self._first.set()
            await asyncio.sleep(TICK_S)

    def _leave(self, wanted: Mapping[str, Sequence[str]]) -> None:
        """Takes away what tenants want no longer. The operator's may be those of a process with other settings."""
        keep = {self._place(tenant, address) for tenant, addresses in wanted.items() for address in addresses}
        for tenant in [path for path in self.folder.iterdir() if path.is_dir() and path.name != _name(EVERYBODY)]:
            for place in tenant.iterdir():
                if place not in keep:
                    shutil.rmtree(place, ignore_errors=True)

    async def _read_if_due(self, tenant: str, address: str) -> None:
        place = self._place(tenant, address)
        state = await asyncio.to_thread(_load, place, address)
        if state.read_at is not None and self.clock() - state.read_at < self.every:
            self._unread.discard((tenant, address))  # another process may have read it
            return
        if state.read_at is None:
            self._unread.add((tenant, address))
        try:
            with _kept_up(place, state) as reading:
                await self._read(reading)
        except Exception:  # the boundary of one place: the others are read, and it is tried again
            log.exception("a corpus was not read")
        else:
            log.info("a corpus was read", extra={"pages": len(reading.pages)})
            if reading.read_at is not None:
                self._unread.discard((tenant, address))

    async def _read(self, reading: _Reading) -> None:
        try:
            kind, wanted = await self._wanted(reading)
        except (FetchError, OSError) as exc:
            # Its host alone: the rest of an address may hold a token.
            why = exc.reason if isinstance(exc, FetchError) else exc.strerror
            log.warning("a list was not read", extra={"host": urlsplit(reading.address).hostname, "reason": why})
            if reading.read_at is not None:
                reading.read_at = self.clock()  # what it named before stays, and it is asked again in due time
            return
        if kind == "feed":  # it names the newest alone; of those before, the last ones stay
            before = [url for url in reversed(reading.pages) if url not in wanted]
            wanted |= dict.fromkeys(before, "")
        wanted = dict(list(wanted.items())[:MAX_PAGES])
        for url in reading.pages.keys() - wanted.keys():
            reading.drop(url)
        for url, changed in wanted.items():  # one after the other: nobody waits for it
            await self._read_page(reading, url, changed)
        reading.read_at = self.clock()

    async def _wanted(self, reading: _Reading) -> tuple[ListingKind, dict[str, str]]:
        """The pages that the place names now, by address, with when they changed."""
        known = {one.url: one for one in reading.listings}
        found: list[ReadListing] = []
        waiting = [reading.address]
        while waiting and len(found) < MAX_LISTS:
            url = waiting.pop(0)
            try:
                read = await self._read_listing(url, known.get(url))
            except (FetchError, OSError):
                if not found or url not in known:
                    raise  # half a list would take the other half's pages away
                read = known[url]
            found.append(read)
            seen = {one.url for one in found}.union(waiting)
            waiting += [one for one in dict.fromkeys(read.listing.lists) if one not in seen]
        reading.listings = tuple(found)
        return found[0].listing.kind, {page.url: page.changed for one in found for page in one.listing.pages}

    async def _read_listing(self, url: str, known: ReadListing | None) -> ReadListing:
        if url.startswith("file:"):
            content = await asyncio.to_thread(Path(unquote(urlsplit(url).path)).read_bytes)
            return ReadListing(url, await asyncio.to_thread(read_listing, url, content))
        before = Page(url, "", "", self.clock(), etag=known.etag, last_modified=known.last_modified) if known else None
        page, content = await self.fetcher.fetch_raw(url, known=before, max_bytes=MAX_LIST_BYTES, within_s=LIST_S)
        if known is not None and not content:
            return known
        listing = await asyncio.to_thread(read_listing, page.url, content)
        if listing.kind == "page":
            listing = Listing("page", (Listed(url),))
        return ReadListing(url, listing, page.etag, page.last_modified)

    async def _read_page(self, reading: _Reading, url: str, changed: str) -> None:
        known, now = reading.pages.get(url), self.clock()
        if known and changed and changed == known.changed and now - known.read_at < TRUSTED_FOR:
            return
        text = await asyncio.to_thread(reading.text, url) if known else ""
        before = (
            Page(known.final_url, known.title, text, known.read_at, etag=known.etag, last_modified=known.last_modified)
            if known and text
            else None
        )
        try:
            page = await self.fetcher.fetch(url if before is None else before.url, known=before)
        except FetchError as exc:
            if _is_gone(exc):
                reading.drop(url)
            return
        made = CorpusPage(url, page.url, page.title, now, changed, page.etag, page.last_modified)
        is_new = known is None or (page.text, page.title) != (text, known.title)
        await asyncio.to_thread(reading.put, made, page.text, is_new=is_new)

    def _place(self, tenant: str, address: str) -> Path:
        return self.folder / _name(tenant) / _name(address)


def read_file(text: str) -> tuple[str, str]:
    """The address of a page, and its text, from the file it lies in."""
    url, _, rest = text.partition("\n")
    return url, rest.partition("\n")[2].lstrip("\n")


def read_listing(url: str, content: bytes) -> Listing:
    """What `content`, found at `url`, names; `page` where it is no list. Raises `FetchError` for a broken one."""
    content = _unpacked(url, content)
    head = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"<"):
        return _read_addresses(content.decode("utf-8", "replace"))
    return _read_xml(url, head)


def _read_addresses(text: str) -> Listing:
    """Addresses one a line, with comments after #; anything else is a page."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines or not all(is_address(line) for line in lines):
        return Listing("page")
    return Listing("list", tuple(Listed(line) for line in dict.fromkeys(lines)))


def is_address(text: str) -> bool:
    """Whether it is one address of the web and nothing else."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(map(str.isspace, text))


def _read_xml(url: str, content: bytes) -> Listing:
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        return Listing("page")
    kind = etree.QName(root).localname if root is not None and isinstance(root.tag, str) else ""
    if kind in ("rss", "feed", "RDF"):
        return _read_feed(url, content)
    if kind not in ("urlset", "sitemapindex"):
        return Listing("page")
    # "All URLs listed in the Sitemap must be on the same host as the Sitemap" (sitemaps.org, protocol)
    site = (urlsplit(url).hostname or "").removeprefix("www.")
    named = [
        Listed(place, (entry.findtext("{*}lastmod") or "").strip())
        for entry in root.iterfind("{*}*")
        if is_address(place := (entry.findtext("{*}loc") or "").strip())
        and (not site or (urlsplit(place).hostname or "").removeprefix("www.") == site)
    ]
    if kind == "sitemapindex":
        return Listing("sitemap", lists=tuple(dict.fromkeys(one.url for one in named)))
    return Listing("sitemap", tuple({one.url: one for one in named}.values()))


def _read_feed(url: str, content: bytes) -> Listing:
    import feedparser

    # From a stream, because it would take bytes for a file's name; what it is given it never fetches.
    parsed = feedparser.parse(io.BytesIO(content), response_headers={"content-location": url}, sanitize_html=False)
    entries = {
        str(entry.get("link")): Listed(
            str(entry.get("link")), str(entry.get("updated") or entry.get("published") or "")
        )
        for entry in parsed.entries
        if is_address(str(entry.get("link") or ""))
    }
    return Listing("feed", tuple(entries.values()))


def _unpacked(url: str, content: bytes) -> bytes:
    """Sitemaps may lie packed on their server. Raises `PageTooLarge`, `PageUnreadable`."""
    if not content.startswith(_GZIP):
        return content
    inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        unpacked = inflate.decompress(content, MAX_LIST_BYTES)
    except zlib.error as exc:
        raise PageUnreadable(url, f"broken compression: {exc}") from exc
    if not inflate.eof:
        raise PageTooLarge(url, f"more than {MAX_LIST_BYTES} bytes")
    return unpacked


def _is_gone(error: FetchError) -> bool:
    """Whether a page may not be shown any more, and not only be read now."""
    if isinstance(error, RobotsDisallowed):
        return error.reason == RobotsDisallowed.reason  # else its robots.txt could not be read now
    return isinstance(error, AddressBlocked) or (isinstance(error, PageStatus) and error.status in _GONE)


# A place while it is read: its pages in files, and what is known of them beside


class _Reading:
    def __init__(self, folder: Path, state: PlaceState) -> None:
        self.address = state.address
        self.listings = state.listings
        self.pages = {page.url: page for page in state.pages}
        self.read_at = state.read_at
        self._folder = folder
        self._unsaved = 0

    def text(self, url: str) -> str:
        with suppress(OSError):
            return read_file(self._file(url).read_text(encoding="utf-8"))[1]
        return ""

    def put(self, page: CorpusPage, text: str, *, is_new: bool) -> None:
        if is_new:
            title = clean_line(page.title) or page.url
            _write(self._file(page.url), f"{page.final_url}\n# {title}\n\n{text}")
        self.pages[page.url] = page
        self._unsaved += 1
        if self._unsaved >= SAVE_EVERY:
            self.save()

    def drop(self, url: str) -> None:
        self.pages.pop(url, None)
        self._file(url).unlink(missing_ok=True)

    def save(self) -> None:
        state = PlaceState(self.address, self.listings, tuple(self.pages.values()), self.read_at)
        _write(self._folder / _STATE, encode(state))
        self._unsaved = 0

    def _file(self, url: str) -> Path:
        return self._folder / f"{_name(url)}.txt"


@contextmanager
def _kept_up(folder: Path, state: PlaceState) -> Iterator[_Reading]:
    """Saved at the end, however it comes."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    reading = _Reading(folder, state)
    try:
        yield reading
    finally:
        if folder.exists():  # its workspace may have left meanwhile
            reading.save()


def _load(folder: Path, address: str) -> PlaceState:
    """An empty one where there is none, or one of an earlier gorkd that kept it otherwise."""
    with suppress(OSError, StoreError):
        return replace(decode((folder / _STATE).read_text(encoding="utf-8"), PlaceState), address=address)
    return PlaceState(address)


def _write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8", errors="replace")
    new.replace(path)


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether no other process of this machine reads at the moment."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _name(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]
