"""The cookie that a browser gets for an API token, so that a person can ask on the page.

The cookie holds no token: it is an expiry, a random id and their HMAC under the token. Taking a token out of the
settings ends its sessions; signing out ends one, wherever its cookie was copied to.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

import aiohttp_jinja2
from aiohttp import web

from adapters.web.access import COOKIE, LINKS, SETTINGS, Session, end_session, is_own_origin, matches_token
from adapters.web.faults import Forbidden

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
        return _page(request, refusal="That is not one of this server's tokens.")
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
    status = 401 if refusal else 200
    context = {"refusal": refusal, "has_session": COOKIE in request.cookies}
    page = aiohttp_jinja2.render_template("sign_in.html", request, context, status=status)
    page.headers["Cache-Control"] = "no-store"
    return page
