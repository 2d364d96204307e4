"""A thread of questions and answers: what a follow-up means, and what a reply asks for.

Pure, but for reading the last turns from the job store. A conversation is valid in its scope alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import regex

from core.deps import Deps
from core.errors import StoreError
from core.evidence.citations import strip_markers
from core.job import ResearchJob
from core.markers import Grammar
from core.ports import JobStore
from core.render import cut, one_line
from core.stages.intake import parse_intent
from core.terms import STOPWORDS

MAX_TURNS = 5  # questions and answers of a thread that a follow-up may refer to
MAX_ANSWER_CHARS = 600  # of each earlier answer; what a follow-up refers to stands in its first sentences

ReplyKind = Literal["question", "improve", "deeper", "sources", "again", "retry", "cancel", "forget", "history", "help"]

_POLITE = r"(?:\s*,?\s*(?:please|pls|bitte|thanks|thank you))?"
_WHOLE: tuple[tuple[ReplyKind, str], ...] = (
    ("sources", r"(?:show\s+|list\s+|give\s+)?(?:me\s+)?(?:the\s+|your\s+|its\s+|all\s+)*sources"),
    ("deeper", r"(?:go\s+|dig\s+|look\s+)?deeper"),
    ("again", r"(?:ask\s+|try\s+)?again|refresh"),
    ("retry", r"retry"),
    ("cancel", r"cancel|stop"),
    ("forget", r"forget(?:\s+(?:this|it|that|my\s+question))?"),
    ("history", r"(?:my\s+)?history"),
    ("help", r"help"),
    ("improve", r"improve(?:\s+(?:this|it|that|the\s+answer))?"),
)
_LED: tuple[tuple[ReplyKind, str], ...] = (
    (
        "improve",
        r"improve(?:\s+(?:this|it|that|the\s+answer|your\s+answer))?(?:\s*[:,–—-]+\s*|\s+(?:by|with|and)\s+|\s+)",
    ),
    ("deeper", r"(?:(?:go|dig|look)\s+)?deeper(?:\s*[:,–—-]+\s*|\s+(?:on|into|in)\s+)"),
)
_REPLIES = [(kind, regex.compile(rf"(?:{words}){_POLITE}\s*[.!]*", regex.IGNORECASE)) for kind, words in _WHOLE]
_LEADS = [(kind, regex.compile(words, regex.IGNORECASE)) for kind, words in _LED]

_OPENS = regex.compile(
    r"^\s*(?:and|but|or|also|so|then|und|aber|et|mais|y|pero)\b|^\s*(?:what|how)\s+about\b|^\s*why\s*(?:not)?\s*\??$",
    regex.IGNORECASE,
)
_LEAD_IN = regex.compile(
    r"^\s*(?:(?:and|but|or|also|so|then|und|aber|et|mais|y|pero)\s+)*(?:(?:what|how)\s+about\s+)?", regex.IGNORECASE
)
_PRONOUN = regex.compile(
    r"\b(?P<own>its|their|his)\b|\b(?P<it>it|they|them|he|she|him|her|this|these|those|that(?=\s*[?.!]|\s*$))\b",
    regex.IGNORECASE,
)
# "it" that stands for nothing: "is it safe to …", "how long does it take", "it is true that".
_EMPTY_IT = regex.compile(
    r"\b(?:is|was|does|did|will|would|can|could)\s+it\s+(?:take|mean\s+to|\w+\s+(?:to|that|for)\b|rain|snow)"
    r"|\bit\s+(?:takes|rains|snows|is\s+\w+\s+(?:to|that)|'s\s+\w+\s+(?:to|that))\b"
    r"|\bthis\s+(?:year|month|week|century|decade|morning|time)\b|\bthese\s+days\b",
    regex.IGNORECASE,
)
_DEFINES = regex.compile(
    r"^\s*(?:what|who|where|when)\s+(?:is|are|was|were)\b|^\s*(?:define|explain|describe)\b", regex.I
)
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}'’.-]*")
_PLACED = regex.compile(r"^\s*(?P<preposition>in|at|of|for|on|from|by|with|to)\s+", regex.IGNORECASE)


@dataclass(frozen=True)
class Turn:
    """A question as it was understood, and the beginning of its answer without markers."""

    question: str
    answer: str


@dataclass(frozen=True)
class Reply:
    """What somebody wrote under an answer. `rest` is the question, or what `improve` and `deeper` are to mind."""

    kind: ReplyKind
    rest: str = ""


def read_reply(text: str) -> Reply:
    """Whether a reply is one of our words or a question. Words alone, or `improve` and `deeper` with what follows.

    A sentence that ends in a question mark is a question, whatever word it begins with.
    """
    said = " ".join(text.split())
    for kind, whole in _REPLIES:
        if whole.fullmatch(said):
            return Reply(kind)
    if not said.endswith("?"):
        for kind, lead in _LEADS:
            found = lead.match(said)
            if found and said[found.end() :].strip():
                return Reply(kind, said[found.end() :].strip())
    return Reply("question", text.strip())


async def read_turns(job: ResearchJob, deps: Deps) -> tuple[Turn, ...]:
    """The last turns of the job's thread before it, oldest first; none when the store fails."""
    try:
        return await _read_turns(job, deps.jobs) if job.request.thread else ()
    except StoreError as exc:
        deps.count_error("plan", exc)
        return ()


async def _read_turns(job: ResearchJob, jobs: JobStore) -> tuple[Turn, ...]:
    earlier = await jobs.in_thread(job.scope, job.request.thread, before=job.created_at, limit=MAX_TURNS)
    turns: list[Turn] = []
    for past in reversed(earlier[:MAX_TURNS]):
        result = await jobs.result(past.id)
        if result is not None and result.answer is not None:
            said = strip_markers(result.answer.summary, Grammar.NUMBER)
            turns.append(Turn(result.understood or past.query, cut(one_line(said), MAX_ANSWER_CHARS)))
    return tuple(turns)


def needs_context(question: str) -> bool:
    """Whether the question leans on what was said before: a pronoun, an opening `and`, or next to no words."""
    if _OPENS.search(question):
        return True
    if _PRONOUN.search(_EMPTY_IT.sub(" ", question)):
        return True
    told = len(_telling_words(question))
    return told == 0 or (told == 1 and not _DEFINES.search(question) and len(_WORD.findall(question)) <= 4)


def leans_on_thread(job: ResearchJob) -> bool:
    """A follow-up means something else in another conversation, and at another time in the same one."""
    return bool(job.request.thread) and needs_context(job.query)


def standalone_by_rules(question: str, turns: Sequence[Turn]) -> str:
    """The question so that it can be understood alone; unchanged where it can be, or where nothing was said before.

    A pronoun takes the last question's subject, an elliptic question takes that question's words with its own
    name in the place of the old one; where neither fits, the last question's words are added.
    """
    if not turns or not needs_context(question):
        return question
    last = turns[-1].question
    names = parse_intent(last).entities
    core = _LEAD_IN.sub("", question).strip() or question
    own = parse_intent(core[:1].upper() + core[1:]).entities or parse_intent(core).entities
    if names and _PRONOUN.search(_EMPTY_IT.sub(" ", core)):
        subject = f"the {names[0]}" if regex.search(rf"\bthe\s+{regex.escape(names[0])}", last, regex.I) else names[0]
        return _capitalised(_PRONOUN.sub(lambda found: _named(found, subject), core, count=1))
    if names and own and len(_telling_words(core)) <= len(_WORD.findall(own[0])):
        return _in_place_of(last, names, own[0], core)
    return _with_words_of(last, core)


def _in_place_of(last: str, names: Sequence[str], name: str, core: str) -> str:
    """`What is the capital of Germany?` and `France` make `What is the capital of France?`."""
    placed = _PLACED.match(core)
    old = names[-1]
    if placed:
        for candidate in names:
            if regex.search(rf"\b{placed['preposition']}\s+(?:the\s+)?{regex.escape(candidate)}\b", last, regex.I):
                old = candidate
    return last.replace(old, name) if old in last and old != name else _with_words_of(last, core)


def _with_words_of(last: str, core: str) -> str:
    known = {word.casefold() for word in _WORD.findall(core)}
    added = [word for word in _telling_words(last) if word.casefold() not in known]
    return f"{core.rstrip(' ?.!')} ({' '.join(added)})?" if added else core


def _named(found: regex.Match[str], name: str) -> str:
    if found["own"]:
        return f"{name}'" if name.endswith("s") else f"{name}'s"
    return name


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _telling_words(text: str) -> list[str]:
    return [
        word for word in (found.rstrip(".'’-") for found in _WORD.findall(text)) if word.casefold() not in STOPWORDS
    ]
