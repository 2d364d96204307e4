"""When a channel is busy, and the thread under an answer that then takes its details and sources (G-02)."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import discord

from adapters.chat.discord.delivery import GONE, MISSING_PERMISSIONS, PLATFORM, MessageAddress, nonce_of
from adapters.chat.discord.payload import DiscordMessage
from adapters.chat.discord.settings import Threads
from core.model.delivery import Address
from core.model.events import Json
from core.presentation import wording

BUSY_MESSAGES = 10  # in the last minute; with more of them a channel is busy (G-02)
WINDOW_S = 60.0
MAX_CHANNELS = 10_000  # remembered; the one that was silent longest is dropped first
ARCHIVE_MINUTES: Literal[1440] = 1440
THREAD_EXISTS = 160004
OUT_OF_REACH = GONE | {MISSING_PERMISSIONS}

_log = logging.getLogger(__name__)


class Traffic:
    """How many messages came to each channel in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[int, deque[float]] = OrderedDict()

    def note(self, channel_id: int) -> None:
        moments = self._seen.setdefault(channel_id, deque(maxlen=BUSY_MESSAGES + 1))
        moments.append(self._clock())
        self._seen.move_to_end(channel_id)
        if len(self._seen) > MAX_CHANNELS:
            self._seen.popitem(last=False)

    def is_busy(self, channel_id: int) -> bool:
        moments = self._seen.get(channel_id, deque())
        return len(moments) > BUSY_MESSAGES and self._clock() - moments[0] <= WINDOW_S


async def spread(
    client: discord.Client, spot: MessageAddress, payload: DiscordMessage, traffic: Traffic, when: Threads
) -> Sequence[Address]:
    """Put the answer's details into a thread under it, where they are wanted and threads are possible.

    Gives where they stand now. Twice is once. Whatever Discord says against it, the answer stands in the channel.
    """
    is_wanted = when == "always" or (when == "busy" and traffic.is_busy(spot.channel_id))
    channel = client.get_channel(spot.channel_id)
    if not (is_wanted and payload.details and spot.can_post and spot.message_id):
        return ()
    if not isinstance(channel, discord.TextChannel):
        return ()  # direct messages have no threads, and threads have none below them
    sent: list[Json] = []
    try:
        thread = await _thread(client, channel, spot.message_id, payload.thread_name)
        for number, embed in enumerate(payload.details):
            sent.append((await thread.send(embed=embed, nonce=nonce_of(f"{number}", payload.job_id))).id)
    except discord.HTTPException as exc:
        _log.warning("no thread under the answer", extra={"channel": spot.channel_id, "error": str(exc)})
    return [Address(PLATFORM, {"thread_id": spot.message_id, "message_ids": sent})]


async def take_away(client: discord.Client, address: Address) -> None:
    """What shows a job that was forgotten: a message, or the thread under one, which keeps what people said in it.

    What can be reached no more counts as gone. Raises `discord.HTTPException`.
    """
    data: Mapping[str, Any] = address.data
    if thread_id := int(data.get("thread_id") or 0):
        # Its name is the question. Who has made a thread may rename it, and only an open one takes changes.
        await _unless_gone(client.http.edit_channel(thread_id, name=wording.FORGOTTEN_THREAD, archived=False))
        for message_id in data["message_ids"]:
            await _unless_gone(client.http.delete_message(thread_id, message_id))
        return
    channel_id, message_id, token = data.get("channel_id"), data.get("message_id"), str(data.get("token") or "")
    if not channel_id or not message_id:
        return
    if token and not data.get("can_post"):
        webhook = discord.Webhook.partial(client.application_id or 0, token, client=client)
        webhook.proxy = client.http.proxy
        await _unless_gone(webhook.delete_message(message_id))
    else:
        await _unless_gone(client.http.delete_message(channel_id, message_id))


async def _unless_gone(change: Awaitable[Any]) -> None:
    try:
        await change
    except discord.HTTPException as exc:
        if exc.code not in OUT_OF_REACH:
            raise


async def _thread(
    client: discord.Client, channel: discord.TextChannel, message_id: int, name: str
) -> discord.PartialMessageable:
    """The thread under a message; its id is the message's own."""
    try:
        message = channel.get_partial_message(message_id)
        await message.create_thread(name=name, auto_archive_duration=ARCHIVE_MINUTES)
    except discord.HTTPException as exc:
        if exc.code != THREAD_EXISTS:
            raise
    return client.get_partial_messageable(message_id)
