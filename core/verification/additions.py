"""Additions: a claim that says all its source says, and then some more.

A word in the place of another may be a synonym; a word where the source has none adds something.
"""

from __future__ import annotations

from core.evidence.alignment import Alignment
from core.evidence.words import Token, stem
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "additions"
FRAMES = frozenset(
    stem(word)
    for word in """according source author authors report reported state stated say said note noted notably article
    page study studies text passage research researchers found finding show shown indicate also called known named
    overall well yes yea yeah specifically actually particularly respectively""".split()
)  # words that say where something stands, not what
_CAUSES = frozenset("because so therefore thus hence thereby".split())


def check_additions(pair: Pair) -> list[Finding]:
    """Words of the claim that the source has nowhere, nor another word in their place."""
    for word in pair.claim.tokens:
        if word.stem in _CAUSES and not any(token.stem in _CAUSES | {"as", "since"} for token in pair.home.tokens):
            return [Finding(RULE, Weight.OPEN, f'the source does not say "{word.text}"')]
    added = [word for word in _put_in(pair, pair.at_home) if word.stem not in FRAMES]
    return [Finding(RULE, Weight.OPEN, f'the source does not say "{added[0].text}"')] if added else []


def _put_in(pair: Pair, alignment: Alignment) -> list[Token]:
    added: list[Token] = []
    for gap in alignment.gaps:
        strange = [word for word in gap.claimed if not pair.wider.match(word)]
        if strange and (not gap.said or _begins_otherwise(pair, gap.claimed[0]) or len(strange) > len(gap.said)):
            added.extend(strange)
    return added


def _begins_otherwise(pair: Pair, first: Token) -> bool:
    """Whether small words lead to it that do not lead on from the same word in the source."""
    at = pair.claim.content.index(first)
    if at == 0:
        return False
    said = pair.at_home.partner.get(pair.claim.content[at - 1])
    if said is None:
        return False
    there = pair.home.content.index(said) + 1
    if there >= len(pair.home.content):
        return True
    lead = pair.claim.lead(first)
    return bool(lead) and lead != pair.home.lead(pair.home.content[there])
