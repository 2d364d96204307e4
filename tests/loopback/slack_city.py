"""Several workspaces of a loopback Slack that may install one app: Slack's side of OAuth v2, and tokens that lapse.

Channels, people and bots have the same ids in all of them, so that only the team tells them apart. A browser comes to
`/oauth/v2/authorize`, allows or declines, and is sent back with a code.
"""

from __future__ import annotations

import asyncio
import base64
import html
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.loopback.slack_api import Api, Refused, arguments_of
from tests.loopback.slack_delivery import Ack, SignedHttp, SocketMode
from tests.loopback.slack_limits import method_faults
from tests.loopback.slack_state import ADA, APP, BOT_USER, SIGNING_SECRET, State
from tests.loopback.slack_world import SlackWorld

Json = Any
CLIENT_ID, CLIENT_SECRET = "2141029472.691202649728", "e1b9e11dfcd19c1982d5de12921e17e8"
CODE_S = 600.0  # "expires in ten minutes" (docs.slack.dev, installing with OAuth)
TOKEN_S = 43_200  # a rotating token lives for 12 h (docs.slack.dev, token rotation)
ACTIVE_TOKENS = 2  # a third one ends the oldest


@dataclass
class Code:
    """What a browser brings back; it may be used once."""

    team: str
    user: str
    redirect_uri: str
    scopes: set[str]
    is_organisation: bool
    made_at: float


@dataclass
class SlackCity:
    """`rotates` makes tokens that lapse after `token_s`. `public_url` is the only place that browsers are sent back to.

    `refreshes` are the refresh tokens that were presented, in order.
    """

    url: str
    worlds: dict[str, SlackWorld]
    public_url: str = ""
    rotates: bool = False
    token_s: int = TOKEN_S
    organisations: set[str] = field(default_factory=set)
    refreshes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    _codes: dict[str, Code] = field(default_factory=dict)
    _refresh_tokens: dict[str, str] = field(default_factory=dict)
    _expiries: dict[str, float] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def open(cls, *teams: str) -> AsyncIterator[SlackCity]:
        """Raises `AssertionError` at the end for whatever the real Slack would have refused."""
        app = web.Application()
        worlds: dict[str, SlackWorld] = {}
        for team in teams:
            state = State(team=team, tokens={})
            api, socket, rooms = Api(state), SocketMode(), web.Application()
            api.add_routes(rooms)
            app.add_subapp(f"/{team}", rooms)
            worlds[team] = SlackWorld(state, api, socket, "", socket)
        city = cls("", worlds)
        app.router.add_route("*", "/api/oauth.v2.access", city._access)
        app.router.add_route("*", "/api/{method}", city._call)
        app.router.add_get("/oauth/v2/authorize", city._authorize)
        async with TestServer(app) as server:
            city.url = str(server.make_url("")).rstrip("/")
            for team, world in worlds.items():
                world.url = world.api.base_url = f"{city.url}/{team}"
            yield city
        faults = city.violations + [fault for world in worlds.values() for fault in world.api.violations]
        assert faults == [], faults

    def env(self) -> dict[str, str]:
        """Settings for an app that anybody may install."""
        return {
            "SLACK_CLIENT_ID": CLIENT_ID,
            "SLACK_CLIENT_SECRET": CLIENT_SECRET,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_BASE_URL": f"{self.url}/api/",
        }

    def over_http(self, address: str) -> None:
        """Deliver to the app at this address."""
        for world in self.worlds.values():
            world.delivery = SignedHttp(f"{address}/slack/events")

    def allow(self, address: str, team: str, user: str = ADA) -> str:
        """Where Slack sends a browser that came to `address` and allowed the installation."""
        asked = self._asked(address)
        code = secrets.token_hex(16)
        scopes = set(asked["scope"].split(","))
        self._codes[code] = Code(
            team, user, asked["redirect_uri"], scopes, team in self.organisations, time.monotonic()
        )
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def decline(self, address: str) -> str:
        asked = self._asked(address)
        return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"

    async def uninstall(self, team: str, *, event_time: int | None = None) -> Ack:
        """An admin removes the app: its tokens die at once, and the app is told so twice."""
        world = self.worlds[team]
        world.state.tokens = dict.fromkeys(world.state.tokens, "account_inactive")
        self._refresh_tokens = {token: of for token, of in self._refresh_tokens.items() if of != team}
        await self.tells(team, {"type": "tokens_revoked", "tokens": {"bot": [BOT_USER]}}, event_time=event_time)
        return await self.tells(team, {"type": "app_uninstalled"}, event_time=event_time)

    async def tells(self, team: str, event: Mapping[str, Json], *, event_time: int | None = None) -> Ack:
        """An event about the app itself."""
        body = {
            "type": "event_callback", "team_id": team, "api_app_id": APP, "event": dict(event),
            "event_id": self.worlds[team].state.new_id("Ev"), "event_time": event_time or int(time.time()),
        }  # fmt: skip
        return await self.worlds[team].send("event", body)

    async def opens_home(self, team: str, user: str, tab: str = "home") -> None:
        channel = self.worlds[team].state.direct(user)
        event = {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab, "event_ts": "1.1"}
        await self.tells(team, event)

    async def lapsed(self, team: str) -> None:
        """Wait until the team's tokens have ended."""
        ends_at = max(self._expiries.get(token, 0.0) for token in self.worlds[team].state.tokens)
        await asyncio.sleep(max(0.0, ends_at - time.time()))

    def _asked(self, address: str) -> dict[str, str]:
        """What is asked for at the authorize address. Raises `Refused` where Slack shows an error page."""
        parts = urlsplit(address)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not address.startswith(f"{self.url}/oauth/v2/authorize?") or asked.get("client_id") != CLIENT_ID:
            raise Refused("invalid_client_id")
        if asked.get("redirect_uri") != f"{self.public_url}/slack/oauth_redirect":
            raise Refused("bad_redirect_uri")
        if not asked.get("scope"):
            raise Refused("no_scopes")
        return asked

    async def _authorize(self, request: web.Request) -> web.Response:
        """Slack's own page, in small."""
        address = f"{self.url}{request.path_qs}"
        try:
            scopes = html.escape(self._asked(address)["scope"]).replace(",", "<li>")
            links = [
                f'<p><a href="{html.escape(self.allow(address, team))}">Allow in {team}</a>' for team in self.worlds
            ]
            links.append(f'<p><a href="{html.escape(self.decline(address))}">Cancel</a>')
        except Refused as refusal:
            return web.Response(text=f"<h1>Something went wrong</h1>{refusal}", content_type="text/html")
        page = f"<h1>gorkd is requesting permission</h1><ul><li>{scopes}</ul>{''.join(links)}"
        return web.Response(text=page, content_type="text/html")

    async def _call(self, request: web.Request) -> web.StreamResponse:
        """Any other method, in the workspace whose token it carries."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        for world in self.worlds.values():
            if token in world.state.tokens:
                if not world.state.tokens[token] and self._expiries.get(token, float("inf")) <= time.time():
                    world.state.tokens[token] = "token_expired"
                return await world.api.call(request)
        return web.json_response({"ok": False, "error": "invalid_auth"})

    async def _access(self, request: web.Request) -> web.Response:
        given = await arguments_of(request)
        faults = method_faults("oauth.v2.access", given)
        self.violations += faults
        try:
            self._judge_client(request, given)
            if given.get("grant_type") == "refresh_token":
                body = self._refreshed(str(given.get("refresh_token")))
            else:
                body = self._exchanged(given)
        except Refused as refusal:
            return web.json_response({"ok": False, "error": str(refusal)})
        return web.json_response({"ok": True, **body})

    def _judge_client(self, request: web.Request, given: Mapping[str, Json]) -> None:
        scheme, _, said = request.headers.get("Authorization", "").partition(" ")
        named = base64.b64decode(said).decode().partition(":") if scheme == "Basic" else ("", "", "")
        if (given.get("client_id") or named[0]) != CLIENT_ID:
            raise Refused("invalid_client_id")
        if (given.get("client_secret") or named[2]) != CLIENT_SECRET:
            raise Refused("bad_client_secret")

    def _exchanged(self, given: Mapping[str, Json]) -> dict[str, Json]:
        code = self._codes.pop(str(given.get("code")), None)
        if code is None or time.monotonic() - code.made_at > CODE_S:
            raise Refused("invalid_code")
        if given.get("redirect_uri") != code.redirect_uri:
            raise Refused("bad_redirect_uri")
        self.worlds[code.team].state.scopes = code.scopes
        named = {"id": code.team, "name": f"Team {code.team}"}
        return {
            **self.grant(code.team),
            "scope": ",".join(sorted(code.scopes)), "bot_user_id": BOT_USER, "app_id": APP,
            "team": None if code.is_organisation else named,
            "enterprise": {"id": "E1", "name": "Enterprise"} if code.is_organisation else None,
            "is_enterprise_install": code.is_organisation, "authed_user": {"id": code.user},
        }  # fmt: skip

    def _refreshed(self, refresh_token: str) -> dict[str, Json]:
        """A refresh token works once."""
        self.refreshes.append(refresh_token)
        team = self._refresh_tokens.pop(refresh_token, None)
        if team is None:
            raise Refused("invalid_refresh_token")
        return self.grant(team) | {"scope": "", "team": {"id": team, "name": f"Team {team}"}}

    def grant(self, team: str) -> dict[str, Json]:
        """A new token of a workspace; without rotation a living one is given out again."""
        tokens = self.worlds[team].state.tokens
        alive = [token for token, refusal in tokens.items() if not refusal]
        if not self.rotates:
            token = alive[0] if alive else f"xoxb-{team}-{secrets.token_hex(8)}"
            tokens[token] = ""
            return {"access_token": token, "token_type": "bot"}
        token, refresh_token = f"xoxe.xoxb-{team}-{secrets.token_hex(8)}", f"xoxe-1-{secrets.token_hex(8)}"
        for old in alive[: len(alive) + 1 - ACTIVE_TOKENS]:
            tokens[old] = "token_expired"
        tokens[token], self._refresh_tokens[refresh_token] = "", team
        self._expiries[token] = time.time() + self.token_s
        return {
            "access_token": token, "token_type": "bot", "refresh_token": refresh_token, "expires_in": self.token_s,
        }  # fmt: skip
