"""Jobs and all that goes with them: results, sources, model answers that were paid for, files, events, votes.

Also what people said to a running job, how many jobs there are, and the heartbeats of the workers that run them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from adapters.records.sql import POSITION, Dialect, Sql, SqlStore, Tables, digest, insertion, moment
from core.model.answer import Confidence, JobResult, Rating, SynthesisMetadata
from core.model.codec import decode, encode
from core.model.errors import JobNotFound, StaleAttempt, StoreError, Unstorable
from core.model.job import (
    TERMINAL_STATUSES,
    Attachment,
    Event,
    EventType,
    JobStatus,
    Json,
    ResearchJob,
    Scope,
    Steering,
)
from core.model.ports import Clock
from core.model.source import Source
from core.tenancy.usage import Grade, JudgedAnswers, VotedCase

if TYPE_CHECKING:
    from adapters.records.redis import RedisDoorbell

_OF_JOB = ("id", "tenant", "visibility", "status", "attempt", "created_at", "thread", "asker", "dedupe_key", "job")
_OF_RESULT = ("result", "seconds", "confidence", "cost_usd", "is_cached")
_COLUMNS = (*_OF_JOB, *_OF_RESULT)
_CHANGING = ("tenant", "visibility", "status", "attempt", "created_at", "job")

_ENDED = ", ".join(f"'{status.value}'" for status in sorted(TERMINAL_STATUSES))  # as in an index of either database
_RECENT = "SELECT job FROM jobs WHERE tenant = ? AND visibility = ?"
_IN_THREAD = f"{_RECENT} AND thread = ? AND thread != '' AND created_at < ?"
_ASKED_BY = "SELECT job FROM jobs WHERE tenant = ? AND asker = ? AND asker != ''"
_UNFINISHED = f"SELECT job FROM jobs WHERE status NOT IN ({_ENDED})"  # noqa: S608 -- our words
_IS_KEPT = "SELECT 1 FROM jobs WHERE id = ?"
_COUNT = f"SELECT status, COUNT(*) FROM jobs WHERE status NOT IN ({_ENDED}) GROUP BY status"  # noqa: S608 -- our words
_NUMBER: dict[Dialect, str] = {"sqlite": "rowid", "postgres": "number"}  # orders jobs of one moment

_OF_SOURCE = "tenant, visibility, attempt, source"
_PUT_SOURCE = insertion("sources", f"job_id, number, {_OF_SOURCE}", key="job_id, number", changes=_OF_SOURCE)
_PUT_MEMO = insertion("memos", "key, text", key="job_id, key", changes="text", of_job=True)
_PUT_ATTACHMENT = insertion("attachments", "job_id, number, tenant, visibility, attachment")
_ADD_STEERING = """
    INSERT INTO steering (job_id, number, tenant, visibility, steering)
    SELECT id, (SELECT COUNT(*) + 1 FROM steering WHERE job_id = jobs.id), tenant, visibility, ?
    FROM jobs WHERE id = ? RETURNING number
"""
_STEERING = "SELECT steering FROM steering WHERE job_id = ? AND number > ? ORDER BY number"
_PUT_RATING = insertion(
    "ratings", "job_id, asker, tenant, visibility, at, rating", key="job_id, asker", changes="at, rating"
)
_PUT_CASE = insertion("evaluation_cases", "job_id, tenant, visibility, must, at", key="job_id", changes="must, at")
_CASES = "SELECT job_id, must, at FROM evaluation_cases WHERE :tenant = '' OR tenant = :tenant ORDER BY at, job_id"
_PUT_GRADE = insertion("grades", "key, job_id, level, is_right, at", key="key", changes="level, is_right, at")
_GRADED = "SELECT level, SUM(is_right), COUNT(*) FROM grades GROUP BY level ORDER BY level"
_VOTED = Template("""
    WITH voted AS (
        SELECT j.confidence AS level, COUNT(*) AS votes,
            SUM(CASE WHEN $position(r.rating, '"is_good":true') > 0 THEN 1 ELSE 0 END) AS good
        FROM ratings r JOIN jobs j ON j.id = r.job_id
        WHERE j.confidence IS NOT NULL AND (:tenant = '' OR j.tenant = :tenant)
        GROUP BY r.job_id, j.confidence)
    SELECT level, SUM(CASE WHEN 2 * good > votes THEN 1 ELSE 0 END), COUNT(*) FROM voted
    WHERE 2 * good <> votes GROUP BY level ORDER BY level
""")


def _upsert(*changing: str) -> str:
    """Fenced: no row is changed when the stored one is of a newer attempt."""
    statement = insertion("jobs", ", ".join(_COLUMNS), key="id", changes=", ".join(changing))
    return f"""{statement}, dedupe_key = COALESCE(excluded.dedupe_key, jobs.dedupe_key)
        WHERE jobs.attempt <= excluded.attempt"""


_PUT = _upsert(*_CHANGING, *_OF_RESULT)
_PUT_KEEPING_RESULT = _upsert(*_CHANGING)
_BEAT = insertion("heartbeats", "worker_id, beat_at", key="worker_id", changes="beat_at")


class SqlJobStore(SqlStore):
    """A `JobStore`. Both writes are fenced: an attempt older than the stored one raises `StaleAttempt`."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        number = _NUMBER[tables.dialect]
        self._newest_first = f"ORDER BY created_at DESC, {number} DESC LIMIT ?"
        self._oldest_first = f"ORDER BY created_at, {number} LIMIT ?"

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        """Saving a job that is under way takes back the result of an earlier attempt."""

        def save(sql: Sql) -> ResearchJob:
            if dedupe_key and (twin := _find_twin(sql, job.scope, dedupe_key)):
                return twin
            _put(sql, job, None, dedupe_key)
            return job

        return await self._tables.write(save, key=f"asked:{job.scope}:{dedupe_key}" if dedupe_key else "")

    async def finish(self, job: ResearchJob, result: JobResult) -> None:
        """Also stores a job that was never saved. Raises `ValueError` unless the status is terminal."""
        if job.status not in TERMINAL_STATUSES:
            raise ValueError(f"{job.id} is {job.status}, which is not an end")
        await self._tables.write(lambda sql: _put(sql, job, result))

    async def asked(self, scope: Scope, dedupe_key: str) -> ResearchJob | None:
        return await self._tables.read(lambda sql: _find_twin(sql, scope, dedupe_key))

    async def get(self, job_id: str) -> ResearchJob:
        job = await self._first(ResearchJob, "SELECT job FROM jobs WHERE id = ?", (job_id,))
        if job is None:
            raise JobNotFound(job_id)
        return job

    async def result(self, job_id: str) -> JobResult | None:
        return await self._first(JobResult, "SELECT result FROM jobs WHERE id = ?", (job_id,))

    async def recent(self, scope: Scope, *, limit: int) -> list[ResearchJob]:
        return await self._all(
            ResearchJob, f"{_RECENT} {self._newest_first}", (scope.tenant, scope.visibility, max(limit, 0))
        )

    async def in_thread(self, scope: Scope, thread: str, *, before: datetime, limit: int) -> list[ResearchJob]:
        values = (scope.tenant, scope.visibility, thread, before, max(limit, 0))
        return await self._all(ResearchJob, f"{_IN_THREAD} {self._newest_first}", values)

    async def asked_by(self, tenant: str, asker: str, *, limit: int) -> list[ResearchJob]:
        return await self._all(ResearchJob, f"{_ASKED_BY} {self._newest_first}", (tenant, asker, max(limit, 0)))

    async def unfinished(self, *, limit: int) -> list[ResearchJob]:
        return await self._all(ResearchJob, f"{_UNFINISHED} {self._oldest_first}", (max(limit, 0),))

    async def backlog(self) -> tuple[int, int]:
        by_status: dict[str, int] = dict(await self._tables.rows(_COUNT))
        waiting = by_status.pop(JobStatus.PENDING.value, 0)
        return waiting, sum(by_status.values())

    async def attach(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        whose = (job.scope.tenant, job.scope.visibility)

        def put(sql: Sql) -> None:
            must_exist(sql, job.id)
            sql.execute("DELETE FROM attachments WHERE job_id = ?", (job.id,))
            rows = [(job.id, number, *whose, encode(attachment)) for number, attachment in enumerate(attachments)]
            sql.execute_all(_PUT_ATTACHMENT, rows)

        await self._tables.write(put, key=job.id)

    async def attached(self, job_id: str) -> list[Attachment]:
        query = "SELECT attachment FROM attachments WHERE job_id = ? ORDER BY number"
        return await self._all(Attachment, query, (job_id,))

    async def steer(self, job_id: str, steering: Steering) -> int:
        rows = await self._tables.write(lambda sql: sql.rows(_ADD_STEERING, (encode(steering), job_id)), key=job_id)
        if not rows:
            raise StoreError(f"{job_id} is not stored, so it cannot be steered")
        return int(rows[0][0])

    async def steered(self, job_id: str, *, after: int = 0) -> list[Steering]:
        return await self._all(Steering, _STEERING, (job_id, max(after, 0)))


class SqlHeartbeats(SqlStore):
    """`Heartbeats`."""

    async def beat(self, worker_id: str, now: datetime) -> None:
        await self._tables.execute(_BEAT, (worker_id, now))

    async def beats(self) -> dict[str, datetime]:
        rows = await self._tables.rows("SELECT worker_id, beat_at FROM heartbeats")
        return {worker_id: moment(beat_at) for worker_id, beat_at in rows}

    async def forget(self, worker_id: str) -> None:
        await self._tables.execute("DELETE FROM heartbeats WHERE worker_id = ?", (worker_id,))


def must_exist(sql: Sql, job_id: str) -> None:
    """Raises `JobNotFound` for a job that is not stored."""
    if not sql.rows(_IS_KEPT, (job_id,)):
        raise JobNotFound(job_id)


def _find_twin(sql: Sql, scope: Scope, dedupe_key: str) -> ResearchJob | None:
    query = "SELECT job FROM jobs WHERE tenant = ? AND visibility = ? AND dedupe_key = ?"
    rows = sql.rows(query, (scope.tenant, scope.visibility, digest(dedupe_key)))
    return decode(rows[0][0], ResearchJob) if rows else None


def _put(sql: Sql, job: ResearchJob, result: JobResult | None, dedupe_key: str = "") -> None:
    keeps_result = result is None and job.status in TERMINAL_STATUSES
    row = _row(job, result, dedupe_key)
    query = _PUT_KEEPING_RESULT if keeps_result else _PUT
    if sql.execute(query, [row[name] for name in _COLUMNS]) == 0:
        ((newest,),) = sql.rows("SELECT attempt FROM jobs WHERE id = ?", (job.id,))
        raise StaleAttempt(f"attempt {job.attempt} of {job.id} wrote after attempt {newest} had begun")


def _row(job: ResearchJob, result: JobResult | None, dedupe_key: str) -> dict[str, object]:
    """By column. The figures of a result stand beside it, so that usage is counted without reading answers."""
    answer = result.answer if result else None
    return {
        "id": job.id,
        "tenant": job.scope.tenant,
        "visibility": job.scope.visibility,
        "status": job.status.value,
        "attempt": job.attempt,
        "created_at": job.created_at,
        "thread": job.request.thread,
        "asker": job.request.asker,
        "dedupe_key": digest(dedupe_key) if dedupe_key else None,
        "job": encode(job),
        "result": encode(result) if result else None,
        "seconds": result.duration_s if result else None,
        "confidence": answer.confidence.value if answer else None,
        "cost_usd": _cost_usd(answer.metadata) if answer else None,
        "is_cached": int(result.cached_at is not None) if result else None,
    }


def _cost_usd(spent: SynthesisMetadata) -> float | None:
    """None where a model without a price was called; nothing where none was."""
    return spent.cost_usd if spent.model_calls else spent.cost_usd or 0.0


class SqlSourceStore(SqlStore):
    """A `SourceStore`. The job must have been saved, else `JobNotFound`."""

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None:
        """Add or replace by number. A newer attempt's first put drops the older one's; an older one's is refused."""
        whose = (job.scope.tenant, job.scope.visibility, job.attempt)

        def put(sql: Sql) -> None:
            must_exist(sql, job.id)
            ((newest,),) = sql.rows("SELECT COALESCE(MAX(attempt), 0) FROM sources WHERE job_id = ?", (job.id,))
            if newest > job.attempt:
                raise StaleAttempt(f"attempt {job.attempt} of {job.id} put sources after attempt {newest}")
            sql.execute("DELETE FROM sources WHERE job_id = ? AND attempt < ?", (job.id, job.attempt))
            sql.execute_all(_PUT_SOURCE, [(job.id, one.number, *whose, encode(one)) for one in sources])

        await self._tables.write(put, key=job.id)

    async def sources(self, job_id: str) -> list[Source]:
        return await self._all(Source, "SELECT source FROM sources WHERE job_id = ? ORDER BY number", (job_id,))


class SqlJobMemo(SqlStore):
    """A `JobMemo`. Texts are kept as bytes, since they are not encoded and may hold NUL."""

    async def get(self, job_id: str, key: str) -> str | None:
        query = "SELECT text FROM memos WHERE job_id = ? AND key = ?"
        rows = await self._tables.rows(query, (job_id, digest(key)))
        return bytes(rows[0][0]).decode() if rows else None

    async def put(self, job_id: str, key: str, text: str) -> None:
        try:
            content = text.encode()
        except UnicodeEncodeError as exc:  # half a surrogate pair
            raise Unstorable(f"a value cannot be stored: {exc}") from exc
        if await self._tables.execute(_PUT_MEMO, (digest(key), content, job_id)) == 0:
            raise StoreError(f"{job_id} is not stored, so nothing is kept for it")

    async def clear(self, job_id: str) -> None:
        await self._tables.execute("DELETE FROM memos WHERE job_id = ?", (job_id,))


class SqlEvaluations(SqlStore):
    """An `EvaluationStore`. An answer with as many good as bad votes counts for neither."""

    async def rate(self, job: ResearchJob, rating: Rating) -> bool:
        whose = (job.id, rating.asker, job.scope.tenant, job.scope.visibility)

        def put(sql: Sql) -> bool:
            must_exist(sql, job.id)
            earlier = sql.rows("SELECT rating FROM ratings WHERE job_id = ? AND asker = ?", (job.id, rating.asker))
            sql.execute(_PUT_RATING, (*whose, rating.at, encode(rating)))
            return not earlier or decode(earlier[0][0], Rating).is_good != rating.is_good

        return await self._tables.write(put, key=job.id)

    async def ratings(self, job_id: str) -> list[Rating]:
        return await self._all(Rating, "SELECT rating FROM ratings WHERE job_id = ? ORDER BY at, asker", (job_id,))

    async def put_case(self, job: ResearchJob, case: VotedCase) -> None:
        def put(sql: Sql) -> None:
            must_exist(sql, job.id)
            sql.execute(_PUT_CASE, (job.id, job.scope.tenant, job.scope.visibility, case.must, case.at))

        await self._tables.write(put, key=job.id)

    async def drop_case(self, job_id: str) -> None:
        await self._tables.execute("DELETE FROM evaluation_cases WHERE job_id = ?", (job_id,))

    async def cases(self, tenant: str) -> list[VotedCase]:
        rows = await self._tables.rows(_CASES, {"tenant": tenant})
        return [VotedCase(job_id, must, moment(at)) for job_id, must, at in rows]

    async def votes(self, job_id: str) -> tuple[int, int]:
        votes = await self.ratings(job_id)
        good = sum(vote.is_good for vote in votes)
        return good, len(votes) - good

    async def put_grades(self, grades: Sequence[Grade], at: datetime) -> None:
        def put(sql: Sql) -> None:
            kept = [one for one in grades if not one.job_id or sql.rows(_IS_KEPT, (one.job_id,))]
            rows = [(one.key, one.job_id, one.level.value, int(one.is_right), at) for one in kept]
            sql.execute_all(_PUT_GRADE, rows)

        await self._tables.write(put)

    async def judged(self, tenant: str) -> list[JudgedAnswers]:
        voted = _VOTED.substitute(position=POSITION[self._tables.dialect])
        votes = await self._tables.rows(voted, {"tenant": tenant})
        graded = [] if tenant else await self._tables.rows(_GRADED)
        return [
            *(JudgedAnswers(Confidence(level), "votes", int(right), int(of)) for level, right, of in votes),
            *(JudgedAnswers(Confidence(level), "evaluations", int(right), int(of)) for level, right, of in graded),
        ]


# The replayable log of each job, and how it is followed: what is there, then what comes, until `complete`. A `Bell`
# wakes the followers of this process; a doorbell, where there is one, those of other processes. Whatever is missed is
# found by asking again every `poll_s`.


POLL_S = 0.15  # other processes see an event within 300 ms
RUNG_POLL_S = 2.0  # where a doorbell rings, or whoever writes is in this process; a net below it
SURELY_HEARD = 3  # tails in a row that were rung for: more than asking for a job, or cancelling it, writes
PATIENCE_S = 60.0  # how long a follower waits for a database that is away

_LAST = "SELECT seq, attempt, type FROM events WHERE job_id = ? ORDER BY seq DESC LIMIT 1"
_AFTER = "SELECT seq, type, attempt, at, data FROM events WHERE job_id = ? AND seq > ? ORDER BY seq"
_INSERT = insertion("events", "seq, attempt, type, at, data", of_job=True)


class SqlEventLog:
    """An `EventLog`. The job must have been saved, else an append raises `JobNotFound`.

    After its `complete` an attempt appends no more (`StaleAttempt`). A follower in this process is
    woken at once, one in another process by the doorbell, or within `poll_s`.
    """

    def __init__(
        self, tables: Tables, *, clock: Clock, doorbell: RedisDoorbell | None = None, poll_s: float = POLL_S
    ) -> None:
        self._tables = tables
        self._clock = clock
        self._poll_s = poll_s
        self._bell = Bell()
        self._doorbell = doorbell
        self._failing_since: float | None = None
        self._drafts: dict[str, list[_QueuedEvent]] = {}  # by job that is being written to, what waits for it
        self._writing: dict[str, asyncio.Task[None]] = {}

    async def append(self, job_id: str, attempt: int, type: EventType, data: Mapping[str, Json]) -> Event:
        """Returns once it is stored. What comes while others of the job's events are written shares a transaction."""
        event: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        drafts = [_QueuedEvent(attempt, type, self._clock(), data, event)]
        if job_id in self._drafts:
            self._drafts[job_id] += drafts
            return await event
        self._drafts[job_id] = []
        try:
            await self._append(job_id, drafts)
        finally:
            self._writing[job_id] = asyncio.create_task(self._write(job_id))
        return await event

    async def _write(self, job_id: str) -> None:
        while drafts := self._drafts[job_id]:
            self._drafts[job_id] = []
            await self._append(job_id, drafts)
        del self._drafts[job_id], self._writing[job_id]

    async def _append(self, job_id: str, drafts: Sequence[_QueuedEvent]) -> None:
        outcomes: Sequence[Event | Exception]
        try:
            outcomes = await self._tables.write(partial(_append_all, job_id, drafts), key=f"events:{job_id}")
        except Exception as exc:  # noqa: BLE001  # for each who waits, who decide what it means
            outcomes = [exc] * len(drafts)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if isinstance(outcome, Event) and not draft.event.done():  # else whoever appended it waits no more
                draft.event.set_result(outcome)
            elif isinstance(outcome, Exception) and not draft.event.done():
                draft.event.set_exception(outcome)
        self._bell.ring(job_id)
        if self._doorbell:
            self._doorbell.ring(job_id)

    async def read(self, job_id: str, *, after: int = 0) -> list[Event]:
        return await self._tables.read(lambda sql: _events(sql, job_id, after))

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Goes on when the database was away for less than `PATIENCE_S`. Raises `StoreError`."""

        async def read_tail(seen: int) -> Tail:
            return await self._tail(job_id, seen)

        if self._doorbell:
            self._doorbell.listen(self._bell.ring, self._bell.ring_all)
        with self._bell.listen(job_id) as rung:
            async for event in follow_log(read_tail, rung, after=after, poll_s=self._pause_s):
                yield event

    def followers(self) -> int:
        """How many followers wait in this process."""
        return self._bell.listeners()

    def _pause_s(self) -> float:
        return self._poll_s if self._doorbell is None or self._doorbell.is_away else RUNG_POLL_S

    async def _tail(self, job_id: str, after: int) -> Tail:
        now = asyncio.get_running_loop().time()
        try:
            tail = await self._tables.read(lambda sql: _read_tail(sql, job_id, after))
        except StoreError:
            self._failing_since = self._failing_since or now
            if now - self._failing_since > PATIENCE_S:
                raise
            return Tail((), 0, False)
        self._failing_since = None
        return tail


class _QueuedEvent(NamedTuple):
    """An event to append; `event` is what becomes of it."""

    attempt: int
    type: EventType
    at: datetime
    data: Mapping[str, Json]
    event: asyncio.Future[Event]


def _append_all(job_id: str, drafts: Sequence[_QueuedEvent], sql: Sql) -> list[Event | Exception]:
    """Of each the event, or why it is refused, which refuses no other."""
    ((seq, newest, last_type),) = sql.rows(_LAST, (job_id,)) or [(0, 0, "")]
    outcomes: list[Event | Exception] = []
    for draft in drafts:
        try:
            if draft.attempt < newest:
                raise StaleAttempt(f"attempt {draft.attempt} of {job_id} appended after attempt {newest}")
            if draft.attempt == newest and last_type == "complete":
                raise StaleAttempt(f"attempt {draft.attempt} of {job_id} appended after its own end")
            row = (seq + 1, draft.attempt, draft.type, draft.at, encode(dict(draft.data)), job_id)
            if sql.execute(_INSERT, row) == 0:
                raise JobNotFound(job_id)
            seq, newest, last_type = seq + 1, draft.attempt, draft.type
            outcomes.append(Event(seq=seq, type=draft.type, attempt=newest, at=draft.at, data=draft.data))
        except (StaleAttempt, JobNotFound, StoreError) as exc:
            outcomes.append(exc)
        except ValueError as exc:  # what no JSON holds, as half a surrogate pair
            outcomes.append(Unstorable(f"an event's data cannot be stored: {type(exc).__name__}"))
    return outcomes


def _events(sql: Sql, job_id: str, after: int) -> list[Event]:
    return [
        Event(seq=seq, type=kind, attempt=attempt, at=moment(at), data=decode(data, dict))
        for seq, kind, attempt, at, data in sql.rows(_AFTER, (job_id, after))
    ]


def _read_tail(sql: Sql, job_id: str, after: int) -> Tail:
    """Two statements: whatever comes between them is newer than `last`, and is read again with the next tail."""
    last = sql.rows(_LAST, (job_id,))
    if not last:
        return Tail((), 0, False)
    ((seq, attempt, kind),) = last
    events = tuple(event for event in _events(sql, job_id, after) if event.seq <= seq)
    return Tail(events, attempt, kind == "complete")


@dataclass(frozen=True)
class Tail:
    """The events after a place in the log, and of the whole log its newest attempt (0: empty) and whether it ended."""

    events: tuple[Event, ...]
    attempt: int
    is_complete: bool


class Bell:
    """Wakes the followers of a job. Belongs to one event loop; holds nothing for a job that nobody follows."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Event]] = {}

    def ring(self, job_id: str) -> None:
        for rung in self._listeners.get(job_id, ()):
            rung.set()

    def ring_all(self) -> None:
        """Something may have been missed."""
        for job_id in self._listeners:
            self.ring(job_id)

    @contextmanager
    def listen(self, job_id: str) -> Iterator[asyncio.Event]:
        rung = asyncio.Event()
        self._listeners.setdefault(job_id, set()).add(rung)
        try:
            yield rung
        finally:
            self._listeners[job_id].discard(rung)
            if not self._listeners[job_id]:
                del self._listeners[job_id]

    def listeners(self) -> int:
        """How many followers wait, over all jobs."""
        return sum(len(listeners) for listeners in self._listeners.values())


async def follow_log(
    read_tail: Callable[[int], Awaitable[Tail]], rung: asyncio.Event, *, after: int, poll_s: Callable[[], float]
) -> AsyncIterator[Event]:
    """Yield events after `after` in order, without those of an attempt older than one already seen.

    Ends after `complete`, unless a newer attempt has taken the job up again. Every `poll_s` it is asked what nobody
    rang for; rarely while every event is rung for.
    """
    newest = heard = 0
    while True:
        is_rung = rung.is_set()
        rung.clear()
        tail = await read_tail(after)
        if tail.events:
            heard = heard + 1 if is_rung else 0
        for event in tail.events:
            after = event.seq
            is_superseded = event.type == "complete" and event.attempt < tail.attempt
            if event.attempt < newest or is_superseded:
                continue
            newest = event.attempt
            yield event
            if event.type == "complete":
                return
        if tail.is_complete:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(RUNG_POLL_S if heard >= SURELY_HEARD else poll_s()):
                await rung.wait()
