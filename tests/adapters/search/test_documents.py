"""Files as documents: encodings, headings, pages, papers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.search.documents import Unreadable, read_document
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
