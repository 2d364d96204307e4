"""Where questions come in: each is stored with the message that will answer it, before Slack hears that it arrived.

What a message asks for is read by core/conversation.py; answers are core's business; here both meet Slack.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import ClientSession
from slack_sdk.errors import SlackApiError

from adapters.chat.desk import (
    Ask,
    Deed,
    Forget,
    Renew,
    Say,
    Show,
    ShowSources,
    Steer,
    Utterance,
    hear,
    obey,
    renew,
    sources_of,
)
from adapters.chat.live import LiveAnswers
from adapters.chat.slack import translate
from adapters.chat.slack.administering import Administration
from adapters.chat.slack.client import FAULTS, NotInstalled, Workspace, Workspaces, reason
from adapters.chat.slack.files import read_files
from adapters.chat.slack.home import help_message
from adapters.chat.slack.library import SlackLibrary
from adapters.chat.slack.message import SlackMessage, sentence_message
from adapters.chat.slack.poster import Mark, ThreadAddress, post, take_away, whisper
from adapters.chat.slack.render import SlackVoice, all_sources_message, history_message
from adapters.chat.slack.reply import CLOSED, GONE, LAPSED, SlackAddress, SlackReply, shown_at
from adapters.chat.slack.threads import Remembered, Threads
from adapters.chat.slack.translate import Payload, Place, Said
from adapters.chat.taking_away import TakingAway
from core.attachments import Attachment
from core.conversation import read_reply
from core.delivery import Address
from core.errors import GorkdError
from core.job import ResearchJob, ResearchRequest, Scope
from core.presentation import wording

if TYPE_CHECKING:
    from core.researcher import Researcher

HISTORY_LENGTH = 10
PROMPTS = (
    "What does the research say about creatine and memory?",
    "How does Slack's Socket Mode differ from HTTP?",
    "Is intermittent fasting safe in pregnancy?",
)
STATUS = "is looking for sources…"
TITLE_ROOM = 100
OUT_OF_REACH = GONE | CLOSED | LAPSED | {"file_not_found", "file_deleted", "cant_delete_file", "is_archived"}

_log = logging.getLogger(__name__)
Submit = Callable[[], Awaitable[ResearchJob]]


@dataclass(frozen=True)
class Desk:
    """`api_url` is where Slack is; files are loaded through `session`."""

    researcher: Researcher
    live: LiveAnswers[SlackMessage]
    voice: SlackVoice
    workspaces: Workspaces
    session: ClientSession
    api_url: str
    administration: Administration
    library: SlackLibrary
    threads: Threads
    taking_away: TakingAway = field(init=False)
    _taking: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _taken: Remembered[bool] = field(default_factory=Remembered)

    def __post_init__(self) -> None:
        object.__setattr__(self, "taking_away", TakingAway(self.researcher, translate.PLATFORM, self.take_away))

    async def heard(self, event: Payload, team_id: str, *, is_mention: bool) -> None:
        """A mention or a message. Returns when what it asks for is stored, or when it asks for nothing."""
        workspace = await self.workspaces.find(team_id)
        if event.get("subtype") == "message_deleted":
            await self._forget_asked(workspace, event)
            return
        if not translate.is_from_a_person(event):
            return
        said = translate.said_in(event, workspace.bot_user_id)
        key = f"{said.channel_id}:{said.ts}"
        is_addressed = is_mention or said.channel_id.startswith("D")
        for_library = await self.library.meant(workspace, said, is_addressed=is_addressed)
        if for_library is not None:
            await self._once(f"{workspace.team_id}:{key}", lambda: self.library.take(workspace, said, for_library))
            return
        is_for_us = is_addressed or self._may_follow_up(said, workspace)
        if is_for_us or await self._speaks_to_running(workspace, said):
            await self._once(
                f"{workspace.team_id}:{key}", lambda: self._take(workspace, said, key, is_asked=is_mention)
            )

    async def commanded(self, command: Payload) -> SlackMessage | None:
        """`/research …`; gives what the asker alone is told at once, None when there is something else to see."""
        workspace = await self.workspaces.find(str(command.get("team_id") or ""))
        text = str(command.get("text") or "").strip()
        if not text or text.lower() == "help":
            return help_message() if text else sentence_message(wording.ASK_WHAT)
        word, _, rest = text.lower().partition(" ")
        if word == "settings" and rest.strip() in ("", "log"):
            user, trigger_id = str(command["user_id"]), str(command["trigger_id"])
            return await self.administration.commanded(workspace, user, trigger_id, rest.strip())
        place = await self.threads.place(workspace, str(command["channel_id"]), str(command["user_id"]))
        if text.lower() == "history":
            return await self._history(place)
        key = str(command["trigger_id"])
        at = self._address(place, key, response_url=str(command.get("response_url") or ""))
        try:
            is_private = place.settings.visibility == "private"
            request = translate.read_options(text, place.scope, place.own_scope, is_private=is_private)
        except GorkdError as error:
            return sentence_message(error.user_message)
        if request.is_private and not place.is_direct:
            at = replace(at, channel="")
        at = replace(at, conversation=f"{translate.PLATFORM}:{at.channel}:{key}")
        request = replace(request, asker=place.user_id, thread=at.conversation, channel=place.public_id)
        await self._submit(request, SlackReply(workspace, at))
        return sentence_message(wording.ON_IT)

    async def research_this(self, shortcut: Payload) -> None:
        """The message shortcut: what a message says is checked, in the thread that hangs on it."""
        workspace = await self.workspaces.find(str((shortcut.get("team") or {}).get("id") or ""))
        message, channel = shortcut.get("message") or {}, str((shortcut.get("channel") or {}).get("id") or "")
        ts = str(message.get("ts") or shortcut.get("message_ts") or "")
        thread_ts = str(message.get("thread_ts") or ts)
        user = str((shortcut.get("user") or {}).get("id") or "")
        place = await self.threads.place(workspace, channel, user)
        conversation = f"{translate.PLATFORM}:{channel}:{thread_ts}"
        response_url = str(shortcut.get("response_url") or "")
        key = f"check:{channel}:{ts}:{shortcut.get('trigger_id') or shortcut.get('action_ts')}"
        at = self._address(place, key, thread_ts, conversation, response_url=response_url)
        quoted = translate.text_of_message(message)
        request = ResearchRequest(
            "", place.scope, ("check",), quoted=quoted, asker=user, thread=conversation, channel=place.public_id
        )
        await self._submit(request, SlackReply(workspace, at))

    async def pane_opened(self, event: Payload, team_id: str) -> None:
        """The agent pane: a few questions to begin with."""
        workspace = await self.workspaces.find(team_id)
        thread = event.get("assistant_thread") or {}
        prompts = [{"title": prompt, "message": prompt} for prompt in PROMPTS]
        try:
            await workspace.client.assistant_threads_setSuggestedPrompts(
                channel_id=str(thread["channel_id"]), thread_ts=str(thread["thread_ts"]), prompts=prompts
            )
        except FAULTS as exc:
            _log.info("no prompts suggested", extra={"reason": reason(exc)})

    async def stopped(self, event: Payload, team_id: str) -> None:
        """Slack's own Stop: whoever Slack lets press it cancels what it was pressed on, else all in that thread."""
        channel, thread_ts = str(event.get("channel") or ""), str(event.get("thread_ts") or "")
        pressed = {str(ts) for ts in event.get("streaming_message_ts") or ()}
        workspace = await self.workspaces.find(team_id)
        for delivery in await self.researcher.undelivered(translate.PLATFORM):
            at = SlackAddress.read(delivery.address.data)
            if (at.team, at.channel) != (workspace.team_id, channel):
                continue
            if at.ts in pressed or (not pressed and at.thread_ts == thread_ts):
                await self.researcher.cancel(delivery.job.id)

    async def resume(self) -> int:
        """Follow what waits for its last edit; how many."""
        return await self.live.resume(self.reopen) + await self.library.live.resume(self.reopen)

    async def reopen(self, address: Address) -> SlackReply | None:
        """The message behind an address that an earlier process has kept; None where the app has been removed."""
        at = SlackAddress.read(address.data)
        try:
            return SlackReply(await self.workspaces.find(at.team), at, is_doubtful=True)
        except NotInstalled:
            return None

    async def take_away(self, address: Address) -> None:
        """What shows a job that was forgotten. Raises one of `FAULTS`, `StoreError`, when it may be tried again."""
        team, channel, ts, file = (str(address.data.get(name) or "") for name in ("team", "channel", "ts", "file"))
        try:
            client = (await self.workspaces.find(team)).client
            if file:
                await client.files_delete(file=file)
            elif channel and ts:
                await take_away(client, channel, ts)
        except NotInstalled:
            return
        except SlackApiError as exc:
            if reason(exc) not in OUT_OF_REACH:
                raise

    async def begin(self, submit: Submit, reply: SlackReply, scope: Scope) -> bool:
        """Store what `submit` makes under `key_of(reply)`, with its message. The answer comes by itself.

        False when it is known and answered elsewhere: nothing is shown then.

        A job that is known and has no message to be seen was stored by someone who died before noting where.
        """
        is_known = await self.researcher.asked(key_of(reply), scope=scope) is not None and await reply.is_posted()
        job = await self.live.accept(submit, reply, known=is_known)
        if job is not None:
            self.live.follow(job, reply)
        return job is not None or not is_known

    def _may_follow_up(self, said: Said, workspace: Workspace) -> bool:
        """In a channel, without a mention: one of our words, or a question to nobody else, within a thread."""
        if not said.thread_ts or said.thread_ts == said.ts or f"<@{workspace.bot_user_id}" in said.raw:
            return False
        kind = read_reply(said.text).kind
        is_word = kind not in ("question", "courtesy")
        return is_word or (said.text.endswith("?") and "<@" not in said.raw)

    async def _speaks_to_running(self, workspace: Workspace, said: Said) -> bool:
        """Without asking Slack which thread it is: every message of every thread comes by here."""
        if not said.thread_ts or said.thread_ts == said.ts or "<@" in said.raw:
            return False
        place = await self.threads.place(workspace, said.channel_id, said.user_id)
        running = await self._running(place, self.threads.remembered(workspace, said))
        return running is not None and running.request.asker == said.user_id

    async def _running(self, place: Place, conversation: str) -> ResearchJob | None:
        """The research under way that a reply in its thread speaks to."""
        for scope in dict.fromkeys((place.scope, place.own_scope)):
            running = await self.researcher.under_way(conversation, scope=scope)
            if running is not None:
                return running
        return None

    async def _once(self, key: str, take: Callable[[], Awaitable[None]]) -> None:
        """One message is taken once, however often it is sent; whoever sends it again waits for the first."""
        if self._taken.get(key):
            return
        if key not in self._taking:
            self._taking[key] = asyncio.create_task(_awaited(take()))
            self._taking[key].add_done_callback(lambda _: self._taking.pop(key, None))
        await asyncio.shield(self._taking[key])
        self._taken.put(key, value=True)

    async def _take(self, workspace: Workspace, said: Said, key: str, *, is_asked: bool) -> None:
        place = await self.threads.place(workspace, said.channel_id, said.user_id)
        conversation = await self.threads.conversation(workspace, said)
        thread_ts = said.thread_ts or ("" if place.is_direct or place.settings.threads == "never" else said.ts)
        reply = SlackReply(workspace, self._address(place, key, thread_ts, conversation))
        utterance = Utterance(
            said.text, said.user_id, is_addressed=is_asked or place.is_direct, has_files=bool(said.files)
        )
        running = await self._running(place, conversation) if said.thread_ts else None
        last = None
        if said.thread_ts or utterance.is_about_answer:
            last = await self.researcher.latest(conversation, scope=place.scope)
        deed = hear(utterance, last, running)
        try:
            if isinstance(deed, Ask):
                if place.is_direct and said.thread_ts:
                    await self._show_in_pane(workspace, said)
                await self._ask(workspace, said, place, reply)
            else:
                await self._do(deed, place, reply)
        except GorkdError as error:
            await self._tell(self.voice.refusal(error.user_message), place, reply)

    async def _ask(self, workspace: Workspace, said: Said, place: Place, reply: SlackReply) -> None:
        try:
            request = translate.read_options(said.text or wording.WHAT_DOES_IT_SAY, place.scope, place.own_scope)
            attachments = await self._read_files(workspace, said)
        except GorkdError as error:
            await reply.edit(self.voice.refusal(error.user_message))
            return
        if request.is_private and not place.is_direct:
            reply.at = replace(reply.at, channel="", thread_ts="")
        request = replace(request, asker=said.user_id, thread=reply.at.conversation, channel=place.public_id)
        await self._submit(request, reply, attachments)

    async def _read_files(self, workspace: Workspace, said: Said) -> list[Attachment]:
        if not said.files:
            return []
        return await read_files(said.files, workspace, self.session, self.researcher, api_url=self.api_url)

    async def _submit(
        self, request: ResearchRequest, reply: SlackReply, attachments: Sequence[Attachment] = ()
    ) -> None:
        async def submit() -> ResearchJob:
            return await self.researcher.submit(request, dedupe_key=key_of(reply), attachments=attachments)

        await self.begin(submit, reply, request.scope)

    async def _do(self, deed: Deed, place: Place, reply: SlackReply) -> None:
        """Whatever was said but a question. Raises `GorkdError`."""
        match deed:
            case Show(what):
                await self._tell(await self._history(place) if what == "history" else help_message(), place, reply)
            case Renew(job):
                submit = partial(renew, deed, self.researcher, place.user_id, key=key_of(reply))
                await self.begin(submit, reply, job.scope)
            case ShowSources(job):
                await self._post_sources(job, reply)
            case Say() | Forget() | Steer():
                said = await obey(deed, self.researcher, place.user_id, self.taking_away)
                await self._tell(self.voice.refusal(said), place, reply)

    async def _post_sources(self, job: ResearchJob, reply: SlackReply) -> None:
        shown = all_sources_message(*await sources_of(self.researcher, job.id))
        at = reply.at
        ts = await post(
            reply.client, ThreadAddress(at.channel, at.thread_ts), shown, Mark(at.key, "sources", at.conversation)
        )
        await self.researcher.note_shown(job.id, [shown_at(at.team, at.channel, ts)])

    async def _tell(self, message: SlackMessage, place: Place, reply: SlackReply) -> None:
        """To the asker alone where Slack lets us, else where it was said."""
        spot = ThreadAddress(place.channel_id, reply.at.thread_ts)
        if place.is_direct or not await whisper(reply.client, spot, place.user_id, message):
            await reply.edit(message)

    async def _history(self, place: Place) -> SlackMessage:
        jobs = await self.researcher.history(place.user_id, tenant=place.tenant, limit=HISTORY_LENGTH)
        return history_message(jobs, self.voice.links)

    async def _show_in_pane(self, workspace: Workspace, said: Said) -> None:
        """Status and title of a thread in the agent pane; elsewhere Slack refuses, which does no harm."""
        client, channel, thread_ts = workspace.client, said.channel_id, said.thread_ts
        title = said.text[:TITLE_ROOM] or STATUS
        try:
            await client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread_ts, status=STATUS)
            await client.assistant_threads_setTitle(channel_id=channel, thread_ts=thread_ts, title=title)
        except FAULTS as exc:
            _log.info("this thread has no status", extra={"reason": reason(exc)})

    async def _forget_asked(self, workspace: Workspace, event: Payload) -> None:
        """Who deletes a question takes it back, whoever could see the answer when it was asked."""
        channel, ts = str(event.get("channel") or ""), str(event.get("deleted_ts") or "")
        user = str((event.get("previous_message") or {}).get("user") or "")
        said = f"{workspace.team_id}:{channel}:{ts}"
        for scope in translate.scopes_of(workspace.team_id, channel, user):
            for asked in (f"{translate.PLATFORM}:{said}", f"library:{said}"):
                if await self.researcher.forget_asked(asked, scope=scope):
                    self.taking_away.hurry()

    def _address(
        self, place: Place, key: str, thread_ts: str = "", conversation: str = "", *, response_url: str = ""
    ) -> SlackAddress:
        return SlackAddress(
            place.team_id, place.user_id, key, place.channel_id, thread_ts,
            conversation=conversation, response_url=response_url,
        )  # fmt: skip


def key_of(reply: SlackReply) -> str:
    """What a job is stored under, so that the same message makes one job only."""
    return f"{translate.PLATFORM}:{reply.at.team}:{reply.at.key}"


async def _awaited(work: Awaitable[None]) -> None:
    await work
