"""Golden renderings: what people see, kept as files, so that a change of wording is seen in review.

`GORKD_UPDATE_GOLDEN=1 python -m pytest …` writes them anew; look at the difference before keeping it.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def assert_golden(name: str, shown: str) -> None:
    """`shown` is what the file `name` holds."""
    path = FOLDER / name
    if os.environ.get("GORKD_UPDATE_GOLDEN"):
        path.write_text(shown, "utf-8")
    assert path.exists(), f"no golden file {name}; write it with GORKD_UPDATE_GOLDEN=1"
    assert shown == path.read_text("utf-8")
