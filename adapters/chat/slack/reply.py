"""The message that lives: where it is, how it is updated, and where it goes when it may not stand there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from aiohttp import ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.reply import AddressDead, FilesRefused
from adapters.chat.slack.blocks import BLOCKS_LIMIT, Plan, SlackMessage, context, sentence_message
from adapters.chat.slack.client import FAULTS, SlackClient, Workspace, Workspaces, reason
from adapters.chat.slack.poster import (
    Mark,
    Part,
    Stream,
    ThreadAddress,
    as_json,
    end_session,
    find,
    post,
    remove,
    update,
    whisper,
)
from adapters.chat.slack.render import SHARE, ready_message
from adapters.chat.slack.translate import PLATFORM, Payload, said_in
from adapters.chat.watching import Upload
from core.model.answer import AnswerFile
from core.model.delivery import Address
from core.model.job import Json
from core.text.saying import say

RESPOND_TIMEOUT_S = 5
NO_FILES = "Slack did not take the file; please try again later."
NOT_IN_CHANNEL = "I am not in that channel, so I answer in our direct messages."
CANNOT_WRITE = "I cannot write there, so I answer in our direct messages."  # archived, locked, or for admins alone
MOST_DELETED = 2  # of our messages in one place: whoever takes more away does not want them there
GONE = frozenset({
    "message_not_found", "message_not_owned_by_app", "cant_update_message", "edit_window_closed", "is_inactive",
    "block_mismatch",
})  # fmt: skip
CLOSED = frozenset({
    "not_in_channel", "channel_not_found", "is_archived", "missing_scope", "restricted_action",
    "restricted_action_read_only_channel", "restricted_action_thread_locked", "restricted_action_thread_only_channel",
    "restricted_action_non_threadable_channel",
})  # fmt: skip
LAPSED = frozenset({"token_expired", "token_revoked", "account_inactive", "invalid_auth"})  # until a new one is there

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SlackAddress:
    """All that is kept of a message, to find it again after a restart.

    `key` marks it in Slack. `channel` "" means the direct messages of `user`, which are opened when they are
    needed; `ts` "" means that it is not posted yet, or that this is not known. `files` are the ids, with commas, of
    the files that go with the answer. `streamed` is not "" for a message that began as a stream, which may lack its
    mark, and `session` for one whose thread is an agent's session that works until the answer is there.
    """

    team: str
    user: str
    key: str
    channel: str = ""
    thread_ts: str = ""
    ts: str = ""
    conversation: str = ""
    response_url: str = ""
    files: str = ""
    streamed: str = ""
    session: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Json]) -> SlackAddress:
        return cls(**{name: str(data.get(name) or "") for name in cls.__dataclass_fields__})


def shown_at(team: str, channel: str, ts: str) -> Address:
    """A message that shows something of a job."""
    return Address(PLATFORM, {"team": team, "channel": channel, "ts": ts})


class SlackReply:
    """`is_doubtful` says that the message may have been posted by someone who died before telling."""

    def __init__(self, workspace: Workspace, at: SlackAddress, *, is_doubtful: bool = False) -> None:
        self._workspace, self.client = workspace, workspace.client
        self._is_doubtful = is_doubtful
        self._threaded: dict[Part, str] = {}
        self._stream: Stream | None = None
        self.at = at

    @property
    def address(self) -> Address:
        return Address(PLATFORM, dict(asdict(self.at)))

    @property
    def shown(self) -> Sequence[Address]:
        """The message, what hangs on it in the thread, and the files that were shared there."""
        at = self.at
        stamps = [ts for ts in (at.ts, *self._threaded.values()) if ts]
        return [
            *(shown_at(at.team, at.channel, ts) for ts in stamps),
            *(Address(PLATFORM, {"team": at.team, "file": file}) for file in at.files.split(",") if file),
        ]

    @property
    def is_streaming(self) -> bool:
        return self._stream is not None

    async def is_posted(self) -> bool:
        """Whether the message is known to stand where it belongs, or is at least to be seen there."""
        at = self.at
        self._is_doubtful = True
        if at.ts or not at.channel:  # direct messages that are yet to be opened are not worth a look
            return True
        return bool(await find(self.client, ThreadAddress(at.channel, at.thread_ts), self._mark))

    async def take(self, files: Sequence[AnswerFile | Upload], /) -> None:
        """Upload them, unless whoever kept the address had done so: what nobody shares, Slack drops again."""
        if files and self.at.files:
            return
        ids = [await upload(self.client, file) for file in files]
        self.at = replace(self.at, files=",".join(ids))

    async def edit(self, message: SlackMessage, /) -> None:
        """Raises one of `FAULTS`, `AddressDead`, `FilesRefused`, or `StoppedByPerson`."""
        if message.plan is not None and await self._streamed(message.plan):
            return
        await self._end_stream()
        at = self.at
        if message.is_aside and not at.ts and await respond(self.client, at.response_url, message):
            return
        if not at.ts:
            await self._settle(message)
        if self.at.ts and self.at.ts == at.ts:
            try:
                mark = self._mark if at.streamed else None
                await update(self.client, at.channel, at.ts, self._fitting(message), mark)
            except SlackApiError as exc:
                if reason(exc) in GONE | CLOSED:
                    raise AddressDead(reason(exc)) from exc
                raise
        if message.threaded:
            await self._post_in_thread(message.threaded, "sources")
        if message.is_answer and self.at.files:
            await share(self.client, self.at.files.split(","), self._thread)
        if message.files:
            await self._attach(message)
        await self._end_session(message)

    async def _end_session(self, message: SlackMessage) -> None:
        """With whatever is no progress."""
        at = self.at
        if at.session and message.plan is None:
            self.at = replace(at, session="")
            await end_session(self.client, at.channel, at.thread_ts, title=message.title)

    async def _attach(self, message: SlackMessage) -> None:
        """No picture may cost a message: without them it says so, and of another file no more than that."""
        try:
            await self.take(message.files)
            await share(self.client, self.at.files.split(","), self._thread)
        except FilesRefused as exc:
            _log.warning("message without its files", extra={"reason": str(exc)})
            told = sentence_message(say(NO_FILES))
            if all(file.description for file in message.files):
                told = replace(message, blocks=(*message.blocks[: BLOCKS_LIMIT - 1], context(say(NO_FILES))), files=())
            await update(self.client, self.at.channel, self.at.ts, self._fitting(told))

    async def repost(self, message: SlackMessage, job_id: str, /) -> None:
        """In a new message where the old one was; where that is taken away again and again, in the asker's direct
        messages, and at last nowhere. Raises as `edit` does.
        """
        old = self.at
        if old.key.count("+") >= MOST_DELETED:
            if old.channel.startswith("D"):
                raise AddressDead("deleted again and again")
            await self._move_to_messages()
        self.at = replace(self.at, ts="", key=f"{old.key}+", streamed="")
        self._is_doubtful, self._stream = True, None
        await self.edit(message)
        if old.streamed:
            await remove(self.client, old.channel, old.ts)

    async def ping(self, asker: str, key: str, said: str = "", /) -> None:
        part: Part = "corrected" if said else "ready"
        await self._post_in_thread(ready_message(asker, said), part)

    async def _streamed(self, plan: Plan) -> bool:
        """Whether `plan` is shown in a stream; a message that was posted, or may have been, becomes none."""
        if self._stream is not None:
            return await self._stream.show(plan)
        at, gate = self.at, self._workspace.streams
        if gate is None or at.ts or self._is_doubtful:
            return False
        spot = ThreadAddress(at.channel, at.thread_ts)
        stream = await Stream.start(self.client, gate, spot, self._mark, plan, user=at.user, team=at.team)
        if stream is None:
            return False
        self._stream = stream
        self.at = replace(at, ts=stream.ts, streamed="yes")
        return True

    async def _end_stream(self) -> None:
        if self._stream is None:
            return
        try:
            await self._stream.stop()
        except SlackApiError as exc:
            if reason(exc) in GONE | CLOSED:
                self._stream = None
                raise AddressDead(reason(exc)) from exc
            raise
        self._stream = None

    async def _settle(self, message: SlackMessage) -> None:
        """Post it where it was asked, else in the asker's direct messages. What was found there is updated."""
        if not self.at.channel:
            await self._move_to_messages()
        try:
            await self._post_or_find(message)
        except SlackApiError as exc:
            if reason(exc) in LAPSED:
                raise
            if reason(exc) not in CLOSED or self.at.channel.startswith("D"):
                raise AddressDead(reason(exc)) from exc
            _log.info("may not post here", extra={"channel": self.at.channel, "reason": reason(exc)})
            why = NOT_IN_CHANNEL if reason(exc) in ("not_in_channel", "channel_not_found") else CANNOT_WRITE
            await respond(self.client, self.at.response_url, sentence_message(say(why)))
            await self._move_to_messages()
            await self._post_or_find(message)

    async def _post_or_find(self, message: SlackMessage) -> None:
        spot = ThreadAddress(self.at.channel, self.at.thread_ts)
        found = await find(self.client, spot, self._mark) if self._is_doubtful else ""
        if found:
            await update(self.client, spot.channel, found, self._fitting(message), self._mark)
        ts = found or await post(self.client, spot, self._fitting(message), self._mark)
        self.at = replace(self.at, ts=ts)

    async def _move_to_messages(self) -> None:
        try:
            opened = await self.client.conversations_open(users=self.at.user)
        except SlackApiError as exc:
            if reason(exc) in LAPSED:
                raise
            raise AddressDead(reason(exc)) from exc
        self.at = replace(self.at, channel=str(opened["channel"]["id"]), thread_ts="")

    async def _post_in_thread(self, message: SlackMessage, part: Part) -> None:
        """Once, however often it is asked for, and by whom; sources that stand there are those of the answer now."""
        at = self.at
        mark, spot = Mark(at.key, part, at.conversation), self._thread
        may_be_there = self._is_doubtful or part in self._threaded
        self._threaded.setdefault(part, "")
        found = await find(self.client, spot, mark) if may_be_there else ""
        if found and part == "sources":  # one of them may have been retracted since
            await update(self.client, spot.channel, found, message, mark)
        self._threaded[part] = found or await post(self.client, spot, message, mark)

    def _fitting(self, message: SlackMessage) -> SlackMessage:
        """Nobody else reads direct messages, so nothing is shared from there."""
        return message.without(SHARE) if self.at.channel.startswith("D") else message

    @property
    def _thread(self) -> ThreadAddress:
        return ThreadAddress(self.at.channel, self.at.thread_ts or self.at.ts)

    @property
    def _mark(self) -> Mark:
        return Mark(self.at.key, "answer", self.at.conversation)


# Files of an answer, brought to Slack in two steps: uploaded, where nobody sees them, then shared in a thread, once


UPLOAD_TIMEOUT_S = 20.0  # of one file
TRIES = 2
PAUSE_S = 0.5

ALT_LIMIT = 1000  # characters of a description (docs.slack.dev, files.getUploadURLExternal)


async def upload(client: SlackClient, file: AnswerFile | Upload) -> str:
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


async def respond(client: SlackClient, url: str, message: SlackMessage) -> bool:
    """To one person alone, through the address Slack gave for what they did; whether that was still open."""
    if not url:
        return False
    body = {"response_type": "ephemeral", "replace_original": False, "text": message.text}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=RESPOND_TIMEOUT_S)) as session,
            session.post(url, json=body | {"blocks": as_json(message)}, proxy=client.proxies.of(url)) as response,
        ):
            return response.status == 200
    except FAULTS as exc:
        _log.warning("response address did not answer", extra={"reason": reason(exc)})
        return False


async def tell_asker(workspaces: Workspaces, team: str, body: Payload, sentence: str) -> bool:
    """Who has asked us is told; what may be meant for others is left to them. Whether it is shown, or is not to be."""
    workspace, told = await workspaces.find(team), sentence_message(sentence)
    if url := str(body.get("response_url") or ""):
        return await respond(workspace.client, url, told)
    said = said_in(body["event"], workspace.bot_user_id) if "is_mention" in body else None
    if said is not None and said.is_direct:
        spot = ThreadAddress(said.channel_id, said.thread_ts or said.ts)
        await post(workspace.client, spot, told, Mark(f"{said.channel_id}:{said.ts}", "outage"))
    elif said is not None and body["is_mention"]:
        spot = ThreadAddress(said.channel_id, said.thread_ts if said.is_reply else "")
        return await whisper(workspace.client, spot, said.user_id, told)
    return True
