"""Retracted supports nothing: known in time, known late, or retracted after the answer (D18) (N-16)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adapters.records.cache import SqlReuseStore
from adapters.records.deliveries import SqlMessages, SqlStandingChecks
from core.evidence.confidence import short_conflicts
from core.model.answer import (
    SAID_TOGETHER,
    Citation,
    Claim,
    Confidence,
    Conflict,
    ConflictPosition,
    Evidence,
    JobResult,
    ResearchAnswer,
    Verdict,
)
from core.model.delivery import Address
from core.model.errors import StoreError
from core.model.job import QuestionType, ResearchJob, ResearchRequest
from core.model.source import SearchHit, Source, SourceKind
from core.model.works import Notice, WorkIds, WorkRecord
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.stages.deliver import AT_ONCE, correct_result, keep_standing, recheck_due
from core.works.registry import Works
from core.works.standing import one_voice_each, with_record, withdraw
from tests.core.cats import PLAN, QUESTION, written
from tests.fakes import BOX, NOW, Clock, FakeModel, FakeSearch, Idle, hit, make_deps, make_source
from tests.records import MemoryTables

PURRING = (
    "Cats purr because the muscles of the larynx twitch about {} times a second. "
    "The purring of cats was measured in {} animals in a quiet room."
)
RETRACTED = (1, 6)
NOTICE = Notice("retraction", "https://doi.org/10.1000/notice", "2025-05-06", said_by="Crossref")
WHERE = Address("loopback", {"message": "1"})


def paper(number: int) -> SearchHit:
    return hit(
        f"https://doi.org/10.1000/cat.{number}",
        PURRING.format(20 + number, 100 + number),
        title=f"Purring in {number} colonies of cats",
        rank=number - 1,
        is_complete=True,
        kind=SourceKind.PEER_REVIEWED,
    )


class Standing:
    """A `Registry` that knows which works were retracted, and answers when it is let."""

    name = "crossref"

    def __init__(self, *retracted: int, is_slow: bool = False) -> None:
        self.retracted = set(retracted)
        self.may_answer = asyncio.Event()
        if not is_slow:
            self.may_answer.set()

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord]:
        await self.may_answer.wait()
        number = int(ids.doi.rpartition(".")[2])
        notices = (NOTICE,) if number in self.retracted else ()
        return [WorkRecord(ids, f"Purring in {number} colonies of cats", notices=notices, said_by=("crossref",))]

    async def by_title(self, title: str, *, author: str = "", year: str = "") -> Sequence[WorkRecord]:
        return []


def eight_papers(registry: Standing, *, model: FakeModel | None = None) -> tuple[Deps, Clock]:
    """A house with eight papers about one question; chats show its answers."""
    clock, tables = Clock(), MemoryTables()
    deps = make_deps(search=[FakeSearch("web", [paper(number) for number in range(1, 9)])], clock=clock, tables=tables)
    works = Works([registry], deps.reuse, clock)
    messages = SqlMessages(tables, BOX, clock=clock)
    settings = replace(deps.settings, search=replace(deps.settings.search, max_per_domain=8))
    standing = SqlStandingChecks(tables, clock=clock)
    return replace(deps, works=works, standing=standing, messages=messages, model=model, settings=settings), clock


async def answered(deps: Deps) -> tuple[ResearchJob, JobResult, list[Source]]:
    """Asked in a chat, which has shown the answer."""
    researcher = Researcher(deps, Idle())
    job = await researcher.submit(ResearchRequest(QUESTION), address=WHERE)
    await run_job(job.id, deps, DirectSteps())
    await researcher.delivered(job.id)
    return await state(deps, job.id)


async def settled(deps: Deps) -> tuple[ResearchJob, JobResult, list[Source]]:
    """The answer once the registries have spoken: in time, as a rule, or just behind it on a busy machine."""
    job, _, _ = await answered(deps)
    assert deps.standing is not None
    await recheck_due(deps, deps.standing)
    return await state(deps, job.id)


async def to_deliver_again(deps: Deps) -> list[str]:
    return [delivery.job.id for delivery in await Researcher(deps, Idle()).undelivered("loopback")]


async def state(deps: Deps, job_id: str) -> tuple[ResearchJob, JobResult, list[Source]]:
    result = await deps.jobs.result(job_id)
    assert result.answer is not None
    return await deps.jobs.get(job_id), result, await deps.sources.sources(job_id)


def carried_away(known: tuple[ResearchJob, JobResult, list[Source]]) -> bool:
    """Whether nothing rests on a retracted source any more, and one is known to be."""
    gone = retracted_among(known[2])
    return any(source.id in gone and source.metadata.notices for source in known[2]) and not carried_by(known[1]) & gone


def retracted_among(sources: Sequence[Source]) -> set[str]:
    return {source.id for source in sources if int(source.url.rpartition(".")[2]) in RETRACTED}


def carried_by(result: JobResult) -> set[str]:
    """The sources that carry a sentence, or are cited for one, be it in part."""
    answer = result.answer
    entries = [entry for claim in answer.claims for entry in claim.evidence]
    return {one.source_id for one in (*entries, *answer.citations) if one.verdict.carries or one.verdict == "unchecked"}


def citing_all() -> FakeModel:
    """Writes a sentence for each source of its prompt, the retracted ones too."""

    def answer(request) -> str:
        numbers = range(1, 9)
        found = dict(re.findall(r"\[?(\d)\]?[^\n]*Purring in (\d) colonies", request.user))
        return written(
            " ".join(
                f"{PURRING.format(20 + int(found.get(str(n), n)), 100 + int(found.get(str(n), n)))} [{n}]"
                for n in numbers
            )
        )

    return FakeModel({"plan": PLAN, "answer": answer, "check": "{}", "answers": "{}"})


@pytest.mark.parametrize("writes", [False, True], ids=["quoted", "written"])
async def test_of_eight_papers_the_two_retracted_ones_carry_nothing(writes: bool) -> None:
    """Neither quoted nor written; they are shown as retracted, with the notice and its date."""
    deps, _ = eight_papers(Standing(*RETRACTED), model=citing_all() if writes else None)

    _, result, sources = await settled(deps)

    gone = retracted_among(sources)
    assert len(gone) == 2
    assert carried_by(result)
    assert not carried_by(result) & gone
    assert {source.id for source in sources if source.title.startswith("[Retracted] ")} == gone
    told = [line for line in result.answer.limitations if "was retracted on 2025-05-06" in line]
    assert len(told) == 2
    assert all(NOTICE.url in line for line in told)


@pytest.mark.parametrize("writes", [False, True], ids=["quoted", "written"])
async def test_a_late_registry_delays_nothing_and_corrects_the_answer_where_it_stands(writes: bool) -> None:
    """It never answers while the answer is made; then it does, and whoever shows the answer is told once."""
    registry = Standing(*RETRACTED, is_slow=True)
    deps, _ = eight_papers(registry, model=citing_all() if writes else None)
    assert deps.standing is not None

    async with asyncio.timeout(10):  # seconds; the registry would never let it end
        job, before, _ = await answered(deps)
    registry.may_answer.set()
    await deps.works.settled()
    looked_at = await recheck_due(deps, deps.standing)
    _, after, sources = await state(deps, job.id)

    gone = retracted_among(sources)
    assert looked_at == 1
    assert carried_by(before) & gone
    assert not carried_by(after) & gone
    assert after.answer.summary == before.answer.summary
    assert await to_deliver_again(deps) == [job.id]
    researcher = Researcher(deps, Idle())
    said = [await researcher.take_correction(job.id) for _ in range(2)]
    assert "was retracted on 2025-05-06 (https://doi.org/10.1000/notice)" in said[0]
    assert said[1] == ""
    assert await recheck_due(deps, deps.standing) == 0


async def test_what_is_retracted_months_later_marks_the_kept_answer() -> None:
    """It is not given again, and whoever asked is told once; after ninety days nobody looks any more."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    assert deps.standing is not None
    job, _, _ = await answered(deps)
    assert [kept.job_id for kept in await deps.cache.kept()] == [job.id]

    clock.now += timedelta(days=1, minutes=1)
    assert await recheck_due(deps, deps.standing) == 1
    assert await to_deliver_again(deps) == []
    registry.retracted = set(range(1, 9))
    clock.now += timedelta(days=1, minutes=1)
    await recheck_due(deps, deps.standing)
    _, after, _ = await state(deps, job.id)
    told = await to_deliver_again(deps)
    clock.now += timedelta(days=100)
    await recheck_due(deps, deps.standing)

    assert carried_by(after) == set()
    assert after.answer.confidence == "insufficient"
    assert told == [job.id]
    assert await deps.cache.kept() == []
    clock.now += timedelta(days=1)
    assert await recheck_due(deps, deps.standing) == 0


class Faltering:
    """A store that loses one call of the given name, as a database that is away for a moment does."""

    def __init__(self, store: object, name: str) -> None:
        self._store, self._name, self._is_whole = store, name, False

    def __getattr__(self, name: str) -> Any:
        if name != self._name or self._is_whole:
            return getattr(self._store, name)
        return self._lose

    async def _lose(self, *args: object) -> Any:
        self._is_whole = True
        raise StoreError("away for a moment")


@pytest.mark.parametrize(
    ("part", "call"), [("sources", "put"), ("jobs", "finish"), ("cache", "drop"), ("standing", "corrected")]
)
async def test_a_correction_that_a_store_loses_halfway_is_made_again(part: str, call: str) -> None:
    """Whatever was written before: the answer is right in the end, and whoever shows it is told."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    job, _, _ = await answered(deps)
    registry.retracted = set(RETRACTED)
    clock.now += timedelta(days=1, minutes=1)
    stores: dict[str, Any] = {part: Faltering(getattr(deps, part), call)}
    faltering = replace(deps, **stores)
    assert faltering.standing is not None

    looked_at = await recheck_due(faltering, faltering.standing)
    clock.now += timedelta(minutes=11)
    await recheck_due(faltering, faltering.standing)
    _, after, sources = await state(deps, job.id)

    assert looked_at == 0
    assert not carried_by(after) & retracted_among(sources)
    assert await deps.cache.kept() == []
    assert await to_deliver_again(deps) == [job.id]
    assert "was retracted" in await Researcher(deps, Idle()).take_correction(job.id)


async def test_answers_are_looked_at_side_by_side() -> None:
    """A registry that is slow about the first answer's works has been asked about the others' by then."""
    deps, clock = eight_papers(Standing())
    assert deps.standing is not None
    jobs = [(await answered(deps))[0]]
    for _ in range(AT_ONCE + 1):
        clock.now += timedelta(minutes=1)
        jobs.append((await answered(deps))[0])
    clock.now += timedelta(days=2)
    looking: list[str] = []
    several = asyncio.Event()

    class Slow(Faltering):
        async def _lose(self, *args: object) -> Any:
            self._is_whole = False
            looking.append(str(args[0]))
            if len(looking) == AT_ONCE:
                several.set()
            await several.wait()
            return await deps.sources.sources(str(args[0]))

    slow: Any = Slow(deps.sources, "sources")
    async with asyncio.timeout(10):  # seconds; one after the other it would never end
        looked_at = await recheck_due(replace(deps, sources=slow), deps.standing)

    assert looked_at == len(jobs)
    assert len(set(looking[:AT_ONCE])) == AT_ONCE


@pytest.mark.parametrize("error", [StoreError("its record is damaged"), ValueError("what nobody foresaw")], ids=type)
async def test_an_answer_that_breaks_whoever_looks_at_it_keeps_no_other_waiting(error: Exception) -> None:
    """Whatever is wrong with it; those behind it have their turn at once, and it has another one later."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    first, _, _ = await answered(deps)
    clock.now += timedelta(minutes=1)
    second, _, _ = await answered(deps)
    clock.now += timedelta(days=2)

    class Broken(Faltering):
        async def _lose(self, *args: object) -> Any:
            if args == (first.id,):
                raise error
            return await deps.sources.sources(str(args[0]))

    registry.retracted = set(RETRACTED)
    damaged: Any = Broken(deps.sources, "sources")
    looking = asyncio.create_task(keep_standing(replace(deps, sources=damaged), deps.standing))
    async with asyncio.timeout(10):
        while not carried_away(await state(deps, second.id)):  # noqa: ASYNC110  # it works until it is cancelled
            await asyncio.sleep(0)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    due_now = await deps.standing.due(clock.now, limit=9)
    due_soon = await deps.standing.due(clock.now + timedelta(minutes=11), limit=9)

    assert due_now == []
    assert [job_id for job_id, _ in due_soon] == [first.id]


def test_a_retracted_side_of_a_conflict_is_marked_there() -> None:
    """Also where no sentence cites it; who says the same and stands keeps the side, and surer it becomes in no case."""
    one, gone, other = (make_source(number, f"It is {number} m high.") for number in (1, 2, 3))
    gone = with_record(gone, WorkRecord(WorkIds.of(doi="10.1000/2"), "Gone", notices=(NOTICE,)))
    sides = ((one, "49 m"), (gone, "51 m"), (other, "51 m"))
    positions = tuple(ConflictPosition(said, source.id, "", source.content) for source, said in sides)
    entry = Evidence(one.id, one.content, 0, len(one.content), Verdict.SUPPORTED)
    claim = Claim("summary-0", "It is 49 m high.", Verdict.SUPPORTED, (entry,))
    answer = ResearchAnswer(
        f"{claim.text} [1]", "", Confidence.LOW, claims=(claim,), conflicts=(Conflict("height", positions),)
    )

    for _ in range(2):
        answer = withdraw(
            answer, [one, gone, other], question="How high is it?", question_type=QuestionType.FACTUAL, now=NOW
        )

    assert short_conflicts(answer) == "height: 49 m [1] against [Retracted] 51 m [2] against 51 m [3]"
    assert answer.claims[0].verdict is Verdict.SUPPORTED
    assert answer.confidence is Confidence.LOW


async def test_two_processes_that_find_the_same_correct_it_once() -> None:
    """The later one's registry was slow: the other has corrected the answer meanwhile, and it was told."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    assert deps.standing is not None
    job, _, _ = await answered(deps)
    registry.retracted = set(RETRACTED)
    clock.now += timedelta(days=1, minutes=1)
    slow = Standing(*RETRACTED, is_slow=True)
    other = replace(deps, works=Works([slow], SqlReuseStore(MemoryTables(), clock=clock), clock))
    looking = asyncio.create_task(correct_result(job.id, other))
    await asyncio.sleep(0)

    await correct_result(job.id, deps)
    researcher = Researcher(deps, Idle())
    told = await researcher.take_correction(job.id)
    await researcher.delivered(job.id)
    slow.may_answer.set()
    await looking

    assert "was retracted" in told
    assert await to_deliver_again(deps) == []
    assert await researcher.take_correction(job.id) == ""


def test_what_was_said_together_with_a_retracted_source_is_no_longer_said_whole() -> None:
    """The other source carries its half alone; saying it twice changes nothing."""
    sources = [make_source(1, "Cats purr.", notices=(NOTICE,)), make_source(2, "Purring is done by the larynx.")]
    entries = tuple(
        Evidence(one.id, one.content, 0, len(one.content), Verdict.SUPPORTED, reasons=(SAID_TOGETHER,))
        for one in sources
    )
    claim = Claim("summary-0", "Cats purr with the larynx.", Verdict.SUPPORTED, entries)
    citations = tuple(Citation(claim.text, one.source_id, one.quote, one.verdict) for one in entries)
    answer = ResearchAnswer(f"{claim.text} [1][2]", "", Confidence.HIGH, claims=(claim,), citations=citations)

    for _ in range(2):
        answer = withdraw(answer, sources, question=QUESTION, question_type=QuestionType.EXPLANATION, now=NOW)

    assert answer.claims[0].verdict is Verdict.PARTIAL
    assert [one.verdict for one in answer.claims[0].evidence] == [Verdict.UNSUPPORTED, Verdict.PARTIAL]
    assert [one.verdict for one in answer.citations] == [Verdict.UNSUPPORTED, Verdict.PARTIAL]


async def test_who_asks_again_is_not_given_what_was_retracted_since() -> None:
    """A repeated answer is asked about like a new one."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    await answered(deps)

    registry.retracted = set(RETRACTED)
    clock.now += timedelta(days=1, minutes=1)
    _, again, sources = await settled(deps)

    assert not carried_by(again) & retracted_among(sources)


def test_a_preprint_and_its_journal_article_are_one_voice() -> None:
    """By what a registry says of them, whatever their titles (S003-19)."""
    preprint = make_source(1, "An early text.", ids=WorkIds.of(arxiv="2401.00001"))
    article = make_source(2, "A later text.", ids=WorkIds.of(doi="10.1000/attention"))
    other = make_source(3, "Another text.", ids=WorkIds.of(doi="10.1000/other"))
    known = WorkRecord(preprint.metadata.ids, "Early", versions=(article.metadata.ids,))

    first, second, third = one_voice_each([preprint, article, other], {preprint.id: known})

    assert first.metadata.work == second.metadata.work != ""
    assert third.metadata.work not in ("", first.metadata.work)


def test_a_title_that_says_so_already_is_not_marked_twice() -> None:
    """PubMed's titles do."""
    source = make_source(1, "Text.", title="[Retracted] Cold water", ids=WorkIds.of(doi="10.1000/cold"))

    marked = with_record(source, WorkRecord(source.metadata.ids, "Cold water", notices=(NOTICE,)))

    assert marked.title == "[Retracted] Cold water"
