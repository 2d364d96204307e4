"""What the chats would be sent for a job, for the page that draws it: the renderers' own payloads, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from adapters.chat.discord.render import DiscordVoice
from adapters.chat.discord.view import view_of
from adapters.chat.slack.render import SlackVoice
from adapters.web.preview import Preview
from core.answer import JobResult
from core.job import ResearchJob
from core.page_links import PageLinks
from core.source import Source


def chat_previews(links: PageLinks) -> Mapping[str, Preview]:
    """By platform. Needs a running event loop, as discord.py's views do."""

    def slack(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> str:
        message = SlackVoice(links).outcome(job, result, sources)
        threaded = {"blocks": message.threaded.blocks} if message.threaded else None
        return json.dumps({"text": message.text, "blocks": message.blocks, "threaded": threaded})

    def discord(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> str:
        message = DiscordVoice(links).outcome(job, result, sources)
        view = view_of(message)
        return json.dumps({"embeds": [message.embed.to_dict()], "components": view.to_components() if view else []})

    return {"slack": slack, "discord": discord}
