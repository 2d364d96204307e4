"""The fitted model. Written by `python -m tests.evals.fit`; do not edit by hand.

Fitted 2026-11-21.
"""

from __future__ import annotations

INTERCEPT = -3.29
COEFFICIENTS: dict[str, float] = {
    "wording": 1.31,
    "focus": 4.2,
    "names": 0.5,
    "numbers": 1.03,
    "gap": 0.35,
    "contradicted": 0.91,
}
