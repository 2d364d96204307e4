"""A reference list with all kinds of trouble, checked against registries on this machine: what is told rightly.

300 references: 148 correct, 60 invented, 40 real works that no registry has, 20 real DOIs under other titles, 20 wrong
years, 12 retracted, as BibTeX, RIS, numbered and author-year lists in Markdown. Titles are made of a few parts, so that
many are near to each other.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from rapidfuzz import fuzz

from adapters.pages.extract import extract
from adapters.pages.extraction import PageDocument
from adapters.search import surroundings
from adapters.search.registries import build_registries
from core.model.config import SearchSettings
from core.works.checking import CheckedReference, RefStand, check_reference, with_doubles
from core.works.reading import Reference, read_references
from core.works.registry import Works
from tests.adapters.pages.pdf_files import column, pdf_of
from tests.fakes import make_deps
from tests.loopback.registries import Paper, Update
from tests.loopback.search_world import SearchWorld

WHOLE = {"correct": 148, "invented": 60, "unlisted": 40, "other title": 20, "wrong year": 20, "retracted": 12}
_EFFECTS = (
    "Effects Predictors Mechanisms Prevalence Costs Limits Genetics Ecology Chemistry Modelling Detection Control"
)
_SUBJECTS = (
    "cold exposure,heat stress,shift work,urban noise,tidal mixing,soil warming,gene drift,graph sampling,ocean foam,"
    "screen time,lead pipes,night shifts,river dams,yeast growth,bat migration,dust storms,glacier melt,"
    "drug resistance,language loss,market rumours,quantum noise,peat fires,insect decline,sleep debt,coral bleaching"
)
_OBJECTS = (
    "glucose tolerance,crop yield,memory recall,bird song,infant mortality,protein folding,traffic flow,credit risk,"
    "plankton blooms,wound healing,voter turnout,bone density,signal decoding,lake oxygen,school attendance,"
    "tumour growth,bee foraging,grid stability,reading speed,heart rhythm"
)
_PLACES = "older adults,mountain villages,alpine lakes,rural schools,coastal cities,laboratory mice,small islands"
_DESIGNS = ",a randomized trial,a cohort study,a review,evidence from ten countries,a field experiment,a simulation"
_FAMILIES = (
    "Moore Lund Ek Ito Okafor Silva Novák Müller Garcia Dubois Rossi Haddad Kim Nguyen Petrov O'Neill Sørensen Lopez"
    " Ahmed Chen Weiss Marin Kowalski Jansen Yilmaz Singh Torres Hughes Aaltonen Bauer Costa Dahl Evans Fischer Gallo"
    " Hart Ivanova Jones Keller Lang Meyer Nilsson Ortiz Park Quist Rao Santos Tanaka Ueda Vogel Wang Young Zhao"
).split()
_GIVEN = (
    "Ann Bea Carl Dana Erik Fay Gus Hana Ian Jo Kai Lea Max Nora Otto Pia Quinn Rosa Sam Tea Uma Vic Wes Xia".split()
)
_VENUES = {
    "Journal of the American Chemical Society": "J. Am. Chem. Soc.",
    "Proceedings of the National Academy of Sciences": "Proc. Natl. Acad. Sci.",
    "Annals of Applied Ecology": "Ann. Appl. Ecol.",
    "The International Journal of Public Health": "Int. J. Public Health",
    "Nature Communications": "Nat. Commun.",
    "Advances in Neural Information Processing Systems": "NeurIPS",
    "Physical Review Letters": "PRL",
}
_HOUSES = "Harbour Press,Lund University Press,Ministry of Fisheries,World Seas Report Series,North Publishing".split(
    ","
)


@dataclass(frozen=True)
class ListedWork:
    """A reference as it will be written. `kind` is what it is, `paper` what is written of it."""

    kind: str
    paper: Paper
    doi: str = ""
    year: int = 0
    is_book: bool = False


class Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._titles: set[str] = set()
        self._number = 0

    def paper(self) -> Paper:
        pick, self._number = self.rng.choice, self._number + 1
        while True:
            design = pick(_DESIGNS.split(","))
            title = f"{pick(_EFFECTS.split())} of {pick(_SUBJECTS.split(','))} on {pick(_OBJECTS.split(','))}"
            title += f" in {pick(_PLACES.split(','))}" + (f": {design}" if design else "")
            if title not in self._titles:
                break
        self._titles.add(title)
        names = tuple(f"{pick(_GIVEN)} {family}" for family in self.rng.sample(_FAMILIES, self.rng.randint(1, 5)))
        day = datetime(self.rng.randint(1985, 2024), self.rng.randint(1, 12), self.rng.randint(1, 28), tzinfo=UTC)
        return Paper(
            f"https://journal.test/{self._number}", title, f"We report {title.lower()}.", day,
            doi=f"10.{1000 + self._number % 7}/w.{self._number}", pmid=str(30_000_000 + self._number), authors=names,
            venue=pick(list(_VENUES)),
        )  # fmt: skip


def reference_set(counts: dict[str, int], seed: int) -> tuple[list[Paper], list[ListedWork]]:
    """The papers that the registries have, with others nobody cites, and what the list names, shuffled."""
    maker = Maker(seed)
    rng = maker.rng
    papers = [maker.paper() for _ in range(300)]
    listed: list[ListedWork] = []
    for kind, count in counts.items():
        for place in range(count):
            known, other = papers[len(listed)], maker.paper()
            if kind == "retracted":
                update = Update(
                    "retraction", f"10.1/r{place}", told_by=frozenset({rng.choice(["crossref", "europepmc"])})
                )
                known = papers[len(listed)] = replace(known, updates=(update,))
            if kind == "invented":
                listed.append(ListedWork(kind, other, doi=other.doi if place % 2 else "", year=other.published_at.year))
            elif kind == "unlisted":
                listed.append(ListedWork(kind, other, year=other.published_at.year, is_book=True))
            elif kind == "other title":
                listed.append(ListedWork(kind, other, doi=known.doi, year=other.published_at.year))
            else:
                off = rng.choice([-9, -3, -2, -1, 1, 2, 3, 9]) if kind == "wrong year" else 0
                doi = known.doi if rng.random() < 0.6 else ""
                listed.append(ListedWork(kind, known, doi=doi, year=known.published_at.year + off))
    rng.shuffle(listed)
    return papers, listed


def written(listed: Sequence[ListedWork], seed: int) -> list[tuple[str, str]]:
    """Four files in one order: BibTeX, RIS, a numbered list, a list by names."""
    rng = random.Random(seed)
    cuts = [0, *(round(len(listed) * share) for share in (0.4, 0.55, 0.8, 1.0))]
    parts = [listed[start:end] for start, end in pairwise(cuts)]
    numbered = "\n".join(f"[{n}] {_ieee(one) if n % 2 else _vancouver(one)}" for n, one in enumerate(parts[2], 1))
    return [
        ("list.bib", "\n\n".join(_bibtex(one, place, rng) for place, one in enumerate(parts[0]))),
        ("list.ris", "\n".join(map(_ris, parts[1]))),
        ("numbered.md", f"# A text\n\nSomething is said.\n\n## References\n\n{numbered}\n"),
        ("names.md", "# Another\n\nMore is said.\n\n## Bibliography\n\n" + "\n\n".join(map(_apa, parts[3])) + "\n"),
    ]


def _families(paper: Paper) -> list[tuple[str, str]]:
    return [(name.split()[-1], name.split()[0]) for name in paper.names]


def _bibtex(one: ListedWork, place: int, rng: random.Random) -> str:
    names = [f"{family}, {given[0]}." for family, given in _families(one.paper)]
    names = [*names[:2], "others"] if len(names) > 3 else names
    title = one.paper.title.partition(":")[0] if rng.random() < 0.2 else f"{{{one.paper.title.title()}}}"
    if one.is_book:
        house = rng.choice(_HOUSES)
        return (
            f"@book{{b{place},\n title = {{{one.paper.title}}},\n author = {{{' and '.join(names)}}},\n"
            f" publisher = {{{house}}},\n year = {{{one.year}}}\n}}"
        )
    venue = rng.choice([one.paper.venue, _VENUES[one.paper.venue]])
    doi = f" doi = {{{one.doi}}},\n" if one.doi else ""
    return (
        f"@article{{k{place},\n title = {{{title}}},\n author = {{{' and '.join(names)}}},\n{doi}"
        f" journal = {{{venue}}},\n year = {one.year}\n}}"
    )


def _ris(one: ListedWork) -> str:
    kind = "BOOK" if one.is_book else "JOUR"
    venue = ["PB  - Harbour Press"] if one.is_book else [f"JO  - {one.paper.venue}"]
    names = [f"AU  - {family}, {given}" for family, given in _families(one.paper)]
    doi = [f"DO  - {one.doi}"] if one.doi else []
    return "\n".join([f"TY  - {kind}", f"TI  - {one.paper.title}", *names, *venue, f"PY  - {one.year}", *doi, "ER  - "])


def _ieee(one: ListedWork) -> str:
    names = ", ".join(f"{given[0]}. {family}" for family, given in _families(one.paper))
    doi = f", doi: {one.doi}" if one.doi else ""
    if one.is_book:
        return f"{names}, “{one.paper.title},” 2nd ed. Harbour Press, {one.year}."
    return f"{names}, “{one.paper.title},” *{one.paper.venue}*, vol. 12, no. 3, pp. 101–119, {one.year}{doi}."


def _vancouver(one: ListedWork) -> str:
    names = ", ".join(f"{family} {given[0]}" for family, given in _families(one.paper))
    doi = f" doi:{one.doi}" if one.doi else ""
    if one.is_book:
        return f"{names}. {one.paper.title}. Lund: Harbour Press; {one.year}."
    return f"{names}. {one.paper.title}. {_VENUES[one.paper.venue]} {one.year};12(3):101-19.{doi}"


def _apa(one: ListedWork) -> str:
    names = ", & ".join(f"{family}, {given[0]}." for family, given in _families(one.paper))
    doi = f" https://doi.org/{one.doi}" if one.doi else ""
    if one.is_book:
        return f"{names} ({one.year}). *{one.paper.title}* (2nd ed.). Harbour Press."
    return f"{names} ({one.year}). {one.paper.title}. *{one.paper.venue}*, 12(3), 101–119.{doi}"


# The same works in print: how much of a PDF's list is read rightly, before any registry is asked


STYLES: dict[str, Callable[[ListedWork], str]] = {"numbered": _ieee, "point": _vancouver, "names": _apa}
PER_COLUMN = 52  # lines of ten points
NARROW, WIDE = 46, 92  # characters


def printed(listed: Sequence[ListedWork], style: str, *, columns: int) -> bytes:
    """A PDF with a text that cites and the list behind it: entries go over pages, ids and words over lines."""
    width = NARROW if columns == 2 else WIDE
    lines = [
        *_set("Something is said, and more is said of what was found in spring and in autumn. " * 8, width),
        "",
        "References",
    ]
    for number, one in enumerate(listed, 1):
        mark = {"numbered": f"[{number}] ", "point": f"{number}. "}.get(style, "")
        entry = STYLES[style](_shortened(one)).replace("*", "")
        for mangled in (", e. al.", ", & al., e.", ", al. e"):
            entry = entry.replace(mangled, ", et al.")
        lines += _set(mark + entry, width)
    of_column = [lines[start : start + PER_COLUMN] for start in range(0, len(lines), PER_COLUMN)]
    pages = [of_column[start : start + columns] for start in range(0, len(of_column), columns)]
    return pdf_of(
        [[text for at, said in enumerate(page) for text in column(said, left=40 + 270 * at)] for page in pages]
    )


def _shortened(one: ListedWork) -> ListedWork:
    """As most styles print it: after three names come the others."""
    names = one.paper.names
    return replace(one, paper=replace(one.paper, authors=(*names[:3], "et al.") if len(names) > 3 else names))


def _set(text: str, width: int) -> list[str]:
    """In lines: a word is parted by a hyphen, an address where it has a sign, as typesetters do."""
    lines, line, words = list[str](), "", text.split()
    while words:
        word, room = words.pop(0), width - len(line) - 1
        if len(word) <= room:
            line = f"{line} {word}".strip()
            continue
        cuts = [at + 1 for at, sign in enumerate(word[:room]) if sign in "/.-_" and at] if "/" in word else []
        is_parted = word.isalpha() and len(word) > 8 and room > 5
        end = cuts[-1] if cuts else room - 1 if is_parted else 0
        lines.append(f"{line} {word[:end]}{'-' * (end > 0 and not cuts)}".strip())
        line, words = "", [word[end:], *words]
    return [*lines, line]


def read_rightly(listed: Sequence[ListedWork], style: str, *, columns: int) -> tuple[int, list[str]]:
    """How many entries have their title, year, DOI and first author, and what was read of the others."""
    found = extract(PageDocument("list.pdf", "pdf", "", printed(listed, style, columns=columns)))
    references = read_references([("list.pdf", found.text)])
    wrong = [one for one in listed if not any(_is_read(one, reference) for reference in references)]
    said = [reference.text for reference in references if not any(_is_read(one, reference) for one in listed)]
    return len(listed) - len(wrong), said


def _is_read(one: ListedWork, reference: Reference) -> bool:
    first = one.paper.names[0].split()[-1]
    has_name = any(first in name.replace("’", "'") for name in reference.authors)
    is_titled = fuzz.ratio(one.paper.title.casefold(), reference.title.casefold()) >= 95
    return is_titled and has_name and reference.year == str(one.year) and reference.ids.doi == one.doi


def print_printed() -> None:
    _, listed = reference_set(WHOLE, 4)
    for style in STYLES:
        for columns in (1, 2):
            right, wrong = read_rightly(listed, style, columns=columns)
            print(f"PDF, {style}, {columns} column{'s' * (columns - 1)}: {right} of {len(listed)} entries read rightly")
            for text in wrong[:3]:
                print(f"  wrong: {text[:300]}")


def is_right(kind: str, one: CheckedReference) -> bool:
    """Whether it is told what it is: a wrong title may be said to be that of another work, or to differ."""
    parts = {difference.part for difference in one.differences}
    match kind:
        case "correct":
            return one.stand is RefStand.MATCHES and not one.needs_a_look
        case "retracted":
            return one.is_retracted
        case "invented":
            return one.stand is RefStand.NOT_FOUND
        case "unlisted":
            return one.stand is RefStand.UNLISTED
        case "wrong year":
            return one.stand is RefStand.DIFFERS and parts == {"year"}
    return one.stand is RefStand.OTHER_WORK or "title" in parts


async def checked_set(counts: dict[str, int], seed: int) -> list[tuple[ListedWork, CheckedReference]]:
    """All of the list, looked up in registries on loopback addresses."""
    papers, listed = reference_set(counts, seed)
    references = read_references(written(listed, seed))
    assert len(references) == len(listed), (len(references), len(listed))
    deps = make_deps()
    async with SearchWorld(papers) as world, AsyncExitStack() as stack:
        env = world.env()
        registries = build_registries(env, surroundings(env, SearchSettings()))
        works = Works(registries, deps.reuse, deps.clock)
        for part in (*registries, works):
            stack.push_async_callback(part.aclose)
        slots = asyncio.Semaphore(8)

        async def check(reference):
            async with slots:
                return await check_reference(reference, works)

        found = await asyncio.gather(*map(check, references))
    return list(zip(listed, with_doubles(found), strict=True))


def print_references() -> None:
    """Each kind by the share that is told rightly, over three lists."""
    right, total = Counter[str](), Counter[str]()
    wrong: list[str] = []
    for seed in (1, 2, 3):
        for one, said in asyncio.run(checked_set(WHOLE, seed)):
            total[one.kind] += 1
            right[one.kind] += is_right(one.kind, said)
            if not is_right(one.kind, said):
                wrong.append(f"{one.kind}: {said.stand} {said.differences} {said.reference.text!r}")
    for kind in WHOLE:
        print(f"{kind:12} {right[kind]:4} of {total[kind]:4}  {100 * right[kind] / total[kind]:5.1f} %")
    for line in wrong[:20]:
        print(f"  wrong: {line[:400]}")
    print_printed()
    print()
