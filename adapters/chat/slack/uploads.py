"""Files of an answer, brought to Slack in two steps: uploaded, where nobody sees them, then shared in a thread, once.

What was uploaded and never shared, Slack drops by itself (docs.slack.dev, files.completeUploadExternal).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import ClientSession, ClientTimeout
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.reply import FilesRefused
from adapters.chat.slack.client import FAULTS, Client, reason
from adapters.chat.slack.message import Upload
from core.answer_files import AnswerFile

if TYPE_CHECKING:
    from adapters.chat.slack.poster import ThreadAddress

UPLOAD_TIMEOUT_S = 20.0  # of one file
TRIES = 2
PAUSE_S = 0.5

ALT_LIMIT = 1000  # characters of a description (docs.slack.dev, files.getUploadURLExternal)

_log = logging.getLogger(__name__)


async def upload(client: Client, file: AnswerFile | Upload) -> str:
    """The id that Slack gives it. Raises `FilesRefused`."""
    content, why = file.content, ""
    described = file.description[:ALT_LIMIT] if isinstance(file, Upload) else ""
    for _ in range(TRIES):
        try:
            given = await client.files_getUploadURLExternal(
                filename=file.name, length=len(content), alt_txt=described or None
            )
            url = str(given["upload_url"])
            async with (
                ClientSession(timeout=ClientTimeout(total=UPLOAD_TIMEOUT_S)) as session,
                session.post(url, data=content, proxy=client.proxies.of(url)) as response,
            ):
                if response.status == 200:
                    return str(given["file_id"])
                why = f"status {response.status}"
        except FAULTS as exc:
            why = reason(exc)
        _log.warning("file not uploaded", extra={"reason": why})
    raise FilesRefused(f"{file.name}: {why}")


async def share(client: AsyncWebClient, ids: Sequence[str], spot: ThreadAddress) -> None:
    """Show the uploaded files in the thread, unless they stand there already. Raises `FilesRefused`."""
    why = ""
    for _ in range(TRIES):
        if await _is_shared(client, ids[0], spot.channel):
            return
        try:
            files: Any = [{"id": file_id} for file_id in ids]
            await client.files_completeUploadExternal(files=files, channel_id=spot.channel, thread_ts=spot.thread_ts)
            return
        except FAULTS as exc:
            why = reason(exc)
            _log.warning("files not shared yet", extra={"reason": why})
        await asyncio.sleep(PAUSE_S)  # what was shared is not to be seen at once
    if not await _is_shared(client, ids[0], spot.channel):
        raise FilesRefused(why)


async def _is_shared(client: AsyncWebClient, file_id: str, channel: str) -> bool:
    """Before it is shared Slack does not know the file. All files of an answer are shared by one call."""
    try:
        found = await client.files_info(file=file_id)
    except FAULTS as exc:
        _log.debug("file not to be seen", extra={"reason": reason(exc)})
        return False
    shares: Mapping[str, Mapping[str, Any]] = (found.get("file") or {}).get("shares") or {}
    return any(channel in places for places in shares.values())
