"""Deep research from the question to the answer: refine, then rounds until something ends them, then write.

Every line of `conduct` that awaits a step is one durable step, and the state is folded from what the steps
return: a job whose worker died goes on behind the last step that was finished, with the same state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from typing import TypeVar

from core.deep.checklist import check_completeness, checklist_frame, facts_frame, question_frame, refine_question
from core.deep.facts import earlier_facts, process_results
from core.deep.searching import execute_searches, generate_queries, keep_given, known_sources
from core.deep.state import (
    Completeness,
    Coverage,
    DeepState,
    Limits,
    NewFacts,
    RefinedQuestion,
    RoundQueries,
    RoundSources,
    RoundStart,
    Stop,
    decide,
    heed,
    settled,
    unless_hurried,
)
from core.deep.viewing import (
    FIRST_ROUND_SHARE,
    REFINED_SHARE,
    TOOL_NAME,
    Teller,
    TraceNotes,
    estimate_from,
    share_of,
    tool_output,
)
from core.evidence.authority import is_retracted
from core.llm.ask_model import CountedModel, recalled, remembered
from core.llm.prices import estimate_tokens
from core.model.answer import JobResult, ModelUsage, ResearchAnswer
from core.model.errors import ModelError, ModelTimeout, StoreError, TookTooLong
from core.model.job import Steering
from core.model.ports import ChatRequest
from core.model.source import SearchMetadata, Source, SourceCollection, all_searches
from core.pipeline.conversation import may_lean
from core.pipeline.tool_traces import ToolTrace
from core.pipeline.work import Work
from core.presentation.wording import NOT_FOUND, PARTLY_FOUND
from core.prompts import load_prompt
from core.stages.prompting import (
    ANSWER_SCHEMA,
    WRITING_TEMPERATURE,
    Script,
    format_sources,
    language_name,
    passage_tokens,
)
from core.stages.synthesize import answer_question
from core.tenancy.admission import BudgetSpent
from core.text.chunking import Passage, split_passages
from core.text.saying import say, say_many

T = TypeVar("T")
Part = TypeVar("Part", RoundQueries, NewFacts, Completeness)
GIVEN_S = 20.0  # for reading again what was brought along or known
OUT_OF_TIME = "the limit of {minutes} minutes was reached"
MIN_STEP_S = 1.0  # what a step may always take, so that it ends in words and not in an endless wait


async def conduct(work: Work) -> JobResult:
    """The whole of it. Raises `ModelError` or `SearchFailed` when there is nothing to answer from, and `SetupError`."""
    work.model_for("Deep research")
    run = _DeepRun(work, TraceNotes.of(work), Teller(work.progress, work.job.request.max_iterations))
    steps, state = work.steps, DeepState(question=work.job.query)
    await run.record.begin()
    refined = await steps.run("refine", partial(run.refine, state), RefinedQuestion)
    state = state.with_question(refined)
    brought = await steps.run("given", run.given, RoundSources)
    state = replace(state, searches=(*state.searches, brought.metadata), last_number=brought.last_number)
    if brought.last_number:
        state = state.with_facts(await steps.run("given-facts", partial(run.facts, state, 1), NewFacts))
    state = state.with_facts(await steps.run("known", partial(run.known, state), NewFacts))
    if state.facts:
        state = state.with_coverage(await steps.run("known-coverage", partial(run.check, state), Completeness))
    try:
        state, stop = await _search_in_rounds(run, state)
    finally:
        await run.aclose()
    answer = await steps.run("synthesize", partial(run.answer, state, stop), ResearchAnswer)
    state = settled(state, answer.claims)
    result = await run.result(state, answer, stop)
    await run.record.complete(state, result.details, answer.metadata, stop=stop)
    return result


async def _search_in_rounds(run: _DeepRun, state: DeepState) -> tuple[DeepState, Stop]:
    """Until all is covered, or something else ends it."""
    steps = run.work.steps
    while True:
        number = len(state.rounds) + 1
        start = await steps.run(f"round-{number}", partial(run.start, state), RoundStart)
        run.has_run(start.runtime_s)
        state, _ = heed(state, start.said, max_items=run.settings.max_checklist)
        if start.stop is not Stop.NONE:
            return state, start.stop
        queries = await steps.run(f"round-{number}-queries", partial(run.queries, state, number), RoundQueries)
        state = state.with_queries(number, queries)
        if queries.failure:
            continue
        found = await steps.run(f"round-{number}-search", partial(run.search, state, queries), RoundSources)
        first_new, state = state.last_number + 1, state.with_sources(found)
        facts = await steps.run(f"round-{number}-facts", partial(run.facts, state, first_new), NewFacts)
        state = state.with_round_facts(facts)
        checked = await steps.run(f"round-{number}-coverage", partial(run.check, state), Completeness)
        state = state.with_coverage(checked)


@dataclass
class _DeepRun:
    """One attempt: the steps of `conduct`, each of which tells what it does and writes the trace."""

    work: Work
    record: TraceNotes
    teller: Teller
    _ran_s: float = 0.0
    _since: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    _ahead: dict[str, asyncio.Task[RoundQueries]] = field(default_factory=dict)  # by their keys in the job's memo
    _paid_ahead: dict[str, list[ModelUsage]] = field(default_factory=dict)  # for those that nobody has taken

    def __post_init__(self) -> None:
        self.settings = self.work.deps.settings.deep

    def has_run(self, runtime_s: float) -> None:
        """Where the clock stands by the journal; what a worker was away for is no runtime."""
        self._ran_s, self._since = runtime_s, asyncio.get_running_loop().time()

    @property
    def runtime_s(self) -> float:
        return self._ran_s + asyncio.get_running_loop().time() - self._since

    @property
    def left_s(self) -> float:
        """Until the answer has to be written."""
        return self.settings.max_runtime_s - self.settings.write_reserve_s - self.runtime_s

    @property
    def _within_s(self) -> float:
        return max(MIN_STEP_S, self.left_s)

    async def refine(self, state: DeepState) -> RefinedQuestion:
        self.teller.estimate = estimate_from(await self._earlier())
        await self.teller.starting(state)
        await self.teller.refining(state)
        await self.record.note("refining", REFINED_SHARE, state)
        with self.work.deps.stage("refine"):
            refined = await refine_question(self.work.job, self.work.deps, within_s=self._within_s)
        planned = state.with_question(refined)
        await self.teller.planned(planned)
        await self.record.note("refining", REFINED_SHARE, planned)
        return refined

    async def given(self) -> RoundSources:
        """What came with the question, and the sources of the answer it goes deeper than."""
        with self.work.deps.stage("given"):
            return await keep_given(self.work, within_s=min(self._within_s, GIVEN_S))

    async def known(self, state: DeepState) -> NewFacts:
        earlier = await self._earlier()
        with self.work.deps.stage("known"):
            found = await earlier_facts(self.work, state, earlier, within_s=min(self._within_s, GIVEN_S))
        if found.facts:
            await self.teller.known(state.with_facts(found))
        return found

    async def start(self, state: DeepState) -> RoundStart:
        """What was said since the last round, and whether there is another one."""
        said = tuple(await self._said(state.heard))
        limits = Limits(
            max_rounds=self.work.job.request.max_iterations,
            idle_rounds=self.settings.idle_rounds,
            left_s=self.left_s,
            is_within_budget=await self._is_within_budget(),
        )
        told, lines = heed(state, said, max_items=self.settings.max_checklist)
        for line in lines:
            await self.teller.heard(line, told)
        return RoundStart(said, self.runtime_s, decide(told, said, limits))

    async def queries(self, state: DeepState, number: int) -> RoundQueries:
        await self.teller.round(number, state)
        queries = await self._step("queries", state, self._asked(state, number), RoundQueries())
        await self._note(state.with_queries(number, queries))
        return queries

    async def _asked(self, state: DeepState, number: int) -> RoundQueries:
        """Those that were begun ahead; made anew where none were, or something was said since."""
        key = _queries_key(state, number)
        if ahead := self._ahead.get(key):
            queries = await ahead
            self._paid_ahead.pop(key)  # they tell it themselves
            return queries
        kept = await recalled(self.work.deps.memo, self.work.job.id, key, RoundQueries)
        return kept or await generate_queries(state, self.work.deps, within_s=self._within_s)

    def _ask_ahead(self, state: DeepState, so_far: Completeness) -> None:
        """Have the next round's queries worded while the last items are still being checked."""
        after, deps = state.with_coverage(so_far), self.work.deps
        limits = Limits(
            self.work.job.request.max_iterations, self.settings.idle_rounds, self.left_s, is_within_budget=True
        )
        if deps.model and deps.writes_in_parallel and decide(after, (), limits) is Stop.NONE:
            key = _queries_key(state, len(state.rounds) + 1)
            counted = replace(deps, model=CountedModel(deps.model, self._paid_ahead.setdefault(key, [])))
            ask = partial(generate_queries, after, counted, within_s=self._within_s)
            asking = remembered(deps.memo, self.work.job.id, key, RoundQueries, ask)
            self._ahead[key] = asyncio.create_task(asking)

    async def aclose(self) -> None:
        """Nobody waits for a further round's queries."""
        for task in self._ahead.values():
            task.cancel()
        await asyncio.gather(*self._ahead.values(), return_exceptions=True)

    async def search(self, state: DeepState, queries: RoundQueries) -> RoundSources:
        await self.teller.searching(state)
        with self.work.deps.stage("search"):
            searching = execute_searches(self.work, state, queries, within_s=self._within_s)
            nothing = RoundSources(state.last_number, 0, 0, 0)
            found = await self._unless_hurried(state, searching, nothing)
        after = state.with_sources(found)
        await self.teller.processing(after)
        await self._note(after)
        return found

    async def facts(self, state: DeepState, first_new: int) -> NewFacts:
        known = await known_sources(self.work, state.last_number)
        new = [source for source in known if source.number >= first_new]
        taking = process_results(state, new, self.work.deps, within_s=self._within_s)
        facts = await self._step("facts", state, taking, NewFacts())
        await self._note(state.with_round_facts(facts) if state.rounds else state.with_facts(facts))
        return facts

    async def check(self, state: DeepState) -> Completeness:
        on_gap = partial(self._ask_ahead, state)
        checking = check_completeness(state, self.work.deps, within_s=self._within_s, on_gap=on_gap)
        checked = await self._step("coverage", state, checking, Completeness())
        after = state.with_coverage(checked)
        await self.teller.checked(after)
        await self._note(after)
        return checked

    async def answer(self, state: DeepState, stop: Stop) -> ResearchAnswer:
        await self.teller.synthesizing(state)
        left_s = max(self.settings.write_reserve_s, self.settings.max_runtime_s - self.runtime_s)
        in_vain = (spent for paid in self._paid_ahead.values() for spent in paid)
        state = replace(state, usage=(*state.usage, *in_vain))
        with self.work.deps.stage("synthesize"):
            return await synthesize_answer(
                self.work, state, stopped_because=self._because(state, stop), within_s=min(left_s, 120.0)
            )

    async def result(self, state: DeepState, answer: ResearchAnswer, stop: Stop) -> JobResult:
        sources = await known_sources(self.work, state.last_number)
        searched = gathered(state)
        return JobResult(
            answer=answer,
            source_ids=tuple(source.id for source in sources),
            sources_considered=considered(state),
            queries=searched.queries_executed,
            providers=searched.providers_used,
            question_type=self.work.job.intent.question_type,
            understood=state.refined.question if may_lean(self.work.job) else "",
            details=tool_output(self.record.id, state, answer, sources, stop),
        )

    def _because(self, state: DeepState, stop: Stop) -> str:
        rounds, minutes = self.work.job.request.max_iterations, self.settings.max_runtime_s / 60
        return {
            Stop.ASKED: say("you asked for the answer"),
            Stop.NOTHING_NEW: say("{number} rounds in a row brought nothing new", number=self.settings.idle_rounds),
            Stop.MAX_ITERATIONS: say_many("{number} round was allowed", "{number} rounds were allowed", rounds),
            Stop.OUT_OF_TIME: say(OUT_OF_TIME, minutes=f"{minutes:g}"),
            Stop.BUDGET: say("the month's research budget is used up"),
            Stop.FAILURE: state.failure,
        }.get(stop, "")

    async def _step(self, stage: str, state: DeepState, part: Coroutine[None, None, Part], nothing: Part) -> Part:
        """What a part of a round gives; `nothing` once somebody is in a hurry, and with why where the model failed."""
        try:
            with self.work.deps.stage(stage):
                return await self._unless_hurried(state, part, nothing)
        except ModelError as exc:
            return replace(nothing, failure=self._failure(state, exc))

    async def _unless_hurried(self, state: DeepState, part: Coroutine[None, None, T], cut: T) -> T:
        """Once there is a fact to answer from, who wants the answer now does not wait for the round to end."""
        if not state.facts:
            return await part

        async def hears() -> list[Steering]:
            try:
                return await self._said(state.heard)
            except StoreError as exc:  # heard before the next round, then
                self.work.deps.count_error("steering", exc)
                return []

        return await unless_hurried(part, cut, hears, every_s=self.settings.listen_s)

    def _failure(self, state: DeepState, exc: ModelError) -> str:
        """Words for a search that ends early: the model failed, or our own limit has cut it off.

        Without any fact there is nothing to answer from: then the job fails.
        """
        is_cut = isinstance(exc, ModelTimeout) and self.left_s < MIN_STEP_S
        if not state.facts and is_cut:
            raise TookTooLong("deep research") from exc
        if not state.facts:
            raise exc
        if is_cut:
            return say(OUT_OF_TIME, minutes=f"{self.settings.max_runtime_s / 60:g}")
        return say("the language model failed ({why})", why=exc.user_message.rstrip("."))

    async def _note(self, state: DeepState) -> None:
        share = share_of(state, self.work.job.request.max_iterations)
        await self.record.note(f"iteration_{len(state.rounds)}", max(share, FIRST_ROUND_SHARE), state)

    async def _earlier(self) -> list[ToolTrace]:
        try:
            return await self.work.deps.traces.completed(
                self.work.job.scope, TOOL_NAME, limit=self.settings.earlier_jobs
            )
        except StoreError as exc:
            self.work.deps.count_error("trace", exc)
            return []

    async def _said(self, heard: int) -> list[Steering]:
        return await self.work.deps.jobs.steered(self.work.job.id, after=heard)

    async def _is_within_budget(self) -> bool:
        try:
            await self.work.deps.check_budget(self.work.job.request)
        except BudgetSpent:
            return False
        return True


def _queries_key(state: DeepState, number: int) -> str:
    """What is said meanwhile changes what is asked."""
    return f"queries:{number}:{state.heard}"


# Step 4: an answer to every item from where its facts stand, checked as every answer is (S002-12)


_OPENING_TOKENS = 60  # the tag of a source, at most


async def synthesize_answer(work: Work, state: DeepState, *, stopped_because: str, within_s: float) -> ResearchAnswer:
    """The answer with what it lacks named among its limitations. Raises `ModelError`."""
    sources = await known_sources(work, state.last_number)
    sound = [source for source in sources if not is_retracted(source)]
    found = SourceCollection(tuple(sound if state.facts else ()), gathered(state), considered=considered(state))
    answer = await answer_question(
        work.job,
        found,
        work.deps,
        work.progress,
        usage=state.usage,
        within_s=within_s,
        script=lambda: _script(work, state, sound),
        stopped_because=stopped_because,
        falls_short=lambda claims: _covers_nothing(settled(state, claims)),
    )
    retracted = [source for source in sources if is_retracted(source)]
    return replace(
        answer,
        limitations=(
            *gaps(settled(state, answer.claims)),
            *_earlier(state),
            *_retractions(retracted),
            *answer.limitations,
        ),
    )


def _covers_nothing(state: DeepState) -> str:
    """Why what is told answers nothing of what the question needs; "" where it does."""
    is_covered = any(item.coverage is not Coverage.UNSATISFIED for item in state.checklist)
    return "" if is_covered or not state.checklist else say("nothing that the question needs was found")


def gaps(state: DeepState) -> list[str]:
    """A sentence for each item that is not fully covered."""
    sentences: list[str] = []
    for item in state.checklist:
        missing = " " + say("Missing: {what}.", what=item.missing.rstrip(".")) if item.missing else ""
        if item.coverage is Coverage.UNSATISFIED:
            sentences.append(say(NOT_FOUND, item=item.description.rstrip(".")) + missing)
        elif item.coverage is Coverage.PARTIAL:
            sentences.append(say(PARTLY_FOUND, item=item.description.rstrip(".")) + missing)
    return sentences


def gathered(state: DeepState) -> SearchMetadata:
    """All rounds' searches as one, with their queries as the model wrote them."""
    queries = tuple(dict.fromkeys(query for round_ in state.rounds for query in round_.queries))
    return replace(all_searches(state.searches), queries_executed=queries)


def considered(state: DeepState) -> int:
    return sum(round_.results for round_ in state.rounds)


def _earlier(state: DeepState) -> list[str]:
    days = sorted({fact.learned_on for fact in state.facts if fact.learned_on})
    return [say("Some facts were read for earlier questions, on {days}.", days=", ".join(days))] if days else []


def _retractions(retracted: Sequence[Source]) -> list[str]:
    said = "Source {number} was retracted or withdrawn and supports nothing here."
    return [say(said, number=source.number) for source in retracted]


def _script(work: Work, state: DeepState, sources: Sequence[Source]) -> Script:
    settings = work.deps.settings
    system = load_prompt("synthesize_answer").substitute(
        today=work.deps.clock().date().isoformat(),
        language=language_name(work.job.intent.language),
        max_summary_words=str(settings.synthesis.max_summary_words),
        max_detail_words=str(settings.deep.max_detail_words),
    )
    parts = [
        question_frame(state),
        checklist_frame(state.checklist, with_coverage=True),
        facts_frame(state.facts, max_tokens=2 * settings.deep.max_known_tokens),
    ]
    frame = estimate_tokens(system) + sum(map(estimate_tokens, parts))
    passages = _passages(state, sources, max_tokens=settings.synthesis.max_prompt_tokens - frame)
    user = "\n\n".join([format_sources(sources, passages), *parts])

    def request(seconds: float) -> ChatRequest:
        return ChatRequest(
            purpose="answer",
            system=system,
            user=user,
            schema_name="answer",
            schema=ANSWER_SCHEMA,
            max_tokens=settings.deep.max_answer_tokens,
            timeout_s=min(settings.deep.step_timeout_s, seconds),
            temperature=WRITING_TEMPERATURE,
        )

    return Script(passages, request, is_sure=bool(state.facts))


def _passages(state: DeepState, sources: Sequence[Source], *, max_tokens: int) -> dict[str, list[Passage]]:
    """Where the facts stand, one of each item in turn until the budget is used, in reading order."""
    known = {source.id: split_passages(source.trusted_content) for source in sources}
    chosen: dict[str, list[Passage]] = {}
    for number in _in_turn(state):
        fact = state.fact(number)
        if fact is None:
            continue
        evidence, own = fact.evidence, chosen.get(fact.evidence.source_id, [])
        for passage in known.get(evidence.source_id, ()):
            cost = passage_tokens(passage.text) + (0 if own else _OPENING_TOKENS)
            is_around = passage.start < evidence.end and passage.end > evidence.start
            if is_around and cost <= max_tokens and passage not in own:
                own.append(passage)
                max_tokens -= cost
        if own:
            chosen[evidence.source_id] = own
    return {source_id: sorted(own, key=lambda passage: passage.start) for source_id, own in chosen.items()}


def _in_turn(state: DeepState) -> list[int]:
    """The numbers of the facts: each item's first, each item's second, …, then those of no item."""
    turns = zip_longest(*(item.facts for item in state.checklist))
    ordered = [number for turn in turns for number in turn if number is not None]
    return list(dict.fromkeys([*ordered, *(fact.number for fact in state.facts)]))
