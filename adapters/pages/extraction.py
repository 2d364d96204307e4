"""What a worker is asked and what it answers, as plain data that crosses the process border as JSON."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from core.model.errors import FetchError, PageTimeout
from core.model.works import NO_IDS, WorkIds

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DocumentKind = Literal["html", "text", "pdf", "docx", "feed"]
MAX_ENTRIES = 300  # of a feed; most name the newest ten to fifty
MAX_TEXT_CHARS = 200_000  # some 35,000 words: longer than what any model's window could use of one source
MAX_PAPER_CHARS = 2_000_000  # a thesis of 700 pages
MAX_GAP_CHARS = 200
MAX_ID_CHARS = 300  # of a DOI; most have thirty
LENGTH = struct.Struct(">I")  # of what follows, in bytes, before every block that crosses
LIMITS = struct.Struct(">QQ")  # of a parser: milliseconds a document may take, bytes of memory
NO_TEXT_LAYER = "a PDF without a text layer"
NO_OCR = "scanned pages and no OCR"
INSTALL_OCR = "the operator can install tesseract-ocr, and it will be"
EMPTY_PAGES = "a PDF of empty pages"
_OCR_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"  # parsers inherit no environment
NO_PAGES = "a PDF none of whose pages can be read"


@dataclass(frozen=True)
class PageDocument:
    """The bytes of a page as fetched. `charset` is the one declared in the HTTP header ("" if none).

    At most `max_chars` of its text are wanted; with a `page`, from 1, not its text but that page as a picture with
    `quote` marked. For at most `ocr_s` its scanned pages are read by OCR.
    """

    url: str
    kind: DocumentKind
    charset: str
    body: bytes
    max_chars: int = MAX_TEXT_CHARS
    page: int = 0
    quote: str = ""
    ocr_s: float = 0.0


@dataclass(frozen=True)
class Extraction:
    """The readable part: paragraphs parted by blank lines, pages of a PDF by form feeds.

    `published_on` is an ISO date; `labels` are the numbers printed on a PDF's pages, "" where none is; `gap` says what
    of the document is missing in `text`, "" for nothing; `scans` of its pages are pictures that nobody has read; `ids`
    are those of the work that the document says it is; `entries` the titles and addresses of a feed's.
    """

    title: str
    text: str
    author: str | None = None
    published_on: str | None = None
    labels: tuple[str, ...] = ()
    gap: str = ""
    scans: int = 0
    ids: WorkIds = NO_IDS
    entries: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Extraction:
        """The inverse of `to_json`, once parsed. Raises `ValueError`: a worker may have been taken over by a page."""
        try:
            read = _shape().validate_python(fields)
        except ValueError as exc:
            raise ValueError("no extraction with title or text") from exc
        return replace(
            read,
            text=read.text[:MAX_PAPER_CHARS],
            gap=read.gap[:MAX_GAP_CHARS],
            ids=WorkIds.of(**{kind: value[:MAX_ID_CHARS] for kind, value in vars(read.ids).items()}),
            entries=tuple((title[:500], url[:2000]) for title, url in read.entries[:MAX_ENTRIES]),
        )


@cache
def _shape() -> TypeAdapter[Extraction]:
    from pydantic import TypeAdapter  # parsers have no use for it

    return TypeAdapter(Extraction)


def find_tesseract() -> str:
    """The path of the OCR program, "" where it is not installed."""
    return shutil.which("tesseract", path=_OCR_PLACES) or ""


class NoText(Exception):
    """The document holds no readable text; the message says why."""


# Why a PDF was not read, in a few words for the person who handed it over; what a parser says is never shown


BROKE_READER = "the reader died of it"
TOO_MUCH_MEMORY = "needs too much memory"
_PLAIN = (
    (NO_TEXT_LAYER, "it is a scan: its pages are images without text"),
    (NO_OCR, f"it is a scan, and no OCR is installed to read it; {INSTALL_OCR}"),
    (EMPTY_PAGES, "its pages are empty"),
    (NO_PAGES, "it is damaged: none of its pages can be opened"),
    ("assword", "it is protected by a password"),
    ("ncrypt", "it is protected by a password"),
    (TOO_MUCH_MEMORY, "reading it takes too much memory"),
    (BROKE_READER, "the reader broke on it, so it is damaged or made to do harm"),
)


def plain_reason(fault: FetchError) -> str:
    """`it is …`, to stand behind a colon."""
    if isinstance(fault, PageTimeout):
        return "reading it took too long"
    said = str(fault).removeprefix(f"{fault.url}: ")  # the name in it may say anything
    return next((words for mark, words in _PLAIN if mark in said), "it is damaged")
