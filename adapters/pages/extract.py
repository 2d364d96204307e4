"""One document to its readable text. Runs in a worker process: a hostile document may take any time and memory."""

from __future__ import annotations

import io
import re
import zipfile
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, cached_property
from heapq import merge
from importlib.resources import files
from types import ModuleType
from typing import TYPE_CHECKING

from adapters.pages.body import decode_page
from adapters.pages.extraction import MAX_ENTRIES, MAX_ID_CHARS, MAX_TEXT_CHARS, Extraction, NoText, PageDocument
from adapters.pages.pdf import extract_pdf
from core.model.source import UNSEEN
from core.model.works import ids_in_tags

if TYPE_CHECKING:
    from lxml.etree import _Element  # type: ignore[import-untyped] # lxml ships no types
    from lxml.html import HtmlElement  # type: ignore[import-untyped]
    from trafilatura.settings import Extractor


_CONTROLS = re.compile(  # C0 and C1 but tab, line feed and form feed; lone surrogates and non-characters
    f"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff{UNSEEN}]"
)
_LINE_BREAKS = re.compile(r"\r\n?|\x85|\u2028")
_MANY_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_BLANKS_AT_LINE_END = re.compile(r"(?<![ \t])[ \t]+(?=\n)")  # tried at the first of a run alone
_NAMED = re.compile(r"^(title|author)s?:(.*(?:\n[ \t]*- .*)*)", re.IGNORECASE | re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n((?:(?!---)(?:[\w-]+:|[ \t#-]).*\n)+)---[ \t]*(?:\r?\n|\Z)")

_SENTENCE = b"A paragraph that is long enough to be taken for the text of a page."
_WARM_UP_PAGES = (  # the second one's text is looked for twice
    b"<html><head><title>Ready</title></head><body><article>" + 6 * (b"<p>" + _SENTENCE) + b"</article></body></html>",
    b"<html><body><table>" + 6 * (b"<tr><td>" + _SENTENCE) + b"</table></body></html>",
)


def extract(document: PageDocument) -> Extraction:
    """The readable text, at most `max_chars` of it, without invisible characters. Raises `NoText`."""
    if document.kind == "pdf":
        found = extract_pdf(document.body, max_chars=document.max_chars, ocr_s=document.ocr_s)
    elif document.kind == "docx":
        found = extract_docx(document.body)
    elif document.kind == "feed":
        found = extract_feed(document.body, document.url)
    else:
        text = decode_page(document.body, document.charset)
        found = extract_html(text, document.url) if document.kind == "html" else _extract_text(text)
    whole = _tidy(found.text)
    text = whole[: document.max_chars].rstrip(" \t\n")
    if not text.strip():
        raise NoText("the page holds no text")
    return Extraction(
        title=" ".join(_CONTROLS.sub("", found.title).split())[:500],
        text=text,
        author=" ".join(_CONTROLS.sub("", found.author).split())[:200] if found.author else None,
        published_on=found.published_on,
        labels=found.labels,
        scans=found.scans,
        ids=found.ids,
        entries=tuple((_CONTROLS.sub("", title), address) for title, address in found.entries),
        gap=found.gap
        or (f"only the first {document.max_chars:,} characters were read" if len(whole) > document.max_chars else ""),
    )


def warm_up() -> None:
    """Import and run everything once, so that the first page is not the slow one."""
    import pypdfium2  # noqa: F401 - loads the library

    for page in _WARM_UP_PAGES:
        extract(PageDocument("http://localhost/", "html", "utf-8", page))


def _extract_text(text: str) -> Extraction:
    """Plain text and Markdown; the title is that of its front matter, else the first heading or line."""
    if text.count("\x00") > len(text) // 1000:
        raise NoText("binary, not text")
    head = _FRONT_MATTER.match(text)
    named = {name.lower(): said for name, said in _NAMED.findall(head[1] if head else "")}
    text = text[head.end() :] if head else text
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    authors = "; ".join(part for line in named.get("author", "").splitlines() if (part := line.strip(" \t-[]\"'")))
    return Extraction(named.get("title", "").strip(" \t\r\"'") or first.lstrip("# ")[:200], text, authors or None)


def extract_feed(body: bytes, url: str) -> Extraction:
    """RSS or Atom: what its entries say, newest first, and what they are called. Raises `NoText`."""
    import feedparser

    # From a stream, because it would take bytes for a file's name; what it is given it never fetches.
    parsed = feedparser.parse(io.BytesIO(body), response_headers={"content-location": url}, sanitize_html=False)
    entries: dict[str, tuple[str, str]] = {}
    for entry in parsed.entries[:MAX_ENTRIES]:
        title, said = _words_of(entry.get("title", "")), _words_of(entry.get("summary", ""))
        address = str(entry.get("link") or "")
        title = title or said[:200]
        if title:
            entries.setdefault(address or title, (title, said))
    if not entries:
        raise NoText("a feed without entries")
    text = "\n\n".join(f"{title}\n\n{said}".strip() for title, said in entries.values())
    named = tuple((title, address if "://" in address else "") for address, (title, _) in entries.items())
    return Extraction(_words_of(parsed.feed.get("title", "")), text, entries=named)


def _words_of(markup: str) -> str:
    """Of a piece of HTML, as feeds carry it."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        return " ".join(str(html.fromstring(f"<div>{markup}</div>").text_content()).split())
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return ""


def _tidy(text: str) -> str:
    text = _CONTROLS.sub("", _LINE_BREAKS.sub("\n", text))
    text = _MANY_BLANK_LINES.sub("\n\n", _BLANKS_AT_LINE_END.sub("", text))
    return text.strip(" \t\n")


# A Word document: paragraphs parted by blank lines, headings marked, footnotes at the end


MAX_PART_BYTES = 30_000_000  # of one part, unpacked; a book has two million
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PARTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")


def extract_docx(body: bytes) -> Extraction:
    """Raises `NoText` for what is no such document, or unpacks to more than anybody writes."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            parts = [_part(packed, name) for name in _PARTS if name in packed.namelist()]
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as exc:
        raise NoText(f"a damaged Word document: {type(exc).__name__}") from exc
    return Extraction("", "\n\n".join(paragraph for part in parts for paragraph in _paragraphs(part)))


def _part(packed: zipfile.ZipFile, name: str) -> bytes:
    with packed.open(name) as opened:
        content = opened.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise NoText(f"{name} unpacks to more than {MAX_PART_BYTES} bytes")
    return content


def _paragraphs(content: bytes) -> Iterator[str]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as exc:
        raise NoText("a damaged Word document") from exc
    for said_again in [*root.iter(_FALLBACK, f"{_W}moveFrom")]:  # a text box for old programs; what was moved from here
        said_again.getparent().remove(said_again)
    for paragraph in root.iter(f"{_W}p"):
        text = " ".join("".join(_pieces(paragraph)).split(" ")).strip()
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        is_heading = style is not None and (style.get(f"{_W}val") or "").lower().startswith(("heading", "title"))
        if text:
            yield f"# {text}" if is_heading else text


def _pieces(paragraph: _Element) -> Iterator[str]:
    """Its own; a text box in it has paragraphs of its own."""
    for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br"):
        if next(node.iterancestors(f"{_W}p")) is paragraph:
            yield node.text or "" if node.tag == f"{_W}t" else " "


# HTML to its main text: hidden elements go, trafilatura finds the body, and the body is written as plain text.
#
# trafilatura's own Markdown is not used: it escapes characters (`\_`) and marks emphasis, and a quotation must read as
# the page does.

_MAX_DEPTH = 200  # nested elements; deeper nesting is made, not written, and parsers recurse
_MAX_ELEMENTS = 25_000  # trafilatura takes 50–150 µs an element: 2.5 s, half of what a worker may take
_MIN_CHARS = 80  # less than a sentence from a page with more text means that the extractor missed the body
_BLOCKS = frozenset({"p", "head", "list", "item", "quote", "code", "table", "row", "cell", "div", "body"})
_FURNITURE = ("script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "svg", "iframe")
_PLAIN_BLOCKS = (
    "p div section article main h1 h2 h3 h4 h5 h6 li dt dd tr blockquote pre figcaption br hr td th caption".split()
)
_DATE_METAS = frozenset(
    "article:published_time datepublished citation_publication_date citation_date dc.date dc.date.issued "
    "dcterms.issued dcterms.date date pubdate publish-date publication_date".split()
)
_BINARY = re.compile("[\x00-\x08\x0e-\x1a]")


def extract_html(html: str, url: str) -> Extraction:
    """Main text with headings, lists and tables, and what the page says of itself. Raises `NoText`."""
    trafilatura = _extractor()
    if len(_BINARY.findall(html[:4096])) > 20:
        raise NoText("binary, not HTML")
    tree = _parse(html)
    drop_hidden(tree)
    ids, published_on = ids_in_tags(_tags(tree)), _declared_date(tree)
    if _is_monstrous(tree):
        return Extraction(_title(tree), _plain_text(tree), published_on=published_on, ids=ids)
    found = trafilatura.bare_extraction(
        tree,
        url=url,
        output_format="xml",  # the tree alone is read; written out as text too, a hostile page would take minutes
        include_comments=False,
        include_tables=True,
        include_formatting=True,  # keeps code and headings apart from prose
        with_metadata=True,
        # What the page declares comes before what may be found in its prose; in no format, no date is looked for.
        date_extraction_params={
            "original_date": True, "extensive_search": False, "outputformat": "" if published_on else "%Y-%m-%d",
        },
    )  # fmt: skip
    if not isinstance(found, trafilatura.settings.Document):
        return Extraction(_title(tree), _plain_text(tree), published_on=published_on, ids=ids)
    text = _written(found.body) if found.body is not None else ""
    plain = _plain_text(tree) if len(text) < _MIN_CHARS or "\n" not in text else ""
    is_glued = bool(plain) and _collapsed(plain) in _collapsed(text)  # all of a small page in one line, furniture too
    return Extraction(
        title=found.title or _title(tree),
        text=plain if is_glued or len(text) < _MIN_CHARS < len(plain) else text or plain,
        author=found.author,
        published_on=published_on or found.date,
        ids=ids,
    )


@cache
def _extractor() -> ModuleType:
    """trafilatura, which asks a second extractor (a third of its time) only where that can change the outcome.

    It takes that one's body where it is twice as long, which it cannot be where all of the page is not, or where its
    own has no paragraphs, more tables than those, or what is no text; a short one it compares with a third, too,
    whose words of all languages are kept here in a form of a thirtieth of their size.
    """
    import justext.core  # type: ignore[import-untyped]  # ships no types
    import trafilatura
    from trafilatura import core, external

    compare = external.compare_extraction

    def compare_where_it_matters(
        cleaned: HtmlElement, page: HtmlElement, body: _Element, text: str, options: Extractor
    ) -> tuple[_Element, str]:
        is_sure = (
            options.focus == "balanced"
            and len(text) >= options.min_extracted_size
            and len(" ".join(page.text_content().split())) <= 2 * len(text)
            and body.xpath(".//p//text()")
            and len(body.findall(".//table")) <= len(body.findall(".//p"))
            and not body.xpath(external.SANITIZED_XPATH)
        )
        return (body, text) if is_sure else compare(cleaned, page, body, text, options)

    vars(core).update(compare_extraction=compare_where_it_matters)
    vars(external).update(JT_STOPLIST=STOP_WORDS)
    vars(justext.core).update(define_stoplist=lambda words: words)  # it would copy them, in lower case once more
    return trafilatura


class _StopWords:
    """The lower-case stop words of all of justext's languages, 154,000, by their hashes: 8 bytes each.

    Read for the first page that is compared by them, of which there are few: that takes 0.1 s.
    """

    @cached_property
    def hashes(self) -> array[int]:
        lists = files("justext").joinpath("stoplists").iterdir()
        each = [array("q", sorted(map(hash, words.read_text("utf-8").lower().split()))) for words in lists]
        return array("q", merge(*each))  # sorted at once they would take 10 MB more for a moment

    def __contains__(self, word: str) -> bool:
        wanted = hash(word)
        at = bisect_left(self.hashes, wanted)
        return at < len(self.hashes) and self.hashes[at] == wanted


STOP_WORDS = _StopWords()


def _parse(html: str) -> HtmlElement:
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    # A str with an encoding declaration is refused by lxml, and what it declares is settled already.
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        return document_fromstring(html.encode("utf-8", errors="replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as exc:
        if any(error.type == etree.ErrorTypes.ERR_NO_MEMORY for error in parser.error_log):
            raise MemoryError from exc
        raise NoText("no HTML in it") from exc


def _is_monstrous(tree: HtmlElement) -> bool:
    """Too many or too deeply nested elements for anything but reading the words in order."""
    from lxml import etree

    depth = elements = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        elements += event == "start"
        if depth > _MAX_DEPTH or elements > _MAX_ELEMENTS:
            return True
    return False


def _written(body: _Element) -> str:
    """trafilatura's tree as text: blocks parted by blank lines, `## ` headings, `- ` items, tables."""
    return "\n\n".join(block for block in _blocks(body, 0) if block)


def _blocks(element: _Element, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        yield _inline(element)
        return
    tag = element.tag
    if tag == "head":
        level = (element.get("rend") or "h2")[1:2]
        yield "#" * (int(level) if level.isdigit() else 2) + " " + _inline(element)
    elif tag == "list":
        yield _list(element, depth)
    elif tag == "table":
        yield _table(element)
    elif tag == "code" or (tag == "quote" and len(element) == 0):
        yield "".join(str(piece) for piece in element.itertext()).strip("\n").rstrip()
    elif any(child.tag in _BLOCKS for child in element):
        yield from _mixed(element, depth)
    else:
        yield _inline(element)


def _mixed(element: _Element, depth: int) -> Iterator[str]:
    """The blocks of an element that also has text of its own between them."""
    run = [element.text or ""]
    for child in element:
        if child.tag in _BLOCKS and (child.tag != "code" or any("\n" in str(piece) for piece in child.itertext())):
            yield _collapsed("".join(run))
            yield from _blocks(child, depth + 1)
            run = [child.tail or ""]
        else:
            run += [_raw_inline(child), child.tail or ""]
    yield _collapsed("".join(run))


def _list(element: _Element, depth: int) -> str:
    lines = []
    for number, item in enumerate(element.iterchildren("item"), 1):
        mark = f"{number}. " if element.get("rend") == "ol" else "- "
        inside = "\n".join(block for block in _blocks(item, depth + 1) if block)
        if inside:
            lines.append(mark + inside.replace("\n", "\n  "))
    return "\n".join(lines)


def _table(element: _Element) -> str:
    """As Markdown below a row of heads; without one no row says what its cells are."""
    rows = [list(row.iterchildren("cell")) for row in element.iter("row")]
    written = [[_inline(cell) for cell in row] for row in rows]
    has_head = bool(rows) and len(rows[0]) > 1 and all(cell.get("role") == "head" for cell in rows[0])
    if not (has_head and any(written[0])):
        return "\n".join(" | ".join(cells) for cells in written if any(cells))
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |" for cells in written if any(cells)]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _inline(element: _Element) -> str:
    return _collapsed(_raw_inline(element))


def _raw_inline(element: _Element) -> str:
    if element.tag == "lb":
        return "\n"
    pieces = [element.text or ""]
    for child in element.iterdescendants():
        if child.tag in _BLOCKS or child.tag == "lb":
            pieces.append(" ")
        pieces += [child.text or ""]
        pieces += [child.tail or ""]
    return "".join(pieces)


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _plain_text(tree: HtmlElement) -> str:
    """Every visible word outside the page's furniture: what is left when no body can be told from the rest."""
    from lxml import etree

    pieces: list[str] = []
    skipped: set[_Element] = set()
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "start":
            if tag in _FURNITURE or tag in ("head", "title"):
                skipped.add(element)
            if not skipped:
                pieces += ["\n" if tag in _PLAIN_BLOCKS else "", element.text or ""]
            continue
        skipped.discard(element)
        if not skipped:
            pieces += ["\n" if tag in _PLAIN_BLOCKS else "", element.tail or ""]
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n\n".join(line for line in lines if line)[:MAX_TEXT_CHARS]


def _title(tree: HtmlElement) -> str:
    for path in ("title", "h1"):
        for element in tree.iter(path):
            if title := _collapsed(str(element.text_content())):
                return title
    return ""


def _tags(tree: HtmlElement) -> dict[str, str]:
    """What the page's `<meta>` tags say, by name in lower case; the first of a name."""
    tags: dict[str, str] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower()
        tags.setdefault(name, (meta.get("content") or "")[:MAX_ID_CHARS])
    return tags


def _declared_date(tree: HtmlElement) -> str | None:
    """ISO date of the publication date in the page's metadata, in any usual spelling (`03-Jan-2001`)."""
    from dateutil import parser  # type: ignore[import-untyped] # types come in a separate package

    for meta in tree.iter("meta"):
        name = (meta.get("property") or meta.get("name") or meta.get("itemprop") or "").lower()
        content = (meta.get("content") or "")[:60]
        if name not in _DATE_METAS or not any(char.isdigit() for char in content):
            continue
        try:
            # Parsed over two defaults: a date that says day, month and year itself gives the same result twice.
            dates = {
                parser.parse(content, default=datetime(year, month, day, tzinfo=UTC)).date()
                for year, month, day in ((1970, 1, 1), (1972, 2, 2))
            }
        except (ValueError, OverflowError):
            continue
        if len(dates) == 1:
            return str(dates.pop().isoformat())
    return None


# Removing what a page's reader cannot see, so that it is neither quoted nor obeyed. Detected: `hidden` and
# `aria-hidden`, inline styles, and rules of the page's own style sheets that name a single class or id. Not detected:
# external style sheets, scripts, text in the colour of its background.


_INVISIBLE = re.compile(
    r"display\s*:\s*none"
    r"|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:^|[;{\s])opacity\s*:\s*0*(?:\.0+)?\s*(?:%|;|!|$)"
    r"|font-size\s*:\s*0*(?:\.0+)?\s*(?:px|pt|em|rem|%)?\s*(?:;|!|$)"
    r"|(?:^|[;{\s])(?:max-)?(?:width|height)\s*:\s*0(?:px)?\s*(?:;|!|$)"
    r"|text-indent\s*:\s*-\d{3,}"
    r"|(?:^|[;{\s])(?:left|right|top|bottom)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*0|clip-path\s*:\s*inset\(\s*(?:50|100)%",
    re.IGNORECASE,
)
_RULE = re.compile(r"([^{}@;]{1,500})\{([^{}]{1,2000})\}")
_SINGLE = re.compile(r"^([.#])([\w-]{1,100})$")
_NEVER = frozenset({"html", "head", "body", "main", "article"})  # often hidden only until a script has run
_MAX_STYLE_CHARS = 200_000
_UNSEEN_TAGS = ("script", "style", "template", "noscript", "object", "embed", "iframe", "datalist", "select")


def drop_hidden(tree: HtmlElement) -> None:
    """Remove invisible elements from `tree`, keeping the text behind them."""
    classes, ids = _hidden_by_style_sheet(tree)
    doomed = [element for element in tree.iter() if _is_hidden(element, classes, ids)]
    for element in doomed:
        if element.getparent() is not None:
            element.drop_tree()


def _is_hidden(element: HtmlElement, classes: set[str], ids: set[str]) -> bool:
    if not isinstance(element.tag, str) or element.tag in _NEVER:
        return False
    if element.tag in _UNSEEN_TAGS:
        # Metadata that trafilatura reads lies in such a script.
        return bool(element.get("type") != "application/ld+json")
    attributes = element.attrib
    style = attributes.get("style", "")
    return bool(
        attributes.get("hidden", "until-found") != "until-found"
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or (style and _INVISIBLE.search(style[:2000]))
        or attributes.get("id") in ids
        or (classes and not classes.isdisjoint(attributes.get("class", "").split()))
    )


def _hidden_by_style_sheet(tree: HtmlElement) -> tuple[set[str], set[str]]:
    """Classes and ids that a `<style>` of the page makes invisible outside any media query."""
    found: dict[str, set[str]] = {".": set(), "#": set()}
    css = "\n".join(element.text or "" for element in tree.iter("style"))[:_MAX_STYLE_CHARS]
    for selectors, body in _RULE.findall(_without_at_rules(css)):
        if _INVISIBLE.search(body):
            for selector in selectors.split(","):
                if single := _SINGLE.match(selector.strip()):
                    found[single.group(1)].add(single.group(2))
    return found["."], found["#"]


def _without_at_rules(css: str) -> str:
    """`css` without comments and without `@media {…}` blocks, which hold for some readers only."""
    css = re.sub(r"/\*.*?\*/", " ", css, flags=re.DOTALL)
    kept: list[str] = []
    depth = skip_until = 0
    for piece in re.split(r"([{}])", css):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth = max(depth - 1, 0)
            if skip_until and depth < skip_until:
                skip_until = 0
                continue
        elif not skip_until and "@" in piece:
            kept.append(piece[: piece.index("@")])
            skip_until = depth + 1
            continue
        if not skip_until:
            kept.append(piece)
    return "".join(kept)
