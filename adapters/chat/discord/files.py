"""Files that come with a question, fetched from Discord and read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import aiohttp
import discord

from adapters.chat.discord.words import word
from core.attachments import MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, Attachment, AttachmentUnreadable
from core.library.words import Incoming
from core.presentation.render import one_line

if TYPE_CHECKING:
    from core.researcher import Researcher

FETCH_S = 20.0  # for one file
PAPER_FETCH_S = 60.0  # a paper may be ten times as large


async def read_files(researcher: Researcher, files: Sequence[discord.Attachment]) -> list[Attachment]:
    """One more than are allowed at most: the question then says so. Raises `AttachmentUnreadable`."""
    return [await _read(researcher, file) for file in files[: MAX_ATTACHMENTS + 1]]


def incoming(file: discord.Attachment) -> Incoming:
    """A paper that somebody hands over; it is fetched when it is read, and may be larger than an attachment."""

    async def load() -> bytes:
        return await _fetch(file, one_line(file.filename)[:200], within_s=PAPER_FETCH_S)

    return Incoming(file.filename, file.size, load)


async def _read(researcher: Researcher, file: discord.Attachment) -> Attachment:
    name = one_line(file.filename)[:200]
    if file.size > MAX_ATTACHMENT_BYTES:
        said = word("asking.file_too_large", name=name, megabytes=MAX_ATTACHMENT_BYTES // 1_000_000)
        raise AttachmentUnreadable(f"{name}: {file.size} bytes", user_message=said)
    content = await _fetch(file, name, within_s=FETCH_S)
    return await researcher.read_attachment(name, file.content_type or "", content)


async def _fetch(file: discord.Attachment, name: str, *, within_s: float) -> bytes:
    """Raises `AttachmentUnreadable`."""
    try:
        async with asyncio.timeout(within_s):
            return await file.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as exc:
        said = word("asking.file_unreachable", name=name)
        raise AttachmentUnreadable(f"{name}: {exc}", user_message=said) from exc
