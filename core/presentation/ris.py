"""Cited works as RIS, the plain format of reference managers. Pure.

One tag a line, two characters, two blanks, a hyphen and a blank; nothing is escaped, so a value is one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from core.presentation.bibliography import Work

_LINE = "\r\n"  # the format's own, whatever the machine


def ris(works: Sequence[Work]) -> str:
    """One record a work, with an empty line between two."""
    records = ["".join(f"{tag}  - {value}{_LINE}" for tag, value in _record(work)) for work in works]
    return _LINE.join(records)


def _record(work: Work) -> Iterator[tuple[str, str]]:
    yield "TY", "JOUR" if work.is_article else "ELEC" if work.url else "GEN"
    yield "TI", work.title
    for name in work.authors:
        yield "AU", f"{name.family}, {name.given}" if name.given else name.family
    if work.has_more_authors:
        yield "N1", "There are more authors than are named here."
    if work.published_on:
        yield "PY", f"{work.published_on.year:04}"
        yield "DA", _day(work.published_on)
    tags = {"JO": work.journal, "PB": "" if work.journal else work.publisher, "DO": work.doi, "UR": work.url}
    yield from ((tag, value) for tag, value in tags.items() if value)
    yield "Y2", _day(work.read_on)
    if work.file:
        yield "N1", f"File {work.file}"
    identifier = f"arXiv:{work.arxiv_id}" if work.arxiv_id else f"PMID:{work.pubmed_id}" if work.pubmed_id else ""
    if identifier:
        yield "AN", identifier
    yield "ER", ""


def _day(day: date) -> str:
    return f"{day.year:04}/{day.month:02}/{day.day:02}"
