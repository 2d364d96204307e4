"""The check of a claim against whole sources: the one it cites, and the others that were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.answer import Evidence, Verdict
from core.evidence.passages import EvidenceIndex
from core.verification.check import check_claim
from core.verification.finding import Check

MAX_CONTEXT_CHARS = 6000  # around and beside the passage; what a check may draw on
_RANK = {Verdict.SUPPORTED: 3, None: 2, Verdict.PARTIAL: 1, Verdict.UNSUPPORTED: 0}
NOTHING = "the source says nothing of it"
NOT_READ = "no such source was read"


def check_source_exists(source_id: str, indexes: Mapping[str, EvidenceIndex]) -> str:
    """Why the source cannot be cited: it was invented, never read or empty; "" when it can."""
    index = indexes.get(source_id)
    return "" if index is not None and index.source.content.strip() else NOT_READ


def check_against_source(claim: str, index: EvidenceIndex, *, similarity: float | None = None) -> Evidence:
    """The best passage with its verdict and reasons; `UNCHECKED` where the rules cannot tell.

    A source that says nothing of the claim gives an empty span at 0, `UNSUPPORTED`.
    """
    evidence, check = examine(claim, index, similarity=similarity)
    return evidence if check.verdict else replace(evidence, verdict=Verdict.UNCHECKED)


def examine(claim: str, index: EvidenceIndex, *, similarity: float | None = None) -> tuple[Evidence, Check]:
    """As `check_against_source`, with the check itself, whose verdict is None where it is undecided."""
    found = index.find(claim)
    if found is None:
        nothing = Evidence(index.source.id, "", 0, 0, Verdict.UNSUPPORTED, reasons=(NOTHING,))
        return nothing, Check(Verdict.UNSUPPORTED, 0.0)
    check = check_claim(claim, found.quote, context=index.context(claim, found), similarity=similarity)
    return replace(found, verdict=check.verdict or Verdict.UNCHECKED, reasons=check.reasons), check


def repoint(claim: str, indexes: Mapping[str, EvidenceIndex], cited: Sequence[str]) -> Evidence | None:
    """The best evidence in a read source that was not cited, as `MOVED`; None where no other supports the claim."""
    best: tuple[float, Evidence] | None = None
    for source_id, index in indexes.items():
        if source_id in cited:
            continue
        evidence, check = examine(claim, index)
        if check.verdict is Verdict.SUPPORTED and (best is None or check.probability > best[0]):
            best = (check.probability, evidence)
    return replace(best[1], verdict=Verdict.MOVED) if best else None
