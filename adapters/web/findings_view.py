"""Ideas, implementations, a report, and the evidence of a written section as a job's page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adapters.web.code import highlighted
from adapters.web.links import JobLinks
from adapters.web.prose import Cite, claim_tag, prose
from adapters.web.source_view import place_of
from core.answer import JobResult, ResearchAnswer
from core.events import Json
from core.findings.code import CodeBlock, Remark
from core.findings.results import TITLES
from core.findings.source_priority import OTHER_LEVEL, level_name
from core.findings.viewing import FindingsView, FoundItem, OtherAnswer
from core.presentation.render import cut, marked_text, one_line, printable
from core.source import Source

_SHOWN_LINES = 40  # of a block in the list, so that ten of them are still a page; a longer one has a page of its own
_SHOWN_CHARS = 4_000
QUERY_ROOM = 200  # characters; a default query is made of the whole context


@dataclass(frozen=True)
class CodeView:
    """`install` is what installs the dependencies, "" where they are none or not Python's.

    `whole` is the address of all its `lines` where `html` is only the first of them, else "".
    """

    language: str
    html: Markup
    dependencies: str
    install: str
    lines: int
    whole: str = ""


@dataclass(frozen=True)
class ItemView:
    """`standing` is "" for a place of which nothing is known. `address` leads to the source's text here."""

    number: int
    text: Markup
    place: str
    address: str
    standing: str
    remarks: tuple[Remark, ...]
    code: CodeView | None


@dataclass(frozen=True)
class ListView:
    """`kind` is the mode's name."""

    kind: str
    title: str
    items: tuple[ItemView, ...]


@dataclass(frozen=True)
class SectionView:
    id: str
    title: str
    text: Markup


@dataclass(frozen=True)
class FindingsPage:
    """`lists` in the order asked for; `unverified` are pairs of an address, shown as text, and why.

    `before` and `after` are what modes of other kinds answered.
    """

    before: tuple[SectionView, ...]
    lists: tuple[ListView, ...]
    report: tuple[SectionView, ...]
    report_title: str
    after: tuple[SectionView, ...]
    unverified: tuple[tuple[str, str], ...]
    searched: str


def findings_page(
    view: FindingsView, answer: ResearchAnswer, sources: Sequence[Source], cite: Cite, links: JobLinks
) -> FindingsPage:
    by_id = {source.id: source for source in sources}
    lists = [
        ListView(mode, TITLES[mode], tuple(_item(item, answer, by_id, cite, links) for item in view.found(mode)))
        for mode in view.findings.modes
        if mode != "freeform"
    ]
    report = [
        SectionView(title.casefold().replace(" ", "-") or "report", title, _prose(text, answer, cite))
        for title, text in view.sections
    ]
    unverified = [(one_line(item.url) or "no address", item.why_unverified) for item in view.unverified]
    before, after = (
        tuple(
            SectionView(f"part-{side}-{place}", one_line(other.title), _prose(_whole(other), answer, cite))
            for place, other in enumerate(others)
        )
        for side, others in (("before", view.before), ("after", view.after))
    )
    return FindingsPage(
        before, tuple(lists), tuple(report), TITLES["freeform"], after, tuple(unverified), view.searched
    )


def _whole(other: OtherAnswer) -> str:
    return "\n\n".join(filter(None, [other.summary, other.detail]))


def _item(item: FoundItem, answer: ResearchAnswer, sources: dict[str, Source], cite: Cite, links: JobLinks) -> ItemView:
    source = sources.get(item.source_id)
    place = place_of(source) if source else ""
    is_known = item.standing != level_name(OTHER_LEVEL, item.mode)
    return ItemView(
        item.number,
        _prose(item.text, answer, cite),
        place,
        links.source(source.number) if source else "",
        item.standing if is_known else "",
        tuple(remark for remark in item.remarks if remark.kind != "language"),
        _code(item, links.code(item.number)) if item.code else None,
    )


def code_view(view: FindingsView, number: str) -> CodeView | None:
    """All lines of an implementation's code, None where there is none."""
    found = (item for item in view.found("implementation") if item.code and str(item.number) == number)
    return next(map(_code, found), None)


def _code(item: FoundItem, whole: str = "") -> CodeView:
    """Cut where `whole` says where all of it is."""
    block = CodeBlock(item.language, printable(item.code))
    lines = block.text.splitlines(keepends=True)
    text = "".join(lines[:_SHOWN_LINES])[:_SHOWN_CHARS] if whole else block.text
    has_packages = item.dependencies not in ("", "none")
    install = f"pip install {item.dependencies.replace(',', '')}" if has_packages and item.language == "python" else ""
    return CodeView(
        block.language,
        highlighted(text, block.language),
        one_line(item.dependencies),
        install,
        len(lines),
        whole if text != block.text else "",
    )


def _prose(text: str, answer: ResearchAnswer, cite: Cite) -> Markup:
    return prose(marked_text(text, answer.claims, tag=claim_tag), cite)


@dataclass(frozen=True)
class EvidenceRow:
    """What one chunk says. `page` is "" where there is none; `cited_in` are sentences of the section."""

    key: str
    page: str
    summary: str
    scores: tuple[str, str, str]
    cited_in: tuple[str, ...]


@dataclass(frozen=True)
class EvidenceSearch:
    """One search for a section, and what it found, best first."""

    section: str
    query: str
    is_custom: bool
    rows: tuple[EvidenceRow, ...]


def evidence_searches(result: JobResult | None) -> tuple[EvidenceSearch, ...]:
    """In the order in which they were made; none for a job that wrote no section."""
    found = result.details.get("evidence") if result else None
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    searches: dict[tuple[str, str], list[Mapping[str, Json]]] = {}
    for row in rows:
        searches.setdefault((_text(row, "section"), _text(row, "query")), []).append(row)
    return tuple(_search(*named, of_search) for named, of_search in searches.items())


def _search(section: str, query: str, rows: Sequence[Mapping[str, Json]]) -> EvidenceSearch:
    return EvidenceSearch(section, cut(query, QUERY_ROOM), bool(rows[0].get("is_custom")), tuple(map(_row, rows)))


def _row(row: Mapping[str, Json]) -> EvidenceRow:
    cited = row.get("cited_in")
    return EvidenceRow(
        key=_text(row, "key") or _text(row, "paper_id"),
        page=_text(row, "page"),
        summary=_text(row, "summary"),
        scores=(_score(row, "vector_score"), _score(row, "llm_score"), _score(row, "combined_score")),
        cited_in=tuple(one_line(str(sentence)) for sentence in cited) if isinstance(cited, list) else (),
    )


def _text(row: Mapping[str, Json], name: str) -> str:
    value = row.get(name)
    return "" if value is None else one_line(str(value))


def _score(row: Mapping[str, Json], name: str) -> str:
    value = row.get(name)
    return f"{value:.2f}" if isinstance(value, int | float) else ""
