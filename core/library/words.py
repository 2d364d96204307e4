"""Which words in a chat are meant for the library: commands of its conversation, and papers that are to be added.

The same words are English too, so a sentence that merely begins with one stays a question.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from core.library import wording
from core.library.ingest import Ingested
from core.library.paper import Paper
from core.library.states import COMMANDS, Command, Conversation, read_command
from core.model.errors import GorkdError, StoreError
from core.model.works import ARXIV_ID
from core.presentation.render import one_line
from core.text.saying import say, say_many

MAX_ADDED = 10  # papers a message; what Discord and Slack attach at most to one
MAX_LISTED = 50  # papers of a reading list that are new, a message; each is fetched, read and summarised
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

    Neither with a file nor a reference, it is an addition that lacks both, unless it is a question.
    """
    said = text.strip()
    lead = _LEAD.match(said)
    rest = said[lead.end() :] if lead else said
    is_order = bool(_BEGINS_TO_ADD.match(rest)) if lead else bool(_ADDS.search(said))
    if not is_order:
        return None
    references = tuple(dict.fromkeys(found.rstrip(".,;:!?)\"'") for found in _REFERENCE.findall(rest)))[:MAX_ADDED]
    is_question = said.endswith("?") and not _BEGINS_TO_ADD.match(rest)
    if is_question and not has_files:
        return None
    return Addition(references)


def read_words(text: str, conversation: Conversation | None, *, is_addressed: bool = True) -> Words | None:
    """The command in a message; None for a question.

    `is_addressed` says that the message was for the bot, not just heard in a thread. `library …` always speaks to the
    library; without it and before anything was said there, only what can be nothing else does.
    """
    said = _without_courtesy(text.strip())
    if conversation is not None and conversation.offered and said.casefold() in YES | NO:
        return Words(said)
    lead = _LEAD.match(said) if is_addressed else None
    if lead:
        rest = said[lead.end() :]
        return Words(rest or "help", is_certain=True) if not rest or _has_shape(read_command(rest)) else None
    command = read_command(said)
    if not _has_shape(command) or (text.strip().endswith("?") and _first_word(said) in ("improve", "notes")):
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


def _first_word(said: str) -> str:
    return said.partition(" ")[0].casefold().rstrip(":")


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
