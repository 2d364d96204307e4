"""The JSON API under /v1 (G-01)."""

from __future__ import annotations

import json
from typing import Literal

from aiohttp import web
from aiohttp_sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.web.access import LINKS, RESEARCHER, SETTINGS, may_ask, readable_job
from adapters.web.faults import Forbidden
from core.errors import InvalidQuery
from core.events import Json
from core.job import ResearchRequest
from core.render import job_json, sources_json

HEARTBEAT_S = 15.0  # keeps proxies from closing a quiet stream


class Question(BaseModel):
    """The body of `POST /v1/research`. Its text is judged by the intake, as everywhere."""

    model_config = ConfigDict(frozen=True, str_max_length=32_000)

    query: str
    mode: str | tuple[str, ...] = "quick"
    depth: Literal["light", "deep"] = "light"
    top_k: int = Field(default=5, ge=1, le=20)
    context: str = ""
    private: bool = False
    fresh: bool = False

    def to_request(self) -> ResearchRequest:
        """Raises `InvalidQuery` for a private question: nothing here could show its answer to the asker alone."""
        if self.private:
            raise InvalidQuery("Private questions cannot be asked here; ask in a direct message.", rule="private")
        return ResearchRequest(
            self.query,
            modes=(self.mode,) if isinstance(self.mode, str) else self.mode or ("quick",),
            depth=self.depth,
            top_k=self.top_k,
            context=self.context,
            is_fresh=self.fresh,
        )


def add_routes(app: web.Application) -> None:
    app.router.add_post("/v1/research", post_research)
    app.router.add_get("/v1/jobs/{job_id}", get_job)
    app.router.add_get("/v1/jobs/{job_id}/sources", get_sources)
    app.router.add_get("/v1/jobs/{job_id}/stream", get_stream)


async def post_research(request: web.Request) -> web.Response:
    """202 with where to look: the job, and its stream."""
    if not may_ask(request, request.app[SETTINGS]):
        raise Forbidden
    question = _question(await request.read())
    job = await request.app[RESEARCHER].submit(question.to_request())
    links = request.app[LINKS]
    accepted = {
        "job_id": job.id,
        "status": job.status.value,
        "stream_url": links.signed(job, f"/v1/jobs/{job.id}/stream"),
    }
    return web.json_response(accepted, status=202, headers={"Location": links.signed(job, f"/v1/jobs/{job.id}")})


async def get_job(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    return _json(job_json(job, await researcher.result(job.id), await researcher.sources(job.id)))


async def get_sources(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    return _json(sources_json(job, await researcher.result(job.id), await researcher.sources(job.id)))


async def get_stream(request: web.Request) -> web.StreamResponse:
    """The job's events as server-sent events, from `Last-Event-ID` on; ends after `complete` (S003-22)."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    seen = request.headers.get("Last-Event-ID", "0")
    after = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0
    stream = EventSourceResponse(ping_interval=HEARTBEAT_S)
    stream.headers["Cache-Control"] = "no-store"
    await stream.prepare(request)
    async with stream:
        async for event in researcher.follow(job.id, after=after):
            if not stream.is_connected():
                break
            await stream.send(json.dumps(dict(event.data)), id=str(event.seq), event=event.type)
    return stream


def _question(body: bytes) -> Question:
    """Raises `InvalidQuery` with the first thing that is wrong."""
    try:
        return Question.model_validate_json(body)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        raise InvalidQuery(f"{field}: {first['msg']}.", rule="request") from exc


def _json(document: dict[str, Json]) -> web.Response:
    return web.json_response(document, headers={"Cache-Control": "no-store"})
