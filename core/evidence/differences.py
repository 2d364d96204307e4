"""The one thing in which two sentences about the same matter differ: a date, a number, an opposite, a denial.

Certain only where both say the same in the same words but for that one thing; anything more a judge must tell. And
whether a sentence of an answer only says another one again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from textwrap import shorten
from typing import Literal

import regex
from rapidfuzz import fuzz

from core.evidence.rules.alignment import Force
from core.evidence.rules.quantities import ABOUT_WORDS, Date, Measure, counted, dates_in, is_about, measure
from core.evidence.rules.vetoes import bound_of, find_vetoes, may_be
from core.evidence.rules.words import Kind, Reading, Token, are_opposite, listed, match_tokens, pattern, read
from core.model.answer import Claim
from core.text.language import Cue, language_of, negations
from core.text.numbers import MONTHS
from core.text.terms import terms

Matter = Literal["date", "number", "direction", "denial"]
MIN_TOKENS = 4  # of each sentence; less is a label
MIN_WORDS = 2  # shared content words besides values
_SAME = 0.8  # match of two words, 0…1: up to synonyms
_MAX_SUBJECT_CHARS = 100


@dataclass(frozen=True)
class Difference:
    """What each sentence says, in few words, and of what: `subject` is the first sentence with the value left open."""

    matter: Matter
    first: str
    second: str
    subject: str


@dataclass(frozen=True)
class _Value:
    """A date or a number as it is `said`; what else stands in `text[start:end]` is no part of what is counted.

    `lead` are the small words before it that tell what it says: `since`, `by`, `per`.
    """

    reading: Reading
    said: str
    start: int
    end: int
    lead: frozenset[str]
    date: tuple[int, int, int] | None = None
    number: Token | None = None

    def agrees(self, other: _Value) -> bool:
        """Equal as far as both are given, rounded, in another unit, or within what is said to be about or above it."""
        if self.date and other.date:
            return all(not (one and two) or one == two for one, two in zip(self.date, other.date, strict=True))
        return self._is(other) or other._is(self)

    def _is(self, other: _Value) -> bool:
        if self.number is None or other.number is None:
            return False
        if self.measure and other.measure and not self.measure.is_in_unit_of(other.measure):
            is_same = self.measure.same_as(other.measure)
        else:
            is_same = bool(self.measure) is bool(other.measure) and match_tokens(self.number, other.number) > 0
        return is_same or may_be(self.reading, self.number, other.reading, self.reading.language, other.number)

    def is_of(self, other: _Value) -> bool:
        """Measured in one dimension, or counts of one thing."""
        if self.measure or other.measure:
            return bool(self.measure and other.measure and self.measure.dimension == other.measure.dimension)
        return bool(self.counted and other.counted and match_tokens(self.counted, other.counted) >= _SAME)

    @property
    def is_exact(self) -> bool:
        """No ordinal and no count in words, which are said of too many things."""
        return self.number is None or not self.number.text[0].isalpha()

    @property
    def measure(self) -> Measure | None:
        return measure(self.reading, self.number) if self.number else None

    @property
    def counted(self) -> Token | None:
        """The word that says what is counted: right behind the number, else the last one before it."""
        before = [token for token in self.reading.content if self.number and token.end <= self.number.start]
        named = [token for token in before if token.kind in (Kind.WORD, Kind.NAME)]
        return (counted(self.reading, self.number) if self.number else None) or (named[-1] if named else None)


@dataclass(frozen=True)
class _Clause:
    """`text` is the main clause of the `whole`. `labels` are numbers of a name (Python 3.11, phase 2).

    `words` are neither value nor unit, `qualifiers` and `is_denied` limit them, `tense` holds small verbs of time.
    """

    whole: str
    text: str
    tokens: int
    dates: tuple[_Value, ...]
    numbers: tuple[_Value, ...]
    labels: frozenset[str]
    words: tuple[Token, ...]
    qualifiers: frozenset[str]
    tense: frozenset[str]
    is_denied: bool


def find_difference(first: str, second: str) -> Difference | None:
    """The one thing in which two sentences contradict each other; None where none is certain."""
    left, right = _state_both(first, second)
    only_left, only_right = _strangers(left, right), _strangers(right, left)
    is_same = len(left.words) - len(only_left) >= MIN_WORDS and max(len(only_left), len(only_right)) <= 1
    if not is_same or not _is_comparable(left, right):
        return None
    dates, numbers = _unshared(left.dates, right.dates), _unshared(left.numbers, right.numbers)
    if not any(dates) and not any(numbers):
        return _contrary(left, right, only_left, only_right)
    found = _valued(left, right)
    if found is None or only_left or only_right or left.is_denied != right.is_denied:
        return None  # of another thing, or at another time
    ours, theirs = (*dates[0], *numbers[0]), (*dates[1], *numbers[1])
    if ours[0].lead != theirs[0].lead or not (ours[0].is_exact and theirs[0].is_exact):
        return None
    happens_once = _ONCE.search(left.text) and _ONCE.search(right.text)  # the same, as the words are
    return found if found.matter == "number" or happens_once else None


def _is_comparable(left: _Clause, right: _Clause) -> bool:
    """Whole sentences of the same version, with the same limits, and not one of what was and one of what is."""
    is_alike = (left.labels, left.qualifiers) == (right.labels, right.qualifiers)
    if not is_alike or min(left.tokens, right.tokens) < MIN_TOKENS:
        return False
    is_changed = left.tense and right.tense and bool(left.tense & _PAST) != bool(right.tense & _PAST)
    return not is_changed and not _UNSAFE.search(f"{left.whole} {right.whole}")


def name_difference(first: str, second: str) -> Difference | None:
    """The same of two sentences that a judge called contrary: their one other date or number, or their opposites."""
    return _valued(*_state_both(first, second)) or find_difference(first, second)


def is_otherwise(claim: str, sentence: str) -> bool:
    """Whether a sentence has another number or date, another polarity, or an opposite."""
    left, right = _state_both(claim, sentence)
    unshared = (_unshared(left.dates, right.dates)[1], _unshared(left.numbers, right.numbers)[1])
    if any(unshared) or left.is_denied != right.is_denied:
        return True
    return any(are_opposite(word.stem, other.stem) for word in left.words for other in right.words)


def _valued(left: _Clause, right: _Clause) -> Difference | None:
    """Their one other date, or their one other number of the same thing."""
    dates, numbers = _unshared(left.dates, right.dates), _unshared(left.numbers, right.numbers)
    both: tuple[tuple[Matter, _Pair, _Pair], ...] = (("date", dates, numbers), ("number", numbers, dates))
    for matter, (ours, theirs), others in both:
        if len(ours) == len(theirs) == 1 and not any(others) and (matter == "date" or ours[0].is_of(theirs[0])):
            return Difference(matter, ours[0].said, theirs[0].said, _open(left.text, ours[0].start, ours[0].end))
    return None


_Pair = tuple[list[_Value], list[_Value]]


def _unshared(ours: Sequence[_Value], theirs: Sequence[_Value]) -> _Pair:
    return (
        [one for one in ours if not any(one.agrees(other) for other in theirs)],
        [one for one in theirs if not any(one.agrees(other) for other in ours)],
    )


def _strangers(ours: _Clause, theirs: _Clause) -> list[Token]:
    """The words that the other has neither as they are nor as a synonym; two at most, which are one too many."""
    known = {_CANONICAL.get(token.stem, token.stem) for token in theirs.words}
    missing = [token for token in ours.words if _CANONICAL.get(token.stem, token.stem) not in known]
    return [*islice((one for one in missing if all(match_tokens(one, other) < _SAME for other in theirs.words)), 2)]


# Reading a sentence

_UNSAFE = pattern("unsafe")
_CONVERSION = re.compile(
    r"\s*\(\s*(?:about |approximately |~)?[\d.,]+\s*[a-z]{1,10}\.?(?: [a-z]{2,8})?\s*\)"
)  # (161 ft)
_ASIDE = re.compile(r",\s+(?!(?:in|as|at|by|since|until|before|after|during|but|and|or)\b)[^,;:]{2,80},\s+(?=[a-z])")
_TAIL = re.compile(r"(?<=[\w%]) ?(?:;|,\s+(?:and|which|with|making|but|built|its?)\b|and\b|with\b)")  # behind the value
_FIRST = re.compile(r"\bfirst (?=(?:lit|opened|published|released|launched|built)\b)")
_CANONICAL = {
    "height": "tall", "high": "tall", "length": "long", "width": "wid", "depth": "deep", "thickness": "thick",
    "complet": "finish", "establish": "found",
}  # fmt: skip
_NEUTRAL = frozenset("stand total overall current offici".split())  # stems that change nothing of what is said
_PAST = frozenset("was were had stood measured".split())
_TENSES = _PAST | frozenset("is are has have stands rises measures reaches".split())
_RELATION = re.compile(
    r"\b(?:before|after|since|until|till|by|from|through)\s+(?:the\s+)?(?:(?:early|late|mid)[ -])?$", re.I
)
_ONCE = pattern("once")
_UNIT = re.compile(r"[ \xa0-]?(?:°[CF]\b|[%‰€$£]|(?!(?:in|of|at|by|to|as|an?|and|or|per|the|from)\b)[^\W\d_]+)")
_BOUND_REACH = 6  # characters from "more" to its number
_LEADS = frozenset("by to from per before after since until till through".split())  # risen by 3 is not risen to 3


def _state_both(first: str, second: str) -> tuple[_Clause, _Clause]:
    """Two sentences in the language of both: a short one by itself is told wrongly at times."""
    language = language_of(f"{first} {second}") or "en"
    return _state(first, language), _state(second, language)


@lru_cache(maxsize=1024)
def _state(sentence: str, language: str) -> _Clause:
    bare = _FIRST.sub("", _ASIDE.sub(" ", _CONVERSION.sub("", " ".join(sentence.split()))))
    value = re.search(r"\d[\d.,]*", bare)
    tail = _TAIL.search(bare, value.end()) if value else None
    reading = read(bare[: tail.start()] if tail else bare, language)
    dates = tuple(_dated(reading, date) for date in dates_in(reading))
    free = [token for token in reading.numbers if not any(date.start <= token.start < date.end for date in dates)]
    labels = [token for token in free if _is_label(reading, token)]
    numbers = tuple(_value(reading, token) for token in free if token not in labels)
    taken = [(one.start, one.end) for one in (*dates, *(one for one in numbers if one.measure))]
    bounds = (one for cue in (Cue.ABOVE, Cue.BELOW) for one in cue.find(language, reading.text))
    around = [*bounds, *ABOUT_WORDS.finditer(reading.text)]
    taken += [one.span() for one in around if any(0 < number.start - one.end() <= _BOUND_REACH for number in free)]
    plain = [token for token in reading.tokens if not any(start <= token.start < end for start, end in taken)]
    lower = [token.text.lower() for token in plain]
    denials = [word for word in lower if word in negations("en") or word.endswith("n't")]
    return _Clause(
        sentence,
        reading.text,
        len(reading.tokens),
        dates,
        numbers,
        frozenset(token.text for token in labels),
        tuple(
            token
            for token in plain
            if token.kind in (Kind.WORD, Kind.NAME) and token.stem not in _NEUTRAL and token.text.lower() not in denials
        ),
        listed("qualifiers") & set(lower),
        _TENSES & set(lower),
        len(denials) % 2 == 1,
    )


def _dated(reading: Reading, date: Date) -> _Value:
    related = _RELATION.search(reading.text, 0, date.start)
    start = related.start() if related else date.start
    before = reading.text[start : date.start] if related else reading.text[max(0, start - 7) : start]
    said = reading.text[start : date.end]
    return _Value(reading, said, date.start, date.end, _LEADS & set(before.lower().split()), date=date.day)


def _value(reading: Reading, number: Token) -> _Value:
    at, start = reading.positions[number], number.start
    if at and reading.tokens[at - 1].kind is Kind.SIGN and reading.tokens[at - 1].end == start:
        start = reading.tokens[at - 1].start
    unit = _UNIT.match(reading.text, number.end)
    end = unit.end() if unit else number.end
    is_bounded = bound_of(reading, number, reading.language) or is_about(reading, number)
    lead = frozenset[str]() if is_bounded else _LEADS & set(reading.lead(number))
    return _Value(
        reading, reading.text[start:end], start, end if measure(reading, number) else number.end, lead, None, number
    )


def _is_label(reading: Reading, number: Token) -> bool:
    """Right behind a name or a word like "phase", or several dots: it names, it does not measure."""
    at = reading.positions[number]
    before = reading.tokens[at - 1] if at else None
    if before is None or reading.text[before.end : number.start] not in (" ", "-", "\xa0"):
        return number.text.count(".") > 1
    is_name = before.kind is Kind.NAME and measure(reading, number) is None and before.text.lower() not in MONTHS
    return is_name or before.text.lower() in listed("numbered") or number.text.count(".") > 1


def _contrary(
    left: _Clause, right: _Clause, only_left: Sequence[Token], only_right: Sequence[Token]
) -> Difference | None:
    """The same sentence denied, turned into its opposite, or compared the other way round."""
    is_denied = left.is_denied != right.is_denied
    sides, others = ([_stems(part) for part in side.text.partition(" than ")[::2]] for side in (left, right))
    is_turned = bool(sides[1] and others[1] and sides[0] & others[1] - sides[1] and sides[1] & others[0] - sides[0])
    if only_left and only_right and are_opposite(only_left[0].stem, only_right[0].stem) and not is_denied | is_turned:
        ours, theirs = only_left[0], only_right[0]
        return Difference("direction", ours.text, theirs.text, _open(left.text, ours.start, ours.end))
    if only_left or only_right:
        return None
    if is_denied:
        answers = ("no", "yes") if left.is_denied else ("yes", "no")
        return Difference("denial", *answers, _open((right if left.is_denied else left).text))
    return Difference("direction", _open(left.text), _open(right.text), "which of the two") if is_turned else None


def _stems(text: str) -> frozenset[str]:
    return read(text).stems


def _open(text: str, start: int = 0, end: int = 0) -> str:
    """The sentence, with what stands at a place left open."""
    opened = (f"{text[:start].rstrip()} … {text[end:].lstrip(' %')}" if end else text).rstrip(".。 ")
    if len(opened) > _MAX_SUBJECT_CHARS and start > _MAX_SUBJECT_CHARS // 2:  # then from a word before the value on
        opened = f"… {opened[start - _MAX_SUBJECT_CHARS // 2 :].partition(' ')[2]}"
    return shorten(opened, _MAX_SUBJECT_CHARS, placeholder="…")


# Sentences of one answer that say the same

MAX_REWORDED = 0.4  # of the words of a sentence that says another one in other words
SAME_CLAIM = 92  # rapidfuzz ratio 0…100, between a sentence of the detail and one of the summary
MIN_SAID_WORDS = 4  # with a meaning; shorter sentences are alike by chance


def is_same_claim(one: str, other: str) -> bool:
    """Whether two sentences are the same but for small words, with the same numbers, and neither denies the other."""
    if fuzz.ratio(one.casefold(), other.casefold()) < SAME_CLAIM or numbers_in(one) != numbers_in(other):
        return False
    vetoes = [*find_vetoes(one, other), *find_vetoes(other, one)]
    return {*terms(one)} == {*terms(other)} and not any(veto.force is Force.CONTRADICTS for veto in vetoes)


def adds_nothing(claim: Claim, known: Claim) -> bool:
    """Whether a sentence only says in other words what `known` says, of the same passage.

    A name, a number or a hedge that `known` lacks is something new. So is a word of the passage that `known` lacks,
    unless it stands where `known` has a word of its own for it.
    """
    shared = [
        ours
        for ours in claim.evidence
        for theirs in known.evidence
        if ours.source_id == theirs.source_id and ours.start < theirs.end and theirs.start < ours.end
    ]
    words, others = read(claim.text).content, read(known.text).content
    if not shared or len(words) < MIN_SAID_WORDS:
        return False
    more = [word for word in words if not any(match_tokens(word, other) for other in others)]
    if len(more) > MAX_REWORDED * len(words) or any(word.kind is not Kind.WORD for word in more):
        return False
    passage = [word for entry in shared for word in read(entry.quote).content]
    news = [word for word in more if any(match_tokens(word, other) for other in passage)]
    reworded = [word for word in others if not any(match_tokens(word, other) for other in (*words, *passage))]
    is_told_so = all(any(_is_in_place(one, words, other, others) for other in reworded) for one in news)
    if len(news) > len(reworded) or not is_told_so:
        return False
    is_surer = not Cue.HEDGE.first(language_of(known.text), known.text)
    is_hedged = is_surer and Cue.HEDGE.first(language_of(claim.text), claim.text)
    vetoes = find_vetoes(claim.text, known.text, before=known.text)
    return not is_hedged and all(veto.force is Force.ASKS for veto in vetoes)


def _is_in_place(word: Token, words: Sequence[Token], other: Token, others: Sequence[Token]) -> bool:
    """Whether the content words before both, or those behind both, are the same."""
    at, place = words.index(word), others.index(other)
    around = [(words[at - 1 : at], others[place - 1 : place]), (words[at + 1 : at + 2], others[place + 1 : place + 2])]
    return any(ours and theirs and match_tokens(*ours, *theirs) for ours, theirs in around)


def numbers_in(text: str) -> list[str]:
    return regex.findall(r"\d[\d.,]*\d|\d", text)
