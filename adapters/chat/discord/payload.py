"""What is shown in one Discord message, as values: render.py makes them, view.py and delivery.py send them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

import discord

from adapters.chat.discord.words import word

CUSTOM_ID_LIMIT = 100
JOB_ID = r"[0-9A-Za-z_-]{1,80}"


class Press(StrEnum):
    """What a button does to the job it names: its custom id is `verb:job_id`, at most 100 characters (G-02)."""

    SOURCES = "show_sources"
    SHARED_SOURCES = "shared_sources"
    SHARE = "share"
    SHARE_HERE = "share_here"
    ASK_AGAIN = "ask_again"
    IMPROVE = "improve"
    REFRESH = "refresh"
    CHANGED = "what_changed"
    RETRY = "retry"
    CANCEL = "cancel"
    START = "start_deep"
    NOT_NOW = "not_now"
    GO_DEEPER = "go_deeper"
    ANSWER_NOW = "answer_now"
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True)
class JobButton:
    press: Press
    job_id: str
    label: str
    style: Literal["primary", "secondary", "danger"] = "secondary"

    @property
    def custom_id(self) -> str:
        return f"{self.press}:{self.job_id}"


@dataclass(frozen=True)
class LinkButton:
    label: str
    url: str


@dataclass(frozen=True)
class LibraryButton:
    """Says `words` to the library; with a `tag` only while what it stands under is what is shown."""

    words: str
    label: str
    tag: str = ""
    style: Literal["primary", "secondary", "danger"] = "secondary"

    @property
    def custom_id(self) -> str:
        return f"library:{self.tag}:{self.words}"

    @property
    def fits(self) -> bool:
        return len(self.custom_id) <= CUSTOM_ID_LIMIT


@dataclass(frozen=True)
class PanelButton:
    """Below what is shown to one person; who hears it knows its `custom_id`."""

    custom_id: str
    label: str


@dataclass(frozen=True)
class Upload:
    """A file that is shown with the message."""

    name: str
    content: bytes = field(repr=False)


Row = tuple[JobButton | LibraryButton | LinkButton | PanelButton, ...]


@dataclass(frozen=True)
class DiscordMessage:
    """`text` says the same within 2000 characters, for places where the bot may not embed.

    `job_id` is the job whose end this is, "" before the end; `page_url` where it can be read as well. `details`
    is what goes to a thread under it, which is called `thread_name`. `files` come with this very edit.
    """

    embed: discord.Embed
    text: str
    rows: tuple[Row, ...] = ()
    job_id: str = ""
    page_url: str = ""
    thread_name: str = ""
    details: tuple[discord.Embed, ...] = ()
    files: tuple[Upload, ...] = ()

    @property
    def without_files(self) -> DiscordMessage:
        """For where nothing may be attached: what is shown without its picture, or no more than that a file is not."""
        said = word("library.not_attached")
        if not self.embed.image:
            return DiscordMessage(discord.Embed(description=said), said)
        embed = self.embed.copy().set_image(url=None)
        embed.description = f"{embed.description or ''}\n-# {said}"
        return replace(self, embed=embed, text=f"{self.text}\n-# {said}", files=())
