"""Finished jobs that every interface renders, and a researcher that replays them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast

from adapters.chat.connecting import ChatDeps
from adapters.chat.live import ChatTurns
from core.model.answer import (
    Citation,
    Claim,
    Confidence,
    Conflict,
    ConflictPosition,
    Evidence,
    JobResult,
    RemovedSentence,
    ResearchAnswer,
    SynthesisMetadata,
    Verdict,
)
from core.model.errors import GorkdError, JobNotFound
from core.model.job import (
    LOCAL,
    Attachment,
    Event,
    EventType,
    JobError,
    JobStatus,
    Json,
    QueryIntent,
    QuestionType,
    ResearchJob,
    ResearchRequest,
    Scope,
    Steering,
)
from core.model.source import Source, SourceKind, SourceMetadata, SourceScores
from core.modes.mode import Mode
from core.presentation.page_links import PageLinks
from core.presentation.render import job_json
from core.tenancy.forgetting import Tenancy
from core.watch.desk import WatchDesk

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
LINKS = PageLinks("https://gorkd.test", (b"a key of thirty-two bytes or more",), lambda: NOON)
QUESTION = "How tall is the Eddystone lighthouse?"

_TEXTS = {
    "src_1": "The present tower was finished in 1882. It is 49 metres tall and built of granite blocks.",
    "src_2": "Smeaton's tower stood until the rock gave way. The fourth tower rises about 49 m above the sea.",
    "src_3": "Visitors often say the light is 51 metres high, counting the helipad added in 1980.",
}


def source(number: int, *, url: str, title: str, domain: str, **changes: object) -> Source:
    """A source with the text of its number; `changes` replace fields of `Source`."""
    text = _TEXTS.get(f"src_{number}", "Nothing of note.")
    made = Source(
        id=f"src_{number}",
        url=url,
        title=title,
        content=text,
        content_hash=f"{number:064x}",
        read_at=NOON,
        metadata=SourceMetadata(
            domain, len(text.split()), "tavily", SourceKind.UNKNOWN, datetime(2024, 5, 1, tzinfo=UTC)
        ),
        scores=SourceScores(0.9 - number / 10, 0.5, 0.5, 0.5, 0.7),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


SOURCES = [
    source(1, url="https://trinity.example/eddystone", title="Eddystone Lighthouse", domain="trinity.example"),
    source(2, url="https://towers.example/history?id=4", title="Four towers on one rock", domain="towers.example"),
    source(3, url="https://travel.example/light", title="Day trips: the light", domain="travel.example"),
    source(4, url="https://shop.example/mugs", title="Lighthouse mugs", domain="shop.example"),
]


def _evidence(source_id: str, quote: str, verdict: Verdict) -> Evidence:
    start = _TEXTS[source_id].index(quote)
    return Evidence(source_id, quote, start, start + len(quote), verdict)


_TALL = _evidence("src_1", "It is 49 metres tall and built of granite blocks.", Verdict.SUPPORTED)
_ABOUT = _evidence("src_2", "The fourth tower rises about 49 m above the sea.", Verdict.PARTIAL)
_HELIPAD = _evidence("src_3", "counting the helipad added in 1980", Verdict.MOVED)

ANSWER = ResearchAnswer(
    summary="The Eddystone lighthouse is 49 metres tall [1][2].",
    detail="The tower is the fourth on its rock [2].\n\n- A helipad was added in 1980 [3].\n- It is built of granite.",
    confidence=Confidence.MEDIUM,
    confidence_reasons=("3 independent sources", "2 of 3 claims supported", "1 conflict"),
    corroborating=3,
    citations=(
        Citation("The Eddystone lighthouse is 49 metres tall", "src_1", _TALL.quote, Verdict.SUPPORTED, 40, 89),
        Citation("The Eddystone lighthouse is 49 metres tall", "src_2", _ABOUT.quote, Verdict.PARTIAL, 57, 105),
        Citation("The tower is the fourth on its rock", "src_2", None, Verdict.UNCHECKED),
        Citation("A helipad was added in 1980", "src_3", _HELIPAD.quote, Verdict.MOVED, 48, 82),
    ),
    claims=(
        Claim("summary-0", "The Eddystone lighthouse is 49 metres tall.", Verdict.SUPPORTED, (_TALL, _ABOUT)),
        Claim("detail-0", "The tower is the fourth on its rock.", Verdict.UNCHECKED),
        Claim("detail-1", "A helipad was added in 1980.", Verdict.MOVED, (_HELIPAD,)),
    ),
    limitations=("newest source is from May 2024", "shop.example: disallowed by robots.txt"),
    conflicts=(
        Conflict(
            "height of the tower",
            (
                ConflictPosition("49 metres", "src_1", "2024-05-01", _TALL.quote),
                ConflictPosition("51 metres", "src_3", "", "Visitors often say the light is 51 metres high"),
            ),
        ),
    ),
    removed=(RemovedSentence("It was painted green in 1990.", "no source says it"),),
    metadata=SynthesisMetadata("gpt-test", 5120, 3.2, 4500, 620, 2, 0.004),
)

RESULT = JobResult(
    ANSWER,
    tuple(one.id for one in SOURCES),
    duration_s=12.34,
    sources_considered=15,
    queries=("eddystone lighthouse height", "eddystone tower metres"),
    providers=("tavily", "wikipedia"),
)

PENDING = ResearchJob(
    "job_0123456789abcdef0123456789abcdef",
    ResearchRequest(QUESTION, LOCAL),
    QueryIntent(QuestionType.FACTUAL),
    JobStatus.PENDING,
    NOON,
)
RUNNING = replace(PENDING, id="job_running", status=JobStatus.SEARCHING)
COMPLETED = replace(PENDING, status=JobStatus.COMPLETED, completed_at=NOON)
FAILED = replace(
    COMPLETED,
    id="job_failed",
    status=JobStatus.FAILED,
    error=JobError("LLM_FAILED", "The language model did not answer; please retry.", retryable=True),
)
GERMAN, FRENCH = (  # the same answer to a question in another language
    replace(COMPLETED, intent=replace(COMPLETED.intent, language=code)) for code in ("de", "fr")
)
CANCELLED = replace(COMPLETED, id="job_cancelled", status=JobStatus.CANCELLED)
INSUFFICIENT = replace(COMPLETED, id="job_insufficient")
INSUFFICIENT_RESULT = JobResult(
    ResearchAnswer(
        "I couldn't find reliable sources that answer this.",
        "",
        Confidence.INSUFFICIENT,
        limitations=("wikipedia: connection refused",),
    ),
    duration_s=0.8,
    queries=("eddystone",),
    providers=("files",),
)


def events_of(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> list[Event]:
    """What such a job tells its followers."""
    told: list[tuple[EventType, dict[str, Json]]] = [
        ("status", {"stage": "planning", "message": "Planning the search", "progress": 0.1, "data": {}}),
        ("status", {"stage": "searching", "message": "Searching tavily", "progress": 0.3, "data": {}}),
    ]
    told += [
        ("source", {"id": one.id, "url": one.url, "title": one.title, "domain": one.metadata.domain, "provider": "x"})
        for one in sources
    ]
    if result and result.answer:
        told.append(
            (
                "answer",
                {"section": "summary", "id": "summary-0", "text": result.answer.summary, "verdict": "", "mark": ""},
            )
        )
    told.append(("complete", job_json(job, result, sources)))
    return [Event(seq, kind, job.attempt, NOON, said) for seq, (kind, said) in enumerate(told, start=1)]


@dataclass
class ScriptedResearcher:
    """Answers every question with the same finished job; `stalls` waits before the last event until cancelled."""

    finished: ResearchJob = COMPLETED
    outcome: JobResult | None = RESULT
    found: list[Source] = field(default_factory=lambda: list(SOURCES))
    refusal: GorkdError | None = None
    stalls: bool = False
    has_model: bool = True
    requests: list[ResearchRequest] = field(default_factory=list)
    dedupe_keys: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    steered: list[Steering] = field(default_factory=list)
    stalled: asyncio.Event = field(default_factory=asyncio.Event)

    @cached_property
    def watching(self) -> WatchDesk:
        """Nothing is watched."""
        from tests.fakes import make_deps  # which imports this file's neighbours

        return WatchDesk(make_deps())

    def can_research(self, mode: Mode) -> bool:
        return self.has_model or not mode.needs_model

    async def read_first(self, request: ResearchRequest, within_s: float, tell: Callable[[str], None]) -> None:
        """No documents are read beforehand."""

    async def read_attachment(self, name: str, media_type: str, content: bytes) -> Attachment:
        return Attachment(name, media_type, name, content.decode())

    async def submit(
        self, request: ResearchRequest, *, dedupe_key: str = "", attachments: Sequence[Attachment] = ()
    ) -> ResearchJob:
        if self.refusal:
            raise self.refusal
        request = replace(request, attachments=tuple(file.name for file in attachments))
        self.requests.append(request)
        self.dedupe_keys.append(dedupe_key)
        self.finished = replace(self.finished, request=request)
        return replace(self.finished, status=JobStatus.PENDING, completed_at=None, error=None)

    async def asked(self, dedupe_key: str, *, scope: Scope) -> ResearchJob | None:
        return None

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        for event in events_of(self.finished, self.outcome, self.found):
            if event.type == "complete" and self.stalls:
                self.stalled.set()
                await asyncio.Event().wait()
            if event.seq > after:
                yield event

    async def told(self, job_id: str) -> list[Event]:
        events = events_of(self.finished, self.outcome, self.found)
        return [event for event in events if not (self.stalls and event.type == "complete")]

    async def job(self, job_id: str) -> ResearchJob:
        if job_id != self.finished.id:
            raise JobNotFound(job_id)
        return self.finished

    async def tool_trace(self, job_id: str) -> None:
        return None

    async def conversation(self, job: ResearchJob) -> list[ResearchJob]:
        return []

    async def changes(self, job_id: str, *, scope: Scope) -> None:
        return None

    async def result(self, job_id: str) -> JobResult | None:
        return self.outcome

    async def sources(self, job_id: str) -> list[Source]:
        return self.found

    async def cancel(self, job_id: str) -> None:
        self.cancelled.append(job_id)
        self.finished = replace(self.finished, status=JobStatus.CANCELLED)

    async def steer(self, job_id: str, steering: Steering, *, scope: Scope) -> None:
        self.steered.append(steering)

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        return [self.finished] if self.finished.scope == scope else []


def chat_deps(researcher: ScriptedResearcher | None = None) -> ChatDeps:
    """Of a bot that speaks with nobody: it has no library, and nobody has it."""
    nothing = cast(Any, None)
    return ChatDeps(
        cast(Any, researcher or ScriptedResearcher()),
        LINKS,
        Tenancy(*[nothing] * 4),
        nothing,
        nothing,
        ChatTurns(),
        nothing,
    )
