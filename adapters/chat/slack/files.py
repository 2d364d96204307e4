"""Files that come with a question, read with the app's token. Nothing else is ever fetched with it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout

from adapters.chat.slack.client import FAULTS, Workspace, reason
from adapters.chat.slack.translate import SlackFile, described_file
from core.attachments import MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, Attachment, AttachmentUnreadable

if TYPE_CHECKING:
    from core.researcher import Researcher

SLACK_HOSTS = ("slack.com", "slack-files.com")
CHUNK_BYTES = 65_536
TIMEOUT_S = 60.0  # a paper may have 100 MB

_log = logging.getLogger(__name__)


async def read_files(
    files: Sequence[SlackFile], workspace: Workspace, session: ClientSession, researcher: Researcher, *, api_url: str
) -> list[Attachment]:
    """Raises `AttachmentUnreadable`, whose message names the file and says why."""
    if len(files) > MAX_ATTACHMENTS:
        raise _unreadable("too many", f"Please attach at most {MAX_ATTACHMENTS} files to one question.")
    read: list[Attachment] = []
    for file in files:
        content = await download(file, workspace, session, api_url=api_url, max_bytes=MAX_ATTACHMENT_BYTES)
        read.append(await researcher.read_attachment(file.name, file.media_type, content))
    return read


async def download(
    file: SlackFile, workspace: Workspace, session: ClientSession, *, api_url: str, max_bytes: int
) -> bytes:
    """The file's bytes. Raises `AttachmentUnreadable`, whose message names the file and says why."""
    file = file if file.url else await _looked_up(file, workspace)
    if file.size > max_bytes:
        raise _unreadable(file.name, f"{file.name} is too large; at most {max_bytes // 1_000_000} MB.")
    if not _is_slacks(file.url, api_url):
        raise _unreadable(file.name, f"{file.name} does not lie with Slack; please upload it here.")
    headers = {"Authorization": f"Bearer {workspace.client.token}"}
    timeout, proxy = ClientTimeout(total=TIMEOUT_S), workspace.client.proxies.of(file.url)
    try:
        async with session.get(
            file.url, headers=headers, allow_redirects=False, timeout=timeout, proxy=proxy
        ) as response:
            is_sign_in_page = response.content_type == "text/html" and file.media_type != "text/html"
            if response.status != 200 or is_sign_in_page:  # Slack answers 200 with its sign-in page
                raise _unreadable(file.name, f"I may not read {file.name}; the app needs the permission files:read.")
            content = bytearray()
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                content += chunk
                if len(content) > max_bytes:
                    raise _unreadable(file.name, f"{file.name} is too large.")
            return bytes(content)
    except (ClientError, TimeoutError) as exc:
        raise _unreadable(file.name, f"{file.name} could not be loaded from Slack; please try again.") from exc


async def _looked_up(file: SlackFile, workspace: Workspace) -> SlackFile:
    """In shared channels an event names a file without its address."""
    try:
        found = await workspace.client.files_info(file=file.id)
    except FAULTS as exc:
        _log.info("file could not be looked up", extra={"reason": reason(exc)})
        raise _unreadable(file.name, f"I may not read {file.name} here.") from exc
    return described_file(found.get("file") or {"id": file.id})


def _is_slacks(url: str, api_url: str) -> bool:
    """The token goes to Slack alone."""
    parts, api = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (api.scheme, api.netloc):
        return True
    host = parts.hostname or ""
    return parts.scheme == "https" and any(host == known or host.endswith(f".{known}") for known in SLACK_HOSTS)


def _unreadable(name: str, sentence: str) -> AttachmentUnreadable:
    return AttachmentUnreadable(f"attachment {name!r} could not be read", user_message=sentence)
