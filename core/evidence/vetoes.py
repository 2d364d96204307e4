"""Temporary: the old rules behind the new names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Force(StrEnum):
    CONTRADICTS = "contradicts"
    DOUBTS = "doubts"


@dataclass(frozen=True)
class Veto:
    rule: str
    force: Force
    reason: str


def find_vetoes(claim: str, passage: str, *, context: str = "", before: str = "") -> tuple[Veto, ...]:
    from core.verification.check import check_claim
    from core.verification.finding import Weight

    found = []
    for finding in check_claim(claim, passage, context=context).findings:
        if finding.weight is Weight.OPEN:
            continue
        force = Force.CONTRADICTS if finding.weight is Weight.CONTRADICTS else Force.DOUBTS
        found.append(Veto(finding.rule, force, finding.reason))
    return tuple(found)


def says_same(one: str, other: str) -> bool:
    from core.answer import Verdict
    from core.verification.check import check_claim

    return check_claim(one, other).verdict is Verdict.SUPPORTED
