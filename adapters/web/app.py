"""The web application: JSON API, the page to ask, the page of a job, health and metrics."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import aiohttp_jinja2
import jinja2
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from markupsafe import Markup, escape

from adapters.web import access, admin, api, pages, preview
from adapters.web.access import add_sign_in_routes, speak
from adapters.web.faults import Handler, show_faults
from adapters.web.limits import (
    BODY_WITHIN_S,
    HEARS_WITHIN_S,
    LIMITS,
    LINGER_S,
    MAX_GUEST_BYTES,
    PATIENCE_S,
    STREAMS,
    hang_up,
    keep_limits,
    take_body,
    tell_allowance,
)
from adapters.web.monitor import Ready, add_health_routes
from adapters.web.pages import add_paper_routes, add_receipt_routes
from adapters.web.prose import quoted
from adapters.web.settings import WebSettings
from adapters.web.view import thousands
from core.library.paper import PaperViews
from core.pipeline.limits import SharedLimits
from core.pipeline.researcher import Researcher
from core.pipeline.tool_traces import TraceStore
from core.presentation.page_links import PageLinks, Revocations
from core.presentation.render import cut, one_line, printable
from core.receipts.container import Receipts
from core.tenancy.usage import CountUsage, EvaluationStore
from core.text import saying
from core.text.saying import LANGUAGES, say_day, say_number, say_published, spoken
from core.works.showing import verdict_words

_HERE = Path(__file__).parent
_METRICS: web.AppKey[Callable[[], bytes]] = web.AppKey("metrics")

_COMPRESSED = ("text/html", "application/json")  # never the event stream: it would be held back
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


def build_web(
    researcher: Researcher,
    metrics_render: Callable[[], bytes],
    settings: WebSettings,
    traces: TraceStore | None = None,
    *,
    ready: Ready,
    links: PageLinks,
    revocations: Revocations,
    limits: SharedLimits,
    previews: Mapping[str, preview.Preview] | None = None,
    library: PaperViews | None = None,
    usage: CountUsage | None = None,
    receipts: Receipts | None = None,
    evaluations: EvaluationStore | None = None,
) -> web.Application:
    """`metrics_render` gives the metrics in Prometheus' text format; without `traces` there is nothing to look up.

    `previews` draw an answer as chats show it, by platform; without any there is no such page. `library` shows the
    papers that answers cite, `usage` and `evaluations` are what /admin shows,
    `receipts` gives receipts of answers.
    """
    app = web.Application(
        client_max_size=MAX_GUEST_BYTES,
        middlewares=[hang_up, log_requests, speak, show_faults, keep_limits, take_body, compress],
    )
    app[access.RESEARCHER] = researcher
    app[access.SETTINGS] = settings
    app[access.LINKS] = links
    app[access.REVOCATIONS] = revocations
    app[LIMITS] = limits
    app[STREAMS] = Counter()
    app[PATIENCE_S] = BODY_WITHIN_S
    app[LINGER_S] = HEARS_WITHIN_S
    app[_METRICS] = metrics_render
    if traces is not None:
        app[pages.TRACES] = traces
    app[aiohttp_jinja2.APP_KEY] = templates()
    app.on_response_prepare.append(_add_headers)
    app.on_response_prepare.append(tell_allowance)
    add_health_routes(app, ready)
    app.router.add_get("/metrics", _metrics)
    app.router.add_static("/static", _HERE / "static")
    for add_routes in (api.add_routes, pages.add_routes, add_sign_in_routes):
        add_routes(app)
    if usage is not None:
        admin.add_routes(app, usage, evaluations)
    if library is not None:
        add_paper_routes(app, library)
    if receipts is not None:
        add_receipt_routes(app, receipts)
    if previews:
        preview.add_routes(app, previews)
    return app


@cache
def templates() -> jinja2.Environment:
    """Those of every page, which all sites of a process share: to compile one takes longer than to fill it in."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["quoted"] = quoted
    environment.globals.update(
        say=_say, say_again=saying.say_again, say_many=_say_many, say_number=say_number, spoken=spoken, lang=_lang,
        languages=LANGUAGES, end_link=Markup("</a>"), thousands=thousands, cut=cut, one_line=one_line,
        verdict_words=verdict_words, say_day=say_day, say_published=say_published,
    )  # fmt: skip
    return environment


def _say(text: str, **values: object) -> str:
    """For templates: a value may be markup, and keeps to be."""
    said = saying.say(text)
    return escape(said).format(**values) if values else said


def _lang(language: str) -> Markup:
    """The attribute for text that is in another language than the page; nothing where that is not known."""
    is_other = language and language != spoken()
    return Markup(' lang="{}"').format(language) if is_other else Markup()


def _say_many(one: str, many: str, number: int, **values: object) -> str:
    said = saying.say_many(one, many, number, **{name: f"{{{name}}}" for name in values})
    return escape(said).format(**values)


def _shown(value: object) -> object:
    """Every value that a template prints: text loses what acts or hides; the escaping comes after."""
    if isinstance(value, Markup):
        return Markup(printable(value))  # noqa: S704 -- takes characters out of what is markup already
    return printable(value) if isinstance(value, str) else value


@web.middleware
async def compress(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Pages and JSON, for who takes it; nothing that a request says is shown beside a secret (BREACH)."""
    response = await handler(request)
    if isinstance(response, web.Response) and response.content_type in _COMPRESSED:
        response.enable_compression()
        response.headers["Vary"] = "Accept-Encoding, Accept-Language"
    return response


async def _metrics(request: web.Request) -> web.Response:
    text = request.app[_METRICS]()
    return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    if request.path in ("/", "/sign-in"):
        response.headers.setdefault("Referrer-Policy", pages.FORM_REFERRER)
    response.headers["Server"] = "gorkd"  # what aiohttp has put there before names versions
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


# One log line a request, without its query string: a signature in a log would open what it was to protect


PATH_CHARS = 200
_UNTOLD = ("/health", "/ready", "/metrics", "/static/")  # asked every few seconds, and by every page

log = logging.getLogger(__name__)


@web.middleware
async def log_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """At the end of each, also of one that its reader left."""
    if request.path.startswith(_UNTOLD):
        return await handler(request)
    began_at = time.monotonic()
    status = 0
    try:
        response = await handler(request)
        status = response.status
        return response
    except web.HTTPException as exc:
        status = exc.status
        raise
    finally:
        took_ms = round(1000 * (time.monotonic() - began_at))
        path = cut(one_line(request.path), PATH_CHARS)
        log.info("request", extra={"method": request.method, "path": path, "status": status, "took_ms": took_ms})


# The sockets of the pages: who connects and says nothing is let go, and what is no request costs one short line


SILENCE_S = 75.0  # as nginx lets a browser's connection rest; half a request counts as silence

_NO_REQUESTS = (HttpProcessingError, web.RequestPayloadError)

_server_log = logging.getLogger("aiohttp.server")


def web_runner(app: web.Application, *, silence_s: float = SILENCE_S) -> web.AppRunner:
    """Not listening yet. A connection without a whole request is closed after `silence_s`; of one whose request was
    answered before its body had come nothing more is read (limits.py).
    """
    _server_log.addFilter(_shortened)
    # Nothing is unpacked: what comes packed is refused (limits.py), whether or not its packing could be undone.
    return web.AppRunner(app, access_log=None, keepalive_timeout=silence_s, lingering_time=0, auto_decompress=False)


def _shortened(record: logging.LogRecord) -> bool:
    """A traceback for each piece of nonsense would fill the disk, and it quotes the request, its question included."""
    if record.exc_info and isinstance(record.exc_info[1], _NO_REQUESTS):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        record.msg, record.args = "not a request", ()
    return True
