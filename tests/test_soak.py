"""The soak itself: every known fault has its place, and a short one ends well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shared_data import ROOT, shared_data
from tests.soak import kills
from tests.soak.__main__ import soak
from tests.soak.faults import ELSEWHERE, INFLICTED


def test_every_known_fault_is_inflicted_or_tested_elsewhere() -> None:
    rows = [json.loads(line) for line in shared_data("hostile_sample", "provider_faults.jsonl").open(encoding="utf-8")]

    places = {name: (ROOT / place).is_file() for name, place in ELSEWHERE.items()}

    assert {row["id"] for row in rows} <= {name for faults in INFLICTED.values() for name in faults} | {*ELSEWHERE}
    assert all(places.values()), places


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_kills_lose_and_double_nothing_and_go_on_where_they_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few of them, twice; `make soak ARGS=kills` goes on for hundreds."""
    monkeypatch.setattr(kills, "KILLS_A_ROUND", 2)

    runs = [await kills.soak_kills(wanted, 1, tmp_path, ("sqlite",)) for wanted in (2, 4)]

    printed = capsys.readouterr().out
    counted = json.loads((tmp_path / "kills.json").read_text())["sqlite"]
    assert runs == [True, True], printed
    assert (counted["kills"], counted["rounds"]) == (4, 2)
    assert counted["answered"] == counted["asked"] > 0


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("database", INFLICTED)
async def test_a_short_soak_loses_and_doubles_nothing(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All processes over their stores, with faults and kills; `make soak` goes on for half an hour."""
    is_good = await soak(1.5, 1, database)

    assert is_good, capsys.readouterr().out
