"""Names: people, places, bodies and things that the claim names must be those of the source."""

from __future__ import annotations

from rapidfuzz.distance import JaroWinkler

from core.evidence.words import Reading, Token
from core.verification.dates import calendar_of
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "names"
MIN_SPELLING = 0.93  # Jaro–Winkler; Tchaikovsky and Tschaikowsky, not Hansen and Hanson
MIN_FUZZY_CHARS = 6
MIN_MATCHED = 0.5  # share of the claim in order beside it, below which its names have no place to be compared in
TITLES = frozenset(
    """mr mrs ms miss dr prof professor sir dame lord lady king queen prince princess president minister chancellor
    senator governor mayor pope saint st captain general colonel judge justice coach bishop""".split()
)


def check_names(pair: Pair) -> list[Finding]:
    """A name in another's place contradicts, a full name that the source nowhere has too; a single word is in doubt."""
    replaced = _replaced(pair) if pair.is_close and pair.alignment.matched >= MIN_MATCHED else {}
    findings = [
        Finding(RULE, Weight.CONTRADICTS, f"the source says {said.text}, not {word.text}")
        for word, said in replaced.items()
    ]
    for run in _runs(names_of(pair)):
        if not replaced.keys() & set(run) and not any(has_name(word, pair.wider) for word in run):
            # One word may be another form of a name that the source has; of two or more, one would be there.
            weight = Weight.CONTRADICTS if len(run) > 1 else Weight.AGAINST
            name = pair.claim.text[run[0].start : run[-1].end]
            findings.append(Finding(RULE, weight, f"the source does not name {name}"))
    return findings


def _runs(names: list[Token]) -> list[list[Token]]:
    """Names that stand side by side, as one."""
    runs: list[list[Token]] = []
    for word in names:
        if runs and word.start - runs[-1][-1].end == 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    return runs


def names_of(pair: Pair) -> list[Token]:
    """The claim's names, months and weekdays left out."""
    return [word for word in pair.claim.content if is_proper(pair, word) and not calendar_of(word)]


def is_proper(pair: Pair, token: Token) -> bool:
    """A name, also at the start of a sentence if either text has it as a name elsewhere."""
    return token.text[:1].isupper() and (token.stem in pair.claim.name_stems or token.stem in pair.wider.name_stems)


def has_name(name: Token, reading: Reading) -> bool:
    """Whether the text has the name: as it is, in another form (French, France), spelling, or as initials."""
    if reading.match(name):
        return True
    lower = name.text.lower()
    if name.text.isupper() and 2 <= len(name.text) <= 6 and lower in reading.initials:
        return True
    return len(lower) >= MIN_FUZZY_CHARS and any(
        len(other.text) >= MIN_FUZZY_CHARS
        and lower[:2] == other.text[:2].lower()
        and (lower[:5] == other.text[:5].lower() or JaroWinkler.similarity(lower, other.text.lower()) >= MIN_SPELLING)
        for other in reading.names
    )


def _replaced(pair: Pair) -> dict[Token, Token]:
    """The claim's names that stand in the place of another name."""
    replaced: dict[Token, Token] = {}
    for gap in pair.alignment.gaps:
        if not gap.is_tight:
            continue
        for word in gap.claimed:
            if not is_proper(pair, word) or word.text.lower() in TITLES or _stands_beside(pair, word):
                continue
            said = [other for other in gap.near(word) if is_proper(pair, other) and other.text.lower() not in TITLES]
            if said:
                replaced[word] = said[0]
    return replaced


def _stands_beside(pair: Pair, word: Token) -> bool:
    """Whether the name is beside the claim in another place or as initials, not taken up by another word of the claim.

    Another spelling is another name here, since the claim keeps the wording otherwise.
    """
    if pair.beside.match(word):
        return pair.alignment.is_moved(word)
    return word.text.isupper() and word.text.lower() in pair.beside.initials
