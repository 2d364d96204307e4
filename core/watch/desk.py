"""What people do with watches: begin one, see what it will cost, list, stop, prolong and tighten it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.model.delivery import Address
from core.model.errors import GorkdError, InvalidQuery, JobNotFound
from core.model.job import JobStatus, ResearchJob, ResearchRequest, Scope, Tenant
from core.presentation.render import one_line
from core.stages.intake import read_query
from core.text.saying import say
from core.text.urls import domain_of
from core.watch.watch import (
    ENDINGS,
    ENDS_AFTER,
    MAX_HOURS,
    MIN_HOURS,
    MOST_STRICT,
    Manner,
    Rhythm,
    Watch,
    WatchNotFound,
    WatchNotice,
    WatchRefused,
    ended,
    next_run,
)

if TYPE_CHECKING:
    from core.pipeline.deps import Deps

MAX_URL_CHARS = 2000
RUNS_A_MONTH = timedelta(days=30)
UNWATCHED = frozenset({"check", "library", "section"})  # what was said once, and what papers of one's own say


class WatchLimits(NamedTuple):
    """How many watches one person and a workspace may have, and the workspace's time zone."""

    person: int = 10
    workspace: int = 100
    timezone: str = "UTC"


LimitsOf = Callable[[str], Awaitable[WatchLimits]]


@dataclass(frozen=True)
class WatchOffer:
    """What watching an answer would mean. `run_usd` is what the answer itself cost, None where that is not known."""

    job: ResearchJob
    run_usd: float | None
    ends_at: datetime
    known: Watch | None = None

    def month_usd(self, rhythm: Rhythm) -> float | None:
        return None if self.run_usd is None else self.run_usd * (RUNS_A_MONTH / rhythm.usual)


async def _as_usual(_: str) -> WatchLimits:
    return WatchLimits()


class WatchDesk:
    def __init__(self, deps: Deps, limits: LimitsOf = _as_usual) -> None:
        self._deps = deps
        self._limits = limits

    async def timezone(self, scope: Scope) -> str:
        return (await self._limits(scope.tenant)).timezone

    async def offer(self, job_id: str, asker: str, *, scope: Scope | None) -> WatchOffer:
        """Raises `JobNotFound`, `WatchRefused`."""
        job = await self._watchable(job_id, scope)
        result = await self._deps.jobs.result(job.id)
        answer = result.answer if result else None
        spent = answer.metadata if answer else None
        run_usd = (spent.cost_usd if spent.model_calls else 0.0) if spent else None
        known = await self._known(job, asker)
        return WatchOffer(job, run_usd, self._deps.clock() + ENDS_AFTER, known)

    async def watch(
        self, job_id: str, asker: str, *, scope: Scope | None, rhythm: Rhythm, address: Address | None = None,
        manner: Manner = "thread",
    ) -> Watch:  # fmt: skip
        """Watch the answer of a job; one that this person watches already takes on the new rhythm and manner.

        `scope` None is whoever runs gorkd. Without an `address` it tells where the answer is shown.

        Raises `JobNotFound`, `WatchRefused`, `StoreError`.
        """
        job = await self._watchable(job_id, scope)
        _check_rhythm(rhythm)
        if known := await self._known(job, asker):
            return await self._retimed(known, rhythm, address, manner)
        result = await self._deps.jobs.result(job.id)
        query = (result.understood if result else "") or job.query
        request = replace(
            job.request, query=query, asker=asker or job.request.asker, basis="", feedback="", refreshes="",
            corrects="", attachments=(), digest="",
        )  # fmt: skip
        shown = [] if address else await self._deps.messages.shown(job.id)
        return await self._begin(
            "answer", request, rhythm, address or next(iter(shown), None), manner=manner, origin=job.id
        )

    async def schedule(
        self, request: ResearchRequest, *, rhythm: Rhythm, address: Address | None = None, manner: Manner = "thread"
    ) -> Watch:
        """Ask a question at times, whatever comes of it. Raises `InvalidQuery`, `WatchRefused`, `StoreError`."""
        _check_rhythm(rhythm)
        request = replace(request, query=read_query(request.query))
        return await self._begin("schedule", request, rhythm, address, manner=manner)

    async def watch_source(
        self, url: str, request: ResearchRequest, *, rhythm: Rhythm, address: Address | None = None,
        manner: Manner = "thread",
    ) -> Watch:  # fmt: skip
        """Raises `WatchRefused`, `StoreError`."""
        _check_rhythm(rhythm)
        if not url.startswith(("http://", "https://")) or not domain_of(url) or len(url) > MAX_URL_CHARS:
            raise WatchRefused(
                f"{url[:80]} is no address", user_message=say("I can watch pages of the web: give an address.")
            )
        if not request.policy.permits_site(url):
            raise WatchRefused(f"{url[:80]} is excluded", user_message=say("The settings here exclude that site."))
        asked = replace(request, query=read_query(f"What has changed on {one_line(url)[:300]}?"))
        return await self._begin("source", asked, rhythm, address, manner=manner, url=url)

    async def of(self, tenant: str, asker: str = "") -> list[Watch]:
        """Those of one person, or of a tenant, that have not ended, oldest first."""
        return await self._deps.watches.of(tenant, asker=asker)

    async def get(self, watch_id: str) -> Watch:
        """Raises `WatchNotFound`."""
        return await self._deps.watches.get(watch_id)

    async def of_job(self, job: ResearchJob, asker: str = "") -> Watch | None:
        """The watch that a job is the answer or a run of; where several people watch it, this person's."""
        if job.request.watch:
            try:
                return await self._deps.watches.get(job.request.watch)
            except WatchNotFound:
                return None
        return await self._deps.watches.of_job(job.id, asker=asker)

    async def stop(self, watch: Watch) -> Watch:
        return await self._change(watch, lambda now: ended(now, ENDINGS["stopped"]))

    async def renew(self, watch: Watch) -> Watch:
        """For as long again, from now on. Raises `WatchRefused` for one that has ended."""
        ends_at = self._deps.clock() + ENDS_AFTER

        def renewed(now: Watch) -> Watch:
            if not now.is_active:
                raise WatchRefused(f"{now.id} has ended", user_message=say("It is watched no more; watch it anew."))
            return replace(now, ends_at=ends_at, asked_renewal=False)

        return await self._change(watch, renewed)

    async def tighten(self, watch: Watch) -> Watch:
        """It was told what was not worth it: less is told from now on."""
        return await self._change(watch, lambda now: replace(now, strictness=min(now.strictness + 1, MOST_STRICT)))

    async def place_gone(self, address: Address, *, asker: str = "") -> bool:
        """End the watches that tell at an address which is gone, or those of `asker` alone, who has left.

        True where something of others is still to be told there. Raises `StoreError`.
        """
        key = _key(address)
        notice = await self._deps.watches.told_at(key)
        named = key.split(":")[1:2] if key.startswith("watch:") else []
        watch_ids = [part.watch_id for part in notice.parts] if notice and notice.parts else named
        return await self._end(watch_ids, ENDINGS["left"] if asker else ENDINGS["place"], asker=asker)

    async def place_closed(self, tenant: str, place: str, *, asker: str = "") -> int:
        """A channel was archived or deleted, or the bot thrown out of it, or its `asker` has left: how many ended."""
        there = [watch for watch in await self._deps.watches.at(tenant, place) if asker in ("", watch.asker)]
        await self._end([watch.id for watch in there], ENDINGS["out" if asker else "place"])
        return len(there)

    async def person_left(self, tenant: str, asker: str) -> int:
        """How many of theirs ended. Raises `StoreError`."""
        theirs = await self._deps.watches.of(tenant, asker=asker) if asker else []
        await self._end([watch.id for watch in theirs], ENDINGS["left"])
        return len(theirs)

    async def told_at(self, address: Address) -> WatchNotice | None:
        """What is to be told there; None where the job's answer itself is. Raises `StoreError`."""
        return await self._deps.watches.told_at(_key(address))

    async def _end(self, watch_ids: Iterable[str], because: str, *, asker: str = "") -> bool:
        """Those of the `asker`, of everybody where none is named. Whether others go on."""
        goes_on = False
        for watch_id in dict.fromkeys(watch_ids):
            try:
                watch = await self._deps.watches.get(watch_id)
            except WatchNotFound:
                continue
            if watch.is_active and asker not in ("", watch.asker):
                goes_on = True
            elif watch.is_active:
                await self._change(watch, lambda now: ended(now, because))
        return goes_on

    async def spent_usd(self, watch: Watch) -> float:
        """What its runs have cost so far, as far as that is known: asking the judge, and research."""
        results = [await self._deps.jobs.result(job_id) for job_id in watch.jobs]
        costs = [found.answer.metadata.cost_usd or 0.0 for found in results if found and found.answer]
        return watch.looks_usd + sum(costs)

    async def timeline(self, watch: Watch) -> list[WatchNotice]:
        """What was told, oldest first."""
        return await self._deps.watches.notices(watch.id)

    async def _watchable(self, job_id: str, scope: Scope | None) -> ResearchJob:
        job = await self._deps.jobs.get(job_id)
        if scope is not None and job.scope != scope:
            raise JobNotFound(job_id)
        if job.status is not JobStatus.COMPLETED:
            raise WatchRefused(f"{job_id} has no answer", user_message=say("There is no answer to watch yet."))
        if UNWATCHED & set(job.request.modes) or job.request.quoted:
            raise WatchRefused(
                f"{job_id} is of {job.request.modes}",
                user_message=say(
                    "Only answers from the web can be watched, not checks and not what your own papers say."
                ),
            )
        return job

    async def _known(self, job: ResearchJob, asker: str) -> Watch | None:
        watch = await self.of_job(job, asker)
        return watch if watch and watch.is_active and (not asker or watch.asker == asker) else None

    async def _retimed(self, watch: Watch, rhythm: Rhythm, address: Address | None, manner: Manner) -> Watch:
        now, rhythm = self._deps.clock(), await self._zoned(rhythm, watch.scope)
        next_at = next_run(rhythm, began=watch.created_at, after=now, key=watch.id)
        manner = manner if address else watch.manner
        return await self._change(
            watch, lambda one: replace(one, rhythm=rhythm, next_at=next_at, manner=manner), address=address
        )

    async def _zoned(self, rhythm: Rhythm, scope: Scope) -> Rhythm:
        """A digest is told at a time of the workspace's day, however often is looked."""
        return rhythm if rhythm.at else replace(rhythm, zone=await self.timezone(scope))

    async def _change(self, watch: Watch, how: Callable[[Watch], Watch], *, address: Address | None = None) -> Watch:
        """Whatever a run writes meanwhile; it tells at `address` from now on, if one is given. Raises `StoreError`."""
        for _ in range(5):
            current = await self._deps.watches.get(watch.id)
            changed = how(current)
            if await self._deps.watches.put(changed, address=address):
                return changed
        raise GorkdError(f"{watch.id} is written by others", user_message=say("Please try again in a moment."))

    async def _begin(
        self,
        kind: str,
        request: ResearchRequest,
        rhythm: Rhythm,
        address: Address | None,
        *,
        manner: Manner,
        origin: str = "",
        url: str = "",
    ) -> Watch:
        limits = await self._limits(request.scope.tenant)
        await self._check_limits(request, limits)
        rhythm = await self._zoned(rhythm, request.scope)
        now, watch_id = self._deps.clock(), f"watch_{self._deps.new_id().removeprefix('job_')}"
        watch = Watch(
            watch_id, kind, request, rhythm, created_at=now, ends_at=now + ENDS_AFTER,  # type: ignore[arg-type]
            next_at=next_run(rhythm, began=now, after=now, key=watch_id), said_at=now, url=url, origin=origin,
            told=origin, manner=manner,
        )  # fmt: skip
        await self._deps.watches.add(watch, address)
        return watch

    async def _check_limits(self, request: ResearchRequest, limits: WatchLimits) -> None:
        here = await self._deps.watches.of(request.scope.tenant)
        theirs = [watch for watch in here if watch.asker == request.asker]
        if request.asker and len(theirs) >= limits.person:
            raise WatchRefused(
                "too many of a person",
                user_message=say("You have {number} watches already; please stop one first.", number=len(theirs)),
            )
        if len(here) >= limits.workspace:
            shared = "There are {number} watches here already; stop one first."
            local = "There are {number} watches on this machine already; stop one first."
            here_or_there = shared if Tenant.read(request.scope.tenant).account else local
            raise WatchRefused("too many of a workspace", user_message=say(here_or_there, number=len(here)))


def _key(address: Address) -> str:
    """What is posted at an address that is no answer to its question (adapters/records/deliveries.py)."""
    return str(address.data.get("key") or "").rstrip("+")  # one that was posted anew in Slack


def _check_rhythm(rhythm: Rhythm) -> None:
    if not rhythm.at and not MIN_HOURS <= rhythm.hours <= MAX_HOURS:
        raise InvalidQuery(say("A watch runs every 1 to {hours} hours.", hours=MAX_HOURS), rule="rhythm")
    check_zone(rhythm.zone)


def check_zone(zone: str) -> None:
    """Raises `InvalidQuery` for what is not a time zone's IANA name."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        sentence = say("{zone} is not a time zone; it looks like Europe/Berlin.", zone=one_line(zone)[:80])
        raise InvalidQuery(sentence, rule="rhythm") from exc
