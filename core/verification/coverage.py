"""How much of the claim's wording stands in the source."""

from __future__ import annotations

from core.evidence.words import Kind, Reading, Token
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "wording"
LOW = 0.5  # share of the claim's words; below, a reader would not find the claim in the passage


def weigh(token: Token) -> float:
    """Names and numbers carry a claim; short words carry little."""
    if token.kind in (Kind.NAME, Kind.NUMBER):
        return 1.5
    return 1.0 if len(token.text) > 3 else 0.7


def cover(claim: Reading, text: Reading) -> float:
    """The weighted share of the claim's content words found in `text`, 0…1; 1 for a claim without any."""
    total = sum(weigh(token) for token in claim.content)
    found = sum(weigh(token) * text.match(token) for token in claim.content)
    return found / total if total else 1.0


def check_wording(pair: Pair) -> list[Finding]:
    """Words of the claim that the source does not have."""
    missing = [token.text for token in pair.claim.content if not pair.wider.match(token)]
    if cover(pair.claim, pair.wider) >= LOW or not missing:
        return []
    named = ", ".join(dict.fromkeys(missing[:4]))
    return [Finding(RULE, Weight.AGAINST, f"the source does not mention: {named}")]
