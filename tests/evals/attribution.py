"""The check against people's judgement: claims and passages that annotators labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from core.answer import Verdict
from core.verification import check
from core.verification.check import RULES, inspect_claim, settle
from core.verification.features import Features
from core.verification.finding import Finding
from tests.evals import metrics
from tests.evals.datasets import BEGIN, WICE, LabelledPair, load_begin, load_wice, sha256_of
from tests.evals.fitting import Model, fit_logistic, grouped_folds
from tests.evals.metrics import Bools, Floats

FOLDS, SEED = 10, 0
FEATURE_NAMES = tuple(field.name for field in fields(Features))


@dataclass(frozen=True)
class Table:
    """The figures of one data set, row by row."""

    name: str
    pairs: tuple[LabelledPair, ...]
    features: Floats
    findings: tuple[tuple[Finding, ...], ...]

    @property
    def labels(self) -> Bools:
        return np.array([pair.is_supported for pair in self.pairs])

    @property
    def groups(self) -> list[str]:
        return [f"{self.name}:{pair.group}" for pair in self.pairs]


@cache
def tables() -> tuple[Table, ...]:
    return tuple(_table(name, pairs) for name, pairs in (("WiCE", load_wice()), ("BEGIN", load_begin())))


def _table(name: str, pairs: Sequence[LabelledPair]) -> Table:
    inspected = [inspect_claim(pair.claim, pair.passage) for pair in pairs]
    features = np.array([figures.values() for _, figures in inspected])
    return Table(name, tuple(pairs), features, tuple(findings for findings, _ in inspected))


def fit_tables(chosen: Sequence[Table], rows: Sequence[Bools] | None = None) -> Model:
    """One model of all the tables, each counting the same however many rows it has."""
    kept = rows if rows is not None else [np.ones(len(table.pairs), dtype=bool) for table in chosen]
    total = sum(int(keep.sum()) for keep in kept)
    weights = np.concatenate([np.full(keep.sum(), total / len(kept) / keep.sum()) for keep in kept])
    features = np.concatenate([table.features[keep] for table, keep in zip(chosen, kept, strict=True)])
    labels = np.concatenate([table.labels[keep] for table, keep in zip(chosen, kept, strict=True)])
    return fit_logistic(features, labels, weights)


def cross_validated(chosen: Sequence[Table]) -> list[Floats]:
    """For each table the probabilities of models that saw no row of the same document."""
    folds = [np.array(grouped_folds(table.groups, FOLDS, SEED)) for table in chosen]
    scores = [np.zeros(len(table.pairs)) for table in chosen]
    for fold in range(FOLDS):
        model = fit_tables(chosen, [places != fold for places in folds])
        for table, places, score in zip(chosen, folds, scores, strict=True):
            score[places == fold] = model.probabilities(table.features[places == fold])
    return scores


def print_attribution() -> None:
    chosen = tables()
    print(f"data: {WICE} {sha256_of(WICE)}\n      {BEGIN} {sha256_of(BEGIN)}")
    print(f"split: {FOLDS}-fold cross-validation grouped by document, seed {SEED}; both sets weigh the same\n")
    scores = cross_validated(chosen)
    for table, score in zip(chosen, scores, strict=True):
        _print_table(table, score)
        _print_single_features(table)
        _print_rules(table)
    _print_pooled(chosen, scores)
    _print_other_set(chosen)
    print("with embeddings: not measured (no embedding endpoint is set)")
    print("with the language model's batched call: not measured (no model endpoint is set)\n")


def _print_table(table: Table, scores: Floats) -> None:
    labels = table.labels
    shares = f"{int(labels.sum())} of {len(labels)} supported"
    print(f"{table.name} ({shares})")
    print(f"  all rules, one model    AUROC {metrics.auroc(scores, labels):.3f}", end="")
    print(f"   calibration error {metrics.calibration_error(scores, labels):.3f}", end="")
    print(f"   recall at precision .90: {metrics.recall_at_precision(scores, labels, 0.9):.2f}")
    verdicts = [_verdict(score, findings) for score, findings in zip(scores, table.findings, strict=True)]
    _print_verdicts("  ", verdicts, labels)
    if table.name == "WiCE":
        clear = np.array([pair.label != "partially_supported" for pair in table.pairs])
        print(f"    without the partially supported: AUROC {metrics.auroc(scores[clear], labels[clear]):.3f}")


def _verdict(probability: float, findings: Sequence[Finding]) -> Verdict:
    return settle(check.conclude(float(probability), tuple(findings)))


def _print_verdicts(indent: str, verdicts: Sequence[Verdict], labels: Bools) -> None:
    marked = np.array([verdict is Verdict.SUPPORTED for verdict in verdicts])
    cut = np.array([verdict is Verdict.UNSUPPORTED for verdict in verdicts])
    figures = metrics.precision_recall(marked, labels)
    print(f"{indent}  marked supported: precision {figures.precision:.3f} recall {figures.recall:.3f}", end="")
    print(f"   balanced accuracy {metrics.balanced_accuracy(marked, labels):.3f}", end="")
    print(f"   cut: {cut[labels].mean():.1%} of the supported, {cut[~labels].mean():.1%} of the rest")


def _print_single_features(table: Table) -> None:
    print("  each figure alone, unfitted (the baselines):")
    for position, name in enumerate(FEATURE_NAMES):
        column = table.features[:, position]
        best = max(metrics.balanced_accuracy(column >= cut, table.labels) for cut in np.unique(column))
        print(f"    {name:14} AUROC {metrics.auroc(column, table.labels):.3f}   best balanced accuracy {best:.3f}")


def _print_rules(table: Table) -> None:
    print("  each rule: how often it speaks up, of the supported and of the rest")
    labels = table.labels
    names = sorted({(finding.rule, finding.weight) for findings in table.findings for finding in findings})
    for rule, weight in names:
        fired = np.array([any((f.rule, f.weight) == (rule, weight) for f in findings) for findings in table.findings])
        print(f"    {rule:12} {weight.value:12} {fired[labels].mean():6.1%} {fired[~labels].mean():6.1%}")
    print(f"    ({len(RULES)} rules; those not listed never spoke up)\n")


def _print_pooled(chosen: Sequence[Table], scores: Sequence[Floats]) -> None:
    labels = np.concatenate([table.labels for table in chosen])
    findings = [found for table in chosen for found in table.findings]
    pooled = np.concatenate(list(scores))
    print(f"Both together             AUROC {metrics.auroc(pooled, labels):.3f}")
    _print_verdicts("", [_verdict(score, found) for score, found in zip(pooled, findings, strict=True)], labels)


def _print_other_set(chosen: Sequence[Table]) -> None:
    print("\nFitted on the one set, measured on the other (out of domain):")
    for table in chosen:
        others = [other for other in chosen if other is not table]
        scores = fit_tables(others).probabilities(table.features)
        verdicts = [_verdict(score, findings) for score, findings in zip(scores, table.findings, strict=True)]
        print(f"  {others[0].name} → {table.name:6} AUROC {metrics.auroc(scores, table.labels):.3f}")
        _print_verdicts("  ", verdicts, table.labels)
    print()
