"""What is built from the environment, in this process."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bots.config import read_settings
from bots.wiring import open_house


async def test_warming_up_reaches_the_search_providers(tmp_path: Path) -> None:
    """Through whatever stands around them: the first question finds the index of files made."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tides.md").write_text("# Tides", encoding="utf-8")
    env = {"GORKD_DATA": str(tmp_path / "data"), "GORKD_FILES": str(folder), "GORKD_PROVIDERS": "files,wikipedia"}

    async with open_house(env, read_settings(env), grace_s=0, role="front") as house:
        await house.warm_up()

    with sqlite3.connect(tmp_path / "data" / "files.db") as index:
        assert index.execute("SELECT COUNT(*) FROM files").fetchone() == (1,)
