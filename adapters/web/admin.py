"""The page for who looks after gorkd: how it is used, as tables and small charts, and as CSV. No question is shown.

A holder of one tenant's token sees that tenant; who may ask on this server sees all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from urllib.parse import urlencode

from aiohttp import web

from adapters.web.access import LINKS, JobLinks, is_own_origin, may_look_after, read_number, readable_job
from adapters.web.faults import Forbidden, page
from core.model.job import ResearchJob
from core.presentation import wording
from core.tenancy.usage import (
    CountUsage,
    EvaluationStore,
    Origin,
    Period,
    Usage,
    VotedCase,
    calibration,
    cost_words,
    days_of,
    usage_csv,
)
from core.text.saying import say, say_day, say_number

USAGE: web.AppKey[CountUsage] = web.AppKey("usage")
EVALUATIONS: web.AppKey[EvaluationStore] = web.AppKey("evaluations")
PERIODS = (7, 30, 90, 365)  # days
USUAL_DAYS = 30

_ORIGINS: dict[Origin, str] = {"votes": "Told by votes", "evaluations": "Told by evaluations"}
_OUTCOMES = {"answered": "answered", "cached": "from the cache", "failed": "failed", "rest": "cancelled or running"}


@dataclass(frozen=True)
class Wish:
    """What the address asks for, as far as the visitor may see it; `tenant` "" is all."""

    tenant: str
    days: int
    is_bound: bool

    def address(self, path: str = "/admin", **changes: str | int) -> str:
        named = {"days": self.days, "tenant": self.tenant} | changes
        return f"{path}?{urlencode({name: value for name, value in named.items() if value})}"


def add_routes(app: web.Application, usage: CountUsage, evaluations: EvaluationStore | None = None) -> None:
    app[USAGE] = usage
    if evaluations is not None:
        app[EVALUATIONS] = evaluations
        app.router.add_post("/jobs/{job_id}/test", post_test)
    app.router.add_get("/admin", get_admin)
    app.router.add_get("/admin.csv", get_csv)


async def get_admin(request: web.Request) -> web.Response:
    wish = await _wish(request)
    period = Period.of_days(wish.days, now=request.app[LINKS].clock())
    usage = request.app[USAGE]
    whole = await usage(period, wish.tenant, "tenant")
    by_day = await usage(period, wish.tenant, "tenant and day" if wish.tenant else "day")
    days = days_of(period, by_day)
    context = {
        "wish": wish,
        "periods": PERIODS,
        "tenants": whole,
        "days": [day for day in reversed(days) if day.questions],
        "charts": _charts(days) if by_day else [],
        "calibrations": await _calibrations(request, wish),
        "first": say_day(period.begins_at),
        "last": say_day(datetime.combine(period.last, period.begins_at.timetz())),
        "duration": wording.duration,
        "cost": cost_words,
        "level": wording.say_level,
    }
    return page("admin.html", request, context)


async def _calibrations(request: web.Request, wish: Wish) -> list[SimpleNamespace]:
    """What votes told, and evaluations where all workspaces are looked at; nothing where nothing was judged."""
    if EVALUATIONS not in request.app:
        return []
    judged = await request.app[EVALUATIONS].judged(wish.tenant)
    found = []
    for origin, title in _ORIGINS.items():
        rows = calibration(judged, origin)
        if any(row.judged for row in rows):
            found.append(SimpleNamespace(title=say(title), rows=rows))
    return found


async def post_test(request: web.Request) -> web.Response:
    """Make the question a test, or one no more, then back to its page; for who looks after the job's workspace."""
    job = await readable_job(request)
    if not (is_own_origin(request) and await _looks_after(request, job)):
        raise Forbidden
    form, evaluations = await request.post(), request.app[EVALUATIONS]
    if form.get("drop"):
        await evaluations.drop_case(job.id)
    else:
        must = str(form.get("must", ""))
        await evaluations.put_case(job, VotedCase.of(job, must, request.app[LINKS].clock()))
    raise web.HTTPSeeOther(JobLinks(job.id, request.query.get("sig", "")).page)


async def _looks_after(request: web.Request, job: ResearchJob) -> bool:
    """Whether tests may be made of this job: by who may ask on this server, or with the token of its workspace."""
    own = await may_look_after(request) if EVALUATIONS in request.app else None
    return own is not None and own in ("", job.scope.tenant)


async def voted_view(request: web.Request, job: ResearchJob) -> SimpleNamespace | None:
    """None for who may make no test of it, and where nobody found the answer bad. `made` is the test that somebody made
    of the question, None for none.
    """
    if not await _looks_after(request, job):
        return None
    evaluations = request.app[EVALUATIONS]
    good, bad = await evaluations.votes(job.id)
    made = next((case for case in await evaluations.cases(job.scope.tenant) if case.job_id == job.id), None)
    return SimpleNamespace(good=good, bad=bad, made=made) if bad or made else None


async def get_csv(request: web.Request) -> web.Response:
    wish = await _wish(request)
    period = Period.of_days(wish.days, now=request.app[LINKS].clock())
    table = usage_csv(await request.app[USAGE](period, wish.tenant, "tenant and day"))
    name = f"gorkd-usage-{period.first:%F}-{period.last:%F}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return web.Response(text=table, content_type="text/csv", charset="utf-8", headers=headers)


async def _wish(request: web.Request) -> Wish:
    """To the sign-in page for who may see nothing."""
    own = await may_look_after(request)
    if own is None:
        raise web.HTTPSeeOther("/sign-in")
    asked = read_number(request.query.get("days", ""))
    days = asked if asked is not None and asked in PERIODS else USUAL_DAYS
    return Wish(own or request.query.get("tenant", "")[:200], days, is_bound=bool(own))


def _charts(days: Sequence[Usage]) -> list[SimpleNamespace]:
    parts = [(name, say(label)) for name, label in _OUTCOMES.items()]
    asked = [(one.answered - one.cached, one.cached, one.failed, one.cancelled + one.running) for one in days]
    seconds = [(one.p50_s or 0.0, (one.p95_s or 0.0) - (one.p50_s or 0.0)) for one in days]
    levels = [(one.high, one.medium, one.low, one.insufficient) for one in days]
    costs = [(one.cost_usd,) for one in days]
    times = [("answered", say("half of the answers came within")), ("cached", say("19 of 20 came within"))]
    confidence = [(name, say(label)) for name, label in wording.LEVELS.items()]
    cost = say("Known cost") if any(one.unpriced for one in days) else say("Cost")
    charts = [
        _chart(say("Questions"), days, asked, parts, "{}"),
        _chart(say("Seconds to the answer"), days, seconds, times, "{} s", digits=1, is_summed=False),
        _chart(say("Confidence of the answers"), days, levels, confidence, "{}"),
        _chart(cost, days, costs, [("answered", say("model calls"))], "${}", digits=3),
    ]
    return charts if any(cost for (cost,) in costs) else charts[:-1]  # without a model nothing has a price


def _chart(
    title: str, days: Sequence[Usage], bars: Sequence[Sequence[float]], parts: Sequence[tuple[str, str]], unit: str,
    *, digits: int = 0, is_summed: bool = True,
) -> SimpleNamespace:  # fmt: skip
    """A bar a day, stacked of one value a part: of a class of the style sheet, and what it stands for. The template
    draws them. `summary` says in words what can be seen; `top` is the value of the highest bar with its unit.
    """
    heights = [sum(bar) for bar in bars]
    highest = max(heights)
    when = days[heights.index(highest)].day
    top = unit.format(say_number(highest, digits))
    summed = "{title} a day: {total} in all, most on {day} with {top}. The table has every day."
    alone = "{title} a day: most on {day} with {top}. The table has every day."
    total = unit.format(say_number(sum(heights), digits))
    summary = say(summed if is_summed else alone, title=title, total=total, day=when, top=top)
    return SimpleNamespace(title=title, top=top, parts=parts, bars=bars, highest=highest, summary=summary)
