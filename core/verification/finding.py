"""What the rules report, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.answer import Verdict


class Weight(StrEnum):
    """What a finding means for the claim: it may stand, it is in doubt, or it may not be shown."""

    FOR = "for"
    AGAINST = "against"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True)
class Finding:
    """What one rule saw. `rule` is its name; `reason` is for people: "the source says 2023, not 2024"."""

    rule: str
    weight: Weight
    reason: str


@dataclass(frozen=True)
class Check:
    """`verdict` is None where the rules cannot tell; `probability` of support is 0…1."""

    verdict: Verdict | None
    probability: float
    findings: tuple[Finding, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in a few words each: what speaks against the claim first."""
        ranked = sorted(self.findings, key=lambda finding: list(Weight).index(finding.weight), reverse=True)
        return tuple(finding.reason for finding in ranked)
