"""Who writes an answer, and from what: the summary, begun while the plan is made or not, and the detail beside it.

Two calls share one prompt up to the end of the early sources, which a provider's prompt cache reads once. What the
detail says is shown behind the whole summary; what it sets right there is shown as a correction.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TypeVar

from core.evidence.conflicts import read_statements
from core.evidence.grounding import Grounder
from core.evidence.judge import AnswerRuling, Judging
from core.evidence.structure import Judged
from core.llm.ask_model import kept_anew, remembered, retry_once
from core.model.answer import ModelUsage, RemovedSentence, Section, Verdict
from core.model.errors import ModelError, ModelGarbled
from core.model.job import ResearchJob
from core.model.ports import ChatRequest
from core.model.source import SearchPlan, Source
from core.pipeline.deps import Deps
from core.pipeline.limits import Nearness
from core.pipeline.work import Progress
from core.stages.gathering import Gathering
from core.stages.prompting import Script, as_detail, as_summary, early_script, full_script
from core.stages.search import CHOICE, EarlyChoice, early_sources
from core.stages.writing import PARTS, Tries, Writing
from core.text.saying import later, say
from core.text.sentences import tells_absence, tells_of_sources

log = logging.getLogger(__name__)
T = TypeVar("T")

UNCHECKED_NOTICE = later("citations unchecked")
OUT_OF_TIME = "time limit reached"
BROKE_OFF = "the model's answer broke off"
CUT_OFF = "The model's answer was cut off at its length limit; its end is missing."
ABSENT = later("The model says of the sources: “{said}”")
NO_DETAIL = "The model did not write the detailed part."
NO_REST = "The model did not write all of the detailed part."
MIN_CHECK_S = 2.0  # of the time for an answer, kept for what the judge has still to say
END_RESERVE_S = 0.5  # kept for putting the answer together; what is not judged by then is not confirmed
TOLD = "told"  # in the job's memo
REWRITE_S = 20.0  # that must be left to write an answer anew
_CORRECTIONS = {
    "en": "Correction", "de": "Korrektur", "fr": "Rectification", "es": "Corrección", "it": "Correzione",
    "pt": "Correção", "nl": "Correctie",
}  # fmt: skip  # with which a sentence begins that sets right what stands above it


@dataclass
class Draft:
    """Judged sentences on their way to an answer, and what they cost; `unanswered` as in core/evidence/answering.py."""

    judged: list[Judged]
    writing: Writing | None = None
    usage: tuple[ModelUsage, ...] = ()
    notice: str = ""
    stopped_because: str = ""
    judging: Judging | None = None
    answers: AnswerRuling = field(default_factory=lambda: AnswerRuling(None))
    unanswered: str = ""
    limitations: tuple[str, ...] = ()
    removed: tuple[RemovedSentence, ...] = ()  # of another draft, in whose place this one stands
    is_whole: bool = True  # False where one call has to write all of it anew
    failure: ModelError | None = None  # of the writer, before its end; what stands may be nothing

    @property
    def is_checked(self) -> bool:
        """Whether no claim stays open because the judge failed."""
        is_open = any(entry.claim and entry.claim.verdict is Verdict.UNCHECKED for entry in self.judged)
        return not (is_open and self.judging and self.judging.failures)

    @property
    def shown_notice(self) -> str:
        return say(self.notice) if self.is_checked else say(UNCHECKED_NOTICE)

    @property
    def all_usage(self) -> tuple[ModelUsage, ...]:
        return (*self.usage, *(self.judging.usage if self.judging else ()))


def begin_writing(
    job: ResearchJob, sources: Sequence[Source], deps: Deps, progress: Progress, script: Script, *, ends_at: float
) -> tuple[Writing, asyncio.Task[None]]:
    """What takes a writer's words, and the reading for their check, done while the model thinks about its first."""
    loop = asyncio.get_running_loop()
    grounder = script.grounder(sources, job.query, script.passages)
    reading = asyncio.create_task(deps.turns.take(read_ahead, grounder))  # the first sentence reads what it cites
    judging = Judging(
        deps.judge,
        lambda: ends_at - loop.time() - END_RESERVE_S,
        call_timeout_s=deps.settings.synthesis.check_timeout_s,
    )
    correction = _CORRECTIONS.get(job.intent.language, _CORRECTIONS["en"])
    return Writing(grounder, progress, judging, job.query, correction, script.has_opening, deps.turns), reading


def tries_at(
    writing: Writing,
    script: Script,
    deps: Deps,
    *,
    ends_at: float,
    part: Section | None = None,
    shape: Callable[[ChatRequest], ChatRequest] = lambda request: request,
) -> Tries:
    """At a whole answer or a `part` of it, whose `shape` its request takes. The deps have a model."""
    assert deps.model is not None  # noqa: S101  # nobody writes without one
    loop = asyncio.get_running_loop()
    return Tries(deps.model, lambda: shape(script.request(ends_at - loop.time())), writing, deps.count_error, part)


def read_ahead(grounder: Grounder) -> None:
    grounder.read_ahead()
    read_statements(grounder.read_sources)


async def finish(draft: Draft, deps: Deps) -> None:
    """Wait for the judge, and let go of the writing."""
    writing = draft.writing
    assert writing is not None  # noqa: S101  # its callers have just written
    writing.judging.hurry()
    writing.end(*PARTS)
    try:
        draft.judged = await writing.decided()
        draft.answers = await writing.answers_question()
    finally:
        await writing.aclose()
    if draft.failure is not None or (writing.cut_off and not writing.is_short):
        _tell_break(draft, writing)
    notes = (*writing.notes, *writing.judging.notes, *([say(CUT_OFF)] if writing.is_short else []))
    aside = [entry.text.strip() for entry in draft.judged if not entry.claim and not entry.shown]
    said = " ".join(one for one in dict.fromkeys(aside) if tells_absence(one) or tells_of_sources(one))
    notes += (say(ABSENT, said=said),) if said else ()
    draft.limitations = (*draft.limitations, *notes)
    for failure in writing.judging.failures:
        deps.count_error("check", failure)


def _tell_break(draft: Draft, writing: Writing) -> None:
    """Where the writer was in the midst of a text, or did not come to one; an answer that lacks it is not repeated."""
    if writing.lacks("detail"):
        has_begun = any(entry.section != "summary" for entry in writing.judged)
        draft.limitations = (say(NO_REST if has_begun else NO_DETAIL),)
    if writing.lacks("detail") or writing.lacks("summary"):
        draft.stopped_because = draft.stopped_because or BROKE_OFF


# Two calls at once


@dataclass
class Begun:
    """A summary that is being written from `sources`; `task` ends with its call, and raises its `ModelError`."""

    sources: Sequence[Source]
    script: Script
    writing: Writing
    tries: Tries
    reading: asyncio.Task[None]
    task: asyncio.Task[None] = field(init=False)

    def start(self, call: Coroutine[object, object, None]) -> None:
        self.task = asyncio.create_task(call)
        self.task.add_done_callback(lambda _: self.writing.end("summary", "opening"))

    @property
    def has_ended(self) -> bool:
        """With an answer of the model, be it that there is none."""
        return self.task.done() and not self.task.cancelled() and self.task.exception() is None

    @property
    def has_broken(self) -> bool:
        """Without any."""
        return self.task.done() and not self.task.cancelled() and self.task.exception() is not None

    async def aclose(self) -> None:
        """Nobody waits for it any more."""
        self.task.cancel()
        await asyncio.gather(self.task, self.reading, return_exceptions=True)
        await self.writing.aclose()


def begin_summary(
    job: ResearchJob, sources: Sequence[Source], deps: Deps, progress: Progress, script: Script, *, ends_at: float
) -> Begun:
    writing, reading = begin_writing(job, sources, deps, progress, script, ends_at=ends_at)
    shape = partial(as_summary, has_opening=script.has_opening)
    tries = tries_at(writing, script, deps, ends_at=ends_at, part="summary", shape=shape)
    loop = asyncio.get_running_loop()
    begun = Begun(sources, script, writing, tries, reading)
    begun.start(retry_once(tries, remaining_s=lambda: ends_at - loop.time()))
    return begun


@dataclass(frozen=True)
class ToldSummary:
    """What the summary said when the detail was begun; kept, so that whoever goes on asks for the same."""

    summary: str


async def write_in_parts(
    job: ResearchJob, sources: Sequence[Source], deps: Deps, begun: Begun, script: Script | None, *, ends_at: float
) -> Draft:
    """The draft that two calls write: the summary, and the detail, begun once the summary says something, or will.

    Citations and further questions, which they write last, may come while the last sentences are judged; nobody waits
    for them. A draft that is not whole is taken back: nothing came of the summary, or it does not answer and there are
    sources that it was not written from. Raises `ModelError` where the model does not answer.
    """
    if begun.has_broken and begun.writing.judged:  # while the plan was made; now the model may be back
        begun.start(begun.tries())
    elif begun.has_broken:
        await begun.aclose()
        await begun.writing.progress.take_back()
        return Draft([], usage=(*begun.tries.usage, *begun.writing.judging.usage), is_whole=False)
    late = [source for source in sources if source.id not in {one.id for one in begun.sources}]
    draft = Draft(begun.writing.judged, begun.writing, judging=begun.writing.judging)
    detail = _Detail(job, sources, late, deps, begun, script, ends_at)
    try:
        async with asyncio.timeout_at(ends_at - MIN_CHECK_S):
            await detail.write()
    except TimeoutError:
        draft.stopped_because = OUT_OF_TIME
        log.warning("the model ran out of time")
        await detail.end_calls()
    except ModelGarbled:
        log.warning("the summary could not be read")
        await detail.end_calls()
    except BaseException:
        await detail.end_calls()
        await begun.aclose()
        raise
    left_s = ends_at - asyncio.get_running_loop().time()
    if begun.writing.judged:
        draft.failure = detail.failure
        try:
            await finish(draft, deps)
        finally:
            await detail.end_calls()
        draft.is_whole = not (late and draft.answers.answers is False and left_s > REWRITE_S)
    else:
        draft.is_whole = begun.has_ended and not late
        await detail.end_calls()
    draft.usage = (*begun.tries.usage, *detail.usage)
    if not draft.is_whole:
        await begun.aclose()
        await begun.writing.progress.take_back()
    return draft


@dataclass
class _Detail:
    """The second call, and what late sources say of the first one's sentences."""

    job: ResearchJob
    sources: Sequence[Source]
    late: Sequence[Source]
    deps: Deps
    begun: Begun
    script: Script | None
    ends_at: float
    tries: Tries | None = None
    failure: ModelError | None = None  # of either call
    _tasks: list[asyncio.Task[object]] = field(default_factory=list)

    @property
    def usage(self) -> tuple[ModelUsage, ...]:
        return self.tries.usage if self.tries else ()

    async def write(self) -> None:
        """Until both are written. Raises the `ModelError` of the summary alone."""
        begun, writing = self.begun, self.begun.writing
        script = self.script or begun.script
        if self.late:
            script = await self.deps.turns.take(full_script, self.job, begun.script, self.sources, self.deps)
            more = script.grounder(self.late, "", {one.id: script.passages.get(one.id, ()) for one in self.late})
            await self.deps.turns.take(read_ahead, more)
            writing.grounder.extend(more)
            looking = self._start(writing.look_again([source.id for source in self.late]))
        # A try that failed at once has said nothing yet.
        while not (script.is_sure or writing.has_begun or begun.task.done()):
            writing.summary_begun.clear()
            await asyncio.wait([begun.task, self._start(writing.summary_begun.wait())], return_when=FIRST_COMPLETED)
        if script.is_sure or writing.has_begun:
            told = await remembered(self.deps.memo, self.job.id, self._told_key(), ToldSummary, self._tell)
            shape = partial(as_detail, told=told.summary, has_opening=script.has_opening)
            self.tries = tries_at(writing, script, self.deps, ends_at=self.ends_at, part="detail", shape=shape)
            now = asyncio.get_running_loop().time
            detail = self._start(retry_once(self.tries, remaining_s=lambda: self.ends_at - now()))
            await self._until_both(detail)
        else:
            await begun.task
        if self.late and writing.judged:
            await looking

    async def _until_both(self, detail: asyncio.Task[None]) -> None:
        """Until both texts are there, whatever their calls write behind them; what stands of one that fails stays."""
        writing = self.begun.writing
        last: Section = "opening" if writing.has_opening else "summary"
        try:
            await self._until_ended(self.begun.task, last)
        except ModelError as exc:
            if not any(entry.section == "summary" for entry in writing.judged):
                raise
            self.failure = exc
        try:
            await self._until_ended(detail, "detail")
        except ModelError as exc:
            self.failure = exc
            writing.end("detail")

    async def _until_ended(self, call: asyncio.Task[None], section: Section) -> None:
        written = self._start(self.begun.writing.ended[section].wait())
        await asyncio.wait([call, written], return_when=FIRST_COMPLETED)
        if call.done():
            await call

    async def end_calls(self) -> None:
        for task in (self.begun.task, *self._tasks):
            task.cancel()
        await asyncio.gather(self.begun.task, *self._tasks, return_exceptions=True)

    def _told_key(self) -> str:
        """Of this summary: a job of several modes has one for each."""
        request = self.begun.script.request(0.0)
        return f"{TOLD}:{sha256(f'{request.system}{request.user}'.encode()).hexdigest()}"

    async def _tell(self) -> ToldSummary:
        return ToldSummary(self.begun.writing.summary_so_far.strip())

    def _start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task


# Begun before the plan is made


class HeadStart:
    """The summary, written from what the question's own search finds while the plan is made; where that fits it.

    Which pages it is written from is kept for the job: a later attempt asks the model for the same, and pays only for
    what was in flight.
    """

    def __init__(
        self, job: ResearchJob, deps: Deps, progress: Progress, gathering: Gathering, *, ends_at: float
    ) -> None:
        self._job, self._deps, self._progress, self._gathering = job, deps, progress, gathering
        self._ends_at = ends_at
        self._running: asyncio.Task[list[Source]] | None = None
        self._begun: Begun | None = None
        self._is_chosen = False

    def begin(self, plan: SearchPlan, *, may_choose: bool = True) -> None:
        """`plan` is that of the rules. One that may not choose goes on with what an attempt before has chosen."""
        self._is_chosen = not may_choose
        self._running = self._running or asyncio.create_task(self._run(plan, may_choose=may_choose))

    async def sources(self) -> list[Source]:
        """From which the answer was begun, numbered; none where it was not: then it is not begun any more."""
        if self._running is None:
            return []
        if not self._is_chosen:
            self._running.cancel()
        (outcome,) = await asyncio.gather(self._running, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, list) else []

    async def resumed(self, sources: Sequence[Source]) -> Begun | None:
        """What is being written from these of the job's sources, begun again where an attempt before has begun it."""
        if sources and self._begun is None:
            await self._write_from(sources)
        return self._begun

    async def discard(self) -> tuple[ModelUsage, ...]:
        """The plan understands the question otherwise: what was begun answers another one. What it has cost."""
        await kept_anew(self._deps.memo, self._job.id, CHOICE, EarlyChoice(()))
        await self.aclose()
        self._running, begun = None, self._begun
        if begun is None:
            return ()
        self._begun = None
        await self._progress.take_back()
        return (*begun.tries.usage, *begun.writing.judging.usage)

    async def aclose(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        if self._begun is not None:
            await self._begun.aclose()

    async def _run(self, plan: SearchPlan, *, may_choose: bool) -> list[Source]:
        sources = await early_sources(self._gathering, plan, may_choose=may_choose)
        self._is_chosen = True
        if sources:
            await self._write_from(sources)
        return sources

    async def _write_from(self, sources: Sequence[Source]) -> None:
        script = await self._deps.turns.take(early_script, self._job, sources, self._deps, nearness=Nearness.PROMPT)
        self._begun = begin_summary(self._job, sources, self._deps, self._progress, script, ends_at=self._ends_at)
        await asyncio.gather(*map(self._progress.source, sources))
