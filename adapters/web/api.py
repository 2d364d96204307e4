"""The JSON API under /v1 (G-01), described in openapi.yaml. Its event stream is in stream.py."""

from __future__ import annotations

import hashlib
import hmac
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.web.access import LINKS, RESEARCHER, REVOCATIONS, may_ask, readable_job
from adapters.web.faults import Forbidden
from core.attachments import MAX_ATTACHMENTS
from core.errors import InvalidQuery
from core.events import Json
from core.job import LOCAL, Depth, ResearchRequest, Scope
from core.modes import DEFAULT_MODE, read_modes
from core.modes.options import DEPTH, ROUNDS, TOP_K
from core.render import job_json, sources_json
from core.steering import MAX_STEERING_CHARS, Steering, SteeringKind


class AttachedText(BaseModel):
    """A file of text that comes with a question; its name tells its kind."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1)


class Question(BaseModel):
    """The body of `POST /v1/research`. Its text is judged by the intake, as everywhere."""

    model_config = ConfigDict(frozen=True, str_max_length=32_000)

    query: str
    mode: str | tuple[str, ...] = DEFAULT_MODE
    depth: Depth = DEPTH.default
    top_k: int = Field(default=TOP_K.default, ge=TOP_K.least, le=TOP_K.most)
    max_iterations: int = Field(default=ROUNDS.default, ge=ROUNDS.least, le=ROUNDS.most)
    context: str = ""
    private: bool = False
    fresh: bool = False
    attachments: tuple[AttachedText, ...] = Field(default=(), max_length=MAX_ATTACHMENTS)

    def to_request(self, scope: Scope) -> ResearchRequest:
        return ResearchRequest(
            self.query,
            scope=scope,
            modes=read_modes(self.mode if isinstance(self.mode, str) else ",".join(self.mode)) or (DEFAULT_MODE,),
            depth=self.depth,
            top_k=self.top_k,
            context=self.context,
            max_iterations=self.max_iterations,
            is_private=self.private,
            is_fresh=self.fresh,
        )


class Said(BaseModel):
    """The body of `POST /v1/jobs/{job_id}/steering`."""

    model_config = ConfigDict(frozen=True)

    kind: SteeringKind
    text: str = Field(default="", max_length=MAX_STEERING_CHARS)


Body = TypeVar("Body", bound=BaseModel)


def add_routes(app: web.Application) -> None:
    app.router.add_post("/v1/research", post_research)
    app.router.add_get("/v1/jobs/{job_id}", get_job)
    app.router.add_get("/v1/jobs/{job_id}/sources", get_sources)
    app.router.add_post("/v1/jobs/{job_id}/steering", post_steering)
    app.router.add_delete("/v1/jobs/{job_id}/links", delete_links)


async def post_research(request: web.Request) -> web.Response:
    """202 with where to look: the job, and its stream; signed for a private question and for one with files."""
    if not await may_ask(request):
        raise Forbidden
    question, researcher = await _body(request, Question), request.app[RESEARCHER]
    files = [await researcher.read_attachment(file.name, "", file.text.encode()) for file in question.attachments]
    scope = _own_scope(request) if question.private or files else LOCAL
    job = await researcher.submit(question.to_request(scope), attachments=files)
    links = request.app[LINKS]
    accepted = {
        "job_id": job.id,
        "status": job.status.value,
        "stream_url": links.signed(job, f"/v1/jobs/{job.id}/stream"),
    }
    return web.json_response(
        accepted,
        status=202,
        headers={"Location": links.signed(job, f"/v1/jobs/{job.id}"), "Cache-Control": "no-store"},
    )


async def get_job(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    return _json(job_json(job, await researcher.result(job.id), await researcher.sources(job.id)))


async def get_sources(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    return _json(sources_json(job, await researcher.result(job.id), await researcher.sources(job.id)))


async def post_steering(request: web.Request) -> web.Response:
    """202 with what was heard. It takes the right to read the job and the right to ask."""
    if not await may_ask(request):
        raise Forbidden
    job = await readable_job(request)
    said = await _body(request, Said)
    await request.app[RESEARCHER].steer(job.id, Steering(said.kind, said.text), scope=job.scope)
    heard: dict[str, Json] = {"kind": said.kind, "text": said.text}
    return web.json_response(heard, status=202, headers={"Cache-Control": "no-store"})


async def delete_links(request: web.Request) -> web.Response:
    """Take back every link to the job's page that was signed so far. It takes one of them, and the right to ask."""
    if not await may_ask(request):
        raise Forbidden
    job = await readable_job(request)
    await request.app[REVOCATIONS].revoke(job, request.app[LINKS].clock())
    return web.Response(status=204, headers={"Cache-Control": "no-store"})


async def _body(request: web.Request, model: type[Body]) -> Body:
    """Raises `InvalidQuery` with the first thing that is wrong."""
    try:
        return model.model_validate_json(await request.read())
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        raise InvalidQuery(f"{field}: {first['msg']}.", rule="request") from exc


def _own_scope(request: web.Request, asker: str) -> Scope:
    """A private question's: for whoever has this token, or for whoever sits at this machine."""
    mac = hmac.digest(request.app[LINKS].keys[-1], b"asker" + asker.encode(), hashlib.sha256)
    return Scope(LOCAL.tenant, f"user:{mac.hex()[:32]}")


def _json(document: dict[str, Json]) -> web.Response:
    return web.json_response(document, headers={"Cache-Control": "no-store"})
