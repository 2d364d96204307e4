"""Clauses: what a sentence says of one thing the claim may not say of another that the same sentence names.

"Boston has 120, whereas Chicago has 340" has every word of "Boston has 340". The mark of such a mixture: between
two neighbours of the claim the source goes on to another clause, with another name or number of the same kind.
"""

from __future__ import annotations

from itertools import pairwise

import regex

from core.evidence.words import Kind, Token
from core.text.numbers import is_year
from core.verification.dates import calendar_of
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "clauses"
_BOUNDARY = regex.compile(
    r"[;:]|,(?!\d)|\b(?:and|or|nor|but|yet|whereas|while|whilst|although|though|than|versus|vs|to|then)\b",
    regex.IGNORECASE,
)
_ASIDE = regex.compile(
    r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|,(?:(?!\b(?:and|but|whereas|while)\b)[^,;])*,|[–—][^–—;]*[–—])\s*(?:\p{L}+\s+){0,3}"
)


def check_clauses(pair: Pair) -> list[Finding]:
    """Neighbours in the claim between which the source begins another clause with a rival of one of them."""
    kinds = {kind_of(word) for word in pair.claim.content} - {""}
    claimed = pair.claim.stems
    for left, right in pairwise(_places(pair)):
        skipped = [word for word in pair.home.content if left.end <= word.start and word.end <= right.start]
        rivals = [word for word in skipped if kind_of(word) in kinds and word.stem not in claimed]
        if rivals and _goes_on(pair.home.text, left, skipped, right):
            return [Finding(RULE, Weight.OPEN, f'the source says "{right.text}" after {rivals[0].text}')]
    return []


def _places(pair: Pair) -> list[Token]:
    """The words of the home that the claim matches; of the same word twice, the one nearer its neighbours."""
    places = list(pair.at_home.partner.values())
    words = pair.home.content
    for at, place in enumerate(places):
        first = places[at - 1].end if at else 0
        last = places[at + 1].start if at + 1 < len(places) else len(pair.home.text)
        same = [word for word in words if word.stem == place.stem and first <= word.start and word.end <= last]
        if same and at:
            places[at] = same[0]
        elif same:
            places[at] = same[-1]
    return places


def kind_of(word: Token) -> str:
    """What it may stand in the place of: a name, a year or a count; "" for a plain word."""
    if word.kind is Kind.NUMBER:
        return "year" if word.value is not None and is_year(word.text, word.value) else "count"
    return "name" if word.kind is Kind.NAME and not calendar_of(word) else ""


def _goes_on(text: str, left: Token, skipped: list[Token], right: Token) -> bool:
    """Whether another clause begins between the two, before other words; an aside and a list are none."""
    between = text[left.end : right.start]
    if _ASIDE.fullmatch(between):
        return False
    inner = text[left.end : skipped[-1].start]
    return _BOUNDARY.search(inner) is not None and not _is_list(text[left.end : right.start], skipped, left.end)


def _is_list(between: str, skipped: list[Token], offset: int) -> bool:
    """Whether nothing but names and what joins a list was left out."""
    if any(word.kind is not Kind.NAME for word in skipped):
        return False
    rest = between
    for word in reversed(skipped):
        rest = rest[: word.start - offset] + rest[word.end - offset :]
    return regex.fullmatch(r"[\s,&]*(?:(?:and|or)[\s,]*)*", rest) is not None
