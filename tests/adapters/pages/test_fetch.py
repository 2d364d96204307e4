"""The fetcher against a small web: what is well served is read, whatever else ends early with its own error."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.pages import WebPages
from adapters.pages.fetch import FetchLimits
from core.model.errors import (
    AddressBlocked,
    FetchError,
    PageStatus,
    PageTimeout,
    PageTooLarge,
    PageUnreadable,
    SetupError,
)
from tests.loopback.web_world import Behaviour, PageSpec, WebWorld
from tests.shared_data import SHARED, shared_data

# One event loop for the file, so that the reader and its parsing process are started once.
pytestmark = pytest.mark.asyncio(loop_scope="module")

LOOPBACK = [ip_network("127.0.0.0/8")]
SENTENCE = "A paragraph that is long enough to be read as the text of a page."
HTML = f"<html><head><title>A title</title></head><body><article>{f'<p>{SENTENCE}</p>' * 6}</article></body></html>"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader() -> AsyncIterator[WebPages]:
    pages = WebPages(allow=LOOPBACK, limits=FetchLimits(per_host_per_second=1000.0), workers=1)
    yield pages
    await pages.aclose()


async def test_a_page_becomes_text_with_its_metadata(reader: WebPages) -> None:
    """Title, text, author, date and the moment of reading (S003-09, S003-10)."""
    head = (
        '<title>On rain</title><meta name="author" content="Ada Lovelace">'
        '<meta property="article:published_time" content="2024-05-06T07:08:09Z">'
    )
    html = HTML.replace("<title>A title</title>", head)
    async with WebWorld({"/rain": PageSpec(html)}) as world:
        pages = WebPages(allow=LOOPBACK, clock=lambda: NOW, workers=1)

        page = await pages.fetch(world.url("/rain") + "#part")
        await pages.aclose()

        assert page.url == world.url("/rain")
    assert (page.title, page.author, page.read_at) == ("On rain", "Ada Lovelace", NOW)
    assert page.published_at == datetime(2024, 5, 6, tzinfo=UTC)
    assert page.text == "\n\n".join([SENTENCE] * 6)


@pytest.mark.parametrize("behaviour", ["ok", "slow", "gzip", "zlib", "raw-deflate", "bogus-gzip"])
async def test_honest_pages_are_read(reader: WebPages, behaviour: Behaviour) -> None:
    """Plain or compressed in any way we offer; a label that lies about compression does no harm."""
    async with WebWorld({"/page": PageSpec(HTML, behaviour=behaviour)}) as world:
        page = await reader.fetch(world.url("/page"))

    assert page.text.startswith(SENTENCE)


async def test_who_asks_for_a_page_that_is_being_read_gets_the_same(reader: WebPages) -> None:
    """However many jobs want it; one that is cancelled costs the others nothing."""
    async with WebWorld({"/page": PageSpec(HTML, behaviour="slow")}) as world:
        url = world.url("/page")
        first, *others = (asyncio.create_task(reader.fetch(url)) for _ in range(3))
        await asyncio.sleep(0)
        first.cancel()

        pages = await asyncio.gather(*others)

        assert [request.path for request in world.requests].count("/page") == 1
    assert pages[0] is pages[1]
    assert first.cancelled()


async def test_several_gzip_members_are_one_body(reader: WebPages) -> None:
    """RFC 1952, 2.2: members stand one after another."""
    import gzip

    halves = HTML[:200], HTML[200:]
    body = b"".join(gzip.compress(half.encode()) for half in halves)
    async with WebWorld({"/page": PageSpec(body, headers={"Content-Encoding": "gzip"})}) as world:
        page = await reader.fetch(world.url("/page"))

    assert page.text.count(SENTENCE) == 6


BROKEN: list[tuple[PageSpec, type[FetchError], str]] = [
    (PageSpec(HTML, status=404), PageStatus, "HTTP 404"),
    (PageSpec(HTML, status=500), PageStatus, "HTTP 500"),
    (PageSpec(HTML, status=304), PageStatus, "HTTP 304"),
    (PageSpec(behaviour="huge"), PageTooLarge, "more than 5242880 bytes"),
    (PageSpec(behaviour="announced-huge"), PageTooLarge, "50000000 bytes announced"),
    (PageSpec(HTML, behaviour="gzip-bomb"), PageTooLarge, "more than 5242880 bytes"),
    (PageSpec(HTML, behaviour="broken-gzip"), PageUnreadable, "breaks off"),
    (PageSpec(HTML, behaviour="brotli"), PageUnreadable, "not asked for"),
    (PageSpec(b"\x07\x07\x07 junk", behaviour="bogus-gzip"), PageUnreadable, "broken compression"),
    (PageSpec(HTML, behaviour="truncated"), FetchError, "broken answer"),
    (PageSpec(HTML, behaviour="reset"), FetchError, "broken answer"),
    (PageSpec(behaviour="redirect", target="/page"), FetchError, "more than 5 redirects"),
    (PageSpec(behaviour="redirect", target="http://10.0.0.1/"), AddressBlocked, "10.0.0.1"),
    (PageSpec(behaviour="redirect", target="http://[::1"), AddressBlocked, "malformed"),
    (PageSpec(behaviour="redirect", target="file:///etc/passwd"), AddressBlocked, "file:"),
    (PageSpec(behaviour="redirect", target="//user@127.0.0.1/"), AddressBlocked, "user name"),
    (PageSpec("{}", content_type="application/json"), PageUnreadable, "application/json"),
    (PageSpec("<a/>", content_type="application/xml"), PageUnreadable, "application/xml"),
    (PageSpec(b"\x89PNG\r\n\x1a\n" + bytes(900), content_type="image/png"), PageUnreadable, "image/png"),
    (PageSpec(b"\x89PNG\r\n\x1a\n" + bytes(900)), PageUnreadable, "binary"),
    (PageSpec(bytes(range(256)) * 9, content_type="application/octet-stream"), PageUnreadable, "octet-stream"),
    (PageSpec(bytes(range(256)) * 9, content_type="text/plain"), PageUnreadable, "binary"),
    (PageSpec(""), PageUnreadable, "no HTML"),
    (PageSpec("", status=204), PageUnreadable, "no HTML"),
    (PageSpec("<html>login</html>", content_type="application/pdf"), PageUnreadable, "not a readable PDF"),
    (PageSpec(HTML, headers={"X-Long": "a" * 100_000}), FetchError, "broken answer"),
]


@pytest.mark.parametrize(
    ("page", "error", "words"), BROKEN, ids=[f"{page.behaviour} {words}" for page, _, words in BROKEN]
)
async def test_each_failure_has_its_own_error(
    reader: WebPages, page: PageSpec, error: type[FetchError], words: str
) -> None:
    """Every way to fail is a `FetchError` of the right kind that names what happened."""
    async with WebWorld({"/page": page}) as world:
        with pytest.raises(FetchError) as failed:
            await reader.fetch(world.url("/page"))

    assert type(failed.value) is error
    assert words in str(failed.value)


@pytest.mark.parametrize("behaviour", ["drip", "hang"])
async def test_a_page_that_takes_for_ever_is_given_up(behaviour: Behaviour) -> None:
    """One budget for the whole page, so that a byte now and then does not prolong it."""
    async with WebWorld({"/page": PageSpec(behaviour=behaviour, seconds=0.05)}) as world:
        pages = WebPages(allow=LOOPBACK, limits=FetchLimits(total_s=0.4), workers=1)

        started = time.monotonic()
        with pytest.raises(PageTimeout) as failed:
            await pages.fetch(world.url("/page"))
        took = time.monotonic() - started
        await pages.aclose()

    assert failed.value.retryable
    assert took < 1.5


async def test_a_bomb_costs_no_more_memory_than_the_cap(reader: WebPages) -> None:
    """64 MB in a few KB of gzip: reading stops at the cap (S003-09)."""
    async with WebWorld({"/bomb": PageSpec(behaviour="gzip-bomb"), "/page": PageSpec(HTML)}) as world:
        await reader.fetch(world.url("/page"))

        tracemalloc.start()
        with pytest.raises(PageTooLarge):
            await reader.fetch(world.url("/bomb"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak < 3 * FetchLimits().max_bytes  # the server's compressor and its 1 MB of padding included


async def test_five_redirects_are_followed_and_the_final_address_is_kept(reader: WebPages) -> None:
    """Relative and absolute, with every redirecting status; cookies set on the way are not sent back."""
    pages = {
        f"/{number}": PageSpec(
            behaviour="redirect", status=status, target=f"{number + 1}?a b", headers={"Set-Cookie": "id=1; Path=/"}
        )
        for number, status in enumerate((301, 302, 303, 307, 308))
    }
    async with WebWorld({**pages, "/5": PageSpec(HTML)}) as world:
        page = await reader.fetch(world.url("/0"))

        assert page.url == world.url("/5") + "?a%20b"
        assert not any("Cookie" in request.headers for request in world.requests)


async def test_a_host_is_not_asked_for_too_much_at_once() -> None:
    """At most so many requests to one host in flight, and so many begun a second (S003-09)."""
    paths = [f"/{number}" for number in range(6)]
    async with WebWorld({path: PageSpec(HTML, behaviour="slow", seconds=0.05) for path in paths}) as world:
        limits = FetchLimits(per_host_at_once=2, per_host_per_second=20.0)
        pages = WebPages(allow=LOOPBACK, limits=limits, workers=1)

        await asyncio.gather(*(pages.fetch(world.url(path)) for path in paths))
        await pages.aclose()

        began = sorted(request.at for request in world.requests if request.path in paths)
    waves = [later - earlier for earlier, later in zip(began, began[2:], strict=False)]
    assert len(began) == 6
    assert min(waves) >= 0.045  # a third request waits for one of the two before it


async def test_other_pages_are_read_while_one_hangs(reader: WebPages) -> None:
    """A slow site costs its own page only."""
    async with WebWorld({"/hang": PageSpec(behaviour="hang"), "/page": PageSpec(HTML)}) as world:
        hanging = asyncio.create_task(reader.fetch(world.url("/hang")))

        page = await reader.fetch(world.url("/page"))

        assert not hanging.done()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
    assert SENTENCE in page.text


@pytest.mark.parametrize(
    ("encoding", "content_type", "meta"),
    [
        ("utf-8", "text/html", ""),
        ("utf-8", "text/html; charset=iso-8859-1", ""),
        ("windows-1252", "text/html; charset=windows-1252", ""),
        ("windows-1252", "text/html; charset=no-such-thing", ""),
        ("iso-8859-1", "text/html", '<meta charset="iso-8859-1">'),
        ("utf-16", "text/html", ""),
        ("utf-8-sig", "text/html; charset=windows-1251", ""),
    ],
)
async def test_a_wrong_or_missing_charset_does_not_garble(
    reader: WebPages, encoding: str, content_type: str, meta: str
) -> None:
    """The text is the author's, whatever the label says."""
    sentence = "Die Brücke über den Fluß wurde im Jahr 1903 für die Händler der Stadt erbaut, schätzt man."
    html = f"<html><head>{meta}<title>Brücke</title></head><body><article>{f'<p>{sentence}</p>' * 4}</article></body>"
    async with WebWorld({"/page": PageSpec(html.encode(encoding), content_type=content_type)}) as world:
        page = await reader.fetch(world.url("/page"))

    assert page.title == "Brücke"
    assert page.text.startswith(sentence)


async def test_text_and_markdown_are_read_as_they_are(reader: WebPages) -> None:
    """Plain files keep their lines; the first heading or line is the title."""
    markdown = PageSpec("# Rain\n\nIt rains.\nOften.\n", content_type="text/markdown")
    plain = PageSpec("Rain\n\nIt rains.\n", content_type="text/plain; charset=utf-8")
    async with WebWorld({"/a.md": markdown, "/a.txt": plain}) as world:
        first, second = await reader.fetch(world.url("/a.md")), await reader.fetch(world.url("/a.txt"))

    assert (first.title, first.text) == ("Rain", "# Rain\n\nIt rains.\nOften.")
    assert (second.title, second.text) == ("Rain", "Rain\n\nIt rains.")


@pytest.mark.parametrize("content_type", ["application/pdf", "application/octet-stream", "text/html", ""])
async def test_a_pdf_is_read_page_by_page(reader: WebPages, content_type: str) -> None:
    """Pages are parted by form feeds, whatever the server calls the file; real papers keep their sentences."""
    body = shared_data("papers", "0603.10002.pdf").read_bytes()
    async with WebWorld({"/paper": PageSpec(body, content_type=content_type)}) as world:
        page = await reader.fetch(world.url("/paper"))

    assert page.title == "Relaxed Phylogenetics and Dating with Confidence"
    assert page.text.count("\f") == 7
    assert "estimating divergence dates" in " ".join(page.text.split("\f")[0].split())


def _hostile_files() -> Iterator[Path]:
    folder = SHARED / "data" / "hostile_sample" / "files"
    return iter(sorted(folder.iterdir())) if folder.is_dir() else iter(())


@pytest.mark.parametrize("content_type", ["text/html", "application/pdf", "text/plain", ""])
async def test_hostile_files_are_read_or_refused(reader: WebPages, content_type: str) -> None:
    """None hangs, and none raises anything but a `FetchError`, under any label."""
    shared_data("hostile_sample", "files")
    pages = {
        f"/{file.name}": PageSpec(file.read_bytes(), content_type=content_type, headers=headers)
        for file in _hostile_files()
        for headers in ({"Content-Encoding": "gzip"} if "gz" in file.name else {},)
    }
    started = time.monotonic()
    async with WebWorld(pages) as world:
        for path in world.paths:
            try:
                page = await reader.fetch(world.url(path))
            except FetchError:
                continue
            assert page.text.strip()

    assert len(pages) >= 17
    assert time.monotonic() - started < 15


async def test_the_environment_can_allow_an_intranet() -> None:
    """`GORKD_FETCH_ALLOW` is the only setting: without it loopback is refused, and a misspelt one stops the start."""
    async with WebWorld({"/page": PageSpec(HTML)}) as world:
        lenient, strict = WebPages.from_env({"GORKD_FETCH_ALLOW": "127.0.0.1"}), WebPages.from_env({})

        page = await lenient.fetch(world.url("/page"))
        with pytest.raises(AddressBlocked):
            await strict.fetch(world.url("/page"))
        with pytest.raises(SetupError, match="GORKD_FETCH_ALLOW"):
            WebPages.from_env({"GORKD_FETCH_ALLOW": "10.0.0.0/8 nonsense"})
        await lenient.aclose()
        await strict.aclose()

    assert SENTENCE in page.text


async def test_a_page_that_has_not_changed_is_not_sent_again(reader: WebPages) -> None:
    """Its server is asked with the validators it gave; 304 means the text as it was, read now (RFC 9110, 13.1)."""
    validators = {"ETag": '"v1"', "Last-Modified": "Mon, 02 Feb 2026 10:00:00 GMT"}
    moved = PageSpec(behaviour="redirect", target="/page", status=302)
    async with WebWorld({"/page": PageSpec(HTML, headers=validators), "/old": moved}) as world:
        first = await reader.fetch(world.url("/old"))
        world.pages["/page"] = PageSpec(status=304)

        again = await reader.fetch(world.url("/old"), known=first)

        asked = world.asked("/page")[-1].headers
        hops = [request.headers.get("If-None-Match") for request in world.asked("/old")]
    assert (asked["If-None-Match"], asked["If-Modified-Since"]) == ('"v1"', "Mon, 02 Feb 2026 10:00:00 GMT")
    assert hops == [None, None]
    assert (again.text, again.etag) == (first.text, '"v1"')
    assert again.read_at > first.read_at


async def test_a_page_that_has_changed_is_read_anew(reader: WebPages) -> None:
    """With the new text and the new validators."""
    async with WebWorld({"/page": PageSpec(HTML, headers={"ETag": '"v1"'})}) as world:
        first = await reader.fetch(world.url("/page"))
        changed = HTML.replace("A paragraph", "Another paragraph")
        world.pages["/page"] = PageSpec(changed, headers={"ETag": '"v2"'})

        again = await reader.fetch(world.url("/page"), known=first)

    assert again.text.startswith("Another paragraph")
    assert again.etag == '"v2"'


async def test_not_modified_without_being_asked_is_no_page(reader: WebPages) -> None:
    """A server that answers 304 to who knows nothing has given nothing."""
    async with WebWorld({"/page": PageSpec(status=304)}) as world:
        with pytest.raises(PageStatus):
            await reader.fetch(world.url("/page"))
