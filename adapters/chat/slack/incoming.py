"""Where questions come in: each is stored before Slack hears that it arrived, and looked into afterwards (inbox.py).

What a message asks for is read by core/pipeline/conversation.py; answers are core's business; here both meet Slack.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from slack_sdk.errors import SlackApiError

from adapters.chat.connecting import ChatDeps
from adapters.chat.desk import (
    AMONG_PEOPLE,
    Ask,
    Deed,
    Nothing,
    Offer,
    Prove,
    Renew,
    SaidIn,
    Show,
    ShowSources,
    Speaking,
    TakingAway,
    Utterance,
    Watching,
    changed_key,
    hear,
    hear_command,
    hear_edit,
    heard_in,
    renew,
    told_of,
)
from adapters.chat.library import LiveTalks
from adapters.chat.live import LiveAnswers
from adapters.chat.reply import EditPace
from adapters.chat.slack import translate
from adapters.chat.slack.administering import Administration
from adapters.chat.slack.blocks import Block, SlackMessage, context, entry, label, modal, sentence_message
from adapters.chat.slack.client import NotInstalled, Workspace, Workspaces, open_view, read_files, reason
from adapters.chat.slack.inbox import Inbox, Letter
from adapters.chat.slack.library import SlackLibrary, SlackLibraryVoice, may_be_words
from adapters.chat.slack.poster import Mark, ThreadAddress, begin_session, post, react, take_away, whisper
from adapters.chat.slack.render import SlackVoice
from adapters.chat.slack.reply import (
    CLOSED,
    GONE,
    LAPSED,
    SlackAddress,
    SlackReply,
    respond,
    shown_at,
    tell_asker,
)
from adapters.chat.slack.threads import Threads, named, watch_place, watch_wish
from adapters.chat.slack.translate import (
    Payload,
    SlackFile,
    SlackPlace,
    SlackSaid,
    described_file,
    field_of,
    given_in,
    id_of,
)
from adapters.chat.watching import HISTORY_LENGTH, WatchPlace
from core.model.delivery import Address
from core.model.errors import GorkdError, StoreError
from core.model.job import Attachment, ResearchJob, ResearchRequest, Scope
from core.modes import can_be_steered
from core.pipeline.conversation import read_reply
from core.presentation import wording
from core.section.sections import CHOICES, check_request, words_for
from core.text.saying import say

OFFERED_CHARS = 1900  # of an edited question: it goes into a button's value, which has 2000
OUT_OF_REACH = GONE | CLOSED | LAPSED | {"file_not_found", "file_deleted", "cant_delete_file", "is_archived"}

Submit = Callable[[], Awaitable[ResearchJob]]


class Entrance:
    def __init__(self, deps: ChatDeps, workspaces: Workspaces) -> None:
        self.researcher, self.proving, self.workspaces = deps.researcher, deps.proving, workspaces
        rules, links, turns = deps.tenancy.settings, deps.links, deps.turns
        self.voice = SlackVoice(links)
        self.live = LiveAnswers(deps.researcher, self.voice, platform=translate.PLATFORM, turns=turns)
        self.threads = Threads(rules, deps.researcher)
        self.administration = Administration(rules, self.threads.people, self.threads.tongues)
        self.inbox = Inbox(deps.messages, turns)
        drawn = SlackLibraryVoice(links)
        talks = LiveTalks(deps.talks, drawn, platform=translate.PLATFORM, pace=EditPace(), turns=turns)
        self.library = SlackLibrary(talks, workspaces, self.threads, self.inbox)
        self.taking_away = TakingAway(deps.researcher, translate.PLATFORM, self.take_away)
        self.inbox.openers |= {
            "message": self._open_message, "command": self._open_command, "shortcut": self._open_shortcut,
            "edit": self._open_edit,
        }  # fmt: skip
        self.inbox.tell = partial(tell_asker, self.workspaces)

    async def heard(self, event: Payload, team_id: str, *, is_mention: bool) -> None:
        """A mention or a message. Returns when it is stored, or is not for us; what it asks for is found out later."""
        workspace = await self.workspaces.find(team_id, is_hurried=True)
        if event.get("subtype") == "message_deleted":
            await self._forget_asked(workspace, event)
            return
        if event.get("subtype") == "message_changed":
            await self._heard_edit(workspace, event)
            return
        if not translate.is_from_a_person(event):
            return
        said = translate.said_in(event, workspace.bot_user_id)
        if is_mention or said.is_direct or await self._may_be_meant(workspace, said):
            body = {"team": workspace.team_id, "event": dict(event), "is_mention": is_mention}
            name = f"{said.channel_id}:{said.ts}"
            await self.inbox.take(Letter("message", workspace.team_id, said.user_id, name, body))

    async def commanded(self, command: Payload) -> SlackMessage | None:
        """`/research …`; gives what the asker alone is told at once, None where a form opens instead."""
        asked, text = translate.typed_where(command), str(command.get("text") or "").strip()
        if not text or _settings_word(text) is not None or watch_wish(text):
            return None
        shows = hear_command(text)
        if shows == Show("help"):
            return self.voice.help()
        team, user = (await self.workspaces.find(asked["team_id"], is_hurried=True)).team_id, asked["user_id"]
        place = SlackPlace(team, asked["channel_id"], user)
        if shows:
            return self.voice.history(await self.researcher.history(user, tenant=place.tenant, limit=HISTORY_LENGTH))
        try:
            translate.read_options(text, place.scope, place.own_scope)
        except GorkdError as error:
            return sentence_message(error.user_message)
        trigger = str(command.get("trigger_id") or "")
        body = {**asked, "team": team, "text": text, "trigger_id": trigger}
        await self.inbox.take(Letter("command", team, user, trigger, body))
        return sentence_message(say(wording.ON_IT))

    async def configured(self, command: Payload) -> None:
        """`/research settings` or `watch`, once it is acknowledged: the form, or the sentence that says why not."""
        text = str(command.get("text") or "").strip()
        word, wish = _settings_word(text), watch_wish(text)
        if word is None and wish is None:
            return
        workspace = await self.workspaces.find(str(command.get("team_id") or ""))
        user, url = str(command["user_id"]), str(command.get("response_url") or "")
        if wish:
            said = await self.threads.watch_commanded(workspace, str(command["channel_id"]), user, wish)
            told: SlackMessage | None = self.voice.watching(said)
        else:
            told = await self.administration.commanded(workspace, user, str(command["trigger_id"]), word or "")
        if told is not None:
            await respond(workspace.client, url, told)

    async def research_this(self, shortcut: Payload) -> None:
        """The message shortcut. Returns when it is stored."""
        team, user = (id_of(shortcut, name) for name in ("team", "user"))
        workspace = await self.workspaces.find(team, is_hurried=True)
        names = ("team", "user", "channel", "message", "message_ts", "trigger_id", "action_ts", "response_url")
        body = {name: shortcut.get(name) for name in names}
        name = f"check:{shortcut.get('trigger_id') or shortcut.get('action_ts')}"
        await self.inbox.take(Letter("shortcut", workspace.team_id, user, name, body))

    async def _open_message(self, body: Payload) -> None:
        workspace = await self.workspaces.find(str(body["team"]))
        said = translate.said_in(body["event"], workspace.bot_user_id)
        is_mention = bool(body["is_mention"])
        for_library = await self.library.meant(workspace, said, is_addressed=is_mention or said.is_direct)
        if for_library is not None:
            await self.library.take(workspace, said, for_library)
        else:
            await self._take(workspace, said, f"{said.channel_id}:{said.ts}", is_asked=is_mention)

    async def _heard_edit(self, workspace: Workspace, event: Payload) -> None:
        """Only of a question that was researched, by our own records: every edit of a channel comes by."""
        edited = {**(event.get("message") or {}), "channel": event.get("channel")}
        if edited.get("text") == (event.get("previous_message") or {}).get("text"):
            return  # a link's preview, or a pin
        if translate.is_from_a_person(edited) and (found := await self._offered(workspace, edited)):
            name = f"edit:{found[0].channel_id}:{found[0].ts}:{event.get('ts')}"
            body = {"team": workspace.team_id, "event": edited}
            await self.inbox.take(Letter("edit", workspace.team_id, found[0].user_id, name, body))

    async def _open_edit(self, body: Payload) -> None:
        workspace = await self.workspaces.find(str(body["team"]))
        if found := await self._offered(workspace, body["event"]):
            said, offer = found
            place = await self.threads.place(workspace, said.channel_id, said.user_id)
            at = self._address(place, f"offer:{changed_key(offer.job, offer.question)}", said.thread_ts or said.ts)
            await self._tell(self.voice.changed(offer), said, place, SlackReply(workspace, at))

    async def _offered(self, workspace: Workspace, edited: Payload) -> tuple[SlackSaid, Offer] | None:
        """Of a message that asked something, whoever could see the answer then, and says something else now."""
        said = translate.said_in(edited, workspace.bot_user_id)
        key = f"{translate.PLATFORM}:{workspace.team_id}:{said.channel_id}:{said.ts}"
        scopes = translate.scopes_of(workspace.team_id, said.channel_id, said.user_id)
        jobs = [await self.researcher.asked_last(key, scope=scope) for scope in scopes]
        try:  # what was asked is kept without its options
            asked = translate.read_options(said.text, scopes[0], scopes[-1]).query
        except GorkdError:
            return None
        deed = hear_edit(asked, next(filter(None, jobs), None))
        return (said, deed) if isinstance(deed, Offer) and len(deed.question) <= OFFERED_CHARS else None

    async def _open_command(self, body: Payload) -> None:
        workspace = await self.workspaces.find(str(body["team"]))
        place = await self.threads.place(workspace, str(body["channel_id"]), str(body["user_id"]))
        is_private = place.settings.visibility == "private"
        request = translate.read_options(str(body["text"]), place.scope, place.own_scope, is_private=is_private)
        await self.begin_alone(
            workspace, place, request, str(body["trigger_id"]), response_url=str(body["response_url"])
        )

    async def begin_alone(
        self,
        workspace: Workspace,
        place: SlackPlace,
        request: ResearchRequest,
        key: str,
        *,
        response_url: str,
        attachments: Sequence[Attachment] = (),
    ) -> None:
        """What a command asks begins a conversation of its own; a private one is answered to its asker alone."""
        talk, shown_in = named(place.channel_id, key), place.channel_id
        if request.is_private and not place.is_direct:
            shown_in = ""
        at = SlackAddress(place.team_id, place.user_id, key, shown_in, conversation=talk, response_url=response_url)
        request = replace(request, asker=place.user_id, thread=talk, channel=place.public_id)
        await self.submit(request, SlackReply(workspace, at), attachments)

    async def _open_shortcut(self, shortcut: Payload) -> None:
        """What a message says is checked, in the thread that hangs on it."""
        workspace = await self.workspaces.find(id_of(shortcut, "team"))
        message, channel = shortcut.get("message") or {}, id_of(shortcut, "channel")
        ts = str(message.get("ts") or shortcut.get("message_ts") or "")
        thread_ts = str(message.get("thread_ts") or ts)
        user = id_of(shortcut, "user")
        place = await self.threads.place(workspace, channel, user)
        conversation = f"{translate.PLATFORM}:{channel}:{thread_ts}"
        response_url = str(shortcut.get("response_url") or "")
        key = f"check:{channel}:{ts}:{shortcut.get('trigger_id') or shortcut.get('action_ts')}"
        at = self._address(place, key, thread_ts, conversation, response_url=response_url)
        quoted = translate.text_of_message(message)
        request = ResearchRequest(
            "", place.scope, ("check",), quoted=quoted, asker=user, thread=conversation, channel=place.public_id
        )
        await self.submit(request, SlackReply(workspace, at))

    async def stopped(self, event: Payload, team_id: str) -> None:
        """Slack's own Stop: whoever Slack lets press it cancels what it was pressed on, else all in that thread."""
        channel, thread_ts = str(event.get("channel") or ""), str(event.get("thread_ts") or "")
        pressed = {str(ts) for ts in event.get("streaming_message_ts") or ()}
        workspace = await self.workspaces.find(team_id, is_hurried=True)
        for delivery in await self.researcher.undelivered(translate.PLATFORM):
            at = SlackAddress.read(delivery.address.data)
            if (at.team, at.channel) != (workspace.team_id, channel):
                continue
            if at.ts in pressed or (not pressed and at.thread_ts == thread_ts):
                await self.researcher.cancel(delivery.job.id)

    async def resume(self) -> int:
        """Follow what waits for its last edit; how many."""
        followed = await self.live.resume(self.reopen) + await self.library.live.resume(self.reopen)
        return followed + await self.inbox.resume()

    async def reopen(self, address: Address) -> SlackReply | None:
        """The message behind an address that an earlier process has kept; None where the app has been removed."""
        at = SlackAddress.read(address.data)
        at = at if at.user or not at.key else replace(at, thread_ts=at.ts, ts="")  # below what is shown
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
        Raises `StoreError` while the records are away: what a letter asks is asked again.
        """
        is_known = await self.researcher.asked(key_of(reply), scope=scope) is not None and await reply.is_posted()
        job = await self.live.accept(submit, reply, known=is_known, is_kept=True)
        if job is not None:
            self.live.follow(job, reply)
        return job is not None or not is_known

    async def _may_be_meant(self, workspace: Workspace, said: SlackSaid) -> bool:
        """Of what was said in a channel's thread without a mention, by our own records: every such message comes by.

        Our words where they say nothing of the thread may be meant, if its first message is ours, or may be.
        """
        if not said.is_reply or f"<@{workspace.bot_user_id}" in said.raw:
            return False
        waiting = await self.threads.waiting(workspace, said)
        steered = [job for _, job in waiting if can_be_steered(job.request.modes) and job.request.asker == said.user_id]
        if steered and "<@" not in said.raw:
            return True
        kind = read_reply(said.text).kind
        is_word = may_be_words(said.text) or kind not in ("question", *AMONG_PEOPLE)
        is_open_question = said.text.endswith("?") and "<@" not in said.raw  # to nobody else
        if not (is_word or kind in AMONG_PEOPLE or is_open_question):
            return False
        recorded = await self.threads.recorded(workspace, said)
        conversation = recorded or named(said.channel_id, said.thread_ts)
        last = await self.threads.last(workspace, said, conversation)
        utterance = Utterance(said.text, said.user_id, is_addressed=False, has_files=bool(said.files))
        if not isinstance(hear(utterance, last, None), Nothing) or await self.library.follows(
            workspace, said, conversation
        ):
            return True
        is_unknown = not recorded and last is None
        hangs_on_ours = said.parent_id == workspace.bot_user_id
        return is_unknown and (hangs_on_ours or (is_word and not said.parent_id))

    async def _take(self, workspace: Workspace, said: SlackSaid, key: str, *, is_asked: bool) -> None:
        place = await self.threads.place(workspace, said.channel_id, said.user_id)
        conversation = await self.threads.conversation(workspace, said)
        is_flat = place.settings.threads == "never" and not place.is_direct
        thread_ts = said.thread_ts or ("" if is_flat else said.ts)
        reply = SlackReply(workspace, self._address(place, key, thread_ts, conversation))
        utterance = Utterance(
            said.text, said.user_id, is_addressed=is_asked or place.is_direct, has_files=bool(said.files)
        )
        is_flat_talk = place.is_direct and not said.is_reply
        where = SaidIn(
            conversation, (place.scope, place.own_scope), may_steer=bool(said.thread_ts),
            otherwise=partial(self._newest, place) if is_flat_talk else None,
        )  # fmt: skip
        deed = await heard_in(where, utterance, self.researcher)
        try:
            if isinstance(deed, Ask):
                await self._ask(workspace, said, place, reply)
            else:
                await self._do(workspace, deed, said, place, reply)
        except StoreError:  # the letter is opened again
            raise
        except GorkdError as error:
            await self._tell(self.voice.refusal(error.user_message), said, place, reply)

    async def _ask(self, workspace: Workspace, said: SlackSaid, place: SlackPlace, reply: SlackReply) -> None:
        try:
            request = translate.read_options(said.text or say(wording.WHAT_DOES_IT_SAY), place.scope, place.own_scope)
            attachments = await read_files(said.files, workspace, self.researcher)
        except StoreError:
            raise
        except GorkdError as error:
            await reply.edit(self.voice.refusal(error.user_message))
            return
        if request.is_private and not place.is_direct:
            reply.at = replace(reply.at, channel="", thread_ts="")
        elif place.is_direct:
            at = reply.at = replace(reply.at, session="yes")
            await begin_session(reply.client, at.channel, at.thread_ts, user=said.user_id, asked=said.text)
        request = replace(request, asker=said.user_id, thread=reply.at.conversation, channel=place.public_id)
        await self.submit(request, reply, attachments)

    async def _newest(self, place: SlackPlace) -> ResearchJob | None:
        """What a word is about that is said in direct messages themselves, in no thread."""
        here = f"{named(place.channel_id, '')}:"
        newest = await self.researcher.recent(place.scope, limit=HISTORY_LENGTH)
        return next((job for job in newest if job.request.thread.startswith(here)), None)

    async def submit(self, request: ResearchRequest, reply: SlackReply, attachments: Sequence[Attachment] = ()) -> None:
        submit = partial(self.researcher.submit, request, dedupe_key=key_of(reply), attachments=attachments)
        await self.begin(submit, reply, request.scope)

    async def _do(
        self, workspace: Workspace, deed: Deed, said: SlackSaid, place: SlackPlace, reply: SlackReply
    ) -> None:
        """Whatever was said but a question. Raises `GorkdError`."""
        at = reply.at
        if isinstance(deed, Renew):
            submit = partial(renew, deed, self.researcher, place.user_id, key=key_of(reply))
            await self.begin(submit, reply, deed.job.scope)
            return

        async def where(watched: ResearchJob | None) -> WatchPlace:
            scope = watched.scope if watched else place.scope
            return watch_place(place, scope, thread_ts=at.thread_ts, conversation=at.conversation)

        speaking = Speaking(
            self.researcher, self.voice, place.user_id, place.tenant, where,
            self.proving, partial(self.threads.elsewhere, workspace, place), self.taking_away,
            partial(self.threads.people.is_admin, workspace, place.user_id),
            sign=partial(react, workspace.client, said.channel_id, said.ts),
        )  # fmt: skip
        shown = await told_of(deed, speaking)
        if shown is not None and isinstance(deed, ShowSources):
            mark = Mark(at.key, "sources", at.conversation)
            ts = await post(reply.client, ThreadAddress(at.channel, at.thread_ts), shown, mark)
            await self.researcher.note_shown(deed.job.id, [shown_at(at.team, at.channel, ts)])
        elif shown is not None:
            is_ones_own = deed == Show("history") or (isinstance(deed, Watching) and deed.wish.kind == "list")
            if is_ones_own and not place.is_direct:  # it names what was asked behind other doors
                reply.at = replace(at, channel="", thread_ts="")  # where it cannot be whispered
            await self._tell(shown, said, place, reply)
        if isinstance(deed, Prove) and reply.at.ts:  # else an aside, which only Slack takes away
            await self.researcher.note_shown(deed.job.id, reply.shown)

    async def _tell(self, message: SlackMessage, said: SlackSaid, place: SlackPlace, reply: SlackReply) -> None:
        """To the asker alone where Slack lets us, where it was said: a thread without a reply shows it to nobody."""
        spot = ThreadAddress(place.channel_id, said.thread_ts if said.is_reply else "")
        if place.is_direct or not await whisper(reply.client, spot, place.user_id, message):
            await reply.edit(message if place.is_direct else replace(message, files=()))  # files stay with who asked

    async def _forget_asked(self, workspace: Workspace, event: Payload) -> None:
        """Who deletes a question takes it back, whoever could see the answer when it was asked."""
        channel, ts = str(event.get("channel") or ""), str(event.get("deleted_ts") or "")
        user = str((event.get("previous_message") or {}).get("user") or "")
        await self.inbox.drop(workspace.team_id, f"{channel}:{ts}")
        said = f"{workspace.team_id}:{channel}:{ts}"
        scopes = translate.scopes_of(workspace.team_id, channel, user)
        await self.taking_away.take_back((f"{translate.PLATFORM}:{said}", f"library:{said}"), scopes)

    def _address(
        self, place: SlackPlace, key: str, thread_ts: str = "", conversation: str = "", *, response_url: str = ""
    ) -> SlackAddress:
        return SlackAddress(
            place.team_id, place.user_id, key, place.channel_id, thread_ts,
            conversation=conversation, response_url=response_url,
        )  # fmt: skip


def key_of(reply: SlackReply) -> str:
    """What a job is stored under, so that the same message makes one job only."""
    return f"{translate.PLATFORM}:{reply.at.team}:{reply.at.key}"


def _settings_word(text: str) -> str | None:
    """Of `settings` "", of `settings log` that word; None of all else."""
    word, _, rest = text.lower().partition(" ")
    return rest.strip() if word == "settings" and rest.strip() in ("", "log") else None


# `/section`: a modal that takes a context and perhaps an experiment as files, and the job that it makes


SECTION_COMMAND, SECTION_FORM = "/section", "section"
WHICH, CONTEXT, EXPERIMENT = "which", "context", "experiment"
READ_WITHIN_S = 0.6  # of files, before the modal is acknowledged; what takes longer is told in a message
FORM_TITLE = "Write a section"
FORM_HELP = (
    "The least a context holds: `concept: {description: what the paper is about}`. More in it, such as open questions "
    "and a hypothesis, finds better evidence. The sources are the papers of this channel."
)


@dataclass(frozen=True)
class Sections:
    desk: Entrance
    _reading: dict[str, asyncio.Task[list[Attachment]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.desk.inbox.openers[SECTION_FORM] = self._open

    async def commanded(self, command: Payload) -> None:
        """Open the modal, else say that it does not open."""
        asked = translate.typed_where(command)
        workspace = await self.desk.workspaces.find(asked["team_id"])
        view = section_modal(json.dumps(asked), str(command.get("text") or "").strip().lower())
        if not await open_view(workspace, str(command["trigger_id"]), view):
            await respond(workspace.client, asked["response_url"], sentence_message(say(wording.SOMETHING_BROKE)))

    async def submitted(self, body: Payload) -> dict[str, Any]:
        """Returns when what the modal asks for is stored; what the acknowledgement carries: which file is known by then
        to be no good, if any.
        """
        view = {name: (body.get("view") or {}).get(name) for name in ("id", "private_metadata", "state")}
        asked, view_id = translate.carried_by(view), str(view["id"] or "")
        workspace = await self.desk.workspaces.find(asked["team_id"], is_hurried=True)
        which, files = chosen_in(view)
        reading = asyncio.create_task(self._read(workspace, which, files), name="section files")
        done, _ = await asyncio.wait({reading}, timeout=READ_WITHIN_S)
        error = reading.exception() if done else None
        if isinstance(error, GorkdError):
            named = EXPERIMENT if len(files) > 1 and files[1].name in error.user_message else CONTEXT
            return {"response_action": "errors", "errors": {named: error.user_message}}
        self._reading[view_id] = reading
        await self.desk.inbox.take(
            Letter(SECTION_FORM, workspace.team_id, asked["user_id"], f"section:{view_id}", view)
        )
        return {}

    async def _open(self, view: Payload) -> None:
        """The files are being read, unless whoever began that has died."""
        asked, view_id = translate.carried_by(view), str(view.get("id") or "")
        workspace = await self.desk.workspaces.find(asked["team_id"])
        which, files = chosen_in(view)
        reading = self._reading.pop(view_id, None)
        try:
            attachments = await (reading or self._read(workspace, which, files))
        except GorkdError as error:
            await respond(workspace.client, asked["response_url"], sentence_message(error.user_message))
            return
        place = await self.desk.threads.place(workspace, asked["channel_id"], asked["user_id"])
        is_private = place.settings.visibility == "private"
        scope = place.own_scope if is_private else place.scope
        request = ResearchRequest(words_for(which), scope, modes=("section",), is_private=is_private)
        await self.desk.begin_alone(
            workspace, place, request, f"{SECTION_FORM}:{view_id}",
            response_url=asked["response_url"], attachments=attachments,
        )  # fmt: skip

    async def _read(self, workspace: Workspace, which: str, files: Sequence[SlackFile]) -> list[Attachment]:
        """Raises `GorkdError` for files that cannot be read, or that no section can be begun from."""
        attachments = await read_files(files, workspace, self.desk.researcher)
        check_request(words_for(which), attachments, is_in_thread=False)
        return attachments


def section_modal(asked: str, chosen: str = "") -> Block:
    """`asked` comes back with what is submitted; `chosen` is the section that stands there first."""
    options: list[Block] = [{"text": label(say(title), 75), "value": name} for name, title in CHOICES.items()]
    first = [option for option in options if option["value"] == chosen]
    which: Block = {"type": "static_select", "options": [*options], **({"initial_option": first[0]} if first else {})}
    blocks = [
        entry(WHICH, say("Section"), which),
        _file_input(CONTEXT, say("Context: what the paper is about"), say("YAML or JSON with concept.description")),
        _file_input(EXPERIMENT, say("Experiment: what was done and found"), say("YAML or JSON"), is_optional=True),
        context(say(FORM_HELP)),
    ]
    return modal(SECTION_FORM, say(FORM_TITLE), blocks, submit=say("Write"), metadata=asked)


def _file_input(name: str, text: str, hint: str, *, is_optional: bool = False) -> Block:
    element: Block = {"type": "file_input", "filetypes": ["yaml", "yml", "json"], "max_files": 1}
    return entry(name, text, element, is_optional=is_optional, hint=hint)


def chosen_in(view: Mapping[str, Any]) -> tuple[str, list[SlackFile]]:
    """The section and the files of a submitted modal, the context first."""
    files = [
        described_file(file)
        for name in (CONTEXT, EXPERIMENT)
        for file in field_of(view, name).get("files") or ()
        if file.get("id")
    ]
    return given_in(view, WHICH), files
