"""What a click does, and the forms that some open. Each looks up its job and asks whether this person may see it here;
some are its asker's alone.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from adapters.chat.desk import Renew, Speaking, changed_key, press, renew, thanks_for_vote, told_of
from adapters.chat.reply import best_effort
from adapters.chat.slack.blocks import Block, SlackMessage, entry, modal, section, sentence_message, text_input, tick
from adapters.chat.slack.client import FAULTS, Workspace, open_view, reason
from adapters.chat.slack.incoming import Entrance, key_of
from adapters.chat.slack.poster import Mark, ThreadAddress, find, post, whisper
from adapters.chat.slack.render import FOLLOW_UP, IMPROVE, MORE, RATE, SHARE, VIEW
from adapters.chat.slack.reply import SlackAddress, SlackReply, respond, shown_at
from adapters.chat.slack.threads import thread_in, watch_place
from adapters.chat.slack.translate import (
    PLATFORM,
    Payload,
    SlackPlace,
    carried_by,
    given_in,
    id_of,
    is_shown,
    typed_where,
)
from adapters.chat.watching import WatchPlace
from core.model.answer import MAX_REASON_CHARS
from core.model.config import MAX_QUERY_CHARS
from core.model.errors import GorkdError, JobNotFound
from core.model.job import ResearchJob, ResearchRequest
from core.modes import MODES
from core.modes.mode import CONTEXT, FRESH, MODE, PRIVATE
from core.pipeline.conversation import JUST_AFTER
from core.presentation import wording
from core.text.saying import say, speak_else

_log = logging.getLogger(__name__)
FEEDBACK, WISH, SHARING, SAID = "feedback", "answer_wish", "sharing", "reason"


@dataclass(frozen=True)
class Click:
    """`message_ts` is the message with the button, `root_ts` the one its thread hangs on (itself where it is none)."""

    workspace: Workspace
    user: str
    channel: str
    message_ts: str
    root_ts: str
    action_ts: str
    trigger_id: str
    response_url: str
    value: str

    @classmethod
    def of(cls, body: Payload, workspace: Workspace) -> Click:
        action, container = body["actions"][0], body.get("container") or {}
        message = body.get("message") or {}
        ts = str(container.get("message_ts") or message.get("ts") or "")
        return cls(
            workspace=workspace,
            user=id_of(body, "user"),
            channel=str((body.get("channel") or {}).get("id") or container.get("channel_id") or ""),
            message_ts=ts,
            root_ts=str(message.get("thread_ts") or ts),
            action_ts=str(action.get("action_ts") or ""),
            trigger_id=str(body.get("trigger_id") or ""),
            response_url=str(body.get("response_url") or ""),
            value=str(action.get("value") or (action.get("selected_option") or {}).get("value") or ""),
        )

    def told(self, job: ResearchJob) -> str:
        """What a form about the job carries along; a trigger is used up by then."""
        kept = {name: value for name, value in vars(self).items() if name != "workspace"}
        return json.dumps({**kept, "value": job.id, "trigger_id": ""})

    @property
    def thread_ts(self) -> str:
        """Where a new answer goes: the thread of the button's message; "" for direct messages themselves."""
        return "" if self.channel.startswith("D") and self.root_ts == self.message_ts else self.root_ts

    @property
    def day(self) -> int:
        """Since 1970, of the click."""
        seconds = self.action_ts.partition(".")[0]
        return int(seconds) // 86_400 if seconds.isdecimal() else 0


@dataclass(frozen=True)
class Buttons:
    desk: Entrance

    @property
    def actions(self) -> dict[str, Callable[[Payload], Awaitable[None]]]:
        """By action id."""
        handlers: dict[str, Callable[[Click, ResearchJob], Awaitable[None]]] = {
            SHARE: partial(self._ask, share_modal),
            IMPROVE: partial(self._ask, wish_modal),
            RATE: self._rate,
            **{f"{FOLLOW_UP}_{number}": self._follow_up for number in range(1, 4)},
        }
        names = (wording.BUTTONS.keys() - {VIEW}) | handlers.keys()  # a link is Slack's own business
        actions = {name: partial(self._handle, name, handlers.get(name)) for name in names}

        async def choose(body: Payload) -> None:
            """What is behind the three dots does what a button of its name does."""
            chosen = str((body["actions"][0].get("selected_option") or {}).get("value") or "").partition(":")[0]
            if chosen in actions:
                await actions[chosen](body)

        return {**actions, MORE: choose}

    async def explained(self, body: Payload) -> None:
        """The modal of a 👎 was sent off."""
        job_id, said = said_in_modal(body.get("view") or {})
        user, team = id_of(body, "user"), id_of(body, "team")
        workspace = await self.desk.workspaces.find(team)
        with best_effort(_log.warning, "feedback not kept"):
            job = await self._job(job_id, workspace)
            await self.desk.researcher.rate(job_id, user, good=False, reason=said, scope=job.scope)

    async def wished(self, body: Payload) -> None:
        """The modal of Improve was sent off: a better answer comes where the button stands."""
        await self._sent_off(body, lambda job, wish, click: self._renew(Renew(job, "improve", wish), click))

    async def confirmed(self, body: Payload) -> None:
        """The modal of Share was sent off."""
        await self._sent_off(body, lambda job, _, click: self._share(click, job))

    async def _sent_off(self, body: Payload, act: Callable[[ResearchJob, str, Click], Awaitable[None]]) -> None:
        click_told, said = said_in_modal(body.get("view") or {})
        workspace = await self.desk.workspaces.find(id_of(body, "team"))
        click = Click(workspace, **json.loads(click_told))
        try:
            await act(await self._visible(click.value, click), said, click)
        except GorkdError as error:
            await self._whisper(click, error.user_message)

    async def _ask(self, form: Callable[[str], Block], click: Click, job: ResearchJob) -> None:
        if not await open_view(click.workspace, click.trigger_id, form(click.told(job))):
            await self._whisper(click, say(wording.FORM_NOT_OPENED))

    async def _handle(
        self, name: str, act: Callable[[Click, ResearchJob], Awaitable[None]] | None, body: Payload
    ) -> None:
        """Every click ends in something to see."""
        workspace = await self.desk.workspaces.find(id_of(body, "team"))
        click = Click.of(body, workspace)
        try:
            job = await self._visible(click.value.rpartition(":")[2], click)
            deed = press(name, job, click.user, question=click.value.rpartition(":")[0])
            if isinstance(deed, Renew):
                await self._renew(deed, click)
            elif deed is not None and (shown := await told_of(deed, self._speaking(click, job))):
                await self._show(click, shown)
            elif deed is None and act is not None:
                await act(click, job)
        except JobNotFound:
            await self._whisper(click, say(wording.NO_LONGER_KEPT))
        except GorkdError as error:
            await self._whisper(click, error.user_message)

    def _speaking(self, click: Click, job: ResearchJob) -> Speaking[SlackMessage]:
        desk, place = self.desk, SlackPlace(click.workspace.team_id, click.channel, click.user)

        async def where(_: ResearchJob | None) -> WatchPlace:
            return watch_place(place, job.scope, thread_ts=click.thread_ts, conversation=job.request.thread)

        is_admin = partial(self._is_admin, click)
        return Speaking(desk.researcher, desk.voice, click.user, place.tenant, where, desk.proving, is_admin=is_admin)

    async def _is_admin(self, click: Click) -> bool:
        return await self.desk.threads.people.is_admin(click.workspace, click.user)

    async def _renew(self, deed: Renew, click: Click) -> None:
        """A retry takes the place of the message that told of the failure."""
        job, where, ts = deed.job, click.thread_ts, ""
        key = {
            "retry": f"retry:{job.id}", "refresh": f"refresh:{job.id}:{click.day}", "start_deep": f"deep:{job.id}",
            "ask_again": f"again:{click.action_ts}", "improve": f"improve:{click.action_ts}",
            "changed": changed_key(job, deed.wish),
        }[deed.how]  # fmt: skip
        if deed.how == "changed":  # the offer was shown to one person alone, so nothing can hang on it
            where = thread_in(job.request.thread)
        if deed.how == "retry":
            where, ts = click.root_ts if click.root_ts != click.message_ts else "", click.message_ts
        reply = self._reply(click, job, key, thread_ts=where, ts=ts)
        if deed.how == "changed" and job.request.is_private and not click.channel.startswith("D"):
            reply.at = replace(reply.at, channel="", thread_ts="")  # answered where the first was: to the asker alone
        submit = partial(renew, deed, self.desk.researcher, click.user, key=key_of(reply))
        is_begun = await self.desk.begin(submit, reply, job.scope)
        if not is_begun and deed.how in ("refresh", "start_deep", "changed"):
            await self._whisper(click, say(wording.ALREADY_BEGUN))

    async def _job(self, job_id: str, workspace: Workspace) -> ResearchJob:
        """Raises `JobNotFound` also for a job of another workspace."""
        job = await self.desk.researcher.job(job_id)
        if job.scope.tenant != f"{PLATFORM}:{workspace.team_id}":
            raise JobNotFound(job_id)
        return job

    async def _visible(self, job_id: str, click: Click) -> ResearchJob:
        """Raises `JobNotFound` for a job that this person may not see here."""
        job = await self._job(job_id, click.workspace)
        if not is_shown(job, click.channel, click.user):
            raise JobNotFound(job_id)
        speak_else(wording.language_of(job))  # a click tells none
        return job

    async def _share(self, click: Click, job: ResearchJob) -> None:
        """Into the channel itself, once an answer, by whoever asked for it."""
        result = await self.desk.researcher.result(job.id)
        if result is None or click.channel.startswith("D"):
            raise JobNotFound(job.id)
        sources = await self.desk.researcher.sources(job.id)
        shared = self.desk.voice.shared(job, result, sources, click.user)
        client, spot, mark = click.workspace.client, ThreadAddress(click.channel), Mark(f"share:{job.id}", "shared")
        try:
            if not await find(client, spot, mark):
                at = shown_at(click.workspace.team_id, click.channel, await post(client, spot, shared, mark))
                await self.desk.researcher.note_shown(job.id, [at])
        except FAULTS as exc:
            _log.warning("answer not shared", extra={"reason": reason(exc)})
            await self._whisper(click, say(wording.SOMETHING_BROKE))

    async def _follow_up(self, click: Click, job: ResearchJob) -> None:
        """One of the questions that were offered, as if it had been written in the thread."""
        asked = replace(
            ResearchRequest(click.value.rpartition(":")[0], job.scope), asker=click.user, thread=job.request.thread,
            channel=job.request.channel, is_private=job.request.is_private, heard_before=job.created_at + JUST_AFTER,
        )  # fmt: skip
        reply = self._reply(click, job, f"follow:{click.action_ts}", thread_ts=click.thread_ts)
        await self.desk.submit(asked, reply)

    async def _rate(self, click: Click, job: ResearchJob) -> None:
        """The vote counts without a reason too."""
        is_good = click.value.startswith("good:")
        is_asked = not is_good and await open_view(click.workspace, click.trigger_id, feedback_modal(job.id))
        await self.desk.researcher.rate(job.id, click.user, good=is_good, scope=job.scope)
        is_admin = not is_good and await self._is_admin(click)
        if is_admin or not is_asked:
            await self._show(click, self.desk.voice.watching(thanks_for_vote(job, is_admin=is_admin)))

    def _reply(self, click: Click, job: ResearchJob, key: str, *, thread_ts: str, ts: str = "") -> SlackReply:
        at = SlackAddress(
            click.workspace.team_id, click.user, key, click.channel, thread_ts, ts,
            conversation=job.request.thread, response_url=click.response_url,
        )  # fmt: skip
        return SlackReply(click.workspace, at)

    async def _whisper(self, click: Click, sentence: str) -> None:
        await self._show(click, sentence_message(sentence))

    async def _show(self, click: Click, message: SlackMessage) -> None:
        """To who clicked alone; where Slack does not let us post, through the address it gave for this click."""
        spot = ThreadAddress(click.channel, click.root_ts if click.root_ts != click.message_ts else "")
        if not await whisper(click.workspace.client, spot, click.user, message):
            await respond(click.workspace.client, click.response_url, message)


def feedback_modal(job_id: str) -> Block:
    """Asks what went wrong, which need not be said; what comes back carries the job's id."""
    asked = entry(
        SAID, say(wording.WRONG_LABEL), text_input(MAX_REASON_CHARS, say(wording.WRONG_HINT)), is_optional=True
    )
    return modal(FEEDBACK, say(wording.WRONG_TITLE), [asked], submit=say(wording.SEND), metadata=job_id)


def wish_modal(click: str) -> Block:
    """Asks what is to be better; `click` comes back with it."""
    asked = entry(SAID, say(wording.IMPROVE_LABEL), text_input(MAX_REASON_CHARS, say(wording.IMPROVE_HINT)))
    return modal(WISH, say(wording.IMPROVE_TITLE), [asked], submit=say(wording.SEND), metadata=click)


def share_modal(click: str) -> Block:
    """Asks whether everybody is to see it; `click` comes back with it."""
    asked = section(say(wording.SHARE_QUESTION))
    return modal(SHARING, say(wording.SHARE_TITLE), [asked], submit=say(wording.SHARE), metadata=click)


def said_in_modal(view: Mapping[str, Any]) -> tuple[str, str]:
    """What a submitted modal carries, and what was written into it."""
    return str(view.get("private_metadata") or ""), given_in(view, SAID)


# `/research` alone: a form in which several modes can be ticked, read as what could have been typed


ASK_FORM, QUESTION, EXTRAS = "ask", "question", "extras"
_EXTRAS = (PRIVATE, FRESH)


@dataclass(frozen=True)
class AskForm:
    desk: Entrance

    async def commanded(self, command: Payload) -> None:
        """Once it is acknowledged, while its trigger lives."""
        if str(command.get("text") or "").strip():
            return
        asked = typed_where(command)
        workspace = await self.desk.workspaces.find(asked["team_id"])
        if not await open_view(workspace, str(command["trigger_id"]), ask_modal(json.dumps(asked))):
            await respond(workspace.client, asked["response_url"], sentence_message(say(wording.ASK_WHAT)))

    async def submitted(self, body: Payload) -> dict[str, Any]:
        """Returns when the question is stored; what the acknowledgement carries: what is wrong with it, if anything."""
        view = body.get("view") or {}
        typed = {"text": typed_in(view), "trigger_id": str(view.get("id") or "")}
        told = await self.desk.commanded({**carried_by(view), **typed})
        if told == sentence_message(say(wording.ON_IT)):
            return {}
        return {"response_action": "errors", "errors": {QUESTION: told.text if told else say(wording.ASK_WHAT)}}


def ask_modal(asked: str) -> Block:
    """`asked` comes back with what is submitted."""
    modes = [tick(mode.title, name, mode.description) for name, mode in MODES.items() if not mode.needs_files]
    extras = [tick(option.title, option.name, option.description) for option in _EXTRAS]
    blocks = [
        entry(QUESTION, say(wording.QUESTION), text_input(MAX_QUERY_CHARS, say(wording.ASK_WHAT))),
        entry(
            MODE.name, MODE.title, {"type": "checkboxes", "options": [*modes]}, is_optional=True, hint=MODE.description
        ),
        entry(CONTEXT.name, CONTEXT.title, text_input(MAX_REASON_CHARS, CONTEXT.description), is_optional=True),
        entry(EXTRAS, say(wording.EXTRAS), {"type": "checkboxes", "options": [*extras]}, is_optional=True),
    ]
    return modal(ASK_FORM, say(wording.RESEARCH), blocks, submit=say(wording.RESEARCH), metadata=asked)


def typed_in(view: Mapping[str, Any]) -> str:
    """What a submitted form asks, as one would type it; its options stand last, where they count."""
    modes, extras = given_in(view, MODE.name).split(), given_in(view, EXTRAS).split()
    context = re.sub(r'["“”]', "'", given_in(view, CONTEXT.name)).strip()
    options = [*(f"{MODE.name}:{mode}" for mode in modes), *(f"{extra}:yes" for extra in extras)]
    options += [f'{CONTEXT.name}:"{context}"'] if context else []
    question = given_in(view, QUESTION).strip()
    return " ".join([question, *options]) if question else ""
