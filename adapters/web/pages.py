"""The pages for people: ask a question, watch it being researched, judge the answer, read its sources and its trace.

Everything works without a script; the scripts in `static/` make it live.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NoReturn, get_args

from aiohttp import web

from adapters.web.access import (
    FOLLOW_UP,
    LINKS,
    RESEARCHER,
    JobLinks,
    asked_once,
    chosen_tongue,
    may_ask,
    read_number,
    readable_job,
    require_asker,
)
from adapters.web.admin import voted_view
from adapters.web.api import local_job, renewal_in
from adapters.web.faults import page
from adapters.web.prose import drawn
from adapters.web.source_view import figure_of, passages_of, reading_view
from adapters.web.view import SUM_WORDS, code_view, job_view, timeline_view
from core.deep.viewing import trace_lines
from core.findings.viewing import read_view
from core.library.ingest import PaperUnreadable
from core.library.paper import Paper, PaperViews, shelves_of
from core.model.answer import ResearchAnswer
from core.model.codec import encode
from core.model.errors import GorkdError, InvalidQuery, JobNotFound
from core.model.job import LOCAL, TERMINAL_STATUSES, ResearchJob, ResearchRequest, Steering, SteeringKind
from core.model.source import Source
from core.modes import DEFAULT_MODE, MODES, can_be_steered, option_words, read_modes
from core.modes.mode import CONTEXT, DEPTH, ROUNDS, TOP_K, NumberOption
from core.pipeline.conversation import following, read_steering
from core.pipeline.researcher import RENEWALS, Renewal
from core.pipeline.tool_traces import TraceStore
from core.presentation import wording
from core.presentation.card import is_searching, stage_states
from core.presentation.exports import EXPORTS, OWN_KINDS, exports_of
from core.presentation.page_links import PaperPlace, is_private
from core.presentation.render import marks_legend
from core.presentation.snapshot import Snapshot
from core.receipts.container import Receipts
from core.tenancy.usage import MAX_MUST_CHARS
from core.text.saying import say
from core.watch import words as watch_words
from core.watch.words import told_change

TRACES: web.AppKey[TraceStore] = web.AppKey("traces")
FORM_REFERRER = "same-origin"  # behind `no-referrer` forms post with `Origin: null`; no other site is told either way
REFRESH_S = 2  # often enough to watch, rarely enough to read
SHOWN_REMOVED = 10  # sentences that were cut; the rest is folded
EXAMPLES = (  # a fresh clone without network answers them from its own documents
    "How is confidence scored?",
    "How does gorkd check that a source supports a sentence?",
    "What does gorkd keep, and for how long?",
)
_MAX_QUERY_CHARS = 2_000  # of a question in an address; longer ones are refused anyway (core/stages/intake.py)
_MAX_CONTEXT_CHARS = 2_000  # as Discord bounds the option
_MAX_KEY_CHARS = 64
ROUND = "Round {round} of {rounds} · {done} of {items} items · {facts} fact"  # live.js fills them in
ROUND_OF_FACTS = "Round {round} of {rounds} · {done} of {items} items · {facts} facts"
_KINDS: dict[str, SteeringKind] = {kind: kind for kind in get_args(SteeringKind)}


def add_routes(app: web.Application) -> None:
    app.router.add_get("/", get_ask)
    app.router.add_post("/", post_ask)
    app.router.add_get("/jobs/{job_id}", get_job)
    app.router.add_post("/jobs/{job_id}/cancel", post_cancel)
    app.router.add_post("/jobs/{job_id}/steering", post_steering)
    app.router.add_post(f"/jobs/{{job_id}}{FOLLOW_UP}", post_follow_up)
    for how in RENEWALS:
        app.router.add_post(f"/jobs/{{job_id}}/{how}", post_renewal)
    app.router.add_post("/jobs/{job_id}/watch", post_watch)
    app.router.add_post("/jobs/{job_id}/watch/stop", post_stop_watching)
    app.router.add_get("/jobs/{job_id}/trace", get_trace)
    app.router.add_get("/jobs/{job_id}/sources/{number}", get_source)
    app.router.add_get("/jobs/{job_id}/code/{number}", get_code)
    app.router.add_get(f"/jobs/{{job_id}}/answer.{{kind:{'|'.join([*EXPORTS, *OWN_KINDS])}}}", get_export)


async def get_ask(request: web.Request) -> web.Response:
    """`?query=` fills the field in."""
    return await _ask_page(request, ResearchRequest(request.query.get("query", "")[:_MAX_QUERY_CHARS]))


async def post_ask(request: web.Request) -> web.Response:
    """To the job's page; back to the form, with a sentence, when the question cannot be researched."""
    asker, form = await require_asker(request), await request.post()
    asked = ResearchRequest(
        str(form.get("query", "")),
        modes=read_modes(",".join(str(mode) for mode in form.getall("mode", ()))) or (DEFAULT_MODE,),
        depth="deep" if form.get("depth") == "deep" else "light",
        top_k=_bounded(str(form.get("top_k", "")), TOP_K),
        context=str(form.get("context", ""))[:_MAX_CONTEXT_CHARS].strip(),
        max_iterations=_bounded(str(form.get("max_iterations", "")), ROUNDS),
        is_fresh=form.get("fresh") == "1",
    )
    try:
        key = _form_key(request, form, asker, encode(asked))
        job = await request.app[RESEARCHER].submit(asked, dedupe_key=key)
    except InvalidQuery as error:
        return await _ask_page(request, asked, refusal=error.user_message)
    raise web.HTTPSeeOther(request.app[LINKS].signed(job, f"/jobs/{job.id}"))


async def get_job(request: web.Request) -> web.Response:
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    result, sources = await researcher.result(job.id), await researcher.sources(job.id)
    papers = await shown_papers(request, job, sources)
    view = job_view(job, result, sources, _links(request, job), papers=papers)
    context: dict[str, object] = {
        "view": view,
        "words": wording,
        "sum_words": SUM_WORDS,
        "may_ask": await may_ask(request),
        "key": secrets.token_urlsafe(12),
        "voted": None,
    }
    if job.status not in TERMINAL_STATUSES:
        shown = page("running.html", request, context | await _running(request, job))
    else:
        changes = await researcher.changes(job.id, scope=job.scope) if view.card.renewing else None
        watch = await researcher.watching.of_job(job)
        told = [(notice, [told_change(one) for one in notice.changes])
                for notice in (await researcher.watching.timeline(watch) if watch else [])]  # fmt: skip
        spent_usd = await researcher.watching.spent_usd(watch) if watch else 0.0
        context |= {"watch": watch, "told": told, "watching": watch_words, "spent_usd": spent_usd}
        context |= _finished(request, job, view.card.answer)
        context |= {"exports": [(kind, export.name) for kind, export in exports_of(job, result).items()]}
        asked = await researcher.conversation(job)  # the job's own without an address
        others = [(one.query, "" if one.id == job.id else _beside(request, job, one)) for one in asked]
        context |= {"changes": changes, "conversation": others, "improves": ""}
        if job.request.basis and job.request.feedback:
            with suppress(JobNotFound):  # forgotten since
                earlier = await researcher.job(job.request.basis)
                if earlier.scope == job.scope:  # a signed link opens it
                    context["improves"] = _beside(request, job, earlier)
        context |= {"voted": await voted_view(request, job), "max_must_chars": MAX_MUST_CHARS}
        shown = page("job.html", request, context)
    if context["may_ask"] or context["voted"]:
        shown.headers["Referrer-Policy"] = FORM_REFERRER
    return shown


async def post_cancel(request: web.Request) -> web.Response:
    """End the job, then back to its page. Only who may ask may cancel, and only who may read."""
    await require_asker(request)
    job = await readable_job(request)
    await request.app[RESEARCHER].cancel(job.id)
    raise web.HTTPSeeOther(_links(request, job).page)


async def post_steering(request: web.Request) -> web.Response:
    """Say something to a running job, by a button or in words, then back to its page."""
    await require_asker(request)
    job, form = await readable_job(request), await request.post()
    kind, text = str(form.get("kind", "")), str(form.get("text", ""))
    steering = Steering(_KINDS[kind], text) if kind in _KINDS else read_steering(text)
    if job.status not in TERMINAL_STATUSES:  # else its answer says more than a refusal
        await request.app[RESEARCHER].steer(job.id, steering, scope=job.scope)
    raise web.HTTPSeeOther(_links(request, job).heard(steering.kind))


async def post_watch(request: web.Request) -> web.Response:
    """Watch the answer daily, then back to its page, where what is said of it gets the focus, so that it is heard."""
    await require_asker(request)
    job = await local_job(request)
    rhythm = watch_words.RHYTHMS["week" if (await request.post()).get("every") == "week" else "day"]
    await request.app[RESEARCHER].watching.watch(job.id, job.request.asker, scope=job.scope, rhythm=rhythm)
    raise web.HTTPSeeOther(f"{_links(request, job).page}#watched")


async def post_stop_watching(request: web.Request) -> web.Response:
    await require_asker(request)
    job, desk = await local_job(request), request.app[RESEARCHER].watching
    if watch := await desk.of_job(job):
        await desk.stop(watch)
    raise web.HTTPSeeOther(f"{_links(request, job).page}#watched")


async def post_follow_up(request: web.Request) -> web.Response:
    """Ask what follows an answer, or by the form's other button improve it, then to the new job's page."""
    asker, form = await require_asker(request), await request.post()
    if form.get("how") == "improve":
        return await _renew(request, "improve", asker)
    job = await readable_job(request)
    asked = following(job, ResearchRequest(str(form.get("query", ""))))
    try:
        key = _form_key(request, form, asker, encode(asked))
        followed = await request.app[RESEARCHER].submit(asked, dedupe_key=key)
    except InvalidQuery as error:
        action = _links(request, job).at(FOLLOW_UP)
        return await _ask_page(request, asked, refusal=error.user_message, action=action)
    raise web.HTTPSeeOther(_beside(request, job, followed))


async def post_renewal(request: web.Request) -> web.Response:
    """Retry a failed job from what it had found (D14), refresh or improve an answer, then to the new job's page."""
    return await _renew(request, renewal_in(request), await require_asker(request))


async def _renew(request: web.Request, how: Renewal, asker: str) -> NoReturn:
    job, form = await local_job(request), await request.post()
    wish = str(form.get("query", ""))
    key = _form_key(request, form, asker, how, job.id, wish)
    renewed = await request.app[RESEARCHER].renewed(how, job.id, tenant=LOCAL.tenant, feedback=wish, dedupe_key=key)
    raise web.HTTPSeeOther(_beside(request, job, renewed))


def _form_key(request: web.Request, form: Mapping[str, object], asker: str, *said: str) -> str:
    """The dedupe key of a form with all that it says: who goes back to it and changes that asks something else."""
    key = str(form.get("key", ""))[:_MAX_KEY_CHARS]
    return asked_once(request, asker, "form", key, *said) if key else ""


async def get_trace(request: web.Request) -> web.Response:
    """What the job did, step by step; prompts are for those who may ask."""
    job = await readable_job(request)
    traces = request.app.get(TRACES)
    entries = await traces.read(job.id) if traces else []
    timeline = timeline_view(job, entries, with_prompts=await may_ask(request))
    view = job_view(job, await request.app[RESEARCHER].result(job.id), [], _links(request, job))
    told = await request.app[RESEARCHER].tool_trace(job.id)
    rounds = trace_lines(told) if told else []
    return page("trace.html", request, {"view": view, "timeline": timeline, "rounds": rounds})


async def get_source(request: web.Request) -> web.Response:
    """The text of a source as it was read: `?claim=` at the passage of that claim, `?start=` from a character on."""
    job = await readable_job(request)
    source = await _asked_source(request, job)
    result, links = await request.app[RESEARCHER].result(job.id), _links(request, job)
    reading = reading_view(
        source,
        result.answer if result else None,
        links,
        passage_id=request.query.get("claim", ""),
        start=read_number(request.query.get("start", "")),
    )
    view = job_view(job, result, [], links)
    papers = await shown_papers(request, job, [source])
    figure = figure_of(source, reading.asked, links) if papers and reading.asked else None
    pdf = links.paper(source.number) if papers else ""
    context = {"view": view, "reading": reading, "words": wording, "figure": figure, "pdf": pdf}
    return page("source.html", request, context)


async def _asked_source(request: web.Request, job: ResearchJob) -> Source:
    """The one whose number the address has. Raises `JobNotFound`."""
    for source in await request.app[RESEARCHER].sources(job.id):
        if str(source.number) == request.match_info["number"]:
            return source
    raise JobNotFound(job.id)


async def get_code(request: web.Request) -> web.Response:
    """All lines of an implementation's code."""
    job = await readable_job(request)
    result, number = await request.app[RESEARCHER].result(job.id), request.match_info["number"]
    found = read_view(result)
    code = code_view(found, number) if found else None
    if code is None:
        raise JobNotFound(job.id)
    view = job_view(job, result, [], _links(request, job))
    return page("code.html", request, {"view": view, "code": code, "number": number})


async def _running(request: web.Request, job: ResearchJob) -> dict[str, object]:
    snapshot = Snapshot()
    for event in await request.app[RESEARCHER].told(job.id):
        snapshot = snapshot.after(event)
    elapsed_s = max(0.0, (datetime.now(UTC) - job.created_at).total_seconds())
    return {
        "snapshot": snapshot,
        "stages": stage_states(snapshot),
        **{part: drawn(snapshot, part) for part in ("summary", "detail")},
        "elapsed": wording.duration(elapsed_s),
        "round_words": (say(ROUND), say(ROUND_OF_FACTS)),
        "refresh_s": 0 if "still" in request.query else REFRESH_S,
        "can_be_steered": can_be_steered(job.request.modes) and is_searching(snapshot),
        "heard": wording.heard(kind) if (kind := request.query.get("heard", "")) in _KINDS else "",
    }


def _finished(request: web.Request, job: ResearchJob, answer: ResearchAnswer | None) -> dict[str, object]:
    verdicts = {citation.verdict for citation in answer.citations} if answer else set()
    return {
        "has_receipts": RECEIPTS in request.app,
        "link": f"{request.app[LINKS].public_url}{_links(request, job).page}",
        "shares": say(wording.SHARES_PRIVATE) if is_private(job) else say(wording.SHARES),
        "shown_removed": SHOWN_REMOVED,
        "marks": list(marks_legend(verdicts).items()),
    }


def _links(request: web.Request, job: ResearchJob) -> JobLinks:
    """With the signature that the reader came with: what follows is as private as the page it is on."""
    return JobLinks(job.id, request.query.get("sig", ""))


def _beside(request: web.Request, job: ResearchJob, other: ResearchJob) -> str:
    return request.app[LINKS].beside(job, other, request.query.get("sig", ""))


def _bounded(text: str, option: NumberOption) -> int:
    """Within the option's bounds; its default for what is no number."""
    number = read_number(text.strip())
    return option.default if number is None else min(max(option.least, number), option.most)


async def _ask_page(
    request: web.Request, asked: ResearchRequest, *, refusal: str = "", action: str = ""
) -> web.Response:
    """`action` is where the form goes, "" for a new question: what was refused as a follow-up stays one."""
    can_research = request.app[RESEARCHER].can_research
    offered = {option for mode in MODES.values() if can_research(mode) for option in mode.options}
    context: dict[str, object] = {
        "action": action,
        "asked": asked,
        "defaults": ResearchRequest(""),
        "max_context_chars": _MAX_CONTEXT_CHARS,
        "options": [option for option in (TOP_K, ROUNDS) if option in offered],
        "depth_words": option_words(DEPTH),
        "context_words": say(CONTEXT.description),
        "option_words": option_words,
        "refusal": refusal,
        "modes": [mode for mode in MODES.values() if not mode.needs_files],
        "can_research": can_research,
        "no_model": say(wording.NO_MODEL),
        "examples": [say(question) for question in EXAMPLES],
        "may_ask": await may_ask(request),
        "key": secrets.token_urlsafe(12),
        "tongue": f"?lang={chosen}" if (chosen := chosen_tongue(request)) else "",
    }
    return page("ask.html", request, context, status=400 if refusal else 200)


# Papers of a library: a cited page as a picture, and the file itself, for whoever may read an answer from it, or was


PAPERS: web.AppKey[PaperViews] = web.AppKey("papers")
_OPEN = "private, max-age=3600"


def add_paper_routes(app: web.Application, views: PaperViews) -> None:
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
    return _file(job, await request.app[PAPERS].library.file(shelves_of(job.scope), paper.id), "application/pdf")


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
    source = await _asked_source(request, job)
    papers = await request.app[PAPERS].papers_of(job, [source])
    if source.id not in papers:
        raise JobNotFound(job.id)
    return job, source, papers[source.id]


def _file(job: ResearchJob, body: bytes, media_type: str) -> web.Response:
    if not body:
        raise JobNotFound(job.id)
    headers = {"Cache-Control": "no-store" if is_private(job) else _OPEN, "Content-Disposition": "inline"}
    return web.Response(body=body, content_type=media_type, headers=headers)


# A finished answer as a file to keep: under the page's address, for whoever may read the page


async def get_export(request: web.Request) -> web.Response:
    """404 too for a job that has not ended, and for a kind that its answer has not: there is nothing to keep."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    result = await researcher.result(job.id)
    kind, sources = request.match_info["kind"], await researcher.sources(job.id)
    export = exports_of(job, result).get(kind)
    if result is None or export is None:
        raise JobNotFound(job.id)
    text = export.write(job, result, sources)
    headers = {"Content-Disposition": f'attachment; filename="{job.id}.{kind}"', "Cache-Control": "no-store"}
    return web.Response(
        body=text.encode("utf-8", "replace"), content_type=export.media_type, charset="utf-8", headers=headers
    )


# Receipts for download, and the keys with which they are signed, where anybody looks for them


RECEIPTS: web.AppKey[Receipts] = web.AppKey("receipts")
_GATE: web.AppKey[asyncio.Semaphore] = web.AppKey("receipts at once")
AT_ONCE = 2  # each asks the rules anew, which takes a second of a processor for a long answer
KEY_PATH = "/.well-known/gorkd-key"  # RFC 8615


def add_receipt_routes(app: web.Application, receipts: Receipts) -> None:
    app[RECEIPTS] = receipts
    app[_GATE] = asyncio.Semaphore(AT_ONCE)
    app.router.add_get("/jobs/{job_id}/receipt.zip", get_receipt)
    app.router.add_get(KEY_PATH, get_key)


async def get_receipt(request: web.Request) -> web.Response:
    """404 too for a job without an answer."""
    job = await readable_job(request)
    async with request.app[_GATE]:
        content = await request.app[RECEIPTS].give(job.id)
    name = f'attachment; filename="{job.id}.receipt.zip"'
    headers = {"Content-Disposition": name, "Cache-Control": "no-store"}
    return web.Response(body=content, content_type="application/zip", headers=headers)


async def get_key(request: web.Request) -> web.Response:
    """The public keys, one a line; anybody may read them, from any site."""
    headers = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
    return web.Response(text=request.app[RECEIPTS].published, content_type="text/plain", headers=headers)
