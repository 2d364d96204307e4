"""The workspace of a loopback Slack: people, channels, messages, files, views, and what may be done with them."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import dataclass, field
from typing import Any

Json = Any

TEAM, APP, BOT, BOT_USER = "T1", "A1", "B1", "UBOT"
BOT_TOKEN, APP_TOKEN, SIGNING_SECRET = (
    "xoxb-loop-0123456789",
    "xapp-1-loop-0123456789",
    "8f742231b10e8888abcd99yyyzzz85a5",
)
CONFIG_TOKEN = "xoxe.xoxp-1-loop-0123456789"  # of whoever makes apps
ADA, BEN = "U1ADA", "U2BEN"
GENERAL, SECRET, ELSEWHERE = "C1GENERAL", "C2SECRET", "C3ELSEWHERE"

CHANNEL_SCOPES = {"channel": "channels", "private": "groups", "im": "im", "mpim": "mpim"}
METHOD_SCOPES = {
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.startStream": "chat:write",
    "chat.appendStream": "chat:write",
    "chat.stopStream": "chat:write",
    "assistant.threads.setStatus": "assistant:write",
    "assistant.threads.setTitle": "assistant:write",
    "assistant.threads.setSuggestedPrompts": "assistant:write",
    "agents.sessions.setStatus": "chat:write",
    "agents.sessions.rename": "chat:write",
    "files.info": "files:read",
    "files.delete": "files:write",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "users.info": "users:read",
    "team.info": "team:read",
    "conversations.open": "im:write",
    "reactions.add": "reactions:write",
}


def read_markdown(text: str) -> str:
    """What is read of Markdown: links as their labels, nothing of what makes words bold."""
    return re.sub(r"\[(\[\d+\])\]\([^()\s]*\)", r"\1", text).replace("**", "")


@dataclass
class Channel:
    """`kind` is `channel`, `private`, `im` or `mpim`; `members` are user ids, the bot's among them where it is in.

    `closed` is the error that who writes there gets.
    """

    id: str
    kind: str
    members: set[str]
    is_shared: bool = False
    closed: str = ""

    def described(self) -> dict[str, Json]:
        if self.kind == "im":
            return {"id": self.id, "is_im": True, "user": next(iter(self.members - {BOT_USER}), "")}
        return {
            "id": self.id,
            "name": self.id.lower(),
            "is_channel": self.kind == "channel",
            "is_group": self.kind == "private",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "channel",
            "is_ext_shared": self.is_shared,
            "is_shared": self.is_shared,
            "is_member": BOT_USER in self.members,
        }


@dataclass
class StreamState:
    """`mode` is `chunks` or `text`, None until the first content; `plan` are its tasks by id, in order.

    `sent` are all chunks with the time each came, in seconds of `time.monotonic()`.
    """

    began_at: float = field(default_factory=time.monotonic)
    mode: str | None = None
    title: str = ""
    plan: dict[str, dict[str, Json]] = field(default_factory=dict)
    is_open: bool = True
    is_stopped_by_person: bool = False
    sent: list[tuple[float, dict[str, Json]]] = field(default_factory=list)


@dataclass
class Message:
    """As Slack keeps it; `versions` are the texts it has had, newest last."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[Json] = field(default_factory=list)
    thread_ts: str = ""
    metadata: dict[str, Json] = field(default_factory=dict)
    versions: list[str] = field(default_factory=list)
    is_deleted: bool = False
    files: list[Json] = field(default_factory=list)
    stream: StreamState | None = None
    reactions: list[str] = field(default_factory=list)

    def described(self, *, with_metadata: bool) -> dict[str, Json]:
        said: dict[str, Json] = {"type": "message", "ts": self.ts, "user": self.user, "text": self.text}
        if self.user == BOT_USER:
            said |= {"bot_id": BOT, "app_id": APP}
        if self.blocks:
            said["blocks"] = self.blocks
        if self.files:
            said |= {"files": self.files, "upload": True}
        if self.thread_ts:
            said["thread_ts"] = self.thread_ts
        if with_metadata and self.metadata:
            said["metadata"] = self.metadata
        return said

    @property
    def buttons(self) -> dict[str, Json]:
        """Every clickable element by its action_id, of a menu also each option, by what its value begins with."""
        found = {
            element["action_id"]: element
            for block in self.blocks
            for element in [*block.get("elements", []), *([block["accessory"]] if "accessory" in block else [])]
            if "action_id" in element
        }
        menus = [element for element in found.values() if element["type"] == "overflow"]
        options = {
            one["value"].partition(":")[0]: {**one, "menu": menu["action_id"]}
            for menu in menus
            for one in menu["options"]
        }
        return {**found, **options}

    @property
    def shown(self) -> str:
        """Every text of its blocks as people read it, or its own text."""
        texts: list[str] = []
        for block in self.blocks:
            parts = [block.get("text"), *block.get("fields", []), *block.get("elements", [])]
            parts += [cell for row in block.get("rows", []) for cell in row]
            texts += [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
            if block["type"] == "markdown":
                texts.append(read_markdown(block["text"]))
            texts += [block["title"], *(task["title"] for task in block["tasks"])] if block["type"] == "plan" else []
        return "\n".join(texts) or self.text


@dataclass
class Session:
    """Of an agent, by channel and thread; `titles` and `statuses` are those it has had, newest last."""

    titles: list[str]
    user: str
    statuses: list[str]


@dataclass
class Ephemeral:
    channel: str
    user: str
    text: str
    blocks: list[Json]
    thread_ts: str = ""

    @property
    def shown(self) -> str:
        return Message(self.channel, "", "", self.text, self.blocks).shown


@dataclass
class State:
    """A team with a public channel and a private one the bot is in, and a private one it is not in.

    `tokens` are the bot's, each with what Slack says to it, "" where it is taken. `homes` are what people see when they
    open the app, by person; `guests` are people who see only the channels they are in. `is_agent` is what its manifest
    says: an app has the agent view, or the assistant's of before. `prompts` stand in a thread, or in a channel.
    """

    team: str = TEAM
    tokens: dict[str, str] = field(default_factory=lambda: {BOT_TOKEN: ""})
    homes: dict[str, dict[str, Json]] = field(default_factory=dict)
    guests: set[str] = field(default_factory=set)
    admins: set[str] = field(default_factory=set)
    channels: dict[str, Channel] = field(default_factory=dict)
    messages: dict[tuple[str, str], Message] = field(default_factory=dict)
    ephemerals: list[Ephemeral] = field(default_factory=list)
    files: dict[str, tuple[dict[str, Json], bytes]] = field(default_factory=dict)
    views: list[dict[str, Json]] = field(default_factory=list)
    triggers: dict[str, float] = field(default_factory=dict)
    exchanged: set[str] = field(default_factory=set)
    admins: set[str] = field(default_factory=set)
    statuses: list[tuple[str, str]] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, list[Json]] = field(default_factory=dict)
    locales: dict[str, str] = field(default_factory=dict)  # of people, where not en-GB
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    scopes: set[str] = field(default_factory=set)
    is_agent: bool = True
    _counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        for channel in (
            Channel(GENERAL, "channel", {ADA, BEN, BOT_USER}),
            Channel(SECRET, "private", {ADA, BEN, BOT_USER}),
            Channel(ELSEWHERE, "private", {ADA, BEN}),
        ):
            self.channels[channel.id] = channel

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._counter):06d}"

    def new_ts(self) -> str:
        return f"{int(time.time())}.{next(self._counter):06d}"

    def new_trigger(self) -> str:
        trigger = self.new_id("tr.")
        self.triggers[trigger] = time.monotonic()
        return trigger

    def knows(self, user: str) -> bool:
        return any(user in channel.members for channel in self.channels.values())

    def direct(self, user: str) -> str:
        """The direct-message channel of a person and the bot; made when it is first needed."""
        channel_id = f"D{user}"
        self.channels.setdefault(channel_id, Channel(channel_id, "im", {user, BOT_USER}))
        return channel_id

    def says(self, user: str, channel: str, text: str, thread_ts: str = "", **more: Json) -> Message:
        """Keep a message of a person or of the bot."""
        message = Message(channel, self.new_ts(), user, text, thread_ts=thread_ts, versions=[text], **more)
        self.messages[channel, message.ts] = message
        return message

    def of_bot(self, channel: str = "", thread_ts: str | None = None) -> list[Message]:
        """What the bot has posted and not deleted, oldest first; with `thread_ts` only in that thread."""
        return [
            message
            for message in self.messages.values()
            if message.user == BOT_USER
            and not message.is_deleted
            and (not channel or message.channel == channel)
            and (thread_ts is None or message.thread_ts == thread_ts)
        ]
