"""A loopback Slack with people in it: they ask, click, and attach; the app under test answers.

async with SlackWorld.open() as slack:
    env = slack.env(tmp_path)
    await slack.mentions(ADA, GENERAL, "How tall is it?")
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.loopback.slack_api import Api, ResponseUrl
from tests.loopback.slack_delivery import Ack, Delivery, SignedHttp, SocketMode, deliver
from tests.loopback.slack_limits import options_faults, view_answer_faults
from tests.loopback.slack_state import (
    APP,
    APP_TOKEN,
    BOT_TOKEN,
    BOT_USER,
    GENERAL,
    SIGNING_SECRET,
    Ephemeral,
    Message,
    State,
)

Json = Any


@dataclass
class SlackWorld:
    """`delivery` is Socket Mode unless a test sets `SignedHttp`."""

    state: State
    api: Api
    socket: SocketMode
    url: str
    delivery: Delivery
    retry_delays_s: Sequence[float] = (0.0, 0.2, 1.0)  # Slack's 0, 60 and 300 s, shortened
    acks: list[Ack] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[SlackWorld]:
        """Raises `AssertionError` at the end for whatever the real Slack would have refused."""
        state = State()
        api, socket = Api(state), SocketMode()
        app = web.Application()
        api.add_routes(app)
        socket.add_routes(app)
        async with TestServer(app) as server:
            url = str(server.make_url("")).rstrip("/")
            socket.base_url, api.base_url, api.opens_socket = url, url, socket.open
            yield cls(state, api, socket, url, socket)
            for session in list(socket.sessions):
                await session.close()
        assert api.violations == [], api.violations

    def env(self, *, http: bool = False) -> dict[str, str]:
        """Settings for an app that lives in this workspace."""
        env = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_API_BASE_URL": f"{self.url}/api/"}
        return env | ({"SLACK_SIGNING_SECRET": SIGNING_SECRET} if http else {"SLACK_APP_TOKEN": APP_TOKEN})

    def over_http(self, address: str) -> SignedHttp:
        """From now on deliver to the app at this address."""
        self.delivery = delivery = SignedHttp(f"{address}/slack/events")
        return delivery

    async def until(self, condition: Callable[[], object], *, within_s: float = 40.0) -> None:
        """Wait until something holds that the app's calls bring about."""
        async with asyncio.timeout(within_s), self.api.changed:
            await self.api.changed.wait_for(lambda: bool(condition()))

    async def mentions(self, user: str, channel: str, question: str, **changes: Json) -> Message:
        """Somebody mentions the app in a channel; gives that message."""
        thread = changes.pop("thread_ts", "")
        asked = self.state.says(user, channel, f"<@{BOT_USER}> {question}", thread)
        await self.send("event", self.event("app_mention", asked, **changes))
        return asked

    async def direct(self, user: str, text: str, **changes: Json) -> Message:
        """Somebody writes to the app in their direct messages."""
        thread = changes.pop("thread_ts", "")
        asked = self.state.says(user, self.state.direct(user), text, thread)
        await self.send("event", self.event("message", asked, channel_type="im", **changes))
        return asked

    async def deletes(self, message: Message) -> None:
        """Somebody deletes their own message."""
        message.is_deleted = True
        gone = {"user": message.user, "text": message.text, "ts": message.ts}
        stamp = self.state.new_ts()
        event = {
            "type": "message", "subtype": "message_deleted", "channel": message.channel, "deleted_ts": message.ts,
            "previous_message": gone, "ts": stamp, "event_ts": stamp, "hidden": True,
        }  # fmt: skip
        await self.send("event", self._event_body(event))

    async def edits(self, message: Message, text: str) -> None:
        """Somebody changes what they have written; a mention stays."""
        before = {"type": "message", "user": message.user, "text": message.text, "ts": message.ts}
        mention = f"<@{BOT_USER}> " if f"<@{BOT_USER}>" in message.text else ""
        message.text, stamp = f"{mention}{text}", self.state.new_ts()
        thread = {"thread_ts": message.thread_ts} if message.thread_ts else {}
        now = {**before, **thread, "text": message.text, "edited": {"user": message.user, "ts": stamp}}
        event = {
            "type": "message", "subtype": "message_changed", "channel": message.channel, "message": now,
            "previous_message": {**before, **thread}, "ts": stamp, "event_ts": stamp, "hidden": True,
        }  # fmt: skip
        await self.send("event", self._event_body(event))

    async def opens_messages(self, user: str) -> str:
        """Somebody opens their messages with an agent, which hears what else they look at; gives the channel."""
        channel, stamp = self.state.direct(user), self.state.new_ts()
        opened = {"type": "app_home_opened", "user": user, "channel": channel, "tab": "messages", "event_ts": stamp}
        await self.send("event", self._event_body(opened))
        entity = {"type": "slack#/types/channel_id", "value": GENERAL, "team_id": self.state.team}
        changed = {
            "type": "app_context_changed", "user": user, "channel": channel, "event_ts": stamp,
            "context": {"entities": [entity]},
        }  # fmt: skip
        await self.send("event", self._event_body(changed))
        return channel

    async def opens_pane(self, user: str) -> str:
        """Somebody opens the pane of an assistant, as apps were before; gives the thread that Slack makes for it."""
        channel = self.state.direct(user)
        root = self.state.says(BOT_USER, channel, "New thread")
        thread = {"user_id": user, "channel_id": channel, "thread_ts": root.ts, "context": {}}
        event = {"type": "assistant_thread_started", "assistant_thread": thread, "event_ts": root.ts}
        await self.send("event", self._event_body(event))
        return root.ts

    async def commands(
        self, user: str, channel: str, text: str, *, trigger: str = "", command: str = "/research"
    ) -> Ack:
        """Somebody types a slash command."""
        payload = {
            "command": command, "text": text, "team_id": self.state.team, "team_domain": "loop", "api_app_id": APP,
            "channel_id": channel, "channel_name": channel.lower(), "user_id": user, "user_name": user.lower(),
            "trigger_id": trigger or self.state.new_trigger(), "response_url": self.response_url(channel, user),
        }  # fmt: skip
        ack = await self.send("command", payload)
        self._show(ack, channel, user)
        return ack

    async def form(self, user: str, channel: str, text: str = "", *, command: str = "/research") -> dict[str, Json]:
        """Somebody types a slash command that opens a form, once it is acknowledged; the form."""
        before = len(self.state.views)
        await self.commands(user, channel, text, command=command)
        await self.until(lambda: len(self.state.views) > before)
        return self.state.views[-1]

    async def shortcut(self, user: str, message: Message, callback_id: str = "research_this") -> Ack:
        """Somebody picks the message shortcut."""
        payload = {
            "type": "message_action", "callback_id": callback_id, "message_ts": message.ts,
            "message": message.described(with_metadata=False), **self._interaction(user, message.channel),
        }  # fmt: skip
        return await self.send("interactive", payload)

    async def clicks(self, user: str, message: Message, action_id: str, **changes: Json) -> Ack:
        """Somebody clicks a button of a message, or chooses from its menu; of feedback buttons, `value` says which."""
        element = message.buttons[action_id]
        action = {"block_id": "b", "action_ts": self.state.new_ts()}
        if "menu" in element:
            option = {"text": element["text"], "value": changes.pop("value", element["value"])}
            action |= {"type": "overflow", "action_id": element["menu"], "selected_option": option}
        else:
            action |= {"type": element["type"], "action_id": action_id}
            action["value"] = changes.pop("value", element.get("value", ""))
        container = {"type": "message", "message_ts": message.ts, "channel_id": message.channel}
        payload = {
            "type": "block_actions", "actions": [action], "container": container,
            "message": message.described(with_metadata=True), **self._interaction(user, message.channel), **changes,
        }  # fmt: skip
        return await self.send("interactive", payload)

    async def clicks_aside(self, aside: Ephemeral, action_id: str) -> Ack:
        """Who was shown something alone clicks a button of it: Slack then sends no message along."""
        element = Message(aside.channel, "", "", aside.text, aside.blocks).buttons[action_id]
        action = {"type": "button", "action_id": action_id, "block_id": "b", "action_ts": self.state.new_ts()}
        container = {
            "type": "message", "message_ts": self.state.new_ts(), "channel_id": aside.channel, "is_ephemeral": True,
        }  # fmt: skip
        payload = {
            "type": "block_actions", "actions": [{**action, "value": element["value"]}], "container": container,
            **self._interaction(aside.user, aside.channel),
        }  # fmt: skip
        return await self.send("interactive", payload)

    async def shares(self, user: str, message: Message) -> None:
        """Somebody chooses Share, and says yes."""
        before = len(self.state.views)
        await self.clicks(user, message, "share")
        await self.until(lambda: len(self.state.views) > before)
        await self.submits(user, self.state.views[-1], {})

    async def stops(self, user: str, message: Message, *, is_heard: bool = True) -> None:
        """Somebody presses Slack's own Stop on a stream; `is_heard` is whether the app has subscribed to that event."""
        self.api.streams.stopped_by_person(message)
        event = {
            "type": "agent_session_stopped", "channel": message.channel, "thread_ts": message.thread_ts, "user": user,
            "streaming_message_ts": [message.ts], "event_ts": self.state.new_ts(),
        }  # fmt: skip
        if is_heard:
            await self.send("event", self._event_body(event))

    async def submits(self, user: str, view: Mapping[str, Json], values: Mapping[str, Json]) -> Ack:
        """Somebody sends a modal off; `values` by block id and action id."""
        payload = {"type": "view_submission", "view": {**view, "state": {"values": values}}, **self._person(user)}
        ack = await self.send("interactive", payload)
        self.api.violations += view_answer_faults(view, ack.payload)
        if ack.payload.get("response_action") == "update":
            self.state.views.append({**ack.payload["view"], "id": view["id"]})
        return ack

    async def suggests(self, user: str, view: Mapping[str, Json], action_id: str, typed: str) -> list[Json]:
        """Somebody types into an external select of a modal; the options that the app gives."""
        payload = {
            "type": "block_suggestion", "action_id": action_id, "block_id": action_id, "value": typed,
            "view": view, "container": {"type": "view", "view_id": view["id"]}, **self._person(user),
        }  # fmt: skip
        ack = await self.send("interactive", payload)
        self.api.violations += options_faults(ack.payload)
        return ack.payload.get("options") or []

    async def clicks_home(self, user: str, action_id: str) -> Ack:
        """Somebody clicks a button on their page in the app's home."""
        action = {"type": "button", "action_id": action_id, "block_id": "b", "action_ts": self.state.new_ts()}
        payload = {
            "type": "block_actions", "actions": [action], "container": {"type": "view"},
            "view": self.state.homes[user], "trigger_id": self.state.new_trigger(), **self._person(user),
        }  # fmt: skip
        return await self.send("interactive", payload)

    def attaches(self, name: str, mimetype: str, content: bytes) -> dict[str, Json]:
        """A file as events describe it; its bytes need the app's token."""
        file_id = self.state.new_id("F")
        described = {
            "id": file_id, "name": name, "title": name, "mimetype": mimetype, "size": len(content), "mode": "hosted",
            "url_private": f"{self.url}/files/{file_id}", "url_private_download": f"{self.url}/files/{file_id}",
        }  # fmt: skip
        self.state.files[file_id] = (described, content)
        return described

    def event(self, kind: str, said: Message, **changes: Json) -> dict[str, Json]:
        """An event about a message. `app_mention` carries no channel type."""
        event = {"type": kind, "user": said.user, "text": said.text, "ts": said.ts, "channel": said.channel}
        if said.thread_ts:
            event["thread_ts"] = said.thread_ts
        return self._event_body({**event, "event_ts": said.ts, "team": self.state.team, **changes})

    async def send(self, kind: str, payload: Mapping[str, Json]) -> Ack:
        ack = await deliver(self.delivery, kind, payload, retry_delays_s=self.retry_delays_s)
        self.acks.append(ack)
        return ack

    def response_url(self, channel: str, user: str) -> str:
        name = self.state.new_id("R")
        self.api.response_urls[name] = ResponseUrl(channel, user, time.monotonic())
        return f"{self.url}/response/{name}"

    async def tells(self, event: Mapping[str, Json]) -> Ack:
        """An event that is nobody's message."""
        return await self.send("event", self._event_body(event))

    def _event_body(self, event: Mapping[str, Json]) -> dict[str, Json]:
        authorized = [{"team_id": self.state.team, "user_id": BOT_USER, "is_bot": True, "enterprise_id": None}]
        known = {"type": "event_callback", "team_id": self.state.team, "api_app_id": APP, "authorizations": authorized}
        return {**known, "event_id": self.state.new_id("Ev"), "event_time": int(time.time()), "event": dict(event)}

    def _person(self, user: str) -> dict[str, Json]:
        team = self.state.team
        return {"user": {"id": user, "team_id": team}, "team": {"id": team, "domain": "loop"}, "api_app_id": APP}

    def _interaction(self, user: str, channel: str) -> dict[str, Json]:
        team = self.state.team
        return {
            "team": {"id": team, "domain": "loop"}, "user": {"id": user, "team_id": team}, "api_app_id": APP,
            "channel": {"id": channel, "name": channel.lower()}, "trigger_id": self.state.new_trigger(),
            "response_url": self.response_url(channel, user),
        }  # fmt: skip

    def _show(self, ack: Ack, channel: str, user: str) -> None:
        if ack.payload.get("text") or ack.payload.get("blocks"):
            self.api.show_response(ResponseUrl(channel, user), ack.payload)
