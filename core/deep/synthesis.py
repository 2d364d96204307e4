"""Step 4: an answer to every item from where its facts stand, checked as every answer is (S002-12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.answer import ResearchAnswer
from core.deep.framing import checklist_frame, facts_frame, question_frame
from core.deep.searching import known_sources
from core.deep.state import Coverage, DeepState
from core.llm import estimate_tokens
from core.modes.mode import Work
from core.passages import Passage, split_passages
from core.ports import ChatRequest
from core.prompts import load_prompt
from core.quality import is_retracted
from core.source import SearchMetadata, Source, SourceCollection
from core.stages.prompting import ANSWER_SCHEMA, Script, format_sources, language_name, passage_tokens
from core.stages.synthesize import answer_question

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
    return replace(answer, limitations=(*gaps(state), *_earlier(state), *_retractions(retracted), *answer.limitations))


def gaps(state: DeepState) -> list[str]:
    """A sentence for each item that is not fully covered."""
    sentences: list[str] = []
    for item in state.checklist:
        missing = f" Missing: {item.missing.rstrip('.')}." if item.missing else ""
        if item.coverage is Coverage.UNSATISFIED:
            sentences.append(f"Not found: {item.description.rstrip('.')}.{missing}")
        elif item.coverage is Coverage.PARTIAL:
            sentences.append(f"Only partly found: {item.description.rstrip('.')}.{missing}")
    return sentences


def gathered(state: DeepState) -> SearchMetadata:
    """All rounds' searches as one. A provider failed when it never gave anything."""
    used = {name: None for search in state.searches for name in search.providers_used}
    failures = {name: reason for search in state.searches for name, reason in search.failures.items()}
    return SearchMetadata(
        queries_executed=tuple(dict.fromkeys(query for round_ in state.rounds for query in round_.queries)),
        providers_used=tuple(used),
        total_results=sum(search.total_results for search in state.searches),
        fetch_duration_s=sum(search.fetch_duration_s for search in state.searches),
        failures={name: reason for name, reason in failures.items() if name not in used},
        pages_read=sum(search.pages_read for search in state.searches),
        pages_failed=sum(search.pages_failed for search in state.searches),
        notes=tuple(dict.fromkeys(note for search in state.searches for note in search.notes)),
    )


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
        )

    return Script(passages, request)


def _passages(state: DeepState, sources: Sequence[Source], *, max_tokens: int) -> dict[str, list[Passage]]:
    """Where the facts stand, one of each item in turn until the budget is used, in reading order."""
    by_id = {source.id: source for source in sources}
    chosen: dict[str, list[Passage]] = {}
    for number in _in_turn(state):
        fact = state.fact(number)
        source = by_id.get(fact.evidence.source_id) if fact else None
        if fact is None or source is None:
            continue
        for passage in _around(source, fact.evidence.start, fact.evidence.end):
            cost = passage_tokens(passage.text) + (0 if source.id in chosen else _OPENING_TOKENS)
            if cost <= max_tokens and passage not in chosen.get(source.id, []):
                chosen.setdefault(source.id, []).append(passage)
                max_tokens -= cost
    return {source_id: sorted(own, key=lambda passage: passage.start) for source_id, own in chosen.items()}


def _in_turn(state: DeepState) -> list[int]:
    """The numbers of the facts: each item's first, each item's second, …, then those of no item."""
    columns: Mapping[str, tuple[int, ...]] = {item.id: item.facts for item in state.checklist}
    longest = max(map(len, columns.values()), default=0)
    ordered = [numbers[place] for place in range(longest) for numbers in columns.values() if place < len(numbers)]
    return list(dict.fromkeys([*ordered, *(fact.number for fact in state.facts)]))


def _around(source: Source, start: int, end: int) -> list[Passage]:
    return [
        passage for passage in split_passages(source.trusted_content) if passage.start < end and passage.end > start
    ]
