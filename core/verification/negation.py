"""Polarity: what the source affirms the claim may not deny, nor turn into its opposite.

A denied opposite ("not possible" for "impossible") is the same thing said twice round.
"""

from __future__ import annotations

import regex

from core.evidence.opposites import are_opposite
from core.evidence.words import Kind, Reading, Token, stem
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

NEGATION, OPPOSITES = "negation", "opposites"
CUES = frozenset(
    """not no never none nobody nothing neither nor without cannot hardly barely scarcely fail fails failed failing lack
    lacks lacked lacking absence absent unable nowhere""".split()
)
NEGATIVE_WORDS = frozenset(
    stem(word)
    for word in """refuse reject deny decline lose loss miss stop prevent avoid except exclude despite instead only few
    little rare end cease cancel drop ban forbid prohibit unlike although but remove withdraw leave absent
    fall""".split()
)  # a source may say with one of these what a claim says with "not"
_DENYING_PREFIX = regex.compile(r"(?:un(?!d|i)|dis|non|im(?=p)|ir(?=r)|il(?=l))\p{L}{3}")
REACH = 3  # content words after a negation that it may deny


def check_negation(pair: Pair) -> list[Finding]:
    """A negation on one side only, of a word that both sides have."""
    if (word := _unheard(pair)) is not None:
        return [Finding(NEGATION, Weight.CONTRADICTS, f'the source denies nothing, the claim "{word.text}"')]
    added, dropped = _denied_only(pair)
    if (len(added) + len(dropped)) % 2 == 0 or len(_opposed(pair)) % 2:
        return []
    if added:
        return [Finding(NEGATION, Weight.CONTRADICTS, f'the source does not deny "{added[0].text}"')]
    return [_denied(pair, dropped[0])]


def _denied(pair: Pair, word: Token) -> Finding:
    """What the source denies of something else it says nothing of here."""
    others = [other for other in pair.claim.content if not pair.beside.match(other)]
    if any(
        pair.wider.match(other) for other in others if other.kind is not Kind.WORD or other.stem in pair.wider.stems
    ):
        return Finding(NEGATION, Weight.OPEN, f'the source denies "{word.text}" of another')
    stranger = next((other for other in others if other.kind is Kind.NAME), None)
    if stranger is not None:
        return Finding(NEGATION, Weight.CONTRADICTS, f'the source does not say "{word.text}" of {stranger.text}')
    return Finding(NEGATION, Weight.CONTRADICTS, f'the source denies "{word.text}"')


def _unheard(pair: Pair) -> Token | None:
    """What the claim denies, where nothing that the source says is negative."""
    scopes = _scopes(pair.claim)
    if not scopes or len(_opposed(pair)) % 2 or any(_is_negative(token) for token in pair.wider.tokens):
        return None
    return scopes[0][0]


def _is_negative(token: Token) -> bool:
    return _is_cue(token) or token.stem in NEGATIVE_WORDS or _DENYING_PREFIX.match(token.stem) is not None


def check_opposites(pair: Pair) -> list[Finding]:
    """A word in the place of its opposite."""
    opposed = _opposed(pair)
    added, dropped = _denied_only(pair)
    if len(opposed) % 2 == 0 or (len(added) + len(dropped)) % 2:
        return []
    claimed, said = opposed[0]
    return [Finding(OPPOSITES, Weight.CONTRADICTS, f'the source says "{said.text}", not "{claimed.text}"')]


def _opposed(pair: Pair) -> list[tuple[Token, Token]]:
    """Claim words that stand in the place of their opposite."""
    return [
        (word, said)
        for gap in pair.alignment.gaps
        if gap.is_tight
        for word in gap.claimed
        for said in gap.near(word)
        if are_opposite(word.stem, said.stem) and word.stem not in pair.beside.stems
    ]


def _denied_only(pair: Pair) -> tuple[list[Token], list[Token]]:
    """The matched words denied by the claim alone, and by the passage alone; one for each negation.

    A negation of the one side answers to at most one of the other.
    """
    ours, theirs = _scopes(pair.claim), _scopes(pair.beside)
    partner = pair.alignment.partner | dict(_opposed(pair))
    claimed = {said: word for word, said in partner.items()}
    for is_answer in (_is_same, _overlap):
        for scope in list(ours):
            answer = next((other for other in theirs if is_answer(scope, other, partner)), None)
            if answer is not None:
                ours.remove(scope)
                theirs.remove(answer)
    added = [scope[0] for scope in ours if scope[0] in partner]
    return added, [claimed[scope[0]] for scope in theirs if scope[0] in claimed]


def _is_same(ours: list[Token], theirs: list[Token], partner: dict[Token, Token]) -> bool:
    return partner.get(ours[0]) == theirs[0]


def _overlap(ours: list[Token], theirs: list[Token], partner: dict[Token, Token]) -> bool:
    return partner.get(ours[0]) in theirs or theirs[0] in [partner.get(word) for word in ours]


def _scopes(reading: Reading) -> list[list[Token]]:
    """For each negation the content words it may deny, nearest first; two in a row cancel out."""
    scopes: list[list[Token]] = []
    is_open = False
    for position, token in enumerate(reading.tokens):
        if _is_cue(token) and not any(following.stem == "only" for following in reading.tokens[position + 1 :][:1]):
            is_open = not (is_open and not scopes[-1])
            if is_open:
                scopes.append([])
            else:
                scopes.pop()
        elif is_open and token.is_content:
            scopes[-1].append(token)
            is_open = len(scopes[-1]) < REACH
    return [scope for scope in scopes if scope]


def _is_cue(token: Token) -> bool:
    lower = token.text.lower().replace("’", "'")
    return lower in CUES or lower.endswith("n't")
