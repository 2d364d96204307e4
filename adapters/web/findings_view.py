"""Ideas, implementations and a report as a job's page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adapters.web.code import highlighted
from adapters.web.links import JobLinks
from adapters.web.prose import Cite, claim_tag, prose
from adapters.web.source_view import place_of
from core.answer import ResearchAnswer
from core.findings.code import CodeBlock, Remark
from core.findings.results import TITLES
from core.findings.source_priority import OTHER_LEVEL, level_name
from core.findings.viewing import FindingsView, FoundItem, OtherAnswer
from core.render import marked_text, one_line, printable
from core.source import Source

_SHOWN_LINES = 40  # of a block in the list, so that ten of them are still a page; a longer one has a page of its own
_SHOWN_CHARS = 4_000


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
