"""Usage as tables: whole days, every day of a period once, and CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tenancy.usage import MAX_DAYS, Period, Usage, cost_words, days_of, usage_csv


def test_period_is_of_whole_days_in_utc():
    """An evening in New York is the next day there."""
    late = datetime(2026, 11, 20, 22, tzinfo=timezone(timedelta(hours=-5)))

    period = Period.of_days(7, now=late)

    assert (period.first, period.last) == (date(2026, 11, 15), date(2026, 11, 21))
    assert (period.begins_at, period.ends_at) == (
        datetime(2026, 11, 15, tzinfo=UTC),
        datetime(2026, 11, 22, tzinfo=UTC),
    )


@pytest.mark.parametrize("days", [0, -3, MAX_DAYS + 1])
def test_period_without_days_or_of_too_many_is_none(days: int):
    with pytest.raises(ValueError, match="days"):
        Period.of_days(days, now=datetime(2026, 11, 21, tzinfo=UTC))


@given(st.integers(1, 400), st.sets(st.integers(0, 399)))
def test_every_day_of_a_period_comes_once_and_keeps_its_count(days: int, asked: set[int]):
    period = Period.of_days(days, now=datetime(2026, 11, 21, tzinfo=UTC))
    kept = [Usage(day=f"{period.first + timedelta(days=n):%F}", questions=n + 1) for n in asked if n < days]

    filled = days_of(period, kept)

    assert [one.day for one in filled] == sorted({one.day for one in filled})
    assert len(filled) == days
    assert sum(one.questions for one in filled) == sum(one.questions for one in kept)


@pytest.mark.parametrize(
    ("cost", "unpriced", "said"),
    [
        pytest.param(0.0, 0, "$0.000", id="no model, or one that costs nothing"),
        pytest.param(0.0123, 0, "$0.012", id="known"),
        pytest.param(0.0, 3, "unknown", id="no price known"),
        pytest.param(0.0123, 1, "over $0.012", id="of some answers no price known"),
    ],
)
def test_cost_that_is_not_known_is_not_shown_as_nothing(cost: float, unpriced: int, said: str):
    assert cost_words(Usage(cost_usd=cost, unpriced=unpriced)) == said


@given(st.lists(st.builds(Usage, tenant=st.text(max_size=30), questions=st.integers(0), cost_usd=st.floats(0, 1e6))))
def test_csv_is_read_back_and_no_cell_begins_a_formula(entries: list[Usage]):
    """A tenant's name is the platform's, and a spreadsheet would run `=…` (OWASP, CSV injection)."""
    rows = list(csv.DictReader(io.StringIO(usage_csv(entries), newline="")))

    assert [int(row["questions"]) for row in rows] == [one.questions for one in entries]
    for row, entry in zip(rows, entries, strict=True):
        assert row["tenant"].removeprefix("'") == entry.tenant.removeprefix("'")
        assert not row["tenant"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        assert float(row["cost_usd"]) == pytest.approx(entry.cost_usd, abs=1e-6)
