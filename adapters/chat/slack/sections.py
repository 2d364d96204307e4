"""`/section`: a modal that takes a context and perhaps an experiment as files, and the job that it makes.

What is wrong with a file is said in the modal, below the file, if it is known in time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from adapters.chat.slack.blocks import Block, context, entry, label, modal
from adapters.chat.slack.client import Workspace, open_view
from adapters.chat.slack.desk import Desk, key_of
from adapters.chat.slack.files import read_files
from adapters.chat.slack.inbox import Letter
from adapters.chat.slack.message import sentence_message
from adapters.chat.slack.reply import SlackAddress, SlackReply
from adapters.chat.slack.translate import PLATFORM, SlackFile, described_file
from core.attachments import Attachment
from core.errors import GorkdError
from core.job import ResearchJob, ResearchRequest
from core.presentation import wording
from core.section.asking import CHOICES, check_request, words_for

SECTION_COMMAND, SECTION_FORM = "/section", "section"
WHICH, CONTEXT, EXPERIMENT = "which", "context", "experiment"
READ_WITHIN_S = 0.6  # of files, before the modal is acknowledged; what takes longer is told in a message
FORM_TITLE = "Write a section"
FORM_HELP = (
    "The least a context holds: `concept: {description: what the paper is about}`. More in it, such as open questions "
    "and a hypothesis, finds better evidence. The sources are the papers of this channel."
)

_log = logging.getLogger(__name__)
Ack = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class _Asked:
    """Where the command was typed, which the modal carries along."""

    team: str
    channel: str
    user: str
    response_url: str


@dataclass(frozen=True)
class Sections:
    desk: Desk
    _reading: dict[str, asyncio.Task[list[Attachment]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.desk.inbox.openers[SECTION_FORM] = self._open

    async def commanded(self, command: Mapping[str, Any]) -> None:
        """Open the modal, else say that it does not open."""
        workspace = await self.desk.workspaces.find(str(command.get("team_id") or ""))
        names = ("team_id", "channel_id", "user_id", "response_url")
        asked = _Asked(*(str(command.get(name) or "") for name in names))
        chosen = str(command.get("text") or "").strip().lower()
        view = section_modal(json.dumps(asdict(asked)), chosen)
        if not await open_view(workspace, str(command["trigger_id"]), view):
            await self._tell(workspace, asked, wording.SOMETHING_BROKE)

    async def submitted(self, body: Mapping[str, Any], ack: Ack) -> None:
        """Store what the modal asks for, then acknowledge, unless a file is known by then to be no good."""
        view = {name: (body.get("view") or {}).get(name) for name in ("id", "private_metadata", "state")}
        asked, view_id = _asked_in(view), str(view["id"] or "")
        workspace = await self.desk.workspaces.find(asked.team, is_hurried=True)
        which, files = chosen_in(view)
        reading = asyncio.create_task(self._read(workspace, which, files), name="section files")
        done, _ = await asyncio.wait({reading}, timeout=READ_WITHIN_S)
        error = reading.exception() if done else None
        if isinstance(error, GorkdError):
            await ack(response_action="errors", errors={_block_of(error, files): error.user_message})
            return
        self._reading[view_id] = reading
        await self.desk.inbox.take(Letter(SECTION_FORM, workspace.team_id, asked.user, f"section:{view_id}", view))
        await ack()

    async def _open(self, view: Mapping[str, Any]) -> None:
        """The files are being read, unless whoever began that has died."""
        asked, view_id = _asked_in(view), str(view.get("id") or "")
        workspace = await self.desk.workspaces.find(asked.team)
        which, files = chosen_in(view)
        reading = self._reading.pop(view_id, None)
        try:
            attachments = await (reading or self._read(workspace, which, files))
        except GorkdError as error:
            await self._tell(workspace, asked, error.user_message)
        else:
            await self._begin(workspace, asked, view_id, which, attachments)

    async def _tell(self, workspace: Workspace, asked: _Asked, sentence: str) -> None:
        at = SlackAddress(asked.team, asked.user, "", response_url=asked.response_url)
        await SlackReply(workspace, at).respond(sentence_message(sentence))

    async def _read(self, workspace: Workspace, which: str, files: Sequence[SlackFile]) -> list[Attachment]:
        """Raises `GorkdError` for files that cannot be read, or that no section can be begun from."""
        desk = self.desk
        attachments = await read_files(files, workspace, desk.session, desk.researcher, api_url=desk.api_url)
        check_request(words_for(which), attachments, is_in_thread=False)
        return attachments

    async def _begin(
        self, workspace: Workspace, asked: _Asked, view_id: str, which: str, attachments: Sequence[Attachment]
    ) -> None:
        desk, key = self.desk, f"{SECTION_FORM}:{view_id}"
        place = await desk.threads.place(workspace, asked.channel, asked.user)
        conversation = f"{PLATFORM}:{asked.channel}:{key}"
        is_private = place.settings.visibility == "private"
        shown_in = "" if is_private and not place.is_direct else place.channel_id
        at = SlackAddress(
            place.team_id, place.user_id, key, shown_in,
            conversation=conversation, response_url=asked.response_url,
        )  # fmt: skip
        reply = SlackReply(workspace, at)
        request = ResearchRequest(
            words_for(which),
            place.own_scope if is_private else place.scope,
            modes=("section",),
            is_private=is_private,
            asker=place.user_id,
            thread=conversation,
            channel=place.public_id,
        )

        async def submit() -> ResearchJob:
            return await desk.researcher.submit(request, dedupe_key=key_of(reply), attachments=attachments)

        await desk.begin(submit, reply, request.scope)


def _asked_in(view: Mapping[str, Any]) -> _Asked:
    return _Asked(**json.loads(str(view.get("private_metadata") or "{}")))


def section_modal(asked: str, chosen: str = "") -> Block:
    """`asked` comes back with what is submitted; `chosen` is the section that stands there first."""
    options: list[Block] = [{"text": label(title, 75), "value": name} for name, title in CHOICES.items()]
    which: Block = {"type": "static_select", "options": [*options]}
    initial = next((option for option in options if option["value"] == chosen), None)
    if initial is not None:
        which["initial_option"] = initial
    blocks = [
        entry(WHICH, "Section", which),
        _file_input(CONTEXT, "Context: what the paper is about", "YAML or JSON with concept.description"),
        _file_input(EXPERIMENT, "Experiment: what was done and found", "YAML or JSON", is_optional=True),
        context(FORM_HELP),
    ]
    return modal(SECTION_FORM, FORM_TITLE, blocks, submit="Write", metadata=asked)


def _file_input(name: str, text: str, hint: str, *, is_optional: bool = False) -> Block:
    element: Block = {"type": "file_input", "filetypes": ["yaml", "yml", "json"], "max_files": 1}
    return entry(name, text, element, is_optional=is_optional, hint=hint)


def chosen_in(view: Mapping[str, Any]) -> tuple[str, list[SlackFile]]:
    """The section and the files of a submitted modal, the context first."""
    values = (view.get("state") or {}).get("values") or {}
    option = ((values.get(WHICH) or {}).get(WHICH) or {}).get("selected_option") or {}
    files = [
        described_file(file)
        for name in (CONTEXT, EXPERIMENT)
        for file in ((values.get(name) or {}).get(name) or {}).get("files") or ()
        if file.get("id")
    ]
    return str(option.get("value") or ""), files


def _block_of(error: GorkdError, files: Sequence[SlackFile]) -> str:
    """Below which file the error is shown: the one that it names."""
    return EXPERIMENT if len(files) > 1 and files[1].name in error.user_message else CONTEXT
