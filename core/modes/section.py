"""One section of a paper, or all of them, written from the library with checked citations (core/section)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256

from core.evidence.confidence import score_confidence
from core.evidence.structure import assemble
from core.library.funnel import Shelves, to_source
from core.library.paper import Paper, shelves_of
from core.library.wording import empty_library
from core.model.answer import JobResult, ModelUsage, ResearchAnswer
from core.model.config import SectionSettings
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import JobStatus
from core.model.ports import ChatModel
from core.model.source import Source, SourceKind, SourceMetadata, SourceScores
from core.modes.mode import Mode
from core.pipeline.conversation import read_turns
from core.pipeline.work import Work
from core.presentation.render import cut, one_line
from core.section.agent import TIME_IS_UP, EvidenceGathering
from core.section.evidence import KeptEvidence, Searched
from core.section.prose import BRIEF_ID, assign_keys
from core.section.sections import (
    NO_BRIEF,
    PLANS,
    Brief,
    PaperConcept,
    Section,
    is_brief,
    is_order,
    possible_sections,
    read_brief,
    sections_in,
)
from core.section.writing import DocumentPart, SectionDocument, Writer, Written, document_files, select_for_writing
from core.stages.drafting import UNCHECKED_NOTICE
from core.stages.synthesize import usage_metadata
from core.text.saying import later, say, say_again, say_many

NO_MATERIAL = "{title} is left out: the context has none of {fields}."
NO_EMBEDDER = "Passages were found by their words alone: nothing here compares meanings."
OUT_OF_TIME = "{title}: the search for evidence ended early, since its time was up."
BY_WORDS = "{count} of {all} searches went by words alone, since meanings could not be compared just then."
NOT_JUDGED = "{count} of {all} passages could not be judged by the model and were left out."

MAX_NAMED, MAX_TITLE_CHARS = 5, 80  # papers that were left out


class EmptyLibrary(GorkdError):
    code = "SEARCH_FAILED"


@dataclass(frozen=True)
class KeyTable:
    """BibTeX keys by paper id, as they were when the job began."""

    keys: dict[str, str]


async def run(work: Work) -> JobResult:
    """Raises `SetupError` without a model, `InvalidQuery` for a brief that does not do, `ModelError`, `StoreError`."""
    model = work.model_for("Writing a section")
    brief = await _brief(work)
    wanted = sections_in(work.job.query)
    sections = possible_sections(wanted, brief)
    shelves = Shelves(work.deps.library, shelves_of(work.job.scope), work.deps.embedder)
    papers = {paper.id: paper for paper in await work.deps.library.papers(shelves.scopes)}
    if not papers:
        raise EmptyLibrary("no papers", user_message=empty_library(work.job.scope))
    table = await work.steps.run("keys", partial(_keys, papers), KeyTable)
    draft = _Draft(work, model, brief, shelves, papers, table.keys, wanted)
    for section in sections:
        await draft.add(section)
    return draft.result()


@dataclass
class _Draft:
    """A document on its way. Sources are the brief and then the papers, in the order in which they were found."""

    work: Work
    model: ChatModel
    brief: Brief
    shelves: Shelves
    library: dict[str, Paper]
    all_keys: dict[str, str]
    wanted: tuple[Section, ...]
    parts: list[DocumentPart] = field(default_factory=list)
    found: list[str] = field(default_factory=list)  # paper ids
    sources: list[Source] = field(default_factory=list)
    place: int = 0

    @property
    def papers(self) -> dict[str, Paper]:
        """By source id."""
        return {f"src_{number}": self.library[paper_id] for number, paper_id in enumerate(self.found, start=2)}

    @property
    def keys(self) -> dict[str, str]:
        """By source id."""
        return {source_id: self.all_keys[paper.id] for source_id, paper in self.papers.items()}

    async def add(self, section: Section) -> None:
        settings = self.work.deps.settings.section
        gathering = EvidenceGathering(
            self.work, self.model, self.shelves, self.brief, section, self.all_keys, self.library
        )
        await gathering.run()
        known = [entry for entry in gathering.evidence if entry.paper_id in self.library]
        used = select_for_writing(
            known, min_papers=settings.min_papers, max_evidence=settings.max_evidence, least_score=settings.least_score
        )
        await self._keep_sources([entry.paper_id for entry in used])
        written = await self.work.steps.run(f"{section}-write", partial(self._write, section, used), Written)
        self.place += len(written.judged) + len(written.cut)
        usage = (*gathering.usage, *written.usage)
        self.parts.append(
            DocumentPart(written, tuple(gathering.searches), gathering.ending, gathering.refused, tuple(used), usage)
        )

    async def _keep_sources(self, paper_ids: Sequence[str]) -> None:
        if not self.sources:
            self.sources.append(_brief_source(self.brief, self.work.job.created_at))
        for paper_id in dict.fromkeys(paper_ids):
            if paper_id not in self.found:
                self.found.append(paper_id)
                text = await self.shelves.library.text(self.shelves.scopes, paper_id)
                source = to_source(len(self.found) + 1, self.library[paper_id], text, 1.0)
                self.sources.append(source)
                await self.work.progress.source(source)
        await self.work.deps.sources.put(self.work.job, self.sources)

    async def _write(self, section: Section, used: Sequence[KeptEvidence]) -> Written:
        title = PLANS[section].title
        await self.work.progress.status(
            JobStatus.SYNTHESIZING,
            message=say("{title}: writing and checking", title=say(title)),
            data={"sources": len(self.sources)},
        )
        writer = Writer(
            self.work,
            self.model,
            self.brief,
            section,
            self.sources,
            self.papers,
            self.keys,
            used,
            first_place=self.place,
        )
        written = await writer.write()
        for entry in written.judged:
            if entry.claim and entry.shown is not None:
                await self.work.progress.sentence(entry.claim, entry.shown)
        return written

    def result(self) -> JobResult:
        document = SectionDocument(tuple(self.parts), self.keys, self.papers, self._notes())
        queries = [search.query for part in self.parts for search in part.searches]
        return JobResult(
            answer=self._answer(document),
            source_ids=tuple(source.id for source in self.sources),
            sources_considered=len(self.library),
            queries=tuple(dict.fromkeys(queries)),
            providers=("library",),
            details=document.view(),
        )

    def _answer(self, document: SectionDocument) -> ResearchAnswer:
        grounded = [assemble(part.written.judged) for part in self.parts]
        claims = tuple(claim for part in grounded for claim in part.claims)
        citations = tuple(citation for part in grounded for citation in part.citations)
        is_checked = all(part.written.is_checked for part in self.parts)
        cited = [source for source in self.sources if source.id != BRIEF_ID] or self.sources
        report = score_confidence(
            [claim for claim in claims if any(entry.source_id != BRIEF_ID for entry in claim.evidence)],
            cited,
            conflicts=(),
            question_type=self.work.job.intent.question_type,
            now=self.work.deps.clock(),
            is_checked=is_checked,
        )
        removed = [entry for part in self.parts for entry in part.removed]
        usage: list[ModelUsage] = [call.usage for part in self.parts for call in part.usage]
        return ResearchAnswer(
            summary=document.summary(),
            detail="\n\n".join(
                f"## {say_again(PLANS[part.section].title)}\n\n{text.detail}"
                for part, text in zip(self.parts, grounded, strict=True)
            ),
            confidence=report.confidence,
            confidence_reasons=report.reasons,
            confidence_sum=report.sum,
            corroborating=report.corroborating,
            citations=citations,
            claims=tuple(replace(claim, strength=report.per_claim.get(claim.id)) for claim in claims),
            limitations=document.notes,
            stopped_because=TIME_IS_UP if any(part.ending == TIME_IS_UP for part in self.parts) else "",
            removed=tuple(removed),
            notice="" if is_checked else say(UNCHECKED_NOTICE),
            metadata=usage_metadata(self.work.deps, usage, seconds=0.0),
        )

    def _notes(self) -> tuple[str, ...]:
        """What the reader must know of how this came about."""
        notes = [] if self.shelves.embedder is not None else [say(NO_EMBEDDER)]
        left_out = [section for section in self.wanted if section not in {part.section for part in self.parts}]
        notes += [
            say(NO_MATERIAL, title=say_again(PLANS[section].title), fields=PLANS[section].requires)
            for section in left_out
        ]
        searches = [search for part in self.parts for search in part.searches]
        if unjudged := sum(search.unjudged for search in searches):
            notes.append(say(NOT_JUDGED, count=unjudged, all=sum(search.candidates for search in searches)))
        if by_words := sum(search.by_words for search in searches):
            notes.append(say(BY_WORDS, count=by_words, all=len(searches)))
        notes += self._left_out(searches)
        late = [say_again(PLANS[part.section].title) for part in self.parts if part.ending == TIME_IS_UP]
        notes += [say(OUT_OF_TIME, title=title) for title in late]
        if unknown := dict.fromkeys(key for part in self.parts for key in part.written.unknown_keys):
            notes.append(say("Removed, since no paper has such a key: {keys}.", keys=", ".join(unknown)))
        notes += dict.fromkeys(part.written.note for part in self.parts if part.written.note)
        return tuple(notes)

    def _left_out(self, searches: Sequence[Searched]) -> list[str]:
        """The papers that were found and not used, so that nobody takes them for never found."""
        found = dict.fromkeys(entry.paper_id for search in searches for entry in search.found)
        papers = [self.library[paper_id] for paper_id in found if paper_id in self.library]
        left_out = [cut(one_line(paper.title), MAX_TITLE_CHARS) for paper in papers if paper.id not in self.found]
        if not left_out:
            return []
        more = [say("{number} more", number=len(left_out) - MAX_NAMED)] if len(left_out) > MAX_NAMED else []
        named = "; ".join([*left_out[:MAX_NAMED], *more])
        one = "{number} of {all} found papers was left out, for bearing least on what was searched for: {named}."
        many = "{number} of {all} found papers were left out, for bearing least on what was searched for: {named}."
        return [say_many(one, many, len(left_out), all=len(papers), named=named)]


async def _keys(papers: dict[str, Paper]) -> KeyTable:
    return KeyTable(assign_keys(list(papers.values())))


async def _brief(work: Work) -> Brief:
    """From the files that came along, else from what was asked and answered in the thread. Raises `InvalidQuery`."""
    attached = await work.deps.jobs.attached(work.job.id) if work.job.request.attachments else []
    files = [(entry.name, entry.text) for entry in attached if is_brief(entry.name)]
    if files:
        return read_brief(files)
    said = await read_turns(work.job, work.deps) if work.job.request.thread else ()
    turns = [turn for turn in said if not is_order(turn.question)]
    if not turns:
        raise InvalidQuery(NO_BRIEF, rule="brief")
    answers = "\n\n".join(turn.answer for turn in turns if turn.answer)
    questions = "\n".join(turn.question for turn in turns)
    return Brief(PaperConcept(answers or questions, open_questions=questions))


def _brief_source(brief: Brief, at: datetime) -> Source:
    """The author's own words, as what is said of the own work is held against them."""
    text = brief.text
    return Source(
        id=BRIEF_ID,
        url="file:brief",
        title=brief.concept.title or "The author's brief",
        content=text,
        content_hash=sha256(text.encode()).hexdigest(),
        read_at=at,
        metadata=SourceMetadata("", len(text.split()), "brief", SourceKind.LOCAL),
        scores=SourceScores(relevance=1.0, total=1.0),
    )


MODE = Mode(
    name="section",
    title=later("Paper section"),
    description=later("Writes a section of a paper from your library, citing BibTeX keys"),
    deadline_s=len(Section) * SectionSettings.deadline_s,  # a whole paper; a section keeps its own share
    run=run,
    files=document_files,
    needs_files=True,
    needs_model=True,
)
