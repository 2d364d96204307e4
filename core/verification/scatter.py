"""Scatter: words that the source has, but not in one sentence, may have been put together by the claim.

A subject may come from the sentence before where the sentence itself begins with a pronoun.
"""

from __future__ import annotations

from core.evidence.words import Kind, Reading, Token, read
from core.sentences import split_sentences
from core.verification.additions import FRAMES
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "scatter"
OPENING = 3  # tokens of a sentence among which its subject stands if it is a pronoun
MAX_BACK = 800  # characters looked through for the sentence before
_PRONOUNS = frozenset("it its he his she her they their this these that those".split())


def check_scatter(pair: Pair) -> list[Finding]:
    """Words of the claim that stand in the source, but in another sentence than most of it."""
    strays = [word for word in pair.claim.content if not pair.home.match(word) and _stands_in(pair, word)]
    strays = [word for word in strays if word.stem not in FRAMES]
    if not strays or (_is_subject(pair, strays) and _is_taken_up(pair, strays)):
        return []
    return [Finding(RULE, Weight.OPEN, f'"{strays[0].text}" stands in another sentence of the source')]


def _stands_in(pair: Pair, word: Token) -> bool:
    """A name or number in any form, a plain word as it is."""
    return word.stem in pair.wider.stems if word.kind is Kind.WORD else pair.wider.match(word) > 0


def _is_subject(pair: Pair, strays: list[Token]) -> bool:
    """Whether they all come before what the sentence itself says."""
    first = next((word for word in pair.claim.content if pair.home.match(word)), None)
    return first is not None and all(word.start < first.start for word in strays)


def _is_taken_up(pair: Pair, strays: list[Token]) -> bool:
    """Whether the sentence begins with a pronoun, and the one before has no other name for it."""
    if not any(token.text.lower() in _PRONOUNS for token in pair.home.tokens[:OPENING]):
        return False
    stems = {word.stem for word in strays}
    names = _sentence_before(pair).names
    return not names or names[0].stem in stems


def _sentence_before(pair: Pair) -> Reading:
    """What stands before the sentence, by its last place in the source; empty where that is the beginning."""
    at = pair.wider.text.rfind(pair.home.text)
    before = split_sentences(pair.wider.text[max(0, at - MAX_BACK) : max(0, at)])
    return read(before[-1].text if before else "")
