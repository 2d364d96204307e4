"""Numbers: what the claim counts must be what the source counts.

Years and days are numbers too; months are in dates.py, what is counted is in units.py.
"""

from __future__ import annotations

from core.evidence.words import Kind, Reading, Token, measure
from core.text.numbers import is_loose
from core.verification.clauses import kind_of
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "numbers"


def check_numbers(pair: Pair) -> list[Finding]:
    """A number in another's place contradicts, and so does one that the source nowhere has."""
    replaced = _replaced(pair) if pair.is_close else {}
    findings = []
    for number in pair.claim.numbers:
        if number in replaced:
            findings.append(
                Finding(RULE, Weight.CONTRADICTS, f"the source says {replaced[number].text}, not {number.text}")
            )
        elif not has_number(pair.claim, number, pair.wider):
            findings.append(_missing(pair, number))
    return findings


def has_number(claim: Reading, number: Token, reading: Reading) -> bool:
    """Whether `reading` has the number, be it rounded or in another unit of the same kind."""
    if reading.match(number):
        return True
    measured = measure(claim, number)
    return measured is not None and any(measured.same_as(measure(reading, other)) for other in reading.numbers)


def _replaced(pair: Pair) -> dict[Token, Token]:
    """The claim's numbers that stand in the place of another number."""
    replaced: dict[Token, Token] = {}
    for gap in pair.alignment.gaps:
        for number in (word for word in gap.claimed if word.kind is Kind.NUMBER):
            said = [other for other in gap.near(number) if other.kind is Kind.NUMBER]
            measured = measure(pair.claim, number)
            if not said or pair.alignment.is_moved(number):
                continue
            if measured is None or not any(measured.same_as(measure(pair.beside, other)) for other in said):
                replaced[number] = next((other for other in said if kind_of(other) == kind_of(number)), said[0])
    return replaced


def _missing(pair: Pair, number: Token) -> Finding:
    """A year may be that of the source itself where it gives no other; a small count may be implied."""
    is_year_of_source = kind_of(number) == "year" and not any(kind_of(other) == "year" for other in pair.wider.numbers)
    if is_loose(number.text) or is_year_of_source:
        return Finding(RULE, Weight.AGAINST, f"the source does not give {number.text}")
    alike = (other for other in pair.window.numbers if kind_of(other) == kind_of(number))
    instead = next((other for other in alike if not pair.claim.match(other)), None)
    but = f", but {instead.text}" if instead else ""
    return Finding(RULE, Weight.CONTRADICTS, f"the source does not have {number.text}{but}")
