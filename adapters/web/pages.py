"""The pages for people: ask a question, watch it being researched, judge the answer. No script needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp_jinja2
from aiohttp import web

from adapters.web.access import LINKS, RESEARCHER, SETTINGS, may_ask, readable_job
from adapters.web.faults import Forbidden
from adapters.web.prose import prose
from adapters.web.view import job_view, stage_states
from core.errors import InvalidQuery, JobNotFound
from core.job import ResearchRequest
from core.modes import MODES
from core.render import answer_markdown
from core.snapshot import Snapshot
from core.wording import REMOVED_HEADING, RETRY

if TYPE_CHECKING:
    from core.tracing import TraceLog

TRACES: web.AppKey[TraceLog] = web.AppKey("traces")
REFRESH_S = 2  # often enough to watch, rarely enough to read


def add_routes(app: web.Application) -> None:
    app.router.add_get("/", get_ask)
    app.router.add_post("/", post_ask)
    app.router.add_get("/jobs/{job_id}", get_job)
    app.router.add_get("/jobs/{job_id}/answer.md", get_markdown)


async def get_ask(request: web.Request) -> web.Response:
    return _ask_page(request, query="", refusal="")


async def post_ask(request: web.Request) -> web.Response:
    """To the job's page; back to the form, with a sentence, when the question cannot be researched."""
    if not may_ask(request, request.app[SETTINGS]):
        raise Forbidden
    form = await request.post()
    query, mode = str(form.get("query", "")), str(form.get("mode", "")) or "quick"
    try:
        asked = ResearchRequest(query, modes=(mode,), depth="deep" if form.get("depth") == "deep" else "light")
        job = await request.app[RESEARCHER].submit(asked)
    except InvalidQuery as error:
        return _ask_page(request, query=query, refusal=error.user_message)
    raise web.HTTPSeeOther(request.app[LINKS].signed(job, f"/jobs/{job.id}"))


async def get_job(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    view = job_view(job, await researcher.result(job.id), await researcher.sources(job.id))
    if not view.is_running:
        return _page("job.html", request, {"view": view, "removed_heading": REMOVED_HEADING, "retry": RETRY})
    snapshot = Snapshot()
    for event in await researcher.told(job.id):
        snapshot = snapshot.after(event)
    so_far = prose(" ".join(snapshot.sentences.values()), ())
    stages = stage_states(snapshot)
    context = {"view": view, "snapshot": snapshot, "stages": stages, "so_far": so_far, "refresh_s": REFRESH_S}
    return _page("running.html", request, context)


async def get_markdown(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    result = await researcher.result(job.id)
    if result is None:
        raise JobNotFound(job.id)
    text = answer_markdown(job, result, await researcher.sources(job.id))
    headers = {"Content-Disposition": f'attachment; filename="{job.id}.md"', "Cache-Control": "no-store"}
    return web.Response(text=text, content_type="text/markdown", headers=headers)


def _ask_page(request: web.Request, *, query: str, refusal: str) -> web.Response:
    context: dict[str, object] = {"query": query, "refusal": refusal, "modes": list(MODES.values())}
    return _page("ask.html", request, context, status=400 if refusal else 200)


def _page(template: str, request: web.Request, context: dict[str, object], *, status: int = 200) -> web.Response:
    page = aiohttp_jinja2.render_template(template, request, context, status=status)
    page.headers["Cache-Control"] = "no-store"
    return page
