"""Numbers: what the claim counts must be what the source counts.

Years and days are numbers too; months are in dates.py, what is counted is in units.py.
"""

from __future__ import annotations

from core.verification.alignment import Replacement
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.quantities import is_loose, is_year
from core.verification.reading import Reading, match_tokens
from core.verification.units import measure
from core.verification.words import Kind, Token

RULE = "numbers"


def check_numbers(pair: Pair) -> list[Finding]:
    """A number in another's place contradicts, and so does one the source nowhere has where it has others."""
    replaced = {change.claimed: change for change in pair.alignment.replaced if _is_number_slot(change)}
    findings = []
    for number in pair.claim.numbers:
        change = replaced.get(number)
        known = has_number(pair.claim, number, pair.wider)
        if change and _stands_against(pair, change, known):
            findings.append(Finding(RULE, Weight.CONTRADICTS, f"the source says {change.said.text}, not {number.text}"))
        elif not known:
            findings.append(_missing(pair, number))
    return findings


def has_number(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether `reading` has the number, be it rounded or in another unit of the same kind."""
    if number.stem in reading.stems:
        return True
    measured = measure(claim, number)
    return any(
        _agree(number, other) or (measured is not None and measured.same_as(measure(reading, other)))
        for other in reading.numbers
    )


def missing_share(pair: Pair) -> float:
    """The share of the claim's numbers that the source nowhere has, 0…1."""
    numbers = pair.claim.numbers
    return sum(not has_number(pair.claim, number, pair.wider) for number in numbers) / len(numbers) if numbers else 0.0


def _is_number_slot(change: Replacement) -> bool:
    return change.said.kind is Kind.NUMBER and change.claimed.kind is Kind.NUMBER and change.held > 0


def _stands_against(pair: Pair, change: Replacement, known: bool) -> bool:
    """A number that the source has elsewhere is judged by its place only where the wording is the source's."""
    if _agree(change.claimed, change.said) or _kind(change.claimed) != _kind(change.said):
        return False
    return (pair.is_close and change.held >= 2) if known else True


def _missing(pair: Pair, number: Token) -> Finding:
    others = [
        other for other in pair.window.numbers if _kind(other) == _kind(number) and other.stem not in pair.claim.stems
    ]
    if is_loose(number.text) or not others:
        return Finding(RULE, Weight.AGAINST, f"the source does not give {number.text}")
    return Finding(RULE, Weight.CONTRADICTS, f"the source does not have {number.text}, but {others[0].text}")


def _kind(number: Token) -> str:
    if number.value is not None and is_year(number.text, number.value):
        return "year"
    return "count"


def _agree(claimed: Token, said: Token) -> bool:
    return match_tokens(claimed, said) > 0
