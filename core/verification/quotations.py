"""Quotations: what a claim puts between quotation marks must stand in the source letter by letter."""

from __future__ import annotations

from core.evidence.verbatim import quotations_in, verify_quote
from core.evidence.words import Kind, tokenize
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "quotations"


def check_quotations(pair: Pair) -> list[Finding]:
    """Words in quotation marks that the source does not have; the title of a work it may write otherwise."""
    return [
        Finding(RULE, _weigh(quotation), f'the source does not have the words "{quotation}"')
        for quotation in quotations_in(pair.claim.text)
        if verify_quote(quotation, pair.wider.text) is None
    ]


def _weigh(quotation: str) -> Weight:
    words = [token.text for token in tokenize(quotation) if token.kind is not Kind.FUNCTION]
    is_title = all(not word[0].islower() for word in words)
    return Weight.AGAINST if is_title else Weight.CONTRADICTS
