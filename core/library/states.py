"""The conversation with a library as a state machine (S000-28 … S000-30, S000-50): what may be said when, and what
follows; and where it is kept between two messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from core.library.desk import pick
from core.library.paper import Paper, arxiv_order
from core.model.errors import InvalidQuery
from core.model.job import Scope
from core.model.works import ARXIV_ID
from core.text.saying import say

MAX_HISTORY = 20
_MAX_SLIP_WORDS = 3  # what is longer is a question
_SLIP = 0.8  # difflib's ratio: one letter in five may be wrong, missing or too many; swapped ones all


class State(StrEnum):
    INITIAL = "initial"
    SELECT_NEW = "select-new"
    SELECT_VIEW = "select-view"
    SUMMARIZED = "summarized"
    SEM_SEARCH = "sem-search"
    RESEARCH = "research"


ANY = frozenset(State)
_RESULTS = frozenset({State.SEM_SEARCH, State.RESEARCH})
_VIEWS = _RESULTS | {State.SELECT_VIEW, State.SUMMARIZED}  # D25: the numbers of a list outlive a look at a paper
_LISTS = _VIEWS | {State.SELECT_NEW}


@dataclass(frozen=True)
class CommandRule:
    """`argument` is what stands behind the word ("" for nothing); `states` are where the command is known, `numbers`
    where a paper may be named by its number; `changes_store` marks what only admins may do in chat.
    """

    argument: str
    does: str
    states: frozenset[State] = ANY
    numbers: frozenset[State] = frozenset()
    changes_store: bool = False
    needs_argument: bool = True

    @property
    def takes_paper(self) -> bool:
        """Whether it is about one paper, by number or id."""
        return self.argument.startswith(("<number", "<id"))


COMMANDS: dict[str, CommandRule] = {
    "find": CommandRule("<query>", "look for new papers in arXiv, Europe PMC and OpenAlex"),
    "sem-search": CommandRule("<query>", "find passages in the library by meaning"),
    "research": CommandRule("<query>", "answer from the library, with page numbers"),
    "list": CommandRule("", "list the papers of the library"),
    "summarize": CommandRule("<number|id>", "add a paper and summarise it", numbers=_LISTS, changes_store=True),
    "summary": CommandRule("<number|id>", "show a paper's summary", numbers=_VIEWS),
    "open": CommandRule("<number|id> [page]", "show a page of a paper", numbers=_VIEWS),
    "improve": CommandRule("<feedback>", "rewrite what is shown", states=_RESULTS | {State.SUMMARIZED}),
    "notes": CommandRule(
        "<text>", "add notes to the paper that is shown", states=frozenset({State.SUMMARIZED}), changes_store=True
    ),
    "save": CommandRule("", "save the results as Markdown", states=_RESULTS),
    "export": CommandRule("[bib|ris]", "hand over the papers as a reading list", needs_argument=False),
    "reindex-paper": CommandRule("<id>", "read a paper anew", changes_store=True),
    "summarize-all": CommandRule("", "summarise every paper that has no summary", changes_store=True),
    "rebuild-index": CommandRule("", "read every paper anew", changes_store=True),
    "remove-paper": CommandRule("<id>", "remove a paper", changes_store=True),
    "separate-paper": CommandRule("<id>", "make a work of its own of what stands as a version", changes_store=True),
    "validate-store": CommandRule("", "check that every paper can be found and cited"),
    "help": CommandRule("", "show what can be said now"),
    "status": CommandRule("", "show where this conversation stands"),
    "history": CommandRule("", "show what was said before"),
    "clear": CommandRule("", "begin anew"),
}


_DOES = {name: rule.does for name, rule in COMMANDS.items()}
_PAPER_FIRST = "`{command}` has nothing to work on yet; show a paper first, for example with `summary <id>`."
_QUESTION_FIRST = "`{command}` has nothing to work on yet; ask something first, for example with `research <query>`."
_NO_NUMBER = "There is no number {number}; the list goes from 1 to {most}."
_NO_PAPER = '"{given}" is neither a number nor the id of a paper here.'


@dataclass(frozen=True)
class Command:
    name: str
    argument: str = ""


@dataclass(frozen=True)
class Conversation:
    """`last_query_set` are ids in arXiv's order, `offered` the paper whose missing summary was offered, "" if none.

    `job_id` is the job whose answer gave the list, "" for other lists. `beneath` is `research` or `sem-search` while a
    page is shown that was opened from such results: they are still the draft, to be improved and saved. `results` are
    what was found last, which `save` is about while a summary is the draft.
    """

    state: State = State.INITIAL
    last_query_set: tuple[str, ...] = ()
    selected_paper: str = ""
    draft: str = ""
    original_query: str = ""
    offered: str = ""
    history: tuple[str, ...] = ()
    job_id: str = ""
    beneath: State = State.INITIAL
    results: str = ""

    @property
    def works_on(self) -> State:
        """The state in which what is shown came to be: what `improve` and `save` are about."""
        return self.state if self.beneath is State.INITIAL else self.beneath

    @property
    def tag(self) -> str:
        """Names the draft, so that a button under an older one does not act on what came later; "" for none."""
        return _tag(self.original_query, self.draft)

    @property
    def savable(self) -> str:
        """What `save` hands over, "" for nothing: the results that are shown, or that a summary is shown above."""
        return self.draft if self.works_on in _RESULTS else self.results

    def is_about(self, tag: str, text: str) -> bool:
        """Whether words of a button under the draft of that `tag` are about what is shown, or saved, now."""
        command = read_command(text)
        is_saved = command is not None and command.name == "save"
        return tag == self.tag or (is_saved and tag == _tag(self.original_query, self.savable))

    def found(
        self, state: State, paper_ids: Sequence[str], *, draft: str = "", query: str = "", job_id: str = ""
    ) -> Conversation:
        """After a search or a list; what found nothing clears everything (S000-28, S000-31)."""
        if not paper_ids and not draft:
            return self.cleared()
        ordered = tuple(sorted(dict.fromkeys(paper_ids), key=arxiv_order))
        found = Conversation(state, ordered, draft=draft, original_query=query, history=self.history, job_id=job_id)
        return replace(found, results=draft if state in _RESULTS else "")

    def chose(self, paper_id: str, draft: str) -> Conversation:
        """A paper is shown; one from elsewhere ends the set that numbers refer to."""
        kept = self.last_query_set if paper_id in self.last_query_set else ()
        return replace(
            self, state=State.SUMMARIZED, last_query_set=kept, selected_paper=paper_id, draft=draft, offered="",
            beneath=State.INITIAL,
        )  # fmt: skip

    def opened(self, paper: Paper) -> Conversation:
        """A page is shown, above the results that its paper was opened from, if any."""
        results = self.works_on if paper.id in self.last_query_set else State.INITIAL
        if results not in _RESULTS:
            return self.chose(paper.id, paper.summary)
        return replace(self.chose(paper.id, self.draft), beneath=results)

    def revised(self, draft: str) -> Conversation:
        return replace(self, draft=draft, offered="")

    def cleared(self) -> Conversation:
        return Conversation(history=self.history)

    def said(self, text: str) -> Conversation:
        return replace(self, history=(*self.history, text)[-MAX_HISTORY:])


def read_command(text: str) -> Command | None:
    """The command that a message begins with; None when it is none."""
    word, _, argument = text.strip().partition(" ")
    name = word.casefold().rstrip(":")
    return Command(name, " ".join(argument.split())) if name in COMMANDS else None


def near_command(text: str) -> str:
    """The command that a message begins with but for a slip, "" for none: `sumary 2`, not a question."""
    words = text.strip().casefold().split()
    if not 1 <= len(words) <= _MAX_SLIP_WORDS:
        return ""
    if "-".join(words[:2]) in COMMANDS:
        return "-".join(words[:2])
    word = words[0].rstrip(":")
    fitting = [name for name, rule in COMMANDS.items() if rule.argument or len(words) == 1]
    swapped = [name for name in fitting if sorted(name) == sorted(word)]
    return next(iter(swapped or get_close_matches(word, fitting, n=1, cutoff=_SLIP)), "")


def refusal(conversation: Conversation, command: Command) -> str:
    """Why this cannot be said now, "" when it can (S000-51)."""
    rule = COMMANDS[command.name]
    if not _is_known(conversation, rule):
        return say(_PAPER_FIRST if _needs_paper(rule) else _QUESTION_FIRST, command=command.name)
    if rule.argument and rule.needs_argument and not command.argument:
        return say("Say what: {command}.", command=f"`{command.name} {rule.argument}`")
    return ""


def known_now(conversation: Conversation) -> list[str]:
    """The commands that can be said now, each with its argument and what it does."""
    rules = [(name, rule) for name, rule in COMMANDS.items() if _is_known(conversation, rule)]
    return [f"`{f'{name} {rule.argument}'.strip()}` – {say(_DOES[name])}" for name, rule in rules]


def chosen_id(conversation: Conversation, command: Command) -> str:
    """The id that a number or an id names; the paper need not be in the library. Raises `InvalidQuery`."""
    argument = command.argument
    if not argument.isdecimal():
        return argument
    numbers, rule = conversation.last_query_set, COMMANDS[command.name]
    if conversation.state not in rule.numbers or not numbers:
        raise InvalidQuery(
            say(
                "Numbers mean papers only in a list that is shown; {command} takes an id at any time.",
                command=f"`{command.name}`",
            ),
            rule="number",
        )
    if not 1 <= int(argument) <= len(numbers):
        raise InvalidQuery(say(_NO_NUMBER, number=argument, most=len(numbers)), rule="number")
    return numbers[int(argument) - 1]


def chosen_paper(conversation: Conversation, command: Command, papers: Sequence[Paper]) -> Paper:
    """The paper of the library that is meant. Raises `InvalidQuery`, `NoSuchPaper`."""
    wanted = chosen_id(conversation, command)
    if not ARXIV_ID.fullmatch(wanted) and not any(paper.id == wanted for paper in papers):
        raise InvalidQuery(say(_NO_PAPER, given=wanted[:80]), rule="paper")
    return pick(papers, wanted)


def _is_known(conversation: Conversation, rule: CommandRule) -> bool:
    if rule is COMMANDS["save"]:
        return bool(conversation.savable)
    return conversation.state in rule.states or conversation.works_on in rule.states


def _tag(query: str, draft: str) -> str:
    return sha256(f"{query}\n{draft}".encode()).hexdigest()[:12] if draft else ""


def _needs_paper(rule: CommandRule) -> bool:
    return State.SUMMARIZED in rule.states and len(rule.states) == 1


class Conversations(Protocol):
    """Each method raises `StoreError`."""

    async def get(self, scope: Scope, thread: str) -> Conversation | None:
        """None for a thread that has none."""
        ...

    async def put(self, scope: Scope, thread: str, conversation: Conversation, *, asker: str, at: datetime) -> None:
        """Add or replace. It is forgotten with the job whose answer it shows, and with everybody who spoke in it."""
        ...
