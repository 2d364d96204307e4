"""Logistic regression with signs, in numpy, and splits that keep a document on one side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.evals.metrics import Bools, Floats

PENALTY = 1.0  # L2, on standardised features
ROUNDS = 2000


@dataclass(frozen=True)
class Model:
    intercept: float
    coefficients: Floats

    def probabilities(self, features: Floats) -> Floats:
        odds = self.intercept + features @ self.coefficients
        return np.asarray(1 / (1 + np.exp(-odds)))


def fit_logistic(features: Floats, labels: Bools, weights: Floats) -> Model:
    """No coefficient is negative: every feature is defined so that more of it means more support.

    Accelerated projected gradient (Nesterov 1983; Beck & Teboulle 2009).
    """
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    design = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    penalty = np.array([0.0] + [PENALTY] * features.shape[1])
    step = 1 / (0.25 * np.linalg.norm(design * np.sqrt(weights)[:, None], 2) ** 2 + PENALTY)
    beta, ahead, pace = np.zeros(design.shape[1]), np.zeros(design.shape[1]), 1.0
    for _ in range(ROUNDS):
        errors = 1 / (1 + np.exp(-design @ ahead)) - labels
        following = ahead - step * (design.T @ (weights * errors) + penalty * ahead)
        following[1:] = np.maximum(following[1:], 0.0)
        next_pace = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        ahead = following + (pace - 1) / next_pace * (following - beta)
        beta, pace = following, next_pace
    coefficients = beta[1:] / spread
    return Model(float(beta[0] - coefficients @ mean), coefficients)


def grouped_folds(groups: Sequence[str], folds: int, seed: int) -> list[int]:
    """The fold of each row; rows of one group share a fold."""
    names = sorted(set(groups))
    np.random.default_rng(seed).shuffle(names)
    place = {name: position % folds for position, name in enumerate(names)}
    return [place[group] for group in groups]
