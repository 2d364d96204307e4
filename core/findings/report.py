"""A report against its sources: five sections, an abstract of three to five sentences, addresses of sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import regex

from core.evidence.grounding import Grounder
from core.evidence.structure import Judged
from core.findings.code import FENCE
from core.findings.judging import is_on_a_page, judge_prose
from core.findings.opening import Opened, addresses_in, with_plain_addresses
from core.presentation.wording import counted
from core.text.sentences import split_sentences

SECTIONS = ("Abstract", "Introduction", "Literature Review", "Methodology", "Implementations")
ABSTRACT_SENTENCES = range(3, 6)  # S004-13
NOTHING_CONFIRMED = "*Nothing of this section could be confirmed by a page that was read.*"
BY_THE_MODEL = "*Code by the model; it stands on no page that was read, and was not run.*"
_NUMBER = r"(?:(?:\d{1,2}(?:\.\d{1,2})*[.):]?|[IVX]{1,4}[.):])[ \t]+)?"
_HEADING = regex.compile(
    rf"^(?:(?P<marks>#{{1,6}})[ \t]+{_NUMBER}(?P<title>[^\n]+?)[ \t#]*"
    rf"|(?P<bold>\*\*|__){_NUMBER}(?P<title>[^\n*_]{{1,80}}?)(?P=bold)[ \t]*:?[ \t]*"
    rf"|{_NUMBER}(?P<title>\p{{L}}[^\n.!?#*_|]{{2,40}}?):?[ \t]*)$",
    regex.MULTILINE,
)
# What the five sections are called, in the languages that questions come in (core/text/language.py) and by habit.
_CALLED: dict[str, tuple[str, ...]] = {
    "Abstract": (
        "summary", "executive summary", "key findings", "zusammenfassung", "kurzfassung", "überblick", "résumé",
        "resumen", "riassunto", "sintesi", "resumo", "samenvatting", "摘要", "要旨", "概要", "аннотация", "резюме",
    ),
    "Introduction": (
        "background", "overview", "einleitung", "einführung", "hintergrund", "contexte", "introducción",
        "introduzione", "introdução", "inleiding", "引言", "简介", "はじめに", "序論", "введение",
    ),
    "Literature Review": (
        "literature", "related work", "prior work", "state of the art", "literaturübersicht", "stand der forschung",
        "verwandte arbeiten", "stand der technik", "revue de la littérature", "état de l'art",
        "revisión de la literatura", "revisión bibliográfica", "estado del arte", "revisione della letteratura",
        "stato dell'arte", "revisão da literatura", "literatuuronderzoek", "文献综述", "先行研究", "обзор литературы",
    ),
    "Methodology": (
        "methods", "methodologies", "approaches", "techniques", "methodik", "methoden", "ansätze", "méthodologie",
        "méthodes", "metodología", "métodos", "metodologia", "metodi", "methodologie", "方法", "手法", "методология",
    ),
    "Implementations": (
        "implementation", "practical implementation", "applications", "umsetzung", "umsetzungen", "implementierung",
        "implementierungen", "mise en œuvre", "implémentations", "implementación", "implementaciones",
        "implementazione", "implementazioni", "implementação", "implementações", "implementatie", "实现", "実装",
        "реализация",
    ),
}  # fmt: skip
_TITLES = {name: title for title, names in _CALLED.items() for name in (title.casefold(), *names)}
_LACKS = regex.compile(
    r"\b(?:no|not find an?y?|found no)\b[^.]{0,40}\b(?:source|citation|reference|evidence)s?\b", regex.IGNORECASE
)


@dataclass
class ReportPart:
    """A piece of a section: judged prose, or code as it stands (`code` with its fence)."""

    sentences: list[Judged] = field(default_factory=list)
    code: str = ""
    is_verbatim: bool = False


@dataclass
class ReportSection:
    """`title` is "" for what stands before the first heading."""

    title: str
    parts: list[ReportPart] = field(default_factory=list)


@dataclass
class JudgedReport:
    sections: list[ReportSection]
    notes: list[str]

    @property
    def sentences(self) -> list[Judged]:
        return [entry for section in self.sections for part in section.parts for entry in part.sentences]


def judge_report(text: str, opened: Opened, grounder: Grounder) -> JudgedReport:
    """Every sentence is judged; notes say which of S004's rules the report breaks."""
    sections: list[ReportSection] = []
    gaps: list[str] = []
    for at, (title, body) in enumerate(split_sections(text)):
        section = ReportSection(title)
        for piece, code in _pieces(body):
            if code:
                section.parts.append(ReportPart(code=piece, is_verbatim=is_on_a_page(code, opened.sources)))
            else:
                prefix = f"freeform{at}.{len(section.parts)}"
                judged = judge_prose(with_plain_addresses(piece), prefix, grounder, sources=opened.sources)
                section.parts.append(ReportPart([entry for entry in judged if not _is_lack(entry, gaps)]))
        sections.append(section)
    return JudgedReport(sections, [*_faults(text, opened), *(f"The report says: {gap}" for gap in gaps)])


def split_sections(text: str) -> list[tuple[str, str]]:
    """`(title, body)` by S004's headings, each once, with other headings left in the bodies; "" before the first.

    A heading counts by its meaning, in several languages, however it is written; and by its place among five, or
    between two that are known. A text without any is one body. Every other line stands in some body.
    """
    code = [found.span() for found in FENCE.finditer(text)]
    marks = [found for found in _HEADING.finditer(text) if not any(start <= found.start() < end for start, end in code)]
    titles = _titles_of(marks)
    known = [(found, title) for found, title in zip(marks, titles, strict=True) if title]
    starts = [found.start() for found, _ in known]
    bodies = {"": text[: starts[0] if starts else len(text)].strip()}
    for (found, title), end in zip(known, [*starts, len(text)][1:], strict=True):
        bodies[title] = "\n\n".join(filter(None, (bodies.get(title, ""), text[found.end() : end].strip())))
    return [(title, body) for title, body in bodies.items() if title or body]


def _titles_of(marks: Sequence[regex.Match[str]]) -> list[str]:
    """Of each heading the section that it begins, "" for none."""
    titles = [_section_title(found["title"]) for found in marks]
    levels = [len(found["marks"]) if found["marks"] else 9 for found in marks]
    bare = [not found["marks"] and not found["bold"] for found in marks]
    outer = [at for at, level in enumerate(levels) if not bare[at] and level == _outer_level(levels, bare)]
    if len(outer) == len(SECTIONS) and all(
        titles[at] in ("", title) for at, title in zip(outer, SECTIONS, strict=True)
    ):
        for at, title in zip(outer, SECTIONS, strict=True):
            titles[at] = title
    for before, at, after in zip(outer, outer[1:], outer[2:], strict=False):
        if not titles[at] and titles[before] and titles[after]:
            place = SECTIONS.index(titles[before]) + 1
            if SECTIONS[place + 1 : place + 2] == (titles[after],) and SECTIONS[place] not in titles:
                titles[at] = SECTIONS[place]
    return titles


def _outer_level(levels: Sequence[int], bare: Sequence[bool]) -> int:
    """The outermost level with more than one heading: a single one above it is the report's own title."""
    real = [level for level, is_bare in zip(levels, bare, strict=True) if not is_bare]
    return min((level for level in real if real.count(level) > 1), default=0)


def section_text(section: ReportSection) -> str:
    """What of a section may be shown."""
    pieces: list[str] = []
    for part in section.parts:
        if part.code:
            pieces.append(part.code if part.is_verbatim else f"{part.code}\n\n{BY_THE_MODEL}")
            continue
        prose = joined(part.sentences)
        pieces += [prose] if prose else []
    return "\n\n".join(pieces)


def joined(sentences: Sequence[Judged]) -> str:
    """The shown sentences with their gaps; a heading that nothing follows goes."""
    kept: list[Judged] = []
    for entry in reversed(sentences):
        if entry.shown is not None and (entry.claim is not None or (kept and not _is_heading(kept[-1]))):
            kept.append(entry)
    return "".join(f"{entry.gap}{entry.shown}" for entry in reversed(kept)).strip()


def _is_heading(entry: Judged) -> bool:
    return entry.claim is None and entry.text.lstrip().startswith("#")


def _is_lack(entry: Judged, gaps: list[str]) -> bool:
    """What the report could not find is no claim of the world; it becomes a note."""
    if entry.claim is None or entry.shown is not None or not _LACKS.search(entry.claim.text):
        return False
    gaps.append(entry.claim.text)
    return True


def _section_title(heading: str) -> str:
    """By its meaning: in full, or the part before a colon or a dash; "" for another."""
    plain = " ".join(heading.strip(" *_:").casefold().replace("’", "'").split())
    return _TITLES.get(plain) or _TITLES.get(regex.split(r"\s*(?::|\s[–—-]\s|[(（])", plain)[0], "")


def _pieces(body: str) -> list[tuple[str, str]]:
    """The body's prose and code in order: `(text, "")` or `(fenced block, its code)`."""
    pieces: list[tuple[str, str]] = []
    end = 0
    for found in FENCE.finditer(body):
        pieces += [(body[end : found.start()].strip(), ""), (found.group().strip(), found["code"])]
        end = found.end()
    pieces.append((body[end:].strip(), ""))
    return [(text, code) for text, code in pieces if text]


def _faults(text: str, opened: Opened) -> list[str]:
    if not text.strip():
        return []
    sections = dict(split_sections(text))
    faults: list[str] = []
    if missing := [title for title in SECTIONS if not sections.get(title)]:
        faults.append(
            f"The report lacks {'the section' if len(missing) == 1 else 'the sections'} {', '.join(missing)}."
        )
    count = sum(sentence.asserts for sentence in split_sentences(sections.get("Abstract", "")))
    if sections.get("Abstract") and count not in ABSTRACT_SENTENCES:
        faults.append(f"The abstract has {counted(count, 'sentence')} instead of three to five.")
    unresolved = [(url, why) for url in addresses_in(FENCE.sub("", text)) if (why := opened.why_not(url))]
    faults += [f"An address of the report is not verified, {why}: {url}" for url, why in unresolved[:5]]
    if len(unresolved) > 5:
        faults.append(f"{len(unresolved) - 5} more addresses of the report are not verified.")
    return faults
