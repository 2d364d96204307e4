"""`gorkd watch`: begin, list, look at and end watches. Who runs gorkd sees those of every workspace that is named."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from adapters.cli.running import Exit, OpenResearcher, run_command, say
from adapters.cli.settings import tenant_option
from core.model.errors import InvalidQuery
from core.model.job import LOCAL, ResearchRequest
from core.presentation.render import iso_utc, printable
from core.text.saying import say as said
from core.text.saying import say_many
from core.watch import words
from core.watch.watch import Rhythm, Watch

if TYPE_CHECKING:
    from core.watch.desk import WatchDesk

_Every = Annotated[str, typer.Option("--every", help="day, week, hours, 12 hours, Monday 9:00.", metavar="HOW-OFTEN")]
_Zone = Annotated[str, typer.Option("--zone", help="The time zone of a time of day.", metavar="ZONE")]
_WatchId = Annotated[str, typer.Argument(help="The watch's id, watch_….", metavar="WATCH", show_default=False)]


Doing = Callable[["WatchDesk"], Awaitable[Sequence[str]]]


def watch_command(open_researcher: OpenResearcher) -> typer.Typer:
    app = typer.Typer(no_args_is_help=True)

    def run(doing: Doing) -> None:
        async def open_and_do() -> Exit:
            async with open_researcher() as researcher:
                for line in await doing(researcher.watching):
                    sys.stdout.write(f"{printable(line)}\n")
            return Exit.ANSWERED

        run_command(open_and_do)

    _add_beginnings(app, run)
    _add_care(app, run)
    return app


def _add_beginnings(app: typer.Typer, run: Callable[[Doing], None]) -> None:
    @app.command("add")
    def add(
        job: Annotated[str, typer.Argument(help="The job's id, job_….", metavar="JOB", show_default=False)],
        *,
        every: _Every = "day",
        zone: _Zone = "UTC",
    ) -> None:
        """Watch a job's answer: told only when it means something else."""

        async def begin(desk: WatchDesk) -> list[str]:
            rhythm = _rhythm(every, zone)
            offer = await desk.offer(job.strip(), "", scope=None)
            watch = await desk.watch(job.strip(), "", scope=None, rhythm=rhythm)
            return _begun(watch, offer.run_usd)

        run(begin)

    @app.command("ask")
    def ask(
        question: Annotated[str, typer.Argument(metavar="QUESTION", show_default=False)],
        *,
        every: _Every = "day",
        zone: _Zone = "UTC",
    ) -> None:
        """Ask a question at times, whatever comes of it."""

        async def begin(desk: WatchDesk) -> list[str]:
            watch = await desk.schedule(ResearchRequest(question), rhythm=_rhythm(every, zone))
            return _begun(watch)

        run(begin)

    @app.command("page")
    def page(
        url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
        *,
        every: _Every = "day",
        zone: _Zone = "UTC",
    ) -> None:
        """Watch a page of the web for itself."""

        async def begin(desk: WatchDesk) -> list[str]:
            watch = await desk.watch_source(url, ResearchRequest(url), rhythm=_rhythm(every, zone))
            return _begun(watch)

        run(begin)


def _add_care(app: typer.Typer, run: Callable[[Doing], None]) -> None:
    @app.command("list")
    def list_them(
        *,
        tenant: Annotated[str, tenant_option(help="Of one of them.")] = LOCAL.tenant,
    ) -> None:
        """Print what is watched, and when it is looked at next."""

        async def listed(desk: WatchDesk) -> list[str]:
            watches = await desk.of(tenant)
            if not watches:
                say(said("nothing is watched; `gorkd watch --help` says how to begin"))
            return [_line(watch) for watch in watches]

        run(listed)

    @app.command("show")
    def show(watch: _WatchId) -> None:
        """Print what was told of a watch, oldest first."""

        async def told(desk: WatchDesk) -> list[str]:
            found = await desk.get(watch.strip())
            lines = [_line(found)]
            lines += [spent] if (spent := words.spent_line(await desk.spent_usd(found))) else []
            for notice in await desk.timeline(found):
                lines += [f"{iso_utc(notice.at)}  {notice.job_id}", *(f"  {one}" for one in words.plain_lines(notice))]
            return lines

        run(told)

    @app.command("stop")
    def stop(watch: _WatchId) -> None:
        """End a watch."""

        async def end(desk: WatchDesk) -> list[str]:
            await desk.stop(await desk.get(watch.strip()))
            return [said(words.STOPPED)]

        run(end)

    @app.command("renew")
    def renew(watch: _WatchId) -> None:
        """Prolong a watch by 90 days, from now on."""

        async def prolong(desk: WatchDesk) -> list[str]:
            await desk.renew(await desk.get(watch.strip()))
            return [said(words.RENEWED)]

        run(prolong)


def _begun(watch: Watch, run_usd: float | None = None) -> list[str]:
    say(
        said("a worker looks (gorkd all or gorkd worker); gorkd watch show {watch} prints what it told", watch=watch.id)
    )
    return [watch.id, words.begun_line(watch, run_usd)]


def _rhythm(every: str, zone: str) -> Rhythm:
    """Raises `InvalidQuery`."""
    rhythm = words.read_rhythm(every)
    if rhythm is None:
        raise InvalidQuery(
            said("{time} is no time: day, week, hours, 12 hours, Monday 9:00.", time=every[:80]), rule="rhythm"
        )
    return words.in_zone(rhythm, zone)


def _line(watch: Watch) -> str:
    at = said("next {moment}", moment=iso_utc(watch.next_at))
    state = at if watch.is_active else said("ended: {why}", why=words.why_ended(watch))
    runs = say_many("{number} run", "{number} runs", watch.run)
    return f"{watch.id}  {words.rhythm_words(watch.rhythm)}, {state}, {runs}: {watch.subject[:80]}"
