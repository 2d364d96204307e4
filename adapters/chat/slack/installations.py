"""The workspaces that have installed the app: slack_sdk's installation store on our records, with tokens kept fresh.

Which token belongs to a team is read from the records with every event, so that an installation or its end counts
in all processes at once; Slack itself is asked for nothing before an acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError, SlackTokenRotationError
from slack_sdk.oauth.installation_store import Bot, Installation
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.reply import best_effort
from adapters.chat.slack.administering import welcome
from adapters.chat.slack.client import FAULTS, NotInstalled, SlackClient, StreamGate, Workspace, reason, web_client
from adapters.chat.slack.settings import SCOPES, SlackSettings
from adapters.chat.slack.translate import Payload, tenant_of
from core.model.errors import GorkdError, StoreError
from core.model.ports import Turns
from core.presentation import wording
from core.tenancy.forgetting import AppTenants, Leaving, Tenancy
from core.text.saying import say
from core.watch.desk import WatchDesk

REFRESH_BEFORE_MIN = 120  # a token lives for 12 h (docs.slack.dev, token rotation); a long job ends before it lapses
TURN = timedelta(minutes=5)  # longer than a refresh may take with all its waiting; the old token still works meanwhile
WAIT_S = 10.0  # for another process that refreshes a token which has lapsed
REST_S = 60.0  # after a refresh that Slack refused
_PAUSE_S = 0.1

_log = logging.getLogger(__name__)


class Installations(AsyncInstallationStore, AsyncOAuthStateStore):
    """What Bolt keeps, on our records: one bot a workspace, and the states of browsers that install. No user tokens and
    no organisations: whoever saves one has refused them before.
    """

    def __init__(self, tenants: AppTenants) -> None:
        self._tenants = tenants

    @property
    def logger(self) -> logging.Logger:
        return _log

    async def async_save_bot(self, bot: Bot) -> None:
        await self._tenants.put_token(tenant_of(bot.team_id or ""), json.dumps(vars(bot)))

    async def async_find_bot(
        self, *, enterprise_id: str | None, team_id: str | None, is_enterprise_install: bool | None = False
    ) -> Bot | None:
        text = await self._tenants.token(tenant_of(team_id or ""))
        try:
            return Bot(**json.loads(text)) if text else None
        except (TypeError, ValueError) as exc:
            raise StoreError(f"the installation of {team_id} cannot be read: {type(exc).__name__}") from exc

    async def of(self, team_id: str) -> Bot:
        """Raises `NotInstalled`, `StoreError`."""
        bot = await self.async_find_bot(enterprise_id=None, team_id=team_id)
        if bot is None:
            raise NotInstalled(team_id)
        return bot

    async def async_issue(self, *args: object, **kwargs: object) -> str:
        state = secrets.token_urlsafe(32)
        await self._tenants.issue(state, ttl=STATE_LIFE)
        return state

    async def async_consume(self, state: str) -> bool:
        return await self._tenants.redeem(state)


class InstalledWorkspaces:
    """`Workspaces` of every team that has installed the app. Leave with `aclose`."""

    def __init__(
        self,
        installations: Installations,
        turns: Turns,
        rotator: AsyncTokenRotator,
        client_of: Callable[[str], SlackClient],
        *,
        may_stream: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._installations, self._turns, self._rotator = installations, turns, rotator
        self._client_of, self._clock = client_of, clock
        self._may_stream = may_stream
        self._streams: dict[str, StreamGate] = {}
        self._refreshing: dict[str, asyncio.Task[Bot]] = {}
        self._resting: dict[str, float] = {}

    async def find(self, team_id: str, *, is_hurried: bool = False) -> Workspace:
        """Raises `NotInstalled`, `StoreError`."""
        bot = await self._installations.of(team_id)
        left_s = self._left_s(bot)
        if left_s <= REFRESH_BEFORE_MIN * 60 and self._resting.get(team_id, 0.0) <= self._clock():
            refreshing = self._refresh(team_id)
            if left_s <= 0 and not is_hurried:  # else the old token serves until the new one is there
                bot = await asyncio.shield(refreshing)
        streams = self._streams.setdefault(team_id, StreamGate()) if self._may_stream else None
        return Workspace(team_id, bot.bot_id, bot.bot_user_id, self._client_of(bot.bot_token), streams)

    async def aclose(self) -> None:
        """Let refreshes end: a refresh token that was used without keeping what came back is lost."""
        await asyncio.gather(*self._refreshing.values(), return_exceptions=True)

    def _left_s(self, bot: Bot) -> float:
        expires_at = bot.bot_token_expires_at
        return float("inf") if expires_at is None else expires_at - self._clock()

    def _refresh(self, team_id: str) -> asyncio.Task[Bot]:
        """One at a time in this process; `_rotated` sees to the others."""
        if team_id not in self._refreshing:
            task = asyncio.create_task(self._rotated(team_id), name=f"slack token {team_id}")
            self._refreshing[team_id] = task
            task.add_done_callback(lambda done: self._ended(team_id, done))
        return self._refreshing[team_id]

    def _ended(self, team_id: str, task: asyncio.Task[Bot]) -> None:
        self._refreshing.pop(team_id, None)
        if not task.cancelled() and (error := task.exception()):
            _log.warning("token not refreshed", extra={"team": team_id, "error": str(error)})

    async def _rotated(self, team_id: str) -> Bot:
        """The installation with a fresh token, whichever process refreshed it; as it was where none could."""
        turn, holder, waited_s = f"token:{tenant_of(team_id)}", secrets.token_hex(8), 0.0
        while not await self._turns.take(turn, holder, ttl=TURN):
            bot = await self._installations.of(team_id)
            if self._left_s(bot) > REFRESH_BEFORE_MIN * 60 or waited_s >= WAIT_S:
                return bot
            waited_s += _PAUSE_S
            await asyncio.sleep(_PAUSE_S)
        try:
            bot = await self._installations.of(team_id)  # another process may just have done it
            fresh = await self._rotator.perform_bot_token_rotation(
                bot=bot, minutes_before_expiration=REFRESH_BEFORE_MIN
            )
            if fresh is not None:
                await self._installations.async_save_bot(fresh)
                _log.info("token refreshed", extra={"team": team_id})
            return fresh or bot
        except (SlackTokenRotationError, *FAULTS) as exc:
            self._resting[team_id] = self._clock() + REST_S
            refused = exc.api_error if isinstance(exc, SlackTokenRotationError) else exc
            _log.warning("Slack gave no fresh token", extra={"team": team_id, "reason": reason(refused)})
            return bot
        finally:
            with best_effort(_log.warning, "turn not given back", turn=turn):
                await self._turns.give_back(turn, holder)


async def hear_departure(body: Payload, tenancy: Tenancy) -> None:
    """`app_uninstalled`, or `tokens_revoked`, which counts where it is the bot's. Returns when it is noted.

    One that was sent before the app was installed again (Slack repeats what nobody acknowledged) says nothing any
    more: installing has erased what was there before. Raises `StoreError`.
    """
    event, team_id = body.get("event") or {}, str(body.get("team_id") or "")
    is_of_bot = event.get("type") != "tokens_revoked" or bool((event.get("tokens") or {}).get("bot"))
    if not team_id or not is_of_bot:
        return
    installations = Installations(tenancy.tenants)
    known = await installations.async_find_bot(enterprise_id=None, team_id=team_id)
    if known is not None and int(known.installed_at) > int(body.get("event_time") or 0):
        _log.info("the end of an earlier installation", extra={"team": team_id})
        return
    await tenancy.leaving.leave(tenant_of(team_id))
    await tenancy.tenants.erase_token(tenant_of(team_id))


LEAVING = ("channel_archive", "channel_deleted", "channel_left", "member_left_channel", "user_change")


async def hear_leaving(body: Payload, watching: WatchDesk) -> None:
    """A channel is gone, or nothing for us any more, or a person has gone: their watches end. Raises `StoreError`.

    Of private channels Slack tells only apps with `groups:read`: there the first message that fails ends them.
    """
    event, tenant = body.get("event") or {}, tenant_of(str(body.get("team_id") or ""))
    user, channel = event.get("user"), str(event.get("channel") or "")
    if event.get("type") == "user_change":
        if isinstance(user, dict) and user.get("deleted") is True:
            await watching.person_left(tenant, str(user.get("id") or ""))
        return
    own = {str(one.get("user_id")) for one in body.get("authorizations") or () if one.get("is_bot")}
    is_person = event.get("type") == "member_left_channel" and user not in own
    if channel:
        await watching.place_closed(tenant, channel, asker=str(user or "") if is_person else "")


# Installing the app from a browser: `/slack/install`, and where Slack sends the browser back to


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


# The web's page for a few sentences: a title, what it says, and a link's address and label.
ShowPage = Callable[[web.Request, str, Sequence[str], tuple[str, str]], str]


class OrganisationRefused(BoltError):
    """Somebody has installed the app for a whole Enterprise organisation."""


@dataclass(frozen=True)
class InstallPage:
    """Draws pages for one request. Bolt hands it from the route to what ends the flow."""

    request: web.Request
    show: ShowPage

    def answer(self, title: str, *says: str, link: tuple[str, str], status: int = 200) -> BoltResponse:
        html = self.show(self.request, title, says, link)
        headers: dict[str, str | Sequence[str]] = {"Content-Type": "text/html; charset=utf-8"}
        return BoltResponse(status=status, body=html, headers=headers)

    def refusal(self, sentence: str, *, status: int) -> BoltResponse:
        return self.answer(say("Not installed"), sentence, link=(INSTALL, say("Begin again")), status=status)


class InstallFlow(AsyncOAuthFlow):
    """Bolt's flow, for single workspaces, which begins anew with a workspace that had removed the app."""

    def __init__(self, settings: SlackSettings, tenancy: Tenancy, client: AsyncWebClient, *, public_url: str) -> None:
        self._installations = Installations(tenancy.tenants)
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
            state_store=self._installations,
            state_cookie_name=COOKIE,
            state_expiration_seconds=int(STATE_LIFE.total_seconds()),
            callback_options=AsyncCallbackOptions(success=_succeeded, failure=_failed),
        )
        super().__init__(client=client, logger=_log, settings=flow)

    async def build_install_page_html(self, url: str, request: AsyncBoltRequest) -> str:
        page = _page_of(request)
        says = (say(wording.WHAT_IT_IS), say(ASKS_FOR), say(PRIVACY))
        return page.show(page.request, say("Add gorkd to Slack"), says, (url, say("Add to Slack")))

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        """Raises `BoltError`, caused by what of ours went wrong."""
        token = installation.bot_token or ""
        if installation.is_enterprise_install or not installation.team_id:
            with best_effort(_log.warning, "an organisation's token is not given back", of=FAULTS, why=reason):
                await self._client_of(token).auth_revoke()
            raise OrganisationRefused("an organisation as a whole")
        try:
            await self._begin_anew(installation.team_id)
            await self._installations.async_save_bot(installation.to_bot())
        except GorkdError as exc:
            raise BoltError(str(exc)) from exc
        _log.info("installed", extra={"team": installation.team_id})
        key = f"{installation.team_id}:{installation.installed_at}"
        await welcome(self._client_of(token), installation.user_id, key)

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
    name = args.installation.team_name or say("your workspace")
    told = say("gorkd is in {workspace} now. The first steps are in its direct message to you.", workspace=name)
    link = (f"https://app.slack.com/client/{team}" if team.isalnum() else "https://app.slack.com/", say("Open Slack"))
    response = _page_of(args.request).answer(say("Installed"), told, link=link)
    return _without_state(response, args.settings)


async def _failed(args: AsyncFailureArgs) -> BoltResponse:
    """`reason` comes from the address in part, so only what is known is answered to."""
    page, status = _page_of(args.request), args.suggested_status_code
    _log.info("not installed", extra={"reason": args.reason if args.reason in _SENTENCES else "other"})
    cause = args.error.__cause__ if args.error else None
    if isinstance(args.error, OrganisationRefused):
        response = page.refusal(say(NO_ORGANISATION), status=403)
    elif isinstance(cause, GorkdError):
        response = page.refusal(cause.user_message, status=503)
    else:
        response = page.refusal(say(_SENTENCES.get(args.reason, NO_CODE)), status=status)
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
    return AsyncBoltRequest(
        body="", query=request.query_string, headers=headers, context={"page": InstallPage(request, show)}
    )


def _page_of(request: AsyncBoltRequest) -> InstallPage:
    page: InstallPage = request.context["page"]
    return page


async def _answered(response: BoltResponse) -> web.Response:
    """The cookie follows Slack's redirect and no other site's request."""
    answered = await to_aiohttp_response(response)
    if COOKIE in answered.cookies:
        answered.cookies[COOKIE]["samesite"] = "Lax"
    answered.headers["Cache-Control"] = "no-store"
    return answered
