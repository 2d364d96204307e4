"""A published work: what a preprint, its revisions and its journal article have in common, whoever found them.

Two records are one work when they share an id, or a long title and an author; versions of one work are one voice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

# arXiv's ids: new ones since 2007-04 (a month is 01 to 12), old ones with their archive.
ARXIV_ID = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")
_OLD_ID = re.compile(r"[a-z-]+(?:\.[A-Z]{2})?/\d{2}(?:0[1-9]|1[0-2])\d{3}(?:v\d+)?")
_NEW_ID = re.compile(r"(\d{2}(?:0[1-9]|1[0-2]))\.(\d{4,5})(?:v\d+)?")
_BEGAN = {4: ("0704", "1412"), 5: ("1501", "9912")}  # year and month of ids of so many digits (info.arxiv.org)
_VERSION = re.compile(r"v(\d+)$")
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
    """`arxiv` is without its version, `doi` in lower case; "" where there is none."""

    arxiv: str = ""
    doi: str = ""
    pmid: str = ""
    pmcid: str = ""

    @classmethod
    def of(cls, *, arxiv: str = "", doi: str = "", pmid: str = "", pmcid: str = "") -> WorkIds:
        """Written alike; what is no arXiv id counts for none."""
        arxiv = without_version(arxiv) if ARXIV_ID.fullmatch(arxiv) else ""
        doi = "" if is_template_doi(doi) else doi.strip().casefold()
        return cls(arxiv, doi, pmid.strip(), pmcid.strip().upper())

    def shares_one_with(self, other: WorkIds) -> bool:
        return any(value and value == getattr(other, name) for name, value in vars(self).items())

    def differs_in_kind(self, other: WorkIds) -> bool:
        """Whether both have an id of one kind, and another one."""
        return any(value and getattr(other, name) not in ("", value) for name, value in vars(self).items())


@dataclass(frozen=True)
class PublishedWork:
    """`versions` are what is known of it here, the newest first: ids of papers, or addresses. `year` is "" or four
    digits.
    """

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
