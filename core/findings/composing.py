"""The answer that the three modes give: lists and report as text with markers, and S004's own objects beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import regex

from core.evidence.citations import Marker, rewrite_markers
from core.evidence.structure import Judged
from core.findings.judging import JudgedItem
from core.findings.report import NOTHING_CONFIRMED, SECTIONS, JudgedReport, section_text
from core.findings.results import (
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
from core.text.markers import Grammar

NOT_VERIFIED = "Not verified"
NOTHING_FOUND = "Nothing was found that a page carries."
MAX_UNVERIFIED_CHARS = 160  # of what an unverified item says
_LANGUAGE = regex.compile(r"[\w+#.-]{0,20}")


@dataclass
class Composed:
    """Everything that was judged, on its way to an answer."""

    items: dict[ResearchMode, list[JudgedItem]] = field(default_factory=dict)
    report: JudgedReport | None = None

    @property
    def sentences(self) -> list[Judged]:
        """All, of every mode."""
        listed = [entry for items in self.items.values() for item in items for entry in item.sentences]
        return [*listed, *(self.report.sentences if self.report else [])]

    def settle(self, settled: Mapping[str, Judged]) -> None:
        """Put the settled sentences in the places of the undecided ones."""
        for items in self.items.values():
            for item in items:
                item.sentences = [settled.get(entry.id, entry) for entry in item.sentences]
        for section in self.report.sections if self.report else []:
            for part in section.parts:
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

    for items in composed.items.values():
        for item in items:
            item.sentences = [place(entry, "summary") for entry in item.sentences]
    for section in composed.report.sections if composed.report else []:
        for part in section.parts:
            where: Section = "summary" if section.title == "Abstract" else "detail"
            part.sentences = [place(entry, where) for entry in part.sentences]
    return list(result.values())


def texts_of(composed: Composed, modes: Sequence[ResearchMode]) -> tuple[str, str]:
    """Summary and detail: lists and abstract, then code and the rest of the report."""
    summary: list[str] = []
    detail: list[str] = []
    for mode in modes:
        brief, rest = _report_texts(composed.report) if mode == "freeform" else _list_texts(mode, composed.items[mode])
        if not brief and not rest:
            brief = NOTHING_FOUND if len(modes) > 1 else ""
        heading = [f"{TITLES[mode]}:"] if len(modes) > 1 else []
        summary += [*heading, brief] if brief else []
        detail += [rest] if rest else []
    unverified = [item for items in composed.items.values() for item in items if item.why_unverified]
    if unverified:
        lines = [unverified_line(item.url, item.why_unverified) for item in unverified]
        detail.append("\n".join([f"{NOT_VERIFIED}:", "", *lines]))
    return "\n\n".join(summary), "\n\n".join(detail)


def findings_of(
    composed: Composed,
    modes: Sequence[ResearchMode],
    sources: Sequence[Source],
    *,
    query: str,
    top_k: int,
) -> ResearchFindings:
    """S004's object: only what is verified, with addresses in parentheses instead of markers."""
    urls = {source.number: source.url for source in sources}
    ideas = [item for item in composed.items.get("idea", []) if not item.why_unverified]
    found = [item for item in composed.items.get("implementation", []) if not item.why_unverified]
    parts = [f"## {title}\n\n{text}" if title else text for title, text in sections_of(composed)]
    report = with_addresses("\n\n".join(parts), urls)
    return ResearchFindings(
        query=query,
        modes=[*modes],
        top_k=top_k,
        ideas=[IdeaResult(item.url, _plain(item)) for item in ideas],
        implementations=[ImplementationResult(item.url, _implementation(item)) for item in found],
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
    return [*before, *((title, texts[title] or NOTHING_CONFIRMED) for title in SECTIONS if title in texts)]


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
    said = " ".join(one_line(entry.shown or "") for entry in item.shown)
    if source is None:
        return said
    said = said or f"Code of {cut(one_line(source.title), 80)} [{source.number}]"
    about = "; ".join(
        [", ".join(filter(None, [source.metadata.domain, item.standing])), *(remark.text for remark in item.remarks)]
    )
    return f"{said} ({about})"


def _block(number: int, item: JudgedItem) -> str:
    where = f" · {item.source.metadata.domain} [{item.source.number}]" if item.source else ""
    return "\n\n".join([f"Code {number}{where}", *_code(item)])


def _code(item: JudgedItem) -> list[str]:
    code = item.code
    return code_parts(code.text if code else "", code.language if code else "", item.dependencies)


def code_parts(code: str, language: str, dependencies: str) -> list[str]:
    """The code as a block, and the line on what it needs; of each only what there is."""
    block = [_fenced(code, language)] if code else []
    return [*block, f"Dependencies: {dependencies}"] if dependencies else block


def _fenced(code: str, language: str) -> str:
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
        f"## {title}\n\n{text or NOTHING_CONFIRMED}" if title else text
        for title, text in texts.items()
        if title != "Abstract" and (title or text)
    ]
    has_anything = any(texts.values())
    return (texts.get("Abstract", ""), "\n\n".join(rest)) if has_anything else ("", "")


def _plain(item: JudgedItem) -> str:
    """What of an item stands, without markers."""
    texts = [entry.claim.text if entry.claim else entry.shown or "" for entry in item.shown]
    return " ".join(one_line(text) for text in texts)


def _implementation(item: JudgedItem) -> str:
    return "\n\n".join(filter(None, [_plain(item), *_code(item)]))


def _found(mode: ResearchMode, number: int, item: JudgedItem) -> FoundItem:
    return FoundItem(
        mode=mode,
        number=number,
        url=item.url,
        source_id=item.source.id if item.source else "",
        content=_plain(item) if number else cut(one_line(item.content), MAX_UNVERIFIED_CHARS),
        standing=item.standing,
        remarks=item.remarks if number else (),
        why_unverified=item.why_unverified,
        code=item.code.text if item.code else "",
        language=item.code.language if item.code else "",
        dependencies=item.dependencies,
        text=" ".join(one_line(entry.shown or "") for entry in item.shown) if number else "",
    )


def unverified_line(url: str, why: str) -> str:
    """The address in code marks, so that it is no link: whoever invents one could choose it."""
    address = f"`{one_line(url).replace('`', '')[:200]}`" if url else "(no address)"
    return f"- {address}: {why}"
