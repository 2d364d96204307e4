"""Units: five milligrams are not five grams, nor five per cent five people."""

from __future__ import annotations

from dataclasses import dataclass

from core.evidence.words import Kind, Reading, Token
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "units"
_TABLE = """
length m meter metre 1 km kilometer kilometre 1000 cm centimeter centimetre 0.01 mm millimeter millimetre 0.001 nm
 nanometer 1e-9 mile mi 1609.344 foot ft feet 0.3048 inch 0.0254 yard 0.9144
mass g gram 1 kg kilogram kilo 1000 mg milligram 0.001 µg μg mcg microgram 1e-6 tonne 1e6 lb pound lbs 453.592 oz ounce
 28.3495
time s second sec 1 ms millisecond 0.001 min minute mins 60 h hour hr hrs 3600 day 86400 week 604800 month 2629800
 year yr yrs 31557600 decade 315576000 century 3155760000
volume l liter litre 1 ml milliliter millilitre 0.001 dl 0.1 gallon 3.78541
data b byte 1 kb kilobyte 1e3 mb megabyte 1e6 gb gigabyte 1e9 tb terabyte 1e12
share % percent pct percentage 1 ‰ 0.1
dollars $ dollar usd 1
euros € euro eur 1
sterling £ gbp 1
temperature_c °c celsius 1
temperature_f °f fahrenheit 1
power w watt 1 kw kilowatt 1e3 mw megawatt 1e6 gw gigawatt 1e9
"""

_JOINTS = frozenset({"", " ", "-", "\xa0", "\u2009", "\u202f", "\n"})  # between a number and its unit


@dataclass(frozen=True)
class Measure:
    """`amount` in the base unit of its `dimension`."""

    dimension: str
    amount: float
    unit: str

    def same_as(self, other: Measure | None) -> bool:
        """Equal; within two per cent in another unit, as conversions are rounded."""
        if other is None or self.dimension != other.dimension:
            return False
        is_converted = self.unit.lower().rstrip("s") != other.unit.lower().rstrip("s")
        return abs(self.amount - other.amount) <= (0.02 if is_converted else 1e-9) * abs(self.amount)


def _read_table() -> dict[str, tuple[str, float]]:
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


_UNITS = _read_table()


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
    return _UNITS.get(lower) or (_UNITS.get(lower.removesuffix("s")) if len(lower) > 3 else None)


def check_units(pair: Pair) -> list[Finding]:
    """The same number of something else, unless the source has it of the same thing elsewhere."""
    findings = []
    for claimed, said in pair.alignment.partner.items():
        if claimed.kind is not Kind.NUMBER or said.kind is not Kind.NUMBER:
            continue
        ours, theirs = measure(pair.claim, claimed), measure(pair.beside, said)
        if ours is None or theirs is None or ours.same_as(theirs):
            continue
        if not any(ours.same_as(measure(pair.wider, other)) for other in pair.wider.numbers):
            reason = f"the source says {said.text} {theirs.unit}, not {claimed.text} {ours.unit}"
            findings.append(Finding(RULE, Weight.CONTRADICTS, reason))
    return findings
