"""Modality: what the source only supposes the claim may not state as certain."""

from __future__ import annotations

from core.evidence.words import Reading, Token
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "certainty"
HEDGES = frozenset(
    """may might could possibly perhaps probably likely potentially allegedly reportedly suggest suggests suggesting
    appear appears seem seems hypothesize hypothesized alleged rumored unclear unconfirmed""".split()
)
CONDITIONS = frozenset("if unless whether".split())
_WHEN = CONDITIONS | {"when", "where"}
REACH = 4  # tokens around a word in which a hedge bears on it


def check_certainty(pair: Pair) -> list[Finding]:
    """A hedge before words that the claim repeats without one, a hedge of the claim's own, a condition left out."""
    ours, theirs = _among(pair.claim, HEDGES), _among(pair.home, HEDGES)
    if ours and not _among(pair.wider, HEDGES):
        return [Finding(RULE, Weight.OPEN, f'the source does not say "{ours[0].text}"')]
    matched = set(pair.at_home.partner.values())
    hedge = next((token for token in theirs if not ours and _bears_on(pair.home, token, matched)), None)
    if hedge is not None:
        return [Finding(RULE, Weight.AGAINST, f'the source says "{hedge.text}"')]
    conditions = _among(pair.home, CONDITIONS)
    if conditions and not _among(pair.claim, _WHEN):
        return [Finding(RULE, Weight.OPEN, f'the source says "{conditions[0].text}"')]
    return []


def _among(reading: Reading, words: frozenset[str]) -> list[Token]:
    return [token for token in reading.tokens if token.text.lower() in words]


def _bears_on(reading: Reading, hedge: Token, matched: set[Token]) -> bool:
    """Whether the claim repeats the word it stands before, or most of what is around it."""
    at = reading.positions[hedge]
    following = next((token for token in reading.tokens[at + 1 :] if token.is_content), None)
    around = reading.tokens[max(0, at - REACH) : at + REACH + 1]
    return (following in matched and len(matched) > 1) or sum(token in matched for token in around) >= 3
