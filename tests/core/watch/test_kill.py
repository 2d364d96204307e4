"""kill -9 of processes that run watches, over a store on disk (tests/bench/watching.py, which does it more often)."""

from __future__ import annotations

import pytest

from tests.bench.watching import kill_watches


@pytest.mark.slow
async def test_a_change_is_told_once_whoever_is_killed():
    """N-20: two processes, ten kills at any moment; each change is told once and each time is asked once."""
    told = await kill_watches(10, seed=3)

    assert told.is_good, told
    assert told.changes >= 2
