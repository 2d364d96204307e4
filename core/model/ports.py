"""The seams between research and the outside: one role each, one to three methods.

Adapters implement these; nothing here knows a vendor. Every method that can fail raises an error
of core/model/errors.py and passes `CancelledError` through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.model.answer import JobResult, ModelUsage
from core.model.job import Attachment, Depth, Event, EventType, Json, ResearchJob, Scope, Steering
from core.model.source import Page, SearchHit, SearchQuery, Source

T = TypeVar("T")
Vector = NDArray[np.float32]

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


WEB_SEARCH = "web_search"  # the name, as a provider, of a model's own search


ProviderStrength = Literal["factual", "conceptual", "reference", "scholarly", "files"]


class SearchProvider(Protocol):
    """A place to search. `name` is its word in `GORKD_PROVIDERS`; `strength` is what the plan picks it for."""

    @property
    def name(self) -> str: ...

    @property
    def strength(self) -> ProviderStrength: ...

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        """At most `limit` hits, best first. Raises `ProviderError`; an empty list is an answer."""


def unread(part: object, scope: Scope) -> str:
    """In a sentence what a search of now lacks of documents that are read beforehand; "" for nothing."""
    told: Callable[[Scope], str] | None = getattr(part, "unread", None)
    return told(scope) if told else ""


class PageFetcher(Protocol):
    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        """The readable page behind `url`. Raises `FetchError`.

        `known` is the page as it was read before; it is given back, as read now, where its server says it is the same.
        """


@dataclass(frozen=True)
class Tool:
    """A function that the model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True)
class ToolCall:
    """`arguments` is JSON as the model wrote it: it may be broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolTurn:
    """What the model called, and what it was told in return, one text a call."""

    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class ChatRequest:
    """One model call with structured output, or with `tools`, which the model may call or not.

    `schema` is a strict JSON schema named `schema_name`; without one the answer is plain text. `purpose` (`plan`,
    `answer`, `check`) names the call in traces and metrics. `timeout_s` bounds the whole call. With `tools` the answer
    is plain text and the schema is not sent; `turns` are what was called so far, oldest first.

    `temperature` is 0…2, the endpoint's own where it is None. `in_words` states the schema in the prompt and asks the
    endpoint for nothing, as after an answer that could not be read. `accepts` says whether a finished text is of use:
    what is not is never remembered (core/llm/ask_model.py).
    """

    purpose: str
    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Json]
    max_tokens: int
    timeout_s: float
    tools: tuple[Tool, ...] = ()
    turns: tuple[ToolTurn, ...] = ()
    temperature: float | None = None
    in_words: bool = False
    accepts: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ChatDelta:
    """A piece of a streamed answer, never of what the model thought before it.

    The last one carries `usage`, the tools that the model calls, whether the answer was cut at `max_tokens`, and
    `notes`: what people should know of how it was asked, such as sources left out for want of room.
    """

    text: str = ""
    usage: ModelUsage | None = None
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    notes: tuple[str, ...] = ()


class ChatModel(Protocol):
    """A language model. `name` is the model's own name, e.g. for the price table."""

    @property
    def name(self) -> str: ...

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        """The answer's JSON text piece by piece. Raises `ModelError`, `ToolsUnsupported` where tools are not taken."""


@dataclass(frozen=True)
class FoundPage:
    """An address that a model's own web search gave, unread and unchecked; `title` is "" where it gave none."""

    url: str
    title: str = ""


@dataclass(frozen=True)
class SearchedText:
    """What a model wrote from its own web search, the pages it found or cites, and what it searched for."""

    text: str
    pages: tuple[FoundPage, ...] = ()
    queries: tuple[str, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)


class WebSearchModel(Protocol):
    """A language model that searches the web while it writes."""

    @property
    def name(self) -> str: ...

    async def search_and_write(self, request: ChatRequest, *, depth: Depth) -> SearchedText:
        """At depth `deep` it takes in more of what it finds. The schema of the request is not used.

        Raises `ModelError`, `WebSearchUnavailable` where it cannot search.
        """


class EmbeddingModel(Protocol):
    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Unit-length vectors of one dimension, one a text. Raises `ModelError`."""


class JobStore(Protocol):
    """Jobs, their results, and what people give them besides the question, durable. A write raises `StoreError`."""

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        """Insert or replace by id; with a `dedupe_key` already stored in the job's scope, return that job unchanged."""

    async def get(self, job_id: str) -> ResearchJob:
        """Raises `JobNotFound`."""

    async def finish(self, job: ResearchJob, result: JobResult) -> None:
        """Store a terminal status and its result together. Raises `StaleAttempt` below the stored attempt."""

    async def result(self, job_id: str) -> JobResult | None: ...

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        """The scope's jobs, newest first."""

    async def asked(self, scope: Scope, dedupe_key: str) -> ResearchJob | None:
        """The job that was saved with this key in this scope."""

    async def in_thread(self, scope: Scope, thread: str, *, before: datetime, limit: int) -> list[ResearchJob]:
        """The jobs of a conversation that were asked before a time, whatever became of them, newest first."""

    async def asked_by(self, tenant: str, asker: str, *, limit: int) -> list[ResearchJob]:
        """One person's own jobs in a tenant, newest first, of all visibilities: for that person's eyes only."""

    async def unfinished(self, *, limit: int) -> list[ResearchJob]:
        """Jobs of all scopes without a terminal status, oldest first: for who runs them, never for who asks."""

    async def backlog(self) -> tuple[int, int]:
        """How many jobs wait for a worker, and how many have begun and not ended."""

    async def attach(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        """Keep all files that were given with a job, at once; again replaces them. Raises `JobNotFound`."""

    async def attached(self, job_id: str) -> list[Attachment]:
        """In the order given."""

    async def steer(self, job_id: str, steering: Steering) -> int:
        """Keep what was said to a running job; its number, from 1. Raises `StoreError` when the job is not stored."""

    async def steered(self, job_id: str, *, after: int = 0) -> list[Steering]:
        """Everything said after number `after`."""


class JobMemo(Protocol):
    """What a job has paid for, by key: search results, pages, model answers. A step that runs again finds it here."""

    async def get(self, job_id: str, key: str) -> str | None: ...

    async def put(self, job_id: str, key: str, text: str) -> None:
        """Keep `text`; the same key again replaces it. Raises `StoreError`."""

    async def clear(self, job_id: str) -> None:
        """Drop all of a job that has ended."""


class SourceStore(Protocol):
    """The sources of a job with their full text."""

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None: ...

    async def sources(self, job_id: str) -> list[Source]:
        """In the order shown to people; empty when none were found."""


class EventLog(Protocol):
    """The replayable log of each job."""

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        """Raises `StaleAttempt` when a newer attempt has appended."""

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]: ...

    def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Past events, then new ones as they come; ends after `complete`."""


@dataclass(frozen=True)
class SimilarAnswer:
    """An earlier answer whose question lies near; `similarity` is the cosine, −1…1."""

    job_id: str
    answered_at: datetime
    similarity: float


@dataclass(frozen=True)
class KeptAnswer:
    """What a cache holds of one answer: whose it is and until when, never the question itself."""

    job_id: str
    scope: Scope
    created_at: datetime
    expires_at: datetime


class AnswerCache(Protocol):
    """Finished answers by exact key and by meaning, each within its scope. It keeps job ids, no texts."""

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        """The id of the job that answered and when; None when there is none that is still fresh."""

    async def put(
        self, scope: Scope, key: str, job_id: str, *, ttl: timedelta, group: str = "", vector: Vector | None = None
    ) -> None:
        """Only answers of one `group` have comparable questions, and vectors of one dimension."""

    async def similar(
        self, scope: Scope, group: str, vector: Vector, *, limit: int, at_least: float
    ) -> list[SimilarAnswer]:
        """At most `limit` fresh answers with a cosine of `at_least`, nearest first."""

    async def kept(self, *, tenant: str = "") -> list[KeptAnswer]:
        """Fresh answers of a tenant, or of all, newest first."""

    async def drop(self, job_ids: Sequence[str]) -> int:
        """Let go of these jobs' answers; how many went. The jobs stay."""


class ReuseStore(Protocol):
    """What was found and read in public places, for any job of any scope. Never raises; a failure is a miss."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None: ...

    async def clear(self) -> int:
        """Drop everything; how many entries went. Raises `StoreError`."""


class Turns(Protocol):
    """What one process at a time may do, among all that share the records. Raises `StoreError`."""

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        """Whether it is `holder`'s turn now. A turn that is not given back ends after `ttl`."""

    async def keep(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        """Prolong a turn that nobody has taken since; whether it was, and is, `holder`'s."""

    async def give_back(self, name: str, holder: str) -> None: ...


class JobQueue(Protocol):
    async def enqueue(self, job: ResearchJob) -> None:
        """Idempotent by job id. Raises `QueueFull`."""

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        """How many jobs must begin before this one does; None for one that runs, has ended or is not known."""


async def warm_up(part: object) -> None:
    """Load now what is slow to load, such as an SDK, where `part` has such."""
    load: Callable[[], Awaitable[None]] | None = getattr(part, "warm_up", None)
    if load:
        await load()


# Signs of life of the workers, so that the jobs of one that has gone silent can be taken up by another


class Heartbeats(Protocol):
    """One row a worker, with its own clock's time. Each method raises `StoreError`."""

    async def beat(self, worker_id: str, now: datetime) -> None:
        """`worker_id` is alive at `now`, also when that is earlier than its last beat."""

    async def beats(self) -> dict[str, datetime]:
        """Each worker's last beat."""

    async def forget(self, worker_id: str) -> None:
        """It has ended in good order, or its jobs are taken care of."""


# What the core measures, as frozen records handed to one hook; a backend is an adapter's business. Also the job's id
# for log lines: whatever is logged while a job runs carries it.


job_id_var: ContextVar[str] = ContextVar("job_id", default="")

MeasurementName = Literal[
    "pipeline_stage_duration_seconds",  # label: stage
    "search_provider_latency_seconds",  # label: provider
    "llm_tokens_used",  # label: model; value is tokens of one call
    "llm_cost_usd",  # label: model; value is dollars of one call
    "jobs_waiting",  # value is how many jobs wait for a worker now
    "jobs_running",  # value is how many jobs are being worked on now
    "jobs_resumed",  # value 1 for a job that a crash or a stop had interrupted
    "cache_lookup",  # value 1 for a hit, 0 for a miss; shown as cache_hit_rate
    "source_fetch",  # value 1 for a page read, 0 for one that failed; shown as source_fetch_success_rate
    "ratings",  # label: good or bad; value 1
    "errors",  # label: stage:type; value 1
]


@dataclass(frozen=True)
class Measurement:
    """`label` is the one dimension the name has ("" if none); seconds are seconds, counts are counts."""

    name: MeasurementName
    value: float
    label: str = ""


Record = Callable[[Measurement], None]  # takes note of a figure; never raises and never waits


def record_nothing(measurement: Measurement) -> None:
    """For callers that want no figures."""
