"""The check of one claim against one passage: every rule, then one probability, then a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable

from core.answer import Verdict
from core.evidence.passages import index_text
from core.verification.additions import check_additions
from core.verification.attribution import check_attribution
from core.verification.clauses import check_clauses
from core.verification.coefficients import COEFFICIENTS, INTERCEPT
from core.verification.comparisons import check_comparisons
from core.verification.coverage import check_wording
from core.verification.dates import check_dates
from core.verification.features import Features, measure_features
from core.verification.finding import Check, Finding, Weight
from core.verification.modality import check_certainty
from core.verification.names import check_names
from core.verification.negation import check_negation, check_opposites
from core.verification.numbers import check_numbers
from core.verification.order import check_order
from core.verification.pair import Pair, make_pair
from core.verification.quantifiers import check_quantifiers
from core.verification.quotations import check_quotations
from core.verification.roles import check_roles
from core.verification.scatter import check_scatter
from core.verification.tense import check_tense
from core.verification.units import check_units

# Probabilities; chosen on the labelled data by docs/evaluation.md.
SUPPORTED_FROM = 0.75
PARTIAL_FROM = 0.15
UNSUPPORTED_BELOW = 0.1
MAX_IF_CONTRADICTED = 0.1
SIMILARITY_PULL = 0.5  # on the log odds at cosine 1, none at 0.5; by judgement, so too small to decide alone
MAX_CLAIM_CHARS = 2000  # a claim is a sentence; what is longer cannot be checked as one, and costs time
MAX_SENTENCES = 16  # of a passage read whole; of a longer one, the parts that bear on the claim

RULES: tuple[Callable[[Pair], list[Finding]], ...] = (
    check_numbers,
    check_dates,
    check_units,
    check_comparisons,
    check_negation,
    check_opposites,
    check_names,
    check_roles,
    check_quotations,
    check_certainty,
    check_attribution,
    check_quantifiers,
    check_tense,
    check_wording,
    check_scatter,
    check_clauses,
    check_order,
    check_additions,
)


def check_claim(claim: str, passage: str, *, context: str = "", similarity: float | None = None) -> Check:
    """Whether `passage`, read with its `context` (title, neighbouring sentences), says what `claim` says.

    `similarity` is the cosine of claim and passage, −1…1, where an embedder is at hand. The verdict
    is None where neither the rules nor the probability decide.
    """
    if len(claim) > MAX_CLAIM_CHARS:
        return Check(Verdict.UNSUPPORTED, 0.0, (Finding("length", Weight.CONTRADICTS, "too long for one claim"),))
    findings, features = inspect_claim(claim, passage, context=context)
    return conclude(support_probability(features, similarity), findings)


def conclude(probability: float, findings: tuple[Finding, ...]) -> Check:
    """The verdict that follows: a contradiction decides, and what is open or in doubt is never marked as supported."""
    if any(finding.weight is Weight.CONTRADICTS for finding in findings):
        return Check(Verdict.UNSUPPORTED, min(probability, MAX_IF_CONTRADICTED), findings)
    if probability >= SUPPORTED_FROM and not findings:
        return Check(Verdict.SUPPORTED, probability, findings)
    return Check(Verdict.UNSUPPORTED if probability < UNSUPPORTED_BELOW else None, probability, findings)


def settle(check: Check) -> Verdict:
    """The verdict where no model can be asked: an undecided claim is never more than partial."""
    if check.verdict is not None:
        return check.verdict
    return Verdict.PARTIAL if check.probability >= PARTIAL_FROM else Verdict.UNSUPPORTED


def merge(check: Check, said: Verdict | None) -> Verdict:
    """The verdict once a language model was asked: `said` counts only where the rules left the claim undecided.

    What a rule doubts the model may call partial at best; what it did not answer is settled without it.
    """
    if check.verdict is not None or said is None:
        return settle(check)
    if said is Verdict.SUPPORTED and check.is_doubted:
        return Verdict.PARTIAL
    return said


def inspect_claim(claim: str, passage: str, *, context: str = "") -> tuple[tuple[Finding, ...], Features]:
    """What the rules find, and the figures that the model weighs."""
    index = index_text(passage)
    best = index.best(claim)
    window = index.sentences(best) if best else [passage]
    if len(index.spans) > MAX_SENTENCES:
        passage = "\n".join(index.select(claim, best))
    wider = f"{passage}\n{context}" if context else passage
    read = make_pair(claim, window, wider)
    findings = tuple(finding for rule in RULES for finding in rule(read))
    return findings, measure_features(read, index_text(wider), findings)


def support_probability(features: Features, similarity: float | None = None) -> float:
    """Of a claim with these figures, how often a person would say that the passage supports it; 0…1."""
    odds = INTERCEPT + sum(
        weight * value for weight, value in zip(COEFFICIENTS.values(), features.values(), strict=True)
    )
    if similarity is not None:
        odds += SIMILARITY_PULL * (2 * similarity - 1)
    return 1 / (1 + math.exp(-odds))
