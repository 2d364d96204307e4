"""Roles: "A sued B" is not "B sued A", though every word is there."""

from __future__ import annotations

from itertools import combinations, pairwise

import regex

from core.evidence.words import Reading, Token, match_tokens
from core.verification.comparisons import compares
from core.verification.coverage import cover
from core.verification.finding import Finding, Weight
from core.verification.pair import CLOSE, Pair

RULE = "roles"
ALL_THERE = 0.95  # of the claim's words; then a short claim need not keep their order to be compared by place
Unit = tuple[Token, ...]
_PASSIVE = regex.compile(
    r"\b(?:\p{L}+ed|\p{L}+en|\p{L}+wn|made|led|built|won|held|found|sold|bought|told|kept|lost|put)\s+by\b"
)
_LISTED = regex.compile(r"[\s,]*(?:and|or|with|versus|vs\.?|/|&)?[\s,]*(?:the|a|an)?\s*", regex.IGNORECASE)


def check_roles(pair: Pair) -> list[Finding]:
    """Two words that have changed places, unless the claim turned active into passive or lists them."""
    if compares(pair.claim) and not compares(pair.beside):  # who comes first in a comparison is the writer's choice
        return []
    crossed = _crossed(pair) or _turned(pair)
    if not crossed or is_passive(pair.claim.text) != is_passive(pair.beside.text):
        return []
    one, other = crossed
    return [Finding(RULE, Weight.CONTRADICTS, f'"{one.text}" and "{other.text}" have changed places')]


def _crossed(pair: Pair) -> tuple[Token, Token] | None:
    """Two claim words each of which stands in the place of the other."""
    if not pair.is_close and cover(pair.claim, pair.beside) < ALL_THERE:
        return None
    places = [(word, gap.near(word)) for gap in pair.alignment.gaps for word in gap.claimed]
    for (one, instead_of_one), (other, instead_of_other) in combinations(places, 2):
        if (
            any(match_tokens(other, said) for said in instead_of_one)
            and any(match_tokens(one, said) for said in instead_of_other)
            and not match_tokens(one, other)
            and not _are_listed(pair.claim.text, one, other)
        ):
            return one, other
    return None


def _turned(pair: Pair) -> tuple[Token, Token] | None:
    """Two neighbours in the claim that the source has the other way round, with the same small words between."""
    if cover(pair.claim, pair.beside) < CLOSE:
        return None
    said = {(_stems(one), between, _stems(other)) for one, between, other in _neighbours(pair.beside)}
    for one, between, other in _neighbours(pair.claim):
        ours = (_stems(one), between, _stems(other))
        if ours[::-1] in said and ours not in said:
            return one[0], other[0]
    return None


def _stems(unit: Unit) -> tuple[str, ...]:
    return tuple(word.stem for word in unit)


def _neighbours(reading: Reading) -> list[tuple[Unit, str, Unit]]:
    """Neighbouring words and names that are joined by small words, lists left out."""
    joined = []
    for one, other in pairwise(reading.units):
        between = " ".join(reading.text[one[-1].end : other[0].start].lower().split())
        if between.replace(" ", "").isalpha() and not _are_listed(reading.text, one[-1], other[0]):
            joined.append((one, between, other))
    return joined


def _are_listed(text: str, one: Token, other: Token) -> bool:
    """Whether nothing but "and" or a comma stands between them: a list may be in any order."""
    return _LISTED.fullmatch(text[one.end : other.start]) is not None


def is_passive(text: str) -> bool:
    return _PASSIVE.search(text) is not None
