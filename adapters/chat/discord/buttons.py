"""The buttons under an answer. They carry their job in their id, so they work after a restart."""

from __future__ import annotations

import re
from typing import Any

import discord

from adapters.chat.discord.render import SHOW_SOURCES_ID, DiscordMessage
from adapters.chat.discord.translate import place_of_interaction
from core import wording

_SOURCES_TEMPLATE = SHOW_SOURCES_ID.format(job_id=r"(?P<job_id>[0-9A-Za-z_-]{1,80})")


class ShowSources(discord.ui.DynamicItem[discord.ui.Button[Any]], template=_SOURCES_TEMPLATE):
    """All sources of an answer, shown to the one who asks; works after a restart."""

    def __init__(self, job_id: str) -> None:
        custom_id = SHOW_SOURCES_ID.format(job_id=job_id)
        super().__init__(discord.ui.Button(label=wording.SHOW_SOURCES, custom_id=custom_id))
        self.job_id = job_id

    @classmethod
    async def from_custom_id(cls, _: Any, __: Any, match: re.Match[str], /) -> ShowSources:
        return cls(match["job_id"])

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        text = await interaction.client.sources(self.job_id, place_of_interaction(interaction))
        await interaction.response.send_message(text, ephemeral=True, suppress_embeds=True)


def view_of(payload: DiscordMessage) -> discord.ui.View | None:
    """The buttons; None when there are none."""
    view = discord.ui.View(timeout=None)
    if payload.page_url:
        view.add_item(discord.ui.Button(label=wording.VIEW_FULL_ANALYSIS, url=payload.page_url))
    if payload.sources_job:
        view.add_item(ShowSources(payload.sources_job))
    return view if view.children else None
