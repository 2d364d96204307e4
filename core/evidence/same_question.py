"""A question read for comparison: ways of asking reduced to one, then words, names, numbers and denials."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache

import regex

from core.evidence.rules.small_words import is_denying
from core.evidence.rules.words import ROOT_MATCH, Kind, Reading, Token, are_opposite, listed, match_tokens, read, rows

_SIGNED = regex.compile(r"[\p{L}\p{N}]+[+#]+|(?<![\p{L}\p{N}])[.][\p{L}]\p{L}+")  # C++, C#, .NET
_CASES = regex.compile(r"\b(?:wer|wen|wem|wessen)\b")  # who does it, and to whom
_ASKS = regex.compile(r"\b(who|whom|whose|where|when|why|how many|how much|how often|how far|how long|how)\b")


@dataclass(frozen=True)
class Question:
    """`text` is the question in NFC with ways of asking reduced."""

    text: str

    @cached_property
    def reading(self) -> Reading:
        return read(self.text)

    @cached_property
    def words(self) -> tuple[Token, ...]:
        """What the question is about, in order; numbers are in `numbers`."""
        return tuple(token for token in self.reading.tokens if self._counts(token))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Every number, by value, in ascending order of writing; signs that go with them included."""
        found = [token.stem for token in self.reading.tokens if token.kind is Kind.NUMBER or token.text.isdigit()]
        return tuple(sorted(found))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Signs of money and shares, which tokens leave apart."""
        return tuple(sorted(token.stem for token in self.reading.tokens if token.kind is Kind.SIGN))

    @cached_property
    def signed(self) -> frozenset[str]:
        """Names that end in a sign: C++ is not C."""
        return frozenset(name.casefold() for name in _SIGNED.findall(self.text))

    @cached_property
    def denials(self) -> int:
        return sum(is_denying(token, "en") for token in self.reading.tokens)

    @cached_property
    def limits(self) -> frozenset[str]:
        """Small words that change what is asked for: without, before, all, least."""
        return frozenset(token.text.lower() for token in self.reading.tokens) & listed("limiting")

    @cached_property
    def asks(self) -> str:
        """Its question word; "" for what or which, or none."""
        found = _ASKS.search(self.text.lower())
        return found.group(1) if found else ""

    def is_name(self, token: Token) -> bool:
        """Also what only its capitals tell from a small word: US, WHO, Go."""
        is_acronym = len(token.text) > 1 and token.text.isupper() and not self.text.isupper()
        return token.kind is Kind.NAME or is_acronym

    def _counts(self, token: Token) -> bool:
        if token.kind in (Kind.NUMBER, Kind.SIGN) or token.text.isdigit():
            return False
        if self.is_name(token):
            return True
        return token.is_content and token.text.lower() not in listed("weightless")


@lru_cache(maxsize=1024)
def read_question(text: str) -> Question:
    """`text` is a question as it was asked."""
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    for pattern, instead in _rephrased():
        plain = pattern.sub(instead, plain)
    return Question(plain)


@cache
def _rephrased() -> list[tuple[regex.Pattern[str], str]]:
    """Ways of asking for one thing, as people interchange them, and what is compared instead."""
    ways = [way.strip().split(" => ") for way in rows("rephrased")]
    return [(regex.compile(rf"\b(?:{pattern})\b", regex.IGNORECASE), plain) for pattern, plain in ways]


_PASSIVE = regex.compile(
    r"\b(?:is|are|was|were|been|be|being|get|got)\b(?:\s+\p{L}+){0,4}?\s+\p{L}+(?:ed|en|wn|de|lt|ld|ht|ut)\s+by\b"
)
_SYMMETRIC = regex.compile(r"\b(?:differences?|differs?|compar(?:e|es|ed|isons?)|versus|vs|distinguish)\b")
_ONE_SIDED = regex.compile(r"\b(?:than|from .+ to|to .+ from)\b")


def veto(asked: str, earlier: str) -> str:
    """Why the two cannot be the same question, in few words; "" where the rules see nothing against it."""
    one, other = read_question(asked), read_question(earlier)
    return next((reason for rule in _RULES if (reason := rule(one, other))), "")


def strict_veto(asked: str, earlier: str) -> str:
    """`veto`, and also wherever a word is left over on either side or another thing is asked of the same."""
    reason = veto(asked, earlier)
    if reason:
        return reason
    one, other = read_question(asked), read_question(earlier)
    left, right = _unmatched(one, other)
    if left or right:
        return f"only one says {(left or right)[0].text}"
    if one.asks != other.asks or _CASES.findall(one.text.lower()) != _CASES.findall(other.text.lower()):
        return "asked in another way"
    if one.denials != other.denials:
        return "denied in another way"
    places = [there for _, there in _places(one, other)]
    is_turned = _is_passive(one) != _is_passive(other)
    if (places == sorted(places)) is is_turned and (is_turned or not _is_symmetric(one)):
        return "in another order"
    return ""


def _numbers(one: Question, other: Question) -> str:
    if (one.numbers, one.units) != (other.numbers, other.units):
        return "other numbers"
    return "" if one.signed == other.signed else "another sign"


def _denials(one: Question, other: Question) -> str:
    left, right = _unmatched(one, other)
    opposed = sum(are_opposite(word.stem, there.stem) for word in left for there in right)
    return "" if (one.denials + other.denials + opposed) % 2 == 0 else "one denies what the other does not"


def _limits(one: Question, other: Question) -> str:
    only = sorted(one.limits ^ other.limits)
    return f'only one says "{only[0]}"' if only else ""


def _asks(one: Question, other: Question) -> str:
    known = {one.asks, other.asks}
    return "" if len(known) == 1 or "" in known or known <= _ALIKE else f"{one.asks} is not {other.asks}"


_ALIKE = frozenset({"how", "why"})  # "how does it come that"


def _names(one: Question, other: Question) -> str:
    left, right = _unmatched(one, other)
    name = next((word for asked, words in ((one, left), (other, right)) for word in words if asked.is_name(word)), None)
    return f"only one names {name.text}" if name else ""


def _one_place(one: Question, other: Question) -> str:
    """Where the wording is the same but for one place, that place is the difference."""
    left, right = ([token.stem for token in question.reading.tokens] for question in (one, other))
    edits = [edit for edit in SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if edit[0] != "equal"]
    if len(edits) != 1:
        return ""
    _, start, end, there, there_end = edits[0]
    added = [word for word in one.reading.tokens[start:end] if word in one.words]
    missing = [word for word in other.reading.tokens[there:there_end] if word in other.words]
    is_longer = start == end or there == there_end  # then a word counts although the other has it elsewhere
    unlike = [*added, *missing] if is_longer else [*_missing(added, one, other), *_missing(missing, other, one)]
    return f"they differ in {unlike[0].text} alone" if unlike else ""


def _order(one: Question, other: Question) -> str:
    """The very same words in another order; a number may stand anywhere."""
    left, right = (
        [token.stem for token in question.reading.tokens if token.value is None] for question in (one, other)
    )
    if left == right or sorted(left) != sorted(right) or (_is_symmetric(one) and _is_symmetric(other)):
        return ""
    return "the same words in another order"


def _voice(one: Question, other: Question) -> str:
    """The voice has changed and the names have not changed places with it."""
    if _is_passive(one) == _is_passive(other):
        return ""
    places = [there for word, there in _places(one, other) if one.is_name(word)]
    return "who does it to whom has changed" if len(places) > 1 and places == sorted(places) else ""


_RULES: tuple[Callable[[Question, Question], str], ...] = (
    _numbers,
    _denials,
    _limits,
    _asks,
    _names,
    _one_place,
    _order,
    _voice,
)


def _unmatched(one: Question, other: Question) -> tuple[list[Token], list[Token]]:
    """The words of each that the other has in no form."""
    return _missing(one.words, one, other), _missing(other.words, other, one)


def _missing(words: Sequence[Token], question: Question, other: Question) -> list[Token]:
    return [
        word
        for word in words
        if not any(_same(word, there) for there in other.words) and not _is_abbreviated(word, question, other)
    ]


def _same(word: Token, there: Token) -> bool:
    """Two names by more than their root, which React and Reactor share."""
    match = match_tokens(word, there)
    return match > 0 and not (match == ROOT_MATCH and word.kind is there.kind is Kind.NAME)


def _is_abbreviated(word: Token, question: Question, other: Question) -> bool:
    """Whether the other question has the word's initials in their place, or the words that it is the initials of."""
    if word.text.isupper() and word.text.lower() in _initials(other):
        return True
    at = question.words.index(word) if word in question.words else -1
    runs = (question.words[first:last] for first in range(max(0, at - 5), at + 1) for last in range(at + 1, at + 7))
    short = {token.text for token in other.words if token.text.isupper() and len(token.text) > 1}
    return any(len(run) > 1 and "".join(token.text[0] for token in run).upper() in short for run in runs)


def _initials(question: Question) -> frozenset[str]:
    """Of runs of two to six neighbouring words, whatever their case."""
    letters = "".join(token.text[0].lower() for token in question.words)
    return frozenset(letters[at : at + size] for size in range(2, 7) for at in range(len(letters) - size + 1))


def _places(one: Question, other: Question) -> list[tuple[Token, int]]:
    """The words of the one that stand once in both, with where they stand in the other."""
    found = []
    for word in one.words:
        there = [at for at, token in enumerate(other.words) if _same(word, token)]
        here = [token for token in one.words if _same(word, token)]
        if len(there) == 1 and len(here) == 1:
            found.append((word, there[0]))
    return found


def _is_passive(question: Question) -> bool:
    return _PASSIVE.search(question.text.lower()) is not None


def _is_symmetric(question: Question) -> bool:
    lower = question.text.lower()
    return _SYMMETRIC.search(lower) is not None and _ONE_SIDED.search(lower) is None
