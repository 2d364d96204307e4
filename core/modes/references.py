"""Check the references: each entry of a list against the registries of published works, and what it is cited for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from time import perf_counter

from core.evidence.judge import PAIRS_A_CALL, Pair, SupportJudge
from core.evidence.passages import PassageIndex
from core.model.answer import Citation, Confidence, JobResult, ModelUsage, ResearchAnswer, Verdict
from core.model.errors import FetchError, InvalidQuery, ModelError, SetupError, place_name
from core.model.job import JobStatus
from core.model.source import Source, SourceKind, SourceMetadata
from core.model.works import NO_IDS, WorkRecord
from core.modes.mode import Mode
from core.pipeline.work import Work
from core.presentation.wording import NO_LIST
from core.stages.synthesize import usage_metadata
from core.text.saying import later, say, say_again
from core.text.urls import domain_of
from core.works.checking import CheckedReference, JudgedUse, RefStand, check_reference, with_doubles
from core.works.reading import Reference, read_references, without_markers
from core.works.showing import (
    SHOWN,
    address_of,
    list_text,
    record_text,
    reference_files,
    references_json,
    said_of,
    to_look_at,
)
from core.works.standing import is_the_paper

AT_ONCE = 8  # references that are looked up together; each registry keeps its own pace
TELL_EVERY = 10  # references
RESERVE_S = 45.0  # of the deadline, for judging and writing down
MAX_SOURCES = 100  # records that can be cited; the table has all
MAX_PAIRS = 160  # sentences and works that a judge is asked about
JUDGING_S = 30.0  # of the deadline, kept from reading open copies
READ_AT_ONCE = 4  # open copies
PASSAGES = 3
WHOLE_ABSTRACT = 1_200  # characters that a judge reads of one passage
NO_REGISTRY = "No registry of published works is configured here; whoever runs gorkd can change that."
NOT_JUDGED = "Whether the works say what they are cited for was not judged: no language model is configured."


@dataclass(frozen=True)
class ReadList:
    """The references of the files, and what was left out of those."""

    references: tuple[Reference, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedList:
    """In the order of the list; `usage` is what judging cost."""

    checked: tuple[CheckedReference, ...]
    usage: tuple[ModelUsage, ...] = ()


async def run(work: Work) -> JobResult:
    """Read, look up, judge: each a durable step. Raises `InvalidQuery` without a list, `SetupError`."""
    began = perf_counter()
    listed = await work.steps.run("references", lambda: _read(work), ReadList)
    looked_up = await work.steps.run("look up", lambda: _look_up(work, listed.references), CheckedList)
    judged = await work.steps.run("judge", lambda: _judge(work, looked_up.checked), CheckedList)
    found = [one for one in judged.checked if one.known][:MAX_SOURCES]
    sources = {one.reference.number: _source(place, one, work) for place, one in enumerate(found, start=1)}
    await work.deps.sources.put(work.job, [*sources.values()])
    answer = _answer(work, judged, listed.notes, sources, seconds=perf_counter() - began)
    asked = tuple(dict.fromkeys(name for one in judged.checked for name in one.asked))
    return JobResult(
        answer,
        source_ids=tuple(source.id for source in sources.values()),
        sources_considered=len(sources),
        providers=asked,
        details=references_json(judged.checked),
    )


async def _read(work: Work) -> ReadList:
    attached = await work.deps.jobs.attached(work.job.id)
    if not attached:
        raise InvalidQuery(say(NO_LIST), rule="references")
    files = [(entry.name, entry.text) for entry in attached]
    references = await asyncio.to_thread(read_references, files)
    return ReadList(references, tuple(entry.cut for entry in attached if entry.cut))


async def _look_up(work: Work, references: Sequence[Reference]) -> CheckedList:
    """What is not looked up in time is said not to be."""
    works = work.deps.works
    if works is None:
        raise SetupError(
            "no registry", user_message=say(NO_REGISTRY),
            operator_message="No registry of published works is configured; GORKD_REGISTRIES names those to be asked.",
        )  # fmt: skip
    slots, done = asyncio.Semaphore(AT_ONCE), dict[int, CheckedReference]()
    await work.progress.status(JobStatus.SEARCHING, data={"providers": [*works.names]})

    async def check(reference: Reference) -> None:
        async with slots:
            done[reference.number] = await check_reference(reference, works)
        if len(done) % TELL_EVERY == 0:
            share = 0.1 + 0.7 * len(done) / len(references)
            said = say("Looked up {few} of {all} references", few=len(done), all=len(references))
            await work.progress.status(JobStatus.SEARCHING, message=said, share=share)

    with work.deps.stage("search"):
        tasks = [asyncio.create_task(check(reference)) for reference in references]
        try:
            await asyncio.wait(tasks, timeout=work.deadline.remaining(reserve_s=RESERVE_S))
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error
    late = (("gorkd", "its time ran out"),)
    return CheckedList(
        with_doubles(
            [done.get(one.number) or CheckedReference(one, RefStand.UNKNOWN, failed=late) for one in references]
        )
    )


async def _judge(work: Work, checked: Sequence[CheckedReference]) -> CheckedList:
    """Each sentence that cites a work against the work's open copy, else its abstract."""
    judge = work.deps.judge
    cited = [one for one in checked if one.reference.uses]
    unjudged = {one.reference.number: tuple(map(JudgedUse, one.reference.uses)) for one in cited}
    if judge is None or not cited:
        return CheckedList(_with_uses(checked, unjudged))
    await work.progress.status(JobStatus.SYNTHESIZING)
    slots = asyncio.Semaphore(READ_AT_ONCE)

    async def prepared(one: CheckedReference) -> list[tuple[int, JudgedUse, Pair | None]]:
        async with slots:
            return await _pairs(work, one)

    asked = [entry for of_one in await asyncio.gather(*map(prepared, cited)) for entry in of_one]
    usage: list[ModelUsage] = []
    judged: dict[int, tuple[JudgedUse, ...]] = {}
    pairs = [(number, use, pair) for number, use, pair in asked if pair is not None][:MAX_PAIRS]
    rulings = {id(use): use for _, use, _ in asked}
    for start in range(0, len(pairs), PAIRS_A_CALL):
        batch = pairs[start : start + PAIRS_A_CALL]
        rulings |= await _ruled(work, judge, batch, usage)
    for number, use, _ in asked:
        judged[number] = (*judged.get(number, ()), rulings[id(use)])
    return CheckedList(_with_uses(checked, judged), tuple(usage))


async def _ruled(
    work: Work, judge: SupportJudge, batch: Sequence[tuple[int, JudgedUse, Pair | None]], usage: list[ModelUsage]
) -> dict[int, JudgedUse]:
    """By the identity of the use; nothing where the judge fails or the time is over."""
    timeout_s = min(work.deps.settings.synthesis.model_timeout_s, work.deadline.remaining(reserve_s=2.0))
    if timeout_s <= 0:
        return {}
    try:
        said = await judge.judge([pair for _, _, pair in batch if pair is not None], timeout_s=timeout_s)
    except ModelError as exc:
        work.deps.count_error("check", exc)
        return {}
    usage.extend(said.usage)
    return {
        id(use): replace(use, ruling=judgement.ruling, reason=judgement.reason)
        for (_, use, _), judgement in zip(batch, said.judgements, strict=True)
        if judgement is not None
    }


async def _pairs(work: Work, one: CheckedReference) -> list[tuple[int, JudgedUse, Pair | None]]:
    """Each use of a reference, and what a judge is to read for it; nothing where nothing of the work can be read."""
    text, basis = await _text_of(work, one.record) if one.record else ("", "")
    index = await asyncio.to_thread(PassageIndex, text) if len(text) > WHOLE_ABSTRACT else None
    found: list[tuple[int, JudgedUse, Pair | None]] = []
    for sentence in one.reference.uses:
        claim = without_markers(sentence)
        spans = index.nearest(claim, count=PASSAGES) if index else []
        passages = tuple(text[span.start : span.end] for span in spans) or ((text[:WHOLE_ABSTRACT],) if text else ())
        title = one.record.title if one.record else ""
        use = JudgedUse(sentence, basis="full text" if basis == "full text" else "abstract" if text else "")
        found.append((one.reference.number, use, Pair(claim, passages, title=title) if passages else None))
    return found


async def _text_of(work: Work, record: WorkRecord) -> tuple[str, str]:
    """The whole where it is free to read and comes in time, else the abstract."""
    try:
        async with asyncio.timeout(work.deadline.remaining(reserve_s=JUDGING_S)):
            whole = await _whole(work, record)
    except TimeoutError:
        whole = ""
    return (whole, "full text") if whole else (record.abstract, "abstract")


async def _whole(work: Work, record: WorkRecord) -> str:
    """Empty where none is plainly this work: what a full text does not say is held against who cites it."""
    policy, least = work.job.request.policy, record.abstract.ljust(WHOLE_ABSTRACT)
    if work.deps.works and record.ids.pmcid and (whole := await work.deps.works.full_text(record.ids.pmcid)):
        return whole
    for copy in (copy for copy in record.copies[:2] if policy.permits_site(copy.url)):
        try:
            page = await work.deps.pages.fetch(copy.url)
        except FetchError:
            continue
        if policy.permits_site(page.url) and is_the_paper(page.text, title=record.title, read=least):
            return page.text
    return ""


def _with_uses(
    checked: Sequence[CheckedReference], uses: dict[int, tuple[JudgedUse, ...]]
) -> tuple[CheckedReference, ...]:
    return tuple(replace(one, uses=uses.get(one.reference.number, ())) for one in checked)


def _source(number: int, one: CheckedReference, work: Work) -> Source:
    """A registry's record. It has no ids: that a work was retracted takes nothing from the record that says so."""
    record = one.known or WorkRecord(NO_IDS, "")
    content = record_text(record)
    registry = record.said_by[0] if record.said_by else ""
    url = address_of(record)
    return Source(
        id=f"src_{number}",
        url=url,
        title=record.title,
        content=content,
        content_hash=sha256(content.encode()).hexdigest(),
        read_at=work.deps.clock(),
        metadata=SourceMetadata(domain_of(url), len(content.split()), registry, SourceKind.REFERENCE),
        extract_of_page=f"the record in {place_name(registry)}",
    )


def _citation(one: CheckedReference, source: Source) -> Citation:
    """The words of the record that the line rests on: its notice, else its title."""
    lines = source.content.split("\n\n")
    quote = next((line for line in lines if line.startswith("Retraction")), lines[0]) if one.is_retracted else lines[0]
    start = source.content.index(quote)
    return Citation(said_of(one), source.id, quote, Verdict.SUPPORTED, start, start + len(quote))


def _answer(
    work: Work, judged: CheckedList, notes: Sequence[str], sources: Mapping[int, Source], *, seconds: float
) -> ResearchAnswer:
    checked = judged.checked
    asked = dict.fromkeys(place_name(name) for one in checked for name in one.asked)
    failed = dict.fromkeys(f"{place_name(name)}: {say_again(why)}" for one in checked for name, why in one.failed)
    unknown = sum(one.stand is RefStand.UNKNOWN for one in checked)
    limitations = [*notes, *(say("Not every reference was looked up everywhere ({why}).", why=each) for each in failed)]
    if any(one.reference.uses for one in checked) and work.deps.judge is None:
        limitations.append(say(NOT_JUDGED))
    level = Confidence.MEDIUM if failed else Confidence.HIGH
    cited = [one for one in to_look_at(checked)[:SHOWN] if one.reference.number in sources]
    return ResearchAnswer(
        summary=list_text(checked, {number: source.number for number, source in sources.items()}),
        detail="",
        confidence=Confidence.INSUFFICIENT if unknown == len(checked) else level,
        confidence_reasons=(
            say("each reference was looked up in {places}", places=", ".join(asked))
            if asked
            else say("no registry answered"),
        ),
        citations=tuple(_citation(one, sources[one.reference.number]) for one in cited),
        limitations=tuple(limitations),
        metadata=usage_metadata(work.deps, judged.usage, seconds=seconds),
    )


MODE = Mode(
    name="references",
    title=later("Reference check"),
    description=later(
        "Whether each reference of a list exists, matches its record, stands, and says what it is cited for"
    ),
    deadline_s=600.0,
    run=run,
    files=reference_files,
    needs_files=True,
)
