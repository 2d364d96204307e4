"""What registries know of an answer's sources: a paper's full text, and whether it stands, asked again for months.

A registry that is late delays nothing: the answer goes out, and is corrected where it stands when the word has come.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from core.evidence.authority import is_retracted
from core.evidence.confidence import score_confidence, standing_limitations
from core.model.answer import SAID_TOGETHER, Claim, Confidence, ConfidencePart, Conflict, ResearchAnswer, Verdict
from core.model.errors import FetchError, ProviderError
from core.model.job import QuestionType
from core.model.source import Page, Source, SourceKind
from core.model.works import Notice, OpenCopy, WorkIds, WorkRecord, fullest
from core.text.injection import instructions_in
from core.text.saying import say
from core.text.terms import terms
from core.works.registry import Looked, Works

log = logging.getLogger(__name__)

AT_SEARCH_S = 0.05  # what the registries may cost the first text: they were asked as soon as a source was read
AT_DELIVERY_S = 0.45  # and before the answer goes out: half a second together
BEHIND_S = 30.0  # of a registry that was late, once the answer is out
AGAIN_AFTER = timedelta(days=1)
SOON = timedelta(minutes=10)  # for what a registry that was away could not say
WATCHED_FOR = timedelta(days=90)
RETRACTED = "its source was retracted"
HALF = "what said it with this source was retracted"
MARK = "[Retracted] "
TOLD_OF = "Source {number} of this answer was retracted{when}: {title}. What rested on it is marked ✗ now."
_LEVELS = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
_CARRIES = (Verdict.SUPPORTED, Verdict.MOVED, Verdict.PARTIAL, Verdict.UNCHECKED)  # best first


class StandingChecks(Protocol):
    """Which answers' sources are to be asked about again, and which corrections people have not been told of.

    Each raises `StoreError`.
    """

    async def expect(self, job_id: str, due_at: datetime, until: datetime) -> None:
        """In place of what was expected of the job before."""

    async def due(self, now: datetime, *, limit: int) -> list[tuple[str, datetime]]:
        """Job ids, and until when they are watched, longest due first."""

    async def end(self, job_id: str) -> None:
        """Nothing is expected of the job any more."""

    async def corrected(self, job_id: str, said: str) -> None:
        """The job's answer says something else now; wherever a chat shows it, it is to be delivered there again."""

    async def take_correction(self, job_id: str) -> str:
        """What is to be said below the answer that was corrected, once; "" for nothing."""


@dataclass(frozen=True)
class Stood:
    """Sources with what is known of their works; `is_whole` says that every registry has answered."""

    sources: tuple[Source, ...]
    is_whole: bool = True


async def stand(sources: Sequence[Source], works: Works | None, *, within_s: float) -> Stood:
    """What the registries say of the sources, as far as they do within the time; local files are nobody's business."""
    asked = {source.id: source.metadata.ids for source in sources if _is_asked(source)}
    if works is None or not asked:
        return Stood(tuple(sources))
    distinct = list(dict.fromkeys(asked.values()))
    looked = await asyncio.gather(*(works.by_ids(ids, within_s=within_s) for ids in distinct))
    said = dict(zip(distinct, looked, strict=True))
    found = [_with(source, said.get(source.metadata.ids)) for source in sources]
    records = {source.id: said[ids].record for source in found if (ids := asked.get(source.id))}
    return Stood(tuple(one_voice_each(found, records)), all(one.is_whole for one in looked))


def with_record(source: Source, record: WorkRecord) -> Source:
    """The source with what is known of its work; a retracted one says so in its title, wherever it is shown."""
    known = {(notice.kind, notice.url or notice.date) for notice in record.notices}
    own = [one for one in source.metadata.notices if (one.kind, one.url or one.date) not in known]
    metadata = replace(
        source.metadata,
        ids=source.metadata.ids.joined(record.ids),
        notices=(*record.notices, *own),
        cited_by=record.cited_by if record.cited_by is not None else source.metadata.cited_by,
    )
    marked = replace(source, metadata=metadata)
    is_marked = is_retracted(replace(source, content="", metadata=replace(metadata, notices=())))
    return replace(marked, title=MARK + source.title) if record.is_retracted and not is_marked else marked


def one_voice_each(sources: Sequence[Source], records: Mapping[str, WorkRecord | None]) -> list[Source]:
    """Versions of one work under its name: a preprint and its journal article are one voice."""
    groups: list[list[WorkIds]] = []
    named: list[Source] = []
    for source in sources:
        record = records.get(source.id)
        ids = [one for one in (source.metadata.ids, *(record.all_ids if record else ())) if not one.is_none]
        same = [group for group in groups if any(one.shares_one_with(other) for one in ids for other in group)]
        for group in same:
            groups.remove(group)
        if ids:
            groups.append([one for group in same for one in group] + ids)
    for source in sources:
        own = source.metadata.ids
        voice = next((group for group in groups if any(own.shares_one_with(one) for one in group)), [])
        name = min((one.name for one in voice), default="")
        is_named = source.metadata.work or not name
        named.append(source if is_named else replace(source, metadata=replace(source.metadata, work=name)))
    return named


def newly_retracted(before: Sequence[Source], after: Sequence[Source]) -> list[Source]:
    """Those of `after` that are known to be retracted only now."""
    known = {source.id for source in before if is_retracted(source)}
    return [source for source in after if is_retracted(source) and source.id not in known]


def withdraw(
    answer: ResearchAnswer, sources: Sequence[Source], *, question: str, question_type: QuestionType, now: datetime
) -> ResearchAnswer:
    """The answer in which nothing rests on a retracted source: its sentences stay, with what is left to carry them.

    It is never surer than before. An answer that cites none of them only says what else is known of its sources.
    """
    gone = {source.id for source in sources if is_retracted(source)}
    limitations = tuple(dict.fromkeys((*standing_limitations(sources, answer.claims), *answer.limitations)))
    cited = {entry.source_id for claim in answer.claims for entry in claim.evidence}
    cited |= {citation.source_id for citation in answer.citations}
    cited |= {side.source_id for conflict in answer.conflicts for side in conflict.positions}
    if not gone & cited:
        return replace(answer, limitations=limitations)
    claims = tuple(_without(claim, gone) for claim in answer.claims)
    halved = {(claim.text, entry.source_id) for claim in claims for entry in claim.evidence if HALF in entry.reasons}
    citations = tuple(
        replace(citation, verdict=Verdict.UNSUPPORTED) if citation.source_id in gone
        else replace(citation, verdict=Verdict.PARTIAL) if (citation.claim, citation.source_id) in halved
        else citation
        for citation in answer.citations
    )  # fmt: skip
    conflicts = tuple(_marked(conflict, gone) for conflict in answer.conflicts)
    report = score_confidence(
        claims, sources, conflicts=conflicts, question_type=question_type, now=now, question=question
    )
    level = min(answer.confidence, report.confidence, key=_LEVELS.index)
    lost = sum(claim.verdict is Verdict.UNSUPPORTED for claim in claims)
    alone = say("{number} of {all} rest on it alone", number=lost, all=len(claims))
    reason = say("a source of this answer was retracted")
    return replace(
        answer,
        claims=tuple(replace(claim, strength=report.per_claim[claim.id]) for claim in claims),
        citations=citations,
        conflicts=conflicts,
        confidence=level,
        confidence_reasons=tuple(dict.fromkeys((reason, *report.reasons))),
        confidence_sum=(*report.sum, ConfidencePart("retracted", 0.0, alone)),
        corroborating=report.corroborating,
        limitations=limitations,
    )


def told_of(sources: Sequence[Source]) -> str:
    """What whoever asked is told of sources that were retracted after the answer, in one line each."""
    return "\n".join(
        say(TOLD_OF, number=source.number, when=_dated(source), title=source.title.removeprefix(MARK))
        for source in sources
    )


def _dated(source: Source) -> str:
    notice = fullest(source.metadata.notices, "retraction") or Notice("retraction")
    is_day = notice.date.count("-") == 2
    when = " " + say("on {date}" if is_day else "in {date}", date=notice.date) if notice.date else ""
    return f"{when} ({notice.url})" if notice.url else when


def _is_asked(source: Source) -> bool:
    return not source.metadata.ids.is_none and source.metadata.kind is not SourceKind.LOCAL


def _with(source: Source, looked: Looked | None) -> Source:
    record = looked.record if looked and _is_asked(source) else None
    return with_record(source, record) if record else source


def _without(claim: Claim, gone: set[str]) -> Claim:
    """The claim with evidence of what was retracted against it; its verdict is the best of what is left.

    What only several sources said together the rest of them says in part.
    """
    struck = [entry for entry in claim.evidence if entry.source_id in gone]
    if not struck:
        return claim
    halves = any(SAID_TOGETHER in entry.reasons for entry in struck)
    evidence = tuple(
        replace(entry, verdict=Verdict.UNSUPPORTED, reasons=(RETRACTED,)) if entry.source_id in gone
        else replace(entry, verdict=Verdict.PARTIAL, reasons=(HALF,)) if halves and SAID_TOGETHER in entry.reasons
        else entry
        for entry in claim.evidence
    )  # fmt: skip
    left = {entry.verdict for entry in evidence}
    verdict = next((one for one in _CARRIES if one in left), Verdict.UNSUPPORTED)
    verdict = max(verdict, claim.verdict, key=(*_CARRIES, Verdict.UNSUPPORTED).index)
    return replace(claim, evidence=evidence, verdict=verdict, reasons=tuple(dict.fromkeys((*claim.reasons, RETRACTED))))


def _marked(conflict: Conflict, gone: set[str]) -> Conflict:
    """Each side that a retracted source takes under that word, apart from those who say the same and stand."""
    positions = (
        replace(side, position=MARK + side.position)
        if side.source_id in gone and not side.position.startswith(MARK)
        else side
        for side in conflict.positions
    )
    return replace(conflict, positions=tuple(positions))


# The whole of a paper instead of its abstract, where it is free to read: which version it was is always said


ABSTRACT = "abstract"
MIN_GAIN = 2.0  # a full text is so many times as long as what was read; else it is the abstract again
MIN_TITLE = 0.6  # of the title's words that stand at the text's head
HEAD_CHARS = 6_000
MAX_COPIES = 3  # that are tried, one after the other
ARXIV = "https://arxiv.org/{}/{}"
_ORDER = ("published", "accepted", "submitted", "")

ReadPage = Callable[[str], Awaitable[Page]]


@dataclass(frozen=True)
class FullText:
    """`version` says in a few words which version was read, and where."""

    text: str
    version: str


async def with_full_texts(
    sources: Sequence[Source], works: Works | None, read: ReadPage, *, within_s: float
) -> list[Source]:
    """The sources, papers among them with their full text where it is free and comes in time."""
    if works is None or within_s <= 0:
        return list(sources)
    reading = [asyncio.create_task(_whole(source, works, read, within_s)) for source in sources]
    try:
        await asyncio.wait(reading, timeout=within_s) if reading else None
    finally:
        for task in reading:
            task.cancel() if not task.done() else None
    await asyncio.gather(*reading, return_exceptions=True)
    found = zip(sources, reading, strict=True)
    return [source if task.cancelled() or task.exception() else task.result() for source, task in found]


async def _whole(source: Source, works: Works, read: ReadPage, within_s: float) -> Source:
    is_paper = source.metadata.kind in (SourceKind.PEER_REVIEWED, SourceKind.PREPRINT)
    is_short = source.metadata.version == ABSTRACT or bool(source.extract_of_page)
    if not is_paper or not is_short or source.metadata.ids.is_none:
        return source
    looked = await works.by_ids(source.metadata.ids, within_s=within_s)
    found = await _find(source, looked.record, works, read)
    if found is None:
        is_closed = looked.record is not None and looked.record.is_open is False
        return _said(source, f"{ABSTRACT}; its full text is behind a paywall") if is_closed else source
    metadata = replace(source.metadata, version=found.version, word_count=len(found.text.split()))
    return replace(
        source,
        content=found.text,
        content_hash=sha256(found.text.encode()).hexdigest(),
        metadata=metadata,
        extract_of_page="",
        instructs=tuple(instructions_in(found.text)),
    )


async def _find(source: Source, record: WorkRecord | None, works: Works, read: ReadPage) -> FullText | None:
    """The first that can be read and is the paper."""
    every = [source.metadata.ids, *(record.all_ids if record else ())]
    for pmcid in dict.fromkeys(ids.pmcid for ids in every if ids.pmcid):
        text = await works.full_text(pmcid)
        if is_the_paper(text, title=source.title, read=source.content):
            return FullText(text, f"full text, published version, Europe PMC ({pmcid})")
    for url, version in [*_arxiv(every), *_copies(record.copies if record else ())]:
        try:
            page = await read(url)
        except (FetchError, ProviderError) as exc:
            log.info("an open copy was not read", extra={"reason": exc.reason})
            continue
        if is_the_paper(page.text, title=source.title, read=source.content):
            return FullText(page.text, version)
    return None


def _arxiv(every: Sequence[WorkIds]) -> list[tuple[str, str]]:
    """HTML is not there for all papers, the PDF is."""
    ids = next((ids.arxiv for ids in every if ids.arxiv), "")
    told = f"full text, preprint, arXiv ({ids})"
    return [(ARXIV.format(form, ids), told) for form in ("html", "pdf")] if ids else []


def _copies(copies: Sequence[OpenCopy]) -> list[tuple[str, str]]:
    """PDFs before pages, and what was published before what was submitted."""
    ordered = sorted(copies, key=lambda copy: (not copy.is_pdf, _ORDER.index(copy.version)))
    named = {"published": "published version", "accepted": "accepted manuscript", "submitted": "preprint", "": ""}
    return [
        (copy.url, ", ".join(filter(None, ("full text", named[copy.version], copy.host))))
        for copy in ordered[:MAX_COPIES]
    ]


def is_the_paper(text: str, *, title: str, read: str) -> bool:
    """Longer than what was `read` of it, and about its title from the start."""
    if len(text) < MIN_GAIN * len(read):
        return False
    wanted, head = set(terms(title.removeprefix("[Retracted] "))), set(terms(text[:HEAD_CHARS]))
    return not wanted or len(wanted & head) >= MIN_TITLE * len(wanted)


def _said(source: Source, version: str) -> Source:
    return replace(source, metadata=replace(source.metadata, version=version))
