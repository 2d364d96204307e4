"""Small real classes that stand in for the outside, and a job's `Deps` made of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from adapters.chat.live import LiveAnswers
from adapters.chat.reply import ChatReply
from adapters.records.cache import MemoryLimits, SqlAnswerCache, SqlReuseStore
from adapters.records.deliveries import SqlMessages, SqlWatches
from adapters.records.jobs import (
    SqlEvaluations,
    SqlEventLog,
    SqlJobMemo,
    SqlJobStore,
    SqlSourceStore,
)
from adapters.records.library import SqlLibrary
from adapters.records.sql import Tables
from adapters.records.traces import SqlTraceStore
from core.evidence.control import CONTROLS, controls_of
from core.evidence.judge import Pair
from core.model.answer import ModelUsage
from core.model.codec import decode, encode
from core.model.config import SearchSettings, Settings
from core.model.errors import FetchError, PageStatus, StoreError
from core.model.job import LOCAL, Attachment, AttachmentUnreadable, JobStatus, ResearchJob, ResearchRequest, Scope
from core.model.ports import ChatDelta, ChatModel, ChatRequest, Measurement, ProviderStrength, job_id_var
from core.model.source import Page, SearchHit, SearchQuery, Source, SourceMetadata
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.tool_traces import TraceEntry
from core.pipeline.tracing import Tracer, open_tracer
from core.stages.intake import parse_intent
from core.tenancy.usage import Period, Usage, UsageKey
from tests.records import BOX, SCRATCH, MemoryTables

T = TypeVar("T")

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
AT_ONCE = Settings(search=SearchSettings(again_after_s=0.0))  # no test waits for an outage to end


def now() -> datetime:
    return NOW


@dataclass
class Clock:
    """A clock that stands until it is set."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


class Ticking:
    """A clock that is a `step` later each time it is asked."""

    def __init__(self, step: timedelta = timedelta(milliseconds=1)) -> None:
        self._now, self._step = NOW, step

    def __call__(self) -> datetime:
        self._now += self._step
        return self._now


@dataclass
class FakeSearch:
    """A provider that answers with its hits, fails with its error, or never answers."""

    name: str
    hits: Sequence[SearchHit] = ()
    error: Exception | None = None
    strength: ProviderStrength = "factual"
    hangs: bool = False
    asked: list[SearchQuery] = field(default_factory=list)

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        self.asked.append(query)
        if self.hangs:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return self.hits[:limit]


@dataclass
class FakePages:
    """Pages by address; what is not here is a 404, and an error is raised."""

    pages: Mapping[str, str | FetchError] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    known: list[Page | None] = field(default_factory=list)

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        self.fetched.append(url)
        self.known.append(known)
        found = self.pages.get(url)
        if isinstance(found, FetchError):
            raise found
        if found is None:
            raise PageStatus(url, 404)
        return Page(url=url, title="", text=found, read_at=NOW)


class FakeReader:
    """Takes the bytes of every file for its text; a file without any cannot be read."""

    async def read(self, name: str, media_type: str, content: bytes) -> Attachment:
        if not content:
            raise AttachmentUnreadable(f"empty: {name}", user_message=f"I could not read {name}: it is empty.")
        return Attachment(name, media_type, name, content.decode())


def is_control(text: str) -> bool:
    """Whether an item of a check, or the whole of one asked by itself, is a false sentence that tries the judge."""
    asked = re.findall(r"<claim>(.*)</claim>\n<passage>(.*)</passage>\s*(?:</item>|\Z)", text)
    asked += [(claim, passage) for passage, claim in re.findall(r"\ADocument: (.*)\nClaim: (.*)\Z", text)]
    return any(control.claim in text for control in CONTROLS) or any(
        controls_of([Pair("", (passage,))])[0][0] == Pair(claim, (passage,)) for claim, passage in asked
    )


def by_words(request: ChatRequest, told: Callable[[str, str], str] = lambda item, verdict: verdict) -> str:
    """A judge that counts: supported with nine of ten words, in part with six; and every text answers.

    `told` may say otherwise of an item, given its verdict.
    """
    if request.schema_name == "answers":
        return json.dumps({"answers": "yes", "reason": ""})
    verdicts: dict[int, tuple[str, str]] = {}
    for number, item in enumerate(request.user.split("<item ")[1:], start=1):
        claim = _words("".join(re.findall(r"<claim>(.*?)</claim>", item, re.DOTALL)))
        said = _words(" ".join(re.findall(r"<passage>(.*?)</passage>", item, re.DOTALL)))
        share = len(claim & said) / max(len(claim), 1)
        verdict = "supported" if share >= 0.9 else "partial" if share >= 0.6 else "unsupported"
        verdict = told(item, "contradicted" if is_control(item) else verdict)
        verdicts[number] = verdict, "" if verdict == "supported" else f"{share:.0%} of it"
    return verdicts_json(verdicts)


def verdicts_json(verdicts: Mapping[int, tuple[str, str]]) -> str:
    """A judge's answer: verdict and reason by the number of the item, as short as structured output is."""
    why = [f"{number}: {reason}" for number, (_, reason) in verdicts.items() if reason]
    said: dict[str, object] = {str(number): verdict for number, (verdict, _) in verdicts.items()}
    return json.dumps({**said, "why": why}, separators=(",", ":"), ensure_ascii=False)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{3,}", text.casefold()))


@dataclass
class FakeModel:
    """A model that answers by purpose with text, an error, or several in turn; streams in small pieces.

    Where `answers` has no `check` it judges by the words that claim and passage share.
    """

    answers: Mapping[str, object]
    name: str = "fake-1"
    asked: list[ChatRequest] = field(default_factory=list)
    hangs_after: int | None = None  # pieces

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        self.asked.append(request)
        turn = len(self.calls(_purpose_of(request))) - 1
        if request.schema_name == "answers" or (request.purpose == "check" and "check" not in self.answers):
            answer: object = self.answers.get("answers", by_words)
        else:
            answer = self.answers[request.purpose]
        if isinstance(answer, list):
            answer = answer[min(turn, len(answer) - 1)]
        if isinstance(answer, Exception):
            raise answer
        text = answer(request) if callable(answer) else str(answer)
        for place, start in enumerate(range(0, len(text), 12)):
            if self.hangs_after is not None and place >= self.hangs_after and request.purpose == "answer":
                await asyncio.Event().wait()
            yield ChatDelta(text[start : start + 12])
        yield ChatDelta(usage=ModelUsage(len(request.user) // 4, len(text) // 4))

    def calls(self, purpose: str) -> list[ChatRequest]:
        """Those of one purpose; whether an answer answers is asked besides, as `answers`."""
        return [call for call in self.asked if _purpose_of(call) == purpose]


def _purpose_of(call: ChatRequest) -> str:
    return "answers" if call.schema_name == "answers" else call.purpose


class Idle:
    """A queue that only remembers."""

    def __init__(self) -> None:
        self.enqueued: list[str] = []

    async def enqueue(self, job: ResearchJob) -> None:
        self.enqueued.append(job.id)

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        return None


@dataclass
class Journal:
    """`Steps` that keep what finished as JSON, as a durable runner does; the worker dies before or after `dies_in`."""

    kept: dict[str, str] = field(default_factory=dict)
    dies_in: str = ""
    dies_after: bool = False
    ran: list[str] = field(default_factory=list)

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        if name not in self.kept:
            if name == self.dies_in and not self.dies_after:
                raise Died(name)
            self.ran.append(name)
            value = encode(await step())
            if name == self.dies_in:
                raise Died(name)
            self.kept[name] = value
        return decode(self.kept[name], returns)


class Died(BaseException):
    """The worker was killed: nothing catches it."""


@dataclass
class Ledger:
    """Keeps what it is given to record."""

    kept: list[Measurement] = field(default_factory=list)

    def __call__(self, measurement: Measurement) -> None:
        self.kept.append(measurement)

    def values(self, name: str, label: str | None = None) -> list[float]:
        return [entry.value for entry in self.kept if entry.name == name and label in (None, entry.label)]


def hit(
    url: str, text: str = "", *, title: str = "", rank: int = 0, provider: str = "web", **more: object
) -> SearchHit:
    return replace(SearchHit(provider, url, title or url, text, rank=rank), **more)  # type: ignore[arg-type]


def make_source(number: int, content: str, *, url: str = "", title: str = "", **metadata: object) -> Source:
    address = url or f"https://site{number}.example/page"
    domain = address.split("/")[2] if "://" in address else ""
    return Source(
        id=f"src_{number}",
        url=address,
        title=title or f"Page {number}",
        content=content,
        content_hash=str(hash(content)),
        read_at=NOW,
        metadata=replace(SourceMetadata(domain, len(content.split()), "web"), **metadata),  # type: ignore[arg-type]
    )


def make_job(query: str, *, id: str = "job_1", scope: Scope = LOCAL, **request: object) -> ResearchJob:
    asked = replace(ResearchRequest(query, scope=scope), **request)  # type: ignore[arg-type]
    return ResearchJob(id, asked, parse_intent(query), JobStatus.PENDING, NOW)


def make_deps(
    *,
    search: Iterable[FakeSearch] = (),
    pages: Mapping[str, str | FetchError] | None = None,
    model: ChatModel | None = None,
    settings: Settings | None = None,
    clock: Callable[[], datetime] = now,
    tables: Tables | None = None,
) -> Deps:
    """Its stores lie in memory, over `tables` if they are given."""
    ids = iter(range(1, 10_000))
    kept = tables or MemoryTables()
    return Deps(
        providers={provider.name: provider for provider in search},
        pages=FakePages(pages or {}),
        jobs=SqlJobStore(kept),
        sources=SqlSourceStore(kept),
        events=SqlEventLog(kept, clock=clock),
        memo=SqlJobMemo(kept),
        traces=SqlTraceStore(kept),
        messages=SqlMessages(kept, BOX, clock=clock),
        read_attachment=FakeReader().read,
        evaluations=SqlEvaluations(kept),
        watches=SqlWatches(kept, BOX, clock=clock),
        library=SqlLibrary(kept, SCRATCH),
        cache=SqlAnswerCache(kept, clock=clock),
        limits=MemoryLimits(clock=clock),
        reuse=SqlReuseStore(kept, clock=clock),
        record=Ledger(),
        clock=clock,
        new_id=lambda: f"job_{next(ids)}",
        settings=settings or AT_ONCE,
        model=model,
    )


class MemoryTraceLog:
    """A `TraceStore`; with an error every append fails."""

    def __init__(self, error: StoreError | None = None) -> None:
        self.kept: dict[str, list[TraceEntry]] = {}
        self.error = error

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None:
        if self.error:
            raise self.error
        self.kept.setdefault(job_id, []).extend(entries)

    async def read(self, job_id: str) -> list[TraceEntry]:
        return self.kept.get(job_id, [])


@asynccontextmanager
async def tracing(log: MemoryTraceLog, job_id: str = "job_1", **more) -> AsyncIterator[Tracer]:
    """A tracer, within the run of a job."""
    token = job_id_var.set(job_id)
    try:
        async with open_tracer(log, clock=now, **more) as tracer:
            yield tracer
    finally:
        job_id_var.reset(token)


@dataclass
class KeptUsage:
    """A `CountUsage` over entries by tenant and day; what a day or a tenant has is their sum."""

    entries: Sequence[Usage] = ()
    asked: list[tuple[Period, str, UsageKey]] = field(default_factory=list)

    async def __call__(self, period: Period, tenant: str = "", by: UsageKey = "tenant and day") -> list[Usage]:
        self.asked.append((period, tenant, by))
        sums: dict[tuple[str, str], Usage] = {}
        for entry in self.entries:
            if tenant not in ("", entry.tenant):
                continue
            key = ("" if by == "day" else entry.tenant, "" if by == "tenant" else entry.day)
            before = sums.get(key, Usage(*key))
            numbers = {name: getattr(before, name) + getattr(entry, name) for name in _SUMMED}
            sums[key] = replace(before, **numbers, p50_s=entry.p50_s, p95_s=entry.p95_s)
        return [sums[key] for key in sorted(sums)]


_SUMMED = [one.name for one in fields(Usage) if one.name not in ("tenant", "day", "p50_s", "p95_s")]


async def answered_in(
    live: LiveAnswers[T], researcher: Researcher, request: ResearchRequest, reply: ChatReply[T], key: str
) -> ResearchJob | None:
    """As a chat platform has a question answered; None when it was refused, or is answered elsewhere already."""
    known = await live.known(request.scope, key)
    return await delivered_in(live, partial(researcher.submit, request, dedupe_key=key), reply, known=known)


async def delivered_in(
    live: LiveAnswers[T], submit: Callable[[], Awaitable[ResearchJob]], reply: ChatReply[T], *, known: bool = False
) -> ResearchJob | None:
    """So, too, for a job that `submit` makes."""
    job = await live.accept(submit, reply, known=known)
    if job is not None:
        await asyncio.shield(live.follow(job, reply))
    return job
