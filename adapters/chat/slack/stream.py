"""Slack's own ways of showing that an agent works: a message that is streamed into, and a session with its status.

A stream (chat.startStream) never has to work. Whatever Slack refuses or loses, the message goes on by updates, which
can say all that a stream can; only a person's Stop is more than that. Nothing is ever appended twice.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.reply import StoppedByPerson
from adapters.chat.slack.client import FAULTS, RATE_LIMITED, StreamGate, Workspaces, reason, was_refused
from adapters.chat.slack.message import Plan
from adapters.chat.slack.poster import Mark, ThreadAddress, find, stop_stream

if TYPE_CHECKING:
    from adapters.chat.slack.translate import Payload

STOPPED = "stopped_by_user"

PROMPTS = (  # manifest.yml has the same
    "What does the research say about creatine and memory?",
    "How does Slack's Socket Mode differ from HTTP?",
    "Is intermittent fasting safe in pregnancy?",
)
STATUS = "is looking for sources…"
TITLE_ROOM = 100  # of the 200 that Slack takes; the list of sessions shows less
PATIENCE_S = 2.0  # the question comes first

_log = logging.getLogger(__name__)


class Stream:
    """An open stream. Only its own process appends to it; whoever comes later stops it (poster.py)."""

    def __init__(self, client: AsyncWebClient, gate: StreamGate, channel: str, ts: str, mark: Mark) -> None:
        self._client, self._gate, self._mark = client, gate, mark
        self._channel, self.ts = channel, ts
        self._shown: Plan | None = None
        self._ends_at = gate.clock() + gate.life_s

    @classmethod
    async def start(
        cls,
        client: AsyncWebClient,
        gate: StreamGate,
        spot: ThreadAddress,
        mark: Mark,
        plan: Plan,
        *,
        user: str,
        team: str,
    ) -> Stream | None:
        """A new message in the thread of `spot`; None where Slack gives none.

        When Slack's reply is lost the message is looked for; a stream that is found is not added to any more.
        """
        if not (spot.channel and spot.thread_ts) or not gate.is_open(spot.channel):
            return None
        try:
            started = await client.chat_startStream(
                channel=spot.channel,
                thread_ts=spot.thread_ts,
                recipient_user_id=user,
                recipient_team_id=team,
                task_display_mode="plan",
                chunks=plan.chunks(None, prefix=mark.task_prefix),
            )
        except FAULTS as exc:
            _log.info("no stream here", extra={"channel": spot.channel, "reason": reason(exc)})
            gate.refused(spot.channel, exc)
            found = "" if was_refused(exc) else await find(client, spot, mark)
            if not found:
                return None
            stream = cls(client, gate, spot.channel, found, mark)
            stream._ends_at = gate.clock()
            return stream
        stream = cls(client, gate, spot.channel, str(started["ts"]), mark)
        stream._shown = plan
        return stream

    async def show(self, plan: Plan) -> bool:
        """Append what is new; False when the message must go on by updates. Raises `StoppedByPerson`."""
        if self._gate.clock() >= self._ends_at or (self._shown and plan.takes_back(self._shown)):
            return False
        chunks = plan.chunks(self._shown, prefix=self._mark.task_prefix)
        if not chunks or self._gate.clock() < self._gate.quiet_until:
            return True
        try:
            await self._client.chat_appendStream(channel=self._channel, ts=self.ts, chunks=chunks)
        except FAULTS as exc:
            if reason(exc) == STOPPED:
                raise StoppedByPerson(self.ts) from exc
            if reason(exc) in RATE_LIMITED:
                self._gate.refused(self._channel, exc)
                return True
            _log.info("stream goes on by updates", extra={"channel": self._channel, "reason": reason(exc)})
            return False
        self._shown = plan
        return True

    async def stop(self) -> None:
        """After it the message takes updates. Raises one of `FAULTS`."""
        await stop_stream(self._client, self._channel, self.ts, self._mark)


# The agent view: questions to begin with, and each direct message with its thread as a session with status and title.
# Apps made before it have an assistant's threads instead, with methods of their own; both are served


async def suggest_prompts(event: Payload, team_id: str, workspaces: Workspaces) -> None:
    """Somebody looks at their messages with the app.

    An app made before the agent view is told of a thread. With any other the questions belong to none: with a thread
    Slack takes them and shows nothing.
    """
    thread = event.get("assistant_thread") or {}
    channel = str(thread.get("channel_id") or event.get("channel") or "")
    try:
        client = (await workspaces.find(team_id)).client
        await client.assistant_threads_setSuggestedPrompts(
            channel_id=channel,
            thread_ts=thread.get("thread_ts"),
            prompts=[{"title": prompt, "message": prompt} for prompt in PROMPTS],
        )
    except FAULTS as exc:
        _log.info("no prompts suggested", extra={"reason": reason(exc)})


async def begin_session(client: AsyncWebClient, channel: str, thread_ts: str, *, user: str, asked: str) -> None:
    """The session of a thread works from now on; its first question is its title. What Slack refuses does no harm."""
    title = asked[:TITLE_ROOM] or STATUS
    try:
        async with asyncio.timeout(PATIENCE_S):
            try:
                await client.agents_sessions_setStatus(
                    channel_id=channel, thread_ts=thread_ts, status="processing", title=title, initiator_user_id=user
                )
            except SlackApiError:  # an assistant of before
                await client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread_ts, status=STATUS)
                await client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread_ts, title=title)
    except FAULTS as exc:
        _log.info("this thread has no status", extra={"reason": reason(exc)})


async def end_session(client: AsyncWebClient, channel: str, thread_ts: str, *, title: str = "") -> None:
    """Nothing works there any more, so Slack shows no Stop; an assistant's status goes by itself with a message.

    A `title` takes the place of the question's: what was found is looked for later, not how it was asked.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            try:
                await client.agents_sessions_setStatus(channel_id=channel, thread_ts=thread_ts, status="active")
                if title:
                    await client.agents_sessions_rename(channel_id=channel, thread_ts=thread_ts, title=title)
            except SlackApiError:  # an assistant of before
                if title:
                    await client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread_ts, title=title)
    except FAULTS as exc:
        _log.debug("this thread has no status", extra={"reason": reason(exc)})
