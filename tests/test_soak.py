"""The soak itself: every known fault has its place, and a short one ends well."""

from __future__ import annotations

import json

import pytest

from tests.shared_data import ROOT, shared_data
from tests.soak.__main__ import soak
from tests.soak.faults import ELSEWHERE, INFLICTED


def test_every_known_fault_is_inflicted_or_tested_elsewhere() -> None:
    rows = [json.loads(line) for line in shared_data("hostile_sample", "provider_faults.jsonl").open(encoding="utf-8")]

    places = {name: (ROOT / place).is_file() for name, place in ELSEWHERE.items()}

    assert {row["id"] for row in rows} <= {*INFLICTED, *ELSEWHERE}
    assert all(places.values()), places


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_short_soak_loses_and_doubles_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """All processes over PostgreSQL and Redis, with faults and kills; `make soak` goes on for half an hour."""
    is_good = await soak(1.5, seed=1)

    assert is_good, capsys.readouterr().out
