"""The JSON API under /v1 (G-01), described in openapi.yaml."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar

import yaml
from aiohttp import web
from aiohttp_sse import EventSourceResponse
from pydantic import BaseModel, Field, ValidationError

from adapters.web.access import (
    FOLLOW_UP,
    LINKS,
    RESEARCHER,
    REVOCATIONS,
    asked_once,
    read_number,
    readable_job,
    require_asker,
)
from adapters.web.faults import Forbidden, KeyReused
from adapters.web.limits import stream_slot
from adapters.web.prose import Drawing
from core.model.errors import GorkdError, InvalidQuery, QueueFull
from core.model.job import (
    LOCAL,
    MAX_ATTACHMENTS,
    MAX_STEERING_CHARS,
    TERMINAL_STATUSES,
    Depth,
    Event,
    Json,
    ResearchJob,
    ResearchRequest,
    Scope,
    Steering,
    SteeringKind,
    personal,
)
from core.modes import DEFAULT_MODE, read_modes
from core.modes.mode import DEPTH, ROUNDS, TOP_K
from core.pipeline.conversation import following
from core.pipeline.researcher import MAX_FEEDBACK_CHARS, RENEWALS, Renewal, Researcher
from core.presentation.render import for_others, iso_utc, job_json, sources_json
from core.presentation.snapshot import Snapshot
from core.watch import words
from core.watch.tools import watch_json
from core.watch.watch import Watch, WatchNotFound, WatchNotice


class AttachedText(BaseModel, frozen=True, extra="forbid"):
    """A file of text that comes with a question; its name tells its kind."""

    name: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1)


class QuestionBody(BaseModel, frozen=True, extra="forbid", str_max_length=32_000):
    """The body of `POST /v1/research`. Its text is judged by the intake, as everywhere."""

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


class SaidInBody(BaseModel, frozen=True, extra="forbid"):
    """The body of `POST /v1/jobs/{job_id}/steering`."""

    kind: SteeringKind
    text: str = Field(default="", max_length=MAX_STEERING_CHARS)


class WishBody(BaseModel, frozen=True, extra="forbid"):
    """The body of `POST /v1/jobs/{job_id}/improve`."""

    feedback: str = Field(default="", max_length=MAX_FEEDBACK_CHARS)


class WatchBody(BaseModel, frozen=True, extra="forbid"):
    """The body of `PUT /v1/jobs/{job_id}/watch`; `every` is as `gorkd watch add --every` takes it."""

    every: str = Field(default="day", max_length=100)
    zone: str = Field(default="UTC", max_length=64)


Body = TypeVar("Body", bound=BaseModel)
_IDEMPOTENCY_KEY = re.compile(r"[\x20-\x7e]{1,255}")


def add_routes(app: web.Application) -> None:
    app.router.add_post("/v1/research", post_research)
    app.router.add_get("/v1/jobs/{job_id}", get_job)
    app.router.add_get("/v1/jobs/{job_id}/sources", get_sources)
    app.router.add_post("/v1/jobs/{job_id}/steering", post_steering)
    for how in RENEWALS:
        app.router.add_post(f"/v1/jobs/{{job_id}}/{how}", post_renewal)
    app.router.add_post(f"/v1/jobs/{{job_id}}{FOLLOW_UP}", post_research)
    app.router.add_delete("/v1/jobs/{job_id}/links", delete_links)
    app.router.add_put("/v1/jobs/{job_id}/watch", put_watch)
    app.router.add_get("/v1/jobs/{job_id}/watch", get_watch)
    app.router.add_delete("/v1/jobs/{job_id}/watch", delete_watch)
    app.router.add_get("/openapi.json", get_description)
    app.router.add_get("/v1/jobs/{job_id}/stream", get_stream, allow_head=False)
    app[CLOSING] = asyncio.Event()
    app.on_shutdown.append(_close)


async def post_research(request: web.Request) -> web.Response:
    """202 with where to look: the job, and its stream; signed for a private question and for one with files.

    With a job in the path the question follows that one, in its conversation.
    """
    asker = await require_asker(request)
    before = await readable_job(request) if "job_id" in request.match_info else None
    question, researcher = await _body(request, QuestionBody), request.app[RESEARCHER]
    # A private question is for whoever has this token, or for whoever sits at this machine.
    mac = hmac.digest(request.app[LINKS].keys[-1], b"asker" + asker.encode(), hashlib.sha256)
    own = Scope(LOCAL.tenant, personal(mac.hex()[:32]))
    scope, other = (own, LOCAL) if question.private or question.attachments else (LOCAL, own)
    said = question.model_dump_json() + (before.id if before else "")
    key, digest = _idempotency_key(request, asker), hashlib.sha256(said.encode()).hexdigest()
    asked = question.to_request(scope)
    if before:
        asked = following(before, asked)
    if key:
        key = await _unused_or_ours(request, key, digest, asked.scope, other)
    files = [await researcher.read_attachment(file.name, "", file.text.encode()) for file in question.attachments]
    asked = replace(asked, digest=digest if key else "")
    job = await researcher.submit(asked, dedupe_key=key, attachments=files)
    if key:
        _refuse_reuse(job, digest)  # two that came at the same moment
    return _accepted(request, job, before)


async def post_renewal(request: web.Request) -> web.Response:
    """202 with the job that retries, refreshes or improves another; the first two are one job however often sent."""
    asker, how = await require_asker(request), renewal_in(request)
    job, researcher = await local_job(request), request.app[RESEARCHER]
    if how != "improve":
        return _accepted(request, await researcher.renewed(how, job.id, tenant=LOCAL.tenant), job)
    feedback, key = (await _body(request, WishBody)).feedback, _idempotency_key(request, asker)
    digest = hashlib.sha256(json.dumps([how, job.id, feedback]).encode()).hexdigest() if key else ""
    key = key and await _unused_or_ours(request, key, digest, job.scope)
    improved = await researcher.renewed(
        how, job.id, tenant=LOCAL.tenant, feedback=feedback, dedupe_key=key, digest=digest
    )
    if key:
        _refuse_reuse(improved, digest)  # two that came at the same moment
    return _accepted(request, improved, job)


def renewal_in(request: web.Request) -> Renewal:
    """Of an address that ends in its name."""
    return next(how for how in RENEWALS if request.path.endswith(f"/{how}"))


def _accepted(request: web.Request, job: ResearchJob, before: ResearchJob | None = None) -> web.Response:
    """Where to look: for what is asked of a job `before` no longer than its own link holds, which it leads back to."""
    links, sig, path = request.app[LINKS], request.query.get("sig", ""), f"/v1/jobs/{job.id}"
    at, stream = (
        links.beside(before, job, sig, way) if before else links.signed(job, way) for way in (path, f"{path}/stream")
    )
    accepted = {"job_id": job.id, "status": job.status.value, "stream_url": stream}
    return web.json_response(accepted, status=202, headers={"Location": at, "Cache-Control": "no-store"})


async def get_job(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    return _json(for_others(job_json(job, await researcher.result(job.id), await researcher.sources(job.id))))


async def get_sources(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    return _json(for_others(sources_json(job, await researcher.result(job.id), await researcher.sources(job.id))))


async def post_steering(request: web.Request) -> web.Response:
    """202 with what was heard. It takes the right to read the job and the right to ask."""
    await require_asker(request)
    job = await readable_job(request)
    said = await _body(request, SaidInBody)
    await request.app[RESEARCHER].steer(job.id, Steering(said.kind, said.text), scope=job.scope)
    heard: dict[str, Json] = {"kind": said.kind, "text": said.text}
    return web.json_response(heard, status=202, headers={"Cache-Control": "no-store"})


async def delete_links(request: web.Request) -> web.Response:
    """Take back every link to the job's page that was signed so far. It takes one of them, and the right to ask."""
    await require_asker(request)
    job = await readable_job(request)
    await request.app[REVOCATIONS].revoke(job, request.app[LINKS].clock())
    return web.Response(status=204, headers={"Cache-Control": "no-store"})


async def put_watch(request: web.Request) -> web.Response:
    """Watch the job's answer, or at another time than before. What is told is read with `GET`."""
    await require_asker(request)
    body, job = await _body(request, WatchBody), await local_job(request)
    rhythm = words.read_rhythm(body.every)
    if rhythm is None:
        raise InvalidQuery("every: day, week, hours, 12 hours, Monday 9:00.", rule="request")
    desk = request.app[RESEARCHER].watching
    rhythm = words.in_zone(rhythm, body.zone)
    watch = await desk.watch(job.id, job.request.asker, scope=job.scope, rhythm=rhythm)
    return _json(_told_json(watch, await desk.timeline(watch), await desk.spent_usd(watch)))


async def get_watch(request: web.Request) -> web.Response:
    job, desk = await readable_job(request), request.app[RESEARCHER].watching
    watch = await desk.of_job(job)
    if watch is None:
        raise WatchNotFound(job.id)
    return _json(_told_json(watch, await desk.timeline(watch), await desk.spent_usd(watch)))


async def delete_watch(request: web.Request) -> web.Response:
    await require_asker(request)
    job, desk = await local_job(request), request.app[RESEARCHER].watching
    watch = await desk.of_job(job)
    if watch is None:
        raise WatchNotFound(job.id)
    await desk.stop(watch)
    return web.Response(status=204, headers={"Cache-Control": "no-store"})


async def local_job(request: web.Request) -> ResearchJob:
    """Raises `Forbidden` for a job of a chat: its people watch and renew it there."""
    job = await readable_job(request)
    if job.scope.tenant != LOCAL.tenant:
        raise Forbidden
    return job


def _told_json(watch: Watch, notices: Sequence[WatchNotice], spent_usd: float) -> dict[str, Json]:
    told: list[Json] = [
        {
            "at": iso_utc(notice.at),
            "job_id": notice.job_id,
            "tone": notice.tone,
            "changes": [
                {"kind": change.kind, "before": change.before, "now": change.now, "before_quote": change.before_quote,
                 "before_url": change.before_url, "now_quote": change.now_quote, "now_url": change.now_url}
                for change in notice.changes
            ],
        }
        for notice in notices
    ]  # fmt: skip
    return watch_json(watch) | {"spent_usd": round(spent_usd, 6), "told": told}


async def _body(request: web.Request, model: type[Body]) -> Body:
    """Raises `InvalidQuery` with the first thing that is wrong."""
    try:
        return model.model_validate_json(await request.read())
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        raise InvalidQuery(f"{field}: {first['msg']}.", rule="request") from exc


def _idempotency_key(request: web.Request, asker: str) -> str:
    """Of this asker alone; "" for none. Raises `InvalidQuery`."""
    given = request.headers.get("Idempotency-Key")
    if given is None:
        return ""
    if not _IDEMPOTENCY_KEY.fullmatch(given):
        raise InvalidQuery("Idempotency-Key: 1 to 255 printable ASCII characters.", rule="request")
    return asked_once(request, asker, given)


async def _unused_or_ours(request: web.Request, key: str, digest: str, *scopes: Scope) -> str:
    """The dedupe key; of what was turned away as too much a new one. Raises `KeyReused`."""
    for number in count():
        numbered = f"{key}:{number}" if number else key
        found = [await request.app[RESEARCHER].asked(numbered, scope=scope) for scope in scopes]
        twin = next((job for job in found if job is not None), None)
        _refuse_reuse(twin, digest)
        if twin is None or twin.error is None or twin.error.code != QueueFull.code:
            return numbered
    raise AssertionError("there is always another number")


def _refuse_reuse(job: ResearchJob | None, digest: str) -> None:
    if job is not None and job.request.digest != digest:
        raise KeyReused


def _json(document: dict[str, Json]) -> web.Response:
    return web.json_response(document, headers={"Cache-Control": "no-store"})


# `/openapi.json`: the description of the API, kept as openapi.yaml beside this file


FILE = Path(__file__).with_name("openapi.yaml")


async def get_description(_: web.Request) -> web.Response:
    body = await asyncio.to_thread(_document)  # reading it takes a tenth of a second, once
    return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "max-age=300"})


@cache
def _document() -> bytes:
    return json.dumps(yaml.safe_load(FILE.read_text("utf-8")), ensure_ascii=False).encode()


# The events of a job as server-sent events (S003-22): replayable, kept alive, ended by `complete` or by us


HEARTBEAT_S = 15.0  # keeps proxies from closing a quiet stream (G-01)
SEND_TIMEOUT_S = 60.0  # of a reader that takes nothing any more
RETRY_MS = 1000  # after which a browser comes back (G-04)
CLOSING = web.AppKey("closing", asyncio.Event)

log = logging.getLogger(__name__)


async def get_stream(request: web.Request) -> web.StreamResponse:
    """The job's events after `Last-Event-ID` or `?after=`; 204, which ends a browser's tries, when all were seen."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    after = read_number(request.headers.get("Last-Event-ID") or request.query.get("after", "")) or 0
    told = await researcher.told(job.id) if after and job.status in TERMINAL_STATUSES else []
    if told and told[-1].seq <= after:  # of a job whose events are kept no more, `_told` makes the last one
        return web.Response(status=204, headers={"Cache-Control": "no-store"})
    with stream_slot(request):
        stream = EventSourceResponse(ping_interval=HEARTBEAT_S, send_timeout=SEND_TIMEOUT_S)
        stream.headers["Cache-Control"] = "no-store, no-transform"  # compressed streams are held back by proxies
        await stream.prepare(request)
        async with stream:
            is_drawn = "drawn" in request.query
            await _send(stream, _told(researcher, job.id, after=after, is_drawn=is_drawn), request.app[CLOSING])
    return stream


async def _told(researcher: Researcher, job_id: str, *, after: int, is_drawn: bool) -> AsyncGenerator[Event, None]:
    """The events as others may read them; with each sentence what it changes of its section, drawn as it will stand."""
    snapshot, drawings = Snapshot(), defaultdict[str, Drawing](Drawing)
    if is_drawn and after:
        for event in await researcher.told(job_id):
            snapshot = snapshot.after(_shown(event)) if event.seq <= after else snapshot
    async with aclosing(researcher.follow(job_id, after=after)) as following:
        async for event in following:
            told = _shown(event)
            if is_drawn and told.type != "complete":
                snapshot = snapshot.after(told)
            if is_drawn and told.type == "answer":
                section = str(told.data["section"])
                kept, drawn = drawings[section].after(snapshot, section)
                told = replace(told, data={**told.data, "kept": kept, "drawn": [*drawn]})
            yield told


def _shown(event: Event) -> Event:
    return replace(event, data=for_others(dict(event.data)))


async def _send(stream: EventSourceResponse, events: AsyncGenerator[Event, None], closing: asyncio.Event) -> None:
    """Until the last event, or the reader has gone, or the server stops: whoever comes back misses nothing."""
    ends = [
        asyncio.create_task(_pump(stream, events)),
        asyncio.create_task(stream.wait()),
        asyncio.create_task(closing.wait()),
    ]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


async def _pump(stream: EventSourceResponse, events: AsyncGenerator[Event, None]) -> None:
    retry_ms: int | None = RETRY_MS  # once is enough
    try:
        async with aclosing(events) as following:
            async for event in following:
                await stream.send(json.dumps(event.data), id=str(event.seq), event=event.type, retry=retry_ms)
                retry_ms = None
    except GorkdError as error:
        log.warning("a stream broke off", extra={"reason": str(error)})
    except (ConnectionError, TimeoutError):
        log.debug("a reader has gone")
    except Exception:  # the boundary of this task: the response has begun, so no error page can follow
        log.exception("a stream broke")


async def _close(app: web.Application) -> None:
    app[CLOSING].set()
