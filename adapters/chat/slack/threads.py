"""Which conversation a message belongs to, which places are open to the whole workspace, and who its admins are.

A conversation is named by its channel and first message. A thread that hangs on an answer of ours belongs
to the conversation that answer was given in; that is remembered here, and stands in the answer's metadata.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from adapters.chat.slack.client import FAULTS, Workspace, reason
from adapters.chat.slack.poster import conversation_of
from adapters.chat.slack.translate import PLATFORM, Place, Said, is_open_channel
from core.settings.desk import SettingsDesk

REMEMBERED = 5_000  # threads and channels; more are looked up again
REMEMBERED_S = 600.0  # of what may change: a channel that is closed, a person who is an admin no more

_log = logging.getLogger(__name__)
Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """The latest `REMEMBERED` entries, none for longer than `life_s`."""

    def __init__(self, life_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._life_s, self._clock = life_s, clock
        self._kept: OrderedDict[tuple[str, ...], tuple[Value, float]] = OrderedDict()

    def get(self, *key: str) -> Value | None:
        value, put_at = self._kept.get(key, (None, 0.0))
        return value if self._clock() - put_at < self._life_s else None

    def put(self, *key: str, value: Value) -> None:
        self._kept[key] = (value, self._clock())
        if len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)


class Threads:
    """Looks things up in Slack once in a while; `rules` are asked anew each time."""

    def __init__(self, rules: SettingsDesk, clock: Callable[[], float] = time.monotonic) -> None:
        self._rules = rules
        self._roots: Remembered[str] = Remembered()
        self._open: Remembered[bool] = Remembered(REMEMBERED_S, clock)

    async def conversation(self, workspace: Workspace, said: Said) -> str:
        """Of a message in a thread that thread's, of a direct message the channel's, else a new one."""
        if said.thread_ts and said.thread_ts != said.ts:
            return await self.of_thread(workspace, said.channel_id, said.thread_ts)
        return named(said.channel_id, "" if said.channel_id.startswith("D") else said.ts)

    def remembered(self, workspace: Workspace, said: Said) -> str:
        """As `conversation`, as far as it is known without asking Slack."""
        root = self._roots.get(workspace.team_id, said.channel_id, said.thread_ts)
        return root or named(said.channel_id, said.thread_ts)

    async def of_thread(self, workspace: Workspace, channel: str, root_ts: str) -> str:
        known = self._roots.get(workspace.team_id, channel, root_ts)
        if known is None:
            known = await conversation_of(workspace.client, channel, root_ts) or named(channel, root_ts)
            self._roots.put(workspace.team_id, channel, root_ts, value=known)
        return known

    async def place(self, workspace: Workspace, channel: str, user: str) -> Place:
        """With the workspace's settings as they are now. Raises `StoreError`."""
        place = await self._bare_place(workspace, channel, user)
        return replace(place, settings=(await self._rules.show(place.tenant)).settings)

    async def _bare_place(self, workspace: Workspace, channel: str, user: str) -> Place:
        """A channel that cannot be looked up is not known to be open."""
        if channel.startswith("D"):
            return Place(workspace.team_id, channel, user)
        is_open = self._open.get(workspace.team_id, channel)
        if is_open is None:
            try:
                described = await workspace.client.conversations_info(channel=channel)
            except FAULTS as exc:
                _log.info("channel is taken as closed", extra={"channel": channel, "reason": reason(exc)})
                return Place(workspace.team_id, channel, user)
            is_open = is_open_channel(described.get("channel") or {})
            self._open.put(workspace.team_id, channel, value=is_open)
        return Place(workspace.team_id, channel, user, is_open=is_open)


def named(channel: str, ts: str) -> str:
    return f"{PLATFORM}:{channel}:{ts}" if ts else f"{PLATFORM}:{channel}"


class Admins:
    """Asks Slack once in `REMEMBERED_S` for each person."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: Remembered[bool] = Remembered(REMEMBERED_S, clock)

    async def is_admin(self, workspace: Workspace, user: str) -> bool:
        """Whoever cannot be looked up is none."""
        known = self._known.get(workspace.team_id, user)
        if known is not None:
            return known
        try:
            described: Mapping[str, Any] = (await workspace.client.users_info(user=user)).get("user") or {}
        except FAULTS as exc:
            _log.warning("person is taken as no admin", extra={"reason": reason(exc)})
            return False
        is_own = not described.get("team_id") or described["team_id"] == workspace.team_id  # guests of shared channels
        is_admin = is_own and (described.get("is_admin") is True or described.get("is_owner") is True)
        self._known.put(workspace.team_id, user, value=is_admin)
        return is_admin
