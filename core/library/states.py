"""The conversation with a library as a state machine (S000-28 … S000-30, S000-50), and the words meant for it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from core.library import wording
from core.library.desk import pick
from core.library.ingest import Ingested
from core.library.paper import Paper, arxiv_order
from core.model.errors import GorkdError, InvalidQuery, StoreError
from core.model.job import Scope
from core.model.works import ARXIV_ID
from core.presentation.render import one_line
from core.text.saying import say, say_many

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


def is_sentence(command: Command) -> bool:
    """Whether what begins like a command is a question: `open questions about tides`, `list the causes of tides`."""
    is_long = len(command.argument.split()) >= _MAX_SLIP_WORDS
    return is_long and "-" not in command.name and not _has_shape(command)


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
        return say(_PAPER_FIRST if rule.states == {State.SUMMARIZED} else _QUESTION_FIRST, command=command.name)
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
    is_named = wanted == command.argument and not ARXIV_ID.fullmatch(wanted)
    if is_named and not any(paper.id == wanted for paper in papers):
        raise InvalidQuery(say(_NO_PAPER, given=wanted[:80]), rule="paper")
    return pick(papers, wanted)


def _is_known(conversation: Conversation, rule: CommandRule) -> bool:
    if rule is COMMANDS["save"]:
        return bool(conversation.savable)
    return conversation.state in rule.states or conversation.works_on in rule.states


def _tag(query: str, draft: str) -> str:
    return sha256(f"{query}\n{draft}".encode()).hexdigest()[:12] if draft else ""


class Conversations(Protocol):
    """Each method raises `StoreError`."""

    async def get(self, scope: Scope, thread: str) -> Conversation | None:
        """None for a thread that has none."""

    async def put(self, scope: Scope, thread: str, conversation: Conversation, *, asker: str, at: datetime) -> None:
        """Add or replace. It is forgotten with the job whose answer it shows, and with everybody who spoke in it."""


# Which words in a chat are meant for the library: commands of its conversation, and papers that are to be added.
#
# The same words are English too, so a sentence that merely begins with one stays a question.

MAX_LISTED = 50  # papers of a list that are new, a message; each is fetched, read and summarised
MAX_TOLD = 20  # lines of what became of them
YES = frozenset({"yes", "y", "ok", "please", "ja"})
NO = frozenset({"no", "n", "nein", "not now"})
ALSO_OF_ANSWERS = frozenset({"improve", "help", "history"})  # words under every answer (core/pipeline/conversation.py)

_LEAD = re.compile(r"library\b\s*[:,]?\s*", re.IGNORECASE)
_COURTESIES = ("please", "pls", "bitte", "thanks", "thank you")
_ADDS = re.compile(
    r"\badd(?:ed|ing)?\b.{0,1000}?\b(?:to|into)\s+(?:(?:the|our|my|your|this)\s+)?(?:paper\s+)?library\b",
    re.IGNORECASE | re.DOTALL,
)
_BEGINS_TO_ADD = re.compile(r"(?:(?:please|pls|can you|could you|would you)[\s,]+)*add\b", re.IGNORECASE)
_REFERENCE = re.compile(
    rf"https?://[^\s<>|]+|(?:doi:\s*)?\b10\.\d{{4,9}}/[^\s<>|]+|(?<![\w./-])(?:arxiv:\s*)?(?:{ARXIV_ID.pattern})(?![\w/])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Words:
    """What to say to the conversation. `is_certain` when it named the library itself."""

    text: str
    is_certain: bool = False

    @property
    def command(self) -> str:
        """The command's name, "" for a yes or a no."""
        command = read_command(self.text)
        return command.name if command else ""


@dataclass(frozen=True)
class Addition:
    """Papers that are to be added: these arXiv ids, DOIs and addresses, and the files that came along."""

    references: tuple[str, ...] = ()


def is_going_on(conversation: Conversation | None) -> bool:
    """Whether something was said that `clear` has not ended."""
    return conversation is not None and bool(conversation.history)


def read_addition(text: str, *, has_files: bool) -> Addition | None:
    """`add to library` with files, or `add 2401.00001 to the library`; None for what adds nothing.

    An order that has neither a file nor a reference is an `Addition` without any, so that it can be told what it lacks.
    """
    said = text.strip()
    lead = _LEAD.match(said)
    rest = said[lead.end() :] if lead else said
    is_order = bool(_BEGINS_TO_ADD.match(rest)) if lead else bool(_ADDS.search(said))
    if not is_order:
        return None
    references = tuple(dict.fromkeys(found.rstrip(".,;:!?)\"'") for found in _REFERENCE.findall(rest)))
    is_question = said.endswith("?") and not _BEGINS_TO_ADD.match(rest)
    if is_question and not has_files:
        return None
    return Addition(references)


def read_words(text: str, conversation: Conversation | None, *, is_addressed: bool = True) -> Words | None:
    """The command in a message; None for a question.

    `is_addressed` says that the message was for the bot, not just heard in a thread. What begins with `library` is
    always meant for the library; before a conversation with it has begun, so is only what can be nothing else.
    """
    said = _without_courtesy(text.strip())
    if conversation is not None and conversation.offered and said.casefold() in YES | NO:
        return Words(said)
    lead = _LEAD.match(said) if is_addressed else None
    if lead:
        rest = said[lead.end() :]
        return Words(rest or "help", is_certain=True) if not rest or _has_shape(read_command(rest)) else None
    command = read_command(said)
    is_question = text.strip().endswith("?") and command is not None and command.name in ("improve", "notes")
    if is_question or not _has_shape(command):
        return None
    if is_going_on(conversation):
        return Words(said)
    return Words(said) if is_addressed and command is not None and _can_be_nothing_else(command) else None


def _without_courtesy(text: str) -> str:
    """Without the stops and the "please" at its end."""
    bare = _cut_back(text, ".!")
    for courtesy in _COURTESIES:
        if bare[-len(courtesy) :].casefold() == courtesy:
            before = bare[: -len(courtesy)]
            rest = _cut_back(before, ",")
            return rest if len(rest) < len(before) else bare
    return bare


def _cut_back(text: str, signs: str) -> str:
    """Without blanks and `signs` at its end."""
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in signs):
        end -= 1
    return text[:end]


def _has_shape(command: Command | None) -> bool:
    """Whether what follows the word is what the command takes: `open 2`, not `open source licences`."""
    if command is None:
        return False
    rule, words = COMMANDS[command.name], command.argument.split()
    if not rule.argument:
        return not words
    if not rule.takes_paper or len(words) <= 1:
        return True
    return any(char.isdigit() for char in words[0]) or (command.name == "open" and words[0].startswith("p"))


def _can_be_nothing_else(command: Command) -> bool:
    """Of a word that was said where nobody talks with the library yet."""
    rule, first = COMMANDS[command.name], command.argument.partition(" ")[0]
    if command.name in ALSO_OF_ANSWERS:
        return False
    if rule.takes_paper:
        return first.isdecimal() or ARXIV_ID.fullmatch(first) is not None
    return not rule.argument or "-" in command.name


@dataclass(frozen=True)
class Incoming:
    """A file that somebody hands over, of `size` bytes; `load` fetches it, or raises a `GorkdError`."""

    name: str
    size: int
    load: Callable[[], Awaitable[bytes]]


@dataclass
class Added:
    """What became of papers that were to be added."""

    papers: list[Paper] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    new: int = 0
    failed: int = 0

    async def take(self, work: Awaitable[Ingested]) -> None:
        """Raises `StoreError`; any other failure is a line."""
        try:
            done = await work
        except StoreError:
            raise
        except GorkdError as error:
            self.refuse(error)
            return
        pages = f" ({say_many('{number} page', '{number} pages', done.paper.pages)})" if done.paper.pages else ""
        self.new += done.is_new
        self.papers.append(done.paper)
        line = say(
            wording.ADDED if done.is_new else wording.THERE_ALREADY,
            id=done.paper.id, title=one_line(done.paper.title), pages=pages,
        )  # fmt: skip
        self.lines.append(" ".join((line, *done.remarks)))

    def refuse(self, error: GorkdError) -> None:
        self.failed += 1
        self.lines.append(error.user_message)

    def leave_over(self, number: int) -> None:
        self.lines.append(say_many(wording.LEFT_OVER_ONE, wording.LEFT_OVER, number))

    @property
    def sentence(self) -> str:
        """What was done; a line each below it where there were several, of very many the last."""
        if len(self.lines) == 1:
            return self.lines[0]
        known = len(self.papers) - self.new
        parts = [say_many("{number} paper added", "{number} papers added", self.new)]
        parts += [say("{number} there already", number=known)] if known else []
        parts += [say("{number} not readable", number=self.failed)] if self.failed else []
        more = (
            [say("- … and {number} before these", number=len(self.lines) - MAX_TOLD)]
            if len(self.lines) > MAX_TOLD
            else []
        )
        return "\n".join([f"{', '.join(parts)}.", "", *more, *(f"- {line}" for line in self.lines[-MAX_TOLD:])])
