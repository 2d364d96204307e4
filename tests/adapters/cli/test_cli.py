"""The command line: what is printed where, and how it exits."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from rich.console import Console
from typer.testing import CliRunner, Result

from adapters.cli import build_app
from adapters.cli.ask import print_answer
from adapters.cli.running import LiveProgress, open_progress
from core.model.answer import JobResult
from core.model.errors import GorkdError, InvalidQuery, SetupError
from core.model.job import Event, JobStatus, ResearchRequest
from core.model.source import Source
from core.pipeline.researcher import Researcher
from core.presentation.wording import WAS_ANSWERED
from core.text.saying import speaking
from tests.commands import gorkd
from tests.core.presentation.test_tools import AtOnce, read_by
from tests.core.receipts.samples import QUESTION
from tests.golden import samples
from tests.golden.compare import assert_golden
from tests.golden.samples import ScriptedResearcher
from tests.golden.strategies import outcomes
from tests.shared_data import ROOT, shared_data

HOSTILE = (
    "a \x1b[31mred\x1b[0m \x9b2J \x1b]8;;https://evil.test\x07click\x1b]8;;\x07 \u202egpj.exe [bold]b[/bold] [link=x]"
)


def run(researcher: ScriptedResearcher | Researcher, *arguments: str) -> Result:
    @asynccontextmanager
    async def opened() -> AsyncIterator[ScriptedResearcher | Researcher]:
        yield researcher

    app = build_app(opened, lambda name: None, {"all": "Everything.", "web": "The page."})
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})


def printed(result: JobResult, sources: list[Source], *, is_terminal: bool = False) -> str:
    paper = StringIO()
    console = Console(
        file=paper,
        width=80,
        force_terminal=is_terminal,
        highlight=False,
        color_system="truecolor" if is_terminal else None,
    )
    assert result.answer
    print_answer(console, samples.COMPLETED, result, result.answer, sources)
    return paper.getvalue()


def test_answer_goes_to_stdout_and_progress_to_stderr():
    """An answered question exits 0; the two streams do not mix."""
    ran = run(ScriptedResearcher(), "ask", "How tall?")

    assert ran.exit_code == 0
    assert "49 metres tall [1]✓[2]◐." in ran.stdout
    assert samples.COMPLETED.id in ran.stdout
    assert "Searching tavily" in ran.stderr
    assert "Searching tavily" not in ran.stdout


@pytest.mark.parametrize(
    "part",
    [
        "Confidence  Medium: 3 independent sources, 2 of 3 claims supported, 1 conflict",
        "  1  trinity.example – Eddystone Lighthouse\n     https://trinity.example/eddystone",
        "Sources disagree on: height of the tower",
        "51 metres",
        "Removed: could not be confirmed\n  - It was painted green in 1990.",
        "Limitations\n  - newest source is from May 2024",
        "Read, not cited\n  - shop.example – Lighthouse mugs",
        "12.3 s · 4 sources · $0.004 · job_",
        "✓ supported · ◐ in part",
    ],
)
def test_answer_shows_all_that_lets_a_reader_judge_it(part: str):
    """S003-16, G-05: reasons, sources, conflicts, what was removed, what is missing."""
    paper = printed(samples.RESULT, samples.SOURCES)

    assert part in paper


def test_piped_answer_has_no_escape_codes_and_keeps_80_columns():
    """What is piped is plain text that fits; only an address may be longer, since it must not break."""
    paper = printed(samples.RESULT, samples.SOURCES)

    assert_golden("cli_complete.txt", paper)
    assert "\x1b" not in paper
    assert all(len(line) <= 80 for line in paper.splitlines() if "https://" not in line)


def answered(**changes: object) -> str:
    """The paper of the usual answer, but for this."""
    answer = replace(samples.ANSWER, **changes)  # type: ignore[arg-type]
    return printed(replace(samples.RESULT, answer=answer), samples.SOURCES)


@pytest.mark.parametrize("before", range(66, 80))
def test_a_number_stays_on_the_line_of_its_unit_and_a_citation_on_that_of_its_sentence(before: int):
    """Wherever the line ends; what is copied from there has the blank that was written."""
    paper = answered(detail=f"{'x' * before} **13 °C** more.\n\n{'x' * (before - 4)} said [1].")

    assert "13 °C" in paper
    assert " said [1]" in " ".join(paper.split("\n"))
    assert not [line for line in paper.split("\n") if line.startswith("[")]


def test_who_disagrees_is_named_as_people_name_it_and_when_only_where_that_is_known():
    """A paper of the library by its id; a column that says nothing of anybody is left out."""
    conflict = samples.RESULT.answer.conflicts[0]
    undated = replace(conflict, positions=tuple(replace(side, date="") for side in conflict.positions))
    paper = replace(
        samples.SOURCES[0], url="paper:smith2024tides", metadata=replace(samples.SOURCES[0].metadata, domain="")
    )

    told = printed(
        replace(samples.RESULT, answer=replace(samples.RESULT.answer, conflicts=(undated,))),
        [paper, *samples.SOURCES[1:]],
    )

    assert "[1] smith2024tides" in told
    assert "paper:" not in told
    assert "Position" in told
    assert "Date" not in told


def test_lists_tables_and_quotations_hang_together_on_paper():
    """The other lines of an item stand below its words; a table is read row by row, each begins where its head does."""
    long = "and it was built of granite that was cut on shore, stone by stone, and shipped out in the summer"
    table = "| Tower | Height |\n|---|---|\n| Smeaton's | 18 m |\n| […] | |\n| Douglass's | 49 m |"

    lines = answered(detail=f"1. Towers, {long}\n\n> Towers, {long}\n\n{table}").split("\n")

    item, quotation = (next(at for at, line in enumerate(lines) if line.startswith(sign)) for sign in ("1. T", "> T"))
    assert lines[item + 1].startswith("   and shipped")
    assert lines[quotation + 1].startswith("> and shipped")
    assert max(map(len, lines[item : quotation + 2])) <= 80
    head = lines.index("Tower · Height")
    assert lines[head + 1 : head + 4] == ["Smeaton's · 18 m", "[…]", "Douglass's · 49 m"]


def test_a_quoted_answer_is_said_once_and_without_the_signs_of_its_markup():
    """What stands above with its markers is not quoted again below; bold, code and bars are not shown as typed."""
    quote = "**Towers** of `granite` | 49 metres."
    citation = replace(samples.ANSWER.citations[0], quote=quote)

    paper = answered(summary="**Towers** of `granite` | *49* metres [1].", citations=(citation,))

    assert paper.count("granite") == 1 + paper.count("built of granite")
    assert "Towers of granite · 49 metres [1]" in paper


def test_where_a_quote_stands_is_no_part_of_the_quote():
    """The page of a PDF stands behind the closing sign."""
    citation = replace(samples.ANSWER.citations[0], quote="Its lamp burns oil.", page=3)

    paper = answered(citations=(citation,))

    assert "“Its lamp burns oil.”, page 3" in paper


def test_only_marks_that_are_shown_are_explained():
    """D18: an answer of the library has them behind its pages, and may cite fewer of its sentences."""
    tall = "The Eddystone lighthouse is 49 metres tall"
    view = {"content": f"{tall} [0603.10002, page 2].", "paper_ids": ["0603.10002"]}
    shown = printed(replace(samples.RESULT, details={"query_result": view}), samples.SOURCES)
    unknown = {"query_result": {"content": "51 metres [0603.10002, page 2].", "paper_ids": ["0603.10002"]}}

    assert "Citations: ✓" in printed(samples.RESULT, samples.SOURCES)
    assert f"{tall} [0603.10002, page 2]◐." in shown
    assert re.findall(r"Citations: (.)", shown) == ["◐"]
    assert "↪" not in shown
    assert "Citations: " not in printed(replace(samples.RESULT, details=unknown), samples.SOURCES)


def test_code_stands_there_as_it_is_written_without_its_fences():
    """Its blank lines, its bars and its backticks are its own."""
    code = "```sh\nps aux | grep `whoami`\n\nls -l  # **all**\n```"

    lines = answered(detail=f"Run this:\n\n{code}\n\nThen stop.").splitlines()

    at = lines.index("Run this:")
    assert [line for line in lines[at : at + 8] if line] == [
        "Run this:", "    ps aux | grep `whoami`", "    ls -l  # **all**", "Then stop.",
    ]  # fmt: skip


def test_terminal_gets_hyperlinks_to_the_sources():
    paper = printed(samples.RESULT, samples.SOURCES, is_terminal=True)

    assert "\x1b]8;id=" in paper
    assert ";https://trinity.example/eddystone\x1b\\" in paper


def test_local_file_reads_as_relative_path_and_heading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A file is named as the reader would name it."""
    monkeypatch.chdir(tmp_path)
    url = (tmp_path / "docs" / "my notes.md").as_uri() + "#The%20tower"
    local = samples.source(1, url=url, title="Notes", domain="")

    paper = printed(samples.RESULT, [local])

    assert "docs/my notes.md § The tower" in paper


@pytest.mark.parametrize("is_terminal", [False, True], ids=["pipe", "terminal"])
def test_web_text_cannot_reach_the_terminal(is_terminal: bool):
    """Escapes and bidi overrides are gone, rich markup is printed as it is, and no foreign link is made."""
    answer = replace(
        samples.ANSWER, summary=HOSTILE, notice=HOSTILE, limitations=(HOSTILE,), removed=(), stopped_because=HOSTILE
    )
    hostile = samples.source(1, url="javascript:alert(1)//\x1b[5m", title=HOSTILE, domain="x\x1b[5m.test")

    paper = printed(replace(samples.RESULT, answer=answer, queries=(HOSTILE,)), [hostile], is_terminal=is_terminal)

    assert not [token for token in ("\x1b[31m", "\x9b", "\u202e", "\x07", "\x1b[5m") if token in paper]
    assert "evil.test" not in paper
    assert "8;id=" not in paper
    assert "[bold]b[/bold] [link=x]" in paper.replace("\n", " ")


def test_nasty_strings_print_as_text():
    """Not one of the well-known nasty strings raises or leaves a control character behind."""
    nasty: list[str] = json.loads(shared_data("strings", "naughty.json").read_text("utf-8"))
    paper = printed(
        replace(samples.RESULT, answer=replace(samples.ANSWER, detail="\n\n".join(nasty), limitations=tuple(nasty))),
        [samples.source(1, url=f"https://{text}/\ud800", title=text, domain=text) for text in nasty],
    )

    assert not [char for char in paper if char != "\n" and not char.isprintable() and ord(char) < 0xA0]


@settings(max_examples=15)  # each is long; other laws try the same outcomes
@given(outcomes())
def test_any_answer_prints_as_text(outcome):
    """Whatever the answer, it prints, and nothing but text and line ends reaches the paper."""
    _, result, sources = outcome
    assume(result.answer)

    paper = printed(result, sources)

    paper.encode()
    assert not [char for char in paper if char not in "\n\t" and (ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0)]


def test_a_watch_at_the_terminal_says_who_looks_and_where_it_tells():
    begun = run(ScriptedResearcher(), "watch", "page", "https://tides.example/")
    nothing = run(ScriptedResearcher(), "watch", "list")
    unknown = run(ScriptedResearcher(), "watch", "stop", "watch_none")

    watch_id = begun.stdout.split()[0]
    assert f"gorkd watch show {watch_id}" in begun.stderr
    assert "gorkd worker" in begun.stderr
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "nothing is watched" in nothing.stderr
    assert unknown.exit_code == 2
    assert "; the list of watches shows what is." in unknown.stderr


def test_json_prints_the_job():
    """S003-19 on the command line."""
    ran = run(ScriptedResearcher(), "ask", "--json", "How tall?")

    document = json.loads(ran.stdout)
    assert ran.exit_code == 0
    assert document["answer"]["confidence"] == "medium"
    assert document["sources"][0]["domain"] == "trinity.example"


def test_json_of_hostile_text_stays_valid_and_harmless():
    hostile = [replace(samples.SOURCES[0], title="a\x9b2J\u202eb\ud800")]

    ran = run(ScriptedResearcher(found=hostile), "ask", "--json", "How tall?")

    assert json.loads(ran.stdout)["sources"][0]["title"] == "a\x9b2J\u202eb\ud800"
    assert not {"\x9b", "\u202e"} & set(ran.stdout)


def test_insufficient_exits_3_with_its_answer():
    """D11: not enough sources is a completed answer, told apart by the exit code."""
    ran = run(ScriptedResearcher(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, []), "ask", "How tall?")

    assert ran.exit_code == 3
    assert "I couldn't find reliable sources" in ran.stdout
    assert "wikipedia: connection refused" in ran.stdout


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_failed_job_exits_4_and_keeps_its_sources(flags: tuple[str, ...]):
    """D14: a failure is one sentence, and what was found is not thrown away."""
    ran = run(ScriptedResearcher(samples.FAILED, None), "ask", *flags, "How tall?")

    assert ran.exit_code == 4
    assert "gorkd: The language model did not answer; please retry. (job_failed)" in ran.stderr
    if flags:
        document = json.loads(ran.stdout)
        assert document["error"]["code"] == "LLM_FAILED"
        assert len(document["sources"]) == 4
    else:
        assert ran.stdout == ""
        assert "https://trinity.example/eddystone" in ran.stderr


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        pytest.param(InvalidQuery("Please ask a question.", rule="empty"), 2, id="invalid"),
        pytest.param(SetupError("The folder /data cannot be written."), 4, id="setup"),
        pytest.param(RuntimeError("boom"), 4, id="bug"),
    ],
)
def test_refused_question_is_one_sentence(refusal: Exception, code: int):
    """Never a traceback."""
    ran = run(ScriptedResearcher(refusal=refusal), "ask", "x")  # type: ignore[arg-type]

    assert ran.exit_code == code
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("gorkd: ")


def test_refused_question_is_an_envelope_in_json():
    ran = run(ScriptedResearcher(refusal=InvalidQuery("Please ask.", rule="empty")), "ask", "--json", "x")

    assert json.loads(ran.stdout) == {"error": {"code": "INVALID_QUERY", "message": "Please ask.", "details": {}}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--mode", "quick,psychic", "x"), ["psychic", "quick"], id="unknown mode, with the known ones"),
        pytest.param(("--mode", "psychic", "x"), ["psychic", "quick"], id="unknown mode alone"),
        pytest.param(("--mode", ",", "x"), [], id="no mode"),
        pytest.param(("caf\udce9",), [], id="not utf-8"),
        pytest.param(("--top-k", "21", "x"), [], id="top-k"),
        pytest.param(("--depth", "abyss", "x"), [], id="depth"),
        pytest.param((), [], id="no question"),
    ],
)
def test_invalid_input_exits_2_before_anything_runs(arguments: tuple[str, ...], said: list[str]):
    researcher = ScriptedResearcher()

    ran = run(researcher, "ask", *arguments)

    assert ran.exit_code == 2
    assert ran.stderr
    assert [word for word in said if word not in ran.stderr] == []
    assert researcher.requests == []


def test_options_reach_the_request():
    researcher = ScriptedResearcher()

    run(researcher, "ask", "--depth", "deep", "--top-k", "7", "--context", "towers", "--fresh", "how", "tall")

    request = researcher.requests[0]
    assert (request.query, request.depth, request.top_k) == ("how tall", "deep", 7)
    assert (request.context, request.is_fresh, request.modes) == ("towers", True, ("quick",))


@pytest.mark.parametrize(
    ("command", "refusal"),
    [(["improve", "be", "short"], ""), (["refresh"], ""), (["retry"], WAS_ANSWERED)],
    ids=["improve", "refresh", "retry"],
)
def test_an_answer_is_renewed_at_the_terminal(command: list[str], refusal: str):
    """N-29: a job by its id, and what comes of it is printed as an answer is; what was answered needs no retry."""
    deps = read_by(None)
    researcher = Researcher(deps, AtOnce(deps))
    first = asyncio.run(researcher.submit(ResearchRequest(QUESTION)))

    ran = run(researcher, command[0], first.id, *command[1:], "--json")

    said = json.loads(ran.stdout)
    if refusal:
        assert (ran.exit_code, said["error"]["message"]) == (2, refusal)
    else:
        job = asyncio.run(researcher.job(said["job_id"]))
        assert (ran.exit_code, job.status) == (0, JobStatus.COMPLETED)
        assert first.id in (job.request.basis, job.request.refreshes)
        assert job.request.feedback == " ".join(command[1:])


def test_version_is_printed():
    ran = run(ScriptedResearcher(), "--version")

    assert (ran.exit_code, ran.stdout) == (0, f"gorkd {version('gorkd')}\n")


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ({"LANG": "fr_FR.UTF-8", "LC_ALL": "de_DE.UTF-8"}, "Eine Frage recherchieren"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, "Research a question"),
    ],
    ids=["german", "none"],
)
async def test_the_terminal_speaks_its_locale(locale: dict[str, str], said: str):
    """N-28: its help, as everything else, by the variables of POSIX in their order."""
    helped = await gorkd("--help", env=locale)

    assert said in helped.out
    assert ("Add papers to the library" in helped.out) is (locale["LC_ALL"] == "C")


def test_the_list_of_commands_imports_none_of_them():
    """It is the first thing that anybody sees, and whatever a shell completes from it waits for it."""
    command = [sys.executable, "-X", "importtime", "-m", "bots", "--help"]

    env = {**os.environ, "LC_ALL": "C"}
    asked = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True, timeout=30)

    imported = {line.rpartition("|")[2].strip() for line in asked.stderr.splitlines()}
    ours = {name for name in imported if name.startswith(("core.", "adapters.", "bots."))}
    assert "Answer one question" in asked.stdout
    assert ours == {
        "adapters.cli", "adapters.cli.app", "core.model", "core.model.errors", "core.text", "core.text.saying"
    }  # fmt: skip


@pytest.mark.parametrize("words", [["How tall is it?"], ["How", "tall", "is", "it?"]], ids=["quoted", "bare"])
def test_a_question_without_a_command_is_told_the_command(words: list[str]):
    ran = run(ScriptedResearcher(), *words)

    assert ran.exit_code == 2
    assert ran.stderr == 'gorkd: No such command. Did you mean: gorkd ask "How tall is it?"\n'


def test_help_shows_no_types_of_the_language_it_is_written_in():
    ran = run(ScriptedResearcher(), "ask", "--help")

    assert "--top-k N" in ran.stdout
    assert "<" not in ran.stdout.replace("<light|deep>", "").replace("1<=x<=20", "")


def test_process_commands_come_from_the_table():
    started: list[str] = []
    app = build_app(_never_opened, started.append, {"all": "Everything.", "worker": "Works."})

    ran = CliRunner().invoke(app, ["worker"])

    assert ran.exit_code == 0
    assert started == ["worker"]


def test_process_that_cannot_start_is_one_sentence():
    def refuse(name: str) -> None:
        raise SetupError(f"{name} cannot start: port 8080 is taken.")

    ran = CliRunner().invoke(build_app(_never_opened, refuse, {"web": "The page."}), ["web"])

    assert ran.exit_code == 4
    assert ran.stderr == "gorkd: web cannot start: port 8080 is taken.\n"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (JobStatus.CANCELLED, [f"gorkd: Interrupted; {samples.COMPLETED.id} is cancelled."]),
        (JobStatus.SEARCHING, [f"gorkd: Interrupted; {samples.COMPLETED.id} goes on elsewhere."]),
        (JobStatus.COMPLETED, []),
    ],
    ids=["here", "in another process", "ended just now"],
)
def test_interrupt_cancels_the_job_and_says_what_became_of_it(
    capsys: pytest.CaptureFixture[str], status: JobStatus, told: list[str]
):
    """Ctrl-C exits 130 and leaves nothing running here."""

    class Cancelling(ScriptedResearcher):
        async def cancel(self, job_id: str) -> None:
            await super().cancel(job_id)
            self.finished = replace(self.finished, status=status)

    researcher = Cancelling(stalls=True)

    @asynccontextmanager
    async def opened() -> AsyncIterator[ScriptedResearcher]:
        loop = asyncio.get_running_loop()
        task = loop.create_task(researcher.stalled.wait())
        task.add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGINT))
        yield researcher
        await task

    with pytest.raises(SystemExit) as ended:
        build_app(opened, lambda name: None, {"all": "Everything."})(["ask", "How tall?"])

    assert ended.value.code == 130
    assert researcher.cancelled == [samples.COMPLETED.id]
    assert [line for line in capsys.readouterr().err.splitlines() if "Interrupted" in line] == told


EVENTS = samples.events_of(samples.COMPLETED, samples.RESULT, samples.SOURCES)


def drawn(progress: LiveProgress, *events: Event, width: int = 80) -> str:
    """What stands on the terminal after these too."""
    console = Console(file=StringIO(), width=width, force_terminal=True, highlight=False)
    for event in events:
        progress.show(event)
    with console.capture() as shown:
        console.print(progress)
    return shown.get()


def test_live_progress_shows_stage_sources_and_answer():
    """On a terminal the block follows the job; a removed sentence disappears."""
    progress = LiveProgress()

    with_answer = drawn(progress, *EVENTS)
    without = drawn(progress, replace(EVENTS[-2], data={"id": "summary-0", "text": None}))

    assert "Searching tavily" in with_answer
    assert "49 metres" in with_answer
    assert "4 sources" in without
    assert "shop.example – Lighthouse mugs" in without
    assert "49 metres" not in without


def test_live_progress_speaks_the_same_language_in_whatever_thread_it_is_drawn():
    """rich draws in a thread of its own, to which no context is handed on."""
    with speaking("de"):
        progress = LiveProgress()

    assert "4 Quellen" in drawn(progress, *EVENTS)


def test_live_progress_forgets_an_older_attempt():
    shown = drawn(LiveProgress(), *EVENTS[:-1], replace(EVENTS[0], attempt=2))

    assert "Planning the search" in shown
    assert "49 metres" not in shown
    assert "sources" not in shown


def test_live_progress_has_a_line_for_each_of_several_modes():
    """D8: none hides the others, and none for a mode alone, which the first line tells of."""
    progress = LiveProgress()
    event = samples.events_of(samples.COMPLETED, None, [])[0]
    parts = ["Ideas: written", "Report: searching by our own means, since the endpoint has no search"]

    several, alone = [
        drawn(progress, replace(event, data=event.data | {"data": {"parts": parts[:count]}}), width=40)
        for count in (2, 1)
    ]

    lines = [line.rstrip() for line in several.splitlines()]
    assert lines[1:] == ["  Ideas: written", "  Report: searching by our own means, s…"]
    assert "Ideas" not in alone


def test_progress_without_terminal_repeats_nothing():
    stream = StringIO()
    event = samples.events_of(samples.COMPLETED, None, [])[0]

    with open_progress(stream) as progress:
        progress.show(event)
        progress.show(event)

    assert stream.getvalue() == "Planning the search\n"


@asynccontextmanager
async def _never_opened() -> AsyncIterator[ScriptedResearcher]:
    raise GorkdError("no command of these tests opens a researcher")
    yield ScriptedResearcher()


def test_the_word_help_is_understood_as_the_option():
    everything, one = run(ScriptedResearcher(), "help"), run(ScriptedResearcher(), "help", "ask")

    assert everything.exit_code == one.exit_code == 0
    assert everything.stdout == run(ScriptedResearcher(), "--help").stdout
    assert one.stdout == run(ScriptedResearcher(), "ask", "--help").stdout
