"""Papers of a library: a cited page as a picture, and the file itself, for whoever may read an answer from it, or was
given the paper's own signed address in a chat.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from adapters.web.access import LINKS, RESEARCHER, readable_job
from adapters.web.source_view import passages_of
from core.errors import GorkdError, JobNotFound
from core.job import ResearchJob
from core.library.ingest import PaperUnreadable
from core.library.pages import PaperViews
from core.library.paper import Paper, shelves_of
from core.page_links import PaperPlace, is_private
from core.source import Source

PAPERS: web.AppKey[PaperViews] = web.AppKey("papers")
_OPEN = "private, max-age=3600"


def add_routes(app: web.Application, views: PaperViews) -> None:
    app[PAPERS] = views
    app.router.add_get("/jobs/{job_id}/sources/{number}/page.png", get_picture)
    app.router.add_get("/jobs/{job_id}/sources/{number}/paper.pdf", get_paper)
    app.router.add_get("/papers/{token}/paper.pdf", get_opened)


async def shown_papers(request: web.Request, job: ResearchJob, sources: Sequence[Source]) -> frozenset[str]:
    """Ids of the sources whose file can be shown: the paper is still there and has pages."""
    views = request.app.get(PAPERS)
    if views is None or "library" not in job.request.modes:
        return frozenset()
    try:
        papers = await views.papers_of(job, sources)
    except GorkdError:  # the answer can be read without its pictures
        return frozenset()
    return frozenset(source_id for source_id, paper in papers.items() if paper.pages)


async def get_picture(request: web.Request) -> web.Response:
    """The page of `?claim=` with its sentence marked, PNG."""
    job, source, paper = await _asked(request)
    result = await request.app[RESEARCHER].result(job.id)
    passages = passages_of(source, result.answer if result else None)
    asked = next((one for one in passages if one.id == request.query.get("claim", "")), None)
    if asked is None or asked.page is None:
        raise JobNotFound(job.id)
    try:
        png = await request.app[PAPERS].picture(shelves_of(job.scope), paper, asked.page, asked.quote)
    except PaperUnreadable as exc:
        raise web.HTTPNotFound from exc
    return _file(job, png, "image/png")


async def get_paper(request: web.Request) -> web.Response:
    job, _, paper = await _asked(request)
    return _file(job, await request.app[PAPERS].file(shelves_of(job.scope), paper), "application/pdf")


async def get_opened(request: web.Request) -> web.Response:
    """A paper that somebody opened in a chat. Unknown, removed, expired and not signed look the same."""
    place, links = PaperPlace.read(request.match_info["token"]), request.app[LINKS]
    if place is None or not links.allows_paper(place, request.query.get("sig", ""), links.clock()):
        raise web.HTTPNotFound
    file = await request.app[PAPERS].library.file(shelves_of(place.scope), place.paper_id)
    if not file:
        raise web.HTTPNotFound
    headers = {"Cache-Control": "no-store", "Content-Disposition": "inline"}
    return web.Response(body=file, content_type="application/pdf", headers=headers)


async def _asked(request: web.Request) -> tuple[ResearchJob, Source, Paper]:
    """Raises `JobNotFound`, also for a source that is no paper or has left the library."""
    job = await readable_job(request)
    sources = {str(source.number): source for source in await request.app[RESEARCHER].sources(job.id)}
    source = sources.get(request.match_info["number"])
    if source is None:
        raise JobNotFound(job.id)
    papers = await request.app[PAPERS].papers_of(job, [source])
    if source.id not in papers:
        raise JobNotFound(job.id)
    return job, source, papers[source.id]


def _file(job: ResearchJob, body: bytes, media_type: str) -> web.Response:
    if not body:
        raise JobNotFound(job.id)
    headers = {"Cache-Control": "no-store" if is_private(job) else _OPEN, "Content-Disposition": "inline"}
    return web.Response(body=body, content_type=media_type, headers=headers)
