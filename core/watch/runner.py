"""The course of a run: claimed, looked at, researched where something may have changed, told where it has.

Every step is a write of the watch as the version after the one that was read, so of several workers one takes it; a
step that its worker did not end is taken up by another after the lease, under the same keys. Time is an argument.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from core.model.errors import GorkdError, JobNotFound, StoreError
from core.model.job import TERMINAL_STATUSES, JobStatus, ResearchJob, ResearchRequest
from core.model.ports import Clock, job_id_var
from core.pipeline.deps import Deps
from core.text.language import language_of
from core.text.saying import speaking
from core.text.urls import domain_of
from core.watch.comparison import is_confirmed, new_conflicts, on_answer, vote
from core.watch.looking import MAX_PAGES, ToldAnswer, known_sentences, look, look_at_source, pages_of, still_stands
from core.watch.watch import (
    ASKS_BEFORE_END,
    ENDINGS,
    JOB_LOOK,
    LEASE,
    MOST_STRICT,
    SAYS_STILL_AFTER,
    SECOND_LOOK,
    Change,
    Watch,
    WatchedPage,
    Watches,
    WatchNotice,
    WatchTelling,
    backed_off,
    ended,
    next_run,
)

TICK_EVERY_S = 10.0
MOST_AT_ONCE = 20  # watches that one turn of a worker takes on
RUN_AT_ONCE = 4
MAX_LOOKS = 3  # at what a second look could not read
MOST_FAILURES = 12  # runs in a row that came to nothing; then it ends
RESEARCH_ENDS_AFTER = timedelta(hours=2)
_STRICTER: tuple[frozenset[str], ...] = (
    frozenset(), frozenset({"confidence", "new"}), frozenset({"confidence", "new", "conflict", "verdict"}),
    frozenset({"confidence", "new", "conflict", "verdict", "gone"}),
)  # fmt: skip

log = logging.getLogger(__name__)
Submit = Callable[[ResearchRequest, str, str], Awaitable[ResearchJob]]  # with a key, and the job whose files it has


class WatchRunner:
    """`submit(request, dedupe_key)` researches: the same key is the same job."""

    def __init__(self, deps: Deps, watches: Watches, submit: Submit) -> None:
        self._deps = deps
        self._watches = watches
        self._submit = submit

    async def tick(self, now: datetime) -> int:
        """Take on what is due; how many watches were. Raises `StoreError`."""
        gate = asyncio.Semaphore(RUN_AT_ONCE)
        await self._watches.send_digests(now)

        async def take(watch: Watch) -> int:
            async with gate:
                with speaking(watch.request.language, language_of(watch.request.query)):
                    return await self._take(watch, now)

        return sum(await asyncio.gather(*map(take, await self._watches.due(now, limit=MOST_AT_ONCE))))

    async def keep_running(self, clock: Clock, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """`tick` every few seconds, until it is cancelled."""
        while True:
            try:
                await self.tick(clock())
            except StoreError as exc:
                level = logging.DEBUG if exc.is_told else logging.WARNING
                log.log(level, "watches are not looked at", extra={"error": str(exc)})
            await sleep(TICK_EVERY_S)

    async def _take(self, watch: Watch, now: datetime) -> int:
        """Claim it, and go on where it stands."""
        begins = watch.stage == "waiting" and not watch.suspected
        claimed = replace(
            watch,
            stage="researching" if watch.stage == "researching" else "looking",
            run=watch.run + begins,
            next_at=now + LEASE,
        )
        if not await self._watches.put(claimed):
            return 0
        claimed = replace(claimed, version=claimed.version + 1)
        try:
            await self._go_on(claimed, now)
        except JobNotFound:
            await self._watches.put(ended(claimed, ENDINGS["forgotten"]))
        except StoreError:
            raise
        except GorkdError as exc:
            log.warning("a run came to nothing", extra={"watch": watch.id, "error": str(exc)})
            await (self._put_off(claimed, now, exc) if exc.code == "RATE_LIMITED" else self._fail(claimed, now))
        except Exception:  # the boundary of one run: the others go on
            log.exception("a run broke", extra={"watch": watch.id})
            await self._fail(claimed, now)
        return 1

    async def _go_on(self, watch: Watch, now: datetime) -> None:
        if now >= watch.ends_at:
            notice = _notice(watch, now, "ended") if watch.told else None
            await self._put(ended(watch, ENDINGS["over"]), notice)
        elif watch.kind == "schedule":
            is_ending = watch.ends_at - now <= ASKS_BEFORE_END
            await (self._ask_renewal if is_ending and watch.told and not watch.asked_renewal else self._ask)(watch, now)
        elif watch.stage == "researching":
            await self._wait(watch, now)
        elif watch.suspected:
            await self._look_again(watch, now)
        elif watch.kind == "source":
            await self._look_at_source(watch, now)
        else:
            await self._look(watch, now)

    # The question is asked again, whatever comes of it

    async def _ask(self, watch: Watch, now: datetime) -> None:
        job = await self._research(watch)
        rested = replace(_rested(watch, now), told=job.id, said_at=now, jobs=(*watch.jobs, job.id))
        await self._watches.put(rested, telling=WatchTelling(job.id))

    async def _ask_renewal(self, watch: Watch, now: datetime) -> None:
        """A message of its own, below the answer told last; the question follows at once."""
        asked = replace(watch, stage="waiting", asked_renewal=True, next_at=now)
        await self._put(asked, _notice(watch, now, "renew"))

    async def _research(self, watch: Watch) -> ResearchJob:
        request = replace(watch.request, watch=watch.id, is_fresh=True, basis="", feedback="", refreshes="")
        return await self._submit(request, f"watch:{watch.id}:{watch.run}", watch.origin)

    # The answer is told only when it means something else

    async def _look(self, watch: Watch, now: datetime) -> None:
        await self._deps.check_budget(watch.request)
        told = await self._of_job(watch.told)
        pages = await self._watches.pages(watch.id) or pages_of(told)
        with _booked_to(watch):
            seen = await look(told, pages, self._deps, now=now)
        if not seen.could_read:
            await self._fail(watch, now)
        elif not seen.changes:
            await self._rest(watch, now, seen.pages)
        else:
            job = await self._research(watch)
            waiting = replace(
                watch, stage="researching", job=job.id, jobs=(*watch.jobs, job.id), suspected=seen.changes,
                next_at=now + JOB_LOOK,
            )  # fmt: skip
            await self._watches.put(waiting, seen=seen.pages)

    async def _wait(self, watch: Watch, now: datetime) -> None:
        job = await self._deps.jobs.get(watch.job)
        if job.status not in TERMINAL_STATUSES and now - job.created_at < RESEARCH_ENDS_AFTER:
            await self._watches.put(replace(watch, next_at=now + JOB_LOOK))
        elif job.status is not JobStatus.COMPLETED:
            await self._fail(replace(watch, suspected=(), job=""), now)
        else:
            await self._judge(watch, now)

    async def _judge(self, watch: Watch, now: datetime) -> None:
        """What the research makes of what was suspected."""
        told, found = await self._of_job(watch.told), await self._of_job(watch.job)
        known = known_sentences(told, await self._watches.pages(watch.id) or pages_of(told))
        with _booked_to(watch):
            votes = await vote(watch.suspected, on_answer(found.claims, known), self._deps.judge)
        changes = [change for change in votes.changes if is_confirmed(change)]
        if changes:
            changes += _of_answers(told, found)
        changes = [change for change in changes if change.kind not in _STRICTER[min(watch.strictness, MOST_STRICT)]]
        if not changes:
            await self._rest(watch, now, await self._watches.pages(watch.id, seen=True) or None)
        elif _is_settled(changes):
            await self._tell(watch, now, changes, found)
        else:
            doubtful = replace(watch, stage="waiting", suspected=tuple(changes), looks=0, next_at=now + SECOND_LOOK)
            await self._watches.put(doubtful)

    async def _look_again(self, watch: Watch, now: datetime) -> None:
        """An hour later: what still stands is told."""
        holds = await still_stands(watch.suspected, self._deps)
        if holds is None and watch.looks + 1 < MAX_LOOKS:
            await self._watches.put(replace(watch, stage="waiting", looks=watch.looks + 1, next_at=now + SECOND_LOOK))
        elif holds:
            await self._tell(watch, now, holds, await self._of_job(watch.job))
        else:
            await self._rest(watch, now, None)

    async def _tell(self, watch: Watch, now: datetime, changes: Sequence[Change], found: ToldAnswer) -> None:
        rested = replace(_rested(watch, now), told=found.job.id, said_at=now)
        notice = WatchNotice(watch.id, watch.run, found.job.id, "changed", now, watch.subject, tuple(changes))
        pages = _joined(pages_of(found), await self._watches.pages(watch.id, seen=True))
        await self._watches.put(rested, telling=WatchTelling(found.job.id, notice), pages=pages)

    async def _rest(self, watch: Watch, now: datetime, pages: Sequence[WatchedPage] | None) -> None:
        """Nothing is told, unless it is time for a sign of life."""
        rested = _rested(watch, now)
        if watch.told and not watch.asked_renewal and watch.ends_at - now <= ASKS_BEFORE_END:
            await self._put(replace(rested, asked_renewal=True, said_at=now), _notice(watch, now, "renew"), pages)
        elif watch.told and now - watch.said_at >= SAYS_STILL_AFTER:
            await self._put(replace(rested, said_at=now), _notice(watch, now, "still"), pages)
        else:
            await self._put(rested, None, pages)

    # A source is watched for itself

    async def _look_at_source(self, watch: Watch, now: datetime) -> None:
        await self._deps.check_budget(watch.request)
        pages = await self._watches.pages(watch.id)
        with _booked_to(watch):
            seen = await look_at_source(watch, pages[0] if pages else None, self._deps, now=now)
        if seen is None:
            await self._fail(watch, now)
        elif seen.job is None:
            await self._rest(watch, now, [seen.page])
        else:
            rested = replace(_rested(watch, now), told=seen.job.id, said_at=now, jobs=(*watch.jobs, seen.job.id))
            notice = WatchNotice(watch.id, watch.run, seen.job.id, "changed", now, watch.subject, seen.changes)
            await self._watches.put(rested, telling=WatchTelling(seen.job.id, notice), pages=[seen.page])

    async def _fail(self, watch: Watch, now: datetime) -> None:
        failures = watch.failures + 1
        if failures >= MOST_FAILURES:
            notice = _notice(watch, now, "ended") if watch.told else None
            await self._put(ended(watch, ENDINGS["away"]), notice)
            return
        next_at = backed_off(watch.rhythm, began=watch.created_at, after=now, key=watch.id, failures=failures)
        failed = replace(watch, stage="waiting", job="", suspected=(), failures=failures, next_at=next_at)
        await self._watches.put(failed)

    async def _put_off(self, watch: Watch, now: datetime, refusal: GorkdError) -> None:
        """Nothing is wrong with it: this month's budget is spent, or too much was asked in this minute."""
        wait_s = refusal.retry_after_s
        rested = _rested(watch, now)
        next_at = rested.next_at if wait_s is None else now + timedelta(seconds=max(60.0, wait_s))
        await self._watches.put(replace(rested, failures=watch.failures, next_at=next_at))

    async def _put(self, watch: Watch, notice: WatchNotice | None, pages: Sequence[WatchedPage] | None = None) -> None:
        telling = WatchTelling(notice.job_id, notice) if notice else None
        await self._watches.put(watch, telling=telling, pages=pages)

    async def _of_job(self, job_id: str) -> ToldAnswer:
        """Raises `JobNotFound`."""
        job = await self._deps.jobs.get(job_id)
        result = await self._deps.jobs.result(job_id)
        if result is None or result.answer is None:
            raise JobNotFound(job_id)
        return ToldAnswer(job, result, tuple(await self._deps.sources.sources(job_id)))


@contextmanager
def _booked_to(watch: Watch) -> Iterator[None]:
    """What a model is asked meanwhile counts for who watches, and for the watch (adapters/records/traces.py)."""
    token = job_id_var.set(watch.id)
    try:
        yield
    finally:
        job_id_var.reset(token)


def _rested(watch: Watch, now: datetime) -> Watch:
    next_at = next_run(watch.rhythm, began=watch.created_at, after=now, key=watch.id)
    return replace(watch, stage="waiting", job="", suspected=(), looks=0, failures=0, next_at=next_at)


def _joined(pages: Sequence[WatchedPage], before: Sequence[WatchedPage]) -> list[WatchedPage]:
    """With those that were watched before and carry nothing any more: found again, they are not new."""
    urls = {page.url for page in pages}
    known = {page.url: page for page in before}
    as_known = [replace(page, etag=known[page.url].etag, last_modified=known[page.url].last_modified)
                if page.url in known and known[page.url].text == page.text else page for page in pages]  # fmt: skip
    return [*as_known, *(replace(page, carriers=()) for page in before if page.url not in urls)][:MAX_PAGES]


def _notice(watch: Watch, now: datetime, tone: str) -> WatchNotice:
    return WatchNotice(watch.id, watch.run, watch.told, tone, now, watch.subject)  # type: ignore[arg-type]


def _of_answers(told: ToldAnswer, found: ToldAnswer) -> list[Change]:
    """What the answers as wholes differ in: how sure they are, and what sources newly disagree on."""
    before, now = told.result.answer, found.result.answer
    if before is None or now is None:
        return []
    changes = [Change("conflict", pair.before, pair.now) for pair in new_conflicts(before, now)]
    if before.confidence is not now.confidence:
        changes.append(Change("confidence", before.confidence.value, now.confidence.value))
    return changes


def _is_settled(changes: Sequence[Change]) -> bool:
    """Whether a primary source says it, or two that are independent: then nobody waits for a second look."""
    weighty = [change for change in changes if change.kind not in ("confidence", "verdict")]
    places = [{domain_of(url) for url in change.places} for change in weighty]
    return any(
        change.is_primary or change.kind == "retraction" or len(sites) > 1
        for change, sites in zip(weighty, places, strict=True)
    )
