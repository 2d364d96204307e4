"""Step 4: an answer to every item from where its facts stand, checked as every answer is (S002-12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from core.deep.checklist import checklist_frame, facts_frame, question_frame
from core.deep.searching import known_sources
from core.deep.state import Coverage, DeepState, settled
from core.evidence.authority import is_retracted
from core.llm.prices import estimate_tokens
from core.model.answer import ResearchAnswer
from core.model.ports import ChatRequest
from core.model.source import SearchMetadata, Source, SourceCollection, all_searches
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
from core.text.passages import Passage, split_passages
from core.text.saying import say

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
    return [f"Some facts were read for earlier questions, on {', '.join(days)}."] if days else []


def _retractions(retracted: Sequence[Source]) -> list[str]:
    return [f"Source {source.number} was retracted or withdrawn and supports nothing here." for source in retracted]


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

    return Script(passages, request)


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
