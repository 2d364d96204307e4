"""How often each confidence was right, with how sure that is (N-25)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.answer import Confidence
from core.tenancy.usage import MIN_JUDGED, JudgedAnswers, calibration, wilson

# Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3: Wilson's interval of 81/263, 15/148, 0/20, 1/29
PUBLISHED = [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]


@pytest.mark.parametrize(("right", "judged", "low", "high"), PUBLISHED)
def test_intervals_are_those_of_the_literature(right: int, judged: int, low: float, high: float):
    assert wilson(right, judged) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10_000), st.data())
def test_an_interval_holds_its_share(judged: int, data: st.DataObject):
    right = data.draw(st.integers(0, judged))

    low, high = wilson(right, judged)

    assert 0 <= low <= right / judged <= high <= 1


@pytest.mark.parametrize(("right", "judged"), [(1, 0), (2, 1), (-1, 3)])
def test_what_is_no_share_has_no_interval(right: int, judged: int):
    with pytest.raises(ValueError, match=str(judged)):
        wilson(right, judged)


def test_too_few_are_told_as_such():
    judged = [
        JudgedAnswers(Confidence.HIGH, "votes", 18, 20),
        JudgedAnswers(Confidence.HIGH, "evaluations", 1, 5),
        JudgedAnswers(Confidence.LOW, "votes", 1, MIN_JUDGED - 1),
    ]

    high, medium, low = calibration(judged, "votes")

    assert high.says == "90 % of 20 right (95 %: 70 % to 97 %)"
    assert medium.says == f"too few to say: 0 of at least {MIN_JUDGED}"
    assert low.share is None
    assert calibration(judged)[0].judged == 25
