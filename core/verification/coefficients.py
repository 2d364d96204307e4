"""The fitted model of the check. Written by `python -m tests.evals.fit`; not to be edited by hand.

Logistic regression, no coefficient negative, L2 penalty 1, on 1473 labelled pairs, fitted 2026-11-21.
Each data file counts the same. Files in the data folder, with their SHA-256:
- attribution/wice_oracle_chunks_dev.jsonl
  ae33170930d690cb96cd46f097ec5658daaf7fd6700d6d2bf97644e3a8dfb2f9
- attribution/begin_dev.tsv
  2ebfc95a1ff267e12dcce3250da4d158e1811c62e9e1a0d56f110efc9ace0178
"""

from __future__ import annotations

INTERCEPT = -5.2675
COEFFICIENTS: dict[str, float] = {
    "wording": 2.6177,
    "focus": 4.8468,
    "contradicted": 1.3655,
}
