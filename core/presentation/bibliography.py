"""A source as an entry of a bibliography: who wrote what, where and when, told apart as reference managers want it.

What the providers give as one line (`Moore A, Lee B et al. (The Lancet)`) is taken apart here; a name that
cannot be told from an organisation's is kept whole. bibtex.py and ris.py write the entries down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

import regex

from core.model.answer import ResearchAnswer
from core.model.source import Source, SourceKind
from core.presentation.render import is_used, one_line

MAX_AUTHORS = 50  # a line of more is a list of something else
_ORGANISATION = regex.compile(
    r"(?i)\b(?:academy|agency|association|authors?|board|bureau|cent(?:er|re)|collaboration|college|commission|committee"
    r"|consortium|contributors|corporation|council|department|desk|editors?|foundation|government|group|inc|institutes?"
    r"|laboratory|library|ltd|ministry|museum|network|news|office|organi[sz]ation|press|project|service|society|staff"
    r"|team|trust|union|university|wikipedia)\b"
)
_LETTER = regex.compile(r"[\p{L}\p{N}]")
_INITIALS = regex.compile(r"\p{Lu}{1,3}|(?:\p{Lu}\.[\s-]?){1,3}")
_PARTICLE = regex.compile(r"[\p{Ll}'’]+")  # van, de la, bin: a family name begins with it
_ET_AL = regex.compile(r",?\s+et\.? al\.?$|,?\s+and others$", regex.IGNORECASE)
_JOURNAL = regex.compile(r"^(?P<authors>.*?)\s*\((?P<journal>[^()]+(?:\([^()]*\)[^()]*)*)\)$")
_BETWEEN = regex.compile(r"\s*;\s*|\s+(?:and|&)\s+", regex.IGNORECASE)
_ARXIV = regex.compile(
    r"^/(?:abs|pdf|html)/(?P<id>(?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)(?:\.pdf)?$"
)
_DOI = regex.compile(r"^/(?P<doi>10\.\d{4,9}/\S+)$")
_PUBMED = regex.compile(r"^/(?P<id>\d{1,9})/?$")


@dataclass(frozen=True)
class Name:
    """`given` is "" for an organisation, for who has one name, and where the two cannot be told apart."""

    family: str
    given: str = ""


@dataclass(frozen=True)
class CitedWork:
    """One entry. All text is on one line and printable; empty strings and None are what is not known.

    `url` is "" for a file of the operator's, whose place is nobody's business; `file` is its name.
    `has_more_authors` is for `et al.`; of a work that `is_year_only` month and day are not known.
    """

    number: int
    title: str
    authors: tuple[Name, ...]
    has_more_authors: bool
    journal: str
    publisher: str
    published_on: date | None
    read_on: date
    url: str
    file: str
    doi: str
    arxiv_id: str
    pubmed_id: str
    is_article: bool
    is_year_only: bool = False


def cited_works(sources: Sequence[Source], answer: ResearchAnswer | None) -> list[CitedWork]:
    """The works that the answer cites, in the order of their numbers; all that were read when it cites none."""
    cited = [source for source in sources if is_used(source, answer)]
    return [work_of(source) for source in sorted(cited or sources, key=lambda source: source.number)]


def work_of(source: Source) -> CitedWork:
    """What a provider has said of the source, taken apart; what it has not said stays empty."""
    metadata = source.metadata
    authors, journal = one_line(metadata.author or ""), ""
    if metadata.kind is SourceKind.PEER_REVIEWED and (found := _JOURNAL.match(authors)):
        authors, journal = found["authors"], found["journal"]
    names, has_more = names_in(authors)
    address = one_line(source.url)
    is_file = address.startswith("file:")
    file = _file_name(address) if is_file else ""
    return CitedWork(
        number=source.number,
        title=one_line(source.title) or file or "Untitled",
        authors=names,
        has_more_authors=has_more,
        journal=journal,
        publisher="" if is_file else one_line(metadata.domain),
        published_on=metadata.published_at.date() if metadata.published_at else None,
        read_on=source.read_at.date(),
        url="" if is_file else address,
        file=file,
        doi=_identifier(address, ("doi.org", "dx.doi.org"), _DOI, "doi"),
        arxiv_id=_identifier(address, ("arxiv.org",), _ARXIV, "id"),
        pubmed_id=_identifier(address, ("pubmed.ncbi.nlm.nih.gov",), _PUBMED, "id"),
        is_article=bool(journal),
    )


def names_in(line: str) -> tuple[tuple[Name, ...], bool]:
    """The names of a line of authors, and whether it says that there are more."""
    named = _ET_AL.sub("", line.strip())
    has_more = named != line.strip()
    names: list[Name] = []
    for part in _BETWEEN.split(named):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        if len(pieces) == 2 and not _are_names(pieces) and all(map(_LETTER.search, pieces)):
            names.append(Name(pieces[0], pieces[1]))  # `Moore, Ann`
        else:
            names += [_name(piece) for piece in pieces]
    return tuple(names[:MAX_AUTHORS]), has_more or len(names) > MAX_AUTHORS


def _file_name(address: str) -> str:
    return one_line(PurePosixPath(unquote(address.partition("#")[0])).name)


def _are_names(pieces: Sequence[str]) -> bool:
    """Whether each piece is a whole name, not a family name and what stands before it."""
    return all(" " in piece for piece in pieces) or any(_ORGANISATION.search(piece) for piece in pieces)


def _name(text: str) -> Name:
    words = text.split()
    if len(words) < 2 or len(words) > 5 or _ORGANISATION.search(text) or not all(map(_LETTER.search, words)):
        return Name(text)
    if _INITIALS.fullmatch(words[-1]) and not _INITIALS.fullmatch(words[0]):
        return Name(" ".join(words[:-1]), words[-1])  # `Moore A`
    begin = next((at for at, word in enumerate(words[1:], 1) if _PARTICLE.fullmatch(word)), len(words) - 1)
    return Name(" ".join(words[begin:]), " ".join(words[:begin]))


def _identifier(address: str, hosts: Sequence[str], pattern: regex.Pattern[str], group: str) -> str:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ""
    found = pattern.match(unquote(parts.path)) if host in hosts else None
    return one_line(found[group]) if found else ""


# Cited works as RIS, the plain format of reference managers. Pure


_LINE = "\r\n"  # the format's own, whatever the machine


def ris(works: Sequence[CitedWork]) -> str:
    """One record a work, with an empty line between two."""
    records = ["".join(f"{tag}  - {value}{_LINE}" for tag, value in _record(work)) for work in works]
    return _LINE.join(records)


def _record(work: CitedWork) -> Iterator[tuple[str, str]]:
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
