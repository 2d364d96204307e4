"""The figures the evaluation prints are computed right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evals.fitting import fit_logistic, grouped_folds
from tests.evals.metrics import auroc, balanced_accuracy, calibration_error, precision_recall, recall_at_precision

LABELS = np.array([True, True, False, False])


@pytest.mark.parametrize(
    ("scores", "area"),
    [([0.9, 0.8, 0.2, 0.1], 1.0), ([0.1, 0.2, 0.8, 0.9], 0.0), ([0.5] * 4, 0.5), ([0.9, 0.3, 0.5, 0.1], 0.75)],
    ids=["parted", "reversed", "ties", "one pair wrong"],
)
def test_auroc_is_the_share_of_pairs_in_order(scores: list[float], area: float) -> None:
    """Counted by hand: of the four pairs, those in order, ties half."""
    assert auroc(np.array(scores), LABELS) == pytest.approx(area)


def test_the_other_figures_match_a_count_by_hand() -> None:
    """One hit, one miss, one false alarm, one true refusal."""
    said = np.array([True, False, True, False])

    figures = precision_recall(said, LABELS)

    assert (figures.precision, figures.recall) == (0.5, 0.5)
    assert balanced_accuracy(said, LABELS) == 0.5
    assert recall_at_precision(np.array([0.9, 0.3, 0.5, 0.1]), LABELS, 0.9) == 0.5
    assert calibration_error(np.array([1.0, 1.0, 0.0, 0.0]), LABELS) == 0.0


def test_the_fit_finds_the_telling_feature_and_refuses_a_negative_one() -> None:
    """A feature against the label gets no weight, as no coefficient may be negative."""
    rng = np.random.default_rng(1)
    labels = rng.random(400) < 0.5
    telling = labels + rng.normal(0, 0.5, 400)
    features = np.column_stack([telling, rng.normal(0, 0.5, 400) - labels])

    model = fit_logistic(features, labels, np.ones(400))

    assert model.coefficients[0] > 1
    assert model.coefficients[1] == 0
    assert auroc(model.probabilities(features), labels) > 0.85


def test_rows_of_one_group_share_a_fold() -> None:
    """No document stands on both sides of a split."""
    groups = [f"document {n % 17}" for n in range(200)]

    folds = grouped_folds(groups, 5, seed=3)

    assert len(set(zip(groups, folds, strict=True))) == 17
    assert set(folds) == set(range(5))
