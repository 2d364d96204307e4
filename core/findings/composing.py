"""The answer that the three modes give: lists and report as text with markers, and S004's own objects beside it.

A report is checked against its sources here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import regex

from core.evidence.citations import Grammar, Marker, rewrite_markers
from core.evidence.grounding import OWN_LIST, Grounder
from core.evidence.structure import Judged, cells
from core.findings.judging import JudgedItem, is_on_a_page, judge_prose
from core.findings.opening import Opened, addresses_in, with_plain_addresses
from core.findings.results import (
    FENCE,
    TITLES,
    IdeaResult,
    ImplementationResult,
    ResearchFindings,
    ResearchMode,
    ResearchReport,
)
from core.findings.viewing import FoundItem
from core.model.answer import Section
from core.model.source import Source
from core.presentation.render import cut, one_line
from core.text.saying import say, say_again, say_many
from core.text.sentences import split_sentences

NOT_VERIFIED = "Not verified"
NOTHING_FOUND = "Nothing was found that a page carries."
MAX_UNVERIFIED_CHARS = 160  # of what an unverified item says
_LANGUAGE = regex.compile(r"[\w+#.-]{0,20}")


@dataclass
class Composed:
    """Everything that was judged, on its way to an answer. `modes` are those asked for, in their order."""

    modes: Sequence[ResearchMode]
    items: dict[ResearchMode, list[JudgedItem]] = field(default_factory=dict)
    report: JudgedReport | None = None

    @property
    def parts(self) -> list[tuple[JudgedItem | ReportPart, Section]]:
        """Whatever has sentences, in the order of the text, with where in the answer it stands."""
        parts: list[tuple[JudgedItem | ReportPart, Section]] = []
        for mode in self.modes:
            parts += [(item, "summary") for item in self.items.get(mode, [])]
            for section in self.report.sections if self.report and mode == "freeform" else []:
                parts += [(part, "summary" if section.title == "Abstract" else "detail") for part in section.parts]
        return parts

    @property
    def sentences(self) -> list[Judged]:
        return [entry for part, _ in self.parts for entry in part.sentences]

    def settle(self, settled: Mapping[str, Judged]) -> None:
        """Put the settled sentences in the places of the undecided ones."""
        for part, _ in self.parts:
            part.sentences = [settled.get(entry.id, entry) for entry in part.sentences]


def placed(composed: Composed) -> list[Judged]:
    """Every sentence under its final id, in the order of the text: what of it is summary, and what detail."""
    numbers: dict[Section, int] = {"summary": 0, "detail": 0}
    result: dict[str, Judged] = {}

    def place(entry: Judged, section: Section) -> Judged:
        name = f"{section}-{numbers[section]}"
        numbers[section] += 1
        claim = replace(entry.claim, id=name) if entry.claim else None
        result[entry.id] = replace(entry, id=name, section=section, claim=claim)
        return result[entry.id]

    for part, section in composed.parts:
        part.sentences = [place(entry, section) for entry in part.sentences]
    return list(result.values())


def texts_of(composed: Composed) -> tuple[str, str]:
    """Summary and detail: lists and abstract, then code and the rest of the report."""
    summary: list[str] = []
    detail: list[str] = []
    for mode in composed.modes:
        brief, rest = _report_texts(composed.report) if mode == "freeform" else _list_texts(mode, composed.items[mode])
        if not brief and not rest:
            brief = say(NOTHING_FOUND) if len(composed.modes) > 1 else ""
        heading = [f"{say(TITLES[mode])}:"] if len(composed.modes) > 1 else []
        summary += [*heading, brief] if brief else []
        detail += [rest] if rest else []
    unverified = [item for items in composed.items.values() for item in items if item.why_unverified]
    if unverified:
        lines = [unverified_line(item.url, item.why_unverified) for item in unverified]
        detail.append("\n".join([f"{say(NOT_VERIFIED)}:", "", *lines]))
    return "\n\n".join(summary), "\n\n".join(detail)


def findings_of(composed: Composed, sources: Sequence[Source], *, query: str, top_k: int) -> ResearchFindings:
    """S004's object: only what is verified, with addresses in parentheses instead of markers."""
    urls = {source.number: source.url for source in sources}
    ideas = [item for item in composed.items.get("idea", []) if not item.why_unverified]
    found = [item for item in composed.items.get("implementation", []) if not item.why_unverified]
    parts = [f"## {title}\n\n{text}" if title else text for title, text in sections_of(composed)]
    report = with_addresses("\n\n".join(parts), urls)
    return ResearchFindings(
        query=query,
        modes=[*composed.modes],
        top_k=top_k,
        ideas=[IdeaResult(item.url, _said(item, is_plain=True)) for item in ideas],
        implementations=[
            ImplementationResult(item.url, "\n\n".join(filter(None, [_said(item, is_plain=True), *_code(item)])))
            for item in found
        ],
        report=ResearchReport(report) if report else None,
    )


def view_of(composed: Composed) -> list[FoundItem]:
    """Every item with its marks, the verified ones first."""
    rows: list[FoundItem] = []
    for mode, items in composed.items.items():
        verified = [item for item in items if not item.why_unverified]
        rows += [_found(mode, number, item) for number, item in enumerate(verified, start=1)]
        rows += [_found(mode, 0, item) for item in items if item.why_unverified]
    return rows


def sections_of(composed: Composed) -> list[tuple[str, str]]:
    """The report's sections with their markers, in S004's order; none where nothing of it stands."""
    texts = {section.title: section_text(section) for section in composed.report.sections} if composed.report else {}
    if not any(texts.values()):
        return []
    before = [("", texts[""])] if texts.get("") else []
    return [*before, *((title, texts[title] or say(NOTHING_CONFIRMED)) for title in SECTIONS if title in texts)]


def with_addresses(text: str, urls: Mapping[int, str]) -> str:
    """`text` with `(https://…)` for each marker (S004-13); markers in code stay."""

    def written(group: Sequence[Marker]) -> str | None:
        return " ".join(f"({url})" for marker in group if (url := urls.get(marker.number or 0))) or None

    return rewrite_markers(text, Grammar.NUMBER, written).replace(")(http", ") (http")


def _list_texts(mode: ResearchMode, items: Sequence[JudgedItem]) -> tuple[str, str]:
    verified = [item for item in items if not item.why_unverified and item.source]
    lines = [f"{number}. {_line(item)}" for number, item in enumerate(verified, start=1)]
    blocks = [_block(number, item) for number, item in enumerate(verified, start=1) if item.code]
    return "\n".join(lines), "\n\n".join(blocks) if mode == "implementation" else ""


def _line(item: JudgedItem) -> str:
    """`What it says [1] (python.org, official documentation; parses; …)`."""
    source = item.source
    said = _said(item)
    if source is None:
        return said
    said = said or say("Code of {title}", title=f"{cut(one_line(source.title), 80)} [{source.number}]")
    about = "; ".join(
        [
            ", ".join(filter(None, [source.metadata.domain, say_again(item.standing)])),
            *(say_again(remark.text) for remark in item.remarks),
        ]
    )
    return f"{said} ({about})"


def _block(number: int, item: JudgedItem) -> str:
    where = f" · {item.source.metadata.domain} [{item.source.number}]" if item.source else ""
    return "\n\n".join([say("Code {number}", number=number) + where, *_code(item)])


def _code(item: JudgedItem) -> list[str]:
    """The code as a block, and the line on what it needs; of each only what there is."""
    block = [in_fence(item.code.text, item.code.language)] if item.code and item.code.text else []
    return [*block, say("Dependencies: {names}", names=item.dependencies)] if item.dependencies else block


def in_fence(code: str, language: str) -> str:
    """A fenced block whose fence is longer than any in the code."""
    longest = max((len(run) for run in regex.findall(r"`{3,}", code)), default=2)
    fence = "`" * max(3, longest + 1)
    found = _LANGUAGE.match(language)
    return f"{fence}{found.group() if found else ''}\n{code}\n{fence}"


def _report_texts(report: JudgedReport | None) -> tuple[str, str]:
    if report is None:
        return "", ""
    texts = {section.title: section_text(section) for section in report.sections}
    rest = [
        f"## {say_again(title)}\n\n{text or say(NOTHING_CONFIRMED)}" if title else text
        for title, text in texts.items()
        if title != "Abstract" and (title or text)
    ]
    has_anything = any(texts.values())
    return (texts.get("Abstract", ""), "\n\n".join(rest)) if has_anything else ("", "")


def _said(item: JudgedItem, *, is_plain: bool = False) -> str:
    """What of an item stands, in one line: a heading is a lead there, a row its cells. Where `is_plain`, unmarked."""
    said: list[str] = []
    for entry in item.shown:
        text = one_line((entry.claim.text if is_plain and entry.claim else entry.shown) or "").lstrip("#> ")
        if text.startswith("|"):
            first, *rest = cells(text)
            text = f"{first}: {', '.join(filter(None, rest))}.".replace(", [", " [") if entry.claim else ""
        elif (entry.claim is None and text[-1:].isalnum()) or text.endswith("**"):
            text += ":"
        said.append(text)
    return " ".join(filter(None, said))


def _found(mode: ResearchMode, number: int, item: JudgedItem) -> FoundItem:
    return FoundItem(
        mode=mode,
        number=number,
        url=item.url,
        source_id=item.source.id if item.source else "",
        content=_said(item, is_plain=True) if number else cut(one_line(item.content), MAX_UNVERIFIED_CHARS),
        standing=item.standing,
        remarks=item.remarks if number else (),
        why_unverified=item.why_unverified,
        code=item.code.text if item.code else "",
        language=item.code.language if item.code else "",
        dependencies=item.dependencies,
        text=_said(item) if number else "",
    )


def unverified_line(url: str, why: str) -> str:
    """The address in code marks, so that it is no link: whoever invents one could choose it."""
    address = f"`{one_line(url).replace('`', '')[:200]}`" if url else f"({say('no address')})"
    return f"- {address}: {why}"


# A report against its sources: five sections, an abstract of three to five sentences, addresses of sources


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
    return JudgedReport(sections, [*_faults(text, opened), *(say("The report says: {gap}", gap=gap) for gap in gaps)])


def split_sections(text: str) -> list[tuple[str, str]]:
    """`(title, body)` by S004's headings, each once, with other headings left in the bodies; "" before the first.

    A heading counts by its meaning, in several languages, however it is written; and by its place among five, or
    between two that are known. A text without any is one body. Every other line stands in some body, but for a list
    of references.
    """
    marks = _headings(text)
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    for mark, end in reversed(list(zip(marks, ends, strict=True))):
        if OWN_LIST.fullmatch(mark["title"]):  # a list of references of its own: the answer has one
            text = text[: mark.start()] + text[end:]
    marks = _headings(text)
    titles = _titles_of(marks)
    known = [(found, title) for found, title in zip(marks, titles, strict=True) if title]
    starts = [found.start() for found, _ in known]
    bodies = {"": text[: starts[0] if starts else len(text)].strip()}
    for (found, title), end in zip(known, [*starts, len(text)][1:], strict=True):
        bodies[title] = "\n\n".join(filter(None, (bodies.get(title, ""), text[found.end() : end].strip())))
    return [(title, body) for title, body in bodies.items() if title or body]


def _headings(text: str) -> list[regex.Match[str]]:
    code = [found.span() for found in FENCE.finditer(text)]
    return [found for found in _HEADING.finditer(text) if not any(start <= found.start() < end for start, end in code)]


def _titles_of(marks: Sequence[regex.Match[str]]) -> list[str]:
    """Of each heading the section that it begins, "" for none."""
    titles = [_section_title(found["title"]) for found in marks]
    levels = [len(found["marks"]) if found["marks"] else 9 for found in marks]
    bare = [not found["marks"] and not found["bold"] for found in marks]
    real = [level for level, is_bare in zip(levels, bare, strict=True) if not is_bare]
    # The outermost level with more than one heading: a single one above it is the report's own title.
    outermost = min((level for level in real if real.count(level) > 1), default=0)
    outer = [at for at, level in enumerate(levels) if not bare[at] and level == outermost]
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


def section_text(section: ReportSection) -> str:
    """What of a section may be shown."""
    pieces: list[str] = []
    for part in section.parts:
        if part.code:
            pieces.append(part.code if part.is_verbatim else f"{part.code}\n\n{say(BY_THE_MODEL)}")
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
    said = entry.claim.text if entry.claim else entry.text.strip()
    if entry.shown is not None or not _LACKS.search(said):
        return False
    gaps.append(said)
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
        one, many = "The report lacks the section {titles}.", "The report lacks the sections {titles}."
        faults.append(say_many(one, many, len(missing), titles=", ".join(map(say_again, missing))))
    count = sum(sentence.asserts for sentence in split_sentences(sections.get("Abstract", "")))
    if sections.get("Abstract") and count not in ABSTRACT_SENTENCES:
        faults.append(
            say_many(
                "The abstract has {number} sentence instead of three to five.",
                "The abstract has {number} sentences instead of three to five.",
                count,
            )
        )
    unresolved = [(url, why) for url in addresses_in(FENCE.sub("", text)) if (why := opened.why_not(url))]
    said = "An address of the report is not verified, {why}: {url}"
    faults += [say(said, why=why, url=url) for url, why in unresolved[:5]]
    if len(unresolved) > 5:
        one = "{number} more address of the report is not verified."
        many = "{number} more addresses of the report are not verified."
        faults.append(say_many(one, many, len(unresolved) - 5))
    return faults
