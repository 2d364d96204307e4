"""The journal's own log lines, its reasons, and the names of workers: one each, and the same one again."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from adapters.durable.journal import WorkerSlot, quiet_logs, reason_of
from core.model.errors import SetupError


def test_a_database_that_is_away_is_not_told_by_every_thread_each_second(caplog: pytest.LogCaptureFixture):
    """The stores say when it goes and when it is back; nothing else is held back."""
    quiet_logs()
    lost = "Exception listing queues: (psycopg.OperationalError) connection failed: Connection refused"
    news = "Exception listing queues: no such table"

    for message in (lost, news, lost):
        logging.getLogger("dbos").warning(message)

    assert [record.getMessage() for record in caplog.records] == [news]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("connection failed: FATAL:  sorry, too many clients already", "the database has too many connections"),
        (
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "the database has too many connections",
        ),
        ("database or disk is full", "the disk is full"),
        ("[Errno 28] No space left on device: '/data/dbos.sqlite'", "the disk is full"),
        ("no such table: x\n[SQL: SELECT secret]", "no such table: x"),
        ("", "Exception"),
    ],
)
def test_causes_are_named(said: str, reason: str):
    assert reason_of(Exception(said)) == reason


@pytest.mark.parametrize("folders", [("a", "a"), ("a", "b")], ids=["one machine", "two that share a database"])
def test_workers_have_different_names(tmp_path: Path, folders: tuple[str, str]) -> None:
    """Two that shared one would take each other's jobs for their own."""
    first, second = (WorkerSlot.take(tmp_path / folder) for folder in folders)

    assert first.worker_id != second.worker_id
    first.release()
    second.release()


def test_whoever_comes_next_has_the_name_of_the_one_that_ended(tmp_path: Path) -> None:
    """So that it finds the jobs that one has left."""
    first = WorkerSlot.take(tmp_path)
    first.release()

    again = WorkerSlot.take(tmp_path)

    assert again.worker_id == first.worker_id
    again.release()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """In a sentence that says which setting to look at."""
    (tmp_path / "workers").write_text("a file, not a folder")

    with pytest.raises(SetupError) as refused:
        WorkerSlot.take(tmp_path)

    assert "GORKD_DATA" in refused.value.operator_message
