"""Who may ask and who may read.

Asking costs money: it takes a bearer token or the cookie got with one, or a browser or program on this
very machine. Reading takes the job's id, and a signature where the job is not for the whole workspace.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from aiohttp import web

from adapters.web.peers import is_local_peer, is_loopback
from adapters.web.settings import WebSettings
from core.errors import JobNotFound
from core.job import ResearchJob
from core.page_links import LinkRevocations, PageLinks, is_private

if TYPE_CHECKING:
    from core.researcher import Researcher

RESEARCHER: web.AppKey[Researcher] = web.AppKey("researcher")
SETTINGS = web.AppKey("settings", WebSettings)
LINKS = web.AppKey("links", PageLinks)
REVOCATIONS: web.AppKey[LinkRevocations] = web.AppKey("revocations")
COOKIE = "gorkd_session"


def may_ask(request: web.Request) -> bool:
    """A token or its cookie, or a loopback peer that no proxy stands in front of and no other site speaks through."""
    tokens = request.app[SETTINGS].api_tokens
    if matches_token(_bearer(request), tokens):
        return True
    if request.method == "POST" and not is_own_origin(request):  # a link from elsewhere may lead here, a form may not
        return False
    return _has_session(request, tokens) or (is_local_peer(request) and _is_own_host(request))


def may_look_after(request: web.Request) -> str | None:
    """Whose usage may be seen: the tenant of one's token, "" for all who may ask here, None for nobody."""
    for tenant, token in request.app[SETTINGS].tenant_tokens:
        if matches_token(_bearer(request), [token]) or _has_session(request, [token]):
            return tenant
    return "" if may_ask(request) else None


async def readable_job(request: web.Request) -> ResearchJob:
    """The job of the path. Raises `JobNotFound`: unknown, private, expired and revoked look the same."""
    job = await request.app[RESEARCHER].job(request.match_info["job_id"])
    if not is_private(job):
        return job
    links = request.app[LINKS]
    revoked_at = await request.app[REVOCATIONS].revoked_at(job.id)
    if not links.allows(job, request.query.get("sig", ""), links.clock(), revoked_at=revoked_at):
        raise JobNotFound(job.id)
    return job


def matches_token(given: str, tokens: Sequence[str]) -> bool:
    candidate = given.encode("utf-8", "surrogateescape")
    matches = [hmac.compare_digest(candidate, token.encode()) for token in tokens]  # all, so that time tells nothing
    return any(matches)


def session_of(token: str, *, expiry: int) -> str:
    """What the cookie holds for a token: no token, and nothing that outlives it. `expiry` is Unix time."""
    mac = hmac.digest(token.encode(), f"gorkd session until {expiry}".encode(), hashlib.sha256)
    return f"{expiry}-{mac.hex()}"


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


def _has_session(request: web.Request, tokens: Sequence[str]) -> bool:
    given = request.cookies.get(COOKIE, "")
    digits = given.partition("-")[0]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 11):
        return False
    expiry = int(digits)
    is_current = request.app[LINKS].clock().timestamp() < expiry
    return is_current and matches_token(given, [session_of(token, expiry=expiry) for token in tokens])


def _is_own_host(request: web.Request) -> bool:
    """A foreign name that resolves to this machine is another site's trick (DNS rebinding)."""
    named = _parts(f"//{request.host}").hostname or ""
    return is_loopback(named) or named == _parts(request.app[SETTINGS].public_url).hostname


def _parts(address: str) -> SplitResult:
    """Nothing at all of what is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")
