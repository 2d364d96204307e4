"""What is built from the environment, in this process."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from dbos._dbos import _get_dbos_instance
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from bots.config import read_settings
from bots.wiring import open_house


async def test_warming_up_reaches_the_search_providers(tmp_path: Path) -> None:
    """Through whatever stands around them: the first question finds the index of files made."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tides.md").write_text("# Tides", encoding="utf-8")
    env = {"GORKD_DATA": str(tmp_path / "data"), "GORKD_FILES": str(folder), "GORKD_PROVIDERS": "files,wikipedia"}

    async with open_house(env, read_settings(env), grace_s=0, role="alone") as house:
        await house.warm_up()

    with closing(sqlite3.connect(tmp_path / "data" / "files.db")) as index:
        assert index.execute("SELECT COUNT(*) FROM files").fetchone() == (1,)


async def test_journal_that_fails_tells_the_log_nothing_of_what_it_was_to_hold(tmp_path: Path) -> None:
    """It holds the steps of jobs: SQLAlchemy's errors quote the values of a statement unless they are told not to."""
    env = {"GORKD_DATA": str(tmp_path / "data"), "GORKD_PROVIDERS": "wikipedia"}

    async with open_house(env, read_settings(env), grace_s=0, role="worker"):
        journal = _get_dbos_instance()._sys_db.engine
        with journal.connect() as connection, pytest.raises(SQLAlchemyError) as failed:
            connection.execute(text("INSERT INTO nowhere VALUES (:output)"), {"output": "Kim is ill."})

    assert "nowhere" in str(failed.value)
    assert "Kim" not in str(failed.value)
