"""The values in a sentence: dates, numbers that measure or count, and numbers that are part of a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.verification.quantities import MONTHS
from core.verification.reading import Reading
from core.verification.units import measure
from core.verification.words import Kind, Token


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
