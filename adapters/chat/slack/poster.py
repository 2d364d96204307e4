"""Posting to Slack so that nothing is posted twice: after a lost reply the message is looked for before a new try.

Every message about a job carries the key of what was asked as metadata, which is what it is found by. One that shows
work may be streamed into.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.desk import REACTIONS, Reaction
from adapters.chat.reply import StoppedByPerson, best_effort
from adapters.chat.slack.blocks import Block, Plan, SlackMessage, sentence_message
from adapters.chat.slack.client import FAULTS, RATE_LIMITED, StreamGate, reason, was_refused
from adapters.chat.slack.translate import Payload
from core.presentation import wording
from core.text.saying import say

ATTEMPTS = 4
PAUSE_S = 0.5  # before looking for a message whose reply was lost; doubled each time
LOOK_BACK = 15  # messages; what Slack gives an unlisted app at most
EVENT_TYPE = "gorkd_answer"
KEPT_BY_SLACK = frozenset({"cant_delete_message", "compliance_exports_prevent_deletion"})
ENDED = frozenset({"message_not_in_streaming_state", "stopped_by_user"})
BLOCKS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
Part = Literal["answer", "sources", "ready", "shared", "corrected", "outage"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ThreadAddress:
    """A channel, and a thread in it or "" for none."""

    channel: str
    thread_ts: str = ""


@dataclass(frozen=True)
class Mark:
    """What a message is found by, and the `conversation` that a reply in its thread belongs to."""

    key: str
    part: Part = "answer"
    conversation: str = ""

    @property
    def task_prefix(self) -> str:
        """Before the ids of the tasks and rows in a stream, which has no metadata until it ends."""
        return f"{self.key}|{self.part}|"

    @property
    def metadata(self) -> dict[str, object]:
        payload = {"key": self.key, "part": self.part, "conversation": self.conversation}
        return {"event_type": EVENT_TYPE, "event_payload": payload}

    def is_of(self, message: Mapping[str, Any]) -> bool:
        metadata: Mapping[str, Any] = message.get("metadata") or {}
        payload: Mapping[str, Any] = metadata.get("event_payload") or {}
        is_same = (payload.get("key"), payload.get("part")) == (self.key, self.part)
        return (metadata.get("event_type") == EVENT_TYPE and is_same) or self._has_tasks(message)

    def _has_tasks(self, message: Mapping[str, Any]) -> bool:
        blocks: Sequence[Mapping[str, Any]] = message.get("blocks") or ()
        tasks = [task for block in blocks for task in (block.get("tasks") or [block])]
        ids = [*(task.get("task_id") for task in tasks), *(block.get("block_id") for block in blocks)]
        return any(str(one or "").startswith(self.task_prefix) for one in ids)


async def post(client: AsyncWebClient, spot: ThreadAddress, message: SlackMessage, mark: Mark) -> str:
    """The new message's ts. Raises one of `FAULTS` when Slack refuses it, or did not answer in the end."""
    pause_s = PAUSE_S
    for attempt in range(1, ATTEMPTS + 1):
        try:
            posted = await client.chat_postMessage(
                channel=spot.channel,
                thread_ts=spot.thread_ts or None,
                text=message.text,
                blocks=as_json(message),
                metadata=mark.metadata,
                unfurl_links=False,
                unfurl_media=False,
            )
            return str(posted["ts"])
        except FAULTS as exc:
            if reason(exc) in BLOCKS_REFUSED and message != message.plainer:
                _log.error("blocks refused; said in plainer ones", extra={"reason": reason(exc)})
                message = message.plainer
                continue
            if was_refused(exc) or attempt == ATTEMPTS:
                raise
            _log.warning("reply to a post was lost", extra={"reason": reason(exc), "attempt": attempt})
        await asyncio.sleep(pause_s)
        pause_s *= 2
        found = await find(client, spot, mark)
        if found:
            return found
    raise AssertionError("the last attempt returns or raises")


async def find(client: AsyncWebClient, spot: ThreadAddress, mark: Mark) -> str:
    """The ts of the message with this mark, "" when there is none to be seen."""
    try:
        if spot.thread_ts:
            read = await client.conversations_replies(
                channel=spot.channel, ts=spot.thread_ts, include_all_metadata=True, limit=200
            )
        else:
            read = await client.conversations_history(channel=spot.channel, include_all_metadata=True, limit=LOOK_BACK)
    except FAULTS as exc:
        _log.warning("channel could not be read back", extra={"reason": reason(exc)})
        return ""
    for said in read.get("messages") or []:
        if mark.is_of(said):
            return str(said["ts"])
    return ""


async def conversation_of(client: AsyncWebClient, channel: str, ts: str) -> str:
    """The conversation a message of ours belongs to, "" when it is none of ours. Raises one of `FAULTS`."""
    read = await client.conversations_replies(channel=channel, ts=ts, include_all_metadata=True, limit=1)
    for said in read.get("messages") or []:
        metadata: dict[str, Any] = said.get("metadata") or {}
        if said.get("ts") == ts and metadata.get("event_type") == EVENT_TYPE:
            return str((metadata.get("event_payload") or {}).get("conversation") or "")
    return ""


async def update(
    client: AsyncWebClient, channel: str, ts: str, message: SlackMessage, mark: Mark | None = None
) -> None:
    """An update may be repeated, and is (client.py). Raises one of `FAULTS`.

    With a `mark` the message can be found by it from now on. A stream that is still open is stopped first.
    """

    async def update_once(message: SlackMessage) -> None:
        metadata = mark.metadata if mark else None
        await client.chat_update(channel=channel, ts=ts, text=message.text, blocks=as_json(message), metadata=metadata)

    try:
        await update_once(message)
    except SlackApiError as exc:
        if reason(exc) in BLOCKS_REFUSED:
            _log.error("blocks refused; said in plainer ones", extra={"reason": reason(exc)})
            message = message.plainer
        elif reason(exc) == "streaming_state_conflict":
            await stop_stream(client, channel, ts, mark)
        else:
            raise
        await update_once(message)


async def stop_stream(client: AsyncWebClient, channel: str, ts: str, mark: Mark | None = None) -> None:
    """End a stream; it may have ended by itself, or by somebody's Stop. Raises one of `FAULTS`."""
    try:
        await client.chat_stopStream(channel=channel, ts=ts, metadata=mark.metadata if mark else None)
    except SlackApiError as exc:
        if reason(exc) not in ENDED:
            raise


async def remove(client: AsyncWebClient, channel: str, ts: str) -> None:
    """A message that has been replaced; one that is gone, or may not be removed, stays as it is."""
    with best_effort(_log.info, "replaced message stays", of=FAULTS, why=reason):
        await client.chat_delete(channel=channel, ts=ts)


async def take_away(client: AsyncWebClient, channel: str, ts: str) -> None:
    """A message whose job was forgotten; where it may not be removed it is emptied. Raises one of `FAULTS`."""
    try:
        await client.chat_delete(channel=channel, ts=ts)
    except SlackApiError as exc:
        if reason(exc) not in KEPT_BY_SLACK:
            raise
        gone = sentence_message(say(wording.FORGOTTEN))
        await client.chat_update(channel=channel, ts=ts, text=gone.text, blocks=as_json(gone))


async def whisper(client: AsyncWebClient, spot: ThreadAddress, user: str, message: SlackMessage) -> bool:
    """Show it to one person only; whether Slack let us."""
    try:
        await client.chat_postEphemeral(
            channel=spot.channel,
            user=user,
            thread_ts=spot.thread_ts or None,
            text=message.text,
            blocks=as_json(message),
        )
    except FAULTS as exc:
        _log.info("could not show a message to one person", extra={"reason": reason(exc)})
        return False
    return True


def as_json(message: SlackMessage) -> list[Block]:
    return [dict(block) for block in message.blocks]


async def react(client: AsyncWebClient, channel: str, ts: str, sign: Reaction) -> bool:
    """Whether the sign stands at a message; apps made before lack the scope."""
    try:
        await client.reactions_add(channel=channel, timestamp=ts, name=REACTIONS[sign][1])
    except FAULTS as exc:
        _log.info("no reaction", extra={"reason": reason(exc)})
        return reason(exc) == "already_reacted"
    return True


# Slack's own ways of showing that an agent works: a message that is streamed into, and a session with its status. A
# stream (chat.startStream) never has to work. Whatever Slack refuses or loses, the message goes on by updates, which
# can say all that a stream can; only a person's Stop is more than that. Nothing is ever appended twice.


STOPPED = "stopped_by_user"

PROMPTS = (  # manifest.yml has the same, in English
    "What does the research say about creatine and memory?",
    "How does Slack's Socket Mode differ from HTTP?",
    "Is intermittent fasting safe in pregnancy?",
)
STATUS = "is looking for sources…"
TITLE_ROOM = 100  # of the 200 that Slack takes; the list of sessions shows less
PATIENCE_S = 2.0  # the question comes first


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
            stream = cls(client, gate, spot.channel, found, mark)
            stream._ends_at = gate.clock()
            return stream if found else None
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


async def suggest_prompts(event: Payload, client: AsyncWebClient) -> None:
    """Somebody looks at their messages with the app.

    An app made before the agent view is told of a thread. With any other the questions belong to none: with a thread
    Slack takes them and shows nothing.
    """
    thread = event.get("assistant_thread") or {}
    channel = str(thread.get("channel_id") or event.get("channel") or "")
    with best_effort(_log.info, "no prompts suggested", of=FAULTS, why=reason):
        await client.assistant_threads_setSuggestedPrompts(
            channel_id=channel,
            thread_ts=thread.get("thread_ts"),
            prompts=[{"title": say(prompt), "message": say(prompt)} for prompt in PROMPTS],
        )


async def begin_session(client: AsyncWebClient, channel: str, thread_ts: str, *, user: str, asked: str) -> None:
    """The session of a thread works from now on; its first question is its title. What Slack refuses does no harm."""
    title = asked[:TITLE_ROOM] or say(STATUS)
    with best_effort(_log.info, "this thread has no status", of=FAULTS, why=reason):
        async with asyncio.timeout(PATIENCE_S):
            try:
                await client.agents_sessions_setStatus(
                    channel_id=channel, thread_ts=thread_ts, status="processing", title=title, initiator_user_id=user
                )
            except SlackApiError:  # an assistant of before
                await client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread_ts, status=say(STATUS))
                await client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread_ts, title=title)


async def end_session(client: AsyncWebClient, channel: str, thread_ts: str, *, title: str = "") -> None:
    """Nothing works there any more, so Slack shows no Stop; an assistant's status goes by itself with a message.

    A `title` takes the place of the question's: what was found is looked for later, not how it was asked.
    """
    with best_effort(_log.debug, "this thread has no status", of=FAULTS, why=reason):
        async with asyncio.timeout(PATIENCE_S):
            try:
                await client.agents_sessions_setStatus(channel_id=channel, thread_ts=thread_ts, status="active")
                if title:
                    await client.agents_sessions_rename(channel_id=channel, thread_ts=thread_ts, title=title)
            except SlackApiError:  # an assistant of before
                if title:
                    await client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread_ts, title=title)
