"""Dates: the month a claim names must be one the source names. Years and days are in numbers.py."""

from __future__ import annotations

from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.quantities import MONTHS
from core.verification.words import Kind, Token

RULE = "dates"
_MONTHS = frozenset(MONTHS)
_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())


def check_dates(pair: Pair) -> list[Finding]:
    """Another month or weekday in the same place, or one the source has not where it has another."""
    replaced = _replaced(pair) if pair.is_close else {}
    findings = []
    for word in pair.claim.names:
        calendar = calendar_of(word)
        if not calendar:
            continue
        others = [other for other in pair.window.names if other.stem in calendar - pair.claim.stems]
        if word in replaced:
            findings.append(
                Finding(RULE, Weight.CONTRADICTS, f"the source says {replaced[word].text}, not {word.text}")
            )
        elif word.stem not in pair.wider.stems:
            weight = Weight.CONTRADICTS if others else Weight.AGAINST
            but = f", but {others[0].text}" if others else ""
            findings.append(Finding(RULE, weight, f"the source does not have {word.text}{but}"))
    return findings


def calendar_of(token: Token) -> frozenset[str]:
    """The months or the weekdays, whichever the word is one of; else nothing."""
    if token.kind is not Kind.NAME:
        return frozenset()
    return _MONTHS if token.stem in _MONTHS else _WEEKDAYS if token.stem in _WEEKDAYS else frozenset()


def _replaced(pair: Pair) -> dict[Token, Token]:
    """The claim's months and weekdays that stand in the place of another, or of some other name."""
    replaced: dict[Token, Token] = {}
    for gap in pair.alignment.gaps:
        for word in gap.claimed:
            names = [other for other in gap.near(word) if other.kind is Kind.NAME]
            if calendar_of(word) and names and not pair.alignment.is_moved(word):
                replaced[word] = next((other for other in names if other.stem in calendar_of(word)), names[0])
    return replaced
