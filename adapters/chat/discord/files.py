"""Files that come with a question, fetched from Discord and read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import aiohttp
import discord

from adapters.chat.discord.words import word
from core.attachments import MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, Attachment, AttachmentUnreadable
from core.render import one_line

if TYPE_CHECKING:
    from core.researcher import Researcher

FETCH_S = 20.0  # for one file


async def read_files(researcher: Researcher, files: Sequence[discord.Attachment]) -> list[Attachment]:
    """One more than are allowed at most: the question then says so. Raises `AttachmentUnreadable`."""
    return [await _read(researcher, file) for file in files[: MAX_ATTACHMENTS + 1]]


async def _read(researcher: Researcher, file: discord.Attachment) -> Attachment:
    name = one_line(file.filename)[:200]
    if file.size > MAX_ATTACHMENT_BYTES:
        said = word("asking.file_too_large", name=name, megabytes=MAX_ATTACHMENT_BYTES // 1_000_000)
        raise AttachmentUnreadable(f"{name}: {file.size} bytes", user_message=said)
    try:
        async with asyncio.timeout(FETCH_S):
            content = await file.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as exc:
        said = word("asking.file_unreachable", name=name)
        raise AttachmentUnreadable(f"{name}: {exc}", user_message=said) from exc
    return await researcher.read_attachment(name, file.content_type or "", content)
