"""From bytes to readable text: the body stays, furniture and hidden text go, and nothing raises but `NoText`."""

from __future__ import annotations

import contextlib
import json
import re
from functools import cache

import pytest
import trafilatura
from hypothesis import given, settings
from hypothesis import strategies as st
from justext.utils import get_stoplist, get_stoplists

from adapters.pages.body import decode_page, document_kind
from adapters.pages.extract import extract, extract_html
from adapters.pages.extraction import MAX_TEXT_CHARS, Extraction, NoText, PageDocument
from core.model.works import WorkIds
from tests.shared_data import shared_data

SENTENCE = "A paragraph that is long enough to be read as the text of a page."


def _read(html: str | bytes, charset: str = "utf-8") -> Extraction:
    return extract(
        PageDocument("http://site.example/a", "html", charset, html.encode() if isinstance(html, str) else html)
    )


@cache
def _real_page(name: str) -> Extraction:
    return _read(shared_data("pages", name).read_bytes())


def _article(inside: str, head: str = "") -> str:
    return (
        f"<html><head><title>T</title>{head}</head><body><article><p>{SENTENCE}</p>{inside}<p>{SENTENCE}</p></article>"
    )


FURNITURE = (
    "We use cookies",
    "Accept all",
    "Advertisement",
    "Great read, thanks!",
    "Comments (2)",
    "All rights reserved",
    "dataLayer",
)
FURNITURE_LINE = re.compile(
    r"^(?:- |#### )?(?:News|Guides|Community|Jobs|Contact|Privacy|Terms|Search|Reject|First\.|Related|PEP \d+)$",
    re.MULTILINE,
)


def test_a_small_page_keeps_its_blocks_and_loses_its_furniture() -> None:
    """Its heading is no beginning of its first sentence, and its menu neither: that would be quoted with ✓."""
    html = (
        "<html><head><title>Lake Orra</title></head><body><nav><a href='/'>Home</a></nav><article><h1>Lake Orra</h1>"
        "<p>The water of Lake Orra has a temperature of 3 °C in winter. The lake lies in the north.</p></article>"
        "<footer>Imprint</footer></body></html>"
    )

    found = extract_html(html, "https://lake.example/")

    assert found.text.split("\n\n") == [
        "Lake Orra",
        "The water of Lake Orra has a temperature of 3 °C in winter. The lake lies in the north.",
    ]


def test_real_pages_keep_their_body_and_lose_their_furniture() -> None:
    """Navigation, cookie bar, side bar, ad, comments and footer are gone; paragraphs are there verbatim (S003-09)."""
    files = sorted(shared_data("pages").glob("*.html"))
    left_over: list[str] = []
    kept: list[float] = []

    for file in files:
        html = file.read_text(encoding="utf-8")
        text = _real_page(file.name).text
        left_over += [f"{file.name}: {phrase!r}" for phrase in FURNITURE if phrase in text]
        left_over += [f"{file.name}: {found.group()!r}" for found in FURNITURE_LINE.finditer(text)]
        kept.append(_share_of_paragraphs(html, text))

    assert len(files) == 60
    assert left_over == []
    assert min(kept) > 0.8
    assert sum(kept) / len(kept) > 0.95


def _share_of_paragraphs(html: str, text: str) -> float:
    """How many of the article's plain paragraphs (no markup inside, at least ten words) stand in `text`."""
    from html import unescape

    article = html.partition("<article")[2].partition("</article>")[0].partition('id="references"')[0]
    paragraphs = [" ".join(unescape(found).split()) for found in re.findall(r"<p>([^<]+)</p>", article)]
    long_ones = [paragraph for paragraph in paragraphs if len(paragraph.split()) >= 10]
    squeezed = " ".join(text.split())
    return sum(paragraph in squeezed for paragraph in long_ones) / max(len(long_ones), 1)


def test_real_pages_give_their_title_author_and_date() -> None:
    """The metadata of the index, as the pages declare it (S003-10)."""
    from datetime import datetime

    index = json.loads(shared_data("pages", "index.json").read_text(encoding="utf-8"))
    wrong: list[str] = []

    for entry in index:
        found = _real_page(f"{entry['id']}.html")
        date = datetime.strptime(entry["date"], "%d-%b-%Y").date().isoformat()  # noqa: DTZ007 - a date has no zone
        first_author = entry["author"].split(",")[0].split()[-1]
        if found.title not in entry["title"] or found.published_on != date or first_author not in (found.author or ""):
            wrong.append(f"{entry['id']}: {found.title!r} {found.published_on} {found.author!r}")

    assert wrong == []


def test_structure_is_kept_as_plain_text() -> None:
    """Headings, nested lists, tables, code and line breaks; no emphasis marks. Without a row of heads no row is one."""
    text = _read(
        _article(
            "<h2>Parts</h2><p>Use <b>a_b</b> and <code>x*y</code>, H<sub>2</sub>O.</p>"
            "<ul><li>one<ul><li>nested</li></ul></li><li>two</li></ul><ol><li>first</li><li>second</li></ol>"
            "<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2 <i>x</i></td></tr></table>"
            "<table><tr><th>w</th><td>3</td></tr><tr><th>z</th><td>4</td></tr></table>"
            "<pre><code>def f():\n    return 1</code></pre>"
        )
    ).text

    assert text.split("\n\n")[1:-1] == [
        "## Parts",
        "Use a_b and x*y, H2O.",
        "- one\n  - nested\n- two",
        "1. first\n2. second",
        "| k | v |\n|---|---|\n| 1 | 2 x |",
        "w | 3\nz | 4",
        "def f():\n    return 1",
    ]


HIDDEN = [
    '<p style="display:none">SECRET words that nobody sees on this page at all.</p>',
    '<div style="color:red; DISPLAY : none !important"><p>SECRET words that nobody sees.</p></div>',
    '<p style="visibility:hidden">SECRET words that nobody sees.</p>',
    '<span style="font-size:0">SECRET words</span>',
    '<span style="font-size: 0px;color:red">SECRET words</span>',
    '<p style="opacity:0">SECRET words that nobody sees.</p>',
    '<p style="height:0;overflow:hidden">SECRET words that nobody sees.</p>',
    '<p style="position:absolute;left:-9999px">SECRET words that nobody sees.</p>',
    '<p style="text-indent:-9999px">SECRET words that nobody sees.</p>',
    '<p style="clip:rect(0,0,0,0)">SECRET words that nobody sees.</p>',
    "<p hidden>SECRET words that nobody sees.</p>",
    '<p aria-hidden="true">SECRET words that nobody sees.</p>',
    '<p class="note ghost">SECRET words that nobody sees.</p>',
    '<p id="ghost">SECRET words that nobody sees.</p>',
    "<!-- SECRET words that nobody sees -->",
    "<template><p>SECRET words that nobody sees.</p></template>",
    "<noscript><p>SECRET words that nobody sees.</p></noscript>",
    "<script>SECRET()</script>",
    "<style>SECRET{}</style>",
    "<select><option>SECRET</option></select>",
    "<p>a\U000e0053\U000e0045\U000e0043b</p>",
]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("amount", ["article", "stub"])
def test_what_a_reader_cannot_see_is_not_read(hidden: str, amount: str) -> None:
    """Instructions for machines hide in invisible elements; neither the extractor nor its fallback lets them in."""
    css = "<style>/* x */ .ghost, #ghost { color: red; display: none } @media print {p {display: none}}</style>"
    html = _article(hidden, css) if amount == "article" else f"<html>{css}<body>Seen. {hidden} Seen too."

    text = _read(html).text

    assert "SECRET" not in text
    assert re.search("[\U000e0000-\U000e007f]", text) is None
    assert ("Seen" if amount == "stub" else SENTENCE) in text


@pytest.mark.parametrize(
    "seen",
    [
        '<p style="display:block">SEEN words that everybody sees on this page.</p>',
        '<p style="opacity:0.9">SEEN words that everybody sees on this page.</p>',
        '<p style="font-size:0.9em;line-height:0">SEEN words that everybody sees on this page.</p>',
        '<p style="min-height:0;margin-left:-10px">SEEN words that everybody sees on this page.</p>',
        '<p aria-hidden="false">SEEN words that everybody sees on this page.</p>',
        '<p class="printed">SEEN words that everybody sees on this page.</p>',
        "<details><summary>More</summary><p>SEEN words that everybody sees on this page.</p></details>",
    ],
)
def test_what_a_reader_sees_is_read(seen: str) -> None:
    """Looking like a hidden element is not enough, nor a rule that holds for printing only."""
    css = "<style>@media print { .printed { display: none } } body { opacity: 0 }</style>"

    assert "SEEN words" in _read(_article(seen, css)).text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Short.</p>", "Short."),
        ("<body>Only <b>words</b> here<br>and there", "Only words here"),
        ("<div><a href='/x'>One link</a></div>", "One link"),
        ("plain words, no markup", "plain words, no markup"),
    ],
)
def test_a_page_without_a_clear_body_still_gives_its_words(html: str, expected: str) -> None:
    """When the extractor finds no article, what is visible is the text."""
    assert expected in _read(html).text


_LINKS = "".join(f"<li><a href=/{n}>Item {n} of the shop</a></li>" for n in range(60))
_ROWS = "".join(f"<tr><td>Row {n}</td><td>{SENTENCE}</td></tr>" for n in range(9))
_PROSE = [f"Harbour {n} has a mole of its own, and {n + 3} cranes that stand on it in a row." for n in range(30)]
PIECES = (
    "".join(f"<p>{line}</p>" for line in _PROSE[:9]),
    f"<article><h2>Tides</h2>{''.join(f'<p>{line} It goes on.</p>' for line in _PROSE)}</article>",
    f"<div>{'<br>'.join(_PROSE[:12])}</div>",
    f"<div class=sidebar>{''.join(f'<p>Elsewhere: {line}</p>' for line in _PROSE)}</div>",
    f"<ul>{_LINKS}</ul>",
    f"<table>{_ROWS}</table>" * 3,
    f"<section><form><input value=x><button>Send</button></form><p>{SENTENCE}</p></section>",
)


@settings(max_examples=15)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5))
def test_no_page_is_read_otherwise_for_want_of_the_second_extractor(pieces: list[str]) -> None:
    """It is asked only where its word could count."""
    html = f"<html><head><title>T</title></head><body>{''.join(pieces)}</body></html>"
    sparing = _read(html)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trafilatura.core.compare_extraction", trafilatura.external.compare_extraction)
        always = _read(html)

    assert sparing == always


def test_the_words_of_the_third_extractor_are_those_it_brings_along():
    """It is asked of short pages, in whatever language; no word is lost by being kept as a number."""
    _read(f"<p>{SENTENCE}</p>")
    kept = trafilatura.external.JT_STOPLIST

    told = {word for language in get_stoplists() for word in get_stoplist(language)}

    assert len(told) > 150_000
    assert [word for word in told if word not in kept] == []
    assert [word for word in told if f"{word}\0" in kept] == []


@pytest.mark.parametrize("html", ["", "   \n", "<html></html>", "<script>x()</script>", "<img src=x>", "\0" * 99])
def test_a_page_without_words_says_so(html: str) -> None:
    """No text is an error of its own, not an empty source."""
    with pytest.raises(NoText):
        _read(html)


def test_the_text_is_cut_at_its_limit() -> None:
    """A page longer than any model's window is cut, not refused."""
    assert len(_read("<article>" + f"<p>{SENTENCE}</p>" * 5_000 + "</article>").text) in range(
        MAX_TEXT_CHARS - 100, MAX_TEXT_CHARS + 1
    )


MONSTERS = {
    "deep blocks": "<div>" * 100_000 + SENTENCE,
    "deep tables": "<table><tr><td>" * 30_000 + SENTENCE,
    "deep emphasis": "<p>" + "<b><i>" * 50_000 + SENTENCE,
    "many paragraphs": f"<p>{SENTENCE}</p>" * 60_000,
    "huge table": "<table>" + "<tr><td>1</td><td>2</td></tr>" * 60_000 + "</table>",
    "unclosed comment": "<p>x</p><!--" + "-" * 1_000_000,
    "angle brackets": "<" * 500_000,
    "entities": "&amp;" * 800_000,
    "blank": "<p>" + " \n" * 1_500_000 + "x</p>",
    "one style": "<style>" + "a{" * 90_000 + "</style><p>x</p>",
    "one attribute": '<p style="' + "left:" * 300_000 + '">x</p>',
    "dates": "<p>" + "2001-01-01 " * 200_000,
    "deep json": '<script type="application/ld+json">' + '{"a":' * 50_000 + "</script><p>x</p>",
}


@pytest.mark.parametrize("name", MONSTERS)
def test_monstrous_pages_end(name: str) -> None:
    """Nesting, size and repetition cost seconds at most, far within what a worker may take."""
    import time

    started = time.process_time()
    with contextlib.suppress(NoText):
        _read(MONSTERS[name])

    assert time.process_time() - started < 5.0


@settings(max_examples=60)
@given(
    st.binary(max_size=400), st.sampled_from(["", "utf-8", "utf-7", "base64", "iso-2022-jp", "x" * 99, "\0", "idna"])
)
def test_any_bytes_decode_under_any_label(body: bytes, label: str) -> None:
    """Law: decoding never raises, and text that is valid UTF-8 keeps its letters."""
    decode_page(body, label)

    assert decode_page("Füße über Brücken".encode(), label if label != "iso-2022-jp" else "") == "Füße über Brücken"


@settings(max_examples=60)
@given(st.text(max_size=200), st.sampled_from(["html", "text", "pdf"]))
def test_any_text_is_read_or_refused(text: str, kind: str) -> None:
    """Law: only `NoText` is raised, and what is returned can be stored and has no control characters."""
    body = text.encode("utf-8", errors="surrogatepass")
    try:
        found = extract(PageDocument("http://site.example/", kind, "", body))  # type: ignore[arg-type] # all three kinds
    except NoText:
        return

    found.text.encode("utf-8")
    assert found.text.strip()
    assert not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", found.text + found.title)


def test_a_page_says_which_published_work_it_is() -> None:
    """In the tags that Google Scholar asks publishers for; what it cites in its text is another work."""
    head = '<meta name="citation_doi" content="10.1000/OWN"><meta name="citation_pmid" content="123">'

    found = _read(_article("<p>See https://doi.org/10.1000/other for more.</p>", head))

    assert found.ids == WorkIds(doi="10.1000/own", pmid="123")
    assert _read(_article("<p>See https://doi.org/10.1000/other.</p>")).ids == WorkIds()


def test_the_process_border_is_crossed_unchanged() -> None:
    """An extraction survives JSON; anything else that a worker might say is refused."""
    extraction = Extraction("T", "text\fmore", "Ada", "2024-01-02", ids=WorkIds(doi="10.1000/own"))

    assert Extraction.from_fields(json.loads(extraction.to_json())) == extraction
    for garbled in ({}, {"title": 1, "text": "x"}, {"title": "x", "text": None}):
        with pytest.raises(ValueError, match="title or text"):
            Extraction.from_fields(garbled)


FEEDS = {
    "RSS": b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour news</title>
        <item><title>Tide &amp; tower</title><link>https://n.example/2</link>
            <description>&lt;p&gt;The tower &lt;b&gt;stands&lt;/b&gt;.&lt;/p&gt;</description></item>
        <item><title>Older</title><link>https://n.example/1</link></item></channel></rss>""",
    "Atom": b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Harbour news</title>
        <entry><title type="html">Tide &amp;amp; tower</title><link href="https://n.example/2"/>
            <summary>The tower stands.</summary></entry>
        <entry><title>Older</title><link href="https://n.example/1"/></entry></feed>""",
}


@pytest.mark.parametrize("feed", FEEDS.values(), ids=FEEDS)
def test_a_feed_gives_its_entries_with_their_addresses(feed: bytes) -> None:
    """N-20: whatever label it comes with; other XML is nothing that we read."""
    kinds = [document_kind(label, feed) for label in ("application/rss+xml", "text/xml", "application/xml")]

    read = extract(PageDocument("https://n.example/feed", "feed", "", feed))

    assert kinds == ["feed"] * 3
    assert document_kind("text/xml", b"<urlset><url/></urlset>") is None
    assert read.title == "Harbour news"
    assert read.entries == (("Tide & tower", "https://n.example/2"), ("Older", "https://n.example/1"))
    assert read.text == "Tide & tower\n\nThe tower stands.\n\nOlder"
    assert Extraction.from_fields(json.loads(read.to_json())) == read


def test_a_feed_without_entries_is_no_page() -> None:
    with pytest.raises(NoText):
        extract(PageDocument("https://n.example/feed", "feed", "", b"<rss version='2.0'><channel/></rss>"))
