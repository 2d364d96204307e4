"""The contracts of what is kept of jobs and goes with them, kept by SQLite and by PostgreSQL alike (S003-18)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.records.cache import SqlAnswerCache
from adapters.records.jobs import SqlEvaluations, SqlEventLog, SqlJobMemo, SqlJobStore, SqlSourceStore
from adapters.records.traces import SqlTraceStore
from core.model.answer import JobResult, Rating
from core.model.errors import JobNotFound, StaleAttempt, StoreError
from core.model.job import Attachment, JobStatus, ResearchJob, Scope, Steering
from core.pipeline.tool_traces import ToolTraces
from tests.adapters.records.samples import CHANNEL, NOON, RESULT, finished, make_job, make_source


async def test_a_job_is_read_back_whole_as_it_was_saved_last(jobs):
    """Every field survives, times and enumerations included; one that was never stored is named."""
    job = await jobs.save(make_job())
    first = await jobs.get(job.id)

    await jobs.save(replace(job, status=JobStatus.SEARCHING))

    assert first == make_job()
    assert (await jobs.get(job.id)).status is JobStatus.SEARCHING
    with pytest.raises(JobNotFound, match="job_9"):
        await jobs.get("job_9")


async def test_second_job_with_the_same_dedupe_key_is_the_first_as_it_stands(jobs):
    """A question delivered twice by a platform becomes one job; the key outlives saves that do not repeat it."""
    first = await jobs.save(make_job(1), dedupe_key="message 7")

    second = await jobs.save(make_job(2), dedupe_key="message 7")
    await jobs.finish(finished(first), RESULT)
    third = await jobs.save(make_job(2), dedupe_key="message 7")

    assert (second, third) == (first, finished(first))
    with pytest.raises(JobNotFound):
        await jobs.get("job_2")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Scope("discord:9", "channel:2"), id="other tenant"),
        pytest.param(Scope("discord:1", "channel:3"), id="other visibility"),
    ],
)
async def test_dedupe_key_is_valid_in_its_own_scope_only(jobs, other):
    """The same key elsewhere is another question; by it a re-sent event and a deleted message find theirs."""
    first = await jobs.save(make_job(1), dedupe_key="discord:99")
    found = [await jobs.asked(*key) for key in ((CHANNEL, "discord:99"), (other, "discord:99"), (CHANNEL, "98"))]

    second = await jobs.save(make_job(2, scope=other), dedupe_key="discord:99")

    assert found == [first, None, None]
    assert second.id == "job_2"


@pytest.mark.parametrize("is_saved", [True, False])
async def test_finish_stores_status_and_result_together(jobs, is_saved):
    """S003-18: after deliver both are there, also where a database was full at submit; a later note loses nothing."""
    job = await jobs.save(make_job()) if is_saved else make_job()
    before = [await jobs.result(job_id) for job_id in ("job_1", "job_9")]

    await jobs.finish(finished(job), RESULT)
    at_once = await jobs.get(job.id), await jobs.result(job.id)
    await jobs.save(finished(job))

    assert before == [None, None]
    assert at_once == (finished(job), RESULT) == (await jobs.get(job.id), await jobs.result(job.id))


async def test_finish_refuses_a_status_that_is_no_end(jobs):
    """A result belongs to a job that has ended."""
    with pytest.raises(ValueError, match="searching"):
        await jobs.finish(make_job(status=JobStatus.SEARCHING), RESULT)


async def test_older_attempt_can_neither_save_nor_finish(jobs):
    """A stalled worker that wakes up is fenced off, and what the newer one stored stays."""
    newer = await jobs.save(make_job(attempt=2))
    older = make_job(attempt=1, status=JobStatus.SYNTHESIZING)

    with pytest.raises(StaleAttempt):
        await jobs.save(older)
    with pytest.raises(StaleAttempt):
        await jobs.finish(finished(older), RESULT)

    assert await jobs.get("job_1") == newer
    assert await jobs.result("job_1") is None


async def test_new_attempt_takes_back_the_result_of_the_old(jobs):
    """A job that is under way again shows no answer; its end keeps the new one."""
    await jobs.finish(finished(make_job()), RESULT)

    await jobs.save(make_job(attempt=2))

    assert await jobs.result("job_1") is None


async def test_recent_jobs_are_the_scopes_own_newest_first(jobs):
    """Other tenants and channels are never listed, and the limit holds; without room there are none."""
    for number in (2, 3, 1):
        await jobs.save(make_job(number))
    await jobs.save(make_job(4, scope=Scope("discord:1", "channel:3")))
    await jobs.save(make_job(5, scope=Scope("slack:1", "channel:2")))

    recent = await jobs.recent(CHANNEL, limit=2)

    assert [job.id for job in recent] == ["job_3", "job_2"]
    assert await jobs.recent(CHANNEL, limit=0) == await jobs.recent(CHANNEL, limit=-1) == []


def in_thread(number: int, *, thread: str = "discord:2", asker: str = "U1", scope: Scope = CHANNEL) -> ResearchJob:
    job = make_job(number, scope=scope)
    return replace(job, request=replace(job.request, thread=thread, asker=asker))


async def test_a_conversation_is_of_its_thread_and_scope(jobs):
    """Questions before a moment, whatever became of them, newest first; never another thread's or another scope's."""
    elsewhere = Scope("discord:1", "channel:9")
    for job in (in_thread(1), in_thread(2), in_thread(3), in_thread(4, thread="discord:5"), in_thread(5, thread="")):
        await jobs.finish(finished(job), RESULT)
    await jobs.finish(finished(in_thread(6, scope=elsewhere)), RESULT)
    await jobs.save(in_thread(7))

    before_third = NOON + timedelta(minutes=3)
    found = await jobs.in_thread(CHANNEL, "discord:2", before=NOON + timedelta(hours=1), limit=2)
    earlier = await jobs.in_thread(CHANNEL, "discord:2", before=before_third, limit=5)

    assert [job.id for job in found] == ["job_7", "job_3"]
    assert [job.id for job in earlier] == ["job_2", "job_1"]
    assert await jobs.in_thread(CHANNEL, "", before=NOON + timedelta(hours=1), limit=5) == []


async def test_history_is_one_persons_own_in_a_tenant(jobs):
    """Of every visibility, newest first; nobody else's, and nobody's when no name is given."""
    mine_in_private = in_thread(2, scope=Scope("discord:1", "user:U1"))
    strangers = (in_thread(3, asker="U2"), in_thread(4, asker=""), in_thread(5, scope=Scope("discord:2", "user:U1")))
    for job in (in_thread(1), mine_in_private, *strangers):
        await jobs.save(job)

    found = await jobs.asked_by("discord:1", "U1", limit=9)

    assert [job.id for job in found] == ["job_2", "job_1"]
    assert await jobs.asked_by("discord:1", "", limit=9) == []


async def test_cancelled_writers_leave_the_database_usable(jobs):
    """Callers that give up lose at most their own write, and no connection."""
    writers = [asyncio.create_task(jobs.save(make_job(number))) for number in range(50)]
    await asyncio.sleep(0)

    for writer in writers:
        writer.cancel()
    await asyncio.wait(writers)
    await asyncio.gather(*(jobs.save(make_job(number)) for number in range(100, 120)))

    assert (await jobs.recent(CHANNEL, limit=1))[0].id == "job_119"


async def test_sources_come_back_whole_and_in_shown_order(sources):
    """`src_10` follows `src_9`, whatever the order they were put in; another job has none of them."""
    numbers = [10, 2, 9, 1]

    await sources.put(make_job(), [make_source(number) for number in numbers])

    assert await sources.sources("job_1") == [make_source(number) for number in sorted(numbers)]
    assert await sources.sources("job_2") == []


async def test_text_of_any_kind_survives(sources):
    """The offsets of citations count characters of the text as read, so not one may change."""
    text = 'line\r\nline\x00 \U0001f469\u200d\U0001f52c "quoted" \\ \ufeff' + "x" * 200_000

    await sources.put(make_job(), [make_source(1, content=text)])

    assert (await sources.sources("job_1"))[0].content == text


async def test_putting_again_replaces_by_number_and_keeps_the_rest(sources):
    """Sources may be put as they are read."""
    await sources.put(make_job(), [make_source(1), make_source(2)])

    await sources.put(make_job(), [make_source(2, content="read anew")])

    assert [source.content for source in await sources.sources("job_1")] == [make_source(1).content, "read anew"]


async def test_newer_attempt_starts_over_and_an_older_is_refused(sources):
    """A source that only the lost attempt had found is not shown; a stalled worker replaces nothing."""
    await sources.put(make_job(), [make_source(1), make_source(2)])

    await sources.put(make_job(attempt=2), [make_source(1)])
    with pytest.raises(StaleAttempt):
        await sources.put(make_job(attempt=1), [make_source(2)])

    assert [source.id for source in await sources.sources("job_1")] == ["src_1"]


async def test_what_was_put_is_found_by_job_and_key_until_the_job_has_ended(memo):
    """Another job's payment is not this one's, nor cleared with it; the same key again replaces."""
    await memo.put("job_1", "model:plan", "first")
    await memo.put("job_1", "model:plan", "second")
    await memo.put("job_2", "model:plan", "other")
    found, missing = await memo.get("job_1", "model:plan"), await memo.get("job_1", "model:answer")

    await memo.clear("job_1")

    assert (found, missing) == ("second", None)
    assert await memo.get("job_1", "model:plan") is None
    assert await memo.get("job_2", "model:plan") == "other"


async def test_text_and_keys_of_any_kind_survive(memo):
    """NUL, line ends, what is no word, and keys longer than an index takes."""
    text, key = "a\x00b\r\n\U0001f469\u200d\U0001f52c \ufeff", "search:\x00" + "ü" * 5000

    await memo.put("job_1", key, text)

    assert await memo.get("job_1", key) == text
    assert await memo.get("job_1", key + "ü") is None


async def test_nothing_is_kept_for_a_job_that_is_not_stored(tables, clock):
    """A row without its job could not be forgotten with it; nor is an answer cached where another channel looks."""
    await SqlJobStore(tables).save(make_job())
    vote, hour = Rating("U1", is_good=True, reason="", at=NOON), timedelta(hours=1)
    cache = SqlAnswerCache(tables, clock=clock)

    with pytest.raises(StoreError, match="job_9"):
        await SqlJobMemo(tables).put("job_9", "a", "x")
    with pytest.raises(StoreError, match="job_9"):
        await SqlJobStore(tables).steer("job_9", Steering("answer_now"))
    for kept in (
        SqlJobStore(tables).attach(make_job(9), [PAPER]),
        SqlEvaluations(tables).rate(make_job(9), vote),
        SqlSourceStore(tables).put(make_job(9), [make_source(1)]),
        SqlEventLog(tables, clock=clock).append("job_9", 1, "status", {}),
        cache.put(CHANNEL, "key", "job_9", ttl=hour),
        cache.put(Scope("discord:1", "workspace"), "key", "job_1", ttl=hour),
    ):
        with pytest.raises(JobNotFound):
            await kept


async def test_every_row_carries_its_jobs_tenant_and_visibility(tables, clock):
    """Each table that keeps what somebody asked says whose it is, and what belongs to a job goes with it."""
    job = await SqlJobStore(tables).save(make_job())
    await SqlSourceStore(tables).put(job, [make_source(1)])
    await SqlJobMemo(tables).put(job.id, "key", "text")
    await SqlEventLog(tables, clock=clock).append(job.id, 1, "status", {})
    await SqlAnswerCache(tables, clock=clock).put(CHANNEL, "key", job.id, ttl=timedelta(hours=1))
    await ToolTraces(SqlTraceStore(tables), clock=clock).create_trace("tool", "U1", {}, scope=job.scope)

    for table in ("jobs", "sources", "memos", "events", "answers", "tool_traces"):
        rows = await tables.rows(f"SELECT tenant, visibility FROM {table}")
        assert rows == [(CHANNEL.tenant, CHANNEL.visibility)], table
    await tables.execute("DELETE FROM jobs")
    for table in ("sources", "memos", "events", "answers"):
        assert await tables.rows(f"SELECT 1 FROM {table}") == [], table


async def test_unfinished_jobs_are_listed_oldest_first(jobs):
    """Ended ones are not; the limit holds."""
    for number in (3, 1, 2):
        await jobs.save(make_job(number))
    ended = replace(make_job(2), status=JobStatus.FAILED)
    await jobs.finish(ended, JobResult(answer=None))

    found = await jobs.unfinished(limit=10)

    assert {job.id for job in found} == {"job_1", "job_3"}
    assert [job.created_at for job in found] == sorted(job.created_at for job in found)
    assert len(await jobs.unfinished(limit=1)) == 1


PAPER = Attachment("paper.pdf", "application/pdf", "On Water", "first page\fsecond page \x00 ü", "cut here")


async def test_attachments_are_found_by_job_in_order(additions):
    """With their pages; another job has none. A re-sent event may put them twice."""
    notes = replace(PAPER, name="notes.md")
    await additions.attach(make_job(1), [PAPER, notes])
    first = await additions.attached("job_1")

    await additions.attach(make_job(1), [PAPER, PAPER])
    await additions.attach(make_job(1), [PAPER])

    assert first == [PAPER, notes]
    assert await additions.attached("job_1") == [PAPER]
    assert await additions.attached("job_2") == []


async def test_a_vote_is_one_an_asker_and_the_later_counts(ratings):
    """Told is only what is new: the figures count a change of mind, not a second click."""
    good = Rating("U1", is_good=True, reason="", at=NOON)
    bad = Rating("U1", is_good=False, reason="wrong year \x00", at=NOON + timedelta(seconds=2))
    other = Rating("U2", is_good=True, reason="", at=NOON + timedelta(seconds=1))

    told = [await ratings.rate(make_job(1), vote) for vote in (good, good, other, bad)]

    assert told == [True, False, True, True]
    assert await ratings.ratings("job_1") == [other, bad]
    assert await ratings.ratings("job_2") == []


async def test_what_is_said_is_read_in_its_order(additions):
    """From any number on, and each job by itself."""
    said = [Steering("add_item", "the dose"), Steering("constraint", 'only "adults" \u00fc'), Steering("answer_now")]

    numbers = [await additions.steer("job_1", entry) for entry in said]
    await additions.steer("job_2", Steering("go_deeper"))

    assert numbers == [1, 2, 3]
    assert await additions.steered("job_1") == said
    assert await additions.steered("job_1", after=2) == said[2:]
    assert await additions.steered("job_1", after=3) == []
    assert await additions.steered("job_2") == [Steering("go_deeper")]


async def test_those_who_speak_at_once_are_all_heard(additions):
    """No number is given twice."""
    numbers = await asyncio.gather(*(additions.steer("job_1", Steering("constraint", str(n))) for n in range(8)))

    assert sorted(numbers) == list(range(1, 9))
    assert len(await additions.steered("job_1")) == 8


SECOND = timedelta(seconds=1)


async def test_only_the_last_beat_counts_until_the_worker_is_forgotten(heartbeats):
    """Also when the clock was set back in between. Who ended in good order is not missed; forgetting twice is fine."""
    await heartbeats.beat("worker 1", NOON + 3600 * SECOND)
    await heartbeats.beat("worker 2", NOON - 5 * SECOND)

    await heartbeats.beat("worker 1", NOON)
    beats = await heartbeats.beats()
    await heartbeats.forget("worker 1")
    await heartbeats.forget("worker 1")

    assert beats == {"worker 1": NOON, "worker 2": NOON - 5 * SECOND}
    assert list(await heartbeats.beats()) == ["worker 2"]
