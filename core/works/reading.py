"""The references of a file: BibTeX and RIS by their fields, lists at the end of a text by their ids, years and titles.

Of a reference in prose next to nothing is certain but its words, so that those are kept: what a registry says is
compared with them, and not with a guess at which of them are the title alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

import regex

from core.library.desk import BibtexEntry, bibtex_entries, bibtex_names, plain, ris_entries, ris_value
from core.model.errors import InvalidQuery
from core.model.works import ARXIV_ID, NO_IDS, WorkIds, doi_in, ids_in_url, is_of_arxiv
from core.text.saying import say
from core.text.sentences import split_sentences

MAX_REFERENCES = 1_000  # of one job; a thesis has three hundred
MAX_ENTRY_CHARS = 1_500  # of one reference in prose; what is longer is no reference
MAX_PARTED_CHARS = 2 * MAX_ENTRY_CHARS  # with the blanks and hyphens of a narrow column
MAX_USES = 5  # sentences that cite one reference
_MIN_ENTRIES = 2
MAX_MISSING = 3  # numbers of a list that could not be read
_HEADING = regex.compile(
    r"^[ \t]*(?:\#{1,6}[ \t]*)?(?:\*\*|__)?(?:\d{1,2}\.?[ \t]+|[IVX]+\.[ \t]+)?"
    r"(?:r ?eferences(?: and notes| cited)?|bibliography|works cited|literature(?: cited)?|sources(?: cited)?"
    r"|literatur(?:verzeichnis|angaben)?|quellen(?:verzeichnis)?|références|bibliographie|referencias|bibliografía"
    r"|riferimenti(?: bibliografici)?|bibliografia|referências|referenties|fuentes|fonti|fontes|bronnen)"
    r"[ \t]*:?(?:\*\*|__)?[ \t]*$",
    regex.IGNORECASE | regex.MULTILINE,
)
_NEXT_HEADING = regex.compile(
    r"^(?:\#{1,6}[ \t]+\S.*|(?:appendix|supplementary (?:material|information)|acknowledge?ments?)\b.{0,60})$",
    regex.IGNORECASE | regex.MULTILINE,
)
_MARK = regex.compile(
    r"^[ \t]*(?:\[\^?(?P<square>[\w+'’-]{1,20})\]:?|\((?P<round>\d{1,3})\)|(?P<point>\d{1,3})[.)]|(?P<bullet>[-*•]))"
    r"[ \t]+"
)
_BY_NAME = regex.compile(r"^\p{Lu}[\p{L}'’-]+(?:[ -]\p{Lu}[\p{L}'’-]+)?,?[ ](?:\p{Lu}\.|\p{Lu}{1,3}\b|\p{Lu}\p{Ll}+)")
# How an entry without a mark begins: family name and initials, or the other way round, or names and a year.
_INITIALS = r"(?:\p{Lu}\.?[ -]?){1,4}"
_FAMILY = r"(?:(?:v[ao]n|de[rn]?|d[aiu]|l[ae]|el|al|bin|ter)[ ])*\p{Lu}[\p{L}'’-]+(?:[ -]\p{Lu}[\p{L}'’-]+)?"
_BEGINS = regex.compile(
    rf"^(?:{_FAMILY},? {_INITIALS}(?:[,.;&(]|$|\band\b)|{_INITIALS} {_FAMILY}(?:,|\.|;| and\b| &)"
    rf"|{_FAMILY}, \p{{Lu}}[\p{{L}}'’-]+(?: \p{{Lu}}\.)?(?:[,.;]| and\b)"
    r"|\p{Lu}[\p{L} .,&’'-]{2,120}\(?(?:1[89]|20)\d{2}[a-z]?\)?[.,:])"
)
_WITHIN = {  # where paragraphs are not those of the list
    "square": regex.compile(r"(?<=\s)\[(\d{1,3})\]:?[ \t]+(?=\S)"),
    "round": regex.compile(r"(?<=\n|[.\d)\]”/]\s)\((\d{1,3})\)[ \t]+(?=\S)"),
    "point": regex.compile(r"(?<=\n|[.\d)\]”/]\s)(\d{1,3})[.)][ \t]+(?=\S)"),
}
_NAME_WITHIN = regex.compile(
    rf"(?<=[.\d/)]\s)(?:{_FAMILY}, {_INITIALS}(?:[,;&(]|\band\b)|{_FAMILY}, {_INITIALS}\(?(?=(?:1[89]|20)\d\d))"
)
_ROW = regex.compile(r"^[ \t]*\|(.*)\|[ \t]*$", regex.MULTILINE)  # what was taken for a table in a narrow column
_NO_TEXT = regex.compile(
    r"^[ \t]*(?:\|(?:[ \t]*:?-{3,}:?[ \t]*\|)+|`{3,}\w*)[ \t]*$\n?", regex.MULTILINE
)  # nor for code
# An id that the end of a line has parted; behind a full stop only a number goes on, and no year.
_PARTED_ADDRESS = regex.compile(r"\b(https?)\s*:\s*//\s*|\b((?:dx\.)?doi)\s*\.\s*org\s*/\s*(?=10\b)", regex.IGNORECASE)
_PARTED_PREFIX = regex.compile(r"(?<![\d.])10\s?\.\s?(\d{4,9})\s?/\s?(?=\S)")
_PARTED_SUFFIX = regex.compile(
    r"(\b10\.\d{4,9}/\S*?[/_(-])\s+(?!https?:|doi\b)(?=[\w(])"
    r"|(\b10\.\d{4,9}/\S*\.)\s+(?=\d)(?!(?:1[89]|20)\d\d\b)(?!\d+(?:st|nd|rd|th)\b)",
    regex.IGNORECASE,
)
_YEAR = regex.compile(r"(?<![\d.:/-])(?:1[89]|20)\d{2}(?=[a-z]?(?![\d]))")
_YEAR_IN_BRACKETS = regex.compile(r"\((?:[^()]{0,20}[ ,])?((?:1[89]|20)\d{2})[a-z]?(?:,[^()]{0,20})?\)")
_ID_SPANS = regex.compile(r"https?://\S+|(?:doi:?\s*)?10\.\d{4,9}/\S+|arxiv:?\s*\S+", regex.IGNORECASE)
_ARXIV = regex.compile(rf"arxiv(?:\.org/(?:abs|pdf)/|[:\s]\s*(?:preprint\s+arxiv:)?)\s*({ARXIV_ID.pattern})", regex.I)
_PMID = regex.compile(r"\bPMID:?\s*(\d{1,9})\b", regex.IGNORECASE)
_PMCID = regex.compile(r"\bPMC\d{3,9}\b")
_URL = regex.compile(r"https?://[^\s<>\]]+")
_QUOTED = regex.compile(r"[“\"„«]([^“”\"„«»]{12,400}?)[,.]?[”\"“»]")
_INITIAL = regex.compile(r"(?<!\p{L})\p{Lu}$")
_INITIALS_FIRST = regex.compile(
    r"^(?=\p{Lu}\.)(?:.*(?:[,;&]\s*|\band\s+))?(?:\p{Lu}\.[\s-]*)*\p{Lu}$"
)  # so that their name follows
# Behind an initial: another one, or a name, which ends with its comma, its "and" or its own initials.
_NAME_AHEAD = regex.compile(
    r"\s+(?:\p{Lu}\.|(?:(?:v[ao]n|de[rn]?|d[aiu]|l[ae]|el|al|bin|ter)\s+)*\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’-]+)?"
    r"\s*(?:[,;&(“\"]|and\s+\p{Lu}\.|et al))"
)
_EMPHASISED = regex.compile(r"(?<!\w)[*_]{1,2}([^*_]{8,300}?)[*_]{1,2}(?!\w)")
_LIKE_BOOK = regex.compile(
    r"\bISBN\b|\bpress\b|\bpublish(?:er|ing)\b|\bverlag\b|\b(?:2nd|3rd|[4-9]th) ed\b|\bedition\b|\bthesis\b|\breport\b"
    r"|\bdissertation\b|\bworking paper\b|\bwhite paper\b|\bministry\b|\bspringer\b|\bwiley\b|\bO'Reilly\b|\bmanual\b",
    regex.IGNORECASE,
)
_EDITION = regex.compile(r"\s*\((?:\d+(?:st|nd|rd|th)|rev(?:ised|\.)?)\s+ed(?:ition|n)?\.?\)?$", regex.IGNORECASE)
_BOOK_KINDS = frozenset(
    "book inbook incollection booklet manual techreport report thesis phdthesis mastersthesis misc online unpublished"
    " electronic www standard patent rprt thes chap ebook gen pamp unpb elec web stand pat".split()
)
_LIST_SUFFIXES = frozenset({".bib", ".bibtex", ".ris"})


@dataclass(frozen=True)
class Reference:
    """One entry of a list. `number` counts from 1; `label` is what the text cites it by, a number or a key.

    `text` is the entry as it is written; `is_prose` says that its parts were guessed from that. `looks_unlisted` is for
    what registries list few of: books, reports, theses and pages. `uses` are the sentences that cite it, without
    anything else that they say of others.
    """

    number: int
    text: str
    label: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    year: str = ""
    venue: str = ""
    ids: WorkIds = NO_IDS
    url: str = ""
    is_prose: bool = False
    looks_unlisted: bool = False
    uses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.title or self.text


def read_references(files: Sequence[tuple[str, str]]) -> tuple[Reference, ...]:
    """Of all files, each a name and its text; sentences of any of them are what a reference is cited for.

    Raises `InvalidQuery` where none has a list of references, or they are too many.
    """
    references: list[Reference] = []
    bodies: list[str] = []
    for name, text in files:
        found, body = _read_file(name, text)
        references += found
        bodies.append(body)
    if not references:
        names = ", ".join(name for name, _ in files)
        raise InvalidQuery(
            say(
                "I found no list of references in {names}. It needs a heading such as References, or be BibTeX or RIS.",
                names=names,
            ),
            rule="references",
        )
    if len(references) > MAX_REFERENCES:
        said = "These are {number} references; at most {most} are checked at once."
        raise InvalidQuery(say(said, number=len(references), most=MAX_REFERENCES), rule="references")
    numbered = [replace(one, number=number) for number, one in enumerate(references, start=1)]
    return tuple(_with_uses(numbered, "\n\n".join(filter(None, bodies))))


def _read_file(name: str, text: str) -> tuple[list[Reference], str]:
    """The references of one file, and its text without them."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".ris" or (suffix not in _LIST_SUFFIXES and regex.match(r"\s*TY  - ", text)):
        return [_of_tags(fields) for fields in ris_entries(text)], ""
    if suffix in _LIST_SUFFIXES or regex.match(r"\s*(?:%.*\n\s*)*@\w+\s*\{", text):
        return [_of_bibtex(entry) for entry in bibtex_entries(text)], ""
    is_printed = "\f" in text  # a PDF
    listed, body = _part_of_list(text.replace("\f", "\n"), is_printed=is_printed)
    return [_of_prose(label, entry) for label, entry in _entries(listed, is_printed=is_printed)], body


def _of_bibtex(entry: BibtexEntry) -> Reference:
    fields = {name: plain(value) for name, value in entry.fields.items()}
    url, eprint = fields.get("url", ""), fields.get("eprint", "")
    is_pubmed = "pubmed" in fields.get("eprinttype", fields.get("archiveprefix", "")).lower()
    ids = WorkIds.of(
        doi=doi_in(fields.get("doi", "")) or doi_in(url),
        arxiv=eprint if ARXIV_ID.fullmatch(eprint) else "",
        pmid=fields.get("pmid", "") or (eprint if is_pubmed else ""),
        pmcid=fields.get("pmcid", ""),
    )
    venue = next((fields[name] for name in ("journal", "journaltitle", "booktitle") if fields.get(name)), "")
    year = _YEAR.search(fields.get("year", "") or fields.get("date", ""))
    title = ": ".join(filter(None, (fields.get("title", ""), fields.get("subtitle", ""))))
    return Reference(
        0, entry.text, entry.key, title, bibtex_names(entry.fields.get("author", "")), year[0] if year else "", venue,
        ids.joined(ids_in_url(url)).joined(_ids_of(f"{venue} {fields.get('note', '')}")), url,
        looks_unlisted=(entry.kind in _BOOK_KINDS and not venue) or entry.kind == "book",
    )  # fmt: skip


def _of_tags(fields: Mapping[str, Sequence[str]]) -> Reference:
    first = partial(ris_value, fields)
    kind, venue, url = first("TY").lower(), first("JO", "T2", "JF", "JA", "BT"), first("UR")
    year = _YEAR.search(first("PY", "Y1", "DA"))
    ids = WorkIds.of(doi=doi_in(first("DO")) or doi_in(url)).joined(ids_in_url(url))
    text = "\n".join(f"{tag}  - {value}" for tag, values in fields.items() for value in values)
    return Reference(
        0, text, first("ID"), first("TI", "T1"), tuple(fields.get("AU", fields.get("A1", ()))),
        year[0] if year else "", venue, ids, url, looks_unlisted=kind in _BOOK_KINDS,
    )  # fmt: skip


def _of_prose(label: str, text: str) -> Reference:
    plain_text = regex.sub(r"(?<!\w)[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}(?!\w)", "", text)
    bare = " ".join(_ID_SPANS.sub(" ", plain_text).split())
    in_brackets, years = _YEAR_IN_BRACKETS.search(bare), years_in(bare)
    year = in_brackets[1] if in_brackets else years[-1] if years else ""
    authors, title, rest = _parts(bare, in_brackets)
    emphasised = _EMPHASISED.search(text)
    if emphasised and _LIKE_BOOK.search(bare) and not _QUOTED.search(bare):  # of a book the title is in italics
        title, authors = emphasised[1], _names(text[: emphasised.start()])
    url = _URL.search(plain_text)
    address = url[0].rstrip(".,;)") if url else ""
    ids = _ids_of(plain_text)
    title = _EDITION.sub("", title)
    return Reference(
        0, text, label, title, authors, year, _venue(rest), ids.joined(ids_in_url(address)) if address else ids,
        address, is_prose=True, looks_unlisted=bool(_LIKE_BOOK.search(bare)) or bool(address and ids.is_none),
    )  # fmt: skip


def years_in(text: str) -> list[str]:
    """Those of a reference, outside of its ids and addresses."""
    return _YEAR.findall(_ID_SPANS.sub(" ", text))


def words_in(text: str) -> str:
    """An entry without its ids and addresses."""
    return " ".join(_ID_SPANS.sub(" ", text).split())


def _ids_of(text: str) -> WorkIds:
    arxiv, pmid, pmcid = _ARXIV.search(text), _PMID.search(text), _PMCID.search(text)
    return WorkIds.of(
        doi=doi_in(text),
        arxiv=arxiv[1] if arxiv and is_of_arxiv(arxiv[1]) else "",
        pmid=pmid[1] if pmid else "",
        pmcid=pmcid[0] if pmcid else "",
    )


def _parts(text: str, year: regex.Match[str] | None) -> tuple[tuple[str, ...], str, str]:
    """Authors, title and what follows it, as far as the usual styles tell: quoted, behind the year, or by sentences."""
    quoted = _QUOTED.search(text)
    if quoted:
        return _names(text[: quoted.start()]), quoted[1].strip(" ,."), text[quoted.end() :]
    if year and year.start() < len(text) / 2:
        title, _, rest = _sentence(text[year.end() :].lstrip(" .,:"))
        return _names(text[: year.start()]), title, rest
    authors, _, rest = _sentence(text)
    title, _, rest = _sentence(rest)
    return _names(authors), title, rest


def _sentence(text: str) -> tuple[str, str, str]:
    """Up to a full stop that ends no initial or abbreviation, or another end of a sentence."""
    for end in regex.finditer(r"[.?!](?=\s+[\p{Lu}\p{N}“\"(])", text):
        is_initial = end[0] == "." and _INITIAL.search(text, 0, end.start()) is not None
        has_name_ahead = _NAME_AHEAD.match(text, end.end()) or _INITIALS_FIRST.search(text, 0, end.start())
        if end.start() > 3 and not (is_initial and has_name_ahead):
            return text[: end.start()].strip(), end[0], text[end.end() :].strip()
    return text.strip(" ."), "", ""


def _names(text: str) -> tuple[str, ...]:
    """Family names, as good as they can be told from initials."""
    words = regex.findall(r"\p{Lu}[\p{L}'’-]+", regex.sub(r"\bet\.? al\b|\band\b|&", " ", text))
    return tuple(word for word in words if not (word.isupper() and len(word) <= 3))[:50]


def _venue(text: str) -> str:
    """What stands before the first number behind the title."""
    found = regex.match(r"[\s,.]*(?:In:?\s+)?([^\d,;(]{3,150})", text)
    return found[1].strip(" .,") if found else ""


# The list at the end of a text, and its entries


def _part_of_list(text: str, *, is_printed: bool) -> tuple[str, str]:
    """The list and the text around it; a text without a heading is a list where it looks like one throughout."""
    headings = list(_HEADING.finditer(text))
    if headings:
        start = headings[-1]
        following = _NEXT_HEADING.search(text, start.end())
        end = following.start() if following else len(text)
        return text[start.end() : end], f"{text[: start.start()]}\n\n{text[end:]}"
    notes = list(regex.finditer(r"^\[\^[\w-]+\]:[ \t].*$", text, regex.MULTILINE))
    if notes:
        listed = "\n".join(match[0] for match in notes)
        return listed, regex.sub(r"^\[\^[\w-]+\]:[ \t].*$", "", text, flags=regex.MULTILINE)
    entries = _entries(text, is_printed=is_printed)
    telling = [entry for _, entry in entries if _YEAR.search(entry) or doi_in(entry)]
    return (text, "") if entries and len(telling) >= 0.7 * len(entries) else ("", text)


def _entries(text: str, *, is_printed: bool) -> list[tuple[str, str]]:
    """Label and text of each entry. In print a blank line tells nothing, and a page may end anywhere."""
    if is_printed:
        text = _ROW.sub(lambda row: " ".join(row[1].replace("|", " ").split()), _NO_TEXT.sub("", text))
    lines = [line.rstrip() for line in text.splitlines()]
    marked = [place for place, line in enumerate(lines) if _MARK.match(line)]
    if len(marked) >= _MIN_ENTRIES or (marked and marked[0] == next((n for n, x in enumerate(lines) if x), -1)):
        found = _cut_at(*(_in_sequence(lines, marked) if is_printed else (lines, marked)))
    elif not is_printed and regex.search(r"\S\n[ \t]*\n[ \t]*\S", text.strip()):
        found = regex.split(r"\n[ \t]*\n", "\n".join(lines))
    elif is_printed:
        lines = list(_parted(lines))
        found = _cut_at(lines, list(_beginnings(lines, _BEGINS)))
    else:
        found = _cut_at(lines, list(_beginnings(lines, _BY_NAME)))
    entries = []
    for entry in found:
        mark = _MARK.match(entry)
        label = next(filter(None, mark.group("square", "round", "point")), "") if mark else ""
        bare = entry[mark.end() :] if mark else entry
        if len(bare) > MAX_PARTED_CHARS:
            continue
        said = _mended(_joined(bare)) if is_printed else _joined(bare)
        if any(char.isalnum() for char in said) and len(said) <= MAX_ENTRY_CHARS:
            entries.append((label, said))
    return entries


def _in_sequence(lines: Sequence[str], marked: Sequence[int]) -> tuple[list[str], list[int]]:
    """Lines and where entries begin: cut before each number that is expected; one out of order is part of an entry."""
    marks = [mark for place in marked if (mark := _MARK.match(lines[place]))]
    kind = Counter(mark.lastgroup or "" for mark in marks).most_common(1)[0][0]
    first = next((mark[kind] for mark in marks if mark.lastgroup == kind), "")
    if kind not in _WITHIN or not first.isdecimal():
        return list(lines), list(marked)
    text, begins, expected = "\n" + "\n".join(lines), list[int](), int(first)
    for found in _WITHIN[kind].finditer(text):
        is_at_start = text[: found.start()].rpartition("\n")[2].strip() == ""
        if int(found[1]) == expected or (is_at_start and expected < int(found[1]) <= expected + MAX_MISSING):
            begins.append(found.start())
            expected = int(found[1]) + 1
    pieces = [text[start:end] for start, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    return pieces, list(range(len(pieces)))


def _cut_at(lines: Sequence[str], places: Sequence[int]) -> list[str]:
    ends = [*places[1:], len(lines)][: len(places)]
    return ["\n".join(lines[start:end]) for start, end in zip(places, ends, strict=True)]


def _beginnings(lines: Sequence[str], begins: regex.Pattern[str]) -> Iterator[int]:
    """Lines that begin with a name, where what stands before them is whole: it has its year, and its end."""
    before = ""
    for place, line in enumerate(lines):
        if not line.strip():
            continue
        if not before or (_is_whole(before) and begins.match(line.strip())):
            yield place
            before = ""
        before = f"{before}{line} "[-MAX_ENTRY_CHARS:]


def _parted(lines: Sequence[str]) -> Iterator[str]:
    """Lines cut before each name that stands as at an entry's beginning, behind a whole one."""
    before = ""
    for line in lines:
        at = 0
        for found in _NAME_WITHIN.finditer(line):
            if _is_whole(before + line[at : found.start()]):
                yield line[at : found.start()]
                at, before = found.start(), ""
        yield line[at:]
        before = f"{before}{line[at:]} "[-MAX_ENTRY_CHARS:]


def _is_whole(entry: str) -> bool:
    return bool(_YEAR.search(entry) or doi_in(entry)) and not entry.rstrip().endswith((",", ":", "&", "-"))


def _joined(entry: str) -> str:
    """On one line; a word that was parted at a line's end is whole again, an address as well."""
    entry = regex.sub(r"(?<=\p{Ll})-\n[ \t]*(?=\p{Ll})", "", entry.strip())
    entry = regex.sub(r"(?<=/)\n[ \t]*(?=\S)", "", entry)
    return " ".join(entry.split())


def _mended(entry: str) -> str:
    """With ids and addresses whole that lines or a justified column have parted."""
    entry = _PARTED_ADDRESS.sub(lambda found: f"{found[1]}://" if found[1] else f"{found[2]}.org/", entry)
    entry = _PARTED_PREFIX.sub(r"10.\1/", entry)
    while (mended := _PARTED_SUFFIX.sub(lambda found: found[1] or found[2], entry)) != entry:
        entry = mended
    return entry


# What the text around says with it

_CITE = r"\\[a-zA-Z]{0,20}cite[a-zA-Z]{0,20}\*?(?:\[[^\]]{0,200}\]){0,2}"  # LaTeX's and its packages'


def _with_uses(references: Sequence[Reference], body: str) -> Iterator[Reference]:
    if not body.strip():
        yield from references
        return
    sentences = [" ".join(one.plain.split()) for one in split_sentences(body) if one.asserts]
    by_label: dict[str, list[str]] = {}
    for sentence in sentences:
        for label in dict.fromkeys(_labels_in(sentence)):
            by_label.setdefault(label, []).append(sentence)
    for reference in references:
        uses = by_label.get(reference.label or str(reference.number), []) or by_label.get(f"@{reference.label}", [])
        if not uses and reference.year and reference.authors:
            uses = _naming(sentences, reference)
        yield replace(reference, uses=tuple(dict.fromkeys(uses))[:MAX_USES])


def _labels_in(sentence: str) -> Iterator[str]:
    """`3`, `4` and `5` of `[3–5]`, the names of footnotes, and the keys of `[@moore2024]` and `\\cite{moore2024}`."""
    for group in regex.findall(r"\[([\d,;\s–—-]{1,60})\]", sentence):
        for part in regex.split(r"[,;]", group):
            numbers = [int(number) for number in regex.findall(r"\d{1,4}", part)]
            if len(numbers) == 2 and 0 < numbers[1] - numbers[0] <= 30:
                yield from map(str, range(numbers[0], numbers[1] + 1))
            else:
                yield from map(str, numbers)
    yield from regex.findall(r"\[\^([\w-]+)\]", sentence)
    for group in regex.findall(r"\[(\p{Lu}[\p{L}+'’]*\d{2}[a-z]?(?:[,;] ?\p{Lu}[\p{L}+'’]*\d{2}[a-z]?)*)\]", sentence):
        yield from regex.split(r"[,;] ?", group)
    yield from regex.findall(r"@[\w:.-]*\w", sentence)
    for group in regex.findall(rf"{_CITE}\{{([^}}]{{0,1000}})\}}", sentence):
        yield from (f"@{key.strip()}" for key in group.split(","))


def _naming(sentences: Sequence[str], reference: Reference) -> list[str]:
    """By its first author's family name with its year behind it: (Moore, 2024), Moore et al. (2024)."""
    name, year = reference.authors[0], reference.year
    family = name.partition(",")[0] if "," in name else name.rpartition(" ")[2]
    named = regex.compile(rf"\b{regex.escape(family)}\b[^.;()\d]{{0,60}}(?:et al\.?)?,?\s*\(?{year}")
    return [one for one in sentences if family in one and year in one and named.search(one)]


def without_markers(sentence: str) -> str:
    """What a sentence claims, without the signs of whom it cites."""
    sentence = regex.sub(r"\s*\[(?:[\d,;\s–—-]{1,60}|\^[\w-]+|[^\]@]{0,200}@[^\]]{0,1000})\]", "", sentence)
    sentence = regex.sub(rf"\s*{_CITE}\{{[^}}]{{0,1000}}\}}", "", sentence)
    sentence = regex.sub(r"\s*\([^()]{0,200}\b(?:1[89]|20)\d{2}[a-z]?[^()]{0,200}\)(?=\s*[.;,])", "", sentence)
    return " ".join(sentence.split())
