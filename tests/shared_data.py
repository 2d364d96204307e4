"""Where the optional folder of real test data lies; tests that need it skip visibly when it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("GORKD_TEST_DATA", ROOT.parent / "shared"))


class DataAbsent(Exception):
    """`str` is the path that is missing."""


def shared_data(*parts: str) -> Path:
    """The path below `data/`; skips the calling test when it does not exist."""
    path = SHARED.joinpath("data", *parts)
    if not path.exists():
        pytest.skip(f"no test data at {path} (set GORKD_TEST_DATA)")
    return path


def shared_spec(*parts: str) -> Path:
    """The path below `specs/`, where the platforms' own descriptions lie; skips as `shared_data` does."""
    path = SHARED.joinpath("specs", *parts)
    if not path.exists():
        pytest.skip(f"no platform descriptions at {path} (set GORKD_TEST_DATA)")
    return path
