"""Polarity: what the source affirms the claim may not deny, nor turn into its opposite.

A denied opposite ("not possible" for "impossible") is the same thing said twice round.
"""

from __future__ import annotations

from core.verification.finding import Finding, Weight
from core.verification.opposites import are_opposite
from core.verification.pair import Pair
from core.verification.reading import Reading
from core.verification.words import Token

NEGATION, OPPOSITES = "negation", "opposites"
CUES = frozenset(
    """not no never none nobody nothing neither nor without cannot hardly barely scarcely fail fails failed failing lack
    lacks lacked lacking absence absent unable nowhere""".split()
)
REACH = 3  # content words after a negation that it may deny


def check_negation(pair: Pair) -> list[Finding]:
    """A negation on one side only, of a word that both sides have."""
    added, dropped = _denied_only(pair)
    if (len(added) + len(dropped)) % 2 == 0 or len(_opposed(pair)) % 2:
        return []
    if added:
        return [Finding(NEGATION, Weight.CONTRADICTS, f'the source does not deny "{added[0].text}"')]
    return [Finding(NEGATION, Weight.CONTRADICTS, f'the source denies "{dropped[0].text}"')]


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
    """The matched words denied by the claim alone, and by the passage alone; one for each negation."""
    claim_scopes, passage_scopes = _scopes(pair.claim), _scopes(pair.beside)
    partner = pair.alignment.partner
    claimed = {said: word for word, said in partner.items()}
    denied_in_claim = {word for scope in claim_scopes for word in scope}
    denied_in_passage = {word for scope in passage_scopes for word in scope}
    added = [
        word for scope in claim_scopes if (word := _first(scope, partner)) and partner[word] not in denied_in_passage
    ]
    dropped = [
        claimed[word]
        for scope in passage_scopes
        if (word := _first(scope, claimed)) and claimed[word] not in denied_in_claim
    ]
    return added, dropped


def _first(scope: list[Token], partner: dict[Token, Token]) -> Token | None:
    """The nearest denied word, if the other side has it."""
    return scope[0] if scope and scope[0] in partner else None


def _scopes(reading: Reading) -> list[list[Token]]:
    """For each negation the content words it may deny, nearest first."""
    scopes: list[list[Token]] = []
    open_scope: list[Token] | None = None
    for token, following in zip(reading.tokens, (*reading.tokens[1:], None), strict=True):
        if _is_cue(token) and not (following is not None and following.stem == "only"):
            open_scope = []
            scopes.append(open_scope)
        elif open_scope is not None and token.is_content and len(open_scope) < REACH:
            open_scope.append(token)
    return scopes


def _is_cue(token: Token) -> bool:
    lower = token.text.lower().replace("’", "'")
    return lower in CUES or lower.endswith("n't")
