"""Names: people, places, bodies and things that the claim names must be those of the source."""

from __future__ import annotations

from rapidfuzz.distance import JaroWinkler

from core.verification.dates import is_date_word
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair
from core.verification.reading import Reading
from core.verification.words import Token

RULE = "names"
MIN_SPELLING = 0.93  # Jaro–Winkler; Tchaikovsky and Tschaikowsky, not Hansen and Hanson
MIN_FUZZY_CHARS = 6


def check_names(pair: Pair) -> list[Finding]:
    """A name in another's place contradicts; one that the source nowhere has speaks against the claim."""
    findings = []
    replaced = {change.claimed: change for change in pair.alignment.replaced}
    for word in pair.claim.content:
        if not is_proper(pair, word) or is_date_word(word):
            continue
        change, known = replaced.get(word), has_name(word, pair.wider)
        in_place = change is not None and change.held >= 2 and is_proper(pair, change.said)
        if change is not None and in_place and (not known or pair.is_close):
            findings.append(Finding(RULE, Weight.CONTRADICTS, f"the source says {change.said.text}, not {word.text}"))
        elif not known:
            findings.append(Finding(RULE, Weight.AGAINST, f"the source does not name {word.text}"))
    return findings


def missing_share(pair: Pair) -> float:
    """The share of the claim's names that the source nowhere has, 0…1."""
    names = [word for word in pair.claim.content if is_proper(pair, word) and not is_date_word(word)]
    return sum(not has_name(word, pair.wider) for word in names) / len(names) if names else 0.0


def is_proper(pair: Pair, token: Token) -> bool:
    """A name, also at the start of a sentence if either text has it as a name elsewhere."""
    return token.text[:1].isupper() and (token.stem in pair.claim.name_stems or token.stem in pair.wider.name_stems)


def has_name(name: Token, reading: Reading) -> bool:
    """Whether the text has the name: as it is, in another form (French, France), spelling, or as initials."""
    if reading.match(name):
        return True
    lower = name.text.lower()
    if name.text.isupper() and 2 <= len(name.text) <= 6 and name.text.lower() in reading.initials:
        return True
    return len(lower) >= MIN_FUZZY_CHARS and any(
        len(other.text) >= MIN_FUZZY_CHARS
        and (lower[:5] == other.text[:5].lower() or JaroWinkler.similarity(lower, other.text.lower()) >= MIN_SPELLING)
        for other in reading.names
    )
