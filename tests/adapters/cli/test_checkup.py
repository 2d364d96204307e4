"""What `gorkd doctor --model` prints, on a terminal, in a pipe and as JSON."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console

from adapters.cli.operator_commands import print_trial
from core.model.errors import SetupError
from core.pipeline.checkup import Finding, Trial
from tests.adapters.cli.test_operating import Desk
from tests.golden.compare import assert_golden

TRIALS = [
    Trial(
        "Answers: loop-1 at 127.0.0.1:8088",
        (
            Finding("answers", "ok", "the address and the key are right; the first answer took 0.4 s"),
            Finding(
                "window",
                "warning",
                "4,096 tokens, learnt from a refusal",
                "as many sources are sent as fit; the answer says what was left out",
                ("GORKD_CONTEXT_TOKENS=4096",),
            ),
        ),
    ),
    Trial("Meaning: no embedding model", (Finding("embeddings", "off", "words alone; set GORKD_EMBEDDING_MODEL"),)),
]


def test_doctor_tries_models_and_ends_with_the_lines_for_the_settings() -> None:
    """In a pipe a line for what is said and one for what is done instead, whatever the width; the cost comes first."""
    ran = Desk(trials=TRIALS).run("doctor", "--model", columns=40)

    assert ran.exit_code == 0
    assert ran.stderr == "gorkd: At most 7 calls, 6,500 tokens and 5 minutes.\n"
    assert_golden("doctor_model.txt", ran.stdout)


def test_doctor_calls_nothing_usable_where_no_model_was_tried() -> None:
    off = Trial("Answers: no model", (Finding("model", "off", "answers are quoted"),))

    assert "sable" not in Desk(trials=[off, TRIALS[-1]]).run("doctor", "--model").stdout


def test_doctor_wraps_what_it_found_of_models_to_a_terminal() -> None:
    """At 80 columns no line is longer, and words go on below words."""
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=80, highlight=False)

    for trial in TRIALS:
        print_trial(console, trial)

    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2:5] == [
        "  look window   4,096 tokens, learnt from a refusal",
        "                → as many sources are sent as fit; the answer says what was left",
        "                out",
    ]


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_doctor_exits_by_whether_the_models_can_be_worked_with(as_json: bool) -> None:
    """4 and a name where one cannot."""
    broken = Trial("Answers: loop-1 at 127.0.0.1:9", (Finding("answer", "failed", "Check OPENAI_API_KEY."),))
    arguments = ("doctor", "--model", *(["--json"] if as_json else []))

    ran = Desk(trials=[*TRIALS, broken]).run(*arguments)

    assert ran.exit_code == 4
    if as_json:
        document = json.loads(ran.stdout)
        assert document["usable"] is False
        assert document["endpoints"][0]["findings"][1]["change"] == ["GORKD_CONTEXT_TOKENS=4096"]
    else:
        assert ran.stdout.splitlines()[-1] == "Not usable as it is: Answers: loop-1 at 127.0.0.1:9."


def test_doctor_of_models_that_cannot_start_is_one_sentence() -> None:
    ran = Desk(refusal=SetupError("Please check OPENAI_BASE_URL.")).run("doctor", "--model")

    assert ran.exit_code == 4
    assert ran.stderr == "gorkd: Please check OPENAI_BASE_URL.\n"
