"""Quotations: what a claim puts between quotation marks must stand in the source letter by letter."""

from __future__ import annotations

from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.quotes import quotations_in, verify_quote

RULE = "quotations"


def check_quotations(pair: Pair) -> list[Finding]:
    """Words in quotation marks that the source does not have."""
    return [
        Finding(RULE, Weight.CONTRADICTS, f'the source does not have the words "{quotation}"')
        for quotation in quotations_in(pair.claim.text)
        if verify_quote(quotation, pair.wider.text) is None
    ]
