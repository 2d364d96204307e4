"""A loopback Discord: what people do in it, and what they see. The bot talks to its gateway and its REST API.

async with discord_world() as discord:
    process = await start_bot(discord, env)
    asked = discord.slash("research", query="What causes the tides?")
    await discord.until(lambda: discord.answers_to(asked))

`problems` collects everything the real Discord would have refused; a test ends by asserting that it is empty.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from tests.loopback import discord_data as data
from tests.loopback.discord_data import Channel, Guild, Interaction, Message
from tests.loopback.discord_gateway import Gateway

TOKEN = "MTIz.loopback.0123456789abcdef"
KINDS = {str: 3, int: 4, bool: 5}  # of command options


@dataclass
class Fault:
    """How the next `times` requests of a route fail: with `status`, or by a cut connection where it is 0."""

    status: int = 500
    times: int = 1
    after_effect: bool = False
    code: int = 0
    retry_after_s: float = 0.2


@dataclass
class DiscordWorld:
    """`token_s` is how long an interaction's token lives, `ack_s` within what time it must be answered.

    While it `holds_files` it hands out none that people have sent.
    """

    token_s: float = 900.0
    ack_s: float = 3.0
    url: str = ""
    commands: list[dict[str, Any]] = field(default_factory=list)
    command_puts: int = 0
    messages: dict[str, Message] = field(default_factory=dict)
    interactions: dict[str, Interaction] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    chosen: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    reactions: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    files_limit: int = 10_485_760  # bytes of one message's files, where no server is boosted
    holds_files: bool = False
    waiting_for_files: int = 0
    joined: bool = False
    left: set[str] = field(default_factory=set)  # who is in the server no more
    ids: data.Snowflakes = field(default_factory=data.Snowflakes)

    def __post_init__(self) -> None:
        self.guild = Guild(data.GUILD_ID, "Lighthouse keepers")
        self.foreign = Guild(data.FOREIGN_GUILD_ID, "Elsewhere")
        self.gateway = Gateway(TOKEN, lambda: self.guilds)
        self.gateway.changed = self.notify
        self._changed = asyncio.Event()
        self.open = self._channel("general")
        self.quiet = self._channel("quiet")
        self.hidden = self._channel("staff", hidden=True)
        self.no_embeds = self._channel("plain", denied=data.EMBED)
        self.no_threads = self._channel("flat", denied=data.THREADS)
        self.no_history = self._channel("forgetful", denied=data.HISTORY)
        self.no_send = self._channel("read-only", denied=data.SEND)
        self.elsewhere = self._add(Channel(self.ids.next(), "elsewhere", guild_id=self.foreign.id))
        self.foreign.channels.append(self.elsewhere)

    @property
    def guilds(self) -> list[Guild]:
        """Whose member the bot is."""
        return [self.guild, self.foreign] if self.joined else [self.guild]

    def invites(self) -> Channel:
        """The owner of the other server invites the bot there; gives the channel in which Discord greets."""
        self.joined = True
        told = {**self.foreign.to_json(), "system_channel_id": self.elsewhere.id}
        del told["unavailable"]  # says that the guild comes back from an outage
        self.gateway.dispatch("GUILD_CREATE", told)
        return self.elsewhere

    def removes(self) -> None:
        """It is removed again."""
        self.joined = False
        self.gateway.dispatch("GUILD_DELETE", {"id": self.foreign.id})

    def deletes_channel(self) -> None:
        """Somebody deletes the first channel."""
        self.gateway.dispatch("CHANNEL_DELETE", self.open.to_json())

    # What people do

    def slash(
        self, name: str, *, person: dict[str, Any] = data.ASKER, channel: Channel | None = None, **options: object
    ) -> Interaction:
        """Somebody uses a command. Where the bot is no member, it is there as that person's own install."""
        return self._begin(2, self._command_data(name, options), person, channel or self.open)

    def typing(self, name: str, focused: str, value: str) -> Interaction:
        """Somebody is filling in an option that completes itself."""
        asked = self._command_data(name, {focused: value})
        asked["options"][0]["focused"] = True
        return self._begin(4, asked, data.ASKER, self.open)

    def use_on(self, message: Message, name: str, *, person: dict[str, Any] = data.ASKER) -> Interaction:
        """Somebody picks a command from a message's menu."""
        command = self._command(name, 3)
        channel = self.channels[message.channel_id]
        asked = {"id": command["id"], "name": name, "type": 3, "target_id": message.id}
        asked["resolved"] = {"messages": {message.id: message.to_json()}}
        return self._begin(2, asked, person, channel)

    def press(self, message: Message, label: str, *, person: dict[str, Any] = data.ASKER) -> Interaction:
        """Somebody presses a button, or chooses in a menu; an ephemeral message is pressed by whom it was shown to.

        What was chosen stays chosen, and a client sends no choice twice, until the message is drawn anew.
        """
        assert label in message.buttons, message.text
        item = message.buttons[label]
        if "value" in item:
            chosen = (item["value"], len(message.versions))
            assert self.chosen.get((message.id, person["id"])) != chosen, f"{label} is chosen already"
            self.chosen[message.id, person["id"]] = chosen
        asked = {"custom_id": item["custom_id"], "component_type": 2, "id": 1}
        if "value" in item:
            asked |= {"component_type": 3, "values": [item["value"]]}
        return self._begin(3, asked, person, self.channels[message.channel_id], message=message)

    def submit(self, form: Interaction, *values: str) -> Interaction:
        """Somebody sends the form that a press has opened, its inputs filled in order."""
        assert form.modal is not None, "no form was opened"
        rows = []
        for row, value in zip(form.modal["components"], values, strict=True):
            item = row["components"][0] if "components" in row else row["component"]
            filled = {"type": item["type"], "custom_id": item["custom_id"], "value": value, "id": 2}
            inner = {"components": [filled]} if "components" in row else {"component": filled}
            rows.append({"type": row["type"], "id": 1, **inner})
        asked = {"custom_id": form.modal["custom_id"], "components": rows}
        return self._begin(5, asked, form.person, form.channel, message=form.message)

    def fill(self, form: Interaction, **changes: str | list[str]) -> Interaction:
        """Somebody changes some fields of a form, by custom id, and sends it; the others are sent as they stand."""
        assert form.modal is not None, "no form was opened"
        rows = [
            {
                "type": 18,
                "id": 1,
                "component": data.filled(row["component"], changes.get(row["component"]["custom_id"])),
            }
            for row in form.modal["components"]
        ]
        asked = {"custom_id": form.modal["custom_id"], "components": rows, "resolved": self._resolved(rows)}
        return self._begin(5, asked, form.person, form.channel, message=form.message)

    def _resolved(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """The channels that are chosen in menus, as Discord describes them."""
        chosen = [one for row in rows for one in row["component"].get("values", []) if one in self.channels]
        return {"channels": {one: {**self.channels[one].to_json(), "permissions": str(data.ALL)} for one in chosen}}

    def say(
        self,
        text: str,
        *,
        person: dict[str, Any] = data.ASKER,
        channel: Channel | None = None,
        reply_to: Message | None = None,
        pings: bool = True,
        file: tuple[str, str, bytes] | None = None,
    ) -> Message:
        """Somebody writes. `@gorkd` mentions the bot; a reply pings its author; `file` is name, type, bytes."""
        place = channel or self.open
        content = text.replace("@gorkd", f"<@{data.BOT_ID}>")
        mentions = [data.BOT] if "@gorkd" in text else []
        if reply_to and pings and reply_to.author not in mentions:
            mentions.append(reply_to.author)
        message = self.add_message(place, person, {"content": content}, mentions=mentions)
        if reply_to:
            message.reference = {"message_id": reply_to.id, "channel_id": place.id, "guild_id": message.guild_id}
        if file:
            message.attachments.append(self._attach(*file))
        shown = message.to_json()
        if reply_to:
            shown["referenced_message"] = reply_to.to_json()
        if message.guild_id:
            shown |= {"guild_id": message.guild_id, "member": data.member(person)}
            if "@gorkd" not in text and not (reply_to and data.BOT in mentions and not reply_to.interaction_id):
                # Without the message content intent only what is addressed to the bot can be read.
                shown |= {"content": "", "attachments": [], "embeds": [], "components": []}
        self.gateway.dispatch("MESSAGE_CREATE", shown)
        return message

    def resend(self, event: str) -> None:
        """The gateway tells the bot the last such event once more."""
        frames = self.gateway.sessions[-1].frames
        told = next(frame for frame in reversed(frames) if frame["t"] == event)
        self.gateway.dispatch(event, told["d"])

    def edit(self, message: Message, text: str) -> None:
        """Somebody changes what they have written."""
        message.versions.append({"content": text.replace("@gorkd", f"<@{data.BOT_ID}>")})
        shown = message.to_json()
        shown |= {"guild_id": message.guild_id, "member": data.member(message.author)} if message.guild_id else {}
        self.gateway.dispatch("MESSAGE_UPDATE", shown)

    def delete(self, message: Message) -> None:
        message.is_deleted = True
        gone = {"id": message.id, "channel_id": message.channel_id}
        self.gateway.dispatch("MESSAGE_DELETE", gone | ({"guild_id": message.guild_id} if message.guild_id else {}))
        self.notify()

    def delete_all(self, *messages: Message) -> None:
        """A moderator deletes many messages of a channel at once."""
        for message in messages:
            message.is_deleted = True
        gone = {"ids": [message.id for message in messages], "channel_id": messages[0].channel_id}
        place = {"guild_id": messages[0].guild_id} if messages[0].guild_id else {}
        self.gateway.dispatch("MESSAGE_DELETE_BULK", gone | place)
        self.notify()

    def direct(self, person: dict[str, Any] = data.ASKER) -> Channel:
        """The direct messages between a person and the bot."""
        known = (one for one in self.channels.values() if one.kind == data.DM and one.recipient == person)
        return next(known, None) or self._add(Channel(self.ids.next(), kind=data.DM, guild_id="", recipient=person))

    # What people see

    def said_in(self, channel: Channel) -> list[Message]:
        """The bot's messages there, oldest first, without the deleted."""
        return [one for one in self.messages.values() if self._is_said(one) and one.channel_id == channel.id]

    def replies_to(self, asked: Message | Interaction) -> list[Message]:
        """The bot's messages that answer a message or an interaction, follow-ups included."""
        if isinstance(asked, Interaction):
            own = [asked.response] if asked.response else []
            return [one for one in [*own, *asked.followups] if not one.is_deleted]
        return [
            one for one in self.messages.values()
            if self._is_said(one) and (one.reference or {}).get("message_id") == asked.id
        ]  # fmt: skip

    @property
    def thinking(self) -> list[Message]:
        """What would say "thinking…" for ever."""
        return [one for one in self.messages.values() if one.is_thinking and not one.is_deleted]

    async def until(self, condition: Callable[[], object], *, within_s: float = 40.0) -> None:
        """Wait for the change that makes `condition` true."""
        async with asyncio.timeout(within_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def notify(self) -> None:
        self._changed.set()

    # What the server keeps

    def add_message(self, channel: Channel, author: dict[str, Any], body: dict[str, Any], **more: Any) -> Message:
        guild_id = channel.guild_id if channel.kind not in (data.DM, data.GROUP_DM) else None
        message = Message(self.ids.next(), channel.id, author, [dict(body)], guild_id or None, **more)
        message.attachments = list(body.get("attachments") or [])
        self.messages[message.id] = message
        self.notify()
        return message

    def guild_of(self, channel: Channel) -> Guild | None:
        return next((guild for guild in (self.guild, self.foreign) if guild.id == channel.guild_id), None)

    def add_thread(self, message: Message, name: str) -> Channel:
        parent = self.channels[message.channel_id]
        thread = Channel(
            message.id, name, data.PUBLIC_THREAD, parent.guild_id, denied=parent.denied, parent_id=parent.id
        )
        message.thread = self._add(thread)
        self.guild.threads.append(thread)
        self.gateway.dispatch("THREAD_CREATE", {**thread.to_json(), "newly_created": True})
        self.notify()
        return thread

    def archives(self, thread: Channel, *, locks: bool = False) -> None:
        """Somebody archives a thread, or it was quiet for too long; one who manages threads may lock it as well."""
        thread.archived, thread.locked = True, locks
        self.gateway.dispatch("THREAD_UPDATE", thread.to_json())

    def _is_said(self, message: Message) -> bool:
        return message.author == data.BOT and not message.is_deleted

    def _begin(
        self, kind: int, asked: dict[str, Any], person: dict[str, Any], channel: Channel, message: Message | None = None
    ) -> Interaction:
        guild = self.guild_of(channel)
        is_member = guild is self.guild or channel.kind == data.DM or (self.joined and guild is self.foreign)
        token = "aW50ZXJhY3Rpb24." + secrets.token_hex(60)
        interaction = Interaction(self.ids.next(), token, kind, channel, person, is_member, asked, message)
        self.interactions[interaction.id] = interaction
        self.gateway.dispatch("INTERACTION_CREATE", interaction.to_json(guild))
        return interaction

    def _command_data(self, name: str, options: dict[str, object]) -> dict[str, Any]:
        command = self._command(name, 1)
        known = {option["name"]: option for option in command.get("options") or []}
        given, resolved = [], {}
        for key, value in options.items():
            option = known[key]
            if option["type"] == 11:
                assert isinstance(value, tuple)
                kept = self._attach(*value)
                resolved[kept["id"]] = kept
                given.append({"name": key, "type": 11, "value": kept["id"]})
            else:
                assert option["type"] == KINDS[type(value)], (key, value)
                given.append({"name": key, "type": option["type"], "value": value})
        asked = {"id": command["id"], "name": name, "type": 1, "options": given}
        return asked | ({"resolved": {"attachments": resolved}} if resolved else {})

    def _command(self, name: str, kind: int) -> dict[str, Any]:
        return next(one for one in self.commands if one["name"] == name and one.get("type", 1) == kind)

    def _attach(self, name: str, content_type: str, content: bytes) -> dict[str, Any]:
        kept = self.ids.next()
        self.files[f"{kept}/{name}"] = content
        url = f"{self.url}/cdn/{kept}/{name}"
        return {"id": kept, "filename": name, "size": len(content), "url": url, "proxy_url": url,
                "content_type": content_type}  # fmt: skip

    def _channel(self, name: str, **how: Any) -> Channel:
        channel = self._add(Channel(self.ids.next(), name, **how))
        self.guild.channels.append(channel)
        return channel

    def _add(self, channel: Channel) -> Channel:
        self.channels[channel.id] = channel
        return channel

    def take_fault(self, route: str) -> Fault | None:
        """The fault that the next request of `route` meets."""
        fault = self.faults.get(route)
        if fault is None:
            return None
        if fault.times <= 1:
            del self.faults[route]
        else:
            self.faults[route] = replace(fault, times=fault.times - 1)
        return fault

    def age_s(self, interaction: Interaction) -> float:
        return time.monotonic() - interaction.at


@asynccontextmanager
async def discord_world(**how: Any) -> AsyncIterator[DiscordWorld]:
    """A running Discord on a free port; `how` sets attributes of the world."""
    from tests.loopback.discord_rest import build_app

    world = DiscordWorld(**how)
    runner = web.AppRunner(build_app(world), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        world.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        world.gateway.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/gateway"
        yield world
    finally:
        await runner.cleanup()
