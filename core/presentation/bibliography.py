"""A source as an entry of a bibliography: who wrote what, where and when, told apart as reference managers want it.

What the providers give as one line (`Moore A, Lee B et al. (The Lancet)`) is taken apart here; a name that cannot be
told from an organisation's is kept whole. Entries are written as BibTeX and RIS. An answer as a Markdown document to
keep ends in such entries, and is written here.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

import regex

from core.model.answer import Conflict, JobResult, ResearchAnswer
from core.model.job import ResearchJob
from core.model.source import Source, SourceKind
from core.presentation import wording
from core.presentation.card import answer_card
from core.presentation.render import is_used, one_line, printable
from core.text.numbers import MONTHS
from core.text.saying import is_year_alone, say, say_published

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
    `has_more_authors` is for `et al.`; of the year, month and day `date_parts` are known.
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
    date_parts: int = 3


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
    file = file_name(address) if is_file else ""
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
        date_parts=1 if metadata.published_at and is_year_alone(metadata.published_at) else 3,
    )


def names_in(line: str) -> tuple[tuple[Name, ...], bool]:
    """The names of a line of authors, and whether it says that there are more."""
    named = _ET_AL.sub("", line.strip())
    has_more = named != line.strip()
    names: list[Name] = []
    for part in _BETWEEN.split(named):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        are_whole = all(" " in piece for piece in pieces) or any(map(_ORGANISATION.search, pieces))
        if len(pieces) == 2 and not are_whole and all(map(_LETTER.search, pieces)):
            names.append(Name(pieces[0], pieces[1]))  # `Moore, Ann`
        else:
            names += [_name(piece) for piece in pieces]
    return tuple(names[:MAX_AUTHORS]), has_more or len(names) > MAX_AUTHORS


def file_name(address: str) -> str:
    return one_line(PurePosixPath(unquote(address.partition("#")[0])).name)


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
        if work.date_parts > 1:
            day = _day(work.published_on)
            yield "DA", day if work.date_parts > 2 else f"{day[: len('2024/05/')]}/"
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


# Cited works as BibTeX: whatever a title or a name holds, braces stay in pairs and LaTeX shows the characters. Works
# without a journal are `@misc` with `url` and `urldate`, as Zotero writes web pages: classic styles know no `@online`.
# Addresses are verbatim for LaTeX (hyperref, biblatex), so in them only what breaks an entry is encoded.


_BREAKING = regex.compile(r"[{}\\\s\"<>^`|]|[^\x00-\x7f]")  # no address has them as they are (RFC 3986)
_STOP_WORDS = frozenset("a an and for from how in is of on or the to what when where which who why with".split())


def bibtex(works: Sequence[CitedWork], keys: Sequence[str] | None = None) -> str:
    """One entry a work, under its key; without `keys` under some that are unique, ASCII, and the same each time."""
    keys = _keys(works) if keys is None else keys
    return "\n".join(_entry(work, key) for work, key in zip(works, keys, strict=True))


def _entry(work: CitedWork, key: str) -> str:
    fields = {
        "author": _authors(work),
        "title": f"{{{latex_text(work.title)}}}",  # in braces of its own a style leaves its capitals alone
        "journal": latex_text(work.journal),
        "year": f"{work.published_on.year:04}" if work.published_on else "",
        "publisher": "" if work.journal else latex_text(work.publisher),
        "doi": _verbatim(work.doi),
        "eprint": _verbatim(work.arxiv_id),
        "archiveprefix": "arXiv" if work.arxiv_id else "",
        "pmid": work.pubmed_id,
        "url": _verbatim(work.url),
        "urldate": work.read_on.isoformat() if work.url else "",
        "note": f"File {latex_text(work.file)}" if work.file else "",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if work.published_on and work.date_parts > 1:
        lines.append(f"  month = {MONTHS[work.published_on.month - 1][:3]},")  # a macro that every style knows
    return "\n".join([f"@{'article' if work.is_article else 'misc'}{{{key},", *lines, "}", ""])


def _authors(work: CitedWork) -> str:
    """`Moore, Ann and …`; in braces what is one name, so that no style takes it apart."""
    names = [
        f"{_part(name.family)}, {_part(name.given)}" if name.given else f"{{{latex_text(name.family)}}}"
        for name in work.authors
    ]
    return " and ".join([*names, "others"] if names and work.has_more_authors else names)


def _part(text: str) -> str:
    """Part of a name; in braces where BibTeX would find two names in it."""
    return f"{{{latex_text(text)}}}" if "," in text or " and " in f" {text.lower()} " else latex_text(text)


def _verbatim(address: str) -> str:
    return _BREAKING.sub(lambda found: quote(found.group(), safe=""), address)


def _keys(works: Sequence[CitedWork]) -> list[str]:
    """`moore2024lighthouse`; the second of the same is `moore2024lighthouse-2`."""
    taken: Counter[str] = Counter()
    keys: list[str] = []
    for key in map(key_of, works):
        taken[key] += 1
        keys.append(key if taken[key] == 1 else f"{key}-{taken[key]}")
    return keys


def key_of(work: CitedWork) -> str:
    """`smith2024quantum`: the first author, the year, the first word of the title that says something."""
    first = _signature(work.authors[0]) if work.authors else work.publisher.partition(".")[0]
    year = f"{work.published_on.year:04}" if work.published_on else ""
    words = [word for word in map(_ascii, regex.findall(r"\p{L}+", work.title)) if word]
    word = next((word for word in words if word not in _STOP_WORDS), "")
    return f"{_ascii(first)[:20] or 'source'}{year}{word[:20]}"


def _signature(name: Name) -> str:
    """`Beethoven` of van Beethoven, `World` of an organisation."""
    words = name.family.split() or [""]
    return words[-1] if name.given else words[0]


def _ascii(text: str) -> str:
    """Small ASCII letters and digits of it; accents are left off, other scripts are left out."""
    return "".join(char for char in unicodedata.normalize("NFKD", text.lower()) if char.isascii() and char.isalnum())


# Text as LaTeX shows it literally, with any engine. pdfLaTeX with `utf8` and `T1` has no font for Greek letters,
# mathematical signs and the like; those are written as commands. Other scripts stay as they are: they need XeLaTeX or
# LuaLaTeX anyway.


_ASCII = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",  # BibTeX counts `\{` as a brace that is opened
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
}
_LIGATURE = regex.compile(r"([-'])(?=\1)")  # two hyphens would become a dash, two apostrophes a quotation mark
_PUNCTUATION = frozenset("–—‘’“”‚„†‡•…‰‹›€™")  # that pdfLaTeX's utf8 knows, beside Latin-1 and Latin Extended-A
_UNKNOWN = frozenset("ĦħĸĿŀŉŦŧſ")  # of Latin Extended-A, found by compiling all of it (TeX Live 2022)
_MATHS = dict(
    zip(
        "−≤≥≪≫≠≈≃≅≡∼∝∞∂∇∑∏∫√∈∉⊂⊆∪∩∅∀∃→←↔⇒⇐⇔↑↓⋅∘⊕⊗⟨⟩ℓℏ′″∗∣∥⊥∠ℝℕℤℚℂħ",
        r"- \leq \geq \ll \gg \neq \approx \simeq \cong \equiv \sim \propto \infty \partial \nabla \sum \prod "
        r"\int \surd \in \notin \subset \subseteq \cup \cap \emptyset \forall \exists \to \leftarrow "
        r"\leftrightarrow \Rightarrow \Leftarrow \Leftrightarrow \uparrow \downarrow \cdot \circ \oplus "
        r"\otimes \langle \rangle \ell \hbar {}' {}'' * \mid \parallel \perp \angle \mathbf{R} \mathbf{N} "
        r"\mathbf{Z} \mathbf{Q} \mathbf{C} \hbar".split(),
        strict=True,
    )
)
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega".split()
)
_ROMAN_CAPITALS = frozenset("alpha beta epsilon zeta eta iota kappa mu nu omicron rho tau chi".split())
_GREEK_NAME = regex.compile(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)")
_LATIN = {"EPSILON": "E", "OMICRON": "O", "CHI": "X", "ETA": "H", "NU": "N", "RHO": "P"}


def latex_text(text: str) -> str:
    """`text` as LaTeX shows it literally."""
    return _LIGATURE.sub(r"\1{}", "".join(map(_written, text)))


@lru_cache(maxsize=4096)
def _written(char: str) -> str:
    if char in _ASCII:
        return _ASCII[char]
    if (char < "\u0180" and char not in _UNKNOWN) or char in _PUNCTUATION:
        return char
    if char in _MATHS:
        return rf"\ensuremath{{{_MATHS[char]}}}"
    return _greek(char) or _decomposed(char) or char


def _greek(char: str) -> str:
    found = _GREEK_NAME.fullmatch(unicodedata.name(char, ""))
    if found is None:
        return ""
    name = "lambda" if found[2] == "LAMDA" else found[2].lower()
    if found[1] == "CAPITAL" and name in _ROMAN_CAPITALS:
        return _LATIN.get(found[2], found[2][0])
    if name == "omicron":
        return "o"
    if name not in _GREEK:
        return ""
    return rf"\ensuremath{{\{name.capitalize() if found[1] == 'CAPITAL' else name}}}"


def _decomposed(char: str) -> str:
    """`³` and `ﬁ` as what they are made of; a letter without the marks that no font sets; "" where that is no help."""
    kind = unicodedata.decomposition(char).partition(">")[0]
    parts = unicodedata.normalize("NFKD", char)
    if parts == char:
        return ""
    written = "".join(_written(part) for part in parts if not unicodedata.combining(part))
    if not written.isascii():
        return ""
    return {"<super": rf"\textsuperscript{{{written}}}", "<sub": rf"\textsubscript{{{written}}}"}.get(kind, written)


# An answer as a Markdown document to keep, without verdict marks, so that every citation grammar still parses it


def answer_markdown(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    card = answer_card(job, result, sources)
    title, answer = f"# {one_line(job.query)}", card.answer
    if answer is None:
        return f"{title}\n\n{card.part('failure').text}\n"
    quoted = (job.request.quoted, *(card.part(name).line for name in ("understood", "earlier", "notice")))
    parts = [title, *(f"> {one_line(said)}" for said in quoted if one_line(said))]
    parts += [text for text in (answer.summary, answer.detail) if text.strip()]
    parts.append(f"**{say(wording.CONFIDENCE)}**: {wording.confidence_sentence(answer)}")
    parts += _list(say(wording.LIMITATIONS), [one_line(limitation) for limitation in card.limitations])
    numbers = {source.id: f"[{source.number}]" for source in sources}
    parts += [_conflict(conflict, numbers) for conflict in answer.conflicts]
    listed = {say(wording.SOURCES): card.cited, say("Read, not cited"): card.uncited}
    parts += [f"## {heading}\n\n" + "\n\n".join(map(_source, some)) for heading, some in listed.items() if some]
    parts += _list(say(wording.REMOVED_HEADING), wording.removed_lines(answer))
    parts.append(f"{job.id} · {card.footer}")
    return printable("\n\n".join(parts)) + "\n"


def _list(heading: str, entries: Sequence[str]) -> list[str]:
    return ["\n".join([f"## {heading}", "", *(f"- {entry}" for entry in entries)])] if entries else []


def _conflict(conflict: Conflict, numbers: Mapping[str, str]) -> str:
    sides = [
        (side.position, numbers.get(side.source_id, side.source_id), side.date, side.quote)
        for side in conflict.positions
    ]
    heading = say("Sources disagree on: {subject}", subject=one_line(conflict.subject))
    head = [_row(say("Position"), say("Source"), say("Date"), say("Quote")), "|---|---|---|---|"]
    return "\n".join([f"## {heading}", "", *head, *(_row(*side) for side in sides)])


_BAR = r"\|"  # in a cell of a Markdown table


def _row(*cells: str) -> str:
    return f"| {' | '.join(one_line(cell).replace('|', _BAR) for cell in cells)} |"


def _source(source: Source) -> str:
    """`[1] Title. domain, date. <url>`; the title's brackets are escaped so that it can form no link.

    In a numbered list a reader of Markdown would number them anew.

    Of a file of the operator's no more than its name, since its folders are nobody's business.
    """
    local = unmarked(file_name(source.url)) if source.url.startswith("file:") else ""
    name = unmarked(one_line(source.title)) or local or unmarked(source.url)
    published = source.metadata.published_at
    where = ", ".join(filter(None, (source.metadata.domain, say_published(published) if published else "")))
    address = one_line(source.url).replace(" ", "%20").replace(">", "%3E").replace("<", "%3C")
    place = f"File {local}" if local else f"<{address}>"
    said = name if name.endswith(("?", "!")) else f"{name}."
    return " ".join([f"[{source.number}]", said, *([f"{where}."] if where else []), place])


def unmarked(text: str) -> str:
    """Text that forms no link and no markup in Markdown."""
    return regex.sub(r"([\\\[\]<>*_`])", r"\\\1", text)
