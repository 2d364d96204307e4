"""Files as documents: encodings, headings, pages, papers."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from adapters.search.files import Unreadable, read_document
from tests.shared_data import shared_data


@pytest.mark.parametrize(
    ("name", "content", "title", "text"),
    [
        pytest.param("u.txt", "\ufefftides über".encode("utf-8"), "u", "tides über", id="BOM"),
        pytest.param("w.txt", "tides über".encode("cp1252"), "w", "tides über", id="Windows"),
        pytest.param("16.txt", "tides über".encode("utf-16"), "16", "tides über", id="UTF-16"),
        pytest.param("s.rst", b"Tides rise\n==========\n\nThe moon.", "Tides rise", None, id="underlined heading"),
        pytest.param("c.md", b"# Tides #\r\n\r\nThe moon.\r\n", "Tides", "# Tides #\n\nThe moon.", id="CRLF"),
        pytest.param("t.md", b"+++\ntitle = 'x'\n+++\nTides.", "t", "Tides.", id="TOML front matter"),
        pytest.param(
            "r.md", b"Tides\n\n---\n\nMoon\n\n---\n", "r", "Tides\n\n---\n\nMoon\n\n---", id="rules are no matter"
        ),
        pytest.param(
            "l.md",
            b"# Tides\n\nSee [the Moon](moon.md#pull), not ![a picture](p.png).\n\n```\n[a](b)\n```\n\n[b](c)",
            "Tides",
            "# Tides\n\nSee the Moon, not ![a picture](p.png).\n\n```\n[a](b)\n```\n\nb",
            id="links are their words, code stays",
        ),
        pytest.param("e.md", b"# <b>Tides</b> &amp; **moon**\n", "Tides & **moon**", None, id="tags in a heading"),
    ],
)
def test_texts_of_all_sorts(name: str, content: bytes, title: str, text: str | None) -> None:
    """Encodings, headings, front matter."""
    document = read_document(Path(name), content)

    assert document.title == title
    assert text is None or document.text == text


def test_a_page_is_read_without_its_furniture() -> None:
    """The title is the page's own; what a script says is not text."""
    page = """<html><head><title>Tides &amp; moon</title><meta charset="utf-8"></head><body>
<nav><a href="/">Home</a><a href="/x">Contact us</a></nav><script>var tides = "script";</script>
<article><h1>Tides</h1><p>The moon raises the tides of the sea twice a day, which sailors have always known.</p>
<p>Spring tides come at new and full moon, when sun and moon pull together on the water of the sea.</p></article>
<footer>Copyright</footer></body></html>"""

    document = read_document(Path("p.html"), page.encode())

    assert document.title == "Tides & moon"
    assert "The moon raises the tides of the sea twice a day" in document.text
    assert "script" not in document.text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(b"<p>Tides \x01 rise.</p>", "Tides  rise.", id="control character"),
        pytest.param(b"Tides rise.", "Tides rise.", id="no tags"),
        pytest.param(b"<ul><li>Tides</li><li>rise.</li></ul>", "Tides\nrise.", id="only a list"),
        pytest.param(
            b"<title>Sea</title><p>Tides rise.</p>", "Sea\nTides rise.", id="a title without a frame is text too"
        ),
    ],
)
def test_a_fragment_of_a_page_is_text_too(page: bytes, text: str) -> None:
    """Notes are often saved without the frame of a page."""
    document = read_document(Path("x.html"), page)

    assert document.text.split() == text.split()


def test_a_place_in_a_real_paper_tells_its_page() -> None:
    """Real PDFs: a form feed stands between two pages, so that sentences lie on the page they are printed on."""
    papers = shared_data("papers")
    gold = [json.loads(line) for line in (papers / "page_gold.jsonl").open(encoding="utf-8")]
    on_one_page = [row for row in gold if row["first_page"] == row["last_page"]]

    texts = {path.stem: read_document(path, path.read_bytes()).text for path in papers.glob("*.pdf")}

    pages = {paper: [letters(page) for page in text.split("\f")] for paper, text in texts.items()}
    right = [row for row in on_one_page if letters(row["sentence"]) in pages[row["paper"]][row["page"] - 1]]
    assert len(right) >= 0.95 * len(on_one_page) > 500


def letters(text: str) -> str:
    """Without spaces, hyphens and marks, which PDFs lose or gain."""
    return "".join(char for char in text.lower() if char.isascii() and char.isalnum())


def test_hostile_files_are_read_or_refused() -> None:
    """Every hostile sample under every kind of name: a document with text, or `Unreadable`."""
    samples = [path.read_bytes() for path in shared_data("hostile_sample", "files").iterdir()]
    texts: list[str] = []
    refused = 0

    for content in samples:
        for name in ("x.md", "x.txt", "x.html", "x.pdf"):
            try:
                texts.append(read_document(Path(name), content).text)
            except Unreadable:
                refused += 1

    assert all(text.strip() and "\0" not in text for text in texts)
    assert refused >= len(samples) > 10  # as a PDF nearly none of them is one


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("x.html", b"<title>" * 100_000, id="titles without end"),
        pytest.param("x.html", b"<!--" * 200_000, id="comments without end"),
        pytest.param("x.html", b"<div>" * 100_000 + b"word", id="deep"),
        pytest.param("x.html", b"<" * 500_000, id="angle brackets"),
        pytest.param("x.md", b"# a" + b" " * 1_000_000 + b"\n", id="a heading of spaces"),
        pytest.param("x.md", b"---\n" * 200_000, id="front matters"),
        pytest.param("x.md", b"```\n~~~\n" * 200_000 + b"word", id="fences"),
        pytest.param("x.rst", b"a\n=" * 300_000, id="underlines"),
    ],
)
def test_hostile_patterns_take_no_longer_than_their_size(name: str, content: bytes) -> None:
    """A megabyte that makes a careless pattern run for hours is read in seconds."""
    started = time.monotonic()

    try:
        text = read_document(Path(name), content).text
    except Unreadable as refusal:
        text = str(refusal)

    assert time.monotonic() - started < 5.0
    assert text
