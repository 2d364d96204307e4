"""What the model is told of a claim and its passage: three figures, each larger where the source supports more.

More were tried (missing names, missing numbers, the longest run of missing words): they add nothing on
documents of another kind than those they were fitted on (docs/evaluation.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from core.evidence.passages import PassageIndex
from core.verification.coverage import cover
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair


@dataclass(frozen=True)
class Features:
    """Two shares, 0…1, and a mark.

    `wording` is the claim's words found anywhere, `focus` those found in the three sentences that
    together have most of them; `contradicted` is −1 if any rule contradicts, else 0.
    """

    wording: float
    focus: float
    contradicted: float

    def values(self) -> tuple[float, ...]:
        """In the order of the fields, as the coefficients are."""
        return astuple(self)


def measure_features(pair: Pair, wider: PassageIndex, findings: Sequence[Finding]) -> Features:
    """`wider` is the index of `pair.wider`."""
    return Features(
        wording=cover(pair.claim, pair.wider),
        focus=wider.focus(pair.claim.text),
        contradicted=-float(any(finding.weight is Weight.CONTRADICTS for finding in findings)),
    )
