"""`gorkd watch`: begin, list, look at and end watches. Who runs gorkd sees those of every workspace that is named."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from adapters.cli.running import Exit, OpenResearcher, say
from adapters.cli.settings import tenant_option
from core.model.errors import InvalidQuery
from core.model.job import LOCAL, ResearchRequest
from core.presentation.render import printable
from core.text.saying import say as said
from core.text.saying import say_many, say_moment
from core.watch import words
from core.watch.desk import WatchDesk
from core.watch.watch import Rhythm, Watch

_Every = Annotated[str, typer.Option("--every", help="day, week, hours, 12 hours, Monday 9:00.", metavar="HOW-OFTEN")]
_Zone = Annotated[str, typer.Option("--zone", help="The time zone of a time of day.", metavar="ZONE")]
_WatchId = Annotated[
    str, typer.Argument(help="The watch's id, watch_…, or its number in the list.", metavar="WATCH", show_default=False)
]
_Tenant = Annotated[str, tenant_option(help="Of one of them.")]


async def _add(
    open_researcher: OpenResearcher,
    job: Annotated[str, typer.Argument(help="The job's id, job_….", metavar="JOB", show_default=False)],
    *,
    every: _Every = "day",
    zone: _Zone = "UTC",
) -> Exit:
    """Watch a job's answer: told only when it means something else."""
    async with open_researcher() as researcher:
        desk, rhythm = researcher.watching, _rhythm(every, zone)
        offer = await desk.offer(job.strip(), "", scope=None)
        watch = await desk.watch(job.strip(), "", scope=None, rhythm=rhythm)
    return _begun(watch, offer.run_usd)


async def _ask(
    open_researcher: OpenResearcher,
    question: Annotated[str, typer.Argument(metavar="QUESTION", show_default=False)],
    *,
    every: _Every = "day",
    zone: _Zone = "UTC",
) -> Exit:
    """Ask a question at times, whatever comes of it."""
    async with open_researcher() as researcher:
        watch = await researcher.watching.schedule(ResearchRequest(question), rhythm=_rhythm(every, zone))
    return _begun(watch)


async def _page(
    open_researcher: OpenResearcher,
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    *,
    every: _Every = "day",
    zone: _Zone = "UTC",
) -> Exit:
    """Watch a page of the web for itself."""
    async with open_researcher() as researcher:
        watch = await researcher.watching.watch_source(url, ResearchRequest(url), rhythm=_rhythm(every, zone))
    return _begun(watch)


async def _list(open_researcher: OpenResearcher, *, tenant: _Tenant = LOCAL.tenant) -> Exit:
    """Print what is watched, and when it is looked at next."""
    async with open_researcher() as researcher:
        watches = await researcher.watching.of(tenant)
    if not watches:
        say(said("nothing is watched; `gorkd watch --help` says how to begin"))
    width = len(str(len(watches)))
    return _print(*(f"{place:>{width}}. {_line(watch)}" for place, watch in enumerate(watches, start=1)))


async def _show(open_researcher: OpenResearcher, watch: _WatchId, *, tenant: _Tenant = LOCAL.tenant) -> Exit:
    """Print what was told of a watch, oldest first."""
    async with open_researcher() as researcher:
        desk = researcher.watching
        found = await _found(desk, watch, tenant)
        spent, told = words.spent_line(await desk.spent_usd(found)), await desk.timeline(found)
    lines = [_line(found), *([spent] if spent else [])]
    for notice in told:
        lines += [f"{say_moment(notice.at)}  {notice.job_id}", *(f"  {one}" for one in words.plain_lines(notice))]
    return _print(*lines)


async def _stop(open_researcher: OpenResearcher, watch: _WatchId, *, tenant: _Tenant = LOCAL.tenant) -> Exit:
    """End a watch."""
    async with open_researcher() as researcher:
        await researcher.watching.stop(await _found(researcher.watching, watch, tenant))
    return _print(said(words.STOPPED))


async def _renew(open_researcher: OpenResearcher, watch: _WatchId, *, tenant: _Tenant = LOCAL.tenant) -> Exit:
    """Prolong a watch by 90 days, from now on."""
    async with open_researcher() as researcher:
        await researcher.watching.renew(await _found(researcher.watching, watch, tenant))
    return _print(said(words.RENEWED))


watch_command = {
    "add": _add, "ask": _ask, "page": _page, "list": _list, "show": _show, "stop": _stop, "renew": _renew,
}  # fmt: skip


async def _found(desk: WatchDesk, said_as: str, tenant: str) -> Watch:
    """By its id, or by its number among those of a tenant, as they are listed."""
    place = int(said_as) if said_as.strip().isdecimal() else 0
    listed = await desk.of(tenant) if place else []
    return listed[place - 1] if 0 < place <= len(listed) else await desk.get(said_as.strip())


def _print(*lines: str) -> Exit:
    for line in lines:
        sys.stdout.write(f"{printable(line)}\n")
    return Exit.ANSWERED


def _begun(watch: Watch, run_usd: float | None = None) -> Exit:
    say(
        said("a worker looks (gorkd all or gorkd worker); gorkd watch show {watch} prints what it told", watch=watch.id)
    )
    return _print(watch.id, words.begun_line(watch, run_usd))


def _rhythm(every: str, zone: str) -> Rhythm:
    """Raises `InvalidQuery`."""
    rhythm = words.read_rhythm(every)
    if rhythm is None:
        raise InvalidQuery(
            said("{time} is no time: day, week, hours, 12 hours, Monday 9:00.", time=every[:80]), rule="rhythm"
        )
    return words.in_zone(rhythm, zone)


def _line(watch: Watch) -> str:
    at = said("next {moment}", moment=say_moment(watch.next_at))
    state = at if watch.is_active else said("ended: {why}", why=words.why_ended(watch))
    runs = say_many("{number} run", "{number} runs", watch.run)
    return f"{watch.id}  {words.rhythm_words(watch.rhythm)}, {state}, {runs}: {watch.subject[:80]}"
