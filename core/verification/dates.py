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
    findings = []
    replaced = {change.claimed: change for change in pair.alignment.replaced}
    for word in pair.claim.names:
        calendar = _calendar(word)
        if not calendar:
            continue
        change, known = replaced.get(word), word.stem in pair.wider.stems
        others = [
            other.text for other in pair.window.names if other.stem in calendar and other.stem not in pair.claim.stems
        ]
        in_place = change is not None and change.said.stem in calendar and change.held > 0
        if change is not None and in_place and (not known or pair.is_close):
            findings.append(Finding(RULE, Weight.CONTRADICTS, f"the source says {change.said.text}, not {word.text}"))
        elif not known:
            weight = Weight.CONTRADICTS if others else Weight.AGAINST
            but = f", but {others[0]}" if others else ""
            findings.append(Finding(RULE, weight, f"the source does not have {word.text}{but}"))
    return findings


def is_date_word(token: Token) -> bool:
    return token.kind is Kind.NAME and bool(_calendar(token))


def _calendar(token: Token) -> frozenset[str]:
    return _MONTHS if token.stem in _MONTHS else _WEEKDAYS if token.stem in _WEEKDAYS else frozenset()
