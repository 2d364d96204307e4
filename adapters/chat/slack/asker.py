"""One question in Slack from the placeholder to the threaded sources."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.live import answer_live
from adapters.chat.slack.render import SlackMessage, SlackVoice, sources_message
from adapters.chat.slack.translate import Place, is_open_channel, question_of
from core import wording
from core.job import ResearchRequest
from core.snapshot import Snapshot

if TYPE_CHECKING:
    from core.researcher import Researcher

_log = logging.getLogger(__name__)

Payload = Mapping[str, Any]  # Slack's JSON, read here and nowhere else


@dataclass(frozen=True)
class SlackReply:
    client: AsyncWebClient
    channel: str
    ts: str

    async def edit(self, payload: SlackMessage, /) -> None:
        await self.client.chat_update(
            channel=self.channel, ts=self.ts, text=payload.text, blocks=[dict(block) for block in payload.blocks]
        )


@dataclass(frozen=True)
class Asker:
    researcher: Researcher
    client: AsyncWebClient
    voice: SlackVoice
    open_channels: dict[tuple[str, str], bool] = field(default_factory=dict)

    async def mentioned(self, event: Payload, *, team_id: str, bot_user_id: str) -> None:
        """Answers in the thread of the mention."""
        question = question_of(event.get("text", ""), bot_user_id)
        thread = event.get("thread_ts") or event["ts"]
        place = await self._place(team_id, event["channel"], event.get("user", ""))
        await self.answer(question, place, thread_ts=thread, key=f"{place.channel_id}:{event['ts']}")

    async def commanded(self, command: Payload) -> bool:
        """Answers with a message of its own, whose thread gets the sources; False when it may not post there."""
        question = question_of(command.get("text", ""), "")
        if not question:
            return True  # the acknowledgement has asked for one
        place = await self._place(command["team_id"], command["channel_id"], command["user_id"])
        return await self.answer(question, place, thread_ts=None, key=str(command["trigger_id"]))

    async def answer(self, question: str, place: Place, *, thread_ts: str | None, key: str) -> bool:
        """Whether anything could be posted."""
        opening = self.voice.progress(Snapshot(), 0.0) if question else self.voice.refusal(wording.ASK_WHAT)
        posted = await self._post(place.channel_id, opening, thread_ts)
        if not posted or not question:
            return bool(posted)
        request = ResearchRequest(question, place.scope, asker=place.user_id)
        reply = SlackReply(self.client, place.channel_id, posted)
        dedupe_key = f"slack:{place.team_id}:{key}"
        job = await answer_live(reply, self.voice, self.researcher, request, dedupe_key=dedupe_key)
        result = await self.researcher.result(job.id) if job else None
        if job and result:
            sources = sources_message(await self.researcher.sources(job.id), result.answer)
            if sources:
                await self._post(place.channel_id, sources, thread_ts or posted)
        return True

    async def _post(self, channel: str, message: SlackMessage, thread_ts: str | None) -> str:
        """The new message's ts, or "" when Slack does not let us post there."""
        try:
            posted = await self.client.chat_postMessage(
                channel=channel,
                thread_ts=thread_ts,
                text=message.text,
                blocks=[dict(block) for block in message.blocks],
                unfurl_links=False,
                unfurl_media=False,
            )
        except SlackApiError as exc:
            _log.warning("message could not be posted", extra={"channel": channel, "reason": exc.response.get("error")})
            return ""
        return str(posted["ts"])

    async def _place(self, team_id: str, channel_id: str, user_id: str) -> Place:
        """Looks a channel up once; one that cannot be looked up is not known to be open."""
        key = (team_id, channel_id)
        if not channel_id.startswith("D") and key not in self.open_channels:
            try:
                described = await self.client.conversations_info(channel=channel_id)
            except SlackApiError:
                return Place(team_id, channel_id, user_id)
            self.open_channels[key] = is_open_channel(described.get("channel") or {})
        return Place(team_id, channel_id, user_id, is_open=self.open_channels.get(key, False))
