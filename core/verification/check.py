"""The check of one claim against one passage: every rule, then one probability, then a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable

from core.answer import Verdict
from core.evidence import index_text
from core.verification.coverage import check_wording, cover, cover_pairs
from core.verification.finding import Check, Finding, Weight
from core.verification.negation import check_negation, check_opposites
from core.verification.numbers import check_numbers
from core.verification.pair import Pair, pair

SUPPORTED_FROM = 0.75  # probability; docs/evaluation.md
UNSUPPORTED_BELOW = 0.25
RULES: tuple[Callable[[Pair], list[Finding]], ...] = (check_numbers, check_negation, check_opposites, check_wording)


def check_claim(claim: str, passage: str, *, context: str = "", similarity: float | None = None) -> Check:
    """Whether `passage`, read with its `context` (title, neighbouring sentences), says what `claim` says.

    `similarity` is the cosine of claim and passage, −1…1, where an embedder is at hand.
    """
    best = index_text(passage).best(claim)
    window = passage[best.start : best.end] if best else passage
    return judge(pair(claim, window, f"{passage}\n{context}" if context else passage), similarity=similarity)


def judge(pair: Pair, *, similarity: float | None = None) -> Check:
    findings = tuple(finding for rule in RULES for finding in rule(pair))
    covered = (
        0.5 * cover(pair.claim, pair.window)
        + 0.3 * cover(pair.claim, pair.wider)
        + 0.2 * cover_pairs(pair.claim, pair.window)
    )
    probability = 1 / (1 + math.exp(-10 * (covered - 0.65)))
    if any(finding.weight is Weight.CONTRADICTS for finding in findings):
        return Check(Verdict.UNSUPPORTED, min(probability, 0.1), findings)
    if probability >= SUPPORTED_FROM:
        return Check(Verdict.SUPPORTED, probability, findings)
    return Check(Verdict.UNSUPPORTED if probability < UNSUPPORTED_BELOW else None, probability, findings)
