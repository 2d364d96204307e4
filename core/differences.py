"""Whether two sentences say different things of the same matter: another number, another date, or the contrary.

Precise rather than complete: entities, qualifiers and everything else must agree, so that what is
reported is a contradiction and not two truths about two things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.verification.negation import CUES, check_negation, check_opposites
from core.verification.pair import Pair, pair
from core.verification.quantities import MONTHS
from core.verification.reading import Reading, match_tokens
from core.verification.roles import check_roles
from core.verification.units import Measure, measure
from core.verification.words import Kind, Token

Matter = Literal["date", "number", "direction", "denial"]


@dataclass(frozen=True)
class Difference:
    """What each sentence says, in few words, and of what: `subject` is the first sentence with the value left open."""

    matter: Matter
    first: str
    second: str
    subject: str


def find_difference(first: str, second: str) -> Difference | None:
    """The one thing in which two sentences about the same matter contradict each other; None where none is certain."""
    if _UNSAFE.search(first) or _UNSAFE.search(second):
        return None
    both = pair(first, second, second)
    facts = _Facts.of(both.claim), _Facts.of(both.window)
    if _have_other_labels(facts) or not _same_subject(both, facts):
        return None
    dates, numbers = _unshared_dates(facts), _unshared_numbers(facts)
    if any(dates) and any(numbers):
        return None  # another time, so the figures may differ
    if any(dates):
        return _date_difference(both, dates)
    if any(numbers):
        return _number_difference(both, numbers)
    return _contrary(both)


# Facts: dates, numbers and labels of a sentence


@dataclass(frozen=True)
class _Date:
    """`month` and `day` are 0 where not given; `relation` is `before`, `since`, … or ""."""

    year: int
    month: int
    day: int
    relation: str
    start: int
    end: int

    def agrees(self, other: _Date) -> bool:
        """Equal as far as both are given."""
        if self.year != other.year or not (self.month and other.month):
            return self.year == other.year
        return self.month == other.month and (not (self.day and other.day) or self.day == other.day)


@dataclass(frozen=True)
class _Facts:
    """`labels` are numbers that belong to a name (Python 3.11, phase 2) and so tell things apart."""

    reading: Reading
    dates: tuple[_Date, ...]
    numbers: tuple[Token, ...]
    labels: frozenset[str]

    @classmethod
    def of(cls, reading: Reading) -> _Facts:
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


def _dates(text: str) -> list[_Date]:
    dates = []
    for match in _DATE.finditer(text):
        parts = {name: value for name, value in match.groupdict().items() if value and name != "relation"}
        year = next(int(value) for name, value in parts.items() if name.endswith("year"))
        written = next((value for name, value in parts.items() if name.endswith("month")), "")
        month = int(written) if written.isdigit() else _month_number(written)
        day = next((int(value) for name, value in parts.items() if name.endswith("day")), 0)
        relation = (match["relation"] or text[max(0, match.start() - 7) : match.start()]).split()
        dates.append(_Date(year, month, day, _relation(relation), match.start(), match.end()))
    return dates


def _relation(words: Sequence[str]) -> str:
    return next((word.lower() for word in words if word.lower() in _RELATIONS), "")


def _month_number(written: str) -> int:
    return next((number for number, month in enumerate(MONTHS, 1) if month[:3] == written[:3].lower()), 0)


_RELATIONS = frozenset("before after since until till by from through".split())
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


def _have_other_labels(facts: tuple[_Facts, _Facts]) -> bool:
    left, right = facts
    return left.labels != right.labels


# The same subject


_UNSAFE = re.compile(  # figures of a sample, decades, ranges: they differ without contradiction
    r"\bp\s*[<=>]|\bn\s*=|\bCI\b|±|\b[12]\d{2}0s\b|\d\s*(?:-|–|—|to|and)\s*\d+(?:\.\d+)?\s*(?:%|percent|[a-z])|\[[^\]]*\d\s*[-–,]"
    r"|\b(?:between|respectively|versus|vs)\b",
    re.I,
)
MIN_WORDS = 2  # matched content words besides values
SHORTER_SHARE = 0.75  # of the shorter sentence's words that the longer has; by judgement, on the development data
LONGER_SHARE = 0.5


def _same_subject(both: Pair, facts: tuple[_Facts, _Facts]) -> bool:
    left, right = _words(facts[0]), _words(facts[1])
    left_found = [token for token in left if both.window.match(token) >= _SAME]
    right_found = [token for token in right if both.claim.match(token) >= _SAME]
    shorter, longer = sorted(((left, left_found), (right, right_found)), key=lambda side: len(side[0]))
    if min(len(left_found), len(right_found)) < MIN_WORDS:
        return False
    if len(shorter[1]) < SHORTER_SHARE * len(shorter[0]) or len(longer[1]) < LONGER_SHARE * len(longer[0]):
        return False
    return not _has_other_names(shorter[0], shorter[1], longer[0], longer[1])


_SAME = 0.8  # match of two words, 0…1: up to synonyms


def _words(facts: _Facts) -> list[Token]:
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


def _unshared_dates(facts: tuple[_Facts, _Facts]) -> tuple[list[_Date], list[_Date]]:
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


def _date_difference(both: Pair, dates: tuple[list[_Date], list[_Date]]) -> Difference | None:
    if len(dates[0]) != 1 or len(dates[1]) != 1:
        return None
    first, second = dates[0][0], dates[1][0]
    left, right = both.claim.text, both.window.text
    once = {word.lower()[:5] for word in _ONCE.findall(left)} & {word.lower()[:5] for word in _ONCE.findall(right)}
    if first.relation != second.relation or not once:
        return None
    positions = _bare_date(left[first.start : first.end]), _bare_date(right[second.start : second.end])
    return Difference("date", *positions, _open(left, first.start, first.end))


def _bare_date(written: str) -> str:
    return re.sub(rf"^(?:{'|'.join(_RELATIONS)})\s+(?:the\s+)?", "", written, flags=re.I)


def _unshared_numbers(facts: tuple[_Facts, _Facts]) -> tuple[list[Token], list[Token]]:
    left, right = facts
    return (
        [token for token in left.numbers if not any(_equal(left, token, right, other) for other in right.numbers)],
        [token for token in right.numbers if not any(_equal(right, token, left, other) for other in left.numbers)],
    )


def _equal(left: _Facts, token: Token, right: _Facts, other: Token) -> bool:
    ours, theirs = measure(left.reading, token), measure(right.reading, other)
    if ours and theirs:
        return ours.same_as(theirs)
    return match_tokens(token, other) > 0 or match_tokens(other, token) > 0


_BOUND = re.compile(
    r"(?P<above>more than|over|at least|above|exceed\w*|no fewer than|from)"
    r"|(?P<below>less than|fewer than|under|at most|below|up to|no more than|maximum)|(?P<about>about|approximately|around|roughly|nearly|almost|some|circa|ca|~|≈)",
    re.I,
)
_BOUND_REACH = 16  # characters before a number in which a bound may stand
_ROUGHLY = 0.2  # relative difference up to which a rough figure and an exact one agree


def _number_difference(both: Pair, numbers: tuple[list[Token], list[Token]]) -> Difference | None:
    if len(numbers[0]) != 1 or len(numbers[1]) != 1:
        return None
    first, second = numbers[0][0], numbers[1][0]
    if first.value is None or second.value is None or _is_loose(first) or _is_loose(second):
        return None
    ours, theirs = measure(both.claim, first), measure(both.window, second)
    if not _same_thing(both, first, second, ours, theirs) or _may_agree(both, first, second, ours, theirs):
        return None
    subject = _open(both.claim.text, first.start, first.end)
    return Difference("number", _with_unit(both.claim, first), _with_unit(both.window, second), subject)


def _is_loose(number: Token) -> bool:
    """Ordinals and counts in words ("two", "first") are said of too many things."""
    return number.text[0].isalpha()


def _same_thing(both: Pair, first: Token, second: Token, ours: Measure | None, theirs: Measure | None) -> bool:
    """Measured in one dimension, or counts of the same noun."""
    if ours or theirs:
        return bool(ours and theirs and ours.dimension == theirs.dimension)
    left, right = _counted(both.claim, first), _counted(both.window, second)
    return left is not None and right is not None and match_tokens(left, right) >= _SAME


def _counted(reading: Reading, number: Token) -> Token | None:
    """The word that says what is counted: right behind the number, else the last one before it."""
    at = reading.positions[number]
    after = [token for token in reading.tokens[at + 1 : at + 3] if token.kind in (Kind.WORD, Kind.NAME)]
    if after and reading.text[number.end : after[0].start].strip(" -") == "":
        return after[0]
    before = [token for token in reading.tokens[:at] if token.kind in (Kind.WORD, Kind.NAME)]
    return before[-1] if before else None


def _may_agree(both: Pair, first: Token, second: Token, ours: Measure | None, theirs: Measure | None) -> bool:
    left, right = (ours.amount, theirs.amount) if ours and theirs else (first.value or 0.0, second.value or 0.0)
    bounds = _bound(both.claim.text, first), _bound(both.window.text, second)
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
    """The number with sign and the word behind it: `$5 million`, `50 percent`, `12 people`."""
    at = reading.positions[number]
    start, end = number.start, number.end
    if at and reading.tokens[at - 1].kind is Kind.SIGN and reading.tokens[at - 1].end == start:
        start = reading.tokens[at - 1].start
    after = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
    is_unit = after and after.kind in (Kind.SIGN, Kind.WORD) and not reading.text[end : after.start].strip(" -")
    return reading.text[start : after.end if is_unit and after else end]


# The contrary


_QUALIFIERS = frozenset(
    """if unless only except when without some many most all every always sometimes often may might could can should
    would whether although though while despite until but however""".split()
)


def _contrary(both: Pair) -> Difference | None:
    """The same sentence denied, turned into its opposite, or compared the other way round."""
    left, right = both.claim, both.window
    if _qualifiers(left) != _qualifiers(right) or _unmatched_words(both) > 1:
        return None
    if _is_comparison(left.text) and _is_comparison(right.text) and check_roles(both):
        return Difference("direction", _shorten(left.text), _shorten(right.text), "which of the two")
    if check_opposites(both):
        words = [change for change in both.alignment.replaced if change.held]
        if len(words) == 1:
            claimed, said = words[0].claimed, words[0].said
            return Difference("direction", claimed.text, said.text, _open(left.text, claimed.start, claimed.end))
        return None
    if check_negation(both):
        is_denied = _negations(left) > _negations(right)
        answers = ("no", "yes") if is_denied else ("yes", "no")
        return Difference("denial", *answers, _shorten((right if is_denied else left).text))
    return None


def _is_comparison(text: str) -> bool:
    return re.search(r"\bthan\b", text, re.I) is not None


def _qualifiers(reading: Reading) -> frozenset[str]:
    return frozenset(token.text.lower() for token in reading.tokens) & _QUALIFIERS


def _negations(reading: Reading) -> int:
    return sum(token.text.lower() in CUES or token.text.lower().endswith("n't") for token in reading.tokens)


def _unmatched_words(both: Pair) -> int:
    """Content words, cues of negation aside, that only one side has; the greater of the two counts."""
    counts = [
        sum(token.text.lower() not in CUES and other.match(token) < _SAME for token in reading.content)
        for reading, other in ((both.claim, both.window), (both.window, both.claim))
    ]
    return max(counts)


def _open(text: str, start: int, end: int) -> str:
    """The sentence with the value left open."""
    return _shorten(f"{text[:start].rstrip()} … {text[end:].lstrip(' %')}", around=start)


def _shorten(text: str, *, around: int = 0, limit: int = 100) -> str:
    text = " ".join(text.split()).rstrip(".。 ")
    if len(text) <= limit:
        return text
    start = max(0, min(around - limit // 2, len(text) - limit))
    piece = text[start : start + limit]
    return f"{'…' if start else ''}{piece.split(' ', 1)[-1] if start else piece}".rsplit(" ", 1)[0] + "…"
