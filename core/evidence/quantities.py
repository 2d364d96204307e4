"""What the numbers of a text amount to: measures with units, shares of a whole, and when two of them are the same.

Five milligrams are not five grams; "a third", "33 %" and "40 of 120" are one share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import regex

from core.evidence.words import Kind, Reading, Token
from core.text.numbers import is_year

_TABLE = """
length m meter metre 1 km kilometer kilometre 1000 cm centimeter centimetre 0.01 mm millimeter millimetre 0.001 nm
 nanometer 1e-9 mile mi 1609.344 foot ft feet 0.3048 inch 0.0254 yard 0.9144
mass g gram 1 kg kilogram kilo 1000 mg milligram 0.001 µg μg mcg microgram 1e-6 tonne 1e6 lb pound lbs 453.592 oz ounce
 28.3495
time s second sec 1 ms millisecond 0.001 min minute mins 60 h hour hr hrs 3600 day 86400 week 604800 month 2629800
 year yr yrs 31557600 decade 315576000 century 3155760000
volume l liter litre 1 ml milliliter millilitre 0.001 dl 0.1 gallon 3.78541
data b byte 1 kb kilobyte 1e3 mb megabyte 1e6 gb gigabyte 1e9 tb terabyte 1e12
share % percent pct percentage prozent 1 ‰ 0.1
dollars $ dollar usd 1
euros € euro eur 1
sterling £ gbp 1
temperature_c °c celsius 1
temperature_f °f fahrenheit 1
power w watt 1 kw kilowatt 1e3 mw megawatt 1e6 gw gigawatt 1e9
"""
_JOINTS = frozenset({"", " ", "-", "\xa0", "\u2009", "\u202f", "\n"})  # between a number and its unit
CONVERTED = 0.02  # share by which a measure in another unit may differ, as conversions are rounded
SHARE_POINTS = 0.6  # percentage points by which a percentage may be a rounded share
FRACTION_POINTS = 2.5  # the same where it is said as a fraction or "about"
ABOUT = 0.1  # share by which a number said to be about may differ
_PARTS = {
    "half": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "tenth": 10,
}
_SMALL = {word: value for value, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_COUNT = r"(?P<{}>\p{{Nd}}+(?:,\p{{Nd}}{{3}})*|" + "|".join(_SMALL) + r"|an?)"
_FRACTION = regex.compile(
    rf"\b(?:{_COUNT.format('top')}[ -])?(?P<part>{'|'.join(_PARTS)})s?\b(?! (?:century|time|day|place|edition|season))"
    rf"|\b{_COUNT.format('some')} (?:(?:out )?of|in)(?: (?:the|every|all|its|their))* {_COUNT.format('whole')}\b"
    r"|(?<![\p{Nd}/])(?P<above>\p{Nd}{1,2})/(?P<below>\p{Nd}{1,2})(?![\p{Nd}/])",
    regex.IGNORECASE,
)
_PERCENT = regex.compile(r"(\p{Nd}+(?:[.,]\p{Nd}+)?)(?=[ \xa0]?(?:%|percent\b|per cent\b|prozent\b))", regex.IGNORECASE)
_ABOUT = regex.compile(
    r"\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|ca\.?|close to|just (?:over|under)|"
    r"etwa|rund|ungefähr|environ|cerca de|unos|circa|aproximadamente|ongeveer)\s+(?:the |a )?$",
    regex.IGNORECASE,
)


@dataclass(frozen=True)
class Measure:
    """`amount` in the base unit of its `dimension`."""

    dimension: str
    amount: float
    unit: str

    def same_as(self, other: Measure | None) -> bool:
        """Equal; nearly so in another unit."""
        if other is None or self.dimension != other.dimension:
            return False
        is_converted = self.unit.lower().rstrip("s") != other.unit.lower().rstrip("s")
        return abs(self.amount - other.amount) <= (CONVERTED if is_converted else 1e-9) * abs(self.amount)


@dataclass(frozen=True)
class Share:
    """`points` of a hundred, said in `text[start:end]`."""

    points: float
    start: int
    end: int
    is_fraction: bool


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for line in _TABLE.replace("\n ", " ").strip().splitlines():
        dimension, *cells = line.split()
        names: list[str] = []
        for cell in cells:
            if cell[0].isdigit():
                units.update(dict.fromkeys(names, (dimension, float(cell))))
                names = []
            else:
                names.append(cell)
    return units


def measure(reading: Reading, number: Token) -> Measure | None:
    """The number with the unit beside it; None where it has none that is known."""
    position = reading.positions[number]
    after = reading.tokens[position + 1] if position + 1 < len(reading.tokens) else None
    before = reading.tokens[position - 1] if position else None
    if number.value is None:
        return None
    if after is not None and reading.text[number.end : after.start] in _JOINTS and (unit := _unit(after)):
        return Measure(unit[0], number.value * unit[1], after.text)
    if before is not None and before.kind is Kind.SIGN and before.end == number.start and (unit := _unit(before)):
        return Measure(unit[0], number.value * unit[1], before.text)
    return None


def _unit(token: Token) -> tuple[str, float] | None:
    lower = token.text.lower()
    return _units().get(lower) or (_units().get(lower.removesuffix("s")) if len(lower) > 3 else None)


@lru_cache(maxsize=256)
def shares(text: str) -> tuple[Share, ...]:
    """Percentages, fractions and counts of a whole."""
    found = [Share(float(match[1].replace(",", ".")), *match.span(), False) for match in _PERCENT.finditer(text)]
    for match in _FRACTION.finditer(text):
        some, whole = _fraction(match)
        if 0 < some <= whole:
            found.append(
                Share(100 * some / whole, *match.span(), match["part"] is not None or match["whole"] in _SMALL)
            )
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
    return float(lower) if lower.isdigit() else float(_SMALL.get(lower, 1))


def has_number(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether `reading` has the number: as it is, rounded, in another unit, as a share, or as one of a decade."""
    if reading.match(number) or number.value is None:
        return True
    measured = measure(claim, number)
    if measured and any(measured.same_as(measure(reading, other)) for other in reading.numbers):
        return True
    if _has_share(claim, number, reading) or _stands_in(number.text, reading.text):
        return True
    if is_about(claim, number) and any(near(number, other) for other in reading.numbers):
        return True
    is_decade = claim.text[number.end : number.end + 2].startswith(("s", "'s")) and is_year(number.text, number.value)
    return is_decade and any(0 <= (other.value or 0) - number.value < 10 for other in reading.numbers)


def is_about(reading: Reading, number: Token) -> bool:
    return _ABOUT.search(reading.text, max(0, number.start - 30), number.start) is not None


def near(number: Token, other: Token) -> bool:
    """Whether the one may be called "about" the other; years never."""
    if number.value is None or other.value is None or is_year(number.text, number.value):
        return False
    return abs(number.value - other.value) <= ABOUT * abs(other.value)


def _has_share(claim: Reading, number: Token, reading: Reading) -> bool:
    ours = next((share for share in shares(claim.text) if share.start <= number.start < share.end), None)
    return ours is not None and any(_same_share(ours, theirs) for theirs in shares(reading.text))


def _same_share(ours: Share, theirs: Share) -> bool:
    return abs(ours.points - theirs.points) <= (
        FRACTION_POINTS if ours.is_fraction or theirs.is_fraction else SHARE_POINTS
    )


@lru_cache(maxsize=256)
def _digits(text: str) -> frozenset[str]:
    return frozenset(regex.findall(r"\p{Nd}+", text))


def _stands_in(written: str, text: str) -> bool:
    """Whether the digits stand in the text as part of a name or of another notation."""
    return written.isdigit() and len(written) > 1 and written in _digits(text)
