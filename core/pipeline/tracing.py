"""What a job did, step by step: stages, model calls, searches, page reads, each with its time and its price.

Core code does not know that it is watched: the recording wrappers below are put around the ports
where these are built. Tracing never fails a job and never makes it wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import perf_counter

from core.llm.prices import Prices, cost_usd, estimate_usage
from core.model.answer import ModelUsage
from core.model.errors import FetchError, GorkdError, ProviderError, StoreError, WebSearchUnavailable
from core.model.job import Depth, Scope
from core.model.ports import (
    WEB_SEARCH,
    ChatDelta,
    ChatModel,
    ChatRequest,
    Clock,
    Measurement,
    PageFetcher,
    Record,
    SearchedText,
    SearchProvider,
    WebSearchModel,
    job_id_var,
    warm_up,
)
from core.model.source import Page, SearchHit, SearchQuery
from core.pipeline.limits import AroundSearch
from core.pipeline.tool_traces import Exchange, Kind, TraceEntry, TraceStore
from core.presentation.render import one_line
from core.text.saying import say, say_many


@dataclass(frozen=True)
class TraceTotals:
    """Sums over a trace. `cost_usd` is None when nothing that was called has a price; `unpriced` are those models."""

    model_calls: int
    tokens: int
    cost_usd: float | None
    searches: int
    pages_read: int
    pages_failed: int
    unpriced: tuple[str, ...] = ()


def totals_of(entries: Sequence[TraceEntry]) -> TraceTotals:
    """Calls that failed or were given up are counted with what they had cost by then."""
    calls = [entry for entry in entries if entry.kind == "model"]
    costs = [entry.cost_usd for entry in calls if entry.cost_usd is not None]
    pages = [entry for entry in entries if entry.kind == "page"]
    return TraceTotals(
        model_calls=len(calls),
        tokens=sum(entry.prompt_tokens + entry.completion_tokens for entry in calls),
        cost_usd=sum(costs) if costs else None,
        searches=sum(entry.kind == "search" for entry in entries),
        pages_read=sum(entry.outcome == "done" for entry in pages),
        pages_failed=sum(entry.outcome != "done" for entry in pages),
        unpriced=tuple(dict.fromkeys(entry.detail for entry in calls if entry.cost_usd is None)),
    )


def in_order(entries: Iterable[TraceEntry]) -> list[TraceEntry]:
    """By their beginning, so that a stage stands before what was done in it."""
    return sorted(entries, key=lambda entry: entry.at - timedelta(seconds=entry.seconds))


def without_repeats(entries: Sequence[TraceEntry]) -> list[tuple[TraceEntry, int]]:
    """Marks that say the same one after the other as one, with how often."""
    rows: list[tuple[TraceEntry, int]] = []
    for entry in entries:
        last = rows[-1][0] if rows else None
        if last and entry.kind == last.kind == "mark" and _said(entry) == _said(last):
            rows[-1] = (last, rows[-1][1] + 1)
        else:
            rows.append((entry, 1))
    return rows


def what_was_done(entry: TraceEntry) -> str:
    """The detail of an entry with what came of it, for people."""
    if entry.kind == "search":
        return say_many("“{query}” → {number} hit", "“{query}” → {number} hits", entry.results, query=entry.detail)
    if entry.kind == "page" and entry.results:
        return say("{page} ({number} characters)", page=entry.detail, number=entry.results)
    return entry.detail


def totals_line(totals: TraceTotals) -> str:
    """`2 model calls · 1,234 tokens · $0.0012 · 3 searches · 5 pages read`, and which models have no price."""
    parts = [
        say_many("{number} model call", "{number} model calls", totals.model_calls),
        say_many("{number:,} token", "{number:,} tokens", totals.tokens),
        say("no price known") if totals.cost_usd is None and totals.model_calls else dollars(totals.cost_usd or 0.0),
        say_many("{number} search", "{number} searches", totals.searches),
        say_many("{number} page read", "{number} pages read", totals.pages_read),
    ]
    if totals.pages_failed:
        parts.append(say("{number} not read", number=totals.pages_failed))
    if totals.unpriced:
        models = ", ".join(map(one_line, totals.unpriced))
        parts.append(say("without a price: {models} (set GORKD_PRICES)", models=models))
    return " · ".join(parts)


def dollars(amount: float) -> str:
    """`$0.000225`, to the millionth and without needless zeros."""
    return f"${amount:.6f}".rstrip("0").rstrip(".") if amount else "$0"


def _said(entry: TraceEntry) -> tuple[str, str, str]:
    return entry.name, entry.detail, entry.outcome


# Ports that note what passes through them for the trace of the running job. Which job that is, `job_id_var` says.
# Noting hands an entry to a bounded queue that a task of its own empties into the `TraceStore`: it cannot fail, cannot
# wait, and is safe while a call is being cancelled.


log = logging.getLogger(__name__)

MAX_WAITING = 2000  # entries of all running jobs; a job leaves some thirty, written within milliseconds
BATCH = 100  # entries a write
MAX_EXCHANGE_CHARS = 60_000  # of one prompt or answer; twice what the token budget lets through
GIVEN_UP = "given up"  # nobody waited for it any longer: out of time, cancelled, or not needed


class Tracer:
    """Takes entries for the running job. `redact` takes secrets out of text before it is kept."""

    def __init__(self, clock: Clock, redact: Callable[[str], str]) -> None:
        self._clock = clock
        self._redact = redact
        self._waiting: asyncio.Queue[tuple[str, TraceEntry] | None] = asyncio.Queue(MAX_WAITING)

    def now(self) -> datetime:
        return self._clock()

    def note(self, entry: TraceEntry, *, job_id: str = "") -> None:
        """For the running job unless another is named; outside a job it does nothing. Never raises and never waits."""
        job_id = job_id or job_id_var.get()
        if not job_id:
            return
        try:
            self._waiting.put_nowait((job_id, entry))
        except asyncio.QueueFull:
            log.warning("trace entry dropped", extra={"kind": entry.kind})

    @contextmanager
    def noted(self, kind: Kind, name: str, detail: str) -> Iterator[Callable[[int], None]]:
        """What is done in the block, with its time and how it ended; the block is given what to tell its results to."""
        started, outcome, found = perf_counter(), GIVEN_UP, list[int]()
        try:
            yield found.append
            outcome = "done"
        except (ProviderError, FetchError) as exc:
            outcome = exc.reason
            raise
        except StoreError:
            outcome = "the store failed"
            raise
        finally:
            self.note(TraceEntry(kind, name, self.now(), perf_counter() - started, outcome, detail, sum(found)))

    async def write_to(self, trace_log: TraceStore) -> None:
        """Keep what is noted, until `finish`."""
        while (first := await self._waiting.get()) is not None:
            batch, is_over = [first], False
            while not is_over and len(batch) < BATCH and not self._waiting.empty():
                following = self._waiting.get_nowait()
                is_over = following is None
                batch += [following] if following else []
            await self._write(trace_log, batch)
            if is_over:
                return

    async def finish(self) -> None:
        """Nothing more is noted; `write_to` ends when all is written."""
        await self._waiting.put(None)

    async def _write(self, trace_log: TraceStore, batch: Sequence[tuple[str, TraceEntry]]) -> None:
        by_job: dict[str, list[TraceEntry]] = {}
        for job_id, entry in batch:
            by_job.setdefault(job_id, []).append(entry)
        for job_id, entries in by_job.items():
            try:
                cleaned = await asyncio.to_thread(lambda dirty: [self._clean(entry) for entry in dirty], entries)
                await trace_log.append(job_id, cleaned)
            except StoreError as exc:
                log.warning("trace not kept", extra={"job_id": job_id, "error": str(exc)})
            except Exception:  # the boundary of this task: whoever finishes waits for it
                log.exception("trace not kept", extra={"job_id": job_id})

    def _clean(self, entry: TraceEntry) -> TraceEntry:
        exchange = Exchange(*map(self._text, (entry.exchange.system, entry.exchange.user, entry.exchange.answer)))
        return replace(entry, detail=self._text(entry.detail), outcome=self._text(entry.outcome), exchange=exchange)

    def _text(self, text: str) -> str:
        """Without secrets, and storable: half a surrogate pair, which endpoints send, becomes U+FFFD."""
        cut = text[:MAX_EXCHANGE_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._redact(cut) if cut else cut


@asynccontextmanager
async def open_tracer(
    trace_log: TraceStore, *, clock: Clock, redact: Callable[[str], str] = lambda text: text
) -> AsyncIterator[Tracer]:
    """A tracer that writes to `trace_log`; what was noted is written before the block is left."""
    tracer = Tracer(clock, redact)
    writing = asyncio.create_task(tracer.write_to(trace_log), name="tracer")  # no group: errors must leave as they are
    try:
        yield tracer
    finally:
        await tracer.finish()
        await writing


@dataclass(frozen=True)
class _Books:
    """Where a model's calls are traced, counted and priced."""

    tracer: Tracer
    record: Record
    prices: Prices

    def enter(
        self,
        model: str,
        request: ChatRequest,
        text: str,
        usage: ModelUsage,
        *,
        seconds: float,
        outcome: str,
        job_id: str = "",
    ) -> None:
        cost = cost_usd(usage, model, self.prices)
        self.record(Measurement("llm_tokens_used", usage.prompt_tokens + usage.completion_tokens, model))
        if cost is not None:
            self.record(Measurement("llm_cost_usd", cost, model))
        entry = TraceEntry(
            "model",
            request.purpose,
            self.tracer.now(),
            seconds,
            outcome,
            model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            is_estimated=usage.is_estimated,
            cost_usd=cost,
            exchange=Exchange(request.system, request.user, text),
        )
        self.tracer.note(entry, job_id=job_id)


class WatchedModel:
    """A `ChatModel` whose every call is traced, counted and priced: also one that failed or was given up."""

    def __init__(self, model: ChatModel, tracer: Tracer, record: Record, prices: Prices) -> None:
        self._model, self.name, self._books = model, model.name, _Books(tracer, record, prices)

    async def warm_up(self) -> None:
        await warm_up(self._model)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        job_id, started = job_id_var.get(), perf_counter()  # who drops the stream half-way may have another context
        pieces: list[str] = []
        usage: ModelUsage | None = None
        outcome = GIVEN_UP
        deltas = self._model.stream(request)
        try:
            async for delta in deltas:
                pieces += [delta.text, *(f"{call.name}({call.arguments})" for call in delta.calls)]
                usage = delta.usage or usage
                yield delta
            outcome = "done"
        except GorkdError as exc:
            outcome = f"{type(exc).__name__}: {exc}"
            raise
        finally:
            text = "".join(pieces)
            is_paid = outcome == "done" or bool(text)  # a refused call costs nothing
            spent = usage or (estimate_usage(request, text) if is_paid else ModelUsage())
            seconds = perf_counter() - started
            self._books.enter(self.name, request, text, spent, seconds=seconds, outcome=outcome, job_id=job_id)
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()


class WatchedWebSearch:
    """A `WebSearchModel` whose every call is traced and priced as a model's, and its searches as a provider's."""

    def __init__(self, model: WebSearchModel, tracer: Tracer, record: Record, prices: Prices) -> None:
        self._model, self.name = model, model.name
        self._tracer, self._books = tracer, _Books(tracer, record, prices)

    async def search_and_write(self, request: ChatRequest, *, depth: Depth) -> SearchedText:
        started = perf_counter()
        searched, outcome = SearchedText(""), GIVEN_UP
        try:
            searched = await self._model.search_and_write(request, depth=depth)
            outcome = "done"
        except WebSearchUnavailable:
            outcome = ""  # nothing was called
            why = "web_search is not offered; our own search follows"
            self._tracer.note(TraceEntry("mark", "search", self._tracer.now(), outcome=why))
            raise
        except GorkdError as exc:
            outcome = f"{type(exc).__name__}: {exc}"
            raise
        finally:
            seconds, found = perf_counter() - started, len(searched.pages)
            for query in searched.queries:
                self._tracer.note(TraceEntry("search", WEB_SEARCH, self._tracer.now(), 0.0, outcome, query, found))
            if outcome:
                self._books.enter(self.name, request, searched.text, searched.usage, seconds=seconds, outcome=outcome)
        return searched


class WatchedSearch(AroundSearch):
    """A `SearchProvider` whose every search is traced."""

    def __init__(self, provider: SearchProvider, tracer: Tracer) -> None:
        super().__init__(provider)
        self._tracer = tracer

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        with self._tracer.noted("search", self.name, query.text) as results:
            hits = list(await self._provider.search(query, limit=limit, scope=scope))
            results(len(hits))
        return hits


class WatchedPages:
    """A `PageFetcher` whose every fetch is traced."""

    def __init__(self, pages: PageFetcher, tracer: Tracer) -> None:
        self._pages, self._tracer = pages, tracer

    async def warm_up(self) -> None:
        await warm_up(self._pages)

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        with self._tracer.noted("page", "page", url) as results:
            page = await self._pages.fetch(url, known=known)
            results(len(page.text))
        return page


def traced(record: Record, tracer: Tracer) -> Record:
    """`record`, which also puts stages, counted errors and resumptions into the trace."""

    def record_and_trace(measurement: Measurement) -> None:
        record(measurement)
        match measurement.name:
            case "pipeline_stage_duration_seconds":
                tracer.note(TraceEntry("stage", measurement.label, tracer.now(), measurement.value))
            case "errors":
                stage, _, kind = measurement.label.partition(":")
                tracer.note(TraceEntry("mark", "error", tracer.now(), outcome=kind, detail=stage))
            case "jobs_resumed":
                tracer.note(TraceEntry("mark", "resumed", tracer.now()))

    return record_and_trace
