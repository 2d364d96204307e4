"""Quantifiers: what the source says of some or most the claim may not say of all."""

from __future__ import annotations

from core.evidence.words import Reading, Token
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "quantifiers"
REACH = 4  # tokens before a word in which a quantifier bears on it
_SOME = frozenset(
    """some several many few numerous various certain sometimes often occasionally partly partially half part
    commonly frequently""".split()
)
_MOST = frozenset("most mostly majority usually generally typically nearly almost largely mainly normally".split())
_ALL = frozenset(
    "all every everyone everybody everything everywhere each always only solely exclusively sole entirely".split()
)
_RANK = dict.fromkeys(_SOME, 1) | dict.fromkeys(_MOST, 2) | dict.fromkeys(_ALL, 3)
_BOUND = frozenset("some several many few numerous various certain most majority half all every each only".split())


def check_quantifiers(pair: Pair) -> list[Finding]:
    """A claim of more than the source says: a quantifier that is stronger there, or left out."""
    for token in pair.claim.tokens:
        rank = _rank(token)
        if rank >= 2 and rank > _rank_there(pair, token):
            return [Finding(RULE, Weight.AGAINST, f'the source does not say "{token.text}"')]
    claimed = {said: word for word, said in pair.at_home.partner.items()}
    for token in pair.home.tokens:
        if token.stem not in _BOUND or not 1 <= _rank(token) <= 2:
            continue
        word = next((other for other in _after(pair.home, token) if other in claimed), None)
        if word is not None and not _is_limited(pair.claim, claimed[word]):
            return [Finding(RULE, Weight.AGAINST, f'the source says "{token.text}"')]
    return []


def _rank(token: Token) -> int:
    return _RANK.get(token.text.lower(), 0)


def _rank_there(pair: Pair, token: Token) -> int:
    """How much the source says in that place: before the word that the quantifier bears on, else anywhere."""
    if token.text.lower() in _BOUND:
        for word in _after(pair.claim, token):
            said = pair.at_home.partner.get(word)
            if said is not None:
                return max((_rank(other) for other in _before(pair.home, said)), default=0)
    return max((_rank(other) for other in pair.home.tokens), default=0)


def _is_limited(reading: Reading, word: Token) -> bool:
    """Whether a quantifier of a part or a number stands before it."""
    return any(1 <= _rank(other) <= 2 or other.value is not None for other in _before(reading, word))


def _after(reading: Reading, token: Token) -> list[Token]:
    at = reading.positions[token]
    return [other for other in reading.tokens[at + 1 : at + 1 + REACH] if other.is_content][:2]


def _before(reading: Reading, word: Token) -> tuple[Token, ...]:
    at = reading.positions[word]
    return reading.tokens[max(0, at - REACH) : at]
