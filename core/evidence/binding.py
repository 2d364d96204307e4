"""Vetoes on how the words of a claim hang together: what is said of whom, and what no word of the source stands for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import regex

from core.evidence.alignment import Comparison, Force, Rule, Veto, calendar_of, has_name, is_year_token
from core.evidence.opposites import kinds, senses
from core.evidence.quantities import measure
from core.evidence.verbatim import points_back, subject_of
from core.evidence.words import Kind, Reading, Token, read
from core.text.language import KNOWN, language_of
from core.text.numbers import unit_of

MIN_STRANGE = 0.2  # share of the claim's content words that the source has no word for
MIN_LAST = 2  # plain words at the claim's end that are all strange: a predicate that was made up
MIN_PREFIX = 5  # letters that words of one origin share
# Words that may be said of anything: degrees, counts, and words that stand for others.
_GENERIC = frozenset(
    """more most less least nearly almost roughly about around slightly according often always usually many several
    various higher lower larger smaller greater fewer better worse bigger older younger longer shorter oldest youngest
    newest today later earlier next also too even still only just back away together ago once twice much further well
    such own other another same different first second third last people person thing part kind type sort way number
    amount time times whole however half quarter million billion exceed exceeds exceeded exceeding total came comes little
    average mean percentage point points""".split()
)


def check_invention(pair: Comparison) -> Iterator[Veto]:
    """A claim that ends in words for which the source has none of the same meaning, kind or origin."""
    if pair.is_translated or pair.language not in KNOWN:
        return
    plain = [word for word in pair.claim.content if _is_plain(word)]
    last = list(takewhile(lambda word: not _has_counterpart(pair, word), reversed(plain)))
    if len(last) >= MIN_LAST and len(last) >= MIN_STRANGE * len(pair.claim.content):
        yield Veto("invention", Force.DOUBTS, f'the source has no word for "{last[1].text} … {last[0].text}"')


def _is_plain(word: Token) -> bool:
    lower = word.text.lower()
    return word.kind is Kind.WORD and not word.values and len(lower) > 2 and lower not in _GENERIC and not unit_of(lower)


def _has_counterpart(pair: Comparison, word: Token) -> bool:
    if pair.wider.match(word) or any(token.text.lower() == word.text.lower() for token in pair.wider.tokens):
        return True
    if len(word.stem) >= MIN_PREFIX and any(stem.startswith(word.stem[:MIN_PREFIX]) for stem in pair.wider.stems):
        return True
    own = senses(word.stem)
    wide, near, above = pair.meant
    return bool(own & wide or own & above or kinds(word.stem) & near)


BINDING_RULES: tuple[Rule, ...] = (check_invention,)
