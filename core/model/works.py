"""A published work: what a preprint, its revisions and its journal article have in common, whoever found them.

Two records are one work when they share an id, or a long title and an author; versions of one work are one voice. A
`WorkRecord` is what registries say of one: who wrote it, where it is free to read, and whether it still stands. Their
ids are recognised here: in addresses, in what pages say of themselves, at the head of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote, urlsplit

# arXiv's ids: new ones since 2007-04 (a month is 01 to 12), old ones with their archive.
ARXIV_ID = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")
_OLD_ID = re.compile(r"[a-z-]+(?:\.[A-Z]{2})?/(?:9[1-9]|0[0-7])(?:0[1-9]|1[0-2])\d{3}(?:v\d+)?")  # until 2007-03
_NEW_ID = re.compile(r"(\d{2}(?:0[1-9]|1[0-2]))\.(\d{4,5})(?:v\d+)?")
_BEGAN = {4: ("0704", "1412"), 5: ("1501", "9912")}  # year and month of ids of so many digits (info.arxiv.org)
_PLAIN_ID = re.compile(r"[A-Z0-9]{1,40}")
_NO_DOI = re.compile(r"[\s\x00-\x1f\x7f]|(?:^|/)\.{1,2}(?:/|$)")
_VERSION = re.compile(r"v(\d+)$")
ARXIV_DOI = "10.48550/arxiv."  # info.arxiv.org/help/doi.html
_NAMED_BY = ("doi", "arxiv", "pmid", "pmcid", "openalex")
_WORD = re.compile(r"[^\W_]+")
_MIN_TITLE_WORDS = 4  # shorter titles are given twice by chance
_MAX_YEARS = 3  # between a preprint and its journal version
# What the templates of publishers print until somebody fills it in (acmart, IEEEtran, IEEE Access).
_TEMPLATE_DOI = re.compile(
    r"10\.1145/(?:n+\.n+|1122445\.1122456|8888888\.7777777)|10\.475/123_4|10\.1109/access\.\d{4}\.doi"
    r"|10\.1109/xxxx\.\d{4}\.1234567|10\.\d{4,9}/(?:.*[^a-z])?x{3,}(?:[^a-z].*)?"
)
_MIN_SHARED_WORDS = 1 / 3  # of the shorter title's: with fewer in common, two chapters have their book's DOI


@dataclass(frozen=True)
class WorkIds:
    """`arxiv` is without its version, `doi` in lower case, `pmcid` begins with PMC; "" where there is none."""

    arxiv: str = ""
    doi: str = ""
    pmid: str = ""
    pmcid: str = ""
    openalex: str = ""

    @classmethod
    def of(cls, *, arxiv: str = "", doi: str = "", pmid: str = "", pmcid: str = "", openalex: str = "") -> WorkIds:
        """Written alike; what is no such id counts for none. arXiv's own DOI gives the arXiv id.

        They become parts of addresses, so that none may lead out of its path.
        """
        doi = "" if is_template_doi(doi) or _NO_DOI.search(doi.strip()) else doi.strip().casefold()
        arxiv = arxiv or doi.removeprefix(ARXIV_DOI)
        arxiv = without_version(arxiv) if ARXIV_ID.fullmatch(arxiv) else ""
        pmcid = f"PMC{number}" if (number := pmcid.strip().upper().removeprefix("PMC")) else ""
        ids = {"pmid": pmid.strip(), "pmcid": pmcid, "openalex": openalex.strip().upper()}
        return cls(arxiv, doi, **{kind: text for kind, text in ids.items() if _PLAIN_ID.fullmatch(text)})

    @property
    def is_none(self) -> bool:
        return not any(vars(self).values())

    @property
    def name(self) -> str:
        """One of them to call the work by, such as `doi:10.1000/x`; "" without any."""
        return next((f"{kind}:{getattr(self, kind)}" for kind in _NAMED_BY if getattr(self, kind)), "")

    def joined(self, other: WorkIds) -> WorkIds:
        """With the ids of `other` where there is none here."""
        return WorkIds(**{kind: value or getattr(other, kind) for kind, value in vars(self).items()})

    def shares_one_with(self, other: WorkIds) -> bool:
        return any(value and value == getattr(other, name) for name, value in vars(self).items())

    def differs_in_kind(self, other: WorkIds) -> bool:
        """Whether both have an id of one kind, and another one."""
        return any(value and getattr(other, name) not in ("", value) for name, value in vars(self).items())


NO_IDS = WorkIds()


@dataclass(frozen=True)
class PublishedWork:
    """`versions` are ids of papers or addresses, the newest first; `year` is "" or four digits."""

    ids: WorkIds
    title: str
    authors: tuple[str, ...] = ()
    year: str = ""
    versions: tuple[str, ...] = ()

    def is_same(self, other: PublishedWork) -> bool:
        """By an id; else by a long title and an author, unless the ids say that they are two.

        Two ids of arXiv are two works, whatever else they share; so are two titles that share but a DOI.
        """
        if self.ids.arxiv and other.ids.arxiv and self.ids.arxiv != other.ids.arxiv:
            return False
        if replace(self.ids, doi="").shares_one_with(replace(other.ids, doi="")):
            return True
        if self.ids.shares_one_with(other.ids):
            return not _plainly_differ(self.title, other.title)
        words = _WORD.findall(self.title.casefold())
        has_one_title = len(words) >= _MIN_TITLE_WORDS and words == _WORD.findall(other.title.casefold())
        if self.ids.differs_in_kind(other.ids) or not has_one_title:
            return False
        if self.year and other.year and abs(int(self.year) - int(other.year)) > _MAX_YEARS:
            return False
        return bool(_names(self.authors) & _names(other.authors))


NoticeKind = Literal["retraction", "concern", "correction"]


@dataclass(frozen=True)
class Notice:
    """What was published about a work after it. `date` is ISO 8601 as far as it is known (`2010`, `2010-02-06`).

    `url` is the notice's own address; "" where nobody says, as is `reason`. `said_by` is the registry.
    """

    kind: NoticeKind
    url: str = ""
    date: str = ""
    reason: str = ""
    said_by: str = ""


CopyVersion = Literal["published", "accepted", "submitted", ""]


@dataclass(frozen=True)
class OpenCopy:
    """Where a work is free to read. `version` is which one lies there, "" where nobody says."""

    url: str
    version: CopyVersion = ""
    is_pdf: bool = False
    host: str = ""


@dataclass(frozen=True)
class WorkRecord:
    """What registries say of a work. `year` is "" or four digits; `kind` is Crossref's word (`journal-article`).

    `versions` are ids of its other versions, a preprint's or the journal's. `is_open` says that it is free to read
    somewhere, None that nobody knows. `said_by` are the registries that know it, best first; `years` are all that any
    of them names, online and in print.
    """

    ids: WorkIds
    title: str
    authors: tuple[str, ...] = ()
    year: str = ""
    venue: str = ""
    kind: str = ""
    abstract: str = ""
    versions: tuple[WorkIds, ...] = ()
    copies: tuple[OpenCopy, ...] = ()
    is_open: bool | None = None
    notices: tuple[Notice, ...] = ()
    cited_by: int | None = None
    said_by: tuple[str, ...] = ()
    years: tuple[str, ...] = ()

    @property
    def retraction(self) -> Notice | None:
        """The fullest notice of its retraction; None for a work that stands."""
        return fullest(self.notices, "retraction")

    @property
    def is_retracted(self) -> bool:
        return self.retraction is not None

    @property
    def concerns(self) -> tuple[Notice, ...]:
        return tuple(notice for notice in self.notices if notice.kind == "concern")

    @property
    def corrections(self) -> tuple[Notice, ...]:
        return tuple(notice for notice in self.notices if notice.kind == "correction")

    @property
    def all_ids(self) -> tuple[WorkIds, ...]:
        return (self.ids, *self.versions)

    @property
    def as_work(self) -> PublishedWork:
        return PublishedWork(self.ids, self.title, self.authors, self.year)


def fullest(notices: Iterable[Notice], kind: NoticeKind) -> Notice | None:
    """Of several that say the same the one that says most: an address before a date before a reason."""
    of_kind = [notice for notice in notices if notice.kind == kind]
    return max(of_kind, key=lambda one: (bool(one.url), bool(one.date), bool(one.reason)), default=None)


def join_records(records: Iterable[WorkRecord]) -> WorkRecord:
    """Several records of one work as one: of each part what the first says that says anything, all notices and copies.

    At least one; the first is the most trusted.
    """
    first, *others = records
    for other in others:
        known = {(notice.kind, notice.url or notice.date) for notice in first.notices}
        ids = {one.name for one in (first.ids, *first.versions)}
        first = WorkRecord(
            ids=first.ids.joined(other.ids),
            title=first.title or other.title,
            authors=first.authors or other.authors,
            year=first.year or other.year,
            venue=first.venue or other.venue,
            kind=first.kind or other.kind,
            abstract=first.abstract or other.abstract,
            versions=(*first.versions, *(one for one in other.versions if one.name not in ids)),
            copies=tuple(dict.fromkeys((*first.copies, *other.copies))),
            is_open=_either(first.is_open, other.is_open),
            notices=(*first.notices, *(one for one in other.notices if (one.kind, one.url or one.date) not in known)),
            cited_by=_most(first.cited_by, other.cited_by),
            said_by=tuple(dict.fromkeys((*first.said_by, *other.said_by))),
            years=tuple(dict.fromkeys(filter(None, (*first.years, first.year, *other.years, other.year)))),
        )
    return first


def _either(one: bool | None, other: bool | None) -> bool | None:
    return other if one is None else one if other is None else one or other


def _most(one: int | None, other: int | None) -> int | None:
    known = [count for count in (one, other) if count is not None]
    return max(known, default=None)


def is_of_arxiv(paper_id: str) -> bool:
    """Whether arXiv can have given such an id: 0603.10002 it never did."""
    new = _NEW_ID.fullmatch(paper_id)
    if new is None:
        return _OLD_ID.fullmatch(paper_id) is not None
    first, last = _BEGAN[len(new[2])]
    return first <= new[1] <= last


def is_template_doi(doi: str) -> bool:
    """Whether it names no work: what a template prints until somebody fills it in."""
    return _TEMPLATE_DOI.fullmatch(doi.strip().casefold()) is not None


def without_version(paper_id: str) -> str:
    return _VERSION.sub("", paper_id)


def version_of(paper_id: str) -> int:
    """2 of `2401.00001v2`; 0 where an id has none."""
    found = _VERSION.search(paper_id)
    return int(found[1]) if found else 0


def _names(authors: Iterable[str]) -> set[str]:
    """Long enough to be no initials."""
    return {name for name in _WORD.findall(" ".join(authors).casefold()) if len(name) > 2}


def _plainly_differ(one: str, other: str) -> bool:
    """Not for a title that nobody knows."""
    left, right = ({word for word in _WORD.findall(title.casefold()) if len(word) > 2} for title in (one, other))
    return bool(left and right) and len(left & right) < _MIN_SHARED_WORDS * min(len(left), len(right))


# The ids of published works in addresses, in what pages say of themselves, and at the head of a text


HEAD_CHARS = 3000  # of a text: title page, where a DOI is the work's own
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"'<>{}|\\^`\[\]]+")
# What publishers put behind a DOI in an address, and what a sentence puts behind one in a text.
_AFTER_DOI = re.compile(
    r"(?:/(?:full(?:\.pdf|/html)?|abstract|pdf|epdf|pdfdirect|html|fulltext(?:\.html)?|meta|references|summary)"
    r"|v\d+(?:\.full(?:-text|\.pdf)?|\.abstract|\.pdf)?|\.full(?:\.pdf)?|\.pdf|\.html?)$",
    re.IGNORECASE,
)
_ARXIV_IN_URL = re.compile(r"/(?:abs|pdf|html|format|src)/((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?)")
_ARXIV_IN_TEXT = re.compile(r"\barXiv:\s?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?)", re.IGNORECASE)
_PMID_IN_PATH = re.compile(r"^/(?:pubmed/)?(\d{1,9})/?$|/(?:MED|med)/(\d{1,9})\b")
_PMCID = re.compile(r"\bPMC\d{3,9}\b", re.IGNORECASE)
_NATURE = re.compile(r"/articles/(s\d{5}-\d{3}-\d{4,5}-[\dxyw]|nature\d{5}|[a-z]{2,8}\d{4})\b")
_DOI_QUERY = re.compile(r"(?:^|&)(?:id|doi)=([^&]+)")
_ARXIV_HOSTS = ("arxiv.org", "ar5iv.org", "ar5iv.labs.arxiv.org", "alphaxiv.org")
# In the order of trust: Highwire Press's tags, which Google Scholar asks for; Dublin Core; PRISM.
_DOI_TAGS = ("citation_doi", "prism.doi", "dc.identifier", "dc.identifier.doi", "bepress_citation_doi", "doi")


def ids_in_url(url: str) -> WorkIds:
    """Those that the address itself holds.

    >>> ids_in_url("https://www.biorxiv.org/content/10.1101/2020.01.01.123456v2.full.pdf").doi
    '10.1101/2020.01.01.123456'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return WorkIds()
    host, path = (parts.hostname or "").removeprefix("www."), unquote(parts.path)
    if host.endswith(_ARXIV_HOSTS):
        found = _ARXIV_IN_URL.search(path)
        return WorkIds.of(arxiv=found[1]) if found else WorkIds()
    if host.endswith(("ncbi.nlm.nih.gov", "europepmc.org")):
        pmcid, pmid = _PMCID.search(path), _PMID_IN_PATH.search(path)
        return WorkIds.of(pmcid=pmcid[0] if pmcid else "", pmid=(pmid[1] or pmid[2]) if pmid and not pmcid else "")
    if host.endswith("openalex.org"):
        found = re.search(r"\bW\d+\b", path, re.IGNORECASE)
        return WorkIds.of(openalex=found[0]) if found else WorkIds()
    if host.endswith("nature.com") and (article := _NATURE.search(path)):
        return WorkIds.of(doi=f"10.1038/{article[1]}")
    asked = _DOI_QUERY.search(unquote(parts.query))
    return WorkIds.of(doi=doi_in(path) or (doi_in(asked[1]) if asked else ""))


def ids_in_tags(tags: Mapping[str, str]) -> WorkIds:
    """From a page's `<meta>` tags, by name in lower case."""
    dois = (doi_in(tags.get(name, "")) for name in _DOI_TAGS)
    pmid = tags.get("citation_pmid", "").strip()
    pmcid = _PMCID.search(tags.get("citation_pmcid", ""))
    arxiv = tags.get("citation_arxiv_id", "").strip()
    return WorkIds.of(
        doi=next(filter(None, dois), ""),
        pmid=pmid if pmid.isascii() and pmid.isdigit() else "",
        pmcid=pmcid[0] if pmcid else "",
        arxiv=arxiv,
    )


def ids_in_text(text: str) -> WorkIds:
    """From the head of a document: its arXiv stamp, and its DOI where no other stands beside it."""
    head = text[:HEAD_CHARS]
    dois = dict.fromkeys(_tidy(found) for found in _DOI.findall(head))
    stamps = dict.fromkeys(without_version(found) for found in _ARXIV_IN_TEXT.findall(head) if is_of_arxiv(found))
    return WorkIds.of(doi=_only(dois), arxiv=_only(stamps))


def doi_in(text: str) -> str:
    """The first DOI of a text, in lower case and without what follows it in an address; "" where there is none."""
    found = _DOI.search(text)
    return _tidy(found[0]) if found else ""


def _tidy(doi: str) -> str:
    doi = doi.rstrip(".,;:)*").casefold()
    while (shorter := _AFTER_DOI.sub("", doi)) != doi and shorter.count("/") >= 1:
        doi = shorter
    return doi.rstrip("/")


def _only(found: Iterable[str]) -> str:
    first, *others = [*found] or [""]
    return "" if others else first
