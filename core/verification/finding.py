"""What the rules report, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.answer import Verdict


class Weight(StrEnum):
    """What a finding means for the claim: rules cannot confirm it, it is in doubt, or it may not be shown.

    What is open a language model may still find supported; what is in doubt it may call partial at best.
    """

    OPEN = "open"
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
    def is_doubted(self) -> bool:
        """Whether a rule speaks against the claim, so that no model's word may raise it above partial."""
        return any(finding.weight is not Weight.OPEN for finding in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in a few words each, what weighs most first; what is merely open only where nothing weighs more."""
        ranked = sorted(self.findings, key=lambda finding: list(Weight).index(finding.weight), reverse=True)
        return tuple(finding.reason for finding in ranked if finding.weight is not Weight.OPEN or not self.is_doubted)
