"""Comparisons: "more than 5" is not "fewer than 5"; opposites.py has the words for things that rise and fall."""

from __future__ import annotations

from itertools import pairwise

from core.evidence.words import Kind, Reading, Token
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "comparisons"
REACH = 3  # tokens before a number in which "more than", "at least" or "under" bounds it
_ABOVE = frozenset("more over above exceed exceeding least beyond greater higher larger > ≥ minimum after".split())
_BELOW = frozenset("less fewer under below most lower smaller within < ≤ maximum before until".split())


def check_comparisons(pair: Pair) -> list[Finding]:
    """The same number as a bound from the other side, or on one side only; a comparison that the claim draws."""
    findings = []
    if compares(pair.claim) and not compares(pair.home):
        findings.append(Finding(RULE, Weight.OPEN, "the source does not compare the two"))
    for claimed, said in pair.alignment.partner.items():
        if claimed.kind is not Kind.NUMBER or said.kind is not Kind.NUMBER:
            continue
        ours, theirs = _bound(pair.claim, claimed), _bound(pair.beside, said)
        if bool(ours) != bool(theirs):
            word = (ours or theirs or ("", ""))[1]
            reason = f'the source {"says" if theirs else "does not say"} "{word}" of {said.text}'
            findings.append(Finding(RULE, Weight.OPEN, reason))
        elif ours and theirs and ours[0] != theirs[0]:
            reason = f"the source says {theirs[1]} {said.text}, not {ours[1]} {claimed.text}"
            findings.append(Finding(RULE, Weight.CONTRADICTS, reason))
    return findings


def compares(reading: Reading) -> bool:
    """Whether it says "than" of something else than a number."""
    return any(
        token.stem == "than" and following.kind is not Kind.NUMBER for token, following in pairwise(reading.tokens)
    )


def _bound(reading: Reading, number: Token) -> tuple[str, str] | None:
    at = reading.positions[number]
    for token in reversed(reading.tokens[max(0, at - REACH) : at]):
        if token.kind is Kind.NUMBER:
            return None
        lower = token.text.lower()
        if lower in _ABOVE or lower in _BELOW:
            return ("above" if lower in _ABOVE else "below"), token.text
    return None
