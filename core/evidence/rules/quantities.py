"""What the numbers of a text amount to: measures with units, shares of a whole, and when two of them are the same.

Five milligrams are not five grams; "a third", "33 %" and "40 of 120" are one share.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import regex

from core.evidence.rules.words import JOINTS, Kind, Reading, Token, listed, match_tokens, pattern, rows
from core.text.numbers import MONTHS, OF, is_ordinal, is_year, measure_at, numerals, unit_of

CONVERTED = 0.02  # share by which a measure in another unit may differ, as conversions are rounded
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
_ABOUT = pattern("about")


@dataclass(frozen=True)
class Measure:
    """`amount` in the base unit of its `dimension`; `end` is where the unit ends, 0 where it stands before."""

    dimension: str
    amount: float
    unit: str
    end: int = 0

    def same_as(self, other: Measure | None) -> bool:
        """Equal; nearly so in another unit."""
        if other is None or self.dimension != other.dimension:
            return False
        return abs(self.amount - other.amount) <= (1e-9 if self.is_in_unit_of(other) else CONVERTED) * abs(self.amount)

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
        return Measure(dimension, number.value * worth, reading.text[after.start : end], end)
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


_PART_OF = regex.compile(r" (?:of )?an? (?P<unit>\p{L}+)")


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
    if reading.match(number) or number.value is None:
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
    is_worked_out = "by" in claim.lead(number) and any(
        abs(times - grown) <= ABOUT for times in factors_in(reading).values() for grown in grown_by(claim)
    )
    is_worked_out = is_worked_out or _is_difference(claim, number, reading) or _is_sum(claim, number, reading)
    if is_near or is_span or is_worked_out or (is_nth and _has_date(claim, number, reading)):
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


_CENTURY = regex.compile(r"\.?[\s-](?:centur|jahrhundert)", regex.IGNORECASE)
_SHORT_YEAR = regex.compile(  # 15 Feb 19
    r"\b\p{Nd}{1,2}(?:st|nd|rd|th)?\.?\s(?:jan|feb|m[aä]r|apr|ma[yi]|ju[nl]|aug|sep|o[ck]t|nov|de[cz])\p{Ll}*\.?,?\s['’]?"
    r"(?P<year>\p{Nd}\p{Nd})(?![\p{Nd}:])",
    regex.IGNORECASE,
)


MAX_WORKED = 6  # numbers of a text, of which two may be compared; among more, some two differ by anything


def _is_difference(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether something moves by as much as the text says from one number to another: by 2.7, from 6.8 to 4.1."""
    ours, slack = dimension_of(claim, number), 0.01
    if "by" not in claim.lead(number):
        return False
    for one, other in _changes(reading):
        gap, kinds = abs((one.value or 0.0) - (other.value or 0.0)), {dimension_of(reading, it) for it in (one, other)}
        if ours == "share" and not is_in_points(claim, number):
            gap *= 100 / (one.value or 1.0)  # of what it was
        is_of_one = ours in kinds or (ours != "share" and "" in (ours, *kinds))
        if is_of_one and abs(gap - (number.value or 0.0)) <= slack * max(one.value or 0.0, other.value or 0.0):
            return True
    return False


def is_gap(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether a text that compares gives by how much two things differ: 89 km more, where one is 431 km, one 342 km."""
    own, counts = dimension_of(claim, number), [(text, other) for text in (claim, reading) for other in text.numbers]
    counts = [
        one for one in counts if one[1] is not number and dimension_of(*one) in (own, "" if one[0] is claim else own)
    ]
    alike = {other.value or 0.0 for _, other in counts}  # in the claim, 1.3 vs 4.2 kg share their unit
    if len(alike) > MAX_WORKED or not number.value or not _COMPARES.match(claim.text, number.end):
        return False
    return any(abs(abs(one - other) / number.value - 1) <= EXACT for one, other in combinations(alike, 2))


def is_gap_turned(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether it is the other way round: 89 km shorter, of what is 431 km, than what is 342 km."""
    compares, than = _COMPARES.match(claim.text, number.end), _THAN.search(claim.text, number.end)
    kind = dimension_of(claim, number)
    counts = [other for other in reading.numbers if other.value and dimension_of(reading, other) == kind]
    if compares is None or than is None or len(counts) != 2:
        return False
    ours = {word.stem for word in claim.content if word.start < number.start}
    theirs = {word.stem for word in claim.content if word.start > than.end()}
    is_first = _is_told_first(reading, ours - theirs, theirs - ours)
    is_more = (counts[0].value or 0) > (counts[1].value or 0)
    is_less = (_LESS if kind != "time" else _SOONER).search(compares.group()) is not None  # faster takes less time
    return is_first is not None and (is_more is is_first) is is_less


_THAN = regex.compile(r"\b(?:than|als|que)\b")
_LESS = regex.compile(
    r"(?i)\b(?:less|fewer|(?:short|low|small|young|light|cheap|earli|slow|cold|cool|narrow|thinn|weak|near|clos|"
    r"kürz|jüng|niedrig|klein|leicht|billig|kält|schmal|langsam|früh)er|weniger|menos|moins)$"
)
_SOONER = regex.compile(
    r"(?i)\b(?:less|fewer|(?:short|young|earli|soon|fast|quick|kürz|jüng|früh|schnell)er|weniger|menos|moins)$"
)
EXACT = 1e-6  # share; two decimals differ by a hair of what they are written as
_COMPARES = regex.compile(  # behind the number and its unit
    r"(?i)(?:[ -]?[\p{L}%°/]{1,15}){0,2}"
    r" (?:more|less|fewer|mehr|weniger|más|menos|plus|moins|\p{L}{2,}(?<!und|aft|oth|ov)er)\b"
)


def _is_sum(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether two counts of a text that has few, of what the claim counts, come to it.

    162 patients where 97 patients had one illness and 65 another; not where 20 of 50 were women, or beside 65 nurses.
    """
    of_what = next((word for word in claim.content if word.start > number.end), None)
    if (number.value or 0) < MIN_SUM or of_what is None or of_what.values or measure(claim, number):
        return False
    counts = _counts(reading)
    if not reading.match(of_what) or len({other.value for other in counts}) > MAX_COUNTS:
        return False
    for one, other in combinations(counts, 2):
        if (one.value or 0) + (other.value or 0) == number.value and "of" not in reading.lead(one):
            of_each = [word for count in (one, other) if (word := counted(reading, count))]
            is_of_one = len({match_tokens(of_what, word) > 0 for word in of_each}) > 1
            if not is_of_one and not _AMONG.search(reading.text, one.end, other.start):
                return True
    return False


def counted(reading: Reading, number: Token) -> Token | None:
    """The word behind a number, which it counts or measures."""
    at = reading.positions[number] + 1
    word = reading.tokens[at] if at < len(reading.tokens) else None
    return word if word is not None and word.kind in (Kind.WORD, Kind.SIGN) else None


_AMONG = regex.compile(r"\b(?:of (?:whom|which|them|these|those)|including|davon|darunter|dont)\b", regex.IGNORECASE)
MIN_SUM = 20  # what is smaller, two numbers come to by chance


def _changes(reading: Reading) -> Iterator[tuple[Token, Token]]:
    """Each "from 100 to 200" of a text."""
    counted = [other for other in reading.numbers if other.value and not is_year(other.text, other.value)]
    for earlier, later in pairwise(counted):
        if "from" in reading.lead(earlier) and "to" in reading.lead(later):
            yield earlier, later


# How many times one thing another is: "twice as many women as men", "half the size of"

_TIMES = {word: float(times) for word, _, times in (pair.partition("=") for pair in sorted(listed("multiples")))}
_MULTIPLE = regex.compile(
    rf"(?:\b(?P<count>{'|'.join(_SMALL)}|\p{{Nd}}+(?:\.\p{{Nd}}+)?) times|\b(?P<word>{'|'.join(_TIMES)}))\s"
    r"(?:(?:as|so|zo|de|di|more|mehr|plus|más)\s(?P<what>[^.,;:]{1,60}?)\s(?:as|wie|als|que|qu['’]|than|di)\s"
    r"|(?:the|that|its|la|el|den|die|das)\s?(?P<noun>[^.,;:]{0,40}?)\b(?:of|that of|del?|der|des|della)\s)"
    r"(?P<than>[^.,;:]{1,60})",
    regex.IGNORECASE,
)


@dataclass(frozen=True)
class Multiple:
    """`more` is `times` as much as `than`; both are stems that the other has not. It stands in `text[start:end]`."""

    times: float
    more: frozenset[str]
    than: frozenset[str]
    start: int
    end: int

    def turned(self, other: Multiple) -> bool | None:
        """Whether the other compares the same things the other way round; None where that cannot be told."""
        if self.more & other.than or self.than & other.more:
            return True
        return False if self.more & other.more or self.than & other.than else None


@lru_cache(maxsize=256)
def multiple_in(reading: Reading) -> Multiple | None:
    """The first comparison of the text that says how many times."""
    match = _MULTIPLE.search(reading.text)
    if match is None:
        return None
    times = _TIMES[match["word"].lower()] if match["word"] else _count(match["count"])
    first = max(reading.text.rfind(mark, 0, match.start()) for mark in ".,;:") + 1
    inside = match.span("what") if match["what"] else match.span("noun")
    than = {word.stem for word in reading.content if match.start("than") <= word.start < match.end()}
    more = {
        word.stem
        for word in reading.content
        if first <= word.start < match.start() or inside[0] <= word.start < inside[1]
    }
    return Multiple(times, frozenset(more - than), frozenset(than - more), match.start(), match.end())


def amounts_to(ours: Multiple, reading: Reading) -> bool:
    """Whether the text has numbers of the two, in the order in which it names them, that stand to each other so."""
    is_first = _is_told_first(reading, ours.more, ours.than)
    numbers = [other for other in reading.numbers if other.value and not is_year(other.text, other.value)]
    if is_first is None or len(numbers) > MAX_WORKED:
        return False
    times = ours.times if is_first else 1 / ours.times
    return any(
        abs((one.value or 0.0) / (other.value or 1.0) / times - 1) <= ABOUT
        for one, other in combinations(numbers, 2)
        if len({dimension_of(reading, one), dimension_of(reading, other)} - {""}) < 2
    )


def _is_told_first(reading: Reading, one: Set[str], other: Set[str]) -> bool | None:
    """Whether the text names the first of the stems before the others; None where it lacks either."""
    places = [next((word.start for word in reading.content if word.stem in side), -1) for side in (one, other)]
    return None if -1 in places or places[0] == places[1] else places[0] < places[1]


_GROWN = pattern("grown")
_FACTORS = {"half": 0.5, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "ten": 10.0}


def factors_in(reading: Reading) -> dict[str, float]:
    """The words of a text by which something has become so many times what it was: doubled, threefold, halbiert."""
    return {found.group(): _FACTORS[str(found.lastgroup)] for found in _GROWN.finditer(reading.text)}


def grown_by(reading: Reading) -> list[float]:
    """What each "from 100 to 200" or "grew by 100 %" of a text comes to, in times."""
    counted = [other for other in reading.numbers if other.value and not is_year(other.text, other.value)]
    shares_of_it = [
        (other.value or 0.0) / 100 * (-1 if _SHRINKS.search(reading.text, 0, other.start) else 1)
        for other in counted
        if "by" in reading.lead(other) and dimension_of(reading, other) == "share" and not is_in_points(reading, other)
    ]
    return [1 + share for share in shares_of_it] + [
        (later.value or 0.0) / (earlier.value or 1.0) for earlier, later in _changes(reading)
    ]


_SHRINKS = pattern("falls")
_POINTS = pattern("points")


def is_in_points(reading: Reading, number: Token) -> bool:
    """Whether a number is one of percentage points: 5 of them added to 10 % are half as much again, not a twentieth."""
    return _POINTS.match(reading.text, number.end) is not None


@dataclass(frozen=True)
class SlashedDate:
    """A date as 3/9/1931 in `text[start:end]`; `days` are its readings as month and day, two where nothing tells."""

    days: frozenset[tuple[str, int]]
    start: int
    end: int


_SLASHED = regex.compile(
    r"(?<![\p{Nd}/])(?:(?P<first>\p{Nd}{1,2})/(?P<second>\p{Nd}{1,2})/\p{Nd}{4}|\p{Nd}{4}/(?P<month>\p{Nd}{1,2})/(?P<day>\p{Nd}{1,2}))"
    r"(?![\p{Nd}/])"
)


@lru_cache(maxsize=256)
def slashed_dates(reading: Reading) -> tuple[SlashedDate, ...]:
    return tuple(
        SlashedDate(frozenset(days), *match.span())
        for match in _SLASHED.finditer(reading.text)
        if (days := set(_readings(match)))
    )


def _readings(match: regex.Match[str]) -> Iterator[tuple[str, int]]:
    numbers = (match["first"], match["second"]) if match["first"] else (match["month"], match["day"])
    one, other = map(int, numbers)
    for month, day, is_read in ((one, other, True), (other, one, match["first"])):
        if is_read and 1 <= month <= 12 and 1 <= day <= 31:
            yield MONTHS[month - 1], day


def days_in(reading: Reading) -> dict[tuple[str, int], str]:
    """The days of the year that a text names, as month and day, with the words that say so; 3/9 is two."""
    slashed = slashed_dates(reading)
    return {day: reading.text[date.start : date.end] for date in slashed for day in date.days} | plain_days(reading)


def plain_days(reading: Reading) -> dict[tuple[str, int], str]:
    days: dict[tuple[str, int], str] = {}
    for one, other in pairwise([token for token in reading.tokens if token.stem not in OF]):
        month, day = (one, other) if one.stem in MONTHS else (other, one)
        if month.stem in MONTHS and day.value is not None and 1 <= day.value <= 31:
            days.setdefault((month.stem, int(day.value)), f"{one.text} {other.text}")
    return days


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
    return _ABOUT.search(reading.text, max(0, start - 30), start) is not None


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


def _ratios(reading: Reading, most: int) -> list[float]:
    """What each count of a text with at most so many is of each larger one, in points of a hundred."""
    counts = _counts(reading)
    values = sorted({other.value or 0.0 for other in counts})
    return [100 * small / large for small, large in combinations(values, 2)] if len(values) <= most else []


@lru_cache(maxsize=256)
def _counts(reading: Reading) -> tuple[Token, ...]:
    """How many there are of whatever a text counts."""
    return tuple(
        other
        for other in reading.numbers
        if other.value and other.value >= 1 and not is_year(other.text, other.value) and not measure(reading, other)
    )


# How often

_UNITS = {
    unit.strip(): (words.strip(), adverbs.strip())
    for unit, words, adverbs in (row.split("=>") for row in rows("rhythms"))
}
EACH_TIME = regex.compile(
    rf" (?:{'|'.join(f'(?P<{unit}>{words})' for unit, (words, _) in _UNITS.items())})\b", regex.IGNORECASE
)  # how often, not of how many
RHYTHMS = {
    unit: regex.compile(
        r"\b(?:(?:an?|each|every|per|all|whole|entire|jede\w{0,2}|alle|ganze\w?|pro|im|am|par|chaque|"
        rf"tou\w+|todos|cada|al|por|elk|ogni)[\s-](?:the |les |los |os )?(?:{words})\b"
        rf"(?! (?:later|after|ago|before))|{adverbs or '(?!)'}\b|"
        rf"(?:{words}) (?:after|by|in|um|für|tras) (?:{words})\b)|(?<=[\p{{L}}\p{{Nd}}]\s?)/\s?(?:{words}|{unit[0]})\b|"
        rf"\b(?:{words})[\s-](?:round|long)\b",
        regex.IGNORECASE,
    )
    for unit, (words, adverbs) in _UNITS.items()
}
