"""When a worker counts as silent, whatever the clocks do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from adapters.durable.worker import SilentWorkers
from tests.fakes import NOW

HOUR = 3600.0


def when_given_up(
    *,
    dies_at: float | None,
    jumps: float = 0.0,
    differs: float = 0.0,
    starts_at: float = 0.0,
    blind: range = range(0),
    stalled: Sequence[int] = (),
) -> float | None:
    """The second at which a worker that beats every 2 s is given up by one that looks every second; None: never.

    At second 20 the clock of both `jumps`; the other's clock `differs` all the time; within `blind` no look succeeds,
    while both are `stalled` nobody does anything.
    """
    silence = SilentWorkers(silent_s=15, confirm_s=5)
    beat = NOW
    for second in range(120):
        if second in stalled:
            continue
        clock = NOW + timedelta(seconds=second + (jumps if second >= 20 else 0))
        if second % 2 == 0 and (dies_at is None or second < dies_at) and second not in blind:
            beat = clock + timedelta(seconds=differs)
        if second in blind:
            silence.begin_anew()
        can_look = second >= starts_at and second not in blind
        if can_look and silence.look({"other": beat}, clock=clock, stopwatch=1e5 + second):
            return second
    return None


@pytest.mark.parametrize("differs", [0.0, HOUR, -HOUR])
@pytest.mark.parametrize("jumps", [0.0, HOUR, -HOUR])
def test_who_lives_is_never_given_up(jumps: float, differs: float):
    """Not when the clock jumps, nor when two machines never agree."""
    assert when_given_up(dies_at=None, jumps=jumps, differs=differs) is None


@pytest.mark.parametrize(
    ("jumps", "differs", "expected"),
    [
        pytest.param(0.0, 0.0, 43, id="usual"),
        pytest.param(-HOUR, 0.0, 43, id="clock was set back"),
        pytest.param(HOUR, 0.0, 43, id="clock was set forward before"),
        pytest.param(0.0, HOUR, 43, id="its clock was ahead"),
        pytest.param(0.0, -HOUR, 33, id="its clock was behind"),
    ],
)
def test_who_is_dead_is_given_up_after_fifteen_seconds(jumps: float, differs: float, expected: int):
    """Its last beat was at second 28; a clock that is set back must not keep it alive for an hour."""
    assert when_given_up(dies_at=30, jumps=jumps, differs=differs) == expected


def test_who_died_long_ago_is_given_up_soon():
    """A worker that starts after the machine's restart need not wait the whole time."""
    assert when_given_up(dies_at=30, starts_at=60) == 65


def test_time_in_which_nobody_could_look_is_nobodys_silence():
    """The database was away for half a minute: nobody could beat either."""
    assert when_given_up(dies_at=None, blind=range(30, 60)) is None


def test_a_machine_that_stood_still_is_nobodys_silence():
    """Neither ran for half a minute, and who looks comes to itself a second before the other beats again."""
    assert when_given_up(dies_at=None, stalled=range(30, 61)) is None


def test_who_is_dead_is_given_up_on_a_machine_that_often_stands_still():
    """Its last beat was at second 20; who runs every tenth second alone finds the dead all the same."""
    looks = [second for second in range(120) if second % 10]
    assert when_given_up(dies_at=30, stalled=looks) == 40
