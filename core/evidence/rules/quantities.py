"""What the numbers of a text amount to: measures with units, shares of a whole, and when two of them are the same.

Five milligrams are not five grams; "a third", "33 %" and "40 of 120" are one share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import regex

from core.evidence.rules.words import JOINTS, Kind, Reading, Token, pattern
from core.text.language import language_of
from core.text.numbers import MONTHS, is_ordinal, is_year, last_place, measure_at, numerals, read_number, unit_of

CONVERTED = 0.02  # share by which a measure in another unit may differ, as conversions are rounded
CONVERTED_SMALL = 0.06  # the same of small figures, within half of what their last digit is worth: 9 miles, 14 km
EXACT = 1e-6  # share; two decimals differ by a hair of what they are written as
SHARE_POINTS = 0.6  # percentage points by which a percentage may be a rounded share
FRACTION_POINTS = 2.5  # the same where it is said as a fraction or "about"
ABOUT = 0.1  # share by which a number said to be about may differ
_PARTS = {"half": 2} | {word: by for word, by in numerals("en").parts.items() if by <= 10}
_SMALL = {word: value for value, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_COUNT = r"(?P<{}>\p{{Nd}}+(?:,\p{{Nd}}{{3}})*|" + "|".join(_SMALL) + r"|an?)"
_FRACTION = regex.compile(
    rf"\b(?:{_COUNT.format('top')}[ -])?(?P<part>{'|'.join(_PARTS)})s?\b(?! (?:century|time|day|place|edition|season))"
    rf"|\b{_COUNT.format('some')} (?:(?:out )?of|in)(?: (?:the|every|all|its|their))* {_COUNT.format('whole')}\b"
    r"|(?<![\p{Nd}/])(?P<above>\p{Nd}{1,2})/(?P<below>\p{Nd}{1,2})(?![\p{Nd}/])",
    regex.IGNORECASE,
)
ABOUT_WORDS = pattern("about")


@dataclass(frozen=True)
class Measure:
    """`amount` in the base unit of its `dimension`, `slack` half of what its last digit is worth there.

    `end` is where the unit ends, 0 where it stands before.
    """

    dimension: str
    amount: float
    unit: str
    end: int = 0
    slack: float = 0.0

    def same_as(self, other: Measure | None) -> bool:
        """Equal; nearly so in another unit."""
        if other is None or self.dimension != other.dimension:
            return False
        apart = abs(self.amount - other.amount) / (abs(self.amount) or 1.0)
        if self.is_in_unit_of(other):
            return apart <= EXACT
        slack = max(self.slack, other.slack) / (abs(self.amount) or 1.0)
        return apart <= max(CONVERTED, min(slack, CONVERTED_SMALL))

    def is_in_unit_of(self, other: Measure) -> bool:
        return self.dimension == other.dimension and self.unit.lower().rstrip("s") == other.unit.lower().rstrip("s")


@dataclass(frozen=True)
class Share:
    """`points` of a hundred, said in `text[start:end]`."""

    points: float
    start: int
    end: int
    is_fraction: bool


def measure(reading: Reading, number: Token) -> Measure | None:
    """A number of the text with its unit, a part in words as a share; None where it has none that is known."""
    return _measures(reading).get(number)


@lru_cache(maxsize=256)
def _measures(reading: Reading) -> dict[Token, Measure | None]:
    return {number: _measured(reading, number) for number in reading.numbers}


def _measured(reading: Reading, number: Token) -> Measure | None:
    position = reading.positions[number]
    following = reading.tokens[position + 1 : position + 4]
    last, after = number, following[0] if following else None
    if after is not None and after.text == "±" and len(following) == 3:  # 9.9 ± 2.8 min
        last, after = following[1:]
    before = reading.tokens[position - 1] if position else None
    if number.value is None:
        return None
    is_word = after is not None and (
        after.kind is not Kind.FUNCTION or len(after.text) == 1
    )  # "an" is a year in French
    is_near = after is not None and is_word and reading.text[last.end : after.start] in JOINTS
    if after is not None and is_near and (behind := measure_at(reading.text, after.start, after.text)):
        dimension, worth, end = behind
        if points := _POINTS.match(reading.text, end) if dimension == "share" else None:
            dimension, end = "points", points.end()
        slack = last_place(number.value, number.text) * worth / 2
        return Measure(dimension, number.value * worth, reading.text[after.start : end], end, slack)
    is_sign = before is not None and before.kind is Kind.SIGN and before.end == number.start
    if before is not None and is_sign and (unit := unit_of(before.text)):
        return Measure(unit[0], number.value * unit[1], before.text)
    if not is_part(number):
        return None
    part = _PART_OF.match(reading.text, number.end)  # three quarters of a mile
    unit = unit_of(part["unit"]) if part else None
    if part and unit:
        return Measure(unit[0], number.value * unit[1], part["unit"])
    return Measure("share", 100 * number.value, "")


def dimension_of(reading: Reading, number: Token) -> str:
    """What the number measures, "" where that is not known."""
    measured = measure(reading, number)
    return measured.dimension if measured else ""


@lru_cache(maxsize=256)
def unit_words(reading: Reading) -> frozenset[Token]:
    """The words of the text that are units of its numbers: square, kilometres, an hour."""
    spans = [(number.end, measured.end) for number in reading.numbers if (measured := measure(reading, number))]
    return frozenset(word for word in reading.content for start, end in spans if start <= word.start < end)


_POINTS = regex.compile(r"[ -]points?\b")
_PART_OF = regex.compile(r" (?:(?:of )?an? |d['’](?:une? )?|de )(?P<unit>\p{L}+)")


def is_part(number: Token) -> bool:
    """Whether it is a part in words: half of, two thirds, la mitad."""
    return number.text[0].isalpha() and 0 < (number.value or 0.0) < 1


@lru_cache(maxsize=256)
def shares(reading: Reading) -> tuple[Share, ...]:
    """Percentages, fractions and counts of a whole."""
    measured = [(number, measure(reading, number)) for number in reading.numbers]
    found = [
        Share(share.amount, number.start, number.end, is_part(number))
        for number, share in measured
        if share and share.dimension == "share"
    ]
    for match in _FRACTION.finditer(reading.text):
        some, whole = _fraction(match)
        if 0 < some <= whole:
            is_fraction = match["part"] is not None or match["whole"] in _SMALL
            found.append(Share(100 * some / whole, *match.span(), is_fraction))
    return tuple(found)


def _fraction(match: regex.Match[str]) -> tuple[float, float]:
    if match["part"]:
        return _count(match["top"] or "a"), _PARTS[match["part"].lower()]
    return (
        (_count(match["some"]), _count(match["whole"]))
        if match["some"]
        else (float(match["above"]), float(match["below"]))
    )


def _count(written: str) -> float:
    lower = written.lower().replace(",", "")
    return float(lower) if lower[0].isdigit() else float(_SMALL.get(lower, 1))


def has_number(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether `reading` has the number: as it is, rounded, in another unit, as a share, or as one of a decade."""
    if reading.match(number) or number.value is None or (number.value == 1 and _ONE_OR.search(reading.text)):
        return True
    measured = measure(claim, number)
    if measured and any(measured.same_as(measure(reading, other)) for other in reading.numbers):
        return True
    # as part of a name or of another notation
    is_written = (
        number.text.isdigit()
        and len(number.text) > 1
        and regex.search(rf"(?<!\p{{Nd}}){number.text}(?!\p{{Nd}})", reading.text) is not None
    )
    if is_written or has_share(claim, number, reading):
        return True
    is_near = is_about(claim, number) and any(near(claim, number, reading, other) for other in reading.numbers)
    years = {other.value for other in reading.numbers if other.value and is_year(other.text, other.value)}
    span = measured.amount / YEAR if measured and measured.dimension == "time" else 0.0
    is_span = span > 0 and any(abs(b - a - span) <= 1 for a, b in combinations(sorted(years), 2))
    is_nth = number.is_ordinal or is_ordinal(number.text.lower())
    if is_near or is_span or (is_nth and _has_date(claim, number, reading)):
        return True
    dated = (
        [found["year"] for found in _SHORT_YEAR.finditer(reading.text)] if is_year(number.text, number.value) else []
    )
    if number.text[-2:] in dated:
        return True
    is_decade = claim.text[number.end : number.end + 2].startswith(("s", "'s")) and is_year(number.text, number.value)
    is_century = is_decade and number.value % 100 == 0  # the 1800s are the nineteenth one
    return is_decade and any(
        0 <= (other.value or 0) - number.value < 10
        or (is_century and (other.value or 0) == number.value // 100 + 1 and _CENTURY.match(reading.text, other.end))
        for other in reading.numbers
    )


_ONE_OR = pattern("one_or")  # "one" by itself is a pronoun too often
_CENTURY = regex.compile(r"\.?[\s-](?:centur|jahrhundert)", regex.IGNORECASE)
_SHORT_YEAR = regex.compile(  # 15 Feb 19
    r"\b\p{Nd}{1,2}(?:st|nd|rd|th)?\.?\s(?:jan|feb|m[aä]r|apr|ma[yi]|ju[nl]|aug|sep|o[ck]t|nov|de[cz])\p{Ll}*\.?,?\s['’]?"
    r"(?P<year>\p{Nd}\p{Nd})(?![\p{Nd}:])",
    regex.IGNORECASE,
)
MAX_WORKED = 6  # numbers of a text; among more, some two come to anything


def is_worked_out(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether two numbers of a text come to it, 97 and 65 to 162, or it is part of a date as 9/3/1931."""
    slashed = any(found.start() <= number.start < found.end() for found in SLASHED.finditer(claim.text))
    values = {other.value for other in reading.numbers if other.value}
    if slashed or not number.value or len(values) > MAX_WORKED or is_year(number.text, number.value):
        return slashed
    pairs = (result for one, other in combinations(values, 2) for result in (one + other, abs(one - other)))
    slack = ROUNDED if _ROUGHLY.search(claim.text, 0, number.start) else EXACT
    return any(abs(result / number.value - 1) <= slack for result in pairs)


ROUNDED = 0.01  # share by which "just over 9,100" may differ from what comes to it
_ROUGHLY = regex.compile(
    r"\b(?:over|under|above|below|more than|less than|almost|nearly|some|fast|knapp|gut|über) $", regex.IGNORECASE
)
_TERM = r"\p{Nd}+(?:[.,]\p{Nd}+)*\s?%?"
_EQUATION = regex.compile(
    rf"(?P<term>{_TERM})(?:\s*(?P<sign>[+−–*×·/÷-])\s*(?P<term>{_TERM})){{1,5}}"
    rf"\s*[=≈]\s*(?P<sum>{_TERM})(?:,? or {_TERM})?"
)


def is_computed(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether the claim itself works it out rightly, from a number of the text: 100 % − 32.9 % = 67.1 %."""
    return any(
        one.start() <= number.start < one.end() and _comes_out(one, reading) for one in _EQUATION.finditer(claim.text)
    )


def _comes_out(found: regex.Match[str], reading: Reading) -> bool:
    """Sums alone, or products alone, in which percentages are parts of one; the result may be rounded."""
    signs = found.captures("sign")
    is_product = not any(sign in "+−–-" for sign in signs)
    if not is_product and any(sign in "*×·/÷" for sign in signs):
        return False
    language = language_of(found.string) or "en"
    values = [_worth(term, language, in_parts=is_product)[0] for term in found.captures("term")]
    result = values[0]
    for sign, value in zip(signs, values[1:], strict=True):
        if is_product:
            result = result / (value or 1.0) if sign in "/÷" else result * value
        else:
            result += value if sign == "+" else -value
    given = {round(times * other.value, 9) for other in reading.numbers if other.value for times in (1, 0.01)}
    said, slack = _worth(found["sum"], language, in_parts=is_product)
    return abs(said - result) <= slack and any(round(value, 9) in given for value in values)


def _worth(term: str, language: str, *, in_parts: bool) -> tuple[float, float]:
    """A term of an equation, and how far off a result so written may be."""
    bare = term.rstrip("% \u00a0")
    value = read_number(bare, language)[0]
    worth = 0.01 if in_parts and "%" in term else 1.0
    return value * worth, 0.75 * worth * min(1.0, last_place(value, bare))


def is_multiple(claim: Reading, number: Token) -> bool:
    """Whether it says how many times one thing another is, which the numbers of a text may come to."""
    return any(found.start() <= number.start < found.end() for found in _TIMES.finditer(claim.text))


_TIMES = pattern("times")
SLASHED = regex.compile(
    r"(?<![\p{Nd}/])(?:\p{Nd}{1,2}/\p{Nd}{1,2}/\p{Nd}{4}|\p{Nd}{4}/\p{Nd}{1,2}/\p{Nd}{1,2})(?![\p{Nd}/])"
)


def counted(reading: Reading, number: Token) -> Token | None:
    """The word behind a number, which it counts or measures."""
    at = reading.positions[number] + 1
    word = reading.tokens[at] if at < len(reading.tokens) else None
    return word if word is not None and word.kind in (Kind.WORD, Kind.SIGN) else None


class Date(NamedTuple):
    """Year, month and day, 0 where not given, as said in `text[start:end]`."""

    day: tuple[int, int, int]
    start: int
    end: int


@lru_cache(maxsize=256)
def dates_in(reading: Reading) -> tuple[Date, ...]:
    """The dates of a text with a month and more, and years by themselves behind a small word or in brackets."""
    runs: list[list[Token]] = []
    for token in reading.tokens:
        is_part = token.stem in MONTHS or (token.value is not None and token.value == int(token.value) > 0)
        if is_part and runs and _WITHIN_DATE.fullmatch(reading.text, runs[-1][-1].end, token.start):
            runs[-1].append(token)
        elif is_part:
            runs.append([token])
    return tuple(found for run in runs if (found := _date_of(reading, run)))


def _date_of(reading: Reading, run: Sequence[Token]) -> Date | None:
    at = next((at for at, token in enumerate(run) if token.stem in MONTHS), -1)
    near = run if at < 0 else run[max(0, at - 2) : at + 3]
    year = next((token for token in near if is_year(token.text, token.value or 0)), None)
    if at < 0:
        is_bare = year is not None and len(run) == 1 and _is_bare_year(reading, year)
        return Date((int(run[0].value or 0), 0, 0), run[0].start, run[0].end) if is_bare else None
    beside = (token for token in run[max(0, at - 1) : at + 2] if 0 < (token.value or 0) <= MAX_DAY)
    day = next(beside, None)
    said = [token for token in run if token in (year, day, run[at])]
    numbers = (int(token.value or 0) if token else 0 for token in (year, day))
    when = next(numbers), MONTHS.index(run[at].stem) + 1, next(numbers)
    return Date(when, said[0].start, said[-1].end) if len(said) > 1 else None  # a month alone is none


def _is_bare_year(reading: Reading, number: Token) -> bool:
    """Whether a number of four digits by itself is a year, by what stands around it."""
    is_led = reading.text[: number.start].endswith(("(", "year ")) or _YEAR_LEADS.intersection(
        reading.lead(number)[-1:]
    )
    of_what = counted(reading, number)
    return bool(is_led) and not measure(reading, number) and not (of_what is not None and of_what.text.endswith("s"))


MAX_DAY = 31
_WITHIN_DATE = regex.compile(r"[\s,./-]*(?:(?:of|de|del|di|van|the)\s)*")
_YEAR_LEADS = frozenset(
    "in of by from till for since until after during before im seit vor nach bis en depuis avant après desde hasta nel "
    "dal dopo em até sinds voor na".split()
)


def days_in(reading: Reading) -> dict[tuple[int, int], str]:
    """The days of the year that a text names, as month and day, with the words that say so."""
    return {date.day[1:]: reading.text[date.start : date.end] for date in dates_in(reading) if all(date.day[1:])}


def _has_date(claim: Reading, number: Token, reading: Reading) -> bool:
    """The seventh of March is 7 March; 1865 lies in the 19th century; what is initial comes first."""
    if number.value == 1 and _INITIAL.search(reading.text):
        return True
    if claim.text[number.end :].lstrip().lower().startswith("century"):
        years = [other.value for other in reading.numbers if other.value and is_year(other.text, other.value)]
        return any((year - 1) // 100 + 1 == number.value for year in years)
    is_day = any(token.stem in MONTHS for token in claim.tokens[claim.positions[number] :][1:3])
    return is_day and any(other.value == number.value for other in reading.numbers)


_INITIAL = regex.compile(r"\b(?:onset|initial\w*|beg[aiu]n\w*|start\w*|earliest|original\w*)\b", regex.IGNORECASE)
YEAR = 31557600.0  # seconds


def is_about(reading: Reading, number: Token) -> bool:
    start = start_of_quantity(reading, number)
    return ABOUT_WORDS.search(reading.text, max(0, start - 30), start) is not None


def start_of_quantity(reading: Reading, number: Token) -> int:
    """Where the share begins that the number is part of, else the number: "two in five"."""
    return next((share.start for share in shares(reading) if share.start <= number.start < share.end), number.start)


def near(claim: Reading, number: Token, reading: Reading, other: Token) -> bool:
    """Whether the one may be called "about" the other, also in another unit; years never."""
    ratio = ratio_of(claim, number, reading, other)
    return ratio is not None and abs(1 - 1 / ratio) <= ABOUT


def ratio_of(claim: Reading, number: Token, reading: Reading, other: Token) -> float | None:
    """How many times the claim's number the other is, in one unit; None where they cannot be compared."""
    if not number.value or not other.value or is_year(number.text, number.value):
        return None
    ours, theirs = measure(claim, number), measure(reading, other)
    if ours and theirs and ours.dimension == theirs.dimension and ours.amount:
        return theirs.amount / ours.amount
    if ours and not theirs and is_part(number):
        return None  # half an hour and 0.64
    return other.value / number.value


def has_share(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether the text has the share that the number of the claim is part of."""
    ours = next((share for share in shares(claim) if share.start <= number.start < share.end), None)
    if ours is None or dimension_of(claim, number) not in ("", "share"):
        return False  # half an hour
    for theirs in shares(reading):
        slack = FRACTION_POINTS if ours.is_fraction or theirs.is_fraction else SHARE_POINTS
        if abs(ours.points - theirs.points) <= slack:
            return True
    of_what = next((word for word in claim.content if word.start >= ours.end), None)
    most = MAX_COUNTS if of_what is None or reading.match(of_what) else 0
    slack = FRACTION_POINTS
    if is_about(claim, number):
        most, slack = most or MAX_COUNTS - 1, ABOUT * ours.points
    return ours.is_fraction and any(abs(ours.points - points) <= slack for points in _ratios(reading, most))


MAX_COUNTS = 4  # of a text, of which one may be the whole and another the part


@lru_cache(maxsize=256)
def _ratios(reading: Reading, most: int) -> list[float]:
    """What each count of a text with at most so many is of each larger one, in points of a hundred."""
    counts = {
        other.value
        for other in reading.numbers
        if other.value and other.value >= 1 and not is_year(other.text, other.value) and not measure(reading, other)
    }
    return [100 * small / large for small, large in combinations(sorted(counts), 2)] if len(counts) <= most else []


# How often

EACH_TIME = pattern("each_time")
