"""Who may ask and who may read, and in which language a request is answered.

Asking costs money: it takes a bearer token or the cookie got with one. Only a server that nobody else is to reach
asks its own machine for neither. Reading takes the job's id, and a signature where the job is not for the workspace.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from aiohttp import web

from adapters.web.faults import Forbidden, Handler, page
from adapters.web.prose import safe_link
from adapters.web.settings import WebSettings, is_local_peer, is_loopback
from core.model.errors import JobNotFound
from core.model.job import ResearchJob
from core.pipeline.researcher import Researcher
from core.presentation.page_links import PageLinks, Revocations, is_private
from core.text.saying import known_language, say, speaking

RESEARCHER: web.AppKey[Researcher] = web.AppKey("researcher")
SETTINGS = web.AppKey("settings", WebSettings)
LINKS = web.AppKey("links", PageLinks)
REVOCATIONS: web.AppKey[Revocations] = web.AppKey("revocations")
COOKIE = "gorkd_session"
MAX_DIGITS = 9
_SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Session:
    """What a cookie says: no token, and nothing that outlives it. `expiry` is Unix time."""

    id: str
    expiry: int

    @classmethod
    def read(cls, cookie: str) -> Session | None:
        """As the cookie claims to be, None for one that is none of ours; `made_with` says whether it is genuine."""
        digits, _, rest = cookie.partition("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 11):
            return None
        return cls(rest.partition("-")[0], int(digits))

    def made_with(self, token: str) -> str:
        """The cookie."""
        mac = hmac.digest(token.encode(), f"gorkd session {self.id} until {self.expiry}".encode(), hashlib.sha256)
        return f"{self.expiry}-{self.id}-{mac.hex()}"


async def asker_of(request: web.Request) -> str | None:
    """Whose question it would be: the token that came, or whose session did; "" for this machine, None for nobody.

    This machine needs no token only where `WebSettings.trusts_this_machine`. Raises `StoreError`.
    """
    tokens = request.app[SETTINGS].api_tokens
    token = _matching(_bearer(request), tokens)
    if token is not None:
        return token
    if request.method not in _SAFE and not is_own_origin(request):  # a link from elsewhere leads here, a form may not
        return None
    token = await _session_token(request, tokens)
    return "" if token is None and is_trusted_local(request) else token


async def may_ask(request: web.Request) -> bool:
    """Raises `StoreError`."""
    return await asker_of(request) is not None


async def require_asker(request: web.Request) -> str:
    """`asker_of`. Raises `Forbidden` for nobody, and `StoreError`."""
    asker = await asker_of(request)
    if asker is None:
        raise Forbidden
    return asker


def asked_once(request: web.Request, asker: str, *key: str) -> str:
    """The dedupe key of a question that may come again: an asker's `key` is none of another's, and says nothing."""
    signed = json.dumps(["asked once", asker, *key]).encode()
    return f"http:{hmac.digest(request.app[LINKS].keys[-1], signed, hashlib.sha256).hex()}"


async def may_look_after(request: web.Request) -> str | None:
    """Whose usage may be seen: the tenant of one's token, "" for all who may ask here, None for nobody."""
    for tenant, token in request.app[SETTINGS].tenant_tokens:
        if matches_token(_bearer(request), [token]) or await _session_token(request, [token]):
            return tenant
    return "" if await may_ask(request) else None


def is_trusted_local(request: web.Request) -> bool:
    """A caller on this machine, by a name of this machine: another may resolve to it (DNS rebinding)."""
    is_own_host = is_loopback(_parts(f"//{request.host}").hostname or "")
    return request.app[SETTINGS].trusts_this_machine and is_own_host and is_local_peer(request)


async def end_session(request: web.Request) -> None:
    """Whoever has a copy of the cookie has nothing any more. Raises `StoreError`."""
    settings = request.app[SETTINGS]
    session = Session.read(request.cookies.get(COOKIE, ""))
    tokens = [*settings.api_tokens, *(token for _, token in settings.tenant_tokens)]
    if session and await _session_token(request, tokens) is not None:
        await request.app[REVOCATIONS].end_session(session.id, until=datetime.fromtimestamp(session.expiry, UTC))


async def readable_job(request: web.Request) -> ResearchJob:
    """The job of the path. Raises `JobNotFound`: unknown, private, expired and revoked look the same."""
    job = await request.app[RESEARCHER].job(request.match_info["job_id"])
    if is_private(job):
        links = request.app[LINKS]
        revoked_at = await request.app[REVOCATIONS].revoked_at(job.id)
        if not links.allows(job, request.query.get("sig", ""), links.clock(), revoked_at=revoked_at):
            raise JobNotFound(job.id)
    # What surrounds an answer is in its language, as in the chat, whatever the reader's browser prefers.
    request[_SPOKEN].enter_context(speaking(job.request.language, job.intent.language, *_tongues(request)))
    return job


_SPOKEN = web.RequestKey("spoken", ExitStack)  # until the request has its answer
MAX_TONGUES = 20  # of a browser's list; nobody reads more languages


@web.middleware
async def speak(request: web.Request, handler: Handler) -> web.StreamResponse:
    """In the language that the address or the browser asks for (`?lang=de`, Accept-Language); else in English."""
    with ExitStack() as spoken:
        request[_SPOKEN] = spoken
        spoken.enter_context(speaking(*_tongues(request)))
        return await handler(request)


def chosen_tongue(request: web.Request) -> str:
    """What the address says, "" where it says none that is known."""
    return known_language(request.query.get("lang", ""))


def _tongues(request: web.Request) -> list[str]:
    """Best first."""
    weighed: list[tuple[float, str]] = []
    for entry in request.headers.get("Accept-Language", "").split(",")[:MAX_TONGUES]:
        tag, _, weight = (part.strip() for part in entry.partition(";"))
        try:
            weighed.append((-float(weight.removeprefix("q=") or 1), tag))
        except ValueError:
            continue
    return [chosen_tongue(request), *(tag for weight, tag in sorted(weighed, key=itemgetter(0)) if weight < 0)]


def read_number(text: str) -> int | None:
    """Of an address; None for what is none, or has too many digits to be meant."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None


def matches_token(given: str, tokens: Sequence[str]) -> bool:
    return _matching(given, tokens) is not None


def is_own_origin(request: web.Request) -> bool:
    """Browsers name the site that posts; programs send nothing. `null` is a page without a site.

    What counts first is how near the browser says it is (Fetch Metadata), which it says to this machine and over
    https; else the site's name, which a proxy in front knows as the public address.
    """
    nearness = request.headers.get("Sec-Fetch-Site")
    if nearness is not None:
        return nearness in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is None or _parts(origin).netloc in (request.host, _parts(request.app[SETTINGS].public_url).netloc)


def _bearer(request: web.Request) -> str:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _matching(given: str, tokens: Sequence[str], made: Callable[[str], str] = str) -> str | None:
    """The token of which `made` makes what was given; all are looked at, so that time tells nothing."""
    candidate = given.encode("utf-8", "surrogateescape")
    matches = [token for token in tokens if hmac.compare_digest(candidate, made(token).encode())]
    return matches[0] if matches else None


async def _session_token(request: web.Request, tokens: Sequence[str]) -> str | None:
    """The token that the cookie was got with, while its session lasts."""
    cookie = request.cookies.get(COOKIE, "")
    session = Session.read(cookie)
    if session is None or request.app[LINKS].clock().timestamp() >= session.expiry:
        return None
    token = _matching(cookie, tokens, session.made_with)
    if token is None or await request.app[REVOCATIONS].has_ended(session.id):
        return None
    return token


def _parts(address: str) -> SplitResult:
    """Nothing at all of what is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")


# Addresses of a job's pages here; the signature of a private link goes along with each


RENEWAL, RETRY, IMPROVE, FOLLOW_UP = "/refresh", "/retry", "/improve", "/follow-up"  # where research begins, too
_FEW_WORDS = 5  # on each end of a long quote: enough to be found, few enough to survive a changed comma
_LONG_WORDS = 12


@dataclass(frozen=True)
class JobLinks:
    """`sig` is the signature that the reader's own address carries, "" where none is needed."""

    job_id: str
    sig: str = ""

    @property
    def page(self) -> str:
        return self.at("")

    @property
    def still(self) -> str:
        """The page of a running job that does not load itself anew, so that somebody without a script can write."""
        return self.at("", still="1")

    def heard(self, kind: str) -> str:
        """The page after something was said to the job."""
        return self.at("", heard=kind)

    def export(self, form: str) -> str:
        """`form` is one of the kinds of exports.py."""
        return self.at(f"/answer.{form}")

    def source(self, number: int, passage_id: str = "", *, start: int | None = None) -> str:
        """The text of a source, at one of its passages, or from a character on."""
        asked = {"claim": passage_id} if passage_id else {}
        if start is not None:
            return self.at(f"/sources/{number}", **asked, start=str(start))
        return self.at(f"/sources/{number}", **asked) + ("#passage" if passage_id else "")

    def code(self, number: int) -> str:
        """All of an implementation's code."""
        return self.at(f"/code/{number}")

    def picture(self, number: int, passage_id: str) -> str:
        """The page of a paper that a passage stands on, as PNG."""
        return self.at(f"/sources/{number}/page.png", claim=passage_id)

    def paper(self, number: int, page: int | None = None) -> str:
        """The PDF, at a page."""
        return self.at(f"/sources/{number}/paper.pdf") + (f"#page={page}" if page else "")

    def at(self, below: str, **asked: str) -> str:
        """What is `below` the page, as its routes are called."""
        if self.sig:
            asked["sig"] = self.sig
        return f"/jobs/{quote(self.job_id, safe='')}{below}{'?' if asked else ''}{urlencode(asked)}"


def live_link(url: str, passage: str, page: int | None) -> str:
    """The page as it is today, scrolled to the passage where browsers can; "" where `url` may not be a link.

    In a document with pages it is opened at the page; elsewhere by a text fragment
    (wicg.github.io/scroll-to-text-fragment), in which `-` and `,` are syntax.
    """
    address = safe_link(url)
    words = passage.split()
    if not address or not words:
        return address
    if page is not None:
        return f"{address.partition('#')[0]}#page={page}"
    is_long = len(words) > _LONG_WORDS or (len(words) > 1 and "\n" in passage.strip())  # one end cannot span blocks
    few = min(_FEW_WORDS, len(words) // 2)
    ends = [words[:few], words[-few:]] if is_long else [words]
    fragment = ",".join(quote(" ".join(end), safe="").replace("-", "%2D") for end in ends)
    return f"{address}{'' if '#' in address else '#'}:~:text={fragment}"


# The cookie that a browser gets for an API token, so that a person can ask on the page


SESSION_LIFE = timedelta(days=30)


def add_sign_in_routes(app: web.Application) -> None:
    app.router.add_get("/sign-in", get_sign_in)
    app.router.add_post("/sign-in", post_sign_in)
    app.router.add_post("/sign-out", post_sign_out)


async def get_sign_in(request: web.Request) -> web.Response:
    return _page(request, refusal="")


async def post_sign_in(request: web.Request) -> web.Response:
    """With a cookie to the page to ask, or to a tenant's usage; back to the form for what is no token."""
    if not is_own_origin(request):
        raise Forbidden
    settings, form = request.app[SETTINGS], await request.post()
    token = str(form.get("token", "")).strip()
    is_of_tenant = matches_token(token, [own for _, own in settings.tenant_tokens])
    if not is_of_tenant and not matches_token(token, settings.api_tokens):
        return _page(request, refusal=say("That is not one of this server's tokens."))
    expires_at = request.app[LINKS].clock() + SESSION_LIFE
    response = web.Response(status=303, headers={"Location": "/admin" if is_of_tenant else "/"})
    response.set_cookie(
        COOKIE,
        Session(secrets.token_hex(16), int(expires_at.timestamp())).made_with(token),
        max_age=int(SESSION_LIFE.total_seconds()),
        httponly=True,
        secure=settings.public_url.startswith("https:"),
        samesite="Lax",  # a link in a chat opens the page as who one is; asking also takes our own origin
    )
    return response


async def post_sign_out(request: web.Request) -> web.Response:
    if not is_own_origin(request):
        raise Forbidden
    await end_session(request)
    response = web.Response(status=303, headers={"Location": "/"})
    response.del_cookie(COOKIE, httponly=True, samesite="Lax")
    return response


def _page(request: web.Request, *, refusal: str) -> web.Response:
    context = {"refusal": refusal, "has_session": COOKIE in request.cookies}
    return page("sign_in.html", request, context, status=401 if refusal else 200)
