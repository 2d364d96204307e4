"""The paper library in Slack: `/library`, its modal, its buttons, and words in the threads of its conversations."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import regex

from adapters.chat.fitting import fit, last_lines
from adapters.chat.library import LiveTalks
from adapters.chat.reply import best_effort
from adapters.chat.slack import translate
from adapters.chat.slack.blocks import (
    LABEL_LIMIT,
    MARKDOWN_LIMIT,
    SECTION_LIMIT,
    Block,
    SlackMessage,
    actions,
    button,
    context,
    entry,
    escaped,
    header,
    label,
    link_button,
    markdown,
    markdown_block,
    message,
    modal,
    plain,
    section,
    sentence_message,
    text_input,
)
from adapters.chat.slack.client import Workspace, Workspaces, download, open_view
from adapters.chat.slack.inbox import Inbox, Letter
from adapters.chat.slack.render import CANCEL, VIEW
from adapters.chat.slack.reply import SlackAddress, SlackReply
from adapters.chat.slack.threads import Threads, named
from adapters.chat.slack.translate import Payload, SlackSaid, given_in, id_of
from adapters.chat.watching import Upload
from core.library.ingest import MAX_PAPER_BYTES
from core.library.paper import Paper
from core.library.session import LibraryCard, SaidToLibrary, Speaker, library_card
from core.library.states import COMMANDS, NO, YES, Addition, Incoming, Words, read_addition, read_command
from core.model.errors import GorkdError
from core.presentation import wording
from core.presentation.page_links import PageLinks
from core.presentation.render import cut, one_line, printable
from core.text.saying import say

NOTED_WITHIN_S = 0.3  # what is said has been noted with its message by then
SUGGEST_WITHIN_S = 2.0  # Slack shows nothing that comes after three

_log = logging.getLogger(__name__)
ASK, WISH = "library_ask", "library_wish"  # callback ids
COMMAND, ARGUMENT, PAPER = "library_command", "library_argument", "library_paper"
ADD = "add"
OPTIONS_LIMIT = 100  # of a select
OPTION_VALUE_LIMIT = 150
ARGUMENT_LIMIT = 1000
OF_A_PAPER = tuple(
    name for name, rule in COMMANDS.items() if rule.takes_paper and name != "summarize"
)  # of the library
DOES = {ADD: "add a paper by arXiv id, DOI or address", **{name: rule.does for name, rule in COMMANDS.items()}}


@dataclass(frozen=True)
class SlackLibrary:
    """However something is said to the library, it is answered in one message of `live`."""

    live: LiveTalks[SlackMessage]
    workspaces: Workspaces
    threads: Threads
    inbox: Inbox

    def __post_init__(self) -> None:
        self.inbox.openers["library"] = self._open

    async def commanded(self, command: Payload) -> None:
        """`/library …`: returns when it is stored. Without words there is nothing to store."""
        text = translate.question_of(str(command.get("text") or ""), "")
        if text:
            team, user = str(command.get("team_id") or ""), str(command["user_id"])
            await self._store(team, user, _asked(command), text, key=str(command["trigger_id"]))

    async def opened(self, command: Payload) -> None:
        """`/library` without words, once it is acknowledged: the modal, while its trigger lives."""
        if translate.question_of(str(command.get("text") or ""), ""):
            return
        team, user, trigger = str(command.get("team_id") or ""), str(command["user_id"]), str(command["trigger_id"])
        workspace, asked = await self.workspaces.find(team), _asked(command)
        if not await open_view(workspace, trigger, ask_modal(asked)):
            await self._say(workspace, user, asked, "help", key=trigger)

    async def submitted(self, body: Payload) -> dict[str, Any]:
        """A modal was sent off. Returns when it is stored; what the acknowledgement carries: what is missing, if
        anything.
        """
        view = body.get("view") or {}
        text, missing = said_in_modal(view)
        if missing:
            return {"response_action": "errors", "errors": missing}
        team, user = (id_of(body, name) for name in ("team", "user"))
        await self._store(team, user, AskedInForm.of(view), text, key=str(view.get("id") or ""))
        return {}

    async def _store(self, team: str, user: str, asked: AskedInForm, text: str, *, key: str) -> None:
        team = (await self.workspaces.find(team, is_hurried=True)).team_id
        body = {"team": team, "user": user, "asked": asdict(asked), "text": text, "key": key}
        await self.inbox.take(Letter("library", team, user, f"library:{key}", body))

    async def _open(self, body: Payload) -> None:
        workspace = await self.workspaces.find(str(body["team"]))
        asked = AskedInForm(**body["asked"])
        await self._say(workspace, str(body["user"]), asked, str(body["text"]), key=str(body["key"]))

    async def suggested(self, body: Payload) -> list[Block]:
        """Papers for what is typed into the modal; none rather than too late."""
        workspace = await self.workspaces.find(id_of(body, "team"))
        asked = AskedInForm.of(body.get("view") or {})
        with best_effort(_log.warning, "no papers suggested", of=(TimeoutError, GorkdError)):
            async with asyncio.timeout(SUGGEST_WITHIN_S):
                place = await self.threads.place(workspace, asked.channel, id_of(body, "user"))
                return paper_options(await self.live.talks.papers(place.scope), str(body.get("value") or ""))
        return []

    async def pressed(self, body: Payload) -> None:
        """Open or Save: said in the thread of the button's message. Returns when it is stored."""
        press, asked, key = _pressed(body)
        if press is not None:
            await self._store(id_of(body, "team"), id_of(body, "user"), asked, press.says, key=key)

    async def wishes(self, body: Payload) -> None:
        """Improve: asks what is to be better, while the trigger lives."""
        _, asked, key = _pressed(body)
        workspace = await self.workspaces.find(id_of(body, "team"))
        if not await open_view(workspace, str(body.get("trigger_id") or ""), wish_modal(asked)):
            await self._say(workspace, id_of(body, "user"), asked, "help", key=key)

    async def meant(self, workspace: Workspace, said: SlackSaid, *, is_addressed: bool) -> Words | Addition | None:
        """What of a message is for the library; None for a question."""
        if not is_addressed and not (said.thread_ts and may_be_words(said.text)):
            return None
        place = await self.threads.place(workspace, said.channel_id, said.user_id)
        thread = await self._conversation(workspace, said)
        with best_effort(_log.warning, "not known whether the library is meant"):
            return await self.live.talks.hear(
                place.scope, thread, said.text, has_files=bool(said.files), is_addressed=is_addressed
            )
        return None

    async def follows(self, workspace: Workspace, said: SlackSaid, conversation: str) -> bool:
        """Whether what was only heard goes on a conversation with the library, by our own records."""
        if not may_be_words(said.text):
            return False
        for scope in translate.scopes_of(workspace.team_id, said.channel_id, said.user_id):
            if await self.live.talks.hear(scope, conversation, said.text, is_addressed=False) is not None:
                return True
        return False

    async def take(self, workspace: Workspace, said: SlackSaid, meant: Words | Addition) -> None:
        """Answer a message in its thread."""
        asked = AskedInForm(said.channel_id, said.thread_ts or said.ts, await self._conversation(workspace, said))
        load = partial(download, workspace=workspace, max_bytes=MAX_PAPER_BYTES)
        files = [Incoming(file.name, file.size, partial(load, file)) for file in said.files]
        words = meant.text if isinstance(meant, Words) else meant
        await self._say(workspace, said.user_id, asked, words, key=f"{said.channel_id}:{said.ts}", files=files)

    async def _conversation(self, workspace: Workspace, said: SlackSaid) -> str:
        """A thread's own; in direct messages one, by whichever message."""
        return named(said.channel_id, "") if said.is_direct else await self.threads.conversation(workspace, said)

    async def _say(
        self,
        workspace: Workspace,
        user: str,
        asked: AskedInForm,
        said: str | Addition,
        *,
        key: str,
        files: Sequence[Incoming] = (),
    ) -> None:
        """Slack is asked about admins only where it matters."""
        command = said.partition(" ")[0].casefold() if isinstance(said, str) else ADD
        if command == ADD and isinstance(said, str):
            said = read_addition(f"library {said}", has_files=False) or Addition()
        needs_admin = command == ADD or (command in COMMANDS and COMMANDS[command].changes_store)
        place = await self.threads.place(workspace, asked.channel, user)
        own = named(place.channel_id, "" if place.is_direct else user)  # others may join in the thread of an answer
        thread = asked.thread or own
        is_admin = place.is_direct or (needs_admin and await self.threads.people.is_admin(workspace, user))
        at = SlackAddress(
            place.team_id, user, key, place.channel_id, asked.thread_ts,
            conversation=thread, response_url=asked.response_url,
        )  # fmt: skip
        speaker = Speaker(
            place.scope, thread, user, is_admin=is_admin, key=f"{place.team_id}:{key}", channel=place.public_id
        )
        reply = SlackReply(workspace, at)
        if isinstance(said, Addition):
            answering = self.live.add(speaker, said, files, reply)
        else:
            answering = self.live.say(speaker, said, reply, about=asked.about)
        await asyncio.wait({answering}, timeout=NOTED_WITHIN_S)  # its message is noted first, and then lives by itself


def may_be_words(text: str) -> bool:
    """Worth a look in a thread where people talk to each other."""
    return read_command(text) is not None or text.strip(" .!").casefold() in YES | NO


def _asked(command: Payload) -> AskedInForm:
    return AskedInForm(str(command["channel_id"]), response_url=str(command.get("response_url") or ""))


def _pressed(body: Payload) -> tuple[LibraryPress | None, AskedInForm, str]:
    """What a click says, where, and the key of the click."""
    action, container, message = body["actions"][0], body.get("container") or {}, body.get("message") or {}
    press = LibraryPress.read(str(action.get("value") or ""))
    ts = str(container.get("message_ts") or message.get("ts") or "")
    channel = id_of(body, "channel") or str(container.get("channel_id") or "")
    is_direct_root = channel.startswith("D") and not message.get("thread_ts")
    thread_ts = "" if is_direct_root else str(message.get("thread_ts") or ts)
    thread, about = (press.thread, press.about) if press else ("", "")
    asked = AskedInForm(channel, thread_ts, thread, str(body.get("response_url") or ""), about)
    return press, asked, f"press:{channel}:{ts}:{action.get('action_ts')}"


@dataclass(frozen=True)
class AskedInForm:
    """Where a modal was opened, kept in it: a submission does not say. `thread` is "" for the place's own talk, `about`
    the tag of what a button stood under.
    """

    channel: str
    thread_ts: str = ""
    thread: str = ""
    response_url: str = ""
    about: str = ""

    @property
    def metadata(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> AskedInForm:
        kept = json.loads(str(view.get("private_metadata") or "{}"))
        return cls(**{name: str(kept.get(name) or "") for name in cls.__dataclass_fields__})


def ask_modal(asked: AskedInForm) -> Block:
    """Any command, with a paper of the library or with words."""
    options: list[Block] = [_option(f"{name}: {say(does)}", name) for name, does in DOES.items()]
    research = next(option for option in options if option["value"] == "research")
    command: Block = {"type": "static_select", "options": [*options], "initial_option": research}
    words = text_input(ARGUMENT_LIMIT, say("A question, feedback, an arXiv id, or page 3"), is_long=False)
    paper: Block = {"type": "external_select", "min_query_length": 0}
    paper["placeholder"] = label(say("Find by id or title"), 150)
    blocks = [
        entry(COMMAND, say("What to do"), command),
        entry(ARGUMENT, say("Words"), words, is_optional=True),
        entry(PAPER, say("Paper (for {commands}, …)", commands=", ".join(OF_A_PAPER[:2])), paper, is_optional=True),
    ]
    return modal(ASK, say("Paper library"), blocks, submit=say("Go"), metadata=asked.metadata)


def wish_modal(asked: AskedInForm) -> Block:
    """What `improve` is to mind."""
    field = entry(ARGUMENT, say(wording.IMPROVE_LABEL), text_input(ARGUMENT_LIMIT, say(wording.IMPROVE_HINT)))
    return modal(WISH, say(wording.IMPROVE_TITLE), [field], submit=say(wording.IMPROVE), metadata=asked.metadata)


def said_in_modal(view: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """What was said, as one would type it; and what is missing by block id, as Slack shows it beside the field."""
    words = given_in(view, ARGUMENT).strip()
    if view.get("callback_id") == WISH:
        return f"improve {words}".strip(), {}
    command, paper = given_in(view, COMMAND), given_in(view, PAPER)
    takes_paper = command in OF_A_PAPER
    argument = f"{paper} {words}".strip() if takes_paper else words
    rule = COMMANDS.get(command)
    needs = command == ADD or (rule is not None and bool(rule.argument) and rule.needs_argument)
    if needs and not argument:
        pick = say("Pick a paper, or write its number above.")
        return "", ({PAPER: pick} if takes_paper else {ARGUMENT: say("Say what.")})
    return f"{command} {argument}".strip(), {}


def paper_options(papers: Sequence[Paper], wanted: str) -> list[Block]:
    """Papers whose id or title has `wanted` in it; those whose id Slack cannot take are left out."""
    wanted = wanted.casefold().strip()
    fitting = [paper for paper in papers if wanted in f"{paper.id} {paper.title}".casefold()]
    kept = [paper for paper in fitting if len(paper.id) <= OPTION_VALUE_LIMIT]
    return [_option(f"{paper.id} {paper.title}", paper.id) for paper in kept[:OPTIONS_LIMIT]]


def _option(text: str, value: str) -> Block:
    return {"text": label(text, LABEL_LIMIT), "value": value}


# What it says, as blocks: a reply, its progress, and the buttons that go on from it. Pure.


OPEN, IMPROVE, SAVE, PDF = "library_open", "library_improve", "library_save", "library_pdf"
ASKED_ROOM = 300
BESIDE_PICTURE = 500  # characters of a page that is shown as a picture
_HEADINGS = regex.compile(r"^#{1,6}\s+", regex.MULTILINE)
_BREAK = regex.compile(r"(?<!\n)\n(?!\n)")


@dataclass(frozen=True)
class LibraryPress:
    """What a button says in the library, and the conversation it says it in. Stands in the button's value.

    `about` is the tag of what it stands under, "" where what came since does not matter.
    """

    thread: str
    says: str
    about: str = ""

    @property
    def value(self) -> str:
        return json.dumps([self.thread, self.says, self.about])

    @classmethod
    def read(cls, value: str) -> LibraryPress | None:
        """None for a value that is none of ours."""
        try:
            thread, says, about = json.loads(value)
        except (ValueError, TypeError):
            return None
        return cls(str(thread), str(says), str(about))


@dataclass(frozen=True)
class SlackLibraryVoice:
    """What adapters/chat/library.py shows. `links` make the addresses of papers."""

    links: PageLinks

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> SlackMessage:
        said = [fit(printable(line).rstrip(), ASKED_ROOM, escaped) for line in lines]
        told = "\n".join(last_lines([line for line in said if line.strip()], SECTION_LIMIT))
        cancel = actions([button(CANCEL, say(wording.CANCEL), job_id)]) if job_id else []
        spoken = one_line(lines[-1]) if lines else f"{asked} …"
        return message(spoken, [_question_line(asked), section(told or "📚 …"), *cancel])

    def said(self, speaker: Speaker, said: SaidToLibrary) -> SlackMessage:
        card, files = library_card(said, speaker.scope, self.links), _files(said)
        text = cut(card.text, BESIDE_PICTURE) if card.picture else card.text
        blocks: list[Block] = [header(card.title)] if card.title else []
        blocks += [_question_line(card.asked)] if card.asked else []
        lines = _BREAK.sub("  \n", text.strip())  # which Markdown would join
        blocks.append(markdown_block(markdown(lines, MARKDOWN_LIMIT) or "…"))
        if card.next_steps:
            blocks.append(context("\n".join(plain(line, ASKED_ROOM) for line in card.next_steps)))
        page = link_button(VIEW, say(wording.VIEW_FULL_ANALYSIS), card.page_url)
        links = [*link_button(PDF, "PDF", card.pdf_url), *page]
        blocks += actions([*_buttons(card, speaker.thread), *links])
        spoken = one_line(_HEADINGS.sub("", text))
        whole = message(f"{card.title}: {spoken}" if card.title else spoken, blocks)
        return replace(whole, is_aside=card.is_aside and not files, files=files)

    def refusal(self, sentence: str) -> SlackMessage:
        return replace(sentence_message(sentence), is_aside=True)


def _buttons(card: LibraryCard, thread: str) -> list[Block]:
    """Improve, which asks what for, and Save have ids of their own; the rest are counted."""
    made: list[Block] = []
    for step in (*card.of_list, *card.steps):
        action_id = {"improve": IMPROVE, "save": SAVE}.get(step.says, f"{OPEN}_{len(made) + 1}")
        value = LibraryPress(thread, step.says, step.about).value
        made.append(button(action_id, step.label, value, style="primary" if step.says == "yes" else ""))
    return made


def _files(said: SaidToLibrary) -> tuple[Upload, ...]:
    """The page that is shown, and the file that is handed over."""
    files: list[Upload] = []
    if said.picture and said.reply.page is not None:
        paper, page = said.reply.page
        told = "Page {page} of {title}; the cited sentence is marked where there is one."
        description = say(told, page=page or 1, title=one_line(paper.title))
        files.append(Upload(f"{paper.id.replace('/', '_')}-page-{page or 1}.png", said.picture, description))
    if said.reply.file is not None:
        name, content = said.reply.file
        files.append(Upload(name, content.encode()))
    return tuple(files)


def _question_line(text: str) -> Block:
    asked = plain(text.replace("`", "'"), ASKED_ROOM) or "…"
    return context(f"`{asked}`")
