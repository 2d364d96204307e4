"""Order: "the court rejected the company's claim" is not "the company rejected the court's claim".

Words of the claim that its sentence has in another order are confirmed only where the grammar shows that
this changes nothing: a phrase put first or last, active for passive, a list, an owner, an adverb.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import regex

from core.evidence.words import Kind, Reading, Token, match_tokens
from core.verification.clauses import kind_of
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.roles import is_passive

RULE = "order"
_LISTED = regex.compile(r"\s*(?:,\s*(?:and|or)?|and|or|&|/)\s*(?:the|an?)?\s*", regex.IGNORECASE)
_LEADS = frozenset({"after", "before"})  # content to the tokens, prepositions all the same


def check_order(pair: Pair) -> list[Finding]:
    """A word in another place, or an active sentence made of a passive one word by word."""
    if _is_turned_round(pair):
        return [Finding(RULE, Weight.OPEN, "the source has it the other way round")]
    if _changes_voice(pair.claim, pair.home) or _changes_voice(pair.home, pair.claim):
        return []
    moved = {word: place for word in pair.claim.content if (place := _place(pair, word)) is not None}
    for word, place in moved.items():
        if not _is_harmless(pair, word, place, moved):
            return [Finding(RULE, Weight.OPEN, f'the source has "{word.text}" in another place')]
    return []


def _place(pair: Pair, word: Token) -> Token | None:
    """Where the home has an unmatched word of the claim, unmatched too."""
    if word in pair.at_home.partner:
        return None
    return next((other for other in pair.at_home.spare if match_tokens(word, other)), None)


def _is_harmless(pair: Pair, word: Token, place: Token, moved: Mapping[Token, Token]) -> bool:
    if word.text.lower().endswith("ly"):
        return True
    if any(_is_owner(other) for other in (word, place, _before(pair.claim, word), _before(pair.home, place))):
        return True
    if _listed_with(pair.claim, word) & _listed_with(pair.home, place):
        return True
    if _follows_moved(pair, word, place, moved):
        return True
    is_led = word.stem in _LEADS or _has_same_lead(pair, word, place) or _stands_before_phrase(pair, word, moved)
    return is_led and not _has_rival(pair, word)


def _has_same_lead(pair: Pair, word: Token, place: Token) -> bool:
    """Whether the same preposition or conjunction leads to it."""
    lead = pair.claim.lead(word)
    return bool(lead) and lead[-1:] == pair.home.lead(place)[-1:]


def _stands_before_phrase(pair: Pair, word: Token, moved: Mapping[Token, Token]) -> bool:
    """Whether all up to it moved, so that what moved is rather the phrase behind it, put first by the source."""
    rest = [other for other in pair.claim.content if other not in moved]
    if not rest or rest[0] not in pair.at_home.partner or word.start > rest[0].start:
        return False
    said = pair.at_home.partner[rest[0]]
    return said == pair.home.content[0] and (said.stem in _LEADS or _has_same_lead(pair, rest[0], said))


def _is_owner(word: Token | None) -> bool:
    return word is not None and word.text.endswith(("'s", "’s", "s'", "s’"))


def _listed_with(reading: Reading, word: Token) -> frozenset[str]:
    """The neighbours from which a comma or an "and", and nothing else, parts it; numbers are listed in order."""
    at = reading.content.index(word)
    near = reading.content[max(0, at - 1) : at + 2]
    listed = [pair for pair in pairwise(near) if _LISTED.fullmatch(reading.text[pair[0].end : pair[1].start])]
    return frozenset(other.stem for pair in listed for other in pair if other.kind is not Kind.NUMBER) - {word.stem}


def _follows_moved(pair: Pair, word: Token, place: Token, moved: Mapping[Token, Token]) -> bool:
    """Whether it moved together with the word before it, which answers for both."""
    at, there = pair.claim.content.index(word), pair.home.content.index(place)
    return at > 0 and there > 0 and moved.get(pair.claim.content[at - 1]) == pair.home.content[there - 1]


def _has_rival(pair: Pair, word: Token) -> bool:
    """Whether the sentence has another name or number of its kind, which the claim leaves out."""
    kind = kind_of(word)
    return kind != "" and any(kind_of(other) == kind and not pair.claim.match(other) for other in pair.home.content)


def _changes_voice(passive: Reading, active: Reading) -> bool:
    """Whether what was done by somebody in the one is what somebody does in the other."""
    return not is_passive(active.text) and any(active.match(verb) for verb, _ in _done_by(passive))


def _done_by(reading: Reading) -> list[tuple[Token, Token]]:
    """The verb and the agent of "seen by B"."""
    pairs = [(verb, agent) for verb, agent in pairwise(reading.content) if reading.lead(agent)[:1] == ("by",)]
    return [(verb, agent) for verb, agent in pairs if is_passive(reading.text[verb.start : agent.end])]


def _is_turned_round(pair: Pair) -> bool:
    """Whether "A was seen by B" became "A saw B"."""
    if is_passive(pair.claim.text):
        return False
    claimed = {said: word for word, said in pair.at_home.partner.items()}
    return any(
        verb in claimed and agent in claimed and claimed[verb].start < claimed[agent].start
        for verb, agent in _done_by(pair.home)
    )


def _before(reading: Reading, word: Token) -> Token | None:
    at = reading.content.index(word)
    return reading.content[at - 1] if at else None
