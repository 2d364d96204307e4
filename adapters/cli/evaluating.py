"""`gorkd eval`: people's own questions with what their answers must hold, run, compared and kept as files."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import jinja2
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from adapters.cli.running import Exit, Operating, read_file, say
from adapters.cli.settings import tenant_option
from core.evaluation.cases import Case, read_cases, voted_case
from core.evaluation.report import (
    OutcomeChange,
    Run,
    changes_in_words,
    changes_since,
    disagreement,
    disagreements,
    figures,
    grades_of,
    junit_xml,
    state_of,
    totals_of,
)
from core.evaluation.running import (
    Outcome,
    Recording,
    Tape,
    asking,
    recording_of,
    run_cases,
    taped,
)
from core.evidence.citations import MARKS
from core.model.codec import decode, encode
from core.model.errors import InvalidQuery, StoreError
from core.pipeline.deps import Deps
from core.presentation import wording
from core.presentation.render import cut, iso_utc, one_line, printable
from core.text.saying import say as said

RUN, BEFORE, UNFINISHED, JUNIT, PAGE = "run.json", "before.json", "unfinished", "junit.xml", "index.html"
FIGURES_COLUMNS, LEAST_COLUMNS = 46, 20  # of a table's row: all but the question; the question
WHICH = "Say which questions: a FILE, with --record or --replay if you like; or --from-votes, which has its sources."
_STYLES = {"pass": "green", "FAIL": "bold red", "error": "bold red", "asked": ""}


@dataclass(frozen=True)
class EvaluationWish:
    """How to run. `out` is the folder of the results; `record` and `replay` folders of recordings, None for neither."""

    out: Path
    at_once: int
    record: Path | None = None
    replay: Path | None = None
    configurations: tuple[Mapping[str, str], ...] = ({},)
    recorded: Mapping[str, Tape] = field(default_factory=dict)


async def eval_command(
    operating: Operating,
    file: Annotated[str, typer.Argument(help="Questions in YAML.", metavar="FILE")] = "",
    *,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where the results are kept.")] = "",
    record: Annotated[
        str, typer.Option("--record", metavar="DIR", help="Keep what is searched, read and answered.")
    ] = "",
    replay: Annotated[
        str, typer.Option("--replay", metavar="DIR", help="Use what was kept: repeatable, and no search is paid.")
    ] = "",
    compare: Annotated[
        tuple[str, str], typer.Option("--compare", metavar="A B", help="Two configurations, each as NAME=VALUE ….")
    ] = ("", ""),
    from_votes: Annotated[
        bool, typer.Option("--from-votes", help="The questions that somebody made a test of a bad answer.")
    ] = False,
    tenant: Annotated[
        str, tenant_option(help="Whose, with --from-votes: local, discord:<guild> or slack:<team>.")
    ] = "",
    parallel: Annotated[int, typer.Option("--parallel", metavar="N", min=1, max=64, help="Questions at once.")] = 4,
) -> Exit:
    name = Path(file).stem if file else "votes"
    configurations = tuple(map(_settings, compare)) if any(compare) else ({},)
    place = Path(out or f"gorkd-eval/{name}")
    wish = EvaluationWish(place, parallel, _folder(record), _folder(replay), configurations)
    if bool(file) is from_votes or (record and replay) or (from_votes and (record or replay)):
        raise InvalidQuery(WHICH, rule="what")
    if file:
        return await _evaluate(operating, name, _cases(Path(file)), wish)
    cases, tapes = await _voted(operating, tenant.strip())
    return await _evaluate(operating, name, cases, replace(wish, recorded=tapes))


def _cases(path: Path) -> tuple[Case, ...]:
    """Raises `InvalidQuery`. A file that is imported and not there is told of, and its questions are left out."""

    def load(name: str) -> str | None:
        found = path.parent / name
        if not found.is_file():
            say(f"{found} is not there; its questions are left out")
            return None
        return _read(found)

    return read_cases(_read(path), load)


async def _voted(operating: Operating, tenant: str) -> tuple[list[Case], dict[str, Tape]]:
    """The questions that somebody made tests of, with the sources of their jobs. Raises `InvalidQuery` for none."""
    cases, tapes = list[Case](), dict[str, Tape]()
    async with operating.open_kept() as kept:
        for made in await kept.evaluations.cases(tenant):
            job, result = await kept.jobs.get(made.job_id), await kept.jobs.result(made.job_id)
            cases.append(voted_case(job, result, made.must))
            sources = await kept.sources.sources(job.id)
            tapes[job.id] = Tape.of(recording_of(sources, job.completed_at or job.created_at))
    if not cases:
        raise InvalidQuery("No question was made a test yet: the page of an answer with 👎 offers it.", rule="what")
    return cases, tapes


async def _evaluate(operating: Operating, name: str, cases: Sequence[Case], wish: EvaluationWish) -> Exit:
    """Exit 0 where all expectations are met, 3 where one is not or a question failed."""
    before = None
    with suppress(OSError, StoreError):  # there is none, or another gorkd has written it
        before = decode((wish.out / RUN).read_text("utf-8"), Run)
    runs = [await _run(operating, name, cases, wish, place) for place in range(len(wish.configurations))]
    changes = changes_since(before, runs[0]) if before else []
    _keep(wish, runs, changes, before)
    console = Console(highlight=False)
    for run in runs:
        print_run(console, run)
    if len(runs) > 1:
        print_comparison(console, *runs)
    elif before:
        print_changes(console, before, changes)
    # For `stats --calibration` and /admin; of the configuration that is in use alone.
    grades = grades_of(runs[0], of_jobs=bool(wish.recorded)) if not runs[0].configuration else ()
    if grades:
        async with operating.open_kept() as kept:
            await kept.evaluations.put_grades(grades, datetime.now(UTC))
    say(f"{wish.out / PAGE} shows the answers; {RUN} and {JUNIT} are beside it")
    return Exit.INSUFFICIENT if any(one.has_failed for run in runs for one in run.outcomes) else Exit.ANSWERED


async def _run(operating: Operating, name: str, cases: Sequence[Case], wish: EvaluationWish, place: int) -> Run:
    """One configuration, from where it was left."""
    configuration = wish.configurations[place]
    unfinished = wish.out / f"{UNFINISHED}-{_digest(cases, configuration, wish)}.jsonl"
    done = _done(unfinished)
    began_at = iso_utc(datetime.now(UTC)) or ""
    if done:
        say(f"going on after {wording.counted(len(done), 'question')} that were done before")
    async with operating.open_laboratory(configuration) as deps:
        tapes = {case.id: _tape(case, wish, deps.clock()) for case in cases if case.id not in done}

        def deps_of(case: Case) -> Deps:
            tape = tapes[case.id]
            return taped(deps, tape) if tape else deps

        with _progress(len(cases), len(done)) as progress:

            def tell(outcome: Outcome) -> None:
                tape = tapes[outcome.case_id]
                if tape and wish.record:
                    _write(wish.record / f"{_file_name(outcome.case_id)}.json", encode(tape.recording()))
                _write(unfinished, f"{encode(outcome)}\n", is_added=True)
                progress.advance(progress.task_ids[0])

            is_replayed = wish.replay is not None or bool(wish.recorded)
            ask = asking(deps_of, is_replayed=is_replayed)
            outcomes = await run_cases(cases, ask, at_once=wish.at_once, done=done, tell=tell)
    unfinished.unlink(missing_ok=True)
    new_calls = sum(tape.new_calls for tape in tapes.values() if tape) if is_replayed else None
    return Run(name, began_at, _shown(configuration), tuple(outcomes), new_calls)


def _shown(configuration: Mapping[str, str]) -> dict[str, str]:
    """Without what is secret: runs are kept, and pages of them handed on."""
    marks = ("KEY", "TOKEN", "SECRET", "PASSWORD")
    return {
        name: "…" if any(mark in name.upper() for mark in marks) or "@" in value else value
        for name, value in configuration.items()
    }


def _tape(case: Case, wish: EvaluationWish, now: datetime) -> Tape | None:
    """Raises `InvalidQuery` for a question without a recording."""
    if case.id in wish.recorded:
        return wish.recorded[case.id]
    if wish.record:
        return Tape(now)
    if wish.replay is None:
        return None
    path = wish.replay / f"{_file_name(case.id)}.json"
    try:
        return Tape.of(decode(_read(path), Recording))
    except StoreError as exc:
        raise InvalidQuery(f"{path} is no recording that can be read.", rule="recording") from exc


def _progress(total: int, done: int) -> Progress:
    """On stderr; on a terminal alone."""
    console = Console(file=sys.stderr)
    progress = Progress(
        TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    progress.add_task("asking", total=total, completed=done)
    return progress


# Files


def _keep(wish: EvaluationWish, runs: Sequence[Run], changes: Sequence[OutcomeChange], before: Run | None) -> None:
    """The run beside the one before it; of two configurations the first is the run."""
    if before is not None:
        _write(wish.out / BEFORE, encode(before))
    _write(wish.out / RUN, encode(runs[0]))
    if len(runs) > 1:
        _write(wish.out / "run-b.json", encode(runs[1]))
    _write(wish.out / JUNIT, junit_xml(runs))
    others = [*runs[1:], *([before] if before and len(runs) == 1 else [])]
    _write(wish.out / PAGE, page_of(runs[0], others[0] if others else None, changes))


def page_of(run: Run, other: Run | None = None, changes: Sequence[OutcomeChange] = ()) -> str:
    """One HTML file, the answers of two runs side by side; nothing is loaded from anywhere.

    `other` is another configuration, or the run before; `changes` are those since then.
    """
    runs = [run, *([other] if other else [])]
    theirs = {outcome.case_id: outcome for outcome in other.outcomes} if other else {}
    said_of = {change.case_id: change for change in changes}
    pairs = [(outcome, theirs.get(outcome.case_id)) for outcome in run.outcomes]
    rows = zip(*(figures(totals_of(one)) for one in runs), strict=True)
    template = jinja2.Environment(
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).from_string(files(__package__).joinpath("evaluation.html").read_text("utf-8"))
    return template.render(
        runs=runs,
        figures=[(row[0][0], [value for _, value in row]) for row in rows],
        cases=[(mine, their, said_of.get(mine.case_id), their and disagreement(mine, their)) for mine, their in pairs],
        state_of=state_of, counted=wording.counted, marks=MARKS,
    )  # fmt: skip


def _done(path: Path) -> dict[str, Outcome]:
    """What was finished before the run was interrupted; a line that was cut is asked again."""
    found = {}
    with suppress(OSError):
        for line in path.read_text("utf-8").splitlines():
            with suppress(StoreError):
                outcome = decode(line, Outcome)
                found[outcome.case_id] = outcome
    return found


def _digest(cases: Sequence[Case], configuration: Mapping[str, str], wish: EvaluationWish) -> str:
    """Of all that an unfinished run must have in common with the one that goes on."""
    said = encode(tuple(cases)), sorted(configuration.items()), str(wish.record), str(wish.replay)
    return hashlib.sha256(repr(said).encode("utf-8", "replace")).hexdigest()[:12]


def _file_name(case_id: str) -> str:
    """Of a recording: the id where it can be a name, with a digest where it cannot."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in case_id)[:60]
    digest = hashlib.sha256(case_id.encode("utf-8", "replace")).hexdigest()[:8]
    return plain if plain == case_id else f"{plain}-{digest}"


def _folder(path: str) -> Path | None:
    return Path(path) if path else None


def _read(path: Path) -> str:
    try:
        return read_file(path).decode()
    except UnicodeError as exc:
        raise InvalidQuery(said("{file} is not text in UTF-8.", file=path), rule="file") from exc


def _write(path: Path, text: str, *, is_added: bool = False) -> None:
    """What is kept may be what people asked in private: it is for the eyes of who runs gorkd."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("a" if is_added else "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as exc:
        raise InvalidQuery(f"{path} cannot be written: {exc.strerror}.", rule="file") from exc


def _settings(text: str) -> dict[str, str]:
    """`GORKD_MODEL=a GORKD_PRICES=…`, quoted as in a shell; nothing for "as it is set". Raises `InvalidQuery`."""
    try:
        parts = [part.partition("=") for part in shlex.split(text)]
    except ValueError:
        parts = [("", "", "")]
    if not all(name.isidentifier() and sign for name, sign, _ in parts):
        raise InvalidQuery(f"A configuration is NAME=VALUE …, not {text!r}.", rule="configuration")
    return {name: value for name, _, value in parts}


# The tables


def print_run(console: Console, run: Run) -> None:
    """A row a question, its unmet expectations below it, then the figures."""
    console.print(Text(f"{run.name}: {one_line(run.title)}", "bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    room = max(console.width - FIGURES_COLUMNS, LEAST_COLUMNS)
    table.add_column("", no_wrap=True, min_width=5)
    table.add_column("question", no_wrap=True)
    table.add_column("confidence", no_wrap=True, min_width=12)
    for name, width in (("✓", 5), ("met", 4), ("s", 5), ("cost", 7)):
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    for outcome in run.outcomes:
        state, looked = state_of(outcome), [one for one in outcome.met if one.is_met is not None]
        met = f"{sum(bool(one.is_met) for one in looked)}/{len(looked)}" if looked else "–"
        table.add_row(
            Text(state, _STYLES[state]), cut(one_line(f"{outcome.case_id}: {outcome.question}"), room),
            outcome.confidence or "–", f"{outcome.ticked}/{len(outcome.claims)}", met,
            f"{outcome.seconds:.1f}", "?" if outcome.cost_usd is None else f"${outcome.cost_usd:.4f}",
        )  # fmt: skip
    console.print(table)
    for outcome in run.outcomes:
        unmet = [f"{one.expectation} ({one.says})" for one in outcome.met if one.is_met is False]
        for complaint in [outcome.error] if outcome.error else unmet:
            console.print(Text(f"  {outcome.case_id}: {one_line(complaint)}", "red"), soft_wrap=True)
    line = " · ".join(f"{name} {value}" for name, value in figures(totals_of(run)) if value != "0")
    console.print(Text(line), soft_wrap=True)
    if run.new_calls:
        console.print(Text(f"{wording.counted(run.new_calls, 'model call')} had no recording"), soft_wrap=True)
    console.print()


def print_changes(console: Console, before: Run, changes: Sequence[OutcomeChange]) -> None:
    console.print(Text(f"Since {before.began_at}:", "bold"), soft_wrap=True)
    styles = {True: "red", False: "green", None: ""}
    for change in changes:
        line = Text(f"  {change.case_id}: {one_line(change.says)}", styles[change.is_worse])
        console.print(line, soft_wrap=True)
    if not changes:
        console.print("  nothing has changed")


def print_comparison(console: Console, one: Run, other: Run) -> None:
    """The figures side by side, then where they do not say the same, claim by claim."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for run, mark in ((one, "A"), (other, "B")):
        table.add_column(f"{mark}: {one_line(run.title)}", justify="right")
    for (name, ours), (_, theirs) in zip(figures(totals_of(one)), figures(totals_of(other)), strict=True):
        table.add_row(name, ours, theirs)
    console.print(table)
    differing = disagreements(one, other)
    console.print(Text(f"They differ on {len(differing)} of {len(one.outcomes)} questions:", "bold"), soft_wrap=True)
    for mine, their, changes in differing:
        states = "" if state_of(mine) == state_of(their) else f"A {state_of(mine)}, B {state_of(their)}"
        said = "; ".join(filter(None, [states, *changes_in_words(changes)]))
        console.print(Text(f"  {mine.case_id}: {said}"), soft_wrap=True)
        for pair in changes.contradicted:
            console.print(Text(f"    A says: {one_line(pair.before)}", "red"), soft_wrap=True)
            console.print(Text(f"    B says: {one_line(pair.now)}", "red"), soft_wrap=True)
        for mark, texts in (("A", changes.dropped), ("B", changes.added)):
            for text in texts:
                console.print(Text(f"    only {mark}: {one_line(text)}"), soft_wrap=True)
