"""Pages of the web as a corpus of one's own: a page, a list of addresses, a sitemap or a feed, read on a schedule.

Each page lies as a text file in a folder of its tenant's, which local search follows like any other; servers are asked
by the one guarded fetcher alone. A page leaves when its list names it no longer, or its server says that it is gone.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urljoin, urlsplit

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
MAX_ELEMENTS = 100_000  # of a list before its last page; such a list takes a second at most
MAX_ADDRESS_CHARS = 2_000
LIST_S = 30.0  # for one list
TICK_S = 60.0  # between looks at what is due
AT_ONCE = 4  # tenants, and places of each: a quarter of what the fetcher reads at once; the rest is for questions
PLACE_S = 120.0  # of a look for one place, which goes on in the next; and before the last of a tenant's begins
SAVE_EVERY = 20  # pages; a process that is killed reads so many again
TRUSTED_FOR = timedelta(days=7)  # a sitemap's word that a page has not changed
_GONE = frozenset({404, 410})
_GZIP = b"\x1f\x8b"
_STATE = "place.json"
_PIECE_BYTES = 1 << 16  # of a list, between looks at whether it goes on
_MAX_CHANGED_CHARS = 100
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_CHANGED = ("lastmod", "updated", "date", "published", "pubDate")
_PARTS = frozenset({*_CHANGED, "loc", "link", "guid", "source"})
# Where a list is no XML, libxml2 drops it from an address, also as `&amp;`; as a number it stays. A list's own entities
# are worth nothing.
_AMPERSAND = re.compile(rb"&(?:amp;|(?!(?:#\w{1,8}|lt|gt|quot|apos);))")

ListingKind = Literal["page", "list", "sitemap", "feed"]
# By the name of a list's root, what it is and what its entries are called.
_ROOTS: Mapping[str, tuple[ListingKind, str]] = {
    "urlset": ("sitemap", "url"), "sitemapindex": ("sitemap", "sitemap"),
    "rss": ("feed", "item"), "RDF": ("feed", "item"), "feed": ("feed", "entry"),
}  # fmt: skip


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
    after: str = ""  # the page that was read last, where not all could be
    begun: tuple[ReadListing, ...] = ()  # the lists of a reading that goes on, as they were at its beginning


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
    _tried: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)  # when, by the loop's clock

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

    async def has_new(self) -> bool:
        """Whether a place of everybody's has never been read to its end, by any process."""
        own = [await asyncio.to_thread(_load, self._place(EVERYBODY, one), one) for one in self.own]
        return any(state.read_at is None for state in own)

    def is_unread(self, tenant: str) -> bool:
        """Whether a place of the tenant has not been read to its end yet, as far as this process knows."""
        return any(whose == tenant for whose, _ in self._unread)

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None

    async def read_due(self) -> None:
        """One look at all places, as far as each comes in its time. One process at a time; raises `StoreError` and
        `OSError`.
        """
        wanted = {EVERYBODY: tuple(self.own), **{key: tuple(places) for key, places in (await self.others()).items()}}
        with _alone(self.folder) as is_alone:
            if not is_alone:
                return
            await asyncio.to_thread(self._leave, wanted)
            due = await asyncio.to_thread(self._due, wanted)
            states = [(tenant, state) for tenant, places in due.items() for state in places]
            # Those that are not due another process may have read.
            self._unread = {(tenant, state.address) for tenant, state in states if state.read_at is None}
            self._tried = {key: at for key, at in self._tried.items() if key[1] in wanted.get(key[0], ())}
            turns = asyncio.Semaphore(AT_ONCE)
            async with asyncio.TaskGroup() as group:
                for tenant, places in due.items():
                    group.create_task(self._read_places(tenant, places, turns))

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

    def _due(self, wanted: Mapping[str, Sequence[str]]) -> dict[str, list[PlaceState]]:
        now = self.clock()
        states = {key: [_load(self._place(key, one), one) for one in addresses] for key, addresses in wanted.items()}
        return {
            tenant: [one for one in places if one.read_at is None or now - one.read_at >= self.every]
            for tenant, places in states.items()
        }

    async def _read_places(self, tenant: str, places: Sequence[PlaceState], turns: asyncio.Semaphore) -> None:
        """Those whose turn was longest ago first; those that are not reached have theirs in the next look."""
        clock = asyncio.get_running_loop().time
        waiting = iter(sorted(places, key=lambda one: self._tried.get((tenant, one.address), 0.0)))

        async def read_on(until: float) -> None:
            for state in waiting:
                if clock() >= until:
                    return
                self._tried[tenant, state.address] = clock()
                await self._read_place(tenant, state)

        async with turns, asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(read_on(clock() + PLACE_S))

    async def _read_place(self, tenant: str, state: PlaceState) -> None:
        try:
            with _kept_up(self._place(tenant, state.address), state) as reading:
                async with asyncio.timeout(PLACE_S):
                    await self._read(reading)
        except TimeoutError:
            log.info("a corpus goes on in the next look", extra={"host": urlsplit(state.address).hostname})
        except Exception:  # the boundary of one place: the others are read, and it is tried again
            log.exception("a corpus was not read")
        else:
            log.info("a corpus was read", extra={"pages": len(reading.pages)})
            if reading.read_at is not None:
                self._unread.discard((tenant, state.address))

    async def _read(self, reading: _Reading) -> None:
        try:
            kind, wanted = await self._wanted(reading)
        except (FetchError, OSError) as exc:
            # Its host alone: the rest of an address may hold a token.
            why = exc.reason if isinstance(exc, FetchError) else exc.strerror
            log.warning("a list was not read", extra={"host": urlsplit(reading.address).hostname, "reason": why})
            if reading.read_at is not None:
                reading.end(self.clock())  # what it named before stays, and it is asked again in due time
            return
        if kind == "feed":  # it names the newest alone; of those before, the last ones stay
            before = [url for url in reversed(reading.pages) if url not in wanted]
            wanted |= dict.fromkeys(before, "")
        wanted = dict(list(wanted.items())[:MAX_PAGES])
        for url in reading.pages.keys() - wanted.keys():
            reading.drop(url)
        urls = list(wanted)
        left = urls[urls.index(reading.after) + 1 :] if reading.after in wanted else urls
        for url in left:  # one after the other: nobody waits for it
            await self._read_page(reading, url, wanted[url])
            reading.after = url
        reading.end(self.clock())

    async def _wanted(self, reading: _Reading) -> tuple[ListingKind, dict[str, str]]:
        """The pages that the place names now, by address, with when they changed."""
        known, begun = ({one.url: one for one in lists} for lists in (reading.listings, reading.begun))
        found: list[ReadListing] = []
        waiting = [reading.address]
        while waiting and len(found) < MAX_LISTS:
            url = waiting.pop(0)
            try:
                read = begun.get(url) or await self._read_listing(url, known.get(url))
            except (FetchError, OSError):
                if not found or url not in known:
                    raise  # half a list would take the other half's pages away
                read = known[url]
            found.append(read)
            reading.begun = tuple(found)
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
    named = dict.fromkeys(said for line in text.splitlines() if (said := line.strip()) and not said.startswith("#"))
    lines = list(islice(named, MAX_PAGES))
    if not lines or not all(is_address(line) for line in lines):
        return Listing("page")
    return Listing("list", tuple(map(Listed, lines)))


def is_address(text: str) -> bool:
    """Whether it is one address of the web and nothing else."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(map(str.isspace, text))


def _read_xml(url: str, content: bytes) -> Listing:
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    read = _ListReader(url)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, target=read)
    content = _AMPERSAND.sub(b"&#38;", content, count=MAX_ELEMENTS)
    with suppress(etree.XMLSyntaxError):
        for start in range(0, len(content), _PIECE_BYTES):
            parser.feed(content[start : start + _PIECE_BYTES])
            if read.has_enough:
                break
        else:
            parser.close()
    return read.listing()


class _ListReader:
    """Hears of a list while it is parsed, and keeps the addresses of its entries alone: it may be made to do harm.

    Where elements lie in others counts for little, for many a feed leaves some open.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._root = ""
        self._bases: list[str] = [url]  # of the open elements (xml:base)
        self._entry: dict[str, str] | None = None  # the one that is open
        self._part = ""  # of it, which is open, and `_words` its text
        self._words: list[str] = []
        self._elements = 0
        self._named: dict[str, Listed] = {}

    @property
    def has_enough(self) -> bool:
        """Raises `PageUnreadable`."""
        if self._elements > MAX_ELEMENTS:
            raise PageUnreadable(self._url, f"more than {MAX_ELEMENTS:,} elements")
        return len(self._named) >= MAX_PAGES or bool(self._root and self._root not in _ROOTS)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _local(tag)
        self._elements += 1
        self._root = self._root or name
        base = self._bases[-1]
        self._bases.append(_joined(base, attributes[_BASE]) or base if _BASE in attributes else base)
        if name == _ROOTS.get(self._root, ("", ""))[1]:
            self._keep()
            self._entry, self._part = {}, ""
        elif self._entry is not None and self._part != "source" and name in _PARTS:  # of a source: another's link
            is_name = name != "guid" or attributes.get("isPermaLink", "true") == "true"
            self._part, self._words = name if is_name else "", [attributes["href"]] if _is_page(attributes) else []

    def data(self, text: str) -> None:
        if self._part:
            self._words.append(text)

    def end(self, tag: str) -> None:
        base, name = self._bases.pop(), _local(tag)
        if self._entry is not None and name == self._part:
            said = "".join(self._words).strip()
            if said:
                self._entry.setdefault(name, _joined(base, said) if name == "link" else said)
            self._part = ""
        elif name == _ROOTS.get(self._root, ("", ""))[1]:
            self._keep()

    def close(self) -> None:
        """As lxml asks for."""

    def _keep(self) -> None:
        said, self._entry = self._entry or {}, None
        place = (said.get("loc") or said.get("link") or said.get("guid") or "").replace("&#38;", "&")
        changed = next((said[name] for name in _CHANGED if name in said), "")
        if len(place) <= MAX_ADDRESS_CHARS and is_address(place) and self._is_of_site(place):
            self._named[place] = Listed(place, changed[:_MAX_CHANGED_CHARS])

    def _is_of_site(self, place: str) -> bool:
        # "All URLs listed in the Sitemap must be on the same host as the Sitemap" (sitemaps.org, protocol)
        site, named = ((urlsplit(url).hostname or "").removeprefix("www.") for url in (self._url, place))
        return not site or named == site or self._root not in ("urlset", "sitemapindex")

    def listing(self) -> Listing:
        if self._root == "sitemapindex":
            return Listing("sitemap", lists=tuple(self._named))
        return Listing(_ROOTS[self._root][0], tuple(self._named.values())) if self._root in _ROOTS else Listing("page")


def _is_page(link: Mapping[str, str]) -> bool:
    """Whether a link of an entry leads to what it tells of, and not to a picture of it or its comments."""
    is_html = link.get("type", "text/html") in ("text/html", "application/xhtml+xml")
    return "href" in link and is_html and link.get("rel", "alternate") == "alternate"


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _joined(base: str, address: str) -> str:
    """ "" for what is no address, or a longer one than there are."""
    with suppress(ValueError):
        if len(address) <= MAX_ADDRESS_CHARS:
            return urljoin(base, address)
    return ""


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
        self.read_at, self.after, self.begun = state.read_at, state.after, state.begun
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

    def end(self, now: datetime) -> None:
        """The next one begins anew."""
        self.read_at, self.after, self.begun = now, "", ()

    def save(self) -> None:
        pages = tuple(self.pages.values())
        state = PlaceState(self.address, self.listings, pages, self.read_at, self.after, self.begun)
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
