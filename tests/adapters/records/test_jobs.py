"""The contracts of what is kept of jobs and goes with them, kept by SQLite and by PostgreSQL alike (S003-18)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.records.jobs import SqlEvaluations, SqlJobMemo, SqlJobStore
from core.model.answer import JobResult, Rating
from core.model.errors import JobNotFound, StaleAttempt, StoreError
from core.model.job import Attachment, JobStatus, ResearchJob, Scope, Steering
from tests.adapters.records.samples import CHANNEL, NOON, RESULT, finished, make_job, make_source


async def test_saved_job_is_read_back_whole(jobs):
    """Every field survives, times and enumerations included."""
    job = make_job()

    await jobs.save(job)

    assert await jobs.get(job.id) == job


async def test_unknown_job_is_not_found(jobs):
    """Reading a job that was never stored names it."""
    with pytest.raises(JobNotFound, match="job_9"):
        await jobs.get("job_9")


async def test_saving_again_replaces_by_id(jobs):
    """The stored status is the one saved last."""
    job = await jobs.save(make_job())

    await jobs.save(replace(job, status=JobStatus.SEARCHING))

    assert (await jobs.get(job.id)).status is JobStatus.SEARCHING


async def test_second_job_with_the_same_dedupe_key_is_the_first(jobs):
    """A question delivered twice by a platform becomes one job."""
    first = await jobs.save(make_job(1), dedupe_key="message 7")

    second = await jobs.save(make_job(2), dedupe_key="message 7")

    assert second == first
    with pytest.raises(JobNotFound):
        await jobs.get("job_2")


async def test_dedupe_key_answers_with_the_job_as_it_stands(jobs):
    """The key outlives later saves that do not repeat it."""
    job = await jobs.save(make_job(1), dedupe_key="message 7")
    await jobs.finish(finished(job), RESULT)

    again = await jobs.save(make_job(2), dedupe_key="message 7")

    assert again == finished(job)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Scope("discord:9", "channel:2"), id="other tenant"),
        pytest.param(Scope("discord:1", "channel:3"), id="other visibility"),
    ],
)
async def test_dedupe_key_is_valid_in_its_own_scope_only(jobs, other):
    """The same key elsewhere is another question."""
    await jobs.save(make_job(1), dedupe_key="message 7")

    second = await jobs.save(make_job(2, scope=other), dedupe_key="message 7")

    assert second.id == "job_2"


async def test_finish_stores_status_and_result_together(jobs):
    """S003-18: after deliver both are there."""
    job = await jobs.save(make_job())

    await jobs.finish(finished(job), RESULT)

    assert await jobs.get(job.id) == finished(job)
    assert await jobs.result(job.id) == RESULT


async def test_finish_stores_a_job_that_could_not_be_saved_before(jobs):
    """A database that was full at submit and is not any more keeps the answer."""
    await jobs.finish(finished(make_job()), RESULT)

    assert await jobs.get("job_1") == finished(make_job())


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


async def test_job_without_result_has_none(jobs):
    """Neither an unknown job nor one under way has a result."""
    await jobs.save(make_job())

    assert await jobs.result("job_1") is None
    assert await jobs.result("job_9") is None


async def test_new_attempt_takes_back_the_result_of_the_old(jobs):
    """A job that is under way again shows no answer; its end keeps the new one."""
    await jobs.finish(finished(make_job()), RESULT)

    await jobs.save(make_job(attempt=2))

    assert await jobs.result("job_1") is None


async def test_saving_a_finished_job_keeps_its_result(jobs):
    """A later note on a finished job does not lose the answer."""
    job = finished(make_job())
    await jobs.finish(job, RESULT)

    await jobs.save(job)

    assert await jobs.result("job_1") == RESULT


async def test_recent_jobs_are_the_scopes_own_newest_first(jobs):
    """Other tenants and channels are never listed, and the limit holds."""
    for number in (2, 3, 1):
        await jobs.save(make_job(number))
    await jobs.save(make_job(4, scope=Scope("discord:1", "channel:3")))
    await jobs.save(make_job(5, scope=Scope("slack:1", "channel:2")))

    recent = await jobs.recent(CHANNEL, limit=2)

    assert [job.id for job in recent] == ["job_3", "job_2"]


async def test_recent_with_no_room_is_empty(jobs):
    """A limit of zero or below lists nothing rather than everything."""
    await jobs.save(make_job())

    assert await jobs.recent(CHANNEL, limit=0) == []
    assert await jobs.recent(CHANNEL, limit=-1) == []


async def test_a_question_is_found_by_its_key_in_its_scope_only(jobs):
    """What a re-sent event and a deleted message name."""
    job = make_job(1)
    await jobs.save(job, dedupe_key="discord:99")

    assert await jobs.asked(job.scope, "discord:99") == job
    assert await jobs.asked(Scope("discord:1", "channel:3"), "discord:99") is None
    assert await jobs.asked(job.scope, "discord:98") is None


def in_thread(number: int, *, thread: str = "discord:2", asker: str = "U1", scope: Scope = CHANNEL) -> ResearchJob:
    job = make_job(number, scope=scope)
    return replace(job, request=replace(job.request, thread=thread, asker=asker))


async def test_a_conversation_is_of_its_thread_and_scope(jobs):
    """Completed questions before a moment, newest first; never another thread's or another scope's."""
    elsewhere = Scope("discord:1", "channel:9")
    for job in (in_thread(1), in_thread(2), in_thread(3), in_thread(4, thread="discord:5"), in_thread(5, thread="")):
        await jobs.finish(finished(job), RESULT)
    await jobs.finish(finished(in_thread(6, scope=elsewhere)), RESULT)
    await jobs.save(in_thread(7))

    before_third = NOON + timedelta(minutes=3)
    found = await jobs.in_thread(CHANNEL, "discord:2", before=NOON + timedelta(hours=1), limit=2)
    newest = await jobs.in_thread(CHANNEL, "discord:2", before=NOON + timedelta(hours=1), limit=1, is_any=True)
    earlier = await jobs.in_thread(CHANNEL, "discord:2", before=before_third, limit=5)

    assert [job.id for job in found] == ["job_3", "job_2"]
    assert [job.id for job in earlier] == ["job_2", "job_1"]
    assert [job.id for job in newest] == ["job_7"]
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
    """`src_10` follows `src_9`, whatever the order they were put in."""
    numbers = [10, 2, 9, 1]

    await sources.put(make_job(), [make_source(number) for number in numbers])

    assert await sources.sources("job_1") == [make_source(number) for number in sorted(numbers)]


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


async def test_newer_attempt_starts_over(sources):
    """A source that only the lost attempt had found is not shown."""
    await sources.put(make_job(), [make_source(1), make_source(2)])

    await sources.put(make_job(attempt=2), [make_source(1)])

    assert [source.id for source in await sources.sources("job_1")] == ["src_1"]


async def test_older_attempt_is_refused(sources):
    """A stalled worker cannot replace what the newer one has read."""
    await sources.put(make_job(attempt=2), [make_source(1)])

    with pytest.raises(StaleAttempt):
        await sources.put(make_job(attempt=1), [make_source(2)])

    assert [source.id for source in await sources.sources("job_1")] == ["src_1"]


async def test_jobs_do_not_share_sources(sources):
    """Each job has its own; one without has none."""
    await sources.put(make_job(1), [make_source(1)])

    assert await sources.sources("job_2") == []


async def test_what_was_put_is_found_by_job_and_key(memo):
    """Another job's payment is not this one's; the same key again replaces."""
    await memo.put("job_1", "model:plan", "first")
    await memo.put("job_1", "model:plan", "second")
    await memo.put("job_2", "model:plan", "other")

    assert await memo.get("job_1", "model:plan") == "second"
    assert await memo.get("job_2", "model:plan") == "other"
    assert await memo.get("job_1", "model:answer") is None


async def test_clearing_a_job_leaves_the_others(memo):
    """What a job has paid for goes when it has ended."""
    await memo.put("job_1", "a", "x")
    await memo.put("job_2", "a", "y")

    await memo.clear("job_1")

    assert await memo.get("job_1", "a") is None
    assert await memo.get("job_2", "a") == "y"


async def test_text_and_keys_of_any_kind_survive(memo):
    """NUL, line ends, what is no word, and keys longer than an index takes."""
    text, key = "a\x00b\r\n\U0001f469\u200d\U0001f52c \ufeff", "search:\x00" + "ü" * 5000

    await memo.put("job_1", key, text)

    assert await memo.get("job_1", key) == text
    assert await memo.get("job_1", key + "ü") is None


async def test_nothing_is_kept_for_a_job_that_is_not_stored(database, postgres):
    """A row without its job could not be forgotten with it."""
    for memo in (SqlJobMemo(database), SqlJobMemo(postgres)):
        with pytest.raises(StoreError, match="job_9"):
            await memo.put("job_9", "a", "x")


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
    """With their pages; another job has none."""
    notes = replace(PAPER, name="notes.md")
    await additions.attach(make_job(1), [PAPER, notes])

    assert await additions.attached("job_1") == [PAPER, notes]
    assert await additions.attached("job_2") == []


async def test_attachments_put_again_replace(additions):
    """A re-sent event may put them twice."""
    await additions.attach(make_job(1), [PAPER, PAPER])
    await additions.attach(make_job(1), [PAPER])

    assert await additions.attached("job_1") == [PAPER]


async def test_a_vote_is_one_an_asker_and_the_later_counts(ratings):
    """Told is only what is new: the figures count a change of mind, not a second click."""
    good = Rating("U1", is_good=True, reason="", at=NOON)
    bad = Rating("U1", is_good=False, reason="wrong year \x00", at=NOON + timedelta(seconds=2))
    other = Rating("U2", is_good=True, reason="", at=NOON + timedelta(seconds=1))

    told = [await ratings.rate(make_job(1), vote) for vote in (good, good, other, bad)]

    assert told == [True, False, True, True]
    assert await ratings.ratings("job_1") == [other, bad]
    assert await ratings.ratings("job_2") == []


async def test_no_file_is_kept_for_a_job_that_is_not_stored(database, postgres):
    """A row without its job could not be forgotten with it."""
    for store in (SqlJobStore(database), SqlJobStore(postgres)):
        with pytest.raises(JobNotFound):
            await store.attach(make_job(9), [PAPER])
    for votes in (SqlEvaluations(database), SqlEvaluations(postgres)):
        with pytest.raises(JobNotFound):
            await votes.rate(make_job(9), Rating("U1", is_good=True, reason="", at=NOON))


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


async def test_a_job_that_is_not_stored_cannot_be_steered(database, postgres):
    """A row without its job could not be forgotten with it."""
    for store in (SqlJobStore(database), SqlJobStore(postgres)):
        with pytest.raises(StoreError, match="job_9"):
            await store.steer("job_9", Steering("answer_now"))


SECOND = timedelta(seconds=1)


async def test_only_the_last_beat_counts(heartbeats):
    """Of each worker, also when the clock was set back in between."""
    await heartbeats.beat("worker 1", NOON + 3600 * SECOND)
    await heartbeats.beat("worker 2", NOON - 5 * SECOND)

    await heartbeats.beat("worker 1", NOON)

    assert await heartbeats.beats() == {"worker 1": NOON, "worker 2": NOON - 5 * SECOND}


async def test_forgotten_worker_is_not_missed(heartbeats):
    """One that ended in good order leaves nothing to take up; forgetting twice is fine."""
    await heartbeats.beat("worker 1", NOON)
    await heartbeats.beat("worker 2", NOON)

    await heartbeats.forget("worker 1")
    await heartbeats.forget("worker 1")

    assert list(await heartbeats.beats()) == ["worker 2"]
