"""`gorkd eval`: an operator's own questions, run, repeated, compared and kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.records.jobs import SqlEvaluations, SqlJobStore, SqlSourceStore
from core.evaluation.report import Run
from core.model.codec import decode
from core.pipeline.deps import Deps
from core.tenancy.usage import VotedCase
from tests.adapters.cli.test_operating import Desk
from tests.core.evaluation import worlds
from tests.core.evaluation.worlds import EDDYSTONE, FASTNET, ROCK
from tests.core.receipts import samples
from tests.fakes import NOW, FakeModel, FakeSearch
from tests.records import at_once
from tests.shared_data import shared_data

SAMPLES = Path(__file__).resolve().parents[3] / "docs" / "samples"
FILE = f"""
questions:
  - {{id: eddystone, ask: "{EDDYSTONE}", contains: 49, cites_domain: trinity.example}}
  - {{id: fastnet, ask: "{FASTNET}", contains: 54}}
"""
HASTY = {EDDYSTONE: (worlds.BUILT,), FASTNET: (ROCK,)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "towers.yaml").write_text(FILE, "utf-8")
    return tmp_path


def laboratory(changes: Mapping[str, str]) -> Deps:
    """Two models to choose from: the second one does not say how tall the tower is."""
    if changes.get("GORKD_MODEL") == "hasty":
        return worlds.deps(worlds.model("hasty", says=HASTY))
    return worlds.deps()


def test_questions_are_asked_and_kept(place: Path):
    """A table, and beside each other the run, JUnit's XML and a page."""
    done = Desk(laboratory=laboratory).run("eval", "towers.yaml")

    kept = place / "gorkd-eval" / "towers"
    assert done.exit_code == 0, done.output
    assert "expectations met 3 of 3" in done.stdout
    assert sorted(path.name for path in kept.iterdir()) == ["index.html", "junit.xml", "run.json"]
    assert [one.case_id for one in decode((kept / "run.json").read_text("utf-8"), Run).outcomes] == [
        "eddystone",
        "fastnet",
    ]


def test_the_next_run_says_what_changed(place: Path):
    """And exits with 3, for whoever lets a machine watch it."""
    Desk(laboratory=laboratory).run("eval", "towers.yaml")

    done = Desk(laboratory=lambda _: worlds.deps(worlds.model(says=HASTY))).run("eval", "towers.yaml")

    assert done.exit_code == 3
    assert "eddystone: pass → FAIL" in done.stdout
    assert (place / "gorkd-eval" / "towers" / "before.json").exists()


def test_nobody_else_reads_what_is_kept_and_no_secret_stands_in_it(place: Path):
    """Questions may be private, and a configuration may be another key."""
    before = os.umask(0o022)
    try:
        compared = ("--compare", "GORKD_API_KEY=sk-SECRET1", "HTTPS_PROXY=http://ada:SECRET2@proxy.example")
        for more in (("--record", "tapes"), compared):
            done = Desk(laboratory=laboratory).run("eval", "towers.yaml", *more)
            assert done.exit_code == 0, done.output
            assert "SECRET" not in done.output
    finally:
        os.umask(before)

    kept = [path for path in place.rglob("*") if path.is_file() and path.name != "towers.yaml"]
    assert {path.parent.name for path in kept} == {"tapes", "towers"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert {stat.S_IMODE(path.parent.stat().st_mode) for path in kept} == {0o700}
    assert [path for path in kept if "SECRET" in path.read_text("utf-8")] == []


def test_two_models_are_compared_claim_by_claim(place: Path):
    """Figures side by side, then what one says and the other does not."""
    done = Desk(laboratory=laboratory).run(
        "eval", "towers.yaml", "--compare", "GORKD_MODEL=careful", "GORKD_MODEL=hasty"
    )

    assert "A: GORKD_MODEL=careful" in done.stdout
    assert "They differ on 1 of 2 questions:" in done.stdout
    assert "only A: The Eddystone lighthouse is 49 metres tall" in done.stdout
    page = (place / "gorkd-eval" / "towers" / "index.html").read_text("utf-8")
    assert page.count("<section>") == 4


def test_a_recording_is_asked_again_without_the_outside(place: Path):
    search, model = worlds.search(), worlds.model()
    recorded = Desk(laboratory=laboratory).run("eval", "towers.yaml", "--record", "tapes")

    done = Desk(laboratory=lambda _: worlds.deps(model, search)).run("eval", "towers.yaml", "--replay", "tapes")

    assert (recorded.exit_code, done.exit_code) == (0, 0)
    assert sorted(path.name for path in (place / "tapes").iterdir()) == ["eddystone.json", "fastnet.json"]
    assert (search.asked, model.asked) == ([], [])
    assert "nothing has changed" in done.stdout


@pytest.mark.parametrize(("sample", "questions"), [("general", 5), ("medicine", 3), ("own-documents", 4)])
def test_the_samples_run_recorded_and_replayed(place: Path, sample: str, questions: int):
    """Whatever was found: each question ends, and the same again without the outside (N-23)."""
    (place / f"{sample}.yaml").write_text((SAMPLES / f"{sample}.yaml").read_text("utf-8"), "utf-8")
    desk, silent = Desk(laboratory=lambda _: worlds.deps()), FakeSearch("web", [])

    desk.run("eval", f"{sample}.yaml", "--record", "tapes")
    done = Desk(laboratory=lambda _: worlds.deps(found=silent)).run("eval", f"{sample}.yaml", "--replay", "tapes")

    run = decode((place / "gorkd-eval" / sample / "run.json").read_text("utf-8"), Run)
    assert [one.error for one in run.outcomes] == [""] * questions
    assert run.new_calls == 0
    assert silent.asked == []
    assert "nothing has changed" in done.stdout


def test_the_medical_sample_asks_pubmedqa_where_it_is(place: Path):
    """Read where it lies, and nothing of it kept but the run."""
    questions = shared_data("pubmedqa", "questions.json")
    text = (SAMPLES / "medicine.yaml").read_text("utf-8")
    (place / "medicine.yaml").write_text(text.replace("../../../shared/data/pubmedqa/questions.json", str(questions)))

    done = Desk(laboratory=lambda _: worlds.deps()).run("eval", "medicine.yaml")

    run = decode((place / "gorkd-eval" / "medicine" / "run.json").read_text("utf-8"), Run)
    assert len(run.outcomes) == 23
    assert [one.error for one in run.outcomes if one.error] == []
    assert done.exit_code in (0, 3)


def test_an_interrupted_run_goes_on_where_it_stopped(place: Path):
    """What was answered before the machine went down is not paid again."""
    first, second = worlds.model(), worlds.model()

    class Dying(FakeSearch):
        async def search(self, query, *, limit, scope):
            if FASTNET in query.text:
                raise KeyboardInterrupt
            return await super().search(query, limit=limit, scope=scope)

    dying = Dying("web", worlds.search().hits)
    stopped = Desk(laboratory=lambda _: worlds.deps(first, dying)).run("eval", "towers.yaml", "--parallel", "1")
    done = Desk(laboratory=lambda _: worlds.deps(second)).run("eval", "towers.yaml", "--parallel", "1")

    assert stopped.exit_code == 130
    assert done.exit_code == 0
    assert "going on after 1 question" in done.stderr
    assert [EDDYSTONE in call.user for call in second.asked if call.purpose == "answer"] == [False]
    assert list((place / "gorkd-eval" / "towers").glob("unfinished*")) == []


def voted(must: str) -> Desk:
    """Somebody found an answer bad, and an admin made a test of it."""
    told = samples.answered()
    desk = Desk(laboratory=lambda _: worlds.deps(worlds.model(says={samples.QUESTION: (samples.TALL[:-1],)})))
    at_once(SqlJobStore(desk.tables).finish(told.job, told.result))
    at_once(SqlSourceStore(desk.tables).put(told.job, told.sources))
    at_once(SqlEvaluations(desk.tables).put_case(told.job, VotedCase(told.job.id, must, NOW + timedelta(days=1))))
    return desk


def test_a_bad_answer_is_asked_again_from_its_own_sources(place: Path):
    """Its sources alone are read, and what it must say is judged."""
    done = voted(samples.TALL).run("eval", "--from-votes")

    run = decode((place / "gorkd-eval" / "votes" / "run.json").read_text("utf-8"), Run)
    assert done.exit_code == 0, done.output
    assert set(run.outcomes[0].cited) <= set(samples.PAGES)
    assert [one.is_met for one in run.outcomes[0].met] == [True]


def test_an_evaluation_counts_in_the_calibration(place: Path):
    """Of the configuration in use alone, and each question once however often it is asked."""
    desk = Desk(laboratory=laboratory)
    for arguments in ((), (), ("--compare", "GORKD_MODEL=a", "GORKD_MODEL=hasty")):
        desk.run("eval", "towers.yaml", *arguments)

    judged = at_once(SqlEvaluations(desk.tables).judged(""))
    told = desk.run("stats", "--calibration")

    assert sum(one.judged for one in judged) == 2
    assert {one.origin for one in judged} == {"evaluations"}
    assert "too few to say: 0 of at least 10" in told.stdout


WRONG = {
    "no questions": (("eval",), "Say which questions"),
    "a file that is not there": (("eval", "none.yaml"), "none.yaml cannot be read"),
    "both recordings": (("eval", "towers.yaml", "--record", "a", "--replay", "b"), "Say which questions"),
    "a file and votes": (("eval", "towers.yaml", "--from-votes"), "Say which questions"),
    "no votes": (("eval", "--from-votes"), "No question was made a test"),
    "nothing recorded": (("eval", "towers.yaml", "--replay", "a"), "cannot be read"),
    "no configuration": (("eval", "towers.yaml", "--compare", "fast", "slow"), "NAME=VALUE"),
}


@pytest.mark.parametrize(("arguments", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_run_is_a_sentence(place: Path, arguments: tuple[str, ...], says: str):
    done = Desk(laboratory=laboratory).run(*arguments)

    assert done.exit_code == 2
    assert says in done.stderr


def test_a_recording_that_is_none_is_named(place: Path):
    tapes = place / "tapes"
    tapes.mkdir()
    (tapes / "eddystone.json").write_text("{}", "utf-8")

    done = Desk(laboratory=laboratory).run("eval", "towers.yaml", "--replay", "tapes")

    assert done.exit_code == 2
    assert "eddystone.json is no recording" in done.stderr


def test_ids_that_are_no_file_names_have_recordings_too(place: Path):
    (place / "odd.yaml").write_text(f"- {{id: '../../x', ask: '{FASTNET}'}}", "utf-8")

    done = Desk(laboratory=laboratory).run("eval", "odd.yaml", "--record", "tapes")

    assert done.exit_code == 0
    assert [path.parent.name for path in place.glob("**/*x-*.json")] == ["tapes"]


def test_unused_models_are_asked_nothing(place: Path):
    """The questions are checked before anything is opened."""
    asked: list[FakeModel] = []
    (place / "bad.yaml").write_text("questions: [{ask: x, containz: y}]", "utf-8")

    def opened(changes: Mapping[str, str]) -> Deps:
        asked.append(worlds.model())
        return worlds.deps(asked[-1])

    done = Desk(laboratory=opened).run("eval", "bad.yaml")

    assert done.exit_code == 2
    assert asked == []
