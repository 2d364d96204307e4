"""The paper library in Slack: `/library`, its modal, its buttons, and words in the threads of its conversations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial

from aiohttp import ClientSession

from adapters.chat.library import LiveTalks
from adapters.chat.slack import translate
from adapters.chat.slack.admins import Admins
from adapters.chat.slack.blocks import Block, SlackMessage
from adapters.chat.slack.client import FAULTS, Workspace, Workspaces, reason
from adapters.chat.slack.files import download
from adapters.chat.slack.library_modals import ADD, Asked, ask_modal, paper_options, wish_modal
from adapters.chat.slack.library_render import Press
from adapters.chat.slack.reply import Lodging, SlackReply
from adapters.chat.slack.threads import Threads
from adapters.chat.slack.translate import Payload, Place, Said, SlackFile
from core.errors import GorkdError
from core.library.ingest import MAX_PAPER_BYTES
from core.library.session import Speaker
from core.library.states import COMMANDS, read_command
from core.library.words import NO, YES, Addition, Incoming, Words, read_addition

ACK_WITHIN_S = 1.0  # of the three that Slack waits; what is researched is stored long before
SUGGEST_WITHIN_S = 2.0  # Slack shows nothing that comes after three

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SlackLibrary:
    """However something is said to the library, it is answered in one message of `live`."""

    live: LiveTalks[SlackMessage]
    workspaces: Workspaces
    threads: Threads
    session: ClientSession
    api_url: str
    admins: Admins = field(default_factory=Admins)
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    async def hurry(self, work: Coroutine[None, None, None]) -> None:
        """Wait for work as long as an acknowledgement may; what takes longer goes on."""
        task = asyncio.create_task(_logged(work))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.wait({task}, timeout=ACK_WITHIN_S)

    async def aclose(self) -> None:
        await self.live.aclose()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def commanded(self, command: Payload) -> None:
        """`/library …`; without words the modal, while its trigger lives."""
        workspace = await self.workspaces.find(str(command.get("team_id") or ""))
        text = translate.question_of(str(command.get("text") or ""), "")
        channel, user = str(command["channel_id"]), str(command["user_id"])
        asked = Asked(channel, response_url=str(command.get("response_url") or ""))
        if text:
            await self._say(workspace, user, asked, text, key=str(command["trigger_id"]))
            return
        try:
            await workspace.client.views_open(trigger_id=str(command["trigger_id"]), view=ask_modal(asked))
        except FAULTS as exc:
            _log.warning("modal not opened", extra={"reason": reason(exc)})
            await self._say(workspace, user, asked, "help", key=str(command["trigger_id"]))

    async def submitted(self, body: Payload, text: str) -> None:
        """A modal was sent off that says `text`."""
        view = body.get("view") or {}
        workspace = await self.workspaces.find(_id(body, "team"))
        await self._say(workspace, _id(body, "user"), Asked.of(view), text, key=str(view.get("id") or ""))

    async def suggested(self, body: Payload) -> list[Block]:
        """Papers for what is typed into the modal; none rather than too late."""
        workspace = await self.workspaces.find(_id(body, "team"))
        asked = Asked.of(body.get("view") or {})
        try:
            async with asyncio.timeout(SUGGEST_WITHIN_S):
                place = await self.threads.place(workspace, asked.channel, _id(body, "user"))
                return paper_options(await self.live.talks.papers(place.scope), str(body.get("value") or ""))
        except (TimeoutError, GorkdError) as exc:
            _log.warning("no papers suggested", extra={"error": str(exc)})
            return []

    async def pressed(self, body: Payload) -> None:
        """Open or Save: said in the thread of the button's message."""
        press, asked, key = _pressed(body)
        if press is not None:
            workspace = await self.workspaces.find(_id(body, "team"))
            await self._say(workspace, _id(body, "user"), asked, press.says, key=key)

    async def wishes(self, body: Payload) -> None:
        """Improve: asks what is to be better, while the trigger lives."""
        _, asked, key = _pressed(body)
        workspace = await self.workspaces.find(_id(body, "team"))
        try:
            await workspace.client.views_open(trigger_id=str(body.get("trigger_id") or ""), view=wish_modal(asked))
        except FAULTS as exc:
            _log.warning("modal not opened", extra={"reason": reason(exc)})
            await self._say(workspace, _id(body, "user"), asked, "help", key=key)

    async def meant(self, workspace: Workspace, said: Said, *, is_addressed: bool) -> Words | Addition | None:
        """What of a message is for the library; None for a question."""
        if not is_addressed and not (said.thread_ts and _may_be_words(said.text)):
            return None
        place = await self.threads.place(workspace, said.channel_id, said.user_id)
        thread = await self.threads.conversation(workspace, said)
        try:
            return await self.live.talks.hear(
                place.scope, thread, said.text, has_files=bool(said.files), is_addressed=is_addressed
            )
        except GorkdError as error:
            _log.warning("not known whether the library is meant", extra={"error": str(error)})
            return None

    async def take(self, workspace: Workspace, said: Said, meant: Words | Addition) -> None:
        """Answer a message in its thread."""
        thread_ts = said.thread_ts or ("" if said.channel_id.startswith("D") else said.ts)
        asked = Asked(said.channel_id, thread_ts, await self.threads.conversation(workspace, said))
        key = f"{said.channel_id}:{said.ts}"
        if isinstance(meant, Words):
            await self.hurry(self._say(workspace, said.user_id, asked, meant.text, key=key))
            return
        files = [self._incoming(workspace, file) for file in said.files]
        await self.hurry(self._add(workspace, said.user_id, asked, meant, files, key=key))

    async def _say(self, workspace: Workspace, user: str, asked: Asked, text: str, *, key: str) -> None:
        command = text.partition(" ")[0].casefold()
        if command == ADD:
            addition = read_addition(f"library {text}", has_files=False) or Addition()
            await self._add(workspace, user, asked, addition, (), key=key)
            return
        changes_store = command in COMMANDS and COMMANDS[command].changes_store
        speaker, reply = await self._begin(workspace, user, asked, key, needs_admin=changes_store)
        await self.live.say(speaker, text, reply, about=asked.about)

    async def _add(
        self, workspace: Workspace, user: str, asked: Asked, addition: Addition, files: Sequence[Incoming], *, key: str
    ) -> None:
        speaker, reply = await self._begin(workspace, user, asked, key, needs_admin=True)
        await self.live.add(speaker, addition, files, reply)

    async def _begin(
        self, workspace: Workspace, user: str, asked: Asked, key: str, *, needs_admin: bool
    ) -> tuple[Speaker, SlackReply]:
        """Who speaks, and the message that answers. Slack is asked about admins only where it matters."""
        place = await self.threads.place(workspace, asked.channel, user)
        thread = asked.thread or _own_thread(place)
        is_admin = place.is_direct or (needs_admin and await self.admins.is_admin(workspace, user))
        lodging = Lodging(
            place.team_id, user, key, place.channel_id, asked.thread_ts,
            conversation=thread, response_url=asked.response_url,
        )  # fmt: skip
        speaker = Speaker(
            place.scope, thread, user, is_admin=is_admin, key=f"{place.team_id}:{key}", channel=place.public_id
        )
        return speaker, SlackReply(workspace, lodging)

    def _incoming(self, workspace: Workspace, file: SlackFile) -> Incoming:
        load = partial(download, file, workspace, self.session, api_url=self.api_url, max_bytes=MAX_PAPER_BYTES)
        return Incoming(file.name, file.size, load)


async def _logged(work: Coroutine[None, None, None]) -> None:
    try:
        await work
    except Exception:  # noqa: BLE001 -- a chat's process boundary; whoever asked asks again
        _log.exception("library was not reached")


def _may_be_words(text: str) -> bool:
    """Worth a look in a thread where people talk to each other."""
    return read_command(text) is not None or text.strip(" .!").casefold() in YES | NO


def _own_thread(place: Place) -> str:
    """By `/library` one talks for oneself in a channel; others may join in the thread of an answer."""
    start = f"{translate.PLATFORM}:{place.channel_id}"
    return start if place.is_direct else f"{start}:{place.user_id}"


def _pressed(body: Payload) -> tuple[Press | None, Asked, str]:
    """What a click says, where, and the key of the click."""
    action, container, message = body["actions"][0], body.get("container") or {}, body.get("message") or {}
    press = Press.read(str(action.get("value") or ""))
    ts = str(container.get("message_ts") or message.get("ts") or "")
    channel = _id(body, "channel") or str(container.get("channel_id") or "")
    is_direct_root = channel.startswith("D") and not message.get("thread_ts")
    thread_ts = "" if is_direct_root else str(message.get("thread_ts") or ts)
    thread, about = (press.thread, press.about) if press else ("", "")
    asked = Asked(channel, thread_ts, thread, str(body.get("response_url") or ""), about)
    return press, asked, f"press:{channel}:{ts}:{action.get('action_ts')}"


def _id(body: Payload, name: str) -> str:
    return str((body.get(name) or {}).get("id") or "")
