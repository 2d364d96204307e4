"""The agent view: questions to begin with, and each direct message with its thread as a session with status and title.

Apps made before it have an assistant's threads instead, with methods of their own; both are served.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.slack.client import FAULTS, Workspaces, reason

if TYPE_CHECKING:
    from adapters.chat.slack.translate import Payload

PROMPTS = (  # manifest.yml has the same
    "What does the research say about creatine and memory?",
    "How does Slack's Socket Mode differ from HTTP?",
    "Is intermittent fasting safe in pregnancy?",
)
STATUS = "is looking for sources…"
TITLE_ROOM = 100  # of the 200 that Slack takes; the list of sessions shows less
PATIENCE_S = 2.0  # the question comes first

_log = logging.getLogger(__name__)


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


async def end_session(client: AsyncWebClient, channel: str, thread_ts: str) -> None:
    """Nothing works there any more, so Slack shows no Stop; an assistant's status goes by itself with a message."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            await client.agents_sessions_setStatus(channel_id=channel, thread_ts=thread_ts, status="active")
    except FAULTS as exc:
        _log.debug("this thread has no status", extra={"reason": reason(exc)})
