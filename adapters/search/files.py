"""Local files by BM25: an index in SQLite's FTS5 that follows the files, one hit a file with its whole text.

Only for the tenants it is told to serve, because an operator's files are nobody else's; a workspace's own pages
(adapters/search/corpus.py) are found by it alone. The index holds nothing that
the files do not: when the database is damaged or of another layout it is thrown away and built anew.
"""

from __future__ import annotations

import asyncio
import codecs
import html
import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import sqlite_utils
from pydantic import BaseModel, Field

from adapters.search.corpus import EVERYBODY, Corpus, read_file, read_listing
from adapters.search.service import (
    DEFAULT_LIMITS,
    Service,
    Surroundings,
    TimeLimits,
    clean_line,
    clean_text,
    deadline,
    keywords,
)
from adapters.write_ahead import make_private
from core.model.codec import read_settings
from core.model.errors import FetchError, ProviderUnavailable, SetupError
from core.model.job import LOCAL, Scope
from core.model.ports import ProviderStrength
from core.model.source import SearchHit, SearchQuery, SourceKind
from core.presentation.wording import READING_FIRST, STILL_READING
from core.text.saying import say

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

log = logging.getLogger(__name__)

SERVICE = Service("files", "Local file search", url_variable="GORKD_FILES", needs="a folder in GORKD_FILES")
INDEX_NAME = "files.db"
CORPUS_NAME = "corpus"  # the folder of what was read of the web
LISTS = frozenset({".txt", ".urls", ".xml", ".rss", ".atom"})  # which files may list addresses
LAYOUT = 1  # `user_version` of the database; another one means: build anew
INDEXING_S = 6.0  # of one question's time; a big folder is indexed over several questions
FIRST_READING_S = 0.5  # that the first questions wait for pages of the web; then what is read is what there is
REFRESH_S = 2.0  # between looks at the disk; the queries of one question share a look
BUSY_MS = 5_000  # how long to wait for another process that writes the index
PASSAGE_CHARS = 1200  # one to three paragraphs: small enough that a match says something about its place
PASSAGES_PER_HIT = 20  # read from the index for each file wanted
TITLE_WEIGHT = 2.0  # a word in the title counts like two in the text
NEXT_PASSAGES = (0.3, 0.1)  # what a file's second and third passage add to its best one
_DAMAGE = frozenset(  # ERROR: a table is missing
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CORRUPT_VTAB, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
)


class FilesSettings(BaseModel):
    files: str = Field(default="", alias="GORKD_FILES")
    every_min: int = Field(default=60, alias="GORKD_FILES_MINUTES", ge=1, le=10_080)  # at most a week


def build(env: Mapping[str, str], around: Surroundings) -> FileSearch | None:
    """None when there is no folder to read. Named in `GORKD_PROVIDERS`, it serves every tenant. Raises `SetupError`."""
    own = read_settings(FilesSettings, env)
    named, places = parse_paths(own.files), parse_places(own.files)
    missing = [str(path) for path in named if not path.exists()]
    if missing:
        raise SetupError(f"GORKD_FILES names {', '.join(missing)}, which does not exist")
    lists = [path for path in named if names_pages(path)]
    roots = [path for path in named if path not in lists]
    if not named and not places:
        roots = [path for path in around.default_files if path.exists()]
    if around.pages is None and not roots:
        return None
    if roots and next(list_files(roots), None) is None:
        kinds = ", ".join(sorted(SUFFIXES))
        log.warning("local files: nothing to read in %s; these kinds are: %s", ", ".join(map(str, roots)), kinds)
    corpus = None
    if around.pages is not None:
        corpus = Corpus(
            around.data_dir / CORPUS_NAME, around.pages, [*places, *(path.resolve().as_uri() for path in lists)],
            around.corpora, around.clock, timedelta(minutes=own.every_min),
        )  # fmt: skip
    tenants = None if around.is_named else frozenset({LOCAL.tenant})
    return FileSearch(roots, around.data_dir / INDEX_NAME, tenants=tenants, limits=around.limits, corpus=corpus)


_NAMED = re.compile(rf"(?P<url>https?://[^\s,]+)|(?P<path>(?:(?!https?://)[^,{os.pathsep}])+)")


def parse_paths(text: str) -> list[Path]:
    """Paths parted by commas or the system's path separator; `~` is the home folder."""
    paths = [(found["path"] or "").strip() for found in _NAMED.finditer(text)]
    return [Path(path).expanduser() for path in paths if path]


def parse_places(text: str) -> list[str]:
    """Addresses of the web among the paths."""
    return [found["url"] for found in _NAMED.finditer(text) if found["url"]]


def names_pages(path: Path) -> bool:
    """Whether a file lists addresses, or is a sitemap or a feed, and so is no text to be searched itself."""
    if path.suffix.lower() not in LISTS or not path.is_file():
        return False
    try:
        return read_listing(path.as_posix(), path.read_bytes()).kind != "page"
    except (OSError, FetchError):
        return False


class FileSearch:
    """`tenants` are the tenants that may ask for the files; None means all. A tenant's own corpus is its alone."""

    name = SERVICE.name
    strength: ProviderStrength = "files"

    def __init__(
        self,
        roots: Sequence[Path],
        index_path: Path,
        *,
        tenants: frozenset[str] | None = frozenset({LOCAL.tenant}),
        limits: TimeLimits = DEFAULT_LIMITS,
        corpus: Corpus | None = None,
    ) -> None:
        self._roots = [root.resolve() for root in roots]
        self._index = FileIndex([*roots, *([corpus.folder] if corpus else [])], index_path)
        self._tenants = tenants
        self._limits = limits
        self._corpus = corpus

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        """Raises `ProviderUnavailable` when the index cannot be kept, `ProviderTimeout`."""
        words = keywords(query.text)
        within = self._seen_by(scope.tenant)
        if limit < 1 or not words or query.filters.include_domains or not within:
            return []
        async with deadline(SERVICE, self._limits.search_s):
            if self._corpus is not None:
                self._corpus.start()
                await self._corpus.ready(FIRST_READING_S)
            return await asyncio.to_thread(self._search, words, limit, within)

    def unread(self, scope: Scope) -> str:
        seen = [scope.tenant, *([EVERYBODY] if self._is_served(scope.tenant) else [])]
        return say(STILL_READING) if self._corpus is not None and any(map(self._corpus.is_unread, seen)) else ""

    async def read_first(self, within_s: float, tell: Callable[[str], None]) -> None:
        if self._corpus is not None and await self._corpus.has_new():
            tell(say(READING_FIRST))
            self._corpus.start()
            await self._corpus.ready(within_s)

    async def warm_up(self) -> None:
        """Look at the folders, so that the first question need not, and begin to read what lies on the web."""
        if self._corpus is not None:
            self._corpus.start()
        await asyncio.to_thread(self._index.search, ["warm"], 1)

    async def aclose(self) -> None:
        if self._corpus is not None:
            await self._corpus.aclose()
        await asyncio.to_thread(self._index.close)

    def _seen_by(self, tenant: str) -> list[Path]:
        """The folders and files whose text `tenant` may see."""
        is_served = self._is_served(tenant)
        if self._corpus is None:
            return self._roots if is_served else []
        shared = [*self._roots, *self._corpus.folders(EVERYBODY)] if is_served else []
        return [*shared, *self._corpus.folders(tenant)]

    def _is_served(self, tenant: str) -> bool:
        return self._tenants is None or tenant in self._tenants

    def _search(self, words: Sequence[str], limit: int, within: Sequence[Path]) -> list[SearchHit]:
        return [self._hit(file, rank) for rank, file in enumerate(self._index.search(words, limit, within=within))]

    def _hit(self, file: FoundFile, rank: int) -> SearchHit:
        if self._corpus is not None and self._corpus.folder in file.path.parents:
            url, text = read_file(file.text)
            return SearchHit(SERVICE.name, url, file.title, text, is_complete=True, rank=rank)
        url, kind = file.path.as_uri(), SourceKind.LOCAL
        return SearchHit(SERVICE.name, url, file.title, file.text, is_complete=True, rank=rank, kind=kind)


@dataclass(frozen=True)
class FoundFile:
    path: Path
    title: str
    text: str


class FileIndex:
    """Follows what changes on disk, ranks files by their best passages. Blocking; threads take turns.

    `path` is the database's; files are looked for below `roots`, at most every `refresh_s` seconds.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        path: Path,
        *,
        refresh_s: float = REFRESH_S,
        indexing_s: float = INDEXING_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._roots = [root.resolve() for root in roots]
        self._path = path
        self._refresh_s = refresh_s
        self._indexing_s = indexing_s
        self._clock = clock
        self._refresh_at = 0.0
        self._database: sqlite_utils.Database | None = None
        self._turn = threading.RLock()  # closing a connection that another thread uses crashes the process

    def search(self, words: Sequence[str], limit: int, *, within: Sequence[Path] | None = None) -> list[FoundFile]:
        """The best files with any of `words`, best first, of those `within`. Raises `ProviderUnavailable`."""
        with self._turn:
            return self._search_mending(words, limit, self._roots if within is None else within)

    def close(self) -> None:
        with self._turn:
            database, self._database = self._database, None
            if database is not None:
                database.close()

    def _search_mending(self, words: Sequence[str], limit: int, within: Sequence[Path]) -> list[FoundFile]:
        try:
            return self._search(words, limit, within)
        except sqlite3.DatabaseError as exc:
            self.close()
            if getattr(exc, "sqlite_errorcode", None) not in _DAMAGE:  # locked, full, read-only: a new file is no cure
                raise self._unusable(exc) from exc
            log.warning("index %s is damaged (%s); building it anew", self._path, exc)
        self._throw_away()
        try:
            return self._search(words, limit, within)
        except sqlite3.DatabaseError as exc:
            self.close()
            raise self._unusable(exc) from exc

    def _search(self, words: Sequence[str], limit: int, within: Sequence[Path]) -> list[FoundFile]:
        database = self._open()
        if self._clock() >= self._refresh_at and self._refresh(database):
            self._refresh_at = self._clock() + self._refresh_s
        paths = _rank_files(_matches(database, words, within, limit * PASSAGES_PER_HIT))[:limit]
        return [file for path in paths for file in _load(database, path)]

    def _open(self) -> sqlite_utils.Database:
        if self._database is None:
            try:
                make_private(self._path)  # it holds the whole text of the files
            except OSError as exc:
                raise self._unusable(exc) from exc
            connection = sqlite3.connect(self._path, timeout=BUSY_MS / 1000, check_same_thread=False)
            self._database = sqlite_utils.Database(connection)
            self._database.execute("pragma synchronous = normal")  # what a power cut loses is built again
            _lay_out(self._database)
            self._refresh_at = 0.0
        return self._database

    def _unusable(self, error: Exception) -> ProviderUnavailable:
        operator_message = f"Local file search cannot use its index {self._path}; check GORKD_DATA."
        return ProviderUnavailable("files", f"index {self._path}: {error}", operator_message=operator_message)

    def _throw_away(self) -> None:
        self.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)

    def _refresh(self, database: sqlite_utils.Database) -> bool:
        """Index what is new or changed below the roots, forget what is gone; False when time ran out before the end."""
        ends_at = self._clock() + self._indexing_s
        known = {str(row["path"]): row for row in database.query("select path, mtime_ns, size, hash from files")}
        present: set[str] = set()
        for path in list_files(self._roots):
            try:
                stat, row = path.stat(), known.get(str(path))
                if row is None or (row["mtime_ns"], row["size"]) != (stat.st_mtime_ns, stat.st_size):
                    if self._clock() >= ends_at:
                        log.warning("%d files are indexed so far; the next question goes on", len(present))
                        return False
                    self._update(database, path, stat, old_hash=str(row["hash"]) if row else "")
                present.add(str(path))
            except OSError as exc:
                log.warning("file %s is skipped: %s", path, exc.strerror)
        for gone in known.keys() - present:
            if any(
                root == Path(gone) or root in Path(gone).parents for root in self._roots
            ):  # others are other processes'
                with _writing(database):
                    _forget(database, gone)
        return True

    def _update(self, database: sqlite_utils.Database, path: Path, stat: os.stat_result, *, old_hash: str) -> None:
        """A file that gives no text is remembered too, so that it is read and reported once."""
        content = path.read_bytes() if stat.st_size <= MAX_FILE_BYTES else b""
        digest = sha256(content).hexdigest()
        record = {"path": str(path), "mtime_ns": stat.st_mtime_ns, "size": stat.st_size, "hash": digest}
        if content and old_hash == digest:
            database.table("files").update(str(path), record)
            return
        try:
            if stat.st_size > MAX_FILE_BYTES:
                raise Unreadable(f"over {MAX_FILE_BYTES} bytes")
            document = read_document(path, content)
        except Unreadable as exc:
            log.warning("file %s is skipped: %s", path, exc)
            document = FileDocument("", "")
        with _writing(database):
            _forget(database, str(path))
            _remember(database, record, document)


@contextmanager
def _writing(database: sqlite_utils.Database) -> Iterator[None]:
    """One transaction that has the write lock from its start, so that two processes take turns."""
    database.execute("begin immediate")
    try:
        yield
    except BaseException:
        database.rollback()
        raise
    database.commit()


def _lay_out(database: sqlite_utils.Database) -> None:
    if _layout_of(database) == LAYOUT:
        return
    database.enable_wal()
    with _writing(database):
        if _layout_of(database) == LAYOUT:  # another process was faster
            return
        for table in ("passages_fts", "passages", "files"):
            database.table(table).drop(ignore=True)
        columns = {"path": str, "mtime_ns": int, "size": int, "hash": str, "title": str, "text": str}
        database.table("files").create(columns, pk="path")
        passages = database.table("passages").create({"id": int, "path": str, "title": str, "text": str}, pk="id")
        passages.create_index(["path"])
        passages.enable_fts(["title", "text"], tokenize="porter unicode61", create_triggers=True)
        database.execute(f"pragma user_version = {LAYOUT}")


def _matches(
    database: sqlite_utils.Database, words: Sequence[str], roots: Sequence[Path], most: int
) -> Iterator[tuple[str, float]]:
    """(path, score > 0) of the best passages, best first. FTS5's bm25 is smaller when better."""
    expression = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
    within = " OR ".join("path = ? OR (path >= ? AND path < ?)" for _ in roots)
    bounds = [text for root in roots for text in (str(root), f"{root}/", f"{root}0")]  # "0" follows "/"
    rows = database.execute(
        f"""select passages.path, -bm25(passages_fts, {TITLE_WEIGHT}, 1.0) as score
        from passages_fts join passages on passages.id = passages_fts.rowid
        where passages_fts match ? and ({within}) order by score desc limit ?""",  # noqa: S608  # only "?" vary
        [expression, *bounds, most],
    )
    return ((str(path), float(score)) for path, score in rows)


def _layout_of(database: sqlite_utils.Database) -> int:
    return int(database.execute("pragma user_version").fetchone()[0])


def _forget(database: sqlite_utils.Database, path: str) -> None:
    database.table("passages").delete_where("path = ?", [path])
    database.table("files").delete_where("path = ?", [path])


def _remember(database: sqlite_utils.Database, record: dict[str, object], document: FileDocument) -> None:
    database.table("files").insert({**record, "title": document.title, "text": document.text})
    database.table("passages").insert_all(
        {"path": record["path"], "title": document.title, "text": passage} for passage in _passages(document.text)
    )


def _passages(text: str) -> Iterator[str]:
    """Whole paragraphs up to `PASSAGE_CHARS`; a longer paragraph is cut."""
    passage = ""
    for paragraph in text.replace("\f", "\n\n").split("\n\n"):
        for start in range(0, len(paragraph), PASSAGE_CHARS):
            piece = paragraph[start : start + PASSAGE_CHARS]
            if passage and len(passage) + len(piece) > PASSAGE_CHARS:
                yield passage
                passage = ""
            passage = f"{passage}\n\n{piece}".strip()
    if passage:
        yield passage


def _rank_files(matches: Iterator[tuple[str, float]]) -> list[str]:
    """Paths by their best passage, with a little for the next two."""
    weights = (1.0, *NEXT_PASSAGES)
    counts: dict[str, int] = {}
    scores: dict[str, float] = {}
    for path, score in matches:
        place = counts.get(path, 0)
        counts[path] = place + 1
        scores[path] = scores.get(path, 0.0) + (score * weights[place] if place < len(weights) else 0.0)
    return sorted(scores, key=lambda path: (-scores[path], path))


def _load(database: sqlite_utils.Database, path: str) -> Iterator[FoundFile]:
    for row in database.query("select title, text from files where path = ?", [path]):
        yield FoundFile(Path(path), str(row["title"]), str(row["text"]))


# Files as documents: which ones below a folder may be read, and their text and title


MAX_FILE_BYTES = 5_000_000
MAX_PDF_PAGES = 1000  # a PDF may claim any number
PAGE_BREAK = "\f"  # between the pages of a PDF, so that a place in the text tells its page
MARKDOWN = frozenset({".md", ".markdown"})
PLAIN = frozenset({".txt", ".text", ".rst"})
HTML = frozenset({".html", ".htm", ".xhtml"})
PDF = frozenset({".pdf"})
SUFFIXES = MARKDOWN | PLAIN | HTML | PDF
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n.*?^\1[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")
_PDFIUM = threading.Lock()  # PDFium is not safe for threads
_UNDERLINE = re.compile(r"=+|-+")
_HTML_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,2000})", re.IGNORECASE)
_HTML_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Unreadable(Exception):
    """Why a file gives no text, in a few words."""


@dataclass(frozen=True)
class FileDocument:
    title: str
    text: str


def list_files(roots: Iterable[Path]) -> Iterator[Path]:
    """The real paths of the readable kinds of files in `roots`, which are folders or files; each once."""
    seen: set[Path] = set()
    for root in roots:
        real_root = root.resolve()
        candidates = [real_root] if real_root.is_file() else _walk(real_root)
        for path in candidates:
            if path.suffix.lower() not in SUFFIXES:
                continue
            real = path.resolve()
            if real not in seen and _may_be_read(real, real_root):
                seen.add(real)
                yield real


def read_document(path: Path, content: bytes) -> FileDocument:
    """The document in `content`, the bytes of `path`. Raises `Unreadable`."""
    suffix = path.suffix.lower()
    if suffix in PDF:
        document = _read_pdf(content)
    else:
        text = clean_text(_decode(content, is_html=suffix in HTML))
        document = _read_html(text) if suffix in HTML else _read_text(text, is_markdown=suffix in MARKDOWN)
    if not any(char.isalnum() for char in document.text):
        raise Unreadable("no text")
    return document if document.title else FileDocument(clean_line(path.stem), document.text)


def _walk(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):  # does not follow links to folders, so it ends
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _may_be_read(real: Path, root: Path) -> bool:
    """A file within `root`, no part of whose path below it is hidden, with a name that is text."""
    is_inside = real == root or root in real.parents
    if not is_inside or any(part.startswith(".") for part in real.relative_to(root).parts):
        return False
    try:
        str(real).encode("utf-8")  # a name of other bytes cannot be stored
    except UnicodeEncodeError:
        return False
    return real.is_file()


def _decode(content: bytes, *, is_html: bool) -> str:
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return content.decode(encoding, errors="replace")
    if b"\0" in content[:8192]:
        raise Unreadable("binary")
    named = _HTML_CHARSET.search(content[:2048]) if is_html else None
    for encoding in (named[1].decode("ascii") if named else "utf-8", "utf-8"):
        try:
            return content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("cp1252", errors="replace")


def _read_text(text: str, *, is_markdown: bool) -> FileDocument:
    if is_markdown:
        text = _without_links(_FRONT_MATTER.sub("", text, count=1).strip())
    return FileDocument(clean_line(_first_heading(text)), text)


def _without_links(text: str) -> str:
    """Each link as its words, which is what a quotation shows; code stays as it is."""
    parts, at = [], 0
    for code in _FENCED.finditer(text):
        parts += [_LINK.sub(r"\1", text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _LINK.sub(r"\1", text[at:])])


def _first_heading(text: str) -> str:
    """Of Markdown or reStructuredText, "" when there is none; a comment in a shell block is no heading."""
    fence = ""
    above = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith(fence or ("```", "~~~")):
            fence, above = "" if fence else line[:3], ""
            continue
        if fence:
            continue
        if line.startswith("#") and line.lstrip("#")[:1] in {" ", "\t"}:
            return line.strip("# \t")
        if above and _UNDERLINE.fullmatch(line):
            return above
        above = line
    return ""


def _read_html(text: str) -> FileDocument:
    import trafilatura

    title = _HTML_TITLE.search(text)
    if "<body" not in text[:100_000].lower():  # trafilatura finds nothing in a bare fragment
        text = f"<html><body>{text}</body></html>"
    extracted = trafilatura.extract(text, include_comments=False, include_tables=True, deduplicate=False)
    body = extracted or trafilatura.html2txt(text) or ""
    return FileDocument(clean_line(html.unescape(title[1])) if title else "", clean_text(body))


def _read_pdf(content: bytes) -> FileDocument:
    import pypdfium2

    if b"%PDF" not in content[:1024]:
        raise Unreadable("not a PDF")
    try:
        with _PDFIUM, pypdfium2.PdfDocument(content) as pdf:
            pages = [_read_page(pdf, number) for number in range(min(len(pdf), MAX_PDF_PAGES))]
            title = clean_line(pdf.get_metadata_dict().get("Title", ""))
    except pypdfium2.PdfiumError as exc:
        raise Unreadable(f"damaged PDF: {exc}") from exc
    return FileDocument(title, PAGE_BREAK.join(pages))


def _read_page(pdf: PdfDocument, number: int) -> str:
    page = pdf[number]
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_bounded()
    finally:
        text_page.close()
        page.close()
    joined = re.sub(r"[\ufffe\x02]\r?\n?", "", text)  # PDFium's mark for a hyphen at a line's end
    return clean_text(joined)
