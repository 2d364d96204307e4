"""Whether what is kept can be used: tried by writing, on both databases, and by a look at the file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from adapters.records.sql import try_out
from adapters.records.sqlite import FILE_NAME, Database
from core.model.errors import StoreError


async def test_a_database_that_works_is_sound_again_and_again(tables, clock):
    for _ in range(3):
        await try_out(tables, clock)

    assert len(await tables.rows("SELECT name FROM tries")) == 1


async def test_a_database_that_cannot_be_written_is_not(postgres, clock):
    """Reading alone would not show it."""
    await postgres.execute("ALTER TABLE tries RENAME TO tries_gone")
    try:
        with pytest.raises(StoreError):
            await try_out(postgres, clock)
    finally:
        await postgres.execute("ALTER TABLE tries_gone RENAME TO tries")


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    file.rename(file.with_name("kept"))
    file.write_bytes(file.with_name("kept").read_bytes())


def overwrite(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(b"\x00" * 4096)


@pytest.mark.parametrize(
    ("happens", "words"), [(remove, "is gone"), (replace, "was replaced"), (overwrite, "is not a database")]
)
async def test_a_file_that_is_taken_away_or_overwritten_is_not_sound(happens, words: str, tmp_path: Path, clock):
    """SQLite itself writes on into a file that has no name any more, and everything is lost at the next start."""
    database = await Database.open(tmp_path)
    await try_out(database, clock)

    await asyncio.to_thread(happens, tmp_path / FILE_NAME)

    with pytest.raises(StoreError, match=words):
        await try_out(database, clock)
    await database.aclose()


async def test_a_look_at_the_file_lets_go_of_no_lock_on_it(tmp_path: Path, clock):
    """A process that closes a descriptor of its own on a file loses all of SQLite's locks on that file; whoever opens
    and closes the database elsewhere then takes its log away under it (sqlite.org/howtocorrupt.html, 2.2).
    """
    database = await Database.open(tmp_path)
    await try_out(database, clock)
    log = tmp_path / f"{FILE_NAME}-wal"
    before = log.stat().st_ino

    visit = f"c = sqlite3.connect({str(tmp_path / FILE_NAME)!r}); c.execute('SELECT * FROM tries'); c.close()"
    elsewhere = await asyncio.create_subprocess_exec(sys.executable, "-c", f"import sqlite3; {visit}")

    assert await elsewhere.wait() == 0
    assert log.exists()
    assert log.stat().st_ino == before
    await database.aclose()
