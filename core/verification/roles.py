"""Roles: "A sued B" is not "B sued A", though every word is there."""

from __future__ import annotations

import regex

from core.verification.alignment import Replacement
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.words import Token

RULE = "roles"
_PASSIVE = regex.compile(
    r"\b(?:\p{L}+ed|\p{L}+en|\p{L}+wn|made|led|built|won|held|found|sold|bought|told|kept|lost|put)\s+by\b"
)
_EQUALS = regex.compile(r"[\s,]*(?:and|or|with|to|versus|vs\.?|,|/|&)?[\s,]*(?:the|a|an)?\s*", regex.IGNORECASE)


def check_roles(pair: Pair) -> list[Finding]:
    """Two words that have changed places, unless the claim turned active into passive or lists them."""
    crossed = _crossed(pair)
    if not crossed or is_passive(pair.claim.text) != is_passive(pair.window.text):
        return []
    one, other = crossed
    reason = f'"{one.claimed.text}" and "{other.claimed.text}" have changed places'
    return [Finding(RULE, Weight.CONTRADICTS, reason)]


def _crossed(pair: Pair) -> tuple[Replacement, Replacement] | None:
    """Two words each standing in the place of the other."""
    changes = [change for change in pair.alignment.replaced if change.held]
    for position, one in enumerate(changes):
        for other in changes[position + 1 :]:
            if (
                one.claimed.stem == other.said.stem
                and one.said.stem == other.claimed.stem
                and not _are_listed(pair.claim.text, one.claimed, other.claimed)
            ):
                return one, other
    return None


def _are_listed(text: str, one: Token, other: Token) -> bool:
    """Whether nothing but "and" or a comma stands between them: a list may be in any order."""
    return _EQUALS.fullmatch(text[one.end : other.start]) is not None


def is_passive(text: str) -> bool:
    return _PASSIVE.search(text) is not None
