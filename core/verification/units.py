"""Units: five milligrams are not five grams, nor five per cent five people."""

from __future__ import annotations

from core.evidence.words import Kind, measure
from core.verification.finding import Finding, Weight
from core.verification.pair import Pair

RULE = "units"


def check_units(pair: Pair) -> list[Finding]:
    """The same number of something else, unless the source has it of the same thing elsewhere."""
    findings = []
    for claimed, said in pair.alignment.partner.items():
        if claimed.kind is not Kind.NUMBER or said.kind is not Kind.NUMBER:
            continue
        ours, theirs = measure(pair.claim, claimed), measure(pair.beside, said)
        if ours is None or theirs is None or ours.same_as(theirs):
            continue
        if not any(ours.same_as(measure(pair.wider, other)) for other in pair.wider.numbers):
            reason = f"the source says {said.text} {theirs.unit}, not {claimed.text} {ours.unit}"
            findings.append(Finding(RULE, Weight.CONTRADICTS, reason))
    return findings
