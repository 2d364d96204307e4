"""Figures of merit for a score 0…1 against a yes or no."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class PrecisionRecall:
    precision: float
    recall: float


def auroc(scores: Floats, labels: Bools) -> float:
    """The chance that a supported claim scores above one that is not; ties count half (Mann & Whitney 1947)."""
    order = np.argsort(scores, kind="stable")
    _, inverse, counts = np.unique(scores[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = np.empty(len(scores))
    ranks[order] = (ends - (counts - 1) / 2)[inverse]
    positive = int(labels.sum())
    negative = len(labels) - positive
    return float((ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * negative))


def balanced_accuracy(said: Bools, labels: Bools) -> float:
    return float((said[labels].mean() + (~said[~labels]).mean()) / 2)


def precision_recall(said: Bools, labels: Bools) -> PrecisionRecall:
    """Of "supported": the share of those said that are, and the share of those that are that were said."""
    hits = float((said & labels).sum())
    return PrecisionRecall(hits / said.sum() if said.any() else float("nan"), hits / labels.sum())


def recall_at_precision(scores: Floats, labels: Bools, precision: float) -> float:
    """The best recall of any threshold with at least this precision; 0 if there is none."""
    best = 0.0
    for threshold in np.unique(scores):
        figures = precision_recall(scores >= threshold, labels)
        if figures.precision >= precision:
            best = max(best, figures.recall)
    return best


def calibration_error(scores: Floats, labels: Bools, bins: int = 10) -> float:
    """The mean distance of probability and share over equal-width bins, weighted by size (ECE)."""
    places = np.minimum((scores * bins).astype(int), bins - 1)
    return float(
        sum(
            abs(scores[places == place].mean() - labels[places == place].mean()) * (places == place).mean()
            for place in np.unique(places)
        )
    )
