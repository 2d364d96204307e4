"""Pages of papers: citations `[PAPER_ID, page N]` put right by their text; and pictures with what is cited marked."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.evidence.citations import Grammar, Marker, PageRef, parse_markers, rewrite_markers
from core.evidence.grounding import Grounder
from core.evidence.judge import Judgement
from core.evidence.structure import Judged
from core.library.paper import LibraryStore, Paper, shelves_of
from core.model.answer import Citation, Evidence, Section, Verdict
from core.model.job import ResearchJob, Scope
from core.model.source import Source
from core.presentation.render import cut
from core.text.passages import Passage

_BARE = re.compile(r"\[(?P<id>[^\s\[\],;]{3,100})(?:,[^\[\];]{1,100})?\]")
_HEADING = re.compile(r"^#{2,6}[ \t]+(?:[\d.]+[ \t]+)?(.+?)[ \t#]*$", re.MULTILINE)
_NO_BRACKET = re.compile(r"[\[\],;]+")
MAX_SECTION_CHARS = 60
UNREAD = 999  # stands for a paper that nobody read: no source has the number, and its marker goes


class PageGrounder(Grounder):
    """A `Grounder` for sources that are papers: `papers` gives each source id its paper.

    A page counts by its place in the file; the number printed on it is understood too. A sentence that stands on
    another page of the cited paper is moved there.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        question: str,
        passages: Mapping[str, Sequence[Passage]] | None = None,
        *,
        papers: Mapping[str, Paper],
    ) -> None:
        super().__init__(sources, question, passages)
        self._read = self._whole  # a page counts wherever in the paper it is
        self._papers = papers
        self._ids = {paper.id: source_id for source_id, paper in papers.items()}
        self._ids.update({paper.base_id: source_id for source_id, paper in papers.items()})
        self._named: dict[str, dict[str, set[int]]] = {}  # by sentence and source: the pages that the writer named

    def propose(
        self, section: Section, place: int, text: str, *, gap: str = "", asserts: bool = True, before: str = ""
    ) -> Judged:
        numbered, named = self._numbered(text)
        judged = super().propose(section, place, numbered, gap=gap, asserts=asserts, before=before)
        self._named[judged.id] = named
        return self._put_right(judged)

    def conclude(self, judged: Judged, judgements: Sequence[Judgement | None]) -> Judged:
        return self._put_right(super().conclude(judged, judgements))

    def _numbered(self, text: str) -> tuple[str, dict[str, set[int]]]:
        """Page markers as numbers of sources, and the pages they named; markers of papers that were not read go."""
        named: dict[str, set[int]] = {}
        spans: dict[tuple[int, int], list[str]] = {}
        for mark in parse_markers(text, Grammar.PAGE):
            if isinstance(mark.target, PageRef):
                numbers = spans.setdefault((mark.start, mark.end), [])
                source_id = self._ids.get(mark.target.paper_id)
                if source_id is None:
                    numbers.append(f"[{UNREAD}]")
                else:
                    named.setdefault(source_id, set()).update(self._pages(source_id, mark.target))
                    numbers.append(f"[{source_id.removeprefix('src_')}]")
        for mark_of in _BARE.finditer(text):  # a paper without pages is cited by its id, or by id and section
            source_id = self._ids.get(mark_of["id"].strip())
            if source_id is not None and mark_of.span() not in spans:
                spans[mark_of.span()] = [f"[{source_id.removeprefix('src_')}]"]
        for (start, end), numbers in sorted(spans.items(), reverse=True):
            before = text[:start] if numbers else text[:start].rstrip(" ")
            text = before + "".join(dict.fromkeys(numbers)) + text[end:]
        return text, named

    def _pages(self, source_id: str, target: PageRef) -> set[int]:
        """Places in the file: those numbers themselves, and the pages on which such a number is printed."""
        wanted = set(range(target.page, max(target.last_page, target.page) + 1))
        labels = self._papers[source_id].labels
        return wanted | {at for at, label in enumerate(labels, start=1) if label.isdecimal() and int(label) in wanted}

    def _put_right(self, judged: Judged) -> Judged:
        """A supported claim whose passage stands on another page than the writer said has moved."""
        claim, named = judged.claim, self._named.get(judged.id, {})
        if claim is None or claim.verdict is not Verdict.SUPPORTED:
            return judged
        evidence = tuple(_on_its_page(entry, named.get(entry.source_id, set())) for entry in claim.evidence)
        has_stayed = any(entry.verdict is Verdict.SUPPORTED for entry in evidence)
        verdict = Verdict.SUPPORTED if has_stayed else Verdict.MOVED
        return replace(judged, claim=replace(claim, evidence=evidence, verdict=verdict))


def _on_its_page(evidence: Evidence, named: set[int]) -> Evidence:
    if evidence.page is None or not named or evidence.page in named or evidence.verdict is not Verdict.SUPPORTED:
        return evidence
    pages = ", ".join(str(page) for page in sorted(named))
    return replace(evidence, verdict=Verdict.MOVED, reasons=(f"stands on page {evidence.page}, not on {pages}",))


def page_markers(
    text: str,
    citations: Sequence[Citation],
    papers: Mapping[str, Paper],
    texts: Mapping[str, str],
) -> str:
    """`text` with `[PAPER_ID, page N]` for each `[n]` (S000-16); `citations` say on which page each sentence stands.

    A paper without pages is named with the section in which the sentence stands, if `texts` (by source id) has one. A
    number behind a sentence that no citation knows the place of becomes the paper's id alone.
    """

    def written(group: Sequence[Marker]) -> str | None:
        ids = [source_id for mark in group if (source_id := f"src_{mark.number}") in papers]
        before = text[: group[0].start]
        return "".join(_page_marker(one, papers[one], before, citations, texts.get(one, "")) for one in ids) or None

    return rewrite_markers(text, Grammar.NUMBER, written)


def _page_marker(source_id: str, paper: Paper, before: str, citations: Sequence[Citation], text: str) -> str:
    near = _nearest_to(before, [one for one in citations if one.source_id == source_id])
    if near is not None and near.page:
        return f"[{paper.id}, page {near.page}]"
    section = _section_at(text, near.start) if near is not None and near.start is not None and not paper.pages else ""
    return f"[{paper.id}, {section}]" if section else f"[{paper.id}]"


def _nearest_to(before: str, citations: Sequence[Citation]) -> Citation | None:
    """Of the claim that ends here: of those of the source, the one whose words stand last before it."""
    placed = [one for one in citations if one.page is not None] or list(citations)
    places = [(before.rfind(one.claim.rstrip(" .!?。")[-40:]), at) for at, one in enumerate(placed)]
    found = [(place, one) for place, one in places if place >= 0]
    return placed[max(found)[1]] if found else (placed[0] if placed else None)


def _section_at(text: str, start: int) -> str:
    """The heading under which a place of a Markdown text stands, "" for none but the title."""
    headings = [found[1] for found in _HEADING.finditer(text, 0, start)]
    return cut(" ".join(_NO_BRACKET.sub(" ", headings[-1]).split()), MAX_SECTION_CHARS) if headings else ""


# A page, from 1, of a PDF as PNG, with a quote marked where it stands. Raises `PaperUnreadable`.
PaintPage = Callable[[bytes, int, str], Awaitable[bytes]]


@dataclass(frozen=True)
class PaperViews:
    """What can be shown of the papers that a job or somebody in a scope has read."""

    library: LibraryStore
    paint: PaintPage

    async def papers_of(self, job: ResearchJob, sources: Sequence[Source]) -> dict[str, Paper]:
        """By id of the source, the paper that it was; without those that were none or have left the library since."""
        hashes = {source.content_hash: source.id for source in sources if source.metadata.provider == "library"}
        papers = await self.library.papers(shelves_of(job.scope)) if hashes else []
        return {hashes[paper.content_hash]: paper for paper in papers if paper.content_hash in hashes}

    async def file(self, shelves: Sequence[Scope], paper: Paper) -> bytes:
        """Its PDF; b"" where there is none."""
        return await self.library.file(shelves, paper.id)

    async def picture(self, shelves: Sequence[Scope], paper: Paper, page: int, quote: str) -> bytes:
        """PNG; b"" for a paper without pages. Raises `PaperUnreadable`, `StoreError`."""
        file = await self.file(shelves, paper) if 1 <= page <= paper.pages else b""
        return await self.paint(file, page, quote) if file else b""
