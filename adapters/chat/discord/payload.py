"""What is shown in one Discord message, as values: render.py makes them, view.py and delivery.py send them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import discord

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


Row = tuple[JobButton | LinkButton, ...]


@dataclass(frozen=True)
class DiscordMessage:
    """`text` says the same within 2000 characters, for places where the bot may not embed.

    `job_id` is the job whose end this is, "" before the end; `page_url` where it can be read as well. `details`
    is what goes to a thread under it, which is called `thread_name`.
    """

    embed: discord.Embed
    text: str
    rows: tuple[Row, ...] = ()
    job_id: str = ""
    page_url: str = ""
    thread_name: str = ""
    details: tuple[discord.Embed, ...] = ()
