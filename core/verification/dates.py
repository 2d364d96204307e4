"""Dates: the day and month that a claim names must be ones the source names. Years are in numbers.py."""

from __future__ import annotations

from itertools import pairwise

from core.evidence.words import Kind, Reading, Token
from core.text.numbers import MONTHS
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "dates"
_MONTHS = frozenset(MONTHS)
_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())


def check_dates(pair: Pair) -> list[Finding]:
    """Another month or weekday in the same place, one the source has not where it has another, or another day of it."""
    replaced = _replaced(pair) if pair.is_close else {}
    findings = []
    for word in pair.claim.names:
        if word in replaced:
            findings.append(
                Finding(RULE, Weight.CONTRADICTS, f"the source says {replaced[word].text}, not {word.text}")
            )
        elif calendar_of(word) and word.stem not in pair.wider.stems:
            findings.append(_missing(pair, word))
    said = days_of(pair.wider)
    for day, text in days_of(pair.claim).items():
        if said and day not in said and not findings:
            findings.append(Finding(RULE, Weight.CONTRADICTS, f"the source does not have {text}"))
    return findings


def calendar_of(token: Token) -> frozenset[str]:
    """The months or the weekdays, whichever the word is one of; else nothing."""
    if token.kind is not Kind.NAME:
        return frozenset()
    return _MONTHS if token.stem in _MONTHS else _WEEKDAYS if token.stem in _WEEKDAYS else frozenset()


def days_of(reading: Reading) -> dict[tuple[str, int], str]:
    """The days of the year that a text names, as month and day, with the words that say so."""
    days: dict[tuple[str, int], str] = {}
    for one, other in pairwise(reading.tokens):
        month, day = (one, other) if one.stem in _MONTHS else (other, one)
        if month.stem in _MONTHS and day.value is not None and 1 <= day.value <= 31:
            days.setdefault((month.stem, int(day.value)), f"{one.text} {other.text}")
    return days


def _missing(pair: Pair, word: Token) -> Finding:
    others = [other for other in pair.window.names if other.stem in calendar_of(word) - pair.claim.stems]
    weight = Weight.CONTRADICTS if others else Weight.AGAINST
    but = f", but {others[0].text}" if others else ""
    return Finding(RULE, weight, f"the source does not have {word.text}{but}")


def _replaced(pair: Pair) -> dict[Token, Token]:
    """The claim's months and weekdays that stand in the place of another, or of some other name."""
    replaced: dict[Token, Token] = {}
    for gap in pair.alignment.gaps:
        for word in gap.claimed:
            names = [other for other in gap.near(word) if other.kind is Kind.NAME]
            if calendar_of(word) and names and not pair.alignment.is_moved(word):
                replaced[word] = next((other for other in names if other.stem in calendar_of(word)), names[0])
    return replaced
