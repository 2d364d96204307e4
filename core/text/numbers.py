"""Numbers, dates and units as people write them: 1,234.5 or 1.234,5, twenty-five, 1.2 million, 3. Okt., 40 Prozent.

A number has as many readings as its notation allows, the likeliest in its language first. The words of each language
are in `tables.json`, which `make tables` writes from Unicode CLDR and text2num, and what those lack in numbers.toml.
"""

from __future__ import annotations

import json
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import regex

MONTHS = """january february march april may june july august september october november december""".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
Values = tuple[float, ...]  # the readings of one number, the likeliest first

HALVES = frozenset("hälfte mitad moitié metà metade helft".split())  # stand alone; "half" must be half of something
OF = frozenset("of the de des du der d' da do das dos del della dei di von van".split())
# Small words that stand for one in a number (a million, ein Drittel), and such as stand within one.
NUMBER_ARTICLES = frozenset("a an one ein eine einer einem einen un une una uno um uma een één".split())
NUMBER_JOINTS = frozenset("and und en y e et".split())  # within one number: one hundred and five, treinta y uno
OPENING = NUMBER_ARTICLES | NUMBER_JOINTS
_ORDINAL_ENDINGS = frozenset("st nd rd th er re ère e ème º ª de ste".split())
_COMPOUND = regex.compile(r"(.*?)(tausend|hundert|duizend|honderd|mila|mille|cento)(?:und|en)?(.*)")
_PERCENT = regex.compile(r"p(?:e[rt]|or|our)\s?cien(?:to)?|p(?:er|or|our)\s?cento?|pro[zc]ent|pct")
_IN_MONTH = regex.compile(r"\b(?:in|since|until|during|early|late|mid|every|each|of|last|next)[ -]$", regex.IGNORECASE)
_DECIMALS = regex.compile(r"[.,]\d\d?(?!\d)")
_INDIAN = regex.compile(r"\d{1,2}(?:,\d\d)+,\d{3}")


@dataclass(frozen=True)
class Numerals:
    """The words of one language: months and weekdays by their English names, the rest by value."""

    decimal: str
    calendar: Mapping[str, str]
    ambiguous: frozenset[str]  # months that are other words too, unless a number stands beside
    numbers: Mapping[str, float]
    ordinals: Mapping[str, int]
    scales: Mapping[str, float]
    parts: Mapping[str, int]  # what divides: "third" 3


@cache
def _tables() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    tables: dict[str, dict[str, dict[str, float]]] = json.loads(
        files(__package__).joinpath("tables.json").read_text(encoding="utf-8")
    )
    return tables


@cache
def _lacking(table: str) -> Mapping[str, str]:
    """A table of numbers.toml."""
    tables: dict[str, dict[str, str]] = tomllib.loads(
        files(__package__).joinpath("numbers.toml").read_text(encoding="utf-8")
    )
    return tables[table]


@cache
def numerals(language: str) -> Numerals:
    """Those of a known language; English for any other."""
    code = language if language in _tables() else "en"
    table = _tables()[code]
    ordinals = {word: int(value) for word, value in table["ordinals"].items()}
    numbers = dict(table["numbers"]) | _listed(_lacking("multiples")[code])
    scales = dict(table["scales"])
    if code == "en":
        scales |= {"bn": 1e9, "mn": 1e6}
    else:  # "mil", "tausend": a number by itself, as "thousand" is not
        numbers |= {word: value for word, value in scales.items() if value == 1000}
    months = {word: MONTHS[int(value) - 1] for word, value in table["months"].items()}
    months |= {"sept": "september"} if code == "en" else {}
    longest = {max((word for word in months if months[word] == name), key=len) for name in MONTHS}
    return Numerals(
        str(table["decimal"]),
        {word: WEEKDAYS[int(value) - 1] for word, value in table["weekdays"].items()} | months,
        frozenset(word for word in months if word not in longest) | {"may", "march", "mars"},
        numbers,
        ordinals,
        scales,
        {word: value for word, value in ordinals.items() if value > 2}
        | {word: int(value) for word, value in _listed(_lacking("parts")[code]).items()},
    )


def _listed(pairs: str) -> dict[str, float]:
    return {word: float(value) for word, value in (pair.split("=") for pair in pairs.split())}


def read_number(written: str, language: str = "en") -> Values:
    """What digits with their marks may stand for: 1.500 is 1.5 or 1500, the likelier in the language first.

    Spaces and apostrophes group; two kinds of marks tell each other; 1.2.3 is a version, kept apart from any quantity.
    """
    fraction = unicodedata.numeric(written[-1]) if unicodedata.category(written[-1]) == "No" else 0.0
    digits = "".join(_plain(character) for character in written)
    if not digits:
        return (fraction,)
    if digits.isdigit():
        return (float(digits) + fraction,)
    last = max(digits.rfind("."), digits.rfind(","))
    mark, head, tail = digits[last], digits[:last], digits[last + 1 :]
    whole = float("".join(character for character in digits if character.isdigit()))
    groups = digits.split(mark)
    if "." in digits and "," in digits:
        return (float(f"{head.replace(',', '').replace('.', '')}.{tail}"),) if len(groups) == 2 else (whole,)
    if len(groups) > 2:
        is_grouped = all(len(group) == 3 for group in groups[1:]) or _INDIAN.fullmatch(digits)
        return (whole,) if is_grouped else (whole + 0.123456789,)
    decimal = float(f"{head}.{tail}")
    if len(tail) != 3 or len(head) > 3 or head.startswith("0"):
        return (decimal,)
    return (decimal, whole) if mark == numerals(language).decimal else (whole, decimal)


def read_part(written: str) -> Values:
    """What digits with a stroke stand for: 1 1/4, 2/3, and 24 hours of 24/7."""
    *ones, part = written.split(" ")
    above, below = map(int, part.split("/"))
    return (float(above),) if above > below else (int("".join(ones) or 0) + above / below,)


def _plain(character: str) -> str:
    """A digit of any script as ours, a mark as point or comma; what only groups is nothing."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    return {"٫": ".", ".": ".", ",": ","}.get(character, "")


def number_word(lower: str, language: str = "en") -> float | None:
    """The value of a number written as one word, ordinals and multiples included; "one" is a pronoun too often."""
    words = numerals(language)
    if lower in words.numbers or lower in words.ordinals:
        return words.numbers.get(lower, words.ordinals.get(lower))
    if lower in HALVES and lower in words.parts:
        return 0.5
    return _compound(lower, words) if language in ("de", "nl", "it") and len(lower) > 6 else None


def _compound(lower: str, words: Numerals) -> float | None:
    """Zweihundertfünfzig: what stands before the scale times it, and what stands behind."""
    match = _COMPOUND.fullmatch(lower)
    if match is None:
        return None
    before, scale, behind = match.groups()
    count = words.numbers.get(before) or _compound(before, words) if before not in ("", "ein") else 1.0
    rest = words.numbers.get(behind) or _compound(behind, words) if behind else 0.0
    return None if count is None or rest is None else count * words.scales[scale] + rest


def is_ordinal(lower: str) -> bool:
    """Whether digits are written as an ordinal: 2nd, 3., 1er."""
    return lower[0].isdigit() and (lower[-1] == "." or lower.lstrip("0123456789") in _ORDINAL_ENDINGS)


def is_percent(lower: str) -> bool:
    """Whether a word or two stand for the sign: Prozent, por ciento."""
    return lower[0] == "p" and _PERCENT.fullmatch(lower) is not None


def is_loose(written: str) -> bool:
    """Whether a number is an ordinal, a part, a multiple or a small count in words, which a source may imply."""
    last = written.replace("-", " ").rsplit(maxsplit=1)[-1].lower()
    return written[0].isalpha() and (last == written.lower() or any(last in numerals(code).parts for code in _tables()))


def join_numbers(left: str, lefts: Values, right: str, rights: Values, *, following: str, language: str) -> Values:
    """The readings of two neighbouring words, in lower case, that make one number; none where they do not.

    `lefts` and `rights` are what each is by itself; `following` is the word behind them.
    """
    words = numerals(language)
    both = f"{left.replace('-', ' ')} {right}"
    if both in words.numbers:
        return (words.numbers[both],)
    if left in words.ordinals or (not lefts and left not in NUMBER_ARTICLES):
        return ()
    if (part := words.parts.get(right)) and _is_part(left, right, following, words):
        return tuple(value / part for value in lefts or (1.0,) if value < part)
    if (scale := words.scales.get(right)) and (not lefts or left[0].isdigit() or lefts[0] < scale):
        return tuple(value * scale for value in lefts or (1.0,))
    return _add(left, lefts, right, rights) if right not in words.ordinals and following not in words.scales else ()


def _add(left: str, lefts: Values, right: str, rights: Values) -> Values:
    """One hundred and five, mil novecientos: the right one in words fills places that the left one leaves open."""
    if not lefts or not rights or not (left[0].isalpha() and right[0].isalpha()) or lefts[0] < 100 or rights[0] < 1:
        return ()
    return (lefts[0] + rights[0],) if lefts[0] % 10 ** len(str(int(rights[0]))) == 0 else ()


def _is_part(left: str, right: str, following: str, words: Numerals) -> bool:
    """A third of, two thirds, ein Drittel; not the third quarter."""
    is_sure = right not in words.ordinals and right not in ("quarter", "quarters", "quart", "halves")
    is_plural = right in words.ordinals and right[-1] in "si" and left not in NUMBER_ARTICLES
    return is_sure or is_plural or following in OF


def calendar_name(word: str, following: str, before: str, language: str) -> str:
    """The English name of a month or weekday, "" if it is none.

    Short forms and names that are also words ("May", "Mars") need a number beside them, or an "in" before.
    """
    words, lower = numerals(language), word.lower()
    name = words.calendar.get(lower) or numerals("en").calendar.get(lower, "")
    is_clear = lower not in words.ambiguous and (len(lower) > 3 or lower in words.calendar)
    if is_clear or word == "mars" or following[:1].isdigit() or before.rstrip(" .")[-1:].isdigit():
        return name
    return name if language == "en" and _IN_MONTH.search(before) else ""


def is_year(written: str, value: float) -> bool:
    return written.isdigit() and len(written) == 4 and 1000 <= value <= 2100


def same_values(claimed: Values, said: Values, written: str) -> bool:
    """Whether some reading of the claim's number is one of the source's, or the likeliest are, once rounded."""
    return same_number(claimed[0], said[0], written) or any(value in said for value in claimed)


def same_number(claimed: float, said: float, written: str) -> bool:
    """Whether `claimed`, as `written`, is `said` or is `said` rounded to the digits that the claim gives."""
    if claimed == said:
        return True
    if not claimed or is_year(written, claimed) or written[0].isalpha():
        return False
    step = last_place(claimed, written)
    is_rounding = step < 1 or step >= 10 or (said != int(said) and claimed >= 10)
    return is_rounding and abs(claimed - said) <= step / 2 and abs(claimed - said) <= 0.05 * abs(said)


def last_place(value: float, written: str) -> float:
    """What a unit of the last digit is worth: 0.1 for 2.5, 100,000 for 1.2 million, 1000 for 45,000."""
    digits = float("".join(_plain(character) for character in written if character.isdecimal()) or 1)
    step = value / digits if digits else 1.0
    if step < 1 or _DECIMALS.search(written):
        return step
    while value >= 100 * step and value % (step * 10) == 0:
        step *= 10
    return step


@cache
def _units() -> Mapping[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for dimension, cells in _lacking("units").items():
        names: list[str] = []
        for cell in cells.split():
            if cell[0].isdigit():
                units.update(dict.fromkeys(names, (dimension, float(cell))))
                names = []
            else:
                names.append(cell)
    for table in _tables().values():
        for word, ours in table["units"].items():
            units.setdefault(word, units[str(ours)])
    return units


def unit_of(word: str) -> tuple[str, float] | None:
    """The dimension of a unit and what it is worth in the base of that; None for any other word."""
    lower = word.lower()
    if is_percent(lower):
        return _units()["%"]
    plain = (lower.removesuffix("s"), lower.removesuffix("n")) if len(lower) > 3 else ()
    return next((_units()[form] for form in (lower, *plain) if form in _units()), None)


_UNIT = regex.compile(
    r"(?P<prefix>(?:square|sq|cubic|cu)\.? |(?:vierkante|kubieke) |quadrat|kubik)?(?P<unit>\p{L}+|%)"
    r"(?P<raised>[²³23](?!\d)| (?:carr[ée]|c[uú]b|cuadrad|quadrad|quadrat)\p{L}+)?"
    r"(?:(?:\s?/\s?| (?:per|an?|pro|por|par|à|al|al?l['’]) ?)(?P<per>\p{L}+))?",
    regex.IGNORECASE,
)


def measure_at(text: str, start: int, word: str) -> tuple[str, float, int] | None:
    """The unit of one or several words whose first is `word`, as `unit_of`, and where it ends: square miles, km/h."""
    found = _UNIT.match(text, start)
    unit = unit_of(found["unit"]) if found else None
    if found is None or unit is None:
        plain = unit_of(word)
        return (*plain, start + len(word)) if plain else None
    dimension, worth = unit
    time = unit_of(found["per"]) if found["per"] else None
    power = (found["prefix"] or found["raised"] or "").strip().lower()
    if dimension == "length" and power:
        is_cubic = power[0] in "³3" or power.startswith(("cubi", "cu.", "cúb", "cub", "kub"))
        end = found.end("raised" if found["raised"] else "unit")
        return ("volume", 1000 * worth**3, end) if is_cubic else ("area", worth**2, end)
    if dimension == "length" and time and time[0] == "time" and time[1] <= _units()["h"][1]:
        return "speed", worth / time[1], found.end()
    return None if found["prefix"] else (dimension, worth, found.end("unit"))
