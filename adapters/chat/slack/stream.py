"""Slack's own way of showing progress: a message that is streamed into, while it can be (chat.startStream).

A stream never has to work. Whatever Slack refuses or loses, the message goes on by updates, which can say all that a
stream can; only a person's Stop is more than that. Nothing is ever appended twice.
"""

from __future__ import annotations

import logging

from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.reply import StoppedByPerson
from adapters.chat.slack.client import FAULTS, RATE_LIMITED, StreamGate, reason, was_refused
from adapters.chat.slack.plan import Plan
from adapters.chat.slack.poster import Mark, ThreadAddress, find, stop_stream

STOPPED = "stopped_by_user"

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
