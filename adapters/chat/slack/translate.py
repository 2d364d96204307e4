"""From Slack's payloads to what was asked, where, and in which scope. Pure."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.model.job import ResearchJob, ResearchRequest, Scope, Tenant, personal
from core.modes import read_modes
from core.modes.mode import ASKED, DEPTH, ROUNDS, TOP_K
from core.tenancy.settings import DEFAULTS, TenantSettings

Payload = Mapping[str, Any]  # Slack's JSON, read here and in bot.py, and nowhere else

PLATFORM = "slack"
_OPTION = re.compile(
    rf"(?:^|(?<=\s))({'|'.join(option.name for option in ASKED)}):(\"[^\"]*\"|“[^”]*”|\S+)", re.IGNORECASE
)
_YES = ("yes", "true", "on", "1")


def tenant_of(team_id: str) -> str:
    return str(Tenant(PLATFORM, team_id))


def id_of(body: Payload, name: str) -> str:
    """Of the `team`, `user` or `channel` that somebody pressed or sent something off in; "" where it is not said."""
    return str((body.get(name) or {}).get("id") or "")


def field_of(view: Payload, name: str) -> Payload:
    """What a form that was sent off says in one field; {} where it says nothing."""
    values = (view.get("state") or {}).get("values") or {}
    return (values.get(name) or {}).get(name) or {}


def given_in(view: Payload, name: str) -> str:
    """What is written or chosen in that field, several choices with blanks between; "" where nothing is."""
    field = field_of(view, name)
    several = field.get("selected_conversations") or [one["value"] for one in field.get("selected_options") or ()]
    return " ".join(several) or str((field.get("selected_option") or field).get("value") or "")


def typed_where(command: Payload) -> dict[str, str]:
    """Where a command was typed and by whom, which a form that it opens carries along."""
    return {name: str(command.get(name) or "") for name in ("team_id", "channel_id", "user_id", "response_url")}


def carried_by(view: Payload) -> dict[str, str]:
    """`typed_where` of the command that opened a form."""
    return typed_where(json.loads(str(view.get("private_metadata") or "{}")))


@dataclass(frozen=True)
class SlackPlace:
    """Where a question was asked. `is_open` says that the channel is known to be open to the whole workspace."""

    team_id: str
    channel_id: str
    user_id: str
    is_open: bool = False
    settings: TenantSettings = DEFAULTS

    @property
    def is_direct(self) -> bool:
        return self.channel_id.startswith("D")

    @property
    def tenant(self) -> str:
        return tenant_of(self.team_id)

    @property
    def scope(self) -> Scope:
        """Unknown means the channel; a direct message is the user's own."""
        if self.is_direct:
            return self.own_scope
        is_shared = self.is_open and self.settings.visibility == "workspace"
        return Scope(self.tenant, "workspace" if is_shared else f"channel:{self.channel_id}")

    @property
    def public_id(self) -> str:
        """The channel; "" for direct messages."""
        return "" if self.is_direct else self.channel_id

    @property
    def own_scope(self) -> Scope:
        return Scope(self.tenant, personal(self.user_id))


def is_shown(job: ResearchJob, channel_id: str, user_id: str) -> bool:
    """Whether this person may see a job of their workspace there: one's own, asked there, or in the open."""
    visible = ("workspace", f"channel:{channel_id}", personal(user_id))
    return job.request.asker == user_id or job.scope.visibility in visible


def scopes_of(team_id: str, channel_id: str, user_id: str) -> list[Scope]:
    """All that something may have been asked in there; whether the channel is open may have changed since."""
    open_place = SlackPlace(team_id, channel_id, user_id, is_open=True)
    scopes = (open_place.scope, replace(open_place, is_open=False).scope, open_place.own_scope)
    return list(dict.fromkeys(scopes))


@dataclass(frozen=True)
class SlackFile:
    """A file that came with a question; its bytes need the app's token."""

    id: str
    name: str
    media_type: str
    url: str
    size: int


@dataclass(frozen=True)
class SlackSaid:
    """What a person said to the app, in `thread_ts` or "" for none; `raw` is as Slack writes it, with mentions."""

    channel_id: str
    user_id: str
    ts: str
    text: str
    raw: str = ""
    thread_ts: str = ""
    files: tuple[SlackFile, ...] = ()
    parent_id: str = ""

    @property
    def is_reply(self) -> bool:
        return bool(self.thread_ts) and self.thread_ts != self.ts

    @property
    def is_direct(self) -> bool:
        return self.channel_id.startswith("D")


def said_in(event: Payload, bot_user_id: str) -> SlackSaid:
    """An `app_mention` or `message` event, without the mention and as the person typed it."""
    raw = str(event.get("text") or "")
    return SlackSaid(
        channel_id=str(event["channel"]),
        user_id=str(event.get("user") or ""),
        ts=str(event["ts"]),
        text=question_of(raw, bot_user_id),
        raw=raw,
        thread_ts=str(event.get("thread_ts") or ""),
        files=tuple(described_file(one) for one in event.get("files") or () if one.get("id")),
        parent_id=str(event.get("parent_user_id") or ""),
    )


def is_from_a_person(event: Payload) -> bool:
    """Not a bot, not an edit or a deletion; a message with a file is one."""
    return not event.get("bot_id") and event.get("subtype") in (None, "file_share") and bool(event.get("user"))


def is_open_channel(channel: Mapping[str, object]) -> bool:
    """Whether `conversations.info` describes a channel that all of this workspace, and nobody else, can read."""
    is_closed = any(
        channel.get(flag)
        for flag in ("is_private", "is_im", "is_mpim", "is_shared", "is_ext_shared", "is_pending_ext_shared")
    )
    return channel.get("is_channel") is True and not is_closed


def question_of(text: str, bot_user_id: str) -> str:
    """What was said to the bot, without mentioning it, as the person typed it."""
    unmentioned = re.sub(rf"<@{re.escape(bot_user_id)}(\|[^<>]*)?>", " ", text) if bot_user_id else text
    links_as_typed = re.sub(r"<(https?://[^|<>]+)(?:\|[^<>]*)?>", r"\1", unmentioned)
    return html.unescape(links_as_typed).strip()


def read_options(text: str, scope: Scope, own_scope: Scope, *, is_private: bool = False) -> ResearchRequest:
    """A question with `mode:deep depth:deep top_k:8 max_iterations:4 context:"…" private:yes fresh:yes` in it.

    `is_private` is what it is where nothing is said of it. Raises `InvalidQuery`.
    """
    found = _OPTION.findall(text)
    given = {name.lower(): value for name, value in found}
    modes = [_unquoted(value) for name, value in found if name.lower() == "mode"]  # each is one more
    request = ResearchRequest(" ".join(_OPTION.sub(" ", text).split()) if given else text.strip(), scope)
    if "private" in given:
        is_private = given["private"].lower() in _YES
    return replace(
        request,
        scope=own_scope if is_private else scope,
        modes=read_modes(" ".join(modes)) if modes else request.modes,
        depth=DEPTH.read(given["depth"]) if "depth" in given else request.depth,
        top_k=TOP_K.read(given["top_k"]) if "top_k" in given else request.top_k,
        max_iterations=ROUNDS.read(given["max_iterations"]) if "max_iterations" in given else request.max_iterations,
        context=_unquoted(given.get("context", "")),
        is_private=is_private,
        is_fresh=given.get("fresh", "").lower() in _YES,
    )


def _unquoted(value: str) -> str:
    return value.strip('"“”')


def text_of_message(message: Payload) -> str:
    """What a message says that somebody wants checked: its text, or that of its attachments."""
    parts = [str(message.get("text") or "")]
    if not parts[0].strip():
        attached = message.get("attachments") or ()
        parts.extend(str(one.get("text") or one.get("fallback") or "") for one in attached)
    return question_of("\n".join(part for part in parts if part), "")


def described_file(described: Payload) -> SlackFile:
    return SlackFile(
        id=str(described["id"]),
        name=str(described.get("name") or described.get("title") or described["id"]),
        media_type=str(described.get("mimetype") or ""),
        url=str(described.get("url_private_download") or described.get("url_private") or ""),
        size=int(described.get("size") or 0),
    )
