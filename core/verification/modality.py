"""Modality: what the source only supposes the claim may not state as certain."""

from __future__ import annotations

from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.reading import Reading
from core.verification.words import Token

RULE = "certainty"
HEDGES = frozenset(
    """may might could possibly perhaps probably likely potentially allegedly reportedly suggest suggests suggesting
    appear appears seem seems hypothesize hypothesized alleged rumored unclear unconfirmed""".split()
)
REACH = 4  # tokens around a word in which a hedge bears on it


def check_certainty(pair: Pair) -> list[Finding]:
    """A hedge before words that the claim repeats without one."""
    if any(token.text.lower() in HEDGES for token in pair.claim.tokens):
        return []
    matched = set(pair.alignment.partner.values())
    hedge = next((token for token in _hedges(pair.beside) if _bears_on(pair.beside, token, matched)), None)
    return [Finding(RULE, Weight.AGAINST, f'the source says "{hedge.text}"')] if hedge else []


def _hedges(reading: Reading) -> list[Token]:
    return [token for token in reading.tokens if token.text.lower() in HEDGES]


def _bears_on(reading: Reading, hedge: Token, matched: set[Token]) -> bool:
    at = reading.positions[hedge]
    return sum(token in matched for token in reading.tokens[max(0, at - REACH) : at + REACH + 1]) >= 3
