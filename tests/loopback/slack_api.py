"""The Web API of a loopback Slack: methods over the workspace's state, with faults on demand.

Every call is judged by `slack_limits`; what it finds is kept in `violations` and refused as Slack refuses it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.loopback.slack_limits import message_faults, method_faults
from tests.loopback.slack_spec import manifest_faults
from tests.loopback.slack_state import (
    APP,
    APP_TOKEN,
    BOT,
    BOT_USER,
    CHANNEL_SCOPES,
    CONFIG_TOKEN,
    METHOD_SCOPES,
    Ephemeral,
    Message,
    Session,
    State,
)
from tests.loopback.slack_streams import Refused, Streams, refusal_of
from tests.loopback.slack_uploads import UploadRefused, Uploads

Json = Any
TRIGGER_S = 3.0
RESPONSE_URL_S = 30 * 60
RESPONSE_URL_USES = 5


async def _away() -> web.Response:
    return web.Response(status=503, text="<html>Service Unavailable</html>", content_type="text/html")


async def _odd() -> web.Response:
    return web.Response(text="Welcome to the hotel's network")


async def _silent() -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets that event")


ODD = {"away": _away, "odd": _odd, "silent": _silent}  # answers that say nothing about the call


@dataclass
class Fault:
    """What happens to the next `times` calls of a method.

    `lost` does the work and then drops the connection, `broken` answers 500 after it; `limited` answers 429
    with `Retry-After`; `down` drops the connection without doing anything; `away` is a 503 of whatever stands before
    Slack, `odd` a 200 that is no JSON object, `silent` no answer; anything else is an error of Slack's.
    """

    kind: str
    times: int = 1
    retry_after_s: int = 1


@dataclass
class Call:
    method: str
    arguments: dict[str, Json]
    at: float
    ok: bool = True


@dataclass
class ResponseUrl:
    channel: str
    user: str
    made_at: float = field(default_factory=time.monotonic)
    uses: int = 0


@dataclass
class Api:
    """`calls` are in order; `violations` must be empty at a test's end unless it meant them.

    `slow_s` is how long Slack takes over a method, or over a download as `files`.
    """

    state: State
    calls: list[Call] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)
    slow_s: dict[str, float] = field(default_factory=dict)
    response_urls: dict[str, ResponseUrl] = field(default_factory=dict)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    opens_socket: Callable[[], str] = str
    token: str = ""
    base_url: str = ""

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.state)
        self.streams = Streams(self.state)

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self.call)
        app.router.add_post("/response/{name}", self._respond)
        app.router.add_get("/files/{name}", self._download)
        self.uploads.add_routes(app)

    def named(self, method: str) -> list[dict[str, Json]]:
        return [call.arguments for call in self.calls if call.method == method and call.ok]

    async def notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await arguments_of(request)
        call = Call(method, arguments, time.monotonic())
        self.calls.append(call)
        await asyncio.sleep(self.slow_s.get(method, 0.0))
        fault = self._take_fault(method)
        if fault and fault.kind == "down":
            return _drop(request)
        if fault and fault.kind in ODD:
            call.ok = False
            await self.notify()
            return await ODD[fault.kind]()
        if fault and fault.kind == "limited":
            call.ok = False
            body = {"ok": False, "error": "ratelimited"}
            return web.json_response(body, status=429, headers={"Retry-After": str(fault.retry_after_s)})
        try:
            if fault and fault.kind not in ("lost", "broken"):
                raise Refused(fault.kind)
            self._judge(request, method, arguments)
            answered = self._do(method, arguments)
            body = {"ok": True, **answered}
        except (Refused, UploadRefused) as refusal:
            call.ok = False
            body = {"ok": False, "error": str(refusal)}
        await self.notify()
        if fault and fault.kind == "lost":
            return _drop(request)
        headers = {"x-oauth-scopes": ",".join(sorted(self.state.scopes))} if self.state.scopes else {}
        return web.json_response(body, status=500 if fault and fault.kind == "broken" else 200, headers=headers)

    def _take_fault(self, method: str) -> Fault | None:
        fault = self.faults.get(method)
        if fault is None or fault.times <= 0:
            return None
        fault.times -= 1
        return fault

    def _judge(self, request: web.Request, method: str, arguments: Mapping[str, Json]) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or arguments.get("token", "")
        of_apps = {"apps.connections.open": {APP_TOKEN: ""}, "apps.manifest.create": {CONFIG_TOKEN: ""}}
        known = of_apps.get(method, self.state.tokens)
        if refusal := known.get(token, "invalid_auth"):
            raise Refused(refusal)
        self.token = token
        faults = method_faults(method, arguments)
        if faults:
            self.violations += [f"{method}: {fault}" for fault in faults]
            raise Refused(refusal_of(method, faults))
        scope = METHOD_SCOPES.get(method) or self._history_scope(method, arguments)
        if scope and self.state.scopes and scope not in self.state.scopes:
            raise Refused("missing_scope")

    def _history_scope(self, method: str, arguments: Mapping[str, Json]) -> str:
        family = {"conversations.info": "read", "conversations.history": "history", "conversations.replies": "history"}
        channel = self.state.channels.get(str(arguments.get("channel")))
        if method not in family or channel is None:
            return ""
        return f"{CHANNEL_SCOPES[channel.kind]}:{family[method]}"

    def _do(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        family = method.rpartition(".")[0]
        families = {
            "chat": self._chat,
            "conversations": self._conversations,
            "views": self._view,
            "assistant.threads": self._assistant,
            "agents.sessions": self._session,
            "files": self._files,
            "reactions": self._react,
        }
        return families.get(family, self._lookup)(method, given)

    def _lookup(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        bot = {"user_id": BOT_USER, "bot_id": BOT, "team_id": self.state.team, "url": "https://t.slack.test/"}
        if method == "users.info" and not self.state.knows(given["user"]):
            raise Refused("user_not_found")
        answers: dict[str, Callable[[], dict[str, Json]]] = {
            "auth.test": lambda: {"team": "Loop", "user": "gorkd", **bot},
            "apps.connections.open": lambda: {"url": self.opens_socket()},
            "team.info": lambda: {"team": {"id": self.state.team, "name": "Loop", "domain": "loop"}},
            "users.info": lambda: {"user": self._person(given["user"])},
            "auth.revoke": self._revoke,
            "apps.manifest.create": lambda: self._create(given["manifest"]),
        }
        if method not in answers:
            raise Refused("unknown_method")
        return answers[method]()

    def _person(self, user: str) -> dict[str, Json]:
        may = {"is_restricted": user in self.state.guests, "is_admin": user in self.state.admins, "is_owner": False}
        return {"id": user, "team_id": self.state.team, "locale": self.state.locales.get(user, "en-GB"), **may}

    def _create(self, manifest: dict[str, Json]) -> dict[str, Json]:
        """What the create dialog does, too: from now on the app is one of this manifest."""
        if manifest_faults(manifest):
            raise Refused("invalid_manifest")
        self.state.is_agent = "agent_view" in manifest["features"]
        self.state.scopes = set(manifest["oauth_config"]["scopes"]["bot"])
        return {"app_id": APP}

    def _revoke(self) -> dict[str, Json]:
        self.state.tokens[self.token] = "token_revoked"
        return {"revoked": True}

    def _react(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        message = self.state.messages.get((given["channel"], given["timestamp"]))
        if message is None or message.is_deleted:
            raise Refused("message_not_found")
        if given["name"] in message.reactions:
            raise Refused("already_reacted")
        message.reactions.append(given["name"])
        return {}

    def _chat(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        channel = self.state.direct(given["channel"]) if given["channel"].startswith("U") else given["channel"]
        self._require_channel(channel)
        if method.endswith("Stream"):
            return self.streams.call(method, channel, given)
        if method == "chat.postEphemeral":
            if given["user"] not in self.state.channels[channel].members:
                raise Refused("user_not_in_channel")
            said = Ephemeral(
                channel, given["user"], given.get("text", ""), given.get("blocks") or [], given.get("thread_ts", "")
            )
            # In a thread without a reply nobody sees it (docs.slack.dev, chat.postEphemeral).
            is_root = (channel, said.thread_ts) in self.state.messages
            replies = [one for one in self.state.messages.values() if one.thread_ts == said.thread_ts]
            if replies or not is_root:
                self.state.ephemerals.append(said)
            return {"message_ts": self.state.new_ts()}
        if method == "chat.postMessage":
            thread = given.get("thread_ts", "")
            if (given.get("unfurl_links"), given.get("unfurl_media")) != (False, False):
                self.violations.append("chat.postMessage: Slack would unfold what it links to")
            more = {"blocks": given.get("blocks") or [], "metadata": given.get("metadata") or {}}
            message = self.state.says(BOT_USER, channel, given.get("text", ""), thread, **more)
            return {"channel": channel, "ts": message.ts, "message": message.described(with_metadata=True)}
        if method == "chat.getPermalink":
            return {
                "channel": channel,
                "permalink": f"https://loop.slack.test/archives/{channel}/{given['message_ts']}",
            }
        found = self.state.messages.get((channel, given["ts"]))
        if found is None or found.is_deleted:
            raise Refused("message_not_found")
        if found.user != BOT_USER:
            raise Refused("cant_update_message" if method == "chat.update" else "cant_delete_message")
        if method == "chat.delete":
            found.is_deleted = True
        else:
            self._update(found, given)
        return {"channel": channel, "ts": found.ts, "text": found.text}

    def _update(self, found: Message, given: Mapping[str, Json]) -> None:
        """Text without blocks removes the blocks; metadata stays unless it is given."""
        if self.streams.is_open(found):
            raise Refused("streaming_state_conflict")
        found.text = given.get("text", found.text)
        found.blocks = given.get("blocks") or []
        found.metadata = given.get("metadata") or found.metadata
        found.versions.append(found.text)

    def _require_channel(self, channel: str) -> None:
        known = self.state.channels.get(channel)
        if known is None or (known.kind != "channel" and BOT_USER not in known.members):
            raise Refused("channel_not_found")
        if BOT_USER not in known.members:
            raise Refused("not_in_channel")
        if known.closed:
            raise Refused(known.closed)

    def _conversations(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        if method == "conversations.open":
            return {"channel": {"id": self.state.direct(given["users"])}}
        channel = self.state.channels.get(given["channel"])
        if channel is None or (channel.kind != "channel" and BOT_USER not in channel.members):
            raise Refused("channel_not_found")
        if method == "conversations.info":
            return {"channel": channel.described()}
        if BOT_USER not in channel.members:
            raise Refused("not_in_channel")
        thread = given.get("ts")
        found = [
            message.described(with_metadata=bool(given.get("include_all_metadata")))
            for (place, ts), message in self.state.messages.items()
            if place == channel.id
            and not message.is_deleted
            and ts >= str(given.get("oldest") or "")
            and (thread in (ts, message.thread_ts) if thread else not message.thread_ts)
        ]
        found = found if thread else found[::-1]
        return {"messages": found[: int(given.get("limit") or 100)], "has_more": False}

    def _view(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        if method == "views.open":
            trigger = given.get("trigger_id", "")
            opened_at = self.state.triggers.pop(trigger, None)
            if opened_at is None:
                raise Refused("exchanged_trigger_id" if trigger in self.state.exchanged else "invalid_trigger_id")
            self.state.exchanged.add(trigger)
            if time.monotonic() - opened_at > TRIGGER_S:
                raise Refused("expired_trigger_id")
        view = {**given["view"], "id": self.state.new_id("V")}
        if method == "views.publish":
            self.state.homes[given["user_id"]] = view
            return {"view": view}
        self.state.views.append(view)
        return {"view": view}

    def _files(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        if method == "files.getUploadURLExternal":
            return self.uploads.begin(given, self.base_url)
        if method == "files.completeUploadExternal":
            self._require_channel(given["channel_id"])
            return self.uploads.complete(given)
        if method == "files.delete":
            return self.uploads.delete(given["file"])
        if method == "files.info":
            return self.uploads.described(given["file"])
        raise Refused("unknown_method")

    def _assistant(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        if method.endswith("setStatus"):
            self.state.statuses.append((given["thread_ts"], given["status"]))
        elif method.endswith("setTitle"):
            self.state.titles[given["thread_ts"]] = given["title"]
        elif self.state.is_agent != (
            "thread_ts" in given
        ):  # of an agent Slack shows none with a thread, without a word
            self.state.prompts[given.get("thread_ts") or given["channel_id"]] = given["prompts"]
        return {}

    def _session(self, method: str, given: Mapping[str, Json]) -> dict[str, Json]:
        """A session is a thread of an agent; its title is given with its beginning, or by another name."""
        if not self.state.is_agent:
            raise Refused("not_an_agent")
        place = given["channel_id"], given["thread_ts"]
        self._require_channel(place[0])
        if place not in self.state.messages:
            raise Refused("thread_not_found")
        known = self.state.sessions.get(place)
        if method == "agents.sessions.rename":
            if known is None:
                raise Refused("session_not_found")
            known.titles.append(given["title"])
            return {"title": given["title"]}
        if known is None:
            known = Session([given.get("title", "")], given.get("initiator_user_id", ""), [])
            self.state.sessions[place] = known
        known.statuses.append(given["status"])
        return {"status": given["status"], "title": known.titles[-1]}

    async def _respond(self, request: web.Request) -> web.Response:
        known = self.response_urls.get(request.match_info["name"])
        message = await request.json()
        if known is None or time.monotonic() - known.made_at > RESPONSE_URL_S:
            return web.Response(status=404, text="expired_url")
        known.uses += 1
        if known.uses > RESPONSE_URL_USES:
            return web.Response(status=404, text="used_url")
        self.show_response(known, message)
        await self.notify()
        return web.Response(text="ok")

    def show_response(self, known: ResponseUrl, message: Mapping[str, Json]) -> None:
        """What a response_url, or an acknowledgement with a payload, makes appear."""
        self.violations += [f"response: {fault}" for fault in message_faults(message)]
        text, blocks = message.get("text", ""), message.get("blocks") or []
        if message.get("response_type") == "in_channel":
            self.state.says(BOT_USER, known.channel, text, message.get("thread_ts", ""), blocks=blocks)
        else:
            self.state.ephemerals.append(Ephemeral(known.channel, known.user, text, blocks))

    async def _download(self, request: web.Request) -> web.Response:
        """Without the token Slack shows its sign-in page, with status 200."""
        if request.headers.get("Authorization") not in [
            f"Bearer {token}" for token, refusal in self.state.tokens.items() if not refusal
        ]:
            return web.Response(text="<html><title>Sign in to Slack</title></html>", content_type="text/html")
        await asyncio.sleep(self.slow_s.get("files", 0.0))
        described, content = self.state.files[request.match_info["name"]]
        return web.Response(body=content, content_type=described["mimetype"])


async def arguments_of(request: web.Request) -> dict[str, Json]:
    """JSON bodies as they are; of forms, what looks like JSON is read and words for truth become truth."""
    if request.content_type == "application/json":
        return {name: value for name, value in (await request.json()).items() if value is not None}
    given = dict(await request.post()) | dict(request.query)
    return {name: _typed(value) for name, value in given.items() if isinstance(value, str)}


def _typed(value: str) -> Json:
    if value in ("true", "True", "1") or value in ("false", "False", "0"):
        return value in ("true", "True", "1")
    if value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _drop(request: web.Request) -> web.Response:
    request.transport.abort()
    return web.Response()
