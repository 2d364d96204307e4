"""Simulated weeks: real changes are told, disguises are not, and silence is cheap (tests/evals/watching.py)."""

from __future__ import annotations

from tests.evals.watching import SMALL, Simulation


async def test_changes_are_told_and_disguises_are_not():
    """Eight changes and forty disguises in 24 days, with a judge that errs in a tenth of its pairs."""
    figures = await Simulation(*SMALL).run()

    assert sum(figures.happened.values()) >= 7
    assert sum(figures.told.values()) >= sum(figures.happened.values()) - 1
    assert figures.false_alarms == []
    assert figures.unchanged_runs > 20
    assert figures.dear_runs <= 1  # a page that is away a second time is no longer unchanged
    assert figures.wasted_bodies == 0
