"""`gorkd watch`: begun, listed, looked at, prolonged and ended at a terminal."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from typer.testing import CliRunner, Result

from adapters.cli import build_app
from core.model.job import Scope
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.watch.watch import Change, Watch, WatchNotice, WatchTelling
from tests.fakes import NOW, Idle, make_deps
from tests.golden import samples
from tests.records import at_once

QUESTION = samples.COMPLETED.query
JOB = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, scope=Scope("slack:T1", "workspace")))


@dataclass
class Terminal:
    """Of who runs gorkd; a workspace has an answer."""

    deps: Deps = field(default_factory=make_deps)

    def __post_init__(self) -> None:
        at_once(self.deps.jobs.save(JOB))
        at_once(self.deps.jobs.finish(JOB, samples.RESULT))

    def run(self, *arguments: str) -> Result:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Researcher]:
            yield Researcher(self.deps, Idle())

        app = build_app(opened, lambda name: None, {"all": "Everything."})  # type: ignore[arg-type]
        return CliRunner().invoke(app, ["watch", *arguments], env={"COLUMNS": "200"})

    def begun(self, *arguments: str) -> str:
        """Its id."""
        done = self.run(*arguments)
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines()[0]

    def kept(self, watch_id: str) -> Watch:
        return at_once(self.deps.watches.get(watch_id))


def test_an_answer_a_question_and_a_page_are_watched_and_listed_by_workspace():
    terminal = Terminal()
    answer = terminal.begun("add", JOB.id, "--every", "week")
    question = terminal.begun("ask", "What is new?", "--every", "Monday 9:00", "--zone", "Europe/Berlin")
    page = terminal.begun("page", "https://tower.example/facts", "--every", "6 hours")

    here, theirs = terminal.run("list").stdout, terminal.run("list", "--tenant", "slack:T1").stdout

    assert all(one in here for one in (question, page, "every Monday at 09:00 (Europe/Berlin)", "every 6 hours"))
    assert answer not in here
    assert answer in theirs
    assert QUESTION in theirs
    assert question not in theirs


def test_a_watch_of_the_list_is_named_by_its_number_there_and_moments_read_as_days_do():
    terminal = Terminal()
    terminal.begun("ask", "What is new?")
    page = terminal.begun("page", "https://tower.example/facts")
    theirs = terminal.begun("add", JOB.id)

    first, second = terminal.run("list").stdout.splitlines()
    place = "1" if page in first else "2"
    stopped = terminal.run("stop", place)
    of_theirs = terminal.run("stop", "1", "--tenant", "slack:T1")
    none = terminal.run("stop", "7")

    assert first.startswith("1. watch_")
    assert re.search(rf"next \d{{1,2}} {NOW:%B} {NOW.year}, \d\d:\d\d UTC, 0 runs: ", second)
    assert stopped.exit_code == of_theirs.exit_code == 0
    assert not terminal.kept(page).is_active
    assert not terminal.kept(theirs).is_active
    assert none.exit_code == 2


def test_what_was_told_is_shown_and_hostile_text_is_text():
    terminal = Terminal()
    watch = terminal.kept(terminal.begun("add", JOB.id))
    change = Change("value", "It is 120 m tall.", "It is \x1b[31m134 m tall.", now_url="https://tower.example/facts")
    notice = WatchNotice(watch.id, 1, JOB.id, "changed", NOW, watch.subject, (change,))
    at_once(terminal.deps.watches.put(watch, telling=WatchTelling(JOB.id, notice)))

    shown = terminal.run("show", watch.id).stdout

    assert "The answer changed" in shown
    assert "Was: It is 120 m tall." in shown
    assert "\x1b" not in shown


def test_a_watch_is_prolonged_until_it_is_stopped():
    terminal = Terminal()
    watch_id = terminal.begun("ask", "What is new?")
    renewed, stopped, again = (terminal.run(verb, watch_id) for verb in ("renew", "stop", "renew"))

    assert "another 90 days" in renewed.stdout
    assert "watched no more" in stopped.stdout
    assert again.exit_code == 2
    assert "90 days" not in again.stdout
    assert not terminal.kept(watch_id).is_active
    assert "ended: it was stopped" in terminal.run("show", watch_id).stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("add", "job_none"), 2),
        (("show", "watch_none"), 2),
        (("ask", "What is new?", "--every", "often"), 2),
        (("ask", "What is new?", "--every", "Monday 9:00", "--zone", "Moon/Crater"), 2),
        (("ask", "What is new?", "--every", "day", "--zone", "Mars"), 2),
        (("page", "file:///etc/passwd"), 2),
    ],
)
def test_what_cannot_be_watched_is_a_sentence(arguments: tuple[str, ...], code: int):
    terminal = Terminal()
    done = terminal.run(*arguments)

    assert done.exit_code == code
    assert done.stderr.startswith("gorkd: ")
    assert "Traceback" not in done.output
    assert "watch_" not in terminal.run("list").stdout
