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
_HEADING = regex.compile(r"^#{1,3}[ \t]+(?:\d{1,2}[.)]?[ \t]+)?(?P<title>[^\n#]+?)[ \t#*]*$", regex.MULTILINE)
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
    """`(title, body)` by S004's headings, with other headings left in the bodies."""
    code = [found.span() for found in FENCE.finditer(text)]
    marks = [
        (found, title)
        for found in _HEADING.finditer(text)
        if (title := _section_title(found["title"])) and not any(start <= found.start() < end for start, end in code)
    ]
    starts = [found.start() for found, _ in marks]
    sections = [("", text[: starts[0] if starts else len(text)].strip())]
    for (found, title), end in zip(marks, [*starts, len(text)][1:], strict=True):
        sections.append((title, text[found.end() : end].strip()))
    return [(title, body) for title, body in sections if title or body]


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
    plain = heading.strip(" *_:").casefold()
    return next((title for title in SECTIONS if title.casefold() == plain), "")


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
