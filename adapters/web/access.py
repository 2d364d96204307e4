"""Who may ask and who may read.

Asking costs money: it takes a bearer token, or a browser or program on this very machine. Reading
takes the job's id, and for now only jobs that the whole workspace may see have a page.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from aiohttp import web

from adapters.web.settings import WebSettings
from core.errors import JobNotFound
from core.job import ResearchJob

_FORWARDING_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "CF-Connecting-IP", "Via")


def may_ask(request: web.Request, settings: WebSettings) -> bool:
    """A token, or a loopback peer that no proxy stands in front of and no other site speaks through."""
    if _has_token(request, settings.api_tokens):
        return True
    return _is_local_peer(request) and _is_own_host(request, settings) and _is_own_origin(request)


def require_readable(job: ResearchJob) -> None:
    """Raises `JobNotFound`: private, unknown and expired look the same."""
    if job.scope.visibility != "workspace":
        raise JobNotFound(job.id)


def _has_token(request: web.Request, tokens: tuple[str, ...]) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    candidate = given.strip().encode("utf-8", "surrogateescape")
    matches = [hmac.compare_digest(candidate, token.encode()) for token in tokens]  # all, so that time tells nothing
    return any(matches)


def _is_local_peer(request: web.Request) -> bool:
    if any(header in request.headers for header in _FORWARDING_HEADERS):
        return False
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return isinstance(peer, tuple) and _is_loopback(str(peer[0]))


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


def _is_own_origin(request: web.Request) -> bool:
    """Browsers name the site that posts; programs send nothing. `null` is a page without a site."""
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.host
