"""The traces of long-running tools, kept by every store alike (S002-16 … S002-19)."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.records.jobs import SqlJobStore
from adapters.records.traces import SqlSpending, SqlTraceStore
from core.model.errors import StoreError
from core.model.job import JobStatus, Scope
from core.pipeline.tool_traces import Exchange, ToolTraces, TraceEntry, TraceStatus, trace_id_of
from core.tenancy.admission import Spent, month_of
from tests.adapters.records.samples import CHANNEL, NOON, finished, make_job

STATE = {"checklist": [{"id": "1", "satisfied": True, "evidence": "a\x00b"}], "iterations": [], "share": 0.5}
METRICS = {"total_iterations": 3, "pubmed_queries": 5, "web_queries": 4, "sources_processed": 42, "llm_calls": 12}


@pytest.fixture
def traces(trace_store, clock):
    return ToolTraces(trace_store, clock=clock)


async def test_trace_of_a_run_is_kept_whole(traces, clock):
    """From the question to the result, with the time of each step (S002-16, S002-18)."""
    trace = await traces.create_trace(
        "deep_research", "U1", {"question": "Why?"}, scope=CHANNEL, org_id="T1", trace_id="t1"
    )
    clock.advance(timedelta(seconds=1))
    await traces.update_progress("t1", "refining", 0.1, STATE)
    clock.advance(timedelta(seconds=1))
    await traces.update_progress("t1", "iteration_1", 0.3)
    clock.advance(timedelta(microseconds=7))

    done = await traces.complete_trace("t1", {"answer": "So [1]."}, METRICS)

    assert await traces.get_trace("t1") == done
    assert (trace.status, trace.progress, trace.created_at, trace.started_at) == (TraceStatus.PENDING, 0.0, NOON, None)
    assert (done.scope, done.user_id, done.org_id, done.tool_name) == (CHANNEL, "U1", "T1", "deep_research")
    assert (done.input_params, done.state, done.current_stage) == ({"question": "Why?"}, STATE, "iteration_1")
    assert (done.result, done.metrics, done.progress) == ({"answer": "So [1]."}, METRICS, 1.0)
    assert (done.status, done.created_at) == (TraceStatus.COMPLETED, NOON)
    assert done.started_at == NOON + timedelta(seconds=1)
    assert done.completed_at == NOON + timedelta(seconds=2, microseconds=7)


async def test_progress_is_seen_while_the_tool_runs_and_after_a_failure(traces):
    """Stage, share and state stand in the stored trace; without a state the last one stays (S002-17). What failed says
    why and where; what was never begun cannot be changed.
    """
    trace = await traces.create_trace("deep_research", "U1", {}, scope=CHANNEL)
    await traces.update_progress(trace.id, "refining", 0.1, STATE)

    await traces.update_progress(trace.id, "iteration_1", 0.3)
    stored = await traces.get_trace(trace.id)
    failed = await traces.fail_trace(trace.id, "no provider answered")

    assert (stored.status, stored.completed_at) == (TraceStatus.IN_PROGRESS, None)
    assert await traces.get_trace(trace.id) == failed
    assert (failed.status, failed.error_message) == (TraceStatus.FAILED, "no provider answered")
    for one in (stored, failed):
        assert (one.progress, one.current_stage, one.state) == (0.3, "iteration_1", STATE)
    assert await traces.get_trace("t9") is None
    with pytest.raises(StoreError, match="t9"):
        await traces.update_progress("t9", "refining", 0.1)


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
async def test_ended_trace_does_not_change_any_more(traces, end):
    """A worker that reports late changes nothing (D5: a trace may be cancelled)."""
    trace = await traces.create_trace("deep_research", "U1", {}, scope=CHANNEL)
    ends = {
        "complete": lambda: traces.complete_trace(trace.id, {"answer": "A"}, {}),
        "fail": lambda: traces.fail_trace(trace.id, "broken"),
        "cancel": lambda: traces.cancel_trace(trace.id),
    }
    ended = await ends.pop(end)()

    await traces.update_progress(trace.id, "iteration_9", 0.9, {"late": True})
    for late in ends.values():
        await late()

    assert ended.has_ended
    assert await traces.get_trace(trace.id) == ended


async def test_creating_again_finds_the_run_that_is_under_way(traces):
    """A step that runs again does not lose what the first run had noted; a job that is retried starts over."""
    await traces.create_trace("deep_research", "U1", {"question": "first"}, scope=CHANNEL, trace_id="t1")
    running = await traces.update_progress("t1", "iteration_1", 0.3, STATE)

    again = await traces.create_trace("deep_research", "U1", {"question": "second"}, scope=CHANNEL, trace_id="t1")
    await traces.fail_trace("t1", "broken")
    retried = await traces.create_trace("deep_research", "U1", {}, scope=CHANNEL, trace_id="t1")

    assert again == running
    assert await traces.get_trace("t1") == retried
    assert (retried.status, retried.state, retried.error_message) == (TraceStatus.PENDING, {}, None)


async def test_traces_of_a_user_are_listed_newest_first(traces, clock):
    """Only the user's own, in this scope, of the tool asked for, as many as asked for (S002-19)."""
    others = [("deep_research", "U2", CHANNEL), ("deep_research", "U1", Scope("discord:9", "channel:2"))]
    for tool, user, scope in [("deep_research", "U1", CHANNEL), ("section", "U1", CHANNEL), *others]:
        for number in (1, 2):
            name = f"{tool}-{user}-{scope.tenant}-{number}"[:36]
            await traces.create_trace(tool, user, {}, scope=scope, trace_id=name)
            clock.advance(timedelta(seconds=1))

    of_one_tool = await traces.list_traces("U1", "deep_research", scope=CHANNEL)
    of_all = await traces.list_traces("U1", scope=CHANNEL, limit=3)

    assert [trace.id for trace in of_one_tool] == ["deep_research-U1-discord:1-2", "deep_research-U1-discord:1-1"]
    assert [trace.tool_name for trace in of_all] == ["section", "section", "deep_research"]
    assert await traces.list_traces("U1", scope=CHANNEL, limit=0) == []


async def test_reports_at_once_lose_nothing(traces, trace_store):
    """Fifty changes from fifty tasks all land: each sees what the one before has written."""
    await traces.create_trace("deep_research", "U1", {}, scope=CHANNEL, trace_id="t1")

    def count(trace):
        return replace(trace, metrics={"calls": trace.metrics.get("calls", 0) + 1})

    await asyncio.gather(*(trace_store.change("t1", count) for _ in range(50)))

    assert (await traces.get_trace("t1")).metrics == {"calls": 50}


async def test_long_stages_and_odd_letters_fit_every_database(traces):
    """A stage may quote a question; the column holds 100 characters and no NUL."""
    trace = await traces.create_trace("deep_research", "U1", {}, scope=CHANNEL)

    await traces.update_progress(trace.id, "ü\x00" + "x" * 200, 0.5)
    failed = await traces.fail_trace(trace.id, "bad\x00byte")

    assert failed.current_stage == "ü\ufffd" + "x" * 98
    assert failed.error_message == "bad\ufffdbyte"
    assert await traces.get_trace(trace.id) == failed


async def test_what_no_column_holds_is_refused(traces):
    """100 characters for a tool, 36 for an id (S002-16); of progress anything but 0…1 is a mistake of the caller."""
    for tool, trace_id in (("", ""), ("x" * 101, ""), ("tool", "x" * 37)):
        with pytest.raises(ValueError, match="too long"):
            await traces.create_trace(tool, "U1", {}, scope=CHANNEL, trace_id=trace_id)
    trace = await traces.create_trace("deep_research", "U1", {}, scope=CHANNEL)
    for progress in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="progress"):
            await traces.update_progress(trace.id, "refining", progress)


def test_a_jobs_trace_has_one_id():
    """The same job, the same UUID; another job, another."""
    assert trace_id_of("job_1") == trace_id_of("job_1") != trace_id_of("job_2")
    assert str(uuid.UUID(trace_id_of("job_1"))) == trace_id_of("job_1")


# S002-16 as written, user_id and org_id as text (D5), and the two columns that say whose row it is.
COLUMNS = {
    "id": ("VARCHAR(36)", "character varying(36)"),
    "user_id": ("TEXT", "text"),
    "org_id": ("TEXT", "text"),
    "tool_name": ("VARCHAR(100)", "character varying(100)"),
    "input_params": ("JSON", "json"),
    "status": ("VARCHAR(50)", "character varying(50)"),
    "progress": ("FLOAT", "double precision"),
    "current_stage": ("VARCHAR(100)", "character varying(100)"),
    "state": ("JSON", "json"),
    "result": ("JSON", "json"),
    "error_message": ("TEXT", "text"),
    "created_at": ("DATETIME", "timestamp without time zone"),
    "started_at": ("DATETIME", "timestamp without time zone"),
    "completed_at": ("DATETIME", "timestamp without time zone"),
    "metrics": ("JSON", "json"),
    "tenant": ("TEXT", "text"),
    "visibility": ("TEXT", "text"),
}
INDEXES = {("tool_name",), ("user_id", "tool_name"), ("status",)}


async def test_table_on_sqlite_is_as_specified(database):
    """Columns, types, defaults and indexes (S002-05, S002-16)."""
    columns = await database.rows("PRAGMA table_info(tool_traces)")
    indexes = [row for row in await database.rows("PRAGMA index_list(tool_traces)") if row[3] == "c"]
    indexed = [await database.rows(f"PRAGMA index_info({index[1]})") for index in indexes]

    assert {name: kind for _, name, kind, *_ in columns} == {name: kinds[0] for name, kinds in COLUMNS.items()}
    assert [name for _, name, _, _, _, is_key in columns if is_key] == ["id"]
    assert {tuple(name for _, _, name in columns) for columns in indexed} == INDEXES
    assert {"idx_tool_traces_user_tool", "idx_tool_traces_status"} <= {index[1] for index in indexes}


async def test_table_on_postgres_is_as_specified(postgres):
    """Columns, types, defaults and indexes (S002-16)."""
    columns = await postgres.rows(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'tool_traces'::regclass AND attnum > 0"
    )
    indexes = await postgres.rows(
        "SELECT relname, array_agg(attname ORDER BY attnum) FROM pg_index"
        " JOIN pg_class ON oid = indexrelid JOIN pg_attribute ON attrelid = indexrelid"
        " WHERE indrelid = 'tool_traces'::regclass AND NOT indisprimary GROUP BY relname"
    )

    assert dict(columns) == {name: kinds[1] for name, kinds in COLUMNS.items()}
    assert {tuple(names) for _, names in indexes} == INDEXES
    assert {"idx_tool_traces_user_tool", "idx_tool_traces_status"} <= {name for name, _ in indexes}


async def test_runs_that_ended_well_are_listed_for_everybody_in_the_scope(traces, trace_store):
    """Later runs learn from them, whoever asked; nothing of another scope, tool or end."""
    for name, scope, tool in (("a", CHANNEL, "deep"), ("b", CHANNEL, "deep"), ("c", CHANNEL, "other")):
        await traces.create_trace(tool, f"U-{name}", {}, scope=scope, trace_id=name)
        await traces.complete_trace(name, {}, {})
    await traces.create_trace("deep", "U", {}, scope=Scope("local", "workspace"), trace_id="d")
    await traces.complete_trace("d", {}, {})
    await traces.create_trace("deep", "U", {}, scope=CHANNEL, trace_id="e")
    await traces.fail_trace("e", "broke")

    found = await trace_store.completed(CHANNEL, "deep", limit=10)

    assert {trace.id for trace in found} == {"a", "b"}
    assert len(await trace_store.completed(CHANNEL, "deep", limit=1)) == 1


MONTH = month_of(NOON)
TEAM = Scope("slack:T1", "channel:C1")
CALL = TraceEntry(
    "model", "answer", NOON, 1.25, "done", "loop-1", 0, 1200, 300, True, 0.00225, Exchange("System", "Why?", "So \x00!")
)
SEARCH = TraceEntry("search", "tavily", NOON + timedelta(seconds=1), 0.5, "no answer in 10 s", "cats", 0)


def job_of(number: int, asker: str, scope: Scope = TEAM):
    job = make_job(number, scope=scope)
    return replace(job, request=replace(job.request, asker=asker, context='a "quote" and a NUL \x00'))


@pytest.fixture
async def stores(tables):
    """Job store, trace log and spending, knowing jobs 1 to 3."""
    parts = SqlJobStore(tables), SqlTraceStore(tables), SqlSpending(tables)
    for job in (job_of(1, "U1"), job_of(2, "U2"), job_of(3, "U1", Scope("slack:T2", "channel:C9"))):
        await parts[0].save(job)
    return parts


async def test_entries_come_back_whole_and_in_order(stores) -> None:
    """Every field, also those that are hard to store; one job's entries are not another's. Of a job that was forgotten
    while it ran nothing may come back.
    """
    _, log, spending = stores

    await log.append("job_1", [CALL, SEARCH])
    await log.append("job_2", [SEARCH])
    await log.append("job_1", [CALL])
    before = await spending.spent("slack:T1", "U1", MONTH)
    await log.append("job_forgotten", [CALL])

    assert await log.read("job_1") == [CALL, SEARCH, CALL]
    assert await log.read("job_2") == [SEARCH]
    assert await log.read("job_3") == await log.read("job_forgotten") == []
    assert await spending.spent("slack:T1", "U1", MONTH) == before


async def test_calls_are_booked_to_the_asker_and_the_workspace(stores) -> None:
    """Each sees its own sum; a search costs nothing; another workspace or month is another account."""
    _, log, spending = stores
    next_month = replace(CALL, at=NOON + timedelta(days=31))

    await log.append("job_1", [CALL, SEARCH, CALL])
    await log.append("job_2", [CALL, next_month])
    await log.append("job_3", [replace(CALL, cost_usd=None)])

    assert await spending.spent("slack:T1", "U1", MONTH) == Spent(pytest.approx(0.0045), pytest.approx(0.00675))
    assert await spending.spent("slack:T1", "U2", MONTH) == Spent(pytest.approx(0.00225), pytest.approx(0.00675))
    assert await spending.spent("slack:T1", "U2", month_of(next_month.at)) == Spent(0.00225, 0.00225)
    assert await spending.spent("slack:T2", "U1", MONTH) == Spent(0, 0)
    assert await spending.spent("slack:T1", "nobody", MONTH) == Spent(0, pytest.approx(0.00675))


async def test_waiting_and_running_jobs_are_counted_and_ended_ones_are_not(stores) -> None:
    """Whatever the stage, a job that has begun runs."""
    jobs, _, _ = stores
    await jobs.save(make_job(4, status=JobStatus.SEARCHING))
    await jobs.save(make_job(5, status=JobStatus.SYNTHESIZING))
    await jobs.save(finished(make_job(6)))

    assert await jobs.backlog() == (3, 2)
