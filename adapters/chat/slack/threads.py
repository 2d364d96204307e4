"""Which conversation a message belongs to, which places are open to the whole workspace, and who its people are.

A conversation is named by its channel and first message. A thread that hangs on an answer of ours belongs
to the conversation that answer was given in; our own records tell which, else the answer's metadata does.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Generic, TypeVar

from adapters.chat.reply import Tongues
from adapters.chat.slack.client import FAULTS, Workspace, reason
from adapters.chat.slack.poster import conversation_of
from adapters.chat.slack.reply import SlackAddress, shown_at
from adapters.chat.slack.translate import PLATFORM, SlackPlace, SlackSaid, is_open_channel, scopes_of, tenant_of
from adapters.chat.watching import WatchPlace, WatchSaid, last_answer, obey_wish, said_or_why
from core.model.delivery import Address
from core.model.job import ResearchJob, Scope
from core.pipeline.conversation import talk_of
from core.pipeline.researcher import Researcher
from core.tenancy.settings_desk import SettingsDesk
from core.text.saying import speak
from core.watch.words import WatchWish, command_wish, read_wish

REMEMBERED = 5_000  # threads and channels; more are looked up again
REMEMBERED_S = 600.0  # of what may change: a channel that is closed, a person who is an admin no more
FAILED_S = 60.0  # of a look-up that failed
LOOK_UP_S = 3.0  # for a thread's first message, which Slack may tell once a minute only; its context is worth no more

_log = logging.getLogger(__name__)
Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """The latest `REMEMBERED` entries, none for longer than `life_s`."""

    def __init__(self, life_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._life_s, self._clock = life_s, clock
        self._kept: OrderedDict[tuple[str, ...], tuple[Value, float]] = OrderedDict()

    def get(self, *key: str) -> Value | None:
        value, ends_at = self._kept.get(key, (None, 0.0))
        return value if self._clock() < ends_at else None

    def put(self, *key: str, value: Value, life_s: float | None = None) -> None:
        """`life_s` is for this entry alone."""
        self._kept[key] = (value, self._clock() + (self._life_s if life_s is None else life_s))
        self._kept.move_to_end(key)
        if len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)


class Threads:
    """Looks things up in Slack once in a while; `rules` are asked anew each time."""

    def __init__(
        self, rules: SettingsDesk, researcher: Researcher, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._researcher, self.tongues, self.people = researcher, Tongues(rules), People(clock)
        self._roots: Remembered[str] = Remembered(clock=clock)
        self._open: Remembered[bool] = Remembered(REMEMBERED_S, clock)

    async def conversation(self, workspace: Workspace, said: SlackSaid) -> str:
        """Of a message in a thread that thread's, else a new one. Raises `StoreError`."""
        if not said.is_reply:
            return named(said.channel_id, said.ts)
        known = await self.recorded(workspace, said)
        if known:
            return known
        name = named(said.channel_id, said.thread_ts)
        if said.parent_id not in ("", workspace.bot_user_id) or await self.last(workspace, said, name):
            return name
        return await self._looked_up(workspace, said) or name

    async def watch_commanded(self, workspace: Workspace, channel: str, user: str, wish: WatchWish) -> WatchSaid:
        """By a command, which hangs on no answer."""
        place, here = await self.place(workspace, channel, user), scopes_of(workspace.team_id, channel, user)
        job = await last_answer(self._researcher, user, place.tenant, lambda one: one.scope in here)
        scope = job.scope if job and wish.kind == "watch" else place.scope
        there = watch_place(place, scope, conversation=named(place.channel_id, "watch"))
        elsewhere = partial(self.elsewhere, workspace, place)
        return await said_or_why(obey_wish(wish, job, self._researcher, there, elsewhere))

    async def elsewhere(self, workspace: Workspace, place: SlackPlace, channel: str) -> WatchPlace | None:
        """Another channel that everybody may read: what is asked there is nobody's secret. Guests do not read it."""
        there = await self.place(workspace, channel, place.user_id)
        if channel != place.channel_id and not (
            there.is_open and await self.people.is_full_member(workspace, place.user_id)
        ):
            return None
        return watch_place(there, there.scope, conversation=named(channel, "watch"))

    async def recorded(self, workspace: Workspace, said: SlackSaid) -> str:
        """The conversation of our message that a thread hangs on; "" where none is on record. Raises `StoreError`."""
        team, channel, root_ts = workspace.team_id, said.channel_id, said.thread_ts
        known = self._roots.get(team, channel, root_ts)
        if known is not None:
            return known
        for at, job in await self.waiting(workspace, said):
            if at.ts == root_ts:
                return talk_of(job) if job.request.watch else at.conversation
        shown = await self._researcher.job_shown(shown_at(team, channel, root_ts))
        if shown is not None:
            self._roots.put(team, channel, root_ts, value=talk_of(shown))
        return talk_of(shown) if shown else ""

    async def waiting(self, workspace: Workspace, said: SlackSaid) -> Sequence[tuple[SlackAddress, ResearchJob]]:
        """The jobs whose answers are still to come in the thread of a message. Raises `StoreError`."""
        found = [(SlackAddress.read(one.address.data), one.job) for one in await self._researcher.undelivered(PLATFORM)]
        here, root_ts = (workspace.team_id, said.channel_id), said.thread_ts
        return [(at, job) for at, job in found if (at.team, at.channel) == here and root_ts in (at.ts, at.thread_ts)]

    async def last(self, workspace: Workspace, said: SlackSaid, conversation: str) -> ResearchJob | None:
        """The last job of a conversation, in whatever scope it was asked. Raises `StoreError`."""
        scopes = scopes_of(workspace.team_id, said.channel_id, said.user_id)
        jobs = [await self._researcher.latest(conversation, scope=scope) for scope in scopes]
        return max((job for job in jobs if job is not None), key=lambda job: job.created_at, default=None)

    async def _looked_up(self, workspace: Workspace, said: SlackSaid) -> str:
        """What Slack says of the thread's first message; "" when it is none of ours, or cannot be read in time."""
        channel, root_ts = said.channel_id, said.thread_ts
        found, life_s = "", math.inf
        try:
            async with asyncio.timeout(LOOK_UP_S):
                found = await conversation_of(workspace.client, channel, root_ts)
        except FAULTS as exc:
            _log.warning("message could not be read back", extra={"reason": reason(exc)})
            life_s = FAILED_S
        self._roots.put(workspace.team_id, channel, root_ts, value=found or named(channel, root_ts), life_s=life_s)
        return found

    async def place(self, workspace: Workspace, channel: str, user: str) -> SlackPlace:
        """With the workspace's settings as they are now. Raises `StoreError`."""
        is_open = not channel.startswith("D") and await self._is_open(workspace, channel)
        place = SlackPlace(workspace.team_id, channel, user, is_open=is_open)
        return replace(place, settings=await self.tongues.settings_of(place.tenant))

    async def learn_locale(self, workspace: Workspace, user: str) -> None:
        """What this person is spoken to in from now on, where no question says it."""
        tenant, described = tenant_of(workspace.team_id), await self.people.described(workspace, user)
        if locale := str(described.get("locale") or ""):
            self.tongues.note_person(tenant, user, locale)
        speak(*self.tongues.of(tenant, user))

    async def _is_open(self, workspace: Workspace, channel: str) -> bool:
        """A channel that cannot be looked up is not known to be open."""
        is_open, life_s = self._open.get(workspace.team_id, channel), REMEMBERED_S
        if is_open is None:
            try:
                described = await workspace.client.conversations_info(channel=channel)
                is_open = is_open_channel(described.get("channel") or {})
            except FAULTS as exc:
                _log.info("channel is taken as closed", extra={"channel": channel, "reason": reason(exc)})
                is_open, life_s = False, FAILED_S
            self._open.put(workspace.team_id, channel, value=is_open, life_s=life_s)
        return is_open


def named(channel: str, ts: str) -> str:
    return f"{PLATFORM}:{channel}:{ts}" if ts else f"{PLATFORM}:{channel}"


def thread_in(conversation: str) -> str:
    """The timestamp of the thread that `named` a conversation; "" where it was none."""
    ts = conversation.split(":")[2:3]
    return ts[0] if ts and ts[0].replace(".", "").isdecimal() else ""


class People:
    """What Slack says of people, asked once in `REMEMBERED_S` for each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: Remembered[Mapping[str, Any]] = Remembered(REMEMBERED_S, clock)

    async def described(self, workspace: Workspace, user: str) -> Mapping[str, Any]:
        """{} for whoever cannot be looked up, for a minute."""
        known, life_s = self._known.get(workspace.team_id, user), REMEMBERED_S
        if known is None:
            try:
                known = (await workspace.client.users_info(user=user, include_locale=True)).get("user") or {}
            except FAULTS as exc:
                _log.warning("person is taken as a guest", extra={"reason": reason(exc)})
                known, life_s = {}, FAILED_S
            self._known.put(workspace.team_id, user, value=known, life_s=life_s)
        return known

    async def is_admin(self, workspace: Workspace, user: str) -> bool:
        described = await self.described(workspace, user)
        is_own = not described.get("team_id") or described["team_id"] == workspace.team_id  # guests of shared channels
        return is_own and (described.get("is_admin") is True or described.get("is_owner") is True)

    async def is_full_member(self, workspace: Workspace, user: str) -> bool:
        """Neither a guest nor somebody of another company."""
        described = await self.described(workspace, user)
        closed = ("is_restricted", "is_ultra_restricted", "is_stranger", "is_bot", "deleted")
        return bool(described) and not any(described.get(word) for word in closed)


def watch_place(place: SlackPlace, scope: Scope, *, thread_ts: str = "", conversation: str = "") -> WatchPlace:
    """Where a watch tells: in a thread, in the channel, or in the direct messages of who alone may see it."""
    is_aside = scope.is_one_persons and not place.is_direct
    channel, thread_ts = ("", "") if is_aside else (place.channel_id, thread_ts)
    at = SlackAddress(place.team_id, place.user_id, "", channel, thread_ts, conversation=conversation)
    there, fresh = (
        Address(PLATFORM, dict(asdict(one)), place=channel or place.user_id) for one in (at, replace(at, thread_ts=""))
    )
    return WatchPlace(place.user_id, scope, there, fresh, place.public_id, conversation)


def watch_wish(text: str) -> WatchWish | None:
    """Of `watch …` behind a command, and of what names a time to ask at; None of all else, which is a question."""
    word, _, rest = text.partition(" ")
    return command_wish(rest) if word.lower() == "watch" else read_wish(text)
