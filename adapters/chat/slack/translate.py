"""From Slack's payloads to a question and the scope it was asked in."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from core.job import Scope


@dataclass(frozen=True)
class Place:
    """Where a question was asked. `is_open` says that the channel is known to be open to the whole workspace."""

    team_id: str
    channel_id: str
    user_id: str
    is_open: bool = False

    @property
    def is_direct(self) -> bool:
        return self.channel_id.startswith("D")

    @property
    def scope(self) -> Scope:
        """Unknown means the channel; a direct message is the user's own."""
        tenant = f"slack:{self.team_id}"
        if self.is_direct:
            return Scope(tenant, f"user:{self.user_id}")
        return Scope(tenant, "workspace" if self.is_open else f"channel:{self.channel_id}")


def is_open_channel(channel: Mapping[str, object]) -> bool:
    """Whether `conversations.info` describes a channel that all of this workspace, and nobody else, can read."""
    is_closed = any(
        channel.get(flag)
        for flag in ("is_private", "is_im", "is_mpim", "is_shared", "is_ext_shared", "is_pending_ext_shared")
    )
    return channel.get("is_channel") is True and not is_closed


def question_of(text: str, bot_user_id: str) -> str:
    """What was said to the bot, without mentioning it, as the person typed it."""
    unmentioned = re.sub(rf"<@{re.escape(bot_user_id)}(\|[^>]*)?>", " ", text) if bot_user_id else text
    links_as_typed = re.sub(r"<(https?://[^|>]+)(?:\|[^>]*)?>", r"\1", unmentioned)
    return html.unescape(links_as_typed).strip()
