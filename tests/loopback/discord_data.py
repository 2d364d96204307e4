"""Discord's objects as JSON: users, guilds, channels, messages, interactions; not what happens to them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

VIEW, SEND, EMBED, ATTACH, HISTORY = 1 << 10, 1 << 11, 1 << 14, 1 << 15, 1 << 16
THREADS, IN_THREADS = 1 << 35, 1 << 38
REACT, COMMANDS = 1 << 6, 1 << 31
MANAGE_GUILD = 1 << 5
ALL = VIEW | SEND | EMBED | ATTACH | HISTORY | THREADS | IN_THREADS | REACT | COMMANDS

TEXT, DM, GROUP_DM, PUBLIC_THREAD = 0, 1, 3, 11
EPHEMERAL, LOADING = 1 << 6, 1 << 7

APPLICATION_ID = "900000000000000001"
BOT_ID = APPLICATION_ID
GUILD_ID = "800000000000000001"
FOREIGN_GUILD_ID = "800000000000000002"
EPOCH_MS = 1_420_070_400_000


class Snowflakes:
    """Ids that carry their moment, as Discord's do, and never repeat."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> str:
        self._last = max(self._last + 1, (int(time.time() * 1000) - EPOCH_MS) << 22)
        return str(self._last)


def now() -> str:
    return datetime.now(UTC).isoformat()


def user(user_id: str, name: str, *, bot: bool = False) -> dict[str, Any]:
    return {
        "id": user_id, "username": name, "discriminator": "0", "global_name": name, "avatar": None, "bot": bot,
        "public_flags": 0,
    }  # fmt: skip


BOT = user(BOT_ID, "gorkd", bot=True)
ASKER = user("700000000000000001", "ada")
OTHER = user("700000000000000002", "bob")

TEXT_INPUT = 4  # a kind of component


def member(person: dict[str, Any], *, permissions: int = ALL) -> dict[str, Any]:
    return {
        "user": person, "roles": [], "joined_at": "2024-01-01T00:00:00+00:00", "deaf": False, "mute": False,
        "flags": 0, "permissions": str(permissions), "nick": None, "avatar": None,
    }  # fmt: skip


@dataclass
class Channel:
    """`denied` are the bot's missing permissions there; `hidden` is closed to everyone without a role."""

    id: str
    name: str = "general"
    kind: int = TEXT
    guild_id: str = GUILD_ID
    denied: int = 0
    hidden: bool = False
    recipient: dict[str, Any] | None = None
    parent_id: str | None = None
    archived: bool = False
    locked: bool = False

    @property
    def permissions(self) -> int:
        return ALL & ~self.denied

    def to_json(self) -> dict[str, Any]:
        if self.kind in (DM, GROUP_DM):
            return {"id": self.id, "type": self.kind, "recipients": [self.recipient], "last_message_id": None}
        shown: dict[str, Any] = {
            "id": self.id, "type": self.kind, "guild_id": self.guild_id, "name": self.name, "position": 0,
            "permission_overwrites": self._overwrites(), "parent_id": self.parent_id, "nsfw": False, "topic": None,
            "last_message_id": None, "rate_limit_per_user": 0, "flags": 0,
        }  # fmt: skip
        if self.kind == PUBLIC_THREAD:
            shown |= {
                "owner_id": BOT_ID, "message_count": 0, "member_count": 1, "total_message_sent": 0,
                "thread_metadata": {
                    "archived": self.archived, "auto_archive_duration": 1440, "archive_timestamp": now(),
                    "locked": self.locked,
                },
            }  # fmt: skip
        return shown

    def _overwrites(self) -> list[dict[str, Any]]:
        everyone = [{"id": self.guild_id, "type": 0, "allow": "0", "deny": str(VIEW)}] if self.hidden else []
        return [*everyone, {"id": BOT_ID, "type": 1, "allow": str(ALL & ~self.denied), "deny": str(self.denied)}]


@dataclass
class Guild:
    id: str
    name: str
    channels: list[Channel] = field(default_factory=list)
    threads: list[Channel] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        everyone = {
            "id": self.id, "name": "@everyone", "permissions": str(ALL), "position": 0, "color": 0, "hoist": False,
            "managed": False, "mentionable": False, "flags": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        }  # fmt: skip
        return {
            "id": self.id, "name": self.name, "owner_id": ASKER["id"], "roles": [everyone], "emojis": [],
            "stickers": [], "features": [], "channels": [channel.to_json() for channel in self.channels],
            "threads": [thread.to_json() for thread in self.threads], "member_count": 3, "large": False,
            "members": [member(BOT)], "voice_states": [], "presences": [], "stage_instances": [],
            "guild_scheduled_events": [], "soundboard_sounds": [], "joined_at": "2024-01-01T00:00:00+00:00",
            "unavailable": False, "preferred_locale": "en-US", "verification_level": 0, "nsfw_level": 0,
            "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0, "premium_tier": 0,
            "system_channel_flags": 0, "afk_timeout": 300,
        }  # fmt: skip


@dataclass
class Message:
    """`versions` are its bodies (content, embeds, components, flags), oldest first: what a person saw in turn."""

    id: str
    channel_id: str
    author: dict[str, Any]
    versions: list[dict[str, Any]]
    guild_id: str | None = None
    reference: dict[str, Any] | None = None
    nonce: str | None = None
    mentions: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    pinged: list[str] = field(default_factory=list)
    interaction_id: str | None = None
    is_deleted: bool = False
    thread: Channel | None = None
    at: float = field(default_factory=time.monotonic)

    @property
    def content(self) -> str:
        return str(self.versions[-1].get("content") or "")

    @property
    def embed(self) -> dict[str, Any]:
        embeds = self.versions[-1].get("embeds") or [{}]
        return dict(embeds[0])

    @property
    def text(self) -> str:
        """Everything readable in it as it is now."""
        return "\n".join(texts_of(self.versions[-1]))

    @property
    def flags(self) -> int:
        return int(self.versions[-1].get("flags") or 0)

    @property
    def is_ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)

    @property
    def is_thinking(self) -> bool:
        return bool(self.flags & LOADING)

    @property
    def buttons(self) -> dict[str, dict[str, Any]]:
        """By label, the choices of a menu too, each with its menu's id."""
        rows = self.versions[-1].get("components") or []
        items = [item for row in rows for item in row["components"]]
        chosen = [{**one, "custom_id": item["custom_id"]} for item in items for one in item.get("options", [])]
        shown = [item for item in items if "options" not in item]
        return {item.get("label") or item["emoji"]["name"]: item for item in [*shown, *chosen]}

    def to_json(self) -> dict[str, Any]:
        now_is = self.versions[-1]
        return {
            "id": self.id, "channel_id": self.channel_id, "author": self.author, "content": self.content,
            "timestamp": now(), "edited_timestamp": now() if len(self.versions) > 1 else None, "tts": False,
            "mention_everyone": False, "mentions": self.mentions, "mention_roles": [], "pinned": False,
            "attachments": self.attachments, "embeds": now_is.get("embeds") or [], "flags": self.flags,
            "components": _with_ids(now_is.get("components") or []), "type": 19 if self.reference else 0,
            **({"nonce": self.nonce} if self.nonce else {}),
            **({"message_reference": self.reference} if self.reference else {}),
            **({"webhook_id": APPLICATION_ID, "application_id": APPLICATION_ID} if self.interaction_id else {}),
        }  # fmt: skip


def texts_of(body: dict[str, Any]) -> list[str]:
    found = [str(body.get("content") or "")]
    for embed in body.get("embeds") or []:
        found += [str(embed.get("title") or ""), str(embed.get("description") or "")]
        found += [f"{field['name']}\n{field['value']}" for field in embed.get("fields") or []]
        found.append(str((embed.get("footer") or {}).get("text") or ""))
    return [text for text in found if text]


def _with_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Discord numbers every component of a message."""
    numbers = iter(range(1, 60))
    return [
        {**row, "id": next(numbers), "components": [{**item, "id": next(numbers)} for item in row["components"]]}
        for row in rows
    ]


@dataclass
class Interaction:
    """One press, command or submitted form; its token lives as long as the world's `token_s`."""

    id: str
    token: str
    kind: int
    channel: Channel
    person: dict[str, Any]
    is_member: bool
    data: dict[str, Any]
    message: Message | None = None
    at: float = field(default_factory=time.monotonic)
    acked_s: float | None = None
    response_type: int = 0
    response: Message | None = None
    followups: list[Message] = field(default_factory=list)
    modal: dict[str, Any] | None = None
    choices: list[dict[str, Any]] | None = None

    def to_json(self, guild: Guild | None) -> dict[str, Any]:
        owners = {"0": self.channel.guild_id if guild else "0"} if self.is_member else {"1": self.person["id"]}
        place: dict[str, Any] = {"channel": {**self.channel.to_json(), "permissions": str(ALL)}}
        if guild is None:
            place |= {"user": self.person, "context": 1 if self.is_member else 2}
        else:
            place |= {
                "guild_id": guild.id, "guild": {"id": guild.id, "locale": "en-US", "features": []},
                "guild_locale": "en-US", "member": member(self.person, permissions=_permissions(self.person)),
                "context": 0,
            }  # fmt: skip
        return {
            "id": self.id, "application_id": APPLICATION_ID, "type": self.kind, "data": self.data, "version": 1,
            "token": self.token, "channel_id": self.channel.id, "locale": "en-US", "entitlements": [],
            "app_permissions": str(self.channel.permissions), "authorizing_integration_owners": owners,
            "attachment_size_limit": 10_485_760, **place,
            **({"message": self.message.to_json()} if self.message else {}),
        }  # fmt: skip


def filled(field: dict[str, Any], value: str | list[str] | None) -> dict[str, Any]:
    """A form's field as Discord sends it: what was chosen or written, or what stood there."""
    kept = {"type": field["type"], "custom_id": field["custom_id"], "id": 2}
    if field["type"] == TEXT_INPUT:
        return {**kept, "value": field.get("value") or "" if value is None else value}
    standing = [option["value"] for option in field.get("options", []) if option.get("default")]
    standing += [str(default["id"]) for default in field.get("default_values", [])]
    chosen = standing if value is None else list(value)
    assert field.get("min_values", 1) <= len(chosen) <= field.get("max_values", 1), f"{field['custom_id']}: {chosen}"
    return {**kept, "values": chosen}


def _permissions(person: dict[str, Any]) -> int:
    """Who owns the server may do anything there."""
    return ALL | (MANAGE_GUILD if person == ASKER else 0)
