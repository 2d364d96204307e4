"""A reply of the library as a card: its parts in order, and what can be done next, on every platform the same.

Values alone, as in core/presentation/card.py: a platform marks up, escapes and cuts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.library import wording
from core.library.session import SaidToLibrary
from core.library.states import COMMANDS, Conversation, State
from core.model.job import Scope
from core.presentation.page_links import PageLinks, PaperPlace
from core.text.saying import say

MOST_PAPERS = 10  # that have a button; the others are named by their numbers
_OF_NUMBER = {State.SELECT_NEW: "summarize", State.SELECT_VIEW: "summary"}  # what a number's button does; else open
_VERBS = {  # of a paper alone, and of one of a list
    "open": ("Open", "Open {number}"),
    "summary": ("Summary", "Summary {number}"),
    "summarize": ("Add", "Add {number}"),
}


@dataclass(frozen=True)
class LibraryStep:
    """A button that goes on from a reply: what it `says`, as one would type it, and what stands on it.

    `about` is the tag of what it is tied to, "" where what came since does not matter.
    """

    says: str
    label: str
    about: str = ""


@dataclass(frozen=True)
class LibraryCard:
    """`text` is Markdown, for beside the `picture` of a page where there is one; `asked` is what it answers.

    `is_aside` is what is only about the conversation: for whoever said something, and it goes on to nothing. `steps`
    that are `of_list` are a paper's each. The addresses are "" where nothing is to be opened.
    """

    title: str
    asked: str
    text: str
    next_steps: tuple[str, ...]
    of_list: tuple[LibraryStep, ...]
    steps: tuple[LibraryStep, ...]
    pdf_url: str = ""
    page_url: str = ""
    picture: bytes = b""
    file: tuple[str, str] | None = None
    is_aside: bool = False


def library_card(said: SaidToLibrary, scope: Scope, links: PageLinks) -> LibraryCard:
    """`scope` is the speaker's, whose shelves its papers stand on."""
    now, reply = said.after, said.reply
    is_aside = reply.title in ("", say("Help"), say("Status")) and not now.offered
    of_list, steps = _going_on(said, is_aside=is_aside)
    paper, page = reply.page or (None, None)
    return LibraryCard(
        title=reply.title,
        asked=now.history[-1] if now.history and not is_aside else "",
        text=_text(said),
        next_steps=next_steps(said),
        of_list=of_list,
        steps=steps,
        pdf_url=links.paper(PaperPlace(scope, paper.id), page=page or 1) if paper and paper.pages else "",
        page_url=links.link(said.job) if said.job and not is_aside else "",
        picture=said.picture,
        file=reply.file,
        is_aside=is_aside,
    )


def next_steps(said: SaidToLibrary) -> tuple[str, ...]:
    """S000-38: below what was researched."""
    is_research = said.reply.title == say(wording.PANEL_TITLE)
    return tuple(say(line) for line in wording.NEXT_STEPS) if is_research else ()


def _text(said: SaidToLibrary) -> str:
    """The reply, below help how a chat is given papers; above a picture the sentence that it marks, in place of how
    the page begins.
    """
    if said.reply.title == say("Help"):
        return f"{said.reply.text}\n\n{say(wording.ADD_WHAT)}"
    if said.reply.file:
        return f"{said.reply.text}\n{wording.saved(said.reply.file[0])}"
    if said.picture and said.quote:
        beginning, _, _ = said.reply.text.partition("\n\n")
        return f"{beginning}\n\n“{said.quote}”"
    return said.reply.text


def _going_on(said: SaidToLibrary, *, is_aside: bool) -> tuple[tuple[LibraryStep, ...], tuple[LibraryStep, ...]]:
    """What stands on papers of a list or pages of a paper, and what on all of it; nothing under help or a file."""
    now, reply = said.after, said.reply
    if reply.file is not None or (is_aside and reply.page is None and not said.added):
        return (), ()
    if now.offered:
        return (), (LibraryStep("yes", say("Yes")), LibraryStep("no", say("No")))
    if said.added:
        return _papers(said.added, "summary", is_numbered=len(said.added) > 1), ()
    if reply.page is not None:
        paper, page = reply.page[0], reply.page[1] or 1
        around = [(page - 1, say("◀ Page {page}", page=page - 1)), (page + 1, say("Page {page} ▶", page=page + 1))]
        paging = [LibraryStep(f"open {paper.id} page {at}", label) for at, label in around if 1 <= at <= paper.pages]
        return tuple(paging), _working_on(now)
    if now.selected_paper:
        return (), (LibraryStep(f"open {now.selected_paper}", say("Open")), *_working_on(now))
    return _papers(now.last_query_set, _OF_NUMBER.get(now.state, "open")), _working_on(now)


def _papers(ids: Sequence[str], verb: str, *, is_numbered: bool = True) -> tuple[LibraryStep, ...]:
    """By their numbers in the list."""
    return tuple(
        LibraryStep(f"{verb} {paper_id}", say(_VERBS[verb][is_numbered], number=at))
        for at, paper_id in enumerate(ids[:MOST_PAPERS], 1)
    )


def _working_on(now: Conversation) -> tuple[LibraryStep, ...]:
    """What can be done to what is shown, tied to it."""
    doing = (("improve", say("Improve")), ("save", say("Save")))
    return tuple(LibraryStep(name, label, now.tag) for name, label in doing if now.works_on in COMMANDS[name].states)
