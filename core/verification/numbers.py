"""Numbers: what the claim counts must be what the source counts."""

from __future__ import annotations

from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.quantities import same_number
from core.verification.words import Kind, Token

RULE = "numbers"


def check_numbers(pair: Pair) -> list[Finding]:
    """A number in another's place contradicts; so does a number that the source nowhere has."""
    findings = []
    replaced = {
        change.claimed: change.said
        for change in pair.alignment.replaced
        if change.said.kind is Kind.NUMBER and change.held >= 2
    }
    for number in pair.claim.numbers:
        if number in replaced and not _agree(number, replaced[number]):
            reason = f"the source says {replaced[number].text}, not {number.text}"
            findings.append(Finding(RULE, Weight.CONTRADICTS, reason))
        elif not any(_agree(number, other) for other in pair.wider.numbers):
            findings.append(Finding(RULE, Weight.CONTRADICTS, f"the source does not have the number {number.text}"))
    return findings


def _agree(claimed: Token, said: Token) -> bool:
    return claimed.value is not None and said.value is not None and same_number(claimed.value, said.value, claimed.text)
