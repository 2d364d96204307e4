"""The page for who looks after gorkd: how it is used, as tables and small charts, and as CSV. No question is shown.

A holder of one tenant's token sees that tenant; who may ask on this server sees all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

import aiohttp_jinja2
from aiohttp import web
from markupsafe import Markup, escape

from adapters.web.access import LINKS, may_look_after
from core.presentation import wording
from core.tenancy.usage import Period, Usage, UsageKey, UsageLog, cost_words, days_of, usage_csv

# Small bar charts as SVG, drawn without a script. Colours are classes of the style sheet; words stand beside them


WIDTH, HEIGHT = 600, 120  # of the drawing, which the page scales


@dataclass(frozen=True)
class ChartPart:
    """One colour of a chart: `name` is its class in the style sheet, `label` what it stands for."""

    name: str
    label: str


@dataclass(frozen=True)
class Chart:
    """`summary` says in words what can be seen; `top` is the value of the highest bar with its unit."""

    title: str
    summary: str
    top: str
    parts: tuple[ChartPart, ...]
    svg: Markup


def draw_bars(bars: Sequence[Sequence[float]], parts: Sequence[ChartPart], *, summary: str) -> Markup:
    """A bar each, stacked of one value a part, from the bottom; the highest takes all the room."""
    highest = max((sum(bar) for bar in bars), default=0.0)
    step = WIDTH / max(len(bars), 1)
    drawn = []
    for place, bar in enumerate(bars):
        bottom = float(HEIGHT)
        for value, part in zip(bar, parts, strict=True):
            height = HEIGHT * value / highest if highest else 0.0
            bottom -= height
            if height > 0:
                drawn.append(
                    f'<rect class="bar-{part.name}" x="{place * step + 0.1 * step:.2f}" y="{bottom:.2f}" '
                    f'width="{0.8 * step:.2f}" height="{height:.2f}"/>'
                )
    return Markup(  # noqa: S704 -- numbers and our own words, and the summary is escaped
        f'<svg class="bars" role="img" aria-label="{escape(summary)}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'preserveAspectRatio="none"><line x1="0" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/>{"".join(drawn)}</svg>'
    )


USAGE: web.AppKey[UsageLog] = web.AppKey("usage")
PERIODS = (7, 30, 90, 365)  # days
USUAL_DAYS = 30

_ANSWERED, _CACHED = ChartPart("answered", "answered"), ChartPart("cached", "from the cache")
_FAILED, _REST = ChartPart("failed", "failed"), ChartPart("rest", "cancelled or running")
_LEVELS = tuple(ChartPart(name, name) for name in ("high", "medium", "low", "insufficient"))


@dataclass(frozen=True)
class Wish:
    """What the address asks for, as far as the visitor may see it; `tenant` "" is all."""

    tenant: str
    days: int
    is_bound: bool

    def address(self, path: str = "/admin", **changes: str | int) -> str:
        named = {"days": self.days, "tenant": self.tenant} | changes
        return f"{path}?{urlencode({name: value for name, value in named.items() if value})}"


def add_routes(app: web.Application, usage: UsageLog) -> None:
    app[USAGE] = usage
    app.router.add_get("/admin", get_admin)
    app.router.add_get("/admin.csv", get_csv)


async def get_admin(request: web.Request) -> web.Response:
    wish = await _wish(request)
    period = Period.of_days(wish.days, now=request.app[LINKS].clock())
    usage = request.app[USAGE]
    whole = await usage.usage(period, tenant=wish.tenant, by="tenant")
    by_day = await usage.usage(period, tenant=wish.tenant, by="tenant and day" if wish.tenant else "day")
    days = days_of(period, by_day)
    context = {
        "wish": wish,
        "periods": PERIODS,
        "tenants": whole,
        "days": [day for day in reversed(days) if day.questions],
        "charts": _charts(days) if by_day else [],
        "first": wording.day(period.begins_at),
        "last": wording.day(datetime.combine(period.last, period.begins_at.timetz())),
        "duration": wording.duration,
        "cost": cost_words,
    }
    page = aiohttp_jinja2.render_template("admin.html", request, context)
    page.headers["Cache-Control"] = "no-store"
    return page


async def get_csv(request: web.Request) -> web.Response:
    wish = await _wish(request)
    period = Period.of_days(wish.days, now=request.app[LINKS].clock())
    key: UsageKey = "tenant and day"
    table = usage_csv(await request.app[USAGE].usage(period, tenant=wish.tenant, by=key))
    name = f"gorkd-usage-{period.first:%F}-{period.last:%F}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return web.Response(text=table, content_type="text/csv", charset="utf-8", headers=headers)


async def _wish(request: web.Request) -> Wish:
    """To the sign-in page for who may see nothing."""
    own = await may_look_after(request)
    if own is None:
        raise web.HTTPSeeOther("/sign-in")
    asked = request.query.get("days", "")
    days = (
        int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= 3 and int(asked) in PERIODS else USUAL_DAYS
    )
    return Wish(own or request.query.get("tenant", "")[:200], days, is_bound=bool(own))


def _charts(days: Sequence[Usage]) -> list[Chart]:
    parts = (_ANSWERED, _CACHED, _FAILED, _REST)
    asked = [(one.answered - one.cached, one.cached, one.failed, one.cancelled + one.running) for one in days]
    seconds = [(one.p50_s or 0.0, (one.p95_s or 0.0) - (one.p50_s or 0.0)) for one in days]
    levels = [(one.high, one.medium, one.low, one.insufficient) for one in days]
    costs = [(one.cost_usd,) for one in days]
    times = (ChartPart("answered", "half of the answers came within"), ChartPart("cached", "19 of 20 came within"))
    charts = [
        _chart("Questions", days, asked, parts, "{:.0f}"),
        _chart("Seconds to the answer", days, seconds, times, "{:.1f} s", is_summed=False),
        _chart("Confidence of the answers", days, levels, _LEVELS, "{:.0f}"),
        _chart(
            "Known cost" if any(one.unpriced for one in days) else "Cost",
            days,
            costs,
            (ChartPart("answered", "model calls"),),
            "${:.3f}",
        ),
    ]
    return charts if any(cost for (cost,) in costs) else charts[:-1]  # without a model nothing has a price


def _chart(
    title: str, days: Sequence[Usage], bars: Sequence[Sequence[float]], parts: Sequence[ChartPart], unit: str,
    *, is_summed: bool = True,
) -> Chart:  # fmt: skip
    heights = [sum(bar) for bar in bars]
    highest = max(heights)
    when = days[heights.index(highest)].day
    total = f"{unit.format(sum(heights))} in all, " if is_summed else ""
    summary = f"{title} a day: {total}most on {when} with {unit.format(highest)}. The table has every day."
    return Chart(title, summary, unit.format(highest), tuple(parts), draw_bars(bars, parts, summary=summary))
