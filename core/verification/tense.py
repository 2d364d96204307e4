"""Tense: what was is not what is, nor what will be."""

from __future__ import annotations

from core.evidence.words import Reading, Token, is_irregular_past
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "tense"
REACH = 5  # tokens before a verb among which its auxiliary stands
_FUTURE = frozenset("will shall won't".split())
_PAST = frozenset("was were had did wasn't weren't hadn't didn't".split())
_PRESENT = frozenset("is are has have does do isn't aren't hasn't haven't doesn't don't".split())
_PLANS = frozenset("will shall won't would plan plans planned expect expects expected going due".split())


def check_tense(pair: Pair) -> list[Finding]:
    """A word that both have, in another time there."""
    for word, said in pair.at_home.partner.items():
        if word.stem != said.stem:
            continue
        ours, theirs = _auxiliaries(pair.claim, word), _auxiliaries(pair.home, said)
        if (ours & _FUTURE and not theirs & _PLANS) or (theirs & _FUTURE and not ours & _PLANS):
            will = next(iter((ours | theirs) & _FUTURE))
            says = "does not say" if will in ours else "says"
            return [Finding(RULE, Weight.AGAINST, f'the source {says} "{will}"')]
        is_past_now = ours & _PRESENT and not ours & _PAST and theirs & _PAST
        if is_past_now or (_ends_in_s(word, ours) and _is_past_form(said, theirs)):
            return [Finding(RULE, Weight.AGAINST, f'the source has "{word.text}" in the past')]
    return []


def _auxiliaries(reading: Reading, word: Token) -> frozenset[str]:
    """The small words directly before it."""
    at = reading.positions[word]
    found: list[str] = []
    for token in reversed(reading.tokens[max(0, at - REACH) : at]):
        if token.is_content and not token.text.lower().endswith("ly"):
            break
        found.append(token.text.lower())
    return frozenset(found)


def _ends_in_s(word: Token, auxiliaries: frozenset[str]) -> bool:
    return word.text.islower() and word.text.endswith("s") and not auxiliaries


def _is_past_form(word: Token, auxiliaries: frozenset[str]) -> bool:
    lower = word.text.lower()
    return not auxiliaries & (_PRESENT | _PLANS) and (lower.endswith("ed") or is_irregular_past(lower))
