"""What passes through watched ports is noted for the running job, and nothing of it is held up."""

from __future__ import annotations

import asyncio

import pytest

from adapters.records.cache import MemoryLimits
from core.llm.ask_model import complete
from core.model.errors import ModelUnavailable, PageStatus, ProviderTimeout, StoreError
from core.model.job import LOCAL
from core.model.ports import ChatRequest, Measurement, job_id_var, warm_up
from core.model.source import SearchQuery
from core.pipeline.limits import CallRate, LimitedSearch
from core.pipeline.tool_traces import TraceEntry
from core.pipeline.tracing import (
    GIVEN_UP,
    MAX_WAITING,
    Tracer,
    WatchedModel,
    WatchedPages,
    WatchedSearch,
    totals_of,
    traced,
)
from tests.fakes import FakeModel, FakePages, FakeSearch, Ledger, MemoryTraceLog, hit, now, tracing

REQUEST = ChatRequest("answer", "You are kind.", "Why do cats purr?", "answer", {}, max_tokens=50, timeout_s=5)
PRICES = {"fake-1": (2.0, 10.0)}


async def test_a_model_call_is_noted_with_tokens_cost_and_words() -> None:
    """Purpose, model, tokens as reported, their price, and what was said in both directions."""
    log, ledger = MemoryTraceLog(), Ledger()
    model = FakeModel({"answer": "Because they are content."})

    async with tracing(log) as tracer:
        completion = await complete(WatchedModel(model, tracer, ledger, PRICES), REQUEST)

    (entry,) = log.kept["job_1"]
    assert completion.text == "Because they are content."
    assert (entry.kind, entry.name, entry.detail, entry.outcome) == ("model", "answer", "fake-1", "done")
    assert (entry.prompt_tokens, entry.completion_tokens, entry.is_estimated) == (4, 6, False)
    assert entry.cost_usd == pytest.approx((4 * 2 + 6 * 10) / 1e6)
    assert entry.exchange.user == "Why do cats purr?"
    assert entry.exchange.answer == "Because they are content."
    assert ledger.values("llm_tokens_used", "fake-1") == [10]
    assert ledger.values("llm_cost_usd", "fake-1") == [entry.cost_usd]


async def test_a_model_without_a_price_has_tokens_and_no_cost() -> None:
    """Nothing is made up: the cost is unknown, and the sums say for which model."""
    log, ledger = MemoryTraceLog(), Ledger()

    async with tracing(log) as tracer:
        await complete(WatchedModel(FakeModel({"answer": "Yes."}), tracer, ledger, {}), REQUEST)

    totals = totals_of(log.kept["job_1"])
    assert totals.cost_usd is None
    assert totals.unpriced == ("fake-1",)
    assert totals.tokens > 0
    assert ledger.values("llm_cost_usd") == []


async def test_a_call_that_failed_is_noted_with_its_reason_and_costs_nothing() -> None:
    """What went wrong stands in the trace; the error goes on to whoever called."""
    log, ledger = MemoryTraceLog(), Ledger()
    model = FakeModel({"answer": ModelUnavailable("HTTP 503")})

    async with tracing(log) as tracer:
        with pytest.raises(ModelUnavailable):
            await complete(WatchedModel(model, tracer, ledger, PRICES), REQUEST)

    (entry,) = log.kept["job_1"]
    assert entry.outcome == "ModelUnavailable: HTTP 503"
    assert (entry.prompt_tokens, entry.completion_tokens, entry.cost_usd) == (0, 0, 0)


async def test_a_call_given_up_half_way_is_noted_with_what_had_come() -> None:
    """A cancelled answer was paid for as far as it was written: its tokens are estimated, not forgotten."""
    log, ledger = MemoryTraceLog(), Ledger()
    model = FakeModel({"answer": "Because they are content."}, hangs_after=1)

    async with tracing(log) as tracer:
        call = asyncio.create_task(complete(WatchedModel(model, tracer, ledger, PRICES), REQUEST))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call, 0.05)

    (entry,) = log.kept["job_1"]
    assert entry.outcome == GIVEN_UP
    assert entry.exchange.answer == "Because they"
    assert entry.is_estimated
    assert entry.completion_tokens == 3


async def test_searches_and_pages_are_noted_with_what_was_asked_for_hits_and_reason() -> None:
    """One entry each, also for one that failed; the results are passed on unchanged."""
    log = MemoryTraceLog()
    good = FakeSearch("good", [hit("https://a.example"), hit("https://b.example")])
    bad = FakeSearch("bad", error=ProviderTimeout("bad", "no answer in 10 s"))

    async with tracing(log) as tracer:
        found = await WatchedSearch(good, tracer).search(SearchQuery("cats"), limit=5, scope=LOCAL)
        with pytest.raises(ProviderTimeout):
            await WatchedSearch(bad, tracer).search(SearchQuery("cats"), limit=5, scope=LOCAL)
        pages = WatchedPages(FakePages({"https://a.example": "twelve chars"}), tracer)
        await pages.fetch("https://a.example")
        with pytest.raises(PageStatus):
            await pages.fetch("https://b.example")

    assert found == good.hits
    searches, fetches = log.kept["job_1"][:2], log.kept["job_1"][2:]
    assert [(entry.name, entry.detail, entry.results, entry.outcome) for entry in searches] == [
        ("good", "cats", 2, "done"), ("bad", "cats", 0, "no answer in 10 s"),
    ]  # fmt: skip
    assert [(entry.detail, entry.results, entry.outcome) for entry in fetches] == [
        ("https://a.example", 12, "done"), ("https://b.example", 0, "HTTP 404"),
    ]  # fmt: skip


async def test_stages_errors_and_resumption_are_noted_and_still_measured() -> None:
    """What the core measures anyway is enough for the trace; the figures go on to whoever counts them."""
    log, ledger = MemoryTraceLog(), Ledger()

    async with tracing(log) as tracer:
        record = traced(ledger, tracer)
        record(Measurement("jobs_resumed", 1))
        record(Measurement("errors", 1, "search:ProviderTimeout"))
        record(Measurement("pipeline_stage_duration_seconds", 1.5, "search"))
        record(Measurement("cache_lookup", 1))

    rows = [(entry.kind, entry.name, entry.seconds, entry.detail, entry.outcome) for entry in log.kept["job_1"]]
    assert rows == [
        ("mark", "resumed", 0.0, "", "done"),
        ("mark", "error", 0.0, "search", "ProviderTimeout"),
        ("stage", "search", 1.5, "", "done"),
    ]
    assert len(ledger.kept) == 4


async def test_each_job_gets_its_own_entries_in_their_order() -> None:
    """Jobs that run at once do not mix."""
    log = MemoryTraceLog()
    search = FakeSearch("web", [])

    async def work(tracer: Tracer, job_id: str) -> None:
        job_id_var.set(job_id)
        for number in range(20):
            await WatchedSearch(search, tracer).search(SearchQuery(f"{job_id} {number}"), limit=5, scope=LOCAL)

    async with tracing(log) as tracer, asyncio.TaskGroup() as group:
        for name in ("job_a", "job_b", "job_c"):
            group.create_task(work(tracer, name))

    queries = {job_id: [entry.detail for entry in entries] for job_id, entries in log.kept.items()}
    assert queries == {name: [f"{name} {number}" for number in range(20)] for name in ("job_a", "job_b", "job_c")}


async def test_what_happens_outside_a_job_is_not_kept() -> None:
    """A probe or a warm-up belongs to nobody."""
    log = MemoryTraceLog()

    async with tracing(log, "") as tracer:
        await WatchedSearch(FakeSearch("web", []), tracer).search(SearchQuery("cats"), limit=5, scope=LOCAL)

    assert log.kept == {}


async def test_a_log_that_fails_fails_nobody() -> None:
    """Tracing is an aid."""
    log = MemoryTraceLog(error=StoreError("disk full"))

    async with tracing(log) as tracer:
        found = await WatchedSearch(FakeSearch("web", [hit("https://a.example")]), tracer).search(
            SearchQuery("cats"), limit=5, scope=LOCAL
        )

    assert len(found) == 1


async def test_what_is_raised_while_tracing_leaves_as_it_is() -> None:
    """A person gets the sentence of the error, not of a group around it; what was noted is kept all the same."""
    log = MemoryTraceLog()

    async def fail() -> None:
        async with tracing(log) as tracer:
            tracer.note(TraceEntry("mark", "x", now()))
            raise StoreError("disk full")

    with pytest.raises(StoreError, match="disk full"):
        await fail()

    assert len(log.kept["job_1"]) == 1


async def test_entries_beyond_the_bound_are_dropped_instead_of_waiting() -> None:
    """A writer that stands still costs entries, never memory without end or an answer."""
    log = MemoryTraceLog()
    tracer = Tracer(now, lambda text: text)

    for number in range(MAX_WAITING + 50):
        tracer.note(TraceEntry("mark", "x", now(), detail=str(number)), job_id="job_1")
    writing = asyncio.create_task(tracer.write_to(log))
    await tracer.finish()
    await writing

    assert len(log.kept["job_1"]) == MAX_WAITING


async def test_no_secret_and_nothing_unstorable_is_kept() -> None:
    """Text is cleaned on its way: in queries, reasons, prompts and answers alike."""
    log, ledger = MemoryTraceLog(), Ledger()
    request = ChatRequest("answer", "key hunter2", "key hunter2", "answer", {}, max_tokens=50, timeout_s=5)
    failing = FakeSearch("web", error=ProviderTimeout("web", "GET /?key=hunter2"))

    async with tracing(log, redact=lambda text: text.replace("hunter2", "***")) as tracer:
        await complete(WatchedModel(FakeModel({"answer": "hunter2 \ud800"}), tracer, ledger, {}), request)
        with pytest.raises(ProviderTimeout):
            await WatchedSearch(failing, tracer).search(SearchQuery("hunter2"), limit=5, scope=LOCAL)

    assert "hunter2" not in repr(log.kept)
    assert log.kept["job_1"][0].exchange.answer == "*** \ufffd"


async def test_warming_up_reaches_what_is_watched_and_limited() -> None:
    """A wrapper does not make the first question slow."""

    class Warmable:
        is_warm = False

        async def warm_up(self) -> None:
            self.is_warm = True

    class Model(Warmable, FakeModel):
        pass

    class Search(Warmable, FakeSearch):
        pass

    model, search, tracer = Model({}), Search("web"), Tracer(now, str)
    limited = LimitedSearch(search, MemoryLimits(clock=now), CallRate(1, 1.0, burst=1), Ledger())

    await warm_up(WatchedModel(model, tracer, Ledger(), {}))
    await warm_up(WatchedSearch(limited, tracer))
    await warm_up(WatchedPages(FakePages(), tracer))

    assert model.is_warm
    assert search.is_warm
