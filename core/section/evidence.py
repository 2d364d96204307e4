"""`search_evidence`: cosine over every chunk, a summary in the query's light, a score, and the best of them (S001).

Summaries and scores are made for several candidates a call and several calls at a time. What a chunk means for a
query is kept for its place, so that no chunk is summarised twice for one query; what was asked in private with the job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from hashlib import sha256
from math import inf, isnan, nan
from typing import TypeVar

from core.library.funnel import Shelves, of_answering
from core.library.paper import Index, PaperChunk, SearchResult, StoredChunk
from core.llm.ask_model import ask_model, strict
from core.model.answer import ModelUsage
from core.model.codec import decode, encode
from core.model.config import SectionSettings
from core.model.errors import ModelError, ModelGarbled, ModelTimeout, StoreError
from core.model.job import Json, ResearchJob, rows
from core.model.ports import ChatModel, ChatRequest, Vector
from core.pipeline.deps import Deps
from core.prompts import load_prompt
from core.stages.cache import is_hidden
from core.stages.prompting import fenced
from core.text.growing_json import whole_number
from core.text.injection import masked
from core.text.saying import say

# What each phase of a section cost in tokens


class Phase(StrEnum):
    """Each is the `purpose` of its model calls."""

    SUMMARIES = "summaries"
    SCORES = "scores"
    AGENT = "agent"
    PROSE = "section"
    REPHRASE = "rephrase"
    CHECK = "check"


@dataclass(frozen=True)
class PhaseUsage:
    """One call of a phase."""

    phase: Phase
    usage: ModelUsage


def usage_by_phase(calls: Iterable[PhaseUsage]) -> dict[str, Json]:
    """Calls and tokens of each phase that had any."""
    rows: dict[str, Json] = {}
    known = list(calls)
    for phase in Phase:
        own = [call.usage for call in known if call.phase is phase]
        if own:
            rows[phase.value] = {
                "calls": len(own),
                "prompt_tokens": sum(usage.prompt_tokens for usage in own),
                "completion_tokens": sum(usage.completion_tokens for usage in own),
            }
    return rows


T = TypeVar("T")

NEUTRAL_SCORE = 0.5  # 0…1, of a passage that the model could not score: its nearness alone ranks it then
_BEGINNING_CHARS = 250


@dataclass(frozen=True)
class KeptEvidence:
    """A chunk with what it means for the query that found it (S001-20), without its paper's data and its embedding.

    `vector_score` is the cosine, −1…1, or BM25's rank, 0…1, where there is no embedder; `llm_score` is 0…1.
    """

    paper_id: str
    chunk: StoredChunk
    summary: str
    vector_score: float
    llm_score: float
    combined_score: float
    source_query: str

    @property
    def chunk_id(self) -> str:
        return f"{self.paper_id}#{self.chunk.chunk_index}"


@dataclass(frozen=True)
class Searched:
    """One search: how many candidates were looked at, how many of them could not be judged, and the best.

    It went `by_words` alone where the embedding model did not answer.
    """

    query: str
    is_custom: bool
    found: tuple[KeptEvidence, ...]
    candidates: int
    unjudged: int
    usage: tuple[PhaseUsage, ...]
    by_words: bool = False


@dataclass(frozen=True)
class ScoredSummary:
    """`score` is 0…1."""

    summary: str
    score: float


@dataclass(frozen=True)
class _Search:
    """What the parts of one search share."""

    job: ResearchJob
    query: str
    deps: Deps
    model: ChatModel
    limit: asyncio.Semaphore

    @property
    def settings(self) -> SectionSettings:
        return self.deps.settings.section

    def key(self, chunk: PaperChunk) -> str:
        """The same for one query, however it is spaced, one text and one model."""
        query = " ".join(self.query.casefold().split())
        text = "\x1f".join((self.model.name, query, chunk.chunk_id, chunk.chunk_text))
        return f"evidence:{sha256(text.encode('utf-8', 'replace')).hexdigest()}"


async def search_evidence(
    job: ResearchJob,
    query: str,
    shelves: Shelves,
    deps: Deps,
    model: ChatModel,
    *,
    known: Collection[str] = (),
    is_custom: bool = True,
    within_s: float = inf,
) -> Searched:
    """The best five to eight chunks for the query, other than those `known` by chunk id.

    A candidate that the model does not judge, or not `within_s`, is left out. Raises `ModelError` when it judges none,
    `StoreError`.
    """
    settings = deps.settings.section
    vector = await _vector(query, shelves, deps)
    candidates = await _candidates(query, vector, shelves, settings.top_k_initial, known)
    search = _Search(job, query, deps, model, asyncio.Semaphore(settings.concurrent_calls))
    kept = {entry.chunk.chunk_id: await _kept(search, entry.chunk) for entry in candidates}
    judged = {chunk_id: judgement for chunk_id, judgement in kept.items() if judgement is not None}
    missing = [entry.chunk for entry in candidates if entry.chunk.chunk_id not in judged]
    new, usage = await _judge(search, missing, within_s)
    judged.update(new)
    if candidates and not judged:
        raise ModelGarbled("no candidate was judged", user_message=say("The model judged none of the passages found."))
    found = [
        _evidence(entry, judged[entry.chunk.chunk_id], query) for entry in candidates if entry.chunk.chunk_id in judged
    ]
    best = tuple(select_final(found, settings))
    by_words = vector is None and shelves.embedder is not None
    return Searched(query, is_custom, best, len(candidates), len(candidates) - len(found), usage, by_words)


def select_final(found: Sequence[KeptEvidence], settings: SectionSettings) -> list[KeptEvidence]:
    """By combined score, the first `min_final`, and up to `top_k_final` as long as they are good (S001-19)."""
    ranked = sorted(found, key=lambda entry: -entry.combined_score)[: settings.top_k_final]
    return [
        entry
        for place, entry in enumerate(ranked)
        if place < settings.min_final or entry.combined_score >= settings.good_score
    ]


async def _vector(query: str, shelves: Shelves, deps: Deps) -> Vector | None:
    """None without an embedding model, and where it does not answer."""
    try:
        return (await shelves.embedder.embed([query]))[0] if shelves.embedder else None
    except ModelError as exc:
        deps.count_error("evidence", exc)
        return None


async def _candidates(
    query: str, vector: Vector | None, shelves: Shelves, top_k: int, known: Collection[str]
) -> list[SearchResult]:
    limit = top_k + len(known)  # all that are known may be among the first
    if vector is None:
        found = await shelves.library.matching(shelves.scopes, Index.CONTENT, query, limit=limit)
    else:
        found = await shelves.library.nearest(shelves.scopes, Index.CONTENT, vector, limit=limit)
        by_words = await shelves.library.matching(shelves.scopes, Index.CONTENT, query, limit=limit)
        found += [entry for entry in by_words if entry.chunk.embedding is None]
        found.sort(key=lambda entry: -entry.score)
    found = await of_answering(shelves, query, found)
    return [entry for entry in found if entry.chunk.chunk_id not in known][:top_k]


async def _kept(search: _Search, chunk: PaperChunk) -> ScoredSummary | None:
    try:
        deps, key = search.deps, search.key(chunk)
        is_shared = not is_hidden(search.job)
        text = await (deps.library.reading(search.job.scope, key) if is_shared else deps.memo.get(search.job.id, key))
        return decode(text, ScoredSummary) if text is not None else None
    except StoreError as exc:
        search.deps.count_error("evidence", exc)
        return None


async def _judge(
    search: _Search, chunks: Sequence[PaperChunk], within_s: float
) -> tuple[dict[str, ScoredSummary], tuple[PhaseUsage, ...]]:
    """By chunk id, all batches at once; a batch that fails costs its own chunks, all of them the search."""
    size = search.settings.chunks_per_call
    batches = [chunks[at : at + size] for at in range(0, len(chunks), size)]
    outcomes = await _ended(within_s, [_judge_batch(search, batch) for batch in batches])
    judged: dict[str, ScoredSummary] = {}
    usage: list[PhaseUsage] = []
    failures: list[ModelError] = []
    for outcome in outcomes:
        if isinstance(outcome, ModelError):
            search.deps.count_error("evidence", outcome)
            failures.append(outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            judged.update(outcome[0])
            usage += outcome[1]
    if failures and not judged:
        raise failures[0]
    return judged, tuple(usage)


async def _ended(within_s: float, calls: Sequence[Coroutine[object, object, T]]) -> list[T | BaseException]:
    """What the calls gave or raised, all at once; one that takes longer is broken off with a `ModelTimeout`."""
    tasks = [asyncio.create_task(call) for call in calls]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=None if within_s == inf else within_s)
        late = [task for task in tasks if task.cancel()]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    too_late = ModelTimeout(f"not judged in {within_s:g} s", user_message=say("The model judged no passage in time."))
    return [too_late if task in late else outcome for task, outcome in zip(tasks, outcomes, strict=True)]


async def _judge_batch(
    search: _Search, chunks: Sequence[PaperChunk]
) -> tuple[dict[str, ScoredSummary], list[PhaseUsage]]:
    """Where nothing readable is said, a passage's beginning stands for its summary, and its score is neutral."""
    summaries, summarised = await _ask(search, Phase.SUMMARIES, partial(_summary_request, search, chunks))
    named = {chunk.chunk_id: _text(summaries.get(number)) for number, chunk in enumerate(chunks, start=1)}
    told = [
        (chunk, text) for chunk in chunks if (text := named[chunk.chunk_id] or ("" if summaries else _beginning(chunk)))
    ]
    scores, scored = await _ask(search, Phase.SCORES, partial(_score_request, search, told)) if told else ({}, ())
    judged: dict[str, ScoredSummary] = {}
    for number, (chunk, summary) in enumerate(told, start=1):
        score = _score(scores.get(number)) if scores else NEUTRAL_SCORE
        if score is None:
            continue
        judged[chunk.chunk_id] = ScoredSummary(summary, score)
        if summaries and scores:
            await _keep(search, chunk, judged[chunk.chunk_id])
    usage = [PhaseUsage(Phase.SUMMARIES, spent) for spent in summarised]
    return judged, usage + [PhaseUsage(Phase.SCORES, spent) for spent in scored]


def _beginning(chunk: PaperChunk) -> str:
    text = " ".join(masked(chunk.chunk_text).split())
    return text[: text.find(". ", _BEGINNING_CHARS) + 1] or text[: 2 * _BEGINNING_CHARS]


async def _keep(search: _Search, chunk: PaperChunk, judgement: ScoredSummary) -> None:
    try:
        deps, key = search.deps, search.key(chunk)
        if is_hidden(search.job):
            await deps.memo.put(search.job.id, key, encode(judgement))
        else:
            await deps.library.keep_reading(search.job.id, chunk.paper.id, key, encode(judgement))
    except StoreError as exc:
        search.deps.count_error("evidence", exc)


async def _ask(
    search: _Search, phase: Phase, request: partial[ChatRequest]
) -> tuple[dict[int, Json], tuple[ModelUsage, ...]]:
    """What the model says of each numbered item; nothing where it could not be read twice. Raises `ModelError`."""

    def read(fields: Mapping[str, Json]) -> dict[int, Json] | None:
        found: dict[int, Json] = {}
        for row in rows(fields.get("items")):
            number = whole_number(row.get("number"))
            if number is not None:
                found.setdefault(number, row.get(_FIELDS[phase]))
        return found or None

    async with search.limit:
        told = await ask_model(search.model, request(), read)
    if told.unread:
        search.deps.count_error("evidence", told.unread)
    return told.value or {}, told.usage


_FIELDS: Mapping[Phase, str] = {Phase.SUMMARIES: "summary", Phase.SCORES: "score"}


def _summary_request(search: _Search, chunks: Sequence[PaperChunk]) -> ChatRequest:
    blocks = [
        f'<source id="{number}">\n{fenced(masked(chunk.chunk_text))}\n</source>'
        for number, chunk in enumerate(chunks, start=1)
    ]
    return _request(
        search, Phase.SUMMARIES, load_prompt("summarize_evidence").template, blocks, {"type": "string"}, tokens=130
    )


def _score_request(search: _Search, told: Sequence[tuple[PaperChunk, str]]) -> ChatRequest:
    blocks = [
        f'<source id="{number}">\nTitle: {fenced(masked(chunk.paper.title))}\n'
        f"Authors: {fenced(', '.join(chunk.paper.authors) or 'unknown')}\nSummary: {fenced(summary)}\n</source>"
        for number, (chunk, summary) in enumerate(told, start=1)
    ]
    return _request(search, Phase.SCORES, load_prompt("score_evidence").template, blocks, {"type": "number"}, tokens=30)


def _request(
    search: _Search, phase: Phase, system: str, blocks: Sequence[str], kind: Mapping[str, Json], *, tokens: int
) -> ChatRequest:
    """`tokens` is what one item's answer may take."""
    field = _FIELDS[phase]
    numbers: list[Json] = [*range(1, len(blocks) + 1)]
    item = strict({"number": {"type": "integer", "enum": numbers}, field: dict(kind)})
    return ChatRequest(
        purpose=phase.value,
        system=system,
        user="\n\n".join([*blocks, f"<query>\n{fenced(search.query)}\n</query>"]),
        schema_name=f"evidence_{phase.value}",
        schema=strict({"items": {"type": "array", "items": item, "maxItems": len(blocks)}}),
        max_tokens=60 + tokens * len(blocks),
        timeout_s=search.settings.call_timeout_s,
        temperature=0.0,
    )


def _text(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _score(value: Json) -> float | None:
    try:
        score = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else nan
    except ValueError:
        return None
    return None if isnan(score) else min(max(score, 0.0), 1.0)


def _evidence(found: SearchResult, judged: ScoredSummary, query: str) -> KeptEvidence:
    combined = VECTOR_WEIGHT * found.score + LLM_WEIGHT * judged.score
    scores, chunk = (found.score, judged.score, combined), StoredChunk.of(found.chunk)
    return KeptEvidence(found.chunk.paper.id, chunk, judged.summary, *scores, query)


VECTOR_WEIGHT, LLM_WEIGHT = 0.4, 0.6  # S001-19
