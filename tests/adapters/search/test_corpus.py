"""Own corpora on the web: read as their lists say, again when they change, and by nobody else (N-19)."""

from __future__ import annotations

import asyncio
import gzip
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.pages import WebPages
from adapters.pages.fetch import FetchLimits
from adapters.search.corpus import MAX_PAGES, Corpus, Listed, Listing, read_listing
from adapters.search.files import FileIndex, FileSearch, names_pages, parse_paths, parse_places
from core.model.errors import FetchError
from core.model.job import LOCAL, Scope
from core.model.source import Page, SearchHit, SearchQuery
from core.presentation.wording import STILL_READING
from tests.fakes import Clock
from tests.loopback.web_world import PageSpec, WebWorld

in_one_loop = pytest.mark.asyncio(loop_scope="module")  # so that the fetcher is started once

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
XML = "application/xml"
T1, T2 = Scope("slack:T1", "workspace"), Scope("slack:T2", "workspace")


def page(title: str, word: str) -> PageSpec:
    said = f"The {word} is kept in the harbour, and everybody who works there knows where to look for the {word}."
    return PageSpec(f"<html><head><title>{title}</title></head><body><article>{f'<p>{said}</p>' * 4}</article></body>")


def sitemap(*urls: str, changed: str = "") -> PageSpec:
    dated = f"<lastmod>{changed}</lastmod>" if changed else ""
    entries = "".join(f"<url><loc>{url}</loc>{dated}</url>" for url in urls)
    name = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return PageSpec(f'<?xml version="1.0"?><urlset xmlns="{name}">{entries}</urlset>', content_type=XML)


def feed(*urls: str) -> PageSpec:
    items = "".join(f"<item><title>news</title><link>{url}</link></item>" for url in urls)
    text = f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'
    return PageSpec(text, content_type="application/rss+xml")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher() -> AsyncIterator[WebPages]:
    limits = FetchLimits(per_host_per_second=1000.0)
    pages = WebPages(allow=[ip_network("127.0.0.0/8")], limits=limits, workers=1)
    yield pages
    await pages.aclose()


class Reader:
    """A corpus and the search over it; `others` may be changed."""

    def __init__(self, fetcher: WebPages, folder: Path, own: Sequence[str] = ()) -> None:
        self.clock = Clock(BEGAN)
        self.others: dict[str, Sequence[str]] = {}
        self.corpus = Corpus(folder / "corpus", fetcher, own, self._others, self.clock, timedelta(hours=1))
        self._index = FileIndex([self.corpus.folder], folder / "files.db", refresh_s=0)
        self._search = FileSearch([], folder / "files.db", corpus=self.corpus)
        self._search._index = self._index  # one that looks at the disk before every search

    async def _others(self) -> Mapping[str, Sequence[str]]:
        return self.others

    async def read(self, *, later: timedelta = timedelta()) -> None:
        self.clock.now += later
        await self.corpus.read_due()

    async def found(self, word: str, scope: Scope = LOCAL) -> list[SearchHit]:
        self.corpus._first.set()
        self.corpus.start = lambda: None  # type: ignore[method-assign]  # the test says when it is read
        return list(await self._search.search(SearchQuery(word), limit=9, scope=scope))

    async def paths(self, word: str, scope: Scope = LOCAL) -> set[str]:
        return {"/" + hit.url.split("/", 3)[3] for hit in await self.found(word, scope)}


@in_one_loop
async def test_pages_of_a_sitemap_are_found_with_their_addresses(fetcher: WebPages, tmp_path: Path) -> None:
    """The hit is the page itself: its address, its title, its text; nothing is fetched again for an answer."""
    async with WebWorld({"/a": page("Ropes", "hawser"), "/b": page("Sails", "spinnaker")}) as world:
        world.pages["/sitemap.xml"] = sitemap(world.url("/a"), world.url("/b"))
        reader = Reader(fetcher, tmp_path, [world.url("/sitemap.xml")])

        await reader.read()
        [hit] = await reader.found("hawser")

        assert (hit.url, hit.title, hit.is_complete) == (world.url("/a"), "Ropes", True)
        assert hit.text.startswith("The hawser is kept in the harbour")


@in_one_loop
async def test_a_page_that_is_gone_or_no_longer_listed_leaves(fetcher: WebPages, tmp_path: Path) -> None:
    """Three ways to go: out of the sitemap, 404, and robots.txt that says no; what only fails stays."""
    names = ("/stays", "/unlisted", "/deleted", "/forbidden", "/broken")
    async with WebWorld({name: page(name, "hawser") for name in names}) as world:
        world.pages["/sitemap.xml"] = sitemap(*map(world.url, names))
        reader = Reader(fetcher, tmp_path, [world.url("/sitemap.xml")])
        await reader.read()
        before = await reader.paths("hawser")
        world.pages["/sitemap.xml"] = sitemap(*(world.url(name) for name in names if name != "/unlisted"))
        del world.pages["/deleted"]
        world.pages["/broken"] = PageSpec("", status=503)
        world.pages["/robots.txt"] = PageSpec("User-agent: *\nDisallow: /forbidden", content_type="text/plain")
        fetcher._robots._sites.clear()  # they are remembered for an hour

        await reader.read(later=timedelta(hours=2))

        assert before == set(names)
        assert await reader.paths("hawser") == {"/stays", "/broken"}


@in_one_loop
async def test_what_has_not_changed_is_not_sent_again(fetcher: WebPages, tmp_path: Path) -> None:
    """The list and its pages are asked for with their validators; before its time nothing is asked for at all."""
    async with WebWorld({"/a": replace(page("Ropes", "hawser"), headers={"ETag": '"1"'})}) as world:
        address = world.url("/list.txt")
        world.pages["/list.txt"] = PageSpec(
            f"# ours\n{world.url('/a')}\n", content_type="text/plain", headers={"ETag": '"2"'}
        )
        reader = Reader(fetcher, tmp_path, [address])
        await reader.read()
        await reader.read(later=timedelta(minutes=59))
        once = len(world.asked("/a")), len(world.asked("/list.txt"))
        world.pages["/a"], world.pages["/list.txt"] = PageSpec(status=304), PageSpec(status=304)

        await reader.read(later=timedelta(minutes=2))

        assert once == (1, 1)
        assert world.asked("/a")[-1].headers["If-None-Match"] == '"1"'
        assert world.asked("/list.txt")[-1].headers["If-None-Match"] == '"2"'
        assert await reader.paths("hawser") == {"/a"}


@in_one_loop
async def test_a_sitemaps_word_that_a_page_is_the_same_is_believed(fetcher: WebPages, tmp_path: Path) -> None:
    async with WebWorld({"/a": page("Ropes", "hawser")}) as world:
        world.pages["/sitemap.xml"] = sitemap(world.url("/a"), changed="2026-02-01")
        reader = Reader(fetcher, tmp_path, [world.url("/sitemap.xml")])
        asked = []

        for changed in ("2026-02-01", "2026-03-01"):
            world.pages["/sitemap.xml"] = sitemap(world.url("/a"), changed=changed)
            await reader.read(later=timedelta(hours=2))
            await reader.read(later=timedelta(hours=2))
            asked.append(len(world.asked("/a")))

        assert asked == [1, 2]


@in_one_loop
async def test_a_feed_keeps_what_has_fallen_off_its_end(fetcher: WebPages, tmp_path: Path) -> None:
    async with WebWorld({"/old": page("Old", "hawser"), "/new": page("New", "hawser")}) as world:
        world.pages["/feed"] = feed(world.url("/old"))
        reader = Reader(fetcher, tmp_path, [world.url("/feed")])
        await reader.read()
        world.pages["/feed"] = feed(world.url("/new"))

        await reader.read(later=timedelta(hours=2))

        assert await reader.paths("hawser") == {"/old", "/new"}


@in_one_loop
async def test_a_list_that_cannot_be_read_takes_nothing_away(fetcher: WebPages, tmp_path: Path) -> None:
    """Neither the sitemap itself nor one of those below an index."""
    async with WebWorld({"/a": page("Ropes", "hawser"), "/b": page("Sails", "hawser")}) as world:
        index = "".join(f"<sitemap><loc>{world.url(name)}</loc></sitemap>" for name in ("/one.xml", "/two.xml"))
        world.pages["/sitemap.xml"] = PageSpec(f"<sitemapindex>{index}</sitemapindex>", content_type=XML)
        world.pages["/one.xml"], world.pages["/two.xml"] = sitemap(world.url("/a")), sitemap(world.url("/b"))
        reader = Reader(fetcher, tmp_path, [world.url("/sitemap.xml")])
        await reader.read()
        found = []

        for broken in ("/two.xml", "/sitemap.xml"):
            world.pages[broken] = PageSpec("", status=500)
            await reader.read(later=timedelta(hours=2))
            found.append(await reader.paths("hawser"))

        assert found == [{"/a", "/b"}, {"/a", "/b"}]


@in_one_loop
async def test_a_workspaces_own_pages_are_its_alone(fetcher: WebPages, tmp_path: Path) -> None:
    """Not another workspace's, not the operator's; what an admin takes out is gone at the next look."""
    async with WebWorld({"/one": page("One", "hawser"), "/two": page("Two", "hawser")}) as world:
        reader = Reader(fetcher, tmp_path)
        reader.others = {T1.tenant: [world.url("/one")], T2.tenant: [world.url("/two")]}
        await reader.read()
        seen = [await reader.paths("hawser", scope) for scope in (T1, T2, LOCAL)]
        reader.others = {T2.tenant: [world.url("/two")]}

        await reader.read()

        assert seen == [{"/one"}, {"/two"}, set()]
        assert [await reader.paths("hawser", scope) for scope in (T1, T2)] == [set(), {"/two"}]


@pytest.mark.parametrize("is_absolute", [False, True])
@in_one_loop
async def test_a_list_on_the_disk_and_a_page_alone_are_places_too_whatever_their_folders_are_called(
    fetcher: WebPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_absolute: bool
) -> None:
    """Named from here, as GORKD_DATA is by default; an address writes a blank as %20."""
    monkeypatch.chdir(tmp_path)
    async with WebWorld({"/a": page("Ropes", "hawser"), "/b": page("Sails", "hawser")}) as world:
        urls = tmp_path / "our lists" / "ä urls.txt"
        urls.parent.mkdir()
        urls.write_text(f"{world.url('/a')}\n", encoding="utf-8")
        reader = Reader(fetcher, tmp_path if is_absolute else Path(".gorkd"), [urls.as_uri(), world.url("/b")])
        reader.others = {T1.tenant: [world.url("/a")]}

        await reader.read()

        assert [await reader.paths("hawser", scope) for scope in (LOCAL, T1)] == [{"/a", "/b"}, {"/a"}]
        assert names_pages(urls)


@in_one_loop
async def test_a_long_feed_still_takes_in_what_is_new(
    fetcher: WebPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest pages make room."""
    monkeypatch.setattr("adapters.search.corpus.MAX_PAGES", 2)
    async with WebWorld({name: page(name, "hawser") for name in ("/1", "/2", "/3")}) as world:
        reader = Reader(fetcher, tmp_path, [world.url("/feed")])
        for names in (["/1"], ["/2", "/1"], ["/3", "/2"]):
            world.pages["/feed"] = feed(*map(world.url, names))
            await reader.read(later=timedelta(hours=2))

        assert await reader.paths("hawser") == {"/2", "/3"}


@in_one_loop
async def test_a_place_that_cannot_be_kept_hurts_no_other(
    fetcher: WebPages, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file where its folder would be; the others are read, and reading goes on."""
    async with WebWorld({"/a": page("Ropes", "hawser"), "/b": page("Sails", "hawser")}) as world:
        reader = Reader(fetcher, tmp_path, [world.url("/a"), world.url("/b")])
        blocked = reader.corpus.folders("")[0]
        blocked.parent.mkdir(parents=True)
        blocked.write_text("in the way", encoding="utf-8")

        await reader.read()

        assert await reader.paths("hawser") == {"/b"}
        assert "was not read" in caplog.text


class Silent:
    """A fetcher whose servers never answer."""

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        await asyncio.Event().wait()
        raise AssertionError

    async def fetch_raw(
        self, url: str, *, known: Page | None = None, max_bytes: int, within_s: float
    ) -> tuple[Page, bytes]:
        return await self.fetch(url), b""


class Slow:
    """A fetcher that never gets an answer from a host whose name begins with `silent`, nor for what is in `silent`."""

    def __init__(self, fetcher: WebPages) -> None:
        self._fetcher = fetcher
        self.silent: set[str] = set()

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        await self._may_wait(url)
        return await self._fetcher.fetch(url, known=known)

    async def fetch_raw(
        self, url: str, *, known: Page | None = None, max_bytes: int, within_s: float
    ) -> tuple[Page, bytes]:
        await self._may_wait(url)
        return await self._fetcher.fetch_raw(url, known=known, max_bytes=max_bytes, within_s=within_s)

    async def _may_wait(self, url: str) -> None:
        if url in self.silent or url.startswith("https://silent"):
            await asyncio.Event().wait()


@in_one_loop
async def test_slow_places_hold_up_neither_their_workspace_nor_others(
    fetcher: WebPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace's time in a look is bounded; the places that it did not reach come first in the next."""
    monkeypatch.setattr("adapters.search.corpus.PLACE_S", 1.0)
    async with WebWorld({"/one": page("One", "hawser"), "/two": page("Two", "hawser")}) as world:
        reader = Reader(fetcher, tmp_path)
        reader.corpus.fetcher = Slow(fetcher)
        silent = [f"https://silent.example/{number}" for number in range(6)]
        reader.others = {T1.tenant: [*silent, world.url("/one")], T2.tenant: [world.url("/two")]}

        async with asyncio.timeout(20):
            await reader.read()
            first = [await reader.paths("hawser", scope) for scope in (T1, T2)]
            await reader.read()

        assert first == [set(), {"/two"}]
        assert await reader.paths("hawser", T1) == {"/one"}
        assert (reader.corpus.is_unread(T1.tenant), reader.corpus.is_unread(T2.tenant)) == (True, False)


@in_one_loop
async def test_a_place_that_takes_too_long_goes_on_where_it_was(
    fetcher: WebPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.search.corpus.PLACE_S", 2.0)
    async with WebWorld({name: page(name, "hawser") for name in ("/1", "/2", "/3")}) as world:
        world.pages["/sitemap.xml"] = sitemap(*map(world.url, ("/1", "/2", "/3")))
        reader = Reader(fetcher, tmp_path, [world.url("/sitemap.xml")])
        reader.corpus.fetcher = slow = Slow(fetcher)
        slow.silent.add(world.url("/2"))
        await reader.read()
        before = await reader.paths("hawser")
        slow.silent.clear()

        await reader.read()

        assert before == {"/1"}
        assert await reader.paths("hawser") == {"/1", "/2", "/3"}
        assert [len(world.asked(name)) for name in ("/1", "/2", "/3")] == [1, 1, 1]


@in_one_loop
async def test_a_place_whose_lists_alone_take_too_long_is_read_all_the_same(
    fetcher: WebPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look goes on with the list that the one before did not come to; the next reading begins with the first."""
    monkeypatch.setattr("adapters.search.corpus.PLACE_S", 1.0)
    async with WebWorld({"/page": page("Page", "hawser")}) as world:
        lists = [world.url(f"/list{number}.xml") for number in range(3)]
        entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in lists)
        world.pages["/all.xml"] = PageSpec(f"<sitemapindex>{entries}</sitemapindex>", content_type=XML)
        world.pages |= {f"/list{number}.xml": sitemap(world.url("/page")) for number in range(3)}
        reader = Reader(fetcher, tmp_path, [world.url("/all.xml")])
        reader.corpus.fetcher = slow = Slow(fetcher)
        for url in lists[1:]:
            slow.silent = {url}
            await reader.read()
        slow.silent.clear()

        await reader.read()

        assert await reader.paths("hawser") == {"/page"}
        assert [len(world.asked(f"/{name}.xml")) for name in ("all", "list0", "list1", "list2")] == [1, 1, 1, 1]
        await reader.read(later=timedelta(hours=2))
        assert [len(world.asked(f"/{name}.xml")) for name in ("all", "list0", "list1", "list2")] == [2, 2, 2, 2]


@in_one_loop
async def test_a_question_hardly_waits_for_a_first_reading_and_is_told_of_it(fetcher: WebPages, tmp_path: Path) -> None:
    """What is stored answers; somebody whose pages are all read is told nothing."""
    async with WebWorld({"/a": page("Ropes", "hawser")}) as world:
        before = Reader(fetcher, tmp_path, [world.url("/a")])
        await before.read()
        told_before = before._search.unread(LOCAL)
        others = {T1.tenant: ["https://silent.example/"]}

        async def tenants() -> Mapping[str, Sequence[str]]:
            return others

        places = [world.url("/a"), "https://silent.example/feed"]
        corpus = Corpus(tmp_path / "corpus", Silent(), places, tenants, before.clock, timedelta(hours=1))
        search = FileSearch([], tmp_path / "files.db", corpus=corpus)
        try:
            async with asyncio.timeout(2.5):  # seconds; half a one, and what a busy machine takes beside
                hits = await search.search(SearchQuery("hawser"), limit=9, scope=LOCAL)
            told = [search.unread(scope) for scope in (LOCAL, T1, T2)]
        finally:
            await search.aclose()
            await before._search.aclose()

        assert [hit.title for hit in hits] == ["Ropes"]
        assert told_before == ""
        assert told == [STILL_READING, STILL_READING, ""]


@in_one_loop
async def test_no_log_says_more_of_a_lists_address_than_its_host(
    fetcher: WebPages, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The rest may hold a token."""
    async with WebWorld({"/feed": PageSpec("", status=503)}) as world:
        reader = Reader(fetcher, tmp_path, [world.url("/feed?token=sesame-open")])

        with caplog.at_level(logging.INFO, logger="adapters"):
            await reader.read()

        (told,) = [record for record in caplog.records if record.message == "a list was not read"]
        assert vars(told)["reason"] == "HTTP 503"
        assert "sesame-open" not in " ".join(str(vars(record)) for record in caplog.records)


def test_paths_and_addresses_stand_in_one_setting() -> None:
    text = "docs, /a/b:/c,https://x.example:8443/sitemap.xml, https://y.example/feed?a=b"

    assert [str(path) for path in parse_paths(text)] == ["docs", "/a/b", "/c"]
    assert parse_places(text) == ["https://x.example:8443/sitemap.xml", "https://y.example/feed?a=b"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"Just a text.\nhttps://x.example/a", Listing("page"), id="a text"),
        pytest.param(b"<html><body>https://x.example</body></html>", Listing("page"), id="HTML"),
        pytest.param(b"", Listing("page"), id="nothing"),
        pytest.param(
            b"<urlset><url><loc>https://x.example/a</loc></url><url><loc>https://evil.example/b</loc></url></urlset>",
            Listing("sitemap", (Listed("https://x.example/a"),)),
            id="another host's page in a sitemap",
        ),
        pytest.param(
            gzip.compress(b"<urlset><url><loc>https://x.example/a</loc></url></urlset>"),
            Listing("sitemap", (Listed("https://x.example/a"),)),
            id="packed",
        ),
        pytest.param(
            b'<feed xmlns="http://www.w3.org/2005/Atom"><entry>'
            b'<link href="/a"/><updated>2026-01-02</updated></entry></feed>',
            Listing("feed", (Listed("https://x.example/a", "2026-01-02"),)),
            id="Atom with a relative link",
        ),
        pytest.param(
            b'<feed xml:base="https://y.example/b/"><entry><link rel="self" href="s"/><link type="image/png" href="p"/>'
            b'<link href="a"/><published>2026</published></entry>'
            b'<entry><source><link href="of-another"/></source><link href="c"/></entry></feed>',
            Listing("feed", (Listed("https://y.example/b/a", "2026"), Listed("https://y.example/b/c"))),
            id="Atom with many links and a base",
        ),
        pytest.param(
            b"<rss><channel><link>https://x.example/</link>"
            b"<item><guid>https://x.example/a</guid><pubDate>1 Mar 2026</pubDate></item>"
            b'<item><guid isPermaLink="false">https://x.example/b</guid></item>'
            b"<item><title>&nbsp;</title><link><![CDATA[ https://x.example/c?d=1&e=2 ]]></link></item></channel></rss>",
            Listing("feed", (Listed("https://x.example/a", "1 Mar 2026"), Listed("https://x.example/c?d=1&e=2"))),
            id="RSS with links in other places",
        ),
        pytest.param(
            b"<rss><channel><item><title>a&nbsp;b<br>c</title><link>https://x.example/?a=1&b=2</link></item>"
            b"<item><title>d<br></title><link>https://x.example/e</link></item></channel></rss>",
            Listing("feed", (Listed("https://x.example/?a=1&b=2"), Listed("https://x.example/e"))),
            id="RSS that is no XML",
        ),
        pytest.param(
            b'<!DOCTYPE u [<!ENTITY e SYSTEM "file:///etc/hostname">]><urlset><url><loc>&e;</loc></url></urlset>',
            Listing("sitemap"),
            id="an entity that reads a file",
        ),
    ],
)
def test_a_list_is_told_by_its_content(content: bytes, expected: Listing) -> None:
    assert read_listing("https://x.example/list", content) == expected


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("<rss><channel>" + "<a>" * 300_000, id="deep"),
        pytest.param("<rss><channel>" + "<item><link>https://x.example/</link></item>" * 225_000, id="long"),
        pytest.param("<rss><channel>" + "<a/>" * 2_000_000, id="many"),
        pytest.param(
            f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><rss><item><link href="&l9;"/></item></rss>', id="laughs"
        ),
        pytest.param(f'<rss xml:base="https://x/{"a" * 5_000_000}">' + '<i xml:base="b"/>' * 80_000, id="bases"),
        pytest.param("\n".join(f"https://x.example/{number}" for number in range(400_000)), id="addresses"),
    ],
)
def test_a_hostile_list_costs_little_or_is_refused(content: str) -> None:
    """It names no more pages than are read of a place, for the price of a page or two."""
    began = time.process_time()

    with suppress(FetchError):
        assert len(read_listing("https://x.example/list", content.encode()).pages) < 2 * MAX_PAGES

    assert time.process_time() - began < 3  # seconds of a processor; one where it is idle


def test_a_packed_list_that_grows_without_end_is_refused() -> None:
    with pytest.raises(FetchError):
        read_listing("https://x.example/list", gzip.compress(b"0" * 20_000_000))
