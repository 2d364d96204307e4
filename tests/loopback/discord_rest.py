"""The REST API of the loopback Discord: each route does what the real one does, and refuses what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from tests.loopback import discord_data as data
from tests.loopback.discord_data import APPLICATION_ID, Channel, Interaction, Message
from tests.loopback.discord_files import Upload, attach_files, read_payload
from tests.loopback.discord_limits import (
    choices_problems,
    command_problems,
    described_problems,
    message_problems,
    modal_problems,
    thread_problems,
)
from tests.loopback.discord_world import TOKEN, DiscordWorld, Fault

API = "/api/v10"
Handler = Callable[[web.Request, Any], Awaitable[web.Response]]
FOLLOWUPS_OF_A_USER_INSTALL = 5


class Refused(Exception):
    """An error answer of Discord's: HTTP status and its own code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def build_app(world: DiscordWorld) -> web.Application:
    rest = Rest(world)
    app = web.Application(client_max_size=32 * 2**20)
    app.router.add_get("/gateway", world.gateway.serve)
    app.router.add_get("/gateway/", world.gateway.serve)
    app.router.add_get("/cdn/{id}/{name}", rest.file)
    for name, method, path, handler in rest.routes():
        app.router.add_route(method, API + path, rest.guarded(name, method, path, handler))
    app.router.add_route("*", "/{rest:.*}", rest.unknown)
    return app


class Rest:
    def __init__(self, world: DiscordWorld) -> None:
        self._world = world

    def routes(self) -> list[tuple[str, str, str, Handler]]:
        original = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        one = "/channels/{channel_id}/messages/{message_id}"
        return [
            ("me", "GET", "/users/@me", self._me),
            ("application", "GET", "/oauth2/applications/@me", self._application),
            ("gateway", "GET", "/gateway/bot", self._gateway),
            ("commands.get", "GET", "/applications/{application_id}/commands", self._commands),
            ("commands.put", "PUT", "/applications/{application_id}/commands", self._put_commands),
            ("callback", "POST", "/interactions/{interaction_id}/{interaction_token}/callback", self._callback),
            ("original.get", "GET", original, self._get_original),
            ("original.edit", "PATCH", original, self._edit_original),
            ("original.delete", "DELETE", original, self._delete_original),
            ("original.source", "PATCH", original.replace("@original", "{message_id}"), self._edit_source),
            ("followup", "POST", "/webhooks/{webhook_id}/{webhook_token}", self._follow_up),
            ("dm", "POST", "/users/@me/channels", self._open_dm),
            ("message.create", "POST", "/channels/{channel_id}/messages", self._create),
            ("message.get", "GET", one, self._get),
            ("message.edit", "PATCH", one, self._edit),
            ("message.delete", "DELETE", one, self._delete),
            ("thread.create", "POST", one + "/threads", self._thread),
            ("reaction", "PUT", one + "/reactions/{emoji}/@me", self._react),
            ("typing", "POST", "/channels/{channel_id}/typing", self._typing),
            ("channel.edit", "PATCH", "/channels/{channel_id}", self._edit_channel),
            ("channel.get", "GET", "/channels/{channel_id}", self._get_channel),
            ("guilds", "GET", "/users/@me/guilds", self._guilds),
            ("guild.get", "GET", "/guilds/{guild_id}", self._get_guild),
            ("member.get", "GET", "/guilds/{guild_id}/members/{user_id}", self._get_member),
        ]

    def guarded(self, name: str, method: str, template: str, handler: Handler) -> Callable[..., Any]:
        """Check who asks and what, act out a fault that was ordered, and answer as Discord does."""

        async def answer(request: web.Request) -> web.StreamResponse:
            world = self._world
            fault = world.take_fault(name)
            if fault and not fault.after_effect:
                return _fail(request, fault)
            world.requests.append((name, request.path))
            if not name.startswith(("callback", "original", "followup")):
                authorised = request.headers.get("Authorization") == f"Bot {TOKEN}"
                if not authorised:
                    return _error(Refused(401, 0, "401: Unauthorized"))
            text, uploads = await read_payload(request)
            body = json.loads(text) if text else None
            try:
                problems = described_problems(method, template, body) if body is not None else []
                self._judge(name, problems)
                self._take_files(name, request, body, uploads)
                done: web.StreamResponse = await handler(request, body)
            except Refused as refused:
                done = _error(refused)
            world.notify()
            return _fail(request, fault) if fault else done

        return answer

    def _take_files(self, name: str, request: web.Request, body: Any, uploads: dict[str, Upload]) -> None:
        if uploads and name.startswith("message."):
            self._require(self._channel(request), data.ATTACH)
        if sum(len(content) for _, content in uploads.values()) > self._world.files_limit:
            raise Refused(413, 40005, "Request entity too large")
        shown = (body.get("data") if name == "callback" else body) if isinstance(body, dict) else None
        if shown:
            attach_files(self._world, shown, uploads)

    async def unknown(self, request: web.Request) -> web.Response:
        self._world.problems.append(f"unknown route {request.method} {request.path}")
        return _error(Refused(404, 0, "404: Not Found"))

    async def file(self, request: web.Request) -> web.Response:
        world = self._world
        if world.holds_files:
            world.waiting_for_files += 1
            world.notify()
            await world.until(lambda: not world.holds_files, within_s=60)
        content = world.files.get(f"{request.match_info['id']}/{request.match_info['name']}")
        return web.Response(body=content) if content is not None else web.Response(status=404)

    # Who and where

    async def _me(self, request: web.Request, body: Any) -> web.Response:
        return _json(data.BOT)

    async def _application(self, request: web.Request, body: Any) -> web.Response:
        return _json(
            {
                "id": APPLICATION_ID, "name": "gorkd", "description": "", "icon": None, "bot_public": True,
                "bot_require_code_grant": False, "verify_key": "00", "owner": data.ASKER, "flags": 0, "team": None,
            }
        )  # fmt: skip

    async def _gateway(self, request: web.Request, body: Any) -> web.Response:
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return _json({"url": self._world.gateway.url, "shards": 1, "session_start_limit": limit})

    async def _get_channel(self, request: web.Request, body: Any) -> web.Response:
        return _json(self._channel(request).to_json())

    async def _edit_channel(self, request: web.Request, body: Any) -> web.Response:
        """Whoever has made a thread may rename and open it; the bot may manage no other channel."""
        thread = self._channel(request)
        if thread.kind != data.PUBLIC_THREAD:
            raise Refused(403, 50013, "Missing Permissions")
        if thread.locked:
            raise Refused(403, 160005, "Thread is locked")
        thread.name, thread.archived = body.get("name", thread.name), body.get("archived", thread.archived)
        return _json(thread.to_json())

    async def _guilds(self, request: web.Request, body: Any) -> web.Response:
        after = int(request.query.get("after", "0"))
        listed = [{"id": guild.id, "name": guild.name} for guild in self._world.guilds if int(guild.id) > after]
        return _json(listed[: int(request.query["limit"])])

    async def _get_guild(self, request: web.Request, body: Any) -> web.Response:
        found = next((one for one in self._world.guilds if one.id == request.match_info["guild_id"]), None)
        if found is None:
            raise Refused(404, 10004, "Unknown Guild")
        return _json(found.to_json())

    async def _get_member(self, request: web.Request, body: Any) -> web.Response:
        user_id = request.match_info["user_id"]
        person = next((one for one in (data.ASKER, data.OTHER) if one["id"] == user_id), None)
        if person is None or user_id in self._world.left:
            raise Refused(404, 10007, "Unknown Member")
        joined = "2024-01-01T00:00:00+00:00"
        return _json({"user": person, "roles": [], "joined_at": joined, "deaf": False, "mute": False, "flags": 0})

    async def _open_dm(self, request: web.Request, body: Any) -> web.Response:
        person = next(one for one in (data.ASKER, data.OTHER) if one["id"] == str(body["recipient_id"]))
        return _json(self._world.direct(person).to_json())

    # Commands

    async def _commands(self, request: web.Request, body: Any) -> web.Response:
        return _json(self._world.commands)

    async def _put_commands(self, request: web.Request, body: Any) -> web.Response:
        for command in body:
            self._judge("command", command_problems(command))
        self._world.command_puts += 1
        self._world.commands = [
            {
                "application_id": APPLICATION_ID, "version": "1", "type": 1, "default_member_permissions": None,
                "nsfw": False, "description": "", **command, "id": self._world.ids.next(),
            }
            for command in body
        ]  # fmt: skip
        return _json(self._world.commands)

    # Interactions

    async def _callback(self, request: web.Request, body: Any) -> web.Response:
        world = self._world
        interaction = world.interactions.get(request.match_info["interaction_id"])
        if interaction is None or interaction.token != request.match_info["interaction_token"]:
            raise Refused(404, 10062, "Unknown interaction")
        if interaction.response_type:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        if world.age_s(interaction) > world.ack_s:
            world.problems.append(f"interaction {interaction.id} acknowledged after {world.age_s(interaction):.1f} s")
            raise Refused(404, 10062, "Unknown interaction")
        interaction.acked_s = world.age_s(interaction)
        kind, said = body["type"], body.get("data") or {}
        self._respond(interaction, kind, said)
        interaction.response_type = kind
        response = interaction.response
        if request.query.get("with_response") not in ("1", "true"):
            return web.Response(status=204)
        described: dict[str, Any] = {"interaction": {"id": interaction.id, "type": interaction.kind}}
        if response is not None:
            described["interaction"] |= {
                "response_message_id": response.id, "response_message_loading": response.is_thinking,
                "response_message_ephemeral": response.is_ephemeral,
            }  # fmt: skip
            described["resource"] = {"type": kind, "message": response.to_json()}
        return _json(described)

    def _respond(self, interaction: Interaction, kind: int, said: dict[str, Any]) -> None:
        if kind == 8:
            self._judge("autocomplete", choices_problems(said["choices"]))
            interaction.choices = said["choices"]
        elif kind == 9:
            self._judge("modal", modal_problems(said))
            interaction.modal = said
        elif kind == 5:
            flags = int(said.get("flags") or 0) & data.EPHEMERAL | data.LOADING
            interaction.response = self._say(interaction, {"flags": flags})
        elif kind == 4:
            self._judge("callback", message_problems(said))
            interaction.response = self._say(interaction, said)
        elif kind in (6, 7) and interaction.message:
            interaction.response = interaction.message
            if kind == 7:
                self._judge("callback", message_problems(said))
                self._change(interaction.message, said)

    def _by_token(self, request: web.Request) -> Interaction:
        token = request.match_info["webhook_token"]
        found = [one for one in self._world.interactions.values() if one.token == token]
        if request.match_info["webhook_id"] != APPLICATION_ID or not found or not found[0].response_type:
            raise Refused(404, 10015, "Unknown Webhook")
        if self._world.age_s(found[0]) > self._world.token_s:
            raise Refused(401, 50027, "Invalid Webhook Token")
        return found[0]

    def _original(self, request: web.Request) -> tuple[Interaction, Message]:
        interaction = self._by_token(request)
        if interaction.response is None or interaction.response.is_deleted:
            raise Refused(404, 10008, "Unknown Message")
        return interaction, interaction.response

    async def _get_original(self, request: web.Request, body: Any) -> web.Response:
        return _json(self._original(request)[1].to_json())

    async def _edit_original(self, request: web.Request, body: Any) -> web.Response:
        interaction, message = self._original(request)
        self._judge("original.edit", message_problems(body))
        self._change(message, self._allowed(interaction, body))
        return _json(message.to_json())

    async def _edit_source(self, request: web.Request, body: Any) -> web.Response:
        """The message whose button was pressed, also when the press is answered in another."""
        message = self._by_token(request).message
        if message is None or message.id != request.match_info["message_id"] or message.is_deleted:
            raise Refused(404, 10008, "Unknown Message")
        self._judge("original.edit", message_problems(body))
        self._change(message, body)
        return _json(message.to_json())

    async def _delete_original(self, request: web.Request, body: Any) -> web.Response:
        self._original(request)[1].is_deleted = True
        return web.Response(status=204)

    async def _follow_up(self, request: web.Request, body: Any) -> web.Response:
        interaction = self._by_token(request)
        if not interaction.is_member and len(interaction.followups) >= FOLLOWUPS_OF_A_USER_INSTALL:
            raise Refused(400, 40094, "Maximum number of follow up messages reached")
        self._judge("followup", message_problems(body))
        if interaction.response and interaction.response.is_thinking and not interaction.response.is_deleted:
            self._change(interaction.response, body)
            return _json(interaction.response.to_json())
        message = self._say(interaction, body)
        interaction.followups.append(message)
        return _json(message.to_json())

    def _say(self, interaction: Interaction, body: dict[str, Any]) -> Message:
        allowed = self._allowed(interaction, body)
        return self._world.add_message(interaction.channel, data.BOT, allowed, interaction_id=interaction.id)

    @staticmethod
    def _allowed(interaction: Interaction, body: dict[str, Any]) -> dict[str, Any]:
        """Where the bot may not embed, its embeds are not shown."""
        return body if interaction.channel.permissions & data.EMBED else {**body, "embeds": []}

    # Messages

    async def _create(self, request: web.Request, body: Any) -> web.Response:
        channel = self._channel(request)
        self._require(channel, data.IN_THREADS if channel.kind == data.PUBLIC_THREAD else data.SEND)
        if body.get("embeds"):
            self._require(channel, data.EMBED)
        self._judge("message.create", message_problems(body))
        if channel.locked:
            raise Refused(403, 160005, "Thread is locked")
        channel.archived = False  # who writes in a thread opens it
        nonce = str(body["nonce"]) if body.get("nonce") is not None else None
        if nonce and body.get("enforce_nonce"):
            for earlier in self._world.messages.values():
                if earlier.nonce == nonce and earlier.channel_id == channel.id and not earlier.is_deleted:
                    return _json(earlier.to_json())
        reference = body.get("message_reference")
        if reference and channel.kind not in (data.DM, data.GROUP_DM) and not channel.permissions & data.HISTORY:
            raise Refused(400, 160002, "Cannot reply without permission to read message history")
        target = self._world.messages.get(str(reference["message_id"])) if reference else None
        if reference and (target is None or target.is_deleted):
            if reference.get("fail_if_not_exists", True):
                raise Refused(400, 50035, "Invalid Form Body: MESSAGE_REFERENCE_UNKNOWN_MESSAGE")
            reference = None
        if reference:  # Discord takes ids as numbers too, and gives them back as strings
            reference = {"message_id": str(reference["message_id"]), "channel_id": channel.id}
        message = self._world.add_message(channel, data.BOT, body, nonce=nonce, reference=reference)
        message.pinged = _pinged(body, target if reference else None)
        shown = message.to_json() | ({"guild_id": message.guild_id} if message.guild_id else {})
        self._world.gateway.dispatch("MESSAGE_CREATE", shown)
        return _json(message.to_json())

    async def _get(self, request: web.Request, body: Any) -> web.Response:
        return _json(self._message(request).to_json())

    async def _edit(self, request: web.Request, body: Any) -> web.Response:
        message = self._message(request)
        if message.author != data.BOT:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        if message.is_ephemeral:
            raise Refused(404, 10008, "Unknown Message")
        if self._channel(request).archived:
            raise Refused(400, 50083, "Thread is archived")
        if body.get("embeds"):
            self._require(self._channel(request), data.EMBED)
        self._judge("message.edit", message_problems(body))
        self._change(message, body)
        return _json(message.to_json())

    async def _delete(self, request: web.Request, body: Any) -> web.Response:
        message = self._message(request)
        if message.author != data.BOT:
            raise Refused(403, 50013, "Missing Permissions")
        message.is_deleted = True
        return web.Response(status=204)

    async def _thread(self, request: web.Request, body: Any) -> web.Response:
        message, channel = self._message(request), self._channel(request)
        if channel.kind != data.TEXT:
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        self._require(channel, data.THREADS)
        if message.thread is not None:
            raise Refused(400, 160004, "A thread has already been created for this message")
        self._judge("thread.create", thread_problems(body))
        return _json(self._world.add_thread(message, body["name"]).to_json(), status=201)

    async def _react(self, request: web.Request, body: Any) -> web.Response:
        self._require(self._channel(request), data.REACT)
        self._world.reactions.append((self._message(request).id, request.match_info["emoji"]))
        return web.Response(status=204)

    async def _typing(self, request: web.Request, body: Any) -> web.Response:
        return web.Response(status=204)

    def _channel(self, request: web.Request) -> Channel:
        channel = self._world.channels.get(request.match_info["channel_id"])
        if channel is None:
            raise Refused(404, 10003, "Unknown Channel")
        is_foreign = self._world.guild_of(channel) is self._world.foreign and not self._world.joined
        if channel.kind == data.GROUP_DM or is_foreign:
            raise Refused(403, 50001, "Missing Access")
        return channel

    def _message(self, request: web.Request) -> Message:
        channel = self._channel(request)
        message = self._world.messages.get(request.match_info["message_id"])
        if message is None or message.is_deleted or message.channel_id != channel.id:
            raise Refused(404, 10008, "Unknown Message")
        return message

    def _change(self, message: Message, body: dict[str, Any]) -> None:
        """What is not named in an edit stays; an answer that was awaited is no longer."""
        flags = message.flags & ~data.LOADING
        message.attachments = body.get("attachments", message.attachments)
        message.versions.append({**message.versions[-1], **body, "flags": flags})
        self._world.notify()

    @staticmethod
    def _require(channel: Channel, permission: int) -> None:
        if channel.kind not in (data.DM, data.GROUP_DM) and not channel.permissions & permission:
            raise Refused(403, 50013, "Missing Permissions")

    def _judge(self, where: str, problems: list[str]) -> None:
        """Refuse what Discord would refuse, and remember it for the end of the test."""
        if problems:
            self._world.problems += [f"{where}: {problem}" for problem in problems]
            raise Refused(400, 50035, f"Invalid Form Body: {problems}")


def _pinged(body: dict[str, Any], replied: Message | None) -> list[str]:
    """Whom a message notifies: those named in its content, as far as it allows it, and whom it replies to."""
    allowed = body.get("allowed_mentions") or {}
    named = set(re.findall(r"<@!?(\d+)>", str(body.get("content") or "")))
    may = named if "users" in (allowed.get("parse") or []) else named & set(map(str, allowed.get("users") or []))
    is_everyone = "everyone" in (allowed.get("parse") or []) and "@everyone" in str(body.get("content"))
    answered = {replied.author["id"]} if replied and allowed.get("replied_user") else set()
    return sorted(may | answered | ({"everyone"} if is_everyone else set()))


def _json(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Named as Discord names it: discord.py reads nothing else as JSON."""
    named = {"Content-Type": "application/json", **(headers or {})}
    return web.Response(body=json.dumps(body).encode(), status=status, headers=named)


def _error(refused: Refused) -> web.Response:
    return _json({"code": refused.code, "message": str(refused)}, status=refused.status)


def _fail(request: web.Request, fault: Fault) -> web.StreamResponse:
    if fault.status == 0:
        request.transport.abort()
        return web.Response(status=500)
    if fault.status == 429:
        body = {"message": "You are being rate limited.", "retry_after": fault.retry_after_s, "global": False}
        headers = {"Via": "1.1 google", "Retry-After": "1", "X-RateLimit-Scope": "shared"}
        return _json(body, status=429, headers=headers)
    return _json({"code": fault.code, "message": f"{fault.status}"}, status=fault.status)
