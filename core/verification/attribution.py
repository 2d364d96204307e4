"""Attribution: what somebody said, believed or tried is not what was so."""

from __future__ import annotations

from core.evidence.words import stem
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "attribution"
_SAID = frozenset(
    stem(word)
    for word in """claim say state believe think argue allege assert suspect insist speculate hope expect predict
    propose maintain contend suppose assume consider report rumor deny boast pretend theorize hypothesize
    suggest""".split()
)
_TRIED = frozenset(
    stem(word)
    for word in "plan try tried attempt want intend hope aim expect agree promise threaten decide propose seek".split()
)
_OPENERS = frozenset("that he she it they we i his her their".split())  # after a verb of saying, a clause begins
_KEEPERS = frozenset("according allegedly reportedly supposedly purportedly".split())


def check_attribution(pair: Pair) -> list[Finding]:
    """A verb of saying or trying that the claim leaves out, though it has what was said or tried."""
    if any(token.stem in _SAID | _TRIED or token.text.lower() in _KEEPERS for token in pair.claim.tokens):
        return []
    matched = set(pair.at_home.partner.values())
    for at, token in enumerate(pair.home.tokens):
        follower = pair.home.tokens[at + 1].text.lower() if at + 1 < len(pair.home.tokens) else ""
        if (token.stem in _SAID and follower in _OPENERS) or (token.stem in _SAID | _TRIED and follower == "to"):
            after = [other for other in pair.home.tokens[at + 1 :] if other in matched]
            if len(after) >= len(matched) / 2:
                return [Finding(RULE, Weight.AGAINST, f'the source says "{token.text} {follower}"')]
    return []
