"""What is built from the environment, in this process."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from dbos._dbos import _get_dbos_instance
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from bots.config import read_settings
from bots.wiring import _end, observed, open_house
from core.llm.ask_model import complete
from core.model.job import JobStatus, ResearchRequest
from core.model.ports import ChatRequest, job_id_var
from core.pipeline import conversation
from core.watch import words
from tests.fakes import FakeModel, MemoryTraceLog, make_deps, make_job


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


async def test_who_is_ready_has_made_the_patterns_of_words(tmp_path: Path) -> None:
    """A fifth of a second, which the first acknowledgement in a chat would wait for."""
    env = {"GORKD_DATA": str(tmp_path / "data"), "GORKD_PROVIDERS": "wikipedia"}
    patterns = (conversation._words, words._means)
    for made in patterns:
        made.cache_clear()

    async with open_house(env, read_settings(env), grace_s=0, role="front") as house:
        await house.warm_up()

    assert [made.cache_info().currsize for made in patterns] == [1, 1]


async def test_journal_that_fails_tells_the_log_nothing_of_what_it_was_to_hold(tmp_path: Path) -> None:
    """It holds the steps of jobs: SQLAlchemy's errors quote the values of a statement unless they are told not to."""
    env = {"GORKD_DATA": str(tmp_path / "data"), "GORKD_PROVIDERS": "wikipedia"}

    async with open_house(env, read_settings(env), grace_s=0, role="worker"):
        journal = _get_dbos_instance()._sys_db.engine
        with journal.connect() as connection, pytest.raises(SQLAlchemyError) as failed:
            connection.execute(text("INSERT INTO nowhere VALUES (:output)"), {"output": "Kim is ill."})

    assert "nowhere" in str(failed.value)
    assert "Kim" not in str(failed.value)


async def test_what_ends_with_a_worker_still_finds_the_loops_threads(tmp_path: Path) -> None:
    """DBOS makes its own threads the loop's when it runs a job, and takes them along: traces that waited were lost."""
    (tmp_path / "tides.md").write_text("# Tides\n\nThe Moon causes the tides.", encoding="utf-8")
    env = {"GORKD_DATA": str(tmp_path / "data"), "GORKD_FILES": str(tmp_path / "tides.md"), "GORKD_PROVIDERS": "files"}
    is_over = asyncio.Event()

    async def write_on() -> None:
        while not is_over.is_set():
            await asyncio.to_thread(int)

    async with open_house(env, read_settings(env), grace_s=0, role="worker") as house:
        job = await house.researcher.submit(ResearchRequest("What causes the tides?"))
        _ = [event async for event in house.researcher.follow(job.id)]
        writing = asyncio.create_task(write_on())
    is_over.set()

    await writing


async def test_the_calls_of_a_check_model_are_traced() -> None:
    """A receipt names who judged, and what it cost is booked."""
    log, checker = MemoryTraceLog(), FakeModel({}, name="minicheck")
    asked = ChatRequest("check", "", "Document: It is.\nClaim: It is.", "verdicts", {}, 10, 5.0)
    job_id_var.set("job_1")

    async with observed(replace(make_deps(), check_model=checker), log, secrets=()) as deps:
        assert deps.check_model is not None
        await complete(deps.check_model, asked)

    assert [(entry.name, entry.detail) for entry in log.kept["job_1"]] == [("check", "minicheck")]


async def test_job_that_nobody_runs_ends_in_its_own_language_and_under_its_own_id_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever asked reads why, and whoever runs gorkd finds which job it was."""
    deps, job = make_deps(), make_job("Warum gibt es Gezeiten?")
    job = replace(job, request=replace(job.request, language="de"))
    await deps.jobs.save(job)
    named: list[str] = []
    monkeypatch.setattr(
        logging.getLogger("core.stages.deliver"), "info", lambda *_, **__: named.append(job_id_var.get())
    )

    await _end(deps, JobStatus.FAILED, job.id)

    ended = await deps.jobs.get(job.id)
    assert ended.error.message.startswith("Bei uns")
    assert named == [job.id]
    assert job_id_var.get() == ""
