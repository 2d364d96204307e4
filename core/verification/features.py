"""What the model is told of a claim and its passage: six figures, each larger where the source supports more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from core.evidence import PassageIndex
from core.verification import names, numbers
from core.verification.coverage import cover
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

MAX_GAP = 6  # words; a longer run of missing words is no worse


@dataclass(frozen=True)
class Features:
    """Shares are 0…1 and their negatives −1…0.

    `wording` is the claim's words found anywhere, `focus` those found in the three sentences that
    together have most of them; `gap` is minus the longest run of claim words that are nowhere found.
    """

    wording: float
    focus: float
    names: float
    numbers: float
    gap: float
    contradicted: float

    def values(self) -> tuple[float, ...]:
        """In the order of the fields, as the coefficients are."""
        return astuple(self)


def measure_features(pair: Pair, wider: PassageIndex, findings: Sequence[Finding]) -> Features:
    """`wider` is the index of `pair.wider`."""
    return Features(
        wording=cover(pair.claim, pair.wider),
        focus=wider.focus(pair.claim.text),
        names=-names.missing_share(pair),
        numbers=-numbers.missing_share(pair),
        gap=-float(_longest_gap(pair)),
        contradicted=-float(any(finding.weight is Weight.CONTRADICTS for finding in findings)),
    )


def _longest_gap(pair: Pair) -> int:
    longest = run = 0
    for word in pair.claim.content:
        run = 0 if pair.wider.match(word) else run + 1
        longest = max(longest, run)
    return min(longest, MAX_GAP)
