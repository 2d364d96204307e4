"""What the paper library says, as Slack blocks: a reply, its progress, and the buttons that go on from it. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import regex

from adapters.chat.fitting import fit, last_lines, units
from adapters.chat.library import ALONE, library_steps
from adapters.chat.slack.blocks import (
    SECTION_LIMIT,
    Block,
    actions,
    button,
    context,
    escaped,
    header,
    link_button,
    plain,
    section,
)
from adapters.chat.slack.message import SlackMessage, SlackUpload, message, sentence_message
from adapters.chat.slack.render import CANCEL, VIEW
from core.library import wording
from core.library.session import SaidToLibrary, Speaker
from core.presentation.page_links import PageLinks, PaperPlace
from core.presentation.render import cut, one_line, printable
from core.presentation.wording import CANCEL as CANCEL_LABEL
from core.presentation.wording import VIEW_FULL_ANALYSIS

OPEN, IMPROVE, SAVE, PDF = "library_open", "library_improve", "library_save", "library_pdf"
MAX_SECTIONS = 12  # of a reply; three screens, and `save` gives all of it
OPEN_BUTTONS = 10  # papers of a list; the others are named by their numbers
ASKED_ROOM = 300
BESIDE_PICTURE = 500  # characters of a page that is shown as a picture
_HEADINGS = regex.compile(r"^#{1,6}\s+", regex.MULTILINE)
_LIST_SIGN = regex.compile(r"^([^\S\n]*)[-*][^\S\n]+", regex.MULTILINE)


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
        cancel = actions([button(CANCEL, CANCEL_LABEL, job_id)]) if job_id else []
        return message(
            one_line(lines[-1]) if lines else f"{asked} …", [_asked(asked), section(told or "📚 …"), *cancel]
        )

    def said(self, speaker: Speaker, said: SaidToLibrary) -> SlackMessage:
        reply, is_alone = said.reply, said.reply.title in ALONE and not said.after.offered
        blocks: list[Block] = [header(reply.title)] if reply.title else []
        if said.after.history and not is_alone:
            blocks.append(_asked(said.after.history[-1]))
        text = cut(reply.text, BESIDE_PICTURE) if said.picture else reply.text
        if reply.file is not None:
            text = f"{text}\n{wording.saved(reply.file[0])}"
        blocks += [section(piece) for piece in mrkdwn_pieces(text)]
        if reply.title == wording.PANEL_TITLE:
            blocks.append(context("\n".join(plain(line, ASKED_ROOM) for line in wording.NEXT_STEPS)))
        links = [] if is_alone else [*self._pdf(speaker, said), *self._page(said)]
        blocks += actions([*_buttons(said, speaker.thread), *links])
        spoken = one_line(_HEADINGS.sub("", text))
        whole = message(f"{reply.title}: {spoken}" if reply.title else spoken, blocks)
        files = _files(said)
        return replace(whole, is_aside=is_alone and not files, files=files)

    def _pdf(self, speaker: Speaker, said: SaidToLibrary) -> list[Block]:
        """The paper of the page that is shown, opened at that page."""
        if said.reply.page is None:
            return []
        paper, page = said.reply.page
        if not paper.pages:
            return []
        return link_button(PDF, "PDF", self.links.paper(PaperPlace(speaker.scope, paper.id), page=page))

    def _page(self, said: SaidToLibrary) -> list[Block]:
        """Where the whole answer is with its sources."""
        return link_button(VIEW, VIEW_FULL_ANALYSIS, self.links.link(said.job)) if said.job else []

    def refusal(self, sentence: str) -> SlackMessage:
        return replace(sentence_message(sentence), is_aside=True)


def mrkdwn_pieces(text: str) -> list[str]:
    """Markdown as Slack writes it, in pieces that fit a section; what is too long ends in an ellipsis."""
    pieces: list[str] = []
    for paragraph in regex.split(r"\n{2,}", printable(text).strip()):
        for part in _parts(_as_mrkdwn(paragraph)):
            together = f"{pieces[-1]}\n\n{part}" if pieces else part
            if pieces and units(together) <= SECTION_LIMIT:
                pieces[-1] = together
            elif part.strip():
                pieces.append(part)
        if len(pieces) > MAX_SECTIONS:
            return [*pieces[:MAX_SECTIONS], "…"]
    return pieces or ["…"]


def _as_mrkdwn(paragraph: str) -> str:
    """Headings and bold as Slack's own, list signs as dots; everything else literally."""
    text = "\n".join(_heading(line) for line in paragraph.split("\n"))
    text = regex.sub(r"\*\*(\S(?:[^*\n]*\S)?)\*\*", r"*\1*", text)
    return escaped(_LIST_SIGN.sub(r"\1• ", text))


def _heading(line: str) -> str:
    """In bold where it is one."""
    signs = _HEADINGS.match(line)
    words = line[signs.end() :].rstrip().rstrip("#").rstrip() if signs else ""
    return f"**{words}**" if words else line


def _parts(text: str) -> list[str]:
    """Escaped text cut at lines, else at words, else anywhere but within an entity."""
    parts: list[str] = []
    while units(text) > SECTION_LIMIT:
        head = text[: SECTION_LIMIT // 2]  # a character has two units at most
        at = max(head.rfind("\n"), head.rfind(" "))
        at = at if at > 0 else max(head.rfind("&"), 1) if "&" in head[-6:] else len(head)
        parts.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*parts, text]


def _buttons(said: SaidToLibrary, thread: str) -> list[Block]:
    """Improve, which asks what for, and Save have ids of their own; the rest are counted."""
    made: list[Block] = []
    for step in library_steps(said, most_papers=OPEN_BUTTONS):
        action_id = {"improve": IMPROVE, "save": SAVE}.get(step.says, f"{OPEN}_{len(made) + 1}")
        value = LibraryPress(thread, step.says, step.about).value
        made.append(button(action_id, step.label, value, style="primary" if step.says == "yes" else ""))
    return made


def _files(said: SaidToLibrary) -> tuple[SlackUpload, ...]:
    """The page that is shown, and the file that is handed over."""
    files: list[SlackUpload] = []
    if said.picture and said.reply.page is not None:
        paper, page = said.reply.page
        description = f"Page {page or 1} of {one_line(paper.title)}; the cited sentence is marked where there is one."
        files.append(SlackUpload(f"{paper.id.replace('/', '_')}-page-{page or 1}.png", said.picture, description))
    if said.reply.file is not None:
        name, content = said.reply.file
        files.append(SlackUpload(name, content.encode()))
    return tuple(files)


def _asked(text: str) -> Block:
    return context(f"`{_code(text)}`")


def _code(text: str) -> str:
    """Within backticks."""
    return plain(text.replace("`", "'"), ASKED_ROOM) or "…"
