"""Names of workers: one each, and the same one again."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.durable.journal import WorkerSlot
from core.model.errors import SetupError


def test_workers_of_one_folder_have_different_names(tmp_path: Path) -> None:
    """Two that shared one would take each other's jobs for their own."""
    first, second = WorkerSlot.take(tmp_path), WorkerSlot.take(tmp_path)

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


def test_workers_of_two_folders_have_different_names(tmp_path: Path) -> None:
    """Machines that share a database have folders of their own."""
    here, there = WorkerSlot.take(tmp_path / "a"), WorkerSlot.take(tmp_path / "b")

    assert here.worker_id != there.worker_id
    here.release()
    there.release()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """In a sentence that says which setting to look at."""
    (tmp_path / "workers").write_text("a file, not a folder")

    with pytest.raises(SetupError) as refused:
        WorkerSlot.take(tmp_path)

    assert "GORKD_DATA" in refused.value.operator_message
