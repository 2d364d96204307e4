"""Installing the app from a browser: `/slack/install`, and where Slack sends the browser back to.

The flow is Bolt's; the pages are the web's; states and tokens go into our records. An organisation as a whole is
refused, and its token given back.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.slack.client import FAULTS, reason, web_client
from adapters.chat.slack.home import welcome
from adapters.chat.slack.installations import Installations
from adapters.chat.slack.settings import SCOPES, SlackSettings
from adapters.chat.slack.translate import tenant_of
from core.departures import Leaving, Tenancy
from core.errors import GorkdError
from core.ports import OneTimeStates
from core.presentation import wording

INSTALL, REDIRECT = "/slack/install", "/slack/oauth_redirect"
STATE_LIFE = timedelta(minutes=10)  # as long as Bolt's cookie
COOKIE = "gorkd-slack-install"
DEAD = frozenset({"account_inactive", "token_revoked", "invalid_auth"})  # what a removed app's token is told
PRIVACY = (
    "It answers what mentions it, what is written to it directly, and replies in its threads. Removing the app deletes "
    "everything that was kept of the workspace."
)
ASKS_FOR = "Slack will show what gorkd may do and ask you to allow it."
DECLINED = "The request was declined in Slack, so nothing was installed."
NO_STATE = (
    "This page was opened a second time, after more than ten minutes, or in another browser than the one that began. "
    "Nothing was installed by it. Where gorkd has written to you already, all is well; otherwise please begin again."
)
NO_CODE = "Slack did not confirm the installation, so nothing was installed; please begin again."
NO_ORGANISATION = (
    "gorkd is installed in single workspaces, not in a whole organisation, so nothing was installed. Please begin "
    "again and choose one workspace."
)
UNREACHABLE = "Slack cannot be reached just now, so nothing was installed; please try again in a minute."

_log = logging.getLogger(__name__)


class ShowPage(Protocol):
    """The web's page for a few sentences; `link` is an address and its label."""

    def __call__(self, request: web.Request, *, title: str, says: Sequence[str], link: tuple[str, str]) -> str: ...


class OrganisationRefused(BoltError):
    """Somebody has installed the app for a whole Enterprise organisation."""


class BrowserStates(AsyncOAuthStateStore):
    """Bolt's states on our records."""

    def __init__(self, states: OneTimeStates) -> None:
        self._states = states

    @property
    def logger(self) -> logging.Logger:
        return _log

    async def async_issue(self, *args: object, **kwargs: object) -> str:
        state = secrets.token_urlsafe(32)
        await self._states.issue(state, ttl=STATE_LIFE)
        return state

    async def async_consume(self, state: str) -> bool:
        return await self._states.redeem(state)


@dataclass(frozen=True)
class Page:
    """Draws pages for one request. Bolt hands it from the route to what ends the flow."""

    request: web.Request
    show: ShowPage

    def answer(self, title: str, *says: str, link: tuple[str, str], status: int = 200) -> BoltResponse:
        html = self.show(self.request, title=title, says=says, link=link)
        headers: dict[str, str | Sequence[str]] = {"Content-Type": "text/html; charset=utf-8"}
        return BoltResponse(status=status, body=html, headers=headers)

    def refusal(self, sentence: str, *, status: int) -> BoltResponse:
        return self.answer("Not installed", sentence, link=(INSTALL, "Begin again"), status=status)


class InstallFlow(AsyncOAuthFlow):
    """Bolt's flow, for single workspaces, which begins anew with a workspace that had removed the app."""

    def __init__(self, settings: SlackSettings, tenancy: Tenancy, client: AsyncWebClient, *, public_url: str) -> None:
        self._installations = Installations(tenancy.tokens)
        self._leaving: Leaving = tenancy.leaving
        self._api_url = settings.api_url
        flow = AsyncOAuthSettings(
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            scopes=SCOPES,
            user_scopes=(),
            redirect_uri=f"{public_url.rstrip('/')}{REDIRECT}",
            install_path=INSTALL,
            redirect_uri_path=REDIRECT,
            authorization_url=settings.authorize_url,
            installation_store=self._installations,
            installation_store_bot_only=True,
            state_store=BrowserStates(tenancy.states),
            state_cookie_name=COOKIE,
            state_expiration_seconds=int(STATE_LIFE.total_seconds()),
            callback_options=AsyncCallbackOptions(success=_succeeded, failure=_failed),
        )
        super().__init__(client=client, logger=_log, settings=flow)

    async def build_install_page_html(self, url: str, request: AsyncBoltRequest) -> str:
        page = _page_of(request)
        says = (wording.WHAT_IT_IS, ASKS_FOR, PRIVACY)
        return page.show(page.request, title="Add gorkd to Slack", says=says, link=(url, "Add to Slack"))

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        """Raises `BoltError`, caused by what of ours went wrong."""
        token = installation.bot_token or ""
        if installation.is_enterprise_install or not installation.team_id:
            await self._give_back(token)
            raise OrganisationRefused("an organisation as a whole")
        try:
            await self._begin_anew(installation.team_id)
            await self._installations.async_save(installation)
        except GorkdError as exc:
            raise BoltError(str(exc)) from exc
        _log.info("installed", extra={"team": installation.team_id})
        await welcome(
            self._client_of(token), installation.user_id, f"{installation.team_id}:{installation.installed_at}"
        )

    async def _begin_anew(self, team_id: str) -> None:
        """Nothing of an earlier installation stays, also when nobody heard of its end. Raises `GorkdError`."""
        known = await self._installations.async_find_bot(enterprise_id=None, team_id=team_id)
        if known is not None and await self._is_dead(known.bot_token):
            await self._leaving.leave(tenant_of(team_id))
        await self._leaving.settle(tenant_of(team_id))

    async def _is_dead(self, token: str) -> bool:
        try:
            await self._client_of(token).auth_test()
        except SlackApiError as exc:
            return reason(exc) in DEAD
        return False

    async def _give_back(self, token: str) -> None:
        try:
            await self._client_of(token).auth_revoke()
        except FAULTS as exc:
            _log.warning("an organisation's token is not given back", extra={"reason": reason(exc)})

    def _client_of(self, token: str) -> AsyncWebClient:
        return web_client(token, session=self.client.session, api_url=self._api_url)


def add_install_routes(app: web.Application, flow: InstallFlow, show: ShowPage) -> None:
    """Serve `INSTALL` and `REDIRECT`."""

    async def install(request: web.Request) -> web.Response:
        return await _answered(await flow.handle_installation(_bolt_request(request, show)))

    async def redirected(request: web.Request) -> web.Response:
        asked = _bolt_request(request, show)
        try:
            return await _answered(await flow.handle_callback(asked))
        except FAULTS as exc:
            _log.warning("installation failed", extra={"reason": reason(exc)})
            return await _answered(_page_of(asked).refusal(UNREACHABLE, status=502))

    app.router.add_get(INSTALL, install)
    app.router.add_get(REDIRECT, redirected)


async def _succeeded(args: AsyncSuccessArgs) -> BoltResponse:
    team = args.installation.team_id or ""
    name = args.installation.team_name or "your workspace"
    told = "The first steps are in its direct message to you."
    link = (f"https://app.slack.com/client/{team}" if team.isalnum() else "https://app.slack.com/", "Open Slack")
    response = _page_of(args.request).answer("Installed", f"gorkd is in {name} now. {told}", link=link)
    return _without_state(response, args.settings)


async def _failed(args: AsyncFailureArgs) -> BoltResponse:
    """`reason` comes from the address in part, so only what is known is answered to."""
    page, status = _page_of(args.request), args.suggested_status_code
    _log.info("not installed", extra={"reason": args.reason if args.reason in _SENTENCES else "other"})
    cause = args.error.__cause__ if args.error else None
    if isinstance(args.error, OrganisationRefused):
        response = page.refusal(NO_ORGANISATION, status=403)
    elif isinstance(cause, GorkdError):
        response = page.refusal(cause.user_message, status=503)
    else:
        response = page.refusal(_SENTENCES.get(args.reason, NO_CODE), status=status)
    return _without_state(response, args.settings)


_SENTENCES: Mapping[str, str] = {
    "access_denied": DECLINED,
    "invalid_browser": NO_STATE,
    "invalid_state": NO_STATE,
    "missing_code": NO_CODE,
    "invalid_code": NO_CODE,
}


def _without_state(response: BoltResponse, settings: AsyncOAuthSettings) -> BoltResponse:
    response.headers["set-cookie"] = [settings.state_utils.build_set_cookie_for_deletion()]
    return response


def _bolt_request(request: web.Request, show: ShowPage) -> AsyncBoltRequest:
    headers: dict[str, str | Sequence[str]] = dict(request.headers)
    return AsyncBoltRequest(body="", query=request.query_string, headers=headers, context={"page": Page(request, show)})


def _page_of(request: AsyncBoltRequest) -> Page:
    page: Page = request.context["page"]
    return page


async def _answered(response: BoltResponse) -> web.Response:
    """The cookie follows Slack's redirect and no other site's request."""
    answered = await to_aiohttp_response(response)
    if COOKIE in answered.cookies:
        answered.cookies[COOKIE]["samesite"] = "Lax"
    answered.headers["Cache-Control"] = "no-store"
    return answered
