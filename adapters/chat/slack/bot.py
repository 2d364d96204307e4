"""The Slack app: hands what Slack sends to the desk and the buttons, and acknowledges it.

Whatever asks a question is stored before the acknowledgement; the same listeners serve Socket Mode and HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.logger import messages
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.connecting import ChatDeps, PlatformAway, keep_resuming, keep_trying, run_by_itself
from adapters.chat.reply import ended_with_block
from adapters.chat.slack.administering import OPEN_SETTINGS, SETTINGS, Home
from adapters.chat.slack.buttons import ASK_FORM, FEEDBACK, SHARING, AskForm, Buttons
from adapters.chat.slack.buttons import WISH as ANSWER_WISH
from adapters.chat.slack.client import (
    API_TIMEOUT_S,
    FAULTS,
    REFUSED,
    NotInstalled,
    OneWorkspace,
    StreamGate,
    TokenRefused,
    Workspaces,
    reason,
    web_client,
)
from adapters.chat.slack.inbox import Letter
from adapters.chat.slack.incoming import SECTION_COMMAND, SECTION_FORM, Entrance, Sections
from adapters.chat.slack.installations import (
    LEAVING,
    Installations,
    InstalledWorkspaces,
    InstallFlow,
    ShowPage,
    add_install_routes,
    hear_departure,
    hear_leaving,
)
from adapters.chat.slack.library import ASK, IMPROVE, OPEN, PAPER, SAVE, WISH, SlackLibrary
from adapters.chat.slack.poster import as_json, suggest_prompts
from adapters.chat.slack.settings import SlackSettings
from adapters.chat.slack.translate import id_of, tenant_of
from adapters.proxies import DIRECT, Proxies
from core.model.errors import SetupError, StoreError
from core.presentation.page_links import PageLinks
from core.tenancy.forgetting import AppTenants, Tenancy
from core.text.saying import speak

ANY = re.compile(".*")
Body = dict[str, Any]  # Slack's JSON
Ack = Callable[..., Awaitable[Any]]
Next = Callable[[], Awaitable[None]]

_log = logging.getLogger(__name__)


async def run_slack(deps: ChatDeps, settings: SlackSettings) -> None:
    """Run in Socket Mode until cancelled. Raises `SetupError` when Slack refuses a token."""
    if not settings.is_socket_mode:
        raise SetupError("Without SLACK_APP_TOKEN Slack sends its events to the web process: run `gorkd web`.")
    async with open_app(deps, settings) as (app, workspaces):
        await keep_trying("Slack", partial(_check_tokens, app.client, workspaces, settings))
        await keep_connected(app, settings.app_token, proxies=settings.proxies)


async def _check_tokens(client: AsyncWebClient, workspaces: Workspaces, settings: SlackSettings) -> None:
    """Raises `SetupError` for a token that Slack refuses, `PlatformAway` while it says nothing of them."""
    try:
        if not settings.is_installable:
            await workspaces.find("")
        if settings.is_socket_mode:
            await client.apps_connections_open(app_token=settings.app_token)  # the SDK tries a refused one for ever
    except TokenRefused as refusal:
        raise SetupError(str(refusal)) from refusal
    except FAULTS as exc:
        if reason(exc) in REFUSED:
            raise SetupError(f"Slack refused SLACK_APP_TOKEN: {reason(exc)}.") from exc
        raise PlatformAway(reason(exc)) from exc


@asynccontextmanager
async def open_app(deps: ChatDeps, settings: SlackSettings) -> AsyncIterator[tuple[AsyncApp, Workspaces]]:
    """The app with its listeners; while it is open, answers that still wait are followed.

    Slack may be away meanwhile, and is asked for nothing before it is needed.
    """
    async with (
        ClientSession(timeout=ClientTimeout(total=API_TIMEOUT_S)) as session,
        aclosing(_workspaces_of(settings, deps.tenancy, session)) as workspaces,
    ):
        desk = Entrance(deps, workspaces)
        home = Home(deps.researcher, deps.links, desk.threads.people)
        client = web_client(settings.bot_token, session=session, api_url=settings.api_url, proxies=settings.proxies)
        try:
            async with ended_with_block(keep_resuming(desk.resume)), ended_with_block(desk.taking_away.run()):
                yield build_app(desk, client, home, deps.tenancy), workspaces
        finally:
            await desk.inbox.aclose()
            await asyncio.gather(desk.live.aclose(), desk.library.live.aclose())


def _workspaces_of(
    settings: SlackSettings, tenancy: Tenancy, session: ClientSession
) -> OneWorkspace | InstalledWorkspaces:
    """All that have installed the app, or the one of the bot's token."""
    client_of = partial(web_client, session=session, api_url=settings.api_url, proxies=settings.proxies)
    if not settings.is_installable:
        return OneWorkspace(client_of(settings.bot_token), StreamGate() if settings.streams else None)
    rotator = AsyncTokenRotator(
        client_id=settings.client_id, client_secret=settings.client_secret, client=client_of("")
    )
    return InstalledWorkspaces(
        Installations(tenancy.tenants), tenancy.turns, rotator, client_of, may_stream=settings.streams
    )


@asynccontextmanager
async def serve_events(app: web.Application, deps: ChatDeps, settings: SlackSettings) -> AsyncIterator[None]:
    """HTTP mode: take Slack's requests in the web process, within the block, whether or not Slack is there yet."""
    async with open_app(deps, settings) as (bolt, workspaces):
        add_events_route(app, bolt, settings.signing_secret, deps.tenancy.tenants)
        check = partial(keep_trying, "Slack", partial(_check_tokens, bolt.client, workspaces, settings))
        async with ended_with_block(run_by_itself("Slack", check), "slack tokens"):
            yield


@asynccontextmanager
async def serve_installing(
    app: web.Application, settings: SlackSettings, show: ShowPage, *, links: PageLinks, tenancy: Tenancy
) -> AsyncIterator[None]:
    """Let workspaces install the app through the web process, within the block."""
    async with ClientSession(timeout=ClientTimeout(total=API_TIMEOUT_S)) as session:
        client = web_client("", session=session, api_url=settings.api_url, proxies=settings.proxies)
        add_install_routes(app, InstallFlow(settings, tenancy, client, public_url=links.public_url), show)
        yield


def build_app(desk: Entrance, client: AsyncWebClient, home: Home, tenancy: Tenancy) -> AsyncApp:
    """The listeners, on whatever brings the events: signatures are checked below."""
    logging.getLogger("slack_bolt.AsyncApp").addFilter(_is_news)
    app = AsyncApp(
        name="gorkd",
        client=client,
        authorize=_authorizer(desk.workspaces),  # type: ignore[arg-type]  # bolt itself takes None: not installed
        user_facing_authorize_error_message=NotInstalled("").user_message,
        request_verification_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    _add_tongues(app, desk)
    _add_events(app, desk, home, tenancy)
    _add_commands(app, desk)
    _add_buttons(app, Buttons(desk))
    _add_settings(app, desk)
    _add_library(app, desk.library)
    _acknowledge_the_rest(app)
    return app


def _add_tongues(app: AsyncApp, desk: Entrance) -> None:
    @app.use
    async def speaks(body: Body, context: Body, next: Next) -> None:
        """Before each listener, in its task: what whoever asks is spoken to in."""
        event = body.get("event") or {}
        user, said = (str(event.get(name) or "") for name in ("user", "text"))
        user = user or str(context.get("user_id") or "")
        tenant = tenant_of(_team(context))
        await desk.threads.tongues.learn_workspace(tenant)
        speak(*desk.threads.tongues.of(tenant, user, said=said))
        await next()


def _add_events(app: AsyncApp, desk: Entrance, home: Home, tenancy: Tenancy) -> None:
    """Events are acknowledged between middleware and listener, so what is stored first is so in the middleware."""

    def before(act: Callable[[Body, str], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def taken(event: Body, context: Body, next: Next) -> None:
            await act(event, _team(context))
            await next()

        return taken

    async def pane_opened(event: Body, context: Body) -> None:
        """The event of apps made before the agent view names the person within the thread."""
        user = event.get("user") or (event.get("assistant_thread") or {}).get("user_id")
        workspace = await desk.workspaces.find(_team(context))
        await desk.threads.learn_locale(workspace, str(user or ""))
        if event.get("tab", "messages") == "messages":
            await suggest_prompts(event, workspace.client)
        else:
            await home.opened(event, workspace)

    async def removed(body: Body, next: Next) -> None:
        await hear_departure(body, tenancy)
        await next()

    async def left(body: Body, next: Next) -> None:
        await hear_leaving(body, desk.researcher.watching)
        await next()

    async def done() -> None: ...

    middleware = {
        "app_mention": before(partial(desk.heard, is_mention=True)),
        "message": before(partial(desk.heard, is_mention=False)),
        "agent_session_stopped": before(desk.stopped),
        "app_uninstalled": removed,
        "tokens_revoked": removed,
        **dict.fromkeys(LEAVING, left),
    }
    for name, taken in middleware.items():
        app.event(name, middleware=[taken])(done)
    app.event("app_home_opened")(pane_opened)
    app.event("assistant_thread_started")(pane_opened)  # of apps made before the agent view


def _add_commands(app: AsyncApp, desk: Entrance) -> None:
    form = AskForm(desk)

    @app.command("/research")
    async def commanded(ack: Ack, command: Body) -> None:
        told = await desk.commanded(command)
        await (ack(text=told.text, blocks=as_json(told)) if told else ack())
        await desk.configured(command)
        await form.commanded(command)

    sections = Sections(desk)
    app.view(ASK_FORM)(_answered(form.submitted))
    app.view(SECTION_FORM)(_answered(sections.submitted))
    app.command(SECTION_COMMAND)(_acknowledged(sections.commanded))
    app.shortcut("research_this")(_stored(desk.research_this))


def _acknowledged(act: Callable[[Body], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A listener of what is acknowledged at once."""

    async def heard(ack: Ack, body: Body) -> None:
        await ack()
        await act(body)

    return heard


def _stored(act: Callable[[Body], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A listener of what is stored before it is acknowledged."""

    async def heard(ack: Ack, body: Body) -> None:
        await act(body)
        await ack()

    return heard


def _answered(act: Callable[[Body], Awaitable[Body]]) -> Callable[..., Awaitable[None]]:
    """A listener of forms: the acknowledgement carries what is wrong with one, if anything."""

    async def heard(ack: Ack, body: Body) -> None:
        await ack(**await act(body))

    return heard


def _add_buttons(app: AsyncApp, buttons: Buttons) -> None:
    for action_id, act in buttons.actions.items():
        app.action(action_id)(_acknowledged(act))
    app.view(FEEDBACK)(_acknowledged(buttons.explained))
    app.view(SHARING)(_acknowledged(buttons.confirmed))

    buttons.desk.inbox.openers[ANSWER_WISH] = buttons.wished

    async def wished(body: Body) -> None:
        team, user = (id_of(body, name) for name in ("team", "user"))
        view = {name: body["view"].get(name) for name in ("id", "private_metadata", "state")}
        kept = {"team": {"id": team}, "view": view}
        await buttons.desk.inbox.take(Letter(ANSWER_WISH, team, user, f"wish:{view['id']}", kept))

    app.view(ANSWER_WISH)(_stored(wished))


def _add_settings(app: AsyncApp, desk: Entrance) -> None:
    """Saved before the acknowledgement, which carries what is wrong with a field."""

    @app.view(SETTINGS)
    async def submitted(ack: Ack, body: Body, context: Body) -> None:
        workspace = await desk.workspaces.find(_team(context))
        await ack(**await desk.administration.submitted(workspace, body))

    @app.action(OPEN_SETTINGS)
    async def pressed(ack: Ack, body: Body, context: Body) -> None:
        await ack()
        workspace = await desk.workspaces.find(_team(context))
        await desk.administration.pressed(workspace, body)


def _add_library(app: AsyncApp, library: SlackLibrary) -> None:
    """Acknowledged when what was said is stored."""

    @app.command("/library")
    async def commanded(ack: Ack, command: Body) -> None:
        await library.commanded(command)
        await ack()
        await library.opened(command)

    async def suggest(ack: Ack, body: Body) -> None:
        await ack(options=await library.suggested(body))

    app.view(ASK)(_answered(library.submitted))
    app.view(WISH)(_answered(library.submitted))
    app.options(PAPER)(suggest)
    app.action(re.compile(f"{OPEN}_[0-9]+|{SAVE}"))(_stored(library.pressed))
    app.action(IMPROVE)(_acknowledged(library.wishes))


def _is_news(record: logging.LogRecord) -> bool:
    """Not what bolt says of Slack's variables, which it finds in the environment too and does not use here."""
    unused = (messages.warning_client_prioritized_and_token_skipped, messages.warning_token_skipped)
    return record.getMessage() not in {phrase() for phrase in (*unused, messages.info_default_oauth_settings_loaded)}


def _acknowledge_the_rest(app: AsyncApp) -> None:
    """What nobody listens to gets no acknowledgement at all in Socket Mode, and Slack shows a warning."""

    async def acknowledge(ack: Ack) -> None:
        await ack()

    app.event(ANY)(acknowledge)
    for listen in (app.action, app.shortcut, app.command, app.options):
        listen(ANY)(acknowledge)
    app.view(ANY)(acknowledge)
    app.view_closed(ANY)(acknowledge)


def _authorizer(workspaces: Workspaces) -> Callable[..., Awaitable[AuthorizeResult | None]]:
    """Bolt's own would ask Slack before each acknowledgement, or rotate one token twice at once."""

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult | None:
        try:
            known = await workspaces.find(team_id or "", is_hurried=True)
        except NotInstalled:
            return None
        except SlackApiError as exc:  # which Bolt would acknowledge, and Slack never send again
            raise PlatformAway(reason(exc)) from exc
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=known.team_id,
            bot_id=known.bot_id,
            bot_user_id=known.bot_user_id,
            bot_token=known.client.token,
        )

    return authorize


def _team(context: Body) -> str:
    return str(context.get("team_id") or "")


# Socket Mode, watched: a connection that stays away too long is torn down and built anew


PATIENCE_S = 30.0  # without a healthy session; a refresh by Slack takes a second or two
LOOK_EVERY = 6  # times within the patience
PING_INTERVAL_S = 5.0  # a connection that went silent is noticed after four of them


async def keep_connected(
    app: AsyncApp, app_token: str, *, proxies: Proxies = DIRECT, patience_s: float = PATIENCE_S
) -> None:
    """Hold a Socket Mode connection until cancelled."""
    while True:
        handler = AsyncSocketModeHandler(app, app_token, ping_interval=PING_INTERVAL_S)
        _guide(handler.client, proxies)
        try:
            async with ended_with_block(handler.connect_async(), "slack socket"):  # type: ignore[no-untyped-call]
                await _until_given_up(handler, patience_s)
        finally:
            await handler.close_async()  # type: ignore[no-untyped-call]  # bolt types none of its handler
        _log.warning("no healthy connection to Slack; connecting anew", extra={"seconds": patience_s})


def _guide(client: SocketModeClient, proxies: Proxies) -> None:
    """Each address that Slack issues is reached as the settings say; the SDK's own way knows no `NO_PROXY`."""
    issue = client.issue_new_wss_url

    async def issue_guided() -> str:
        url = await issue()
        client.proxy = proxies.of(url)
        return url

    client.issue_new_wss_url = issue_guided  # type: ignore[method-assign]


async def _until_given_up(handler: AsyncSocketModeHandler, patience_s: float) -> None:
    """Returns when there has been no healthy session for `patience_s`."""
    seen_at = time.monotonic()
    while time.monotonic() - seen_at < patience_s:
        await asyncio.sleep(patience_s / LOOK_EVERY)
        if await handler.client.is_connected():
            seen_at = time.monotonic()


# HTTP mode: `/slack/events` in the web process, for the same listeners as Socket Mode


PATH = "/slack/events"
WINDOW_S = 300  # older and future requests are refused (docs.slack.dev, verifying requests from Slack)
REMEMBERED = timedelta(seconds=2 * WINDOW_S)  # one from the future by the window is fresh for as long as that


class Signatures:
    """Says whether a request is Slack's and fresh."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret.encode()
        self._clock = clock

    def refusal(self, stamp: str, signature: str, body: bytes) -> str:
        """Why the request is refused, "" when it is not."""
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 11 and signature.isascii()):
            return "unsigned"
        expected = "v0=" + hmac.digest(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hex()
        if not hmac.compare_digest(expected, signature):
            return "forged"
        return "stale" if abs(self._clock() - int(stamp)) > WINDOW_S else ""


def add_events_route(app: web.Application, bolt: AsyncApp, secret: str, tenants: AppTenants) -> None:
    """Serve Slack's requests at `PATH`. Which have been seen is kept with `tenants`, by all processes together."""
    signatures = Signatures(secret)

    async def post_events(request: web.Request) -> web.Response:
        body = await request.read()
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        refused = signatures.refusal(stamp, signature, body)
        try:
            if not refused and not await tenants.spend(f"slack request {signature}", ttl=REMEMBERED):
                refused = "replayed"
        except StoreError as exc:  # Slack sends it again, signed anew
            _log.warning("not known whether a request of Slack's is new", extra={"error": str(exc)})
            return web.Response(status=503, text="please send it again")
        if refused:
            _log.warning("request to Slack's address refused", extra={"reason": refused})
            return web.Response(status=401, text="refused")
        headers: dict[str, str | Sequence[str]] = {
            name: value for name, value in request.headers.items() if name.lower() != "cookie"
        }
        said = AsyncBoltRequest(body=body.decode("utf-8", "replace"), query=request.query_string, headers=headers)
        return await to_aiohttp_response(await bolt.async_dispatch(said))

    app.router.add_post(PATH, post_events)
