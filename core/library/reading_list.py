"""A reading list as papers to be added: BibTeX, RIS, CSL JSON as Zotero exports them, or ids and DOIs one a line.

Nothing is fetched here. What an entry lacks is "": most lists name a DOI, and Zotero's also the file beside the list.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath

from core.library.ingest import PaperRecord, PaperUnreadable
from core.model.job import Json
from core.model.works import ARXIV_ID
from core.text.saying import say, say_again

SUFFIXES = frozenset({".bib", ".bibtex", ".ris", ".json"})
MAX_LIST_BYTES = 20_000_000
MAX_ENTRIES = 5_000
MAX_VALUE_CHARS = 100_000  # of a field; what is never closed must not be looked for to the end of the list
_LINE = re.compile(
    rf"(?:arxiv:\s*|https?://(?:www\.)?arxiv\.org/(?:abs|pdf)/)?(?P<arxiv>{ARXIV_ID.pattern})(?:\.pdf)?"
    r"|(?:doi:\s*|https?://(?:dx\.)?doi\.org/)?(?P<doi>10\.\d{4,9}/\S+)"
    r"|(?P<url>https?://\S+)",
    re.IGNORECASE,
)
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ENTRY = re.compile(r"@(\w++)\s*+\{\s*+([^\s,{}]*+)\s*+,")
_NEXT = re.compile(r"\n[ \t]*+@\w++\s*+\{")  # an entry at a line's beginning ends whatever was not closed before it
_FIELD = re.compile(r"\s*+,?+\s*+([A-Za-z][\w-]*+)\s*+=\s*+")
_JOINED = re.compile(r"\s*+#\s*+")
_CLOSING = re.compile(r"\s*+,?+\s*+\}")
_BARE = re.compile(r"[^\s,}#]*")
_NO_WORK = frozenset({"string", "preamble", "comment"})
_RIS = re.compile(r"^([A-Z][A-Z0-9])  - ?(.*)$")
_COMBINING = "\u0308 \u0301 \u0300 \u0302 \u0303 \u0327 \u030c \u0306 \u0304 \u0307 \u030b \u030a \u0328 \u0323"
_ACCENTS = dict(zip("\"'`^~cvu=.Hrkd", _COMBINING.split(), strict=True))  # TeX's, and Unicode's behind the letter
_ACCENT = re.compile(r"""\\(["'`^~=.]|[cvuHrkd](?![A-Za-z]))\s*+\{?+\s*+(\\?[A-Za-z])\s*+\}?""")
_LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
            "AA": "Å", "i": "i", "j": "j"}  # fmt: skip
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?![A-Za-z])\s*(?:\{\})?")


@dataclass(frozen=True)
class ListedPaper:
    """`reference` is an arXiv id, a DOI or an address; `file` the path of a file beside the list or in a folder there;
    "" for none, and for any other place: who wrote the list may not choose what is read.
    """

    record: PaperRecord
    reference: str = ""
    file: str = ""

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.record.title or self.reference or PurePath(self.file).name


@dataclass(frozen=True)
class BibtexEntry:
    """`fields` by name in lower case, as they are written; `text` is the whole entry."""

    kind: str
    key: str
    fields: Mapping[str, str]
    text: str


def is_reading_list(name: str, content: bytes) -> bool:
    """By its name; a `.txt` when every line of it is an id, a DOI or an address."""
    suffix = PurePath(name).suffix.lower()
    if suffix != ".txt":
        return suffix in SUFFIXES
    lines = _lines(content.decode("utf-8", "replace")) if len(content) <= MAX_LIST_BYTES else []
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def read_list(name: str, content: bytes) -> list[ListedPaper]:
    """Each paper once. Raises `PaperUnreadable` for what holds none."""
    if len(content) > MAX_LIST_BYTES:
        raise _unreadable(name, f"it is larger than {MAX_LIST_BYTES // 1_000_000} MB")
    text = content.decode("utf-8-sig", "replace")
    suffix = PurePath(name).suffix.lower()
    readers = {".ris": _of_ris, ".json": _of_csl, ".txt": _of_lines}
    found: dict[ListedPaper, None] = {}
    for listed in readers.get(suffix, _of_bibtex)(text):
        found[listed] = None
        if len(found) > MAX_ENTRIES:
            raise _unreadable(name, f"it lists more than {MAX_ENTRIES} papers, the most that are taken from one list")
    if not found:
        raise _unreadable(name, "it lists no paper")
    return list(found)


def _unreadable(name: str, why: str) -> PaperUnreadable:
    return PaperUnreadable(
        f"list refused: {why}", user_message=say("{name} cannot be read: {why}.", name=name, why=say_again(why))
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _of_lines(text: str) -> Iterator[ListedPaper]:
    for line in _lines(text):
        found = _LINE.fullmatch(line)
        if found:
            doi = found["doi"] or ""
            yield ListedPaper(PaperRecord(doi=doi), found["arxiv"] or doi or found["url"])


def _of_bibtex(text: str) -> Iterator[ListedPaper]:
    for entry in bibtex_entries(text):
        yield _listed(entry.fields, bibtex=entry.text)


def bibtex_entries(text: str) -> Iterator[BibtexEntry]:
    """Those of works, in their order, also of a file that is broken here and there."""
    at = last = 0
    while start := _ENTRY.search(text, at):
        at = start.end()
        if start[1].lower() in _NO_WORK:
            continue
        if last <= at:
            following = _NEXT.search(text, at)
            last = following.start() if following else len(text)
        at, fields = _fields(text, at, last)
        yield BibtexEntry(start[1].lower(), start[2], fields, text[start.start() : at])


def _fields(text: str, at: int, last: int) -> tuple[int, dict[str, str]]:
    """Where the entry ends, at `last` at the latest, and its fields by name in lower case, as they are written."""
    fields: dict[str, str] = {}
    while found := _FIELD.match(text, at, last):
        parts: list[str] = []
        at = found.end()
        while True:
            end = _value_end(text, at, last)
            parts.append(text[at:end].strip().strip('"{}') if text[at : at + 1] == '"' else _unbraced(text[at:end]))
            at = end
            joined = _JOINED.match(text, at, last)
            if joined is None:
                break
            at = joined.end()
        fields.setdefault(found[1].lower(), "".join(parts))
    closing = _CLOSING.match(text, at, last)
    return (closing.end() if closing else at), fields


def _value_end(text: str, at: int, last: int) -> int:
    """Behind a value in braces, in quotation marks, or bare."""
    opening, depth = text[at : at + 1], 0
    if opening not in ("{", '"'):
        bare = _BARE.match(text, at, last)
        return bare.end() if bare else at
    last = min(last, at + MAX_VALUE_CHARS)
    for place in range(at, last):
        char = text[place]
        if char in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if char == "{" else -1
            if depth == 0 and opening == "{":
                return place + 1
        elif char == '"' and depth == 0 and opening == '"' and place > at:
            return place + 1
    return last


def _unbraced(value: str) -> str:
    value = value.strip()
    return value[1:-1] if value.startswith("{") and value.endswith("}") else value


def plain(value: str) -> str:
    """A BibTeX value as people read it: accents as letters, no braces."""
    value = _LETTER.sub(lambda found: _LETTERS[found[1]], value)
    value = _ACCENT.sub(lambda found: found[2].lstrip("\\") + _ACCENTS[found[1]], value)
    value = re.sub(r"\\([&%$#_{}])", r"\1", value.replace("~", " "))
    return unicodedata.normalize("NFC", " ".join(value.replace("{", "").replace("}", "").split()))


def _listed(fields: Mapping[str, str], *, bibtex: str) -> ListedPaper:
    eprint = plain(fields.get("eprint", ""))
    url = plain(fields.get("url", ""))
    arxiv = eprint if ARXIV_ID.fullmatch(eprint) else _arxiv_in(url)
    names = bibtex_names(fields.get("author", ""))
    date = plain(fields.get("date", "")) or "-".join(filter(None, (plain(fields.get("year", "")), _month(fields))))
    record = PaperRecord(
        title=plain(fields.get("title", "")),
        authors=names,
        published=_date(date),
        doi=_doi(plain(fields.get("doi", ""))),
        url=url,
        abstract=plain(fields.get("abstract", "")),
        bibtex=bibtex,
    )
    return ListedPaper(record, arxiv or record.doi or url, _below(_attached(fields.get("file", ""))))


def bibtex_names(text: str) -> tuple[str, ...]:
    """The names in a field of authors, without `and others`."""
    names = (plain(name) for name in re.split(r"\s+and\s+", text) if name.strip())
    return tuple(name for name in names if name != "others")


def _month(fields: Mapping[str, str]) -> str:
    months = "jan feb mar apr may jun jul aug sep oct nov dec".split()
    said = plain(fields.get("month", "")).lower()[:3]
    return f"{months.index(said) + 1:02}" if said in months else ""


def _attached(file: str) -> str:
    """The first PDF of `Full Text:files/1/a.pdf:application/pdf;…`, as Zotero and JabRef write it."""
    for entry in re.split(r"(?<!\\);", file):
        parts = [part.replace("\\:", ":").replace("\\;", ";") for part in re.split(r"(?<!\\):", entry)]
        for part in parts[1:2] if len(parts) > 1 else parts:
            if part.strip().lower().endswith(".pdf"):
                return part.strip()
    return ""


def _below(file: str) -> str:
    """The path where it leads to the list's own folder or one in it, else ""."""
    path = PurePosixPath(file.removeprefix("file:").replace("\\", "/"))
    is_elsewhere = path.is_absolute() or PureWindowsPath(file).drive or file.startswith("~") or ".." in path.parts
    return "" if is_elsewhere else str(path) if path.name else ""


def _of_ris(text: str) -> Iterator[ListedPaper]:
    return map(_of_tags, ris_entries(text))


def ris_entries(text: str) -> Iterator[dict[str, list[str]]]:
    """The values of each tag, by entry."""
    fields: dict[str, list[str]] = {}
    for line in text.splitlines():
        found = _RIS.match(line.rstrip())
        if found and found[1] == "ER":
            yield fields
            fields = {}
        elif found and found[2].strip():
            fields.setdefault(found[1], []).append(found[2].strip())
    if fields.keys() - {"TY"}:
        yield fields


def _of_tags(fields: Mapping[str, list[str]]) -> ListedPaper:
    def first(*tags: str) -> str:
        return next((fields[tag][0] for tag in tags if fields.get(tag)), "")

    record = PaperRecord(
        title=first("TI", "T1"),
        authors=tuple(fields.get("AU", fields.get("A1", ()))),
        published=_date(first("DA", "PY", "Y1").replace("/", "-").strip("-")),
        doi=_doi(first("DO")),
        url=first("UR"),
        abstract=first("AB", "N2"),
    )
    files = [file for file in fields.get("L1", ()) if file.lower().endswith(".pdf")]
    return ListedPaper(record, _arxiv_in(record.url) or record.doi or record.url, _below(files[0]) if files else "")


def _of_csl(text: str) -> Iterator[ListedPaper]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and (row.get("title") or row.get("DOI")):
            url = str(row.get("URL") or "")
            record = PaperRecord(
                title=str(row.get("title") or ""),
                authors=tuple(_csl_names(row.get("author"))),
                published=_csl_date(row.get("issued")),
                doi=_doi(str(row.get("DOI") or "")),
                url=url,
                abstract=str(row.get("abstract") or ""),
            )
            yield ListedPaper(record, _arxiv_in(url) or record.doi or url)


def _csl_names(value: Json) -> Iterator[str]:
    for name in value if isinstance(value, list) else []:
        if isinstance(name, dict):
            yield ", ".join(filter(None, (str(name.get("family") or ""), str(name.get("given") or ""))))


def _csl_date(value: Json) -> str:
    parts = value.get("date-parts") if isinstance(value, dict) else None
    first = parts[0] if isinstance(parts, list) and parts else None
    return _date("-".join(str(part).zfill(2) for part in first)) if isinstance(first, list) else ""


def _date(text: str) -> str:
    found = re.match(r"((?:19|20)\d{2})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    return "-".join(part for part in found.groups() if part) if found else ""


def _doi(text: str) -> str:
    found = _DOI.search(text)
    return found.group().rstrip(".,;") if found else ""


def _arxiv_in(url: str) -> str:
    found = re.search(rf"arxiv\.org/(?:abs|pdf)/({ARXIV_ID.pattern})", url)
    return found[1] if found else ""
