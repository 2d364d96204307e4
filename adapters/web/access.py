"""Who may ask and who may read.

Asking costs money: it takes a bearer token or the cookie got with one, or a browser or program on this
very machine. Reading takes the job's id, and a signature where the job is not for the whole workspace.
"""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web

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

_FORWARDING_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "CF-Connecting-IP", "Via")


def may_ask(request: web.Request, settings: WebSettings) -> bool:
    """A token, or a loopback peer that no proxy stands in front of and no other site speaks through."""
    if has_token(request, settings.api_tokens):
        return True
    return is_local_peer(request) and _is_own_host(request, settings) and is_own_origin(request)


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


def has_token(request: web.Request, tokens: tuple[str, ...]) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    candidate = given.strip().encode("utf-8", "surrogateescape")
    matches = [hmac.compare_digest(candidate, token.encode()) for token in tokens]  # all, so that time tells nothing
    return any(matches)


def is_local_peer(request: web.Request) -> bool:
    """This very machine, and nobody behind a proxy on it."""
    if any(header in request.headers for header in _FORWARDING_HEADERS):
        return False
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return isinstance(peer, tuple) and _is_loopback(str(peer[0]))


def is_own_origin(request: web.Request) -> bool:
    """Browsers name the site that posts; programs send nothing. `null` is a page without a site.

    A page that sends no referrer has the origin `null` as well; then what counts is how near the
    browser says it is (Fetch Metadata), which it says to this machine and over https.
    """
    nearness = request.headers.get("Sec-Fetch-Site")
    if nearness is not None:
        return nearness in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.host


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _is_own_host(request: web.Request, settings: WebSettings) -> bool:
    """A foreign name that resolves to this machine is another site's trick (DNS rebinding)."""
    named = urlsplit(f"//{request.host}").hostname or ""
    return _is_loopback(named) or named == urlsplit(settings.public_url).hostname
