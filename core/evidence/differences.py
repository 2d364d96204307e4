"""The values in a sentence: dates, numbers that measure or count, and numbers that are part of a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.evidence.opposites import are_opposite
from core.evidence.words import Kind, Measure, Reading, Token, match_tokens, measure, read
from core.text.numbers import MONTHS
from core.verification.negation import CUES


@dataclass(frozen=True)
class WrittenDate:
    """`month` and `day` are 0 where not given; `relation` is `before`, `since`, … or ""."""

    year: int
    month: int
    day: int
    relation: str
    start: int
    end: int

    def agrees(self, other: WrittenDate) -> bool:
        """Equal as far as both are given."""
        if self.year != other.year or not (self.month and other.month):
            return self.year == other.year
        return self.month == other.month and (not (self.day and other.day) or self.day == other.day)


@dataclass(frozen=True)
class Facts:
    """`labels` are numbers that belong to a name (Python 3.11, phase 2) and so tell things apart."""

    reading: Reading
    dates: tuple[WrittenDate, ...]
    numbers: tuple[Token, ...]
    labels: frozenset[str]

    @classmethod
    def of(cls, reading: Reading) -> Facts:
        dates = tuple(_dates(reading.text))
        free = [token for token in reading.numbers if not any(date.start <= token.start < date.end for date in dates)]
        labels = [token for token in free if _is_label(reading, token)]
        numbers = tuple(token for token in free if token not in labels)
        return cls(reading, dates, numbers, frozenset(token.text for token in labels))


_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" if len(month) > 3 else month for month in MONTHS)
_RELATION = r"(?P<relation>(?:before|after|since|until|till|by|from|through)\s+(?:the\s+)?(?:(?:early|late|mid)[ -])?)?"
_DATE = re.compile(
    rf"{_RELATION}(?:"
    r"(?P<iso_year>[12]\d{3})-(?P<iso_month>0\d|1[0-2])-(?P<iso_day>[0-3]\d)"
    rf"|(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(?P<month>{_MONTH})\.?,?\s+(?P<year>[12]\d{{3}})"
    rf"|(?P<us_month>{_MONTH})\.?\s+(?P<us_day>[0-3]?\d)(?:st|nd|rd|th)?,?\s+(?P<us_year>[12]\d{{3}})"
    rf"|(?P<only_month>{_MONTH})\.?,?\s+(?P<only_year>[12]\d{{3}})"
    r"|(?:(?<=in\s)|(?<=year\s)|(?<=\()|(?<=of\s)|(?<=during\s)|(?<=for\s)|(?<=since\s)|(?<=by\s)|(?<=until\s)|(?<=from\s)"
    r"|(?<=before\s)|(?<=after\s)|(?<=till\s))(?P<bare_year>1[0-9]\d{2}|20\d{2})(?![\d.,]?\d|\s+[a-z]+s\b)"
    r")\b",
    re.I,
)


def _dates(text: str) -> list[WrittenDate]:
    dates = []
    for match in _DATE.finditer(text):
        parts = {name: value for name, value in match.groupdict().items() if value and name != "relation"}
        year = next(int(value) for name, value in parts.items() if name.endswith("year"))
        written = next((value for name, value in parts.items() if name.endswith("month")), "")
        month = int(written) if written.isdigit() else _month_number(written)
        day = next((int(value) for name, value in parts.items() if name.endswith("day")), 0)
        relation = (match["relation"] or text[max(0, match.start() - 7) : match.start()]).split()
        dates.append(WrittenDate(year, month, day, _relation(relation), match.start(), match.end()))
    return dates


def _relation(words: Sequence[str]) -> str:
    return next((word.lower() for word in words if word.lower() in RELATIONS), "")


def _month_number(written: str) -> int:
    return next((number for number, month in enumerate(MONTHS, 1) if month[:3] == written[:3].lower()), 0)


RELATIONS = frozenset("before after since until till by from through".split())
_COUNTED_THINGS = frozenset(
    """version chapter section article type phase stage grade figure fig table level step group no number part volume
    category class day week page line rule question point model release appendix item category generation tier pep rfc
    season episode round division district route highway""".split()
)


def _is_label(reading: Reading, number: Token) -> bool:
    """Right behind a name or a word like "phase", or several dots: it names, it does not measure."""
    if number.text.count(".") > 1:
        return True
    at = reading.positions[number]
    before = reading.tokens[at - 1] if at else None
    if before is None or reading.text[before.end : number.start] not in (" ", "-", "\xa0"):
        return False
    if before.text.lower() in _COUNTED_THINGS:
        return True
    return before.kind is Kind.NAME and measure(reading, number) is None and before.text.lower() not in MONTHS


@dataclass(frozen=True)
class Restated:
    """`about` is the same in two statements of one attribute of one subject; `text` is a whole sentence."""

    about: tuple[str, ...]
    text: str


_SIZES = {
    "tall": "tall", "high": "tall", "height": "tall", "long": "long", "length": "long", "wide": "wide", "width": "wide",
    "deep": "deep", "depth": "deep", "thick": "thick", "thickness": "thick",
}  # fmt: skip
_EVENTS = {
    "completed": "completed", "finished": "completed", "opened": "opened", "built": "built", "founded": "founded",
    "established": "founded", "launched": "launched", "released": "released", "published": "published", "born": "born",
    "signed": "signed", "discovered": "discovered", "invented": "invented", "demolished": "demolished", "lit": "lit",
}  # fmt: skip
_PRESENT = frozenset("is stands rises measures reaches has".split())

_CONVERSION = re.compile(
    r"\s*\(\s*(?:about |approximately |~)?[\d.,]+\s*[a-z]{1,10}\.?(?: [a-z]{2,8})?\s*\)"
)  # (161 ft)
_ASIDE = re.compile(r",\s+(?!(?:in|as|at|by|since|until|before|after|during|but|and|or)\b)[^,;:]{2,80},\s+(?=[a-z])")
_SUBJECT = r"(?P<subject>(?:[^\W\d_][\w'’.&-]*\s+){1,7}?)"
_NO_SUBJECT = re.compile(
    r"(?:in|at|on|by|as|of|for|from|with|during|when|while|after|before|since|until|if|according|its?|this|that|these|"
    r"those|they|he|she|we|his|her|their|our|my|your|there|some|many|most|each|every|no|one|both|neither)\b",
    re.I,
)
_NO_NAME = re.compile(r"\b(?:and|or|that|which|who|whose|not|never|if|when|would|will|may|could|should)\b", re.I)
_VALUE = (
    r"(?P<value>(?:(?:about|approximately|around|roughly|nearly|almost|over|under|at least|at most|up to|some|"
    r"more than|less than)\s+)?\d[\d,.]*\s*(?:million\s+|thousand\s+)?[a-z]{1,12})"
)
_END = r"(?=\s*(?:[.;]?\s*$|[;]|,\s+(?:and|which|with|making|but|built|its?)\b|and\b|with\b))"
_SIZE_WORDS = "|".join(_SIZES)
_FORMS = [
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_SUBJECT}(?P<verb>is|was|stands|stood|rises|rose|measures|measured|reaches|reached)\s+{_VALUE}"
        rf"\s+(?:in\s+)?(?P<size>{_SIZE_WORDS}){_END}",
        rf"the\s+(?P<size>{_SIZE_WORDS})\s+of\s+{_SUBJECT}(?P<verb>is|was)\s+{_VALUE}{_END}",
        rf"{_SUBJECT}(?P<verb>has|had)\s+an?\s+(?:total\s+|overall\s+)?(?P<size>{_SIZE_WORDS})\s+of\s+{_VALUE}{_END}",
    )
]
_EVENT = re.compile(
    rf"{_SUBJECT}(?:was\s+|were\s+)?(?:first\s+)?(?P<event>{'|'.join(_EVENTS)})\s+(?P<value>(?:in|on)\s+"
    rf"(?:(?:\d{{1,2}}\s+)?[A-Z][a-z]{{2,8}}\s+(?:\d{{1,2}},?\s+)?)?[12]\d{{3}}){_END}",
)


@lru_cache(maxsize=512)
def restate(text: str) -> Restated | None:
    """The first thing that `text` says in one of the certain forms; None where there is none."""
    bare = _ASIDE.sub(" ", _CONVERSION.sub("", " ".join(text.split())))
    for form in _FORMS:
        if (found := form.match(bare)) and (subject := _subject(found["subject"])):
            size, is_now = _SIZES[found["size"].lower()], found["verb"].lower() in _PRESENT
            verb = "is" if is_now else "was"
            return Restated((*subject, verb, size), f"{found['subject'].strip()} {verb} {found['value']} {size}.")
    if (found := _EVENT.match(bare)) and (subject := _subject(found["subject"])):
        event = _EVENTS[found["event"].lower()]
        return Restated((*subject, event), f"{found['subject'].strip()} was {event} {found['value']}.")
    return None


def _subject(words: str) -> tuple[str, ...]:
    """The words that name it, articles left out; none where they name no certain thing."""
    if _NO_SUBJECT.match(words) or _NO_NAME.search(words):
        return ()
    return tuple(word for word in words.casefold().split() if word not in ("the", "a", "an"))


Matter = Literal["date", "number", "direction", "denial"]


@dataclass(frozen=True)
class Difference:
    """What each sentence says, in few words, and of what: `subject` is the first sentence with the value left open."""

    matter: Matter
    first: str
    second: str
    subject: str


@dataclass(frozen=True)
class _Both:
    first: Reading
    second: Reading


def find_difference(first: str, second: str) -> Difference | None:
    """The one thing in which two sentences about the same matter contradict each other; None where none is certain.

    Where each plainly says something of one attribute of one subject, only that counts, whatever else it says.
    """
    left, right = restate(first), restate(second)
    if left is None or right is None:
        return _difference(first, second)
    is_safe = left.about == right.about and not _UNSAFE.search(f"{first} {second}")
    return _difference(left.text, right.text) if is_safe else None


def _difference(first: str, second: str) -> Difference | None:
    left, right = _facts_in(first), _facts_in(second)
    if left is None or right is None or left.labels != right.labels:
        return None
    both, facts = _Both(left.reading, right.reading), (left, right)
    if not _same_subject(both, facts):
        return None
    dates, numbers = _unshared_dates(facts), _unshared_numbers(facts)
    if any(dates) and any(numbers):
        return None  # another time, so the figures may differ
    if any(dates):
        return _date_difference(both, dates)
    if any(numbers):
        return _number_difference(both, numbers)
    return _contrary(both)


# The same subject


_UNSAFE = re.compile(  # samples, decades, ranges, code, addresses: they differ without contradiction
    r"\bp\s*[<=>]|\bn\s*=|\bCI\b|±|\b[12]\d{2}0s\b"
    r"|\d\s*(?:-|–|—|to|and)\s*\d+(?:\.\d+)?\s*(?:%|percent|[a-z])|\[[^\]]*\d\s*[-–,]"
    r"|\b(?:between|respectively|versus|vs)\b|https?://|\w\(\)|\w = "
    r"|\b(?:median|mean age|follow[- ]?up|enrolled|recruited|this study|our)\b",
    re.I,
)
MIN_TOKENS = 4  # of each sentence; less is a label
MIN_WORDS = 2  # matched content words besides values
SHORTER_SHARE = 0.75  # of the shorter sentence's words that the longer has; by judgement, on the development data
LONGER_SHARE = 0.5


@lru_cache(maxsize=512)
def _facts_in(sentence: str) -> Facts | None:
    """None of a sentence of a sort whose differences prove nothing."""
    reading = read(sentence)
    return None if len(reading.tokens) < MIN_TOKENS or _UNSAFE.search(sentence) else Facts.of(reading)


def _same_subject(both: _Both, facts: tuple[Facts, Facts]) -> bool:
    left, right = _words(facts[0]), _words(facts[1])
    left_found = [token for token in left if _has(both.second, token)]
    if len(left_found) < MIN_WORDS:
        return False
    right_found = [token for token in right if _has(both.first, token)]
    if len(right_found) < MIN_WORDS:
        return False
    shorter, longer = sorted(((left, left_found), (right, right_found)), key=lambda side: len(side[0]))
    if len(shorter[1]) < SHORTER_SHARE * len(shorter[0]) or len(longer[1]) < LONGER_SHARE * len(longer[0]):
        return False
    return not _has_other_names(shorter[0], shorter[1], longer[0], longer[1])


_SAME = 0.8  # match of two words, 0…1: up to synonyms


def _has(reading: Reading, word: Token) -> bool:
    """Whether the sentence has the word, a synonym, or its opposite."""
    return reading.match(word) >= _SAME or any(are_opposite(word.stem, stem) for stem in reading.stems)


def _words(facts: Facts) -> list[Token]:
    """Content words that are neither value nor unit."""
    reading = facts.reading
    units = {
        reading.tokens[reading.positions[number] + 1]
        for number in facts.numbers
        if measure(reading, number) and reading.positions[number] + 1 < len(reading.tokens)
    }
    return [
        token
        for token in reading.content
        if token.kind is not Kind.NUMBER
        and token not in units
        and not any(date.start <= token.start < date.end for date in facts.dates)
    ]


def _has_other_names(
    shorter: Sequence[Token], found: Sequence[Token], longer: Sequence[Token], longer_found: Sequence[Token]
) -> bool:
    """A name that only one side has, unless it is an aside of the longer sentence away from shared names."""
    if any(token.kind is Kind.NAME and token not in found for token in shorter):
        return True
    for position, token in enumerate(longer):
        if token.kind is not Kind.NAME or token in longer_found:
            continue
        neighbours = [*longer[max(0, position - 1) : position], *longer[position + 1 : position + 2]]
        if any(other.kind is Kind.NAME and other in longer_found for other in neighbours):
            return True
    return False


# Dates and numbers


def _unshared_dates(facts: tuple[Facts, Facts]) -> tuple[list[WrittenDate], list[WrittenDate]]:
    left, right = facts[0].dates, facts[1].dates
    return (
        [date for date in left if not any(date.agrees(other) for other in right)],
        [date for date in right if not any(date.agrees(other) for other in left)],
    )


_ONCE = re.compile(  # what happens to a thing once; a prize can be won in two years
    r"\b(?:found(?:ed)?|born|died|dies|death|releas\w+|publish\w+|open(?:ed|s)|establish\w+|launch\w+|introduc\w+|invent\w+|"
    r"discover\w+|buil[td]|complet\w+|creat\w+|sign(?:ed|s)|adopt\w+|enact\w+|start(?:ed|s)|beg[au]n|begins|end(?:ed|s)|"
    r"form(?:ed)?|incorporat\w+|approv\w+|first|force|effect|expir\w+|deadline|due|scheduled|finali[sz]\w+|abolish\w+|"
    r"dissol\w+|deprecat\w+|remov\w+|independen\w+|erupt\w+|sank|crashed|landed|retire[ds]|date[ds]?)\b",
    re.I,
)


def _date_difference(both: _Both, dates: tuple[list[WrittenDate], list[WrittenDate]]) -> Difference | None:
    if len(dates[0]) != 1 or len(dates[1]) != 1:
        return None
    first, second = dates[0][0], dates[1][0]
    left, right = both.first.text, both.second.text
    once = {word.lower()[:5] for word in _ONCE.findall(left)} & {word.lower()[:5] for word in _ONCE.findall(right)}
    if first.relation != second.relation or not once:
        return None
    positions = _bare_date(left[first.start : first.end]), _bare_date(right[second.start : second.end])
    return Difference("date", *positions, _open(left, first.start, first.end))


def _bare_date(written: str) -> str:
    return re.sub(rf"^(?:{'|'.join(RELATIONS)})\s+(?:the\s+)?", "", written, flags=re.I)


def _unshared_numbers(facts: tuple[Facts, Facts]) -> tuple[list[Token], list[Token]]:
    left, right = facts
    return (
        [token for token in left.numbers if not any(_equal(left, token, right, other) for other in right.numbers)],
        [token for token in right.numbers if not any(_equal(right, token, left, other) for other in left.numbers)],
    )


def _equal(left: Facts, token: Token, right: Facts, other: Token) -> bool:
    ours, theirs = measure(left.reading, token), measure(right.reading, other)
    if ours and theirs:
        return ours.same_as(theirs)
    return match_tokens(token, other) > 0 or match_tokens(other, token) > 0


_BOUND = re.compile(
    r"(?P<above>more than|over|at least|above|exceed\w*|no fewer than|from)"
    r"|(?P<below>less than|fewer than|under|at most|below|up to|no more than|maximum)"
    r"|(?P<about>about|approximately|around|roughly|nearly|almost|some|circa|ca|~|≈)",
    re.I,
)
_BOUND_REACH = 16  # characters before a number in which a bound may stand
_ROUGHLY = 0.2  # relative difference up to which a rough figure and an exact one agree


def _number_difference(both: _Both, numbers: tuple[list[Token], list[Token]]) -> Difference | None:
    if len(numbers[0]) != 1 or len(numbers[1]) != 1:
        return None
    first, second = numbers[0][0], numbers[1][0]
    if first.value is None or second.value is None or _is_loose(first) or _is_loose(second):
        return None
    ours, theirs = measure(both.first, first), measure(both.second, second)
    if not _same_thing(both, first, second, ours, theirs) or _may_agree(both, first, second, ours, theirs):
        return None
    subject = _open(both.first.text, first.start, first.end)
    return Difference("number", _with_unit(both.first, first), _with_unit(both.second, second), subject)


def _is_loose(number: Token) -> bool:
    """Ordinals and counts in words ("two", "first") are said of too many things."""
    return number.text[0].isalpha()


def _same_thing(both: _Both, first: Token, second: Token, ours: Measure | None, theirs: Measure | None) -> bool:
    """Measured in one dimension, or counts of the same noun."""
    if ours or theirs:
        return bool(ours and theirs and ours.dimension == theirs.dimension)
    left, right = _counted(both.first, first), _counted(both.second, second)
    return left is not None and right is not None and match_tokens(left, right) >= _SAME


def _counted(reading: Reading, number: Token) -> Token | None:
    """The word that says what is counted: right behind the number, else the last one before it."""
    at = reading.positions[number]
    after = [token for token in reading.tokens[at + 1 : at + 3] if token.kind in (Kind.WORD, Kind.NAME)]
    if after and reading.text[number.end : after[0].start].strip(" -") == "":
        return after[0]
    before = [token for token in reading.tokens[:at] if token.kind in (Kind.WORD, Kind.NAME)]
    return before[-1] if before else None


def _may_agree(both: _Both, first: Token, second: Token, ours: Measure | None, theirs: Measure | None) -> bool:
    left, right = (ours.amount, theirs.amount) if ours and theirs else (first.value or 0.0, second.value or 0.0)
    bounds = _bound(both.first.text, first), _bound(both.second.text, second)
    if not any(bounds):
        return abs(left - right) <= 0.01 * max(abs(left), abs(right))
    if abs(left - right) <= _ROUGHLY * max(abs(left), abs(right)):
        return True
    return any(
        (bound == "above" and value < other) or (bound == "below" and value > other)
        for bound, value, other in ((bounds[0], left, right), (bounds[1], right, left))
    )


def _bound(text: str, number: Token) -> str:
    matches = list(_BOUND.finditer(text, max(0, number.start - _BOUND_REACH), number.start))
    return str(matches[-1].lastgroup) if matches else ""


def _with_unit(reading: Reading, number: Token) -> str:
    """The number with sign and the word behind it: `$5 million`, `50 percent`, `12 people`, `3 °C`."""
    at = reading.positions[number]
    start, end = number.start, number.end
    if at and reading.tokens[at - 1].kind is Kind.SIGN and reading.tokens[at - 1].end == start:
        start = reading.tokens[at - 1].start
    after = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
    is_unit = after and after.kind in (Kind.SIGN, Kind.WORD) and not reading.text[end : after.start].strip(" -")
    degree = _DEGREE.match(reading.text, after.start) if is_unit and after else None
    return reading.text[start : degree.end() if degree else after.end if is_unit and after else end]


_DEGREE = re.compile(r"°[CF]\b")  # a sign and a word to the reader, one unit to people


# The contrary


_QUALIFIERS = frozenset(
    """if unless only except when without some many most all every always sometimes often may might could can should
    would whether although though while despite until but however""".split()
)


def _contrary(both: _Both) -> Difference | None:
    """The same sentence denied, turned into its opposite, or compared the other way round."""
    left, right = both.first, both.second
    only_left, only_right = _unmatched(left, right), _unmatched(right, left)
    if _qualifiers(left) != _qualifiers(right) or max(len(only_left), len(only_right)) > 1:
        return None
    is_denied = (_negations(left) - _negations(right)) % 2 == 1
    if only_left and only_right and not is_denied:
        return None if _is_reversed(left, right) else _opposites(left, only_left[0], only_right[0])
    if only_left or only_right:
        return None
    if is_denied:
        is_first = _negations(left) > _negations(right)
        answers = ("no", "yes") if is_first else ("yes", "no")
        return Difference("denial", *answers, _shorten((right if is_first else left).text))
    if _is_reversed(left, right):
        return Difference("direction", _shorten(left.text), _shorten(right.text), "which of the two")
    return None


def _opposites(reading: Reading, claimed: Token, said: Token) -> Difference | None:
    if not are_opposite(claimed.stem, said.stem):
        return None
    return Difference("direction", claimed.text, said.text, _open(reading.text, claimed.start, claimed.end))


def _is_reversed(left: Reading, right: Reading) -> bool:
    """Two comparisons with the same words, in which what stands before and behind `than` has changed sides."""
    sides = _around_than(left), _around_than(right)
    if sides[0] is None or sides[1] is None:
        return False
    (before, behind), (other_before, other_behind) = sides[0], sides[1]
    return bool(before & other_behind - behind) and bool(behind & other_before - before)


def _around_than(reading: Reading) -> tuple[frozenset[str], frozenset[str]] | None:
    at = next((token.start for token in reading.tokens if token.text.lower() == "than"), None)
    if at is None:
        return None
    before = frozenset(token.stem for token in reading.content if token.start < at)
    return before, frozenset(token.stem for token in reading.content if token.start > at)


def _unmatched(reading: Reading, other: Reading) -> list[Token]:
    """Content words, cues of negation aside, that the other sentence has not."""
    return [token for token in reading.content if token.text.lower() not in CUES and other.match(token) < _SAME]


def _qualifiers(reading: Reading) -> frozenset[str]:
    return frozenset(token.text.lower() for token in reading.tokens) & _QUALIFIERS


def _negations(reading: Reading) -> int:
    return sum(token.text.lower() in CUES or token.text.lower().endswith("n't") for token in reading.tokens)


def _open(text: str, start: int, end: int) -> str:
    """The sentence with the value left open."""
    return _shorten(f"{text[:start].rstrip()} … {text[end:].lstrip(' %')}", around=start)


_MAX_SUBJECT_CHARS = 100


def _shorten(text: str, *, around: int = 0) -> str:
    text = " ".join(text.split()).rstrip(".。 ")
    if len(text) <= _MAX_SUBJECT_CHARS:
        return text
    start = max(0, min(around - _MAX_SUBJECT_CHARS // 2, len(text) - _MAX_SUBJECT_CHARS))
    piece = text[start : start + _MAX_SUBJECT_CHARS]
    return f"{'…' if start else ''}{piece.split(' ', 1)[-1] if start else piece}".rsplit(" ", 1)[0] + "…"


def name_difference(first: str, second: str) -> Difference | None:
    """As `find_difference`, for two sentences that a judge already called contrary."""
    return find_difference(first, second)


def is_otherwise(claim: str, sentence: str) -> bool:
    """Whether a sentence has another number, another date, another polarity, or an opposite."""
    left, right = read(claim), read(sentence)
    if any(not left.match(number) for number in right.numbers) or _negations(left) % 2 != _negations(right) % 2:
        return True
    return any(are_opposite(word.stem, other) for word in left.content for other in right.stems)
