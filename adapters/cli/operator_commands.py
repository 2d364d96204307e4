"""The commands of who looks after an installation: `trace`, `doctor`, `forget`, `cache`, `link`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Coroutine, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from io import StringIO
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adapters.cli.running import Exit, Kept, Operating, ask_whether, print_json, say
from adapters.cli.settings import AsJson, JobId, OneTenant, tenant_option
from core.deep.viewing import tool_trace_json, trace_lines
from core.model.errors import InvalidQuery, JobNotFound
from core.model.job import Json, ResearchJob
from core.model.ports import KeptAnswer
from core.pipeline.checkup import Finding, State, Trial, is_healthy
from core.pipeline.tool_traces import ToolTrace, TraceEntry, trace_id_of
from core.pipeline.tracing import dollars, in_order, totals_line, totals_of, what_was_done, without_repeats
from core.presentation import wording
from core.presentation.page_links import is_private
from core.presentation.render import cut, iso_utc, one_line, printable
from core.tenancy.forgetting import Forgotten, Whose
from core.text.saying import say as said
from core.text.saying import say_many

_Sure = Annotated[bool, typer.Option("--yes", help="Do not ask whether I am sure.")]


async def trace_command(
    operating: Operating,
    job: JobId,
    *,
    prompts: Annotated[bool, typer.Option("--prompts", help="Also what the model was sent and said.")] = False,
    as_json: AsJson = False,
) -> Exit:
    job_id = job.strip()
    async with operating.open_kept() as kept:
        found, entries = await kept.jobs.get(job_id), await kept.traces.read(job_id)
        tool_trace = await kept.traces.get(trace_id_of(job_id))
    if as_json:
        print_json(trace_json(found, entries, with_prompts=prompts, tool_trace=tool_trace))
    else:
        print_trace(Console(highlight=False), found, entries, with_prompts=prompts, tool_trace=tool_trace)
    return Exit.ANSWERED


async def doctor_command(
    operating: Operating,
    *,
    tries_models: Annotated[
        bool, typer.Option("--model", help="Try what the model endpoints can do, and which settings suit them.")
    ] = False,
    as_json: AsJson = False,
) -> Exit:
    if tries_models:
        return await _try_models(operating, as_json=as_json)
    if sys.stderr.isatty():
        say("trying every part; what is away takes seconds")
    return _report(await operating.examine(), as_json=as_json)


async def upgrade_check_command(operating: Operating, *, as_json: AsJson = False) -> Exit:
    return _report(await operating.foresee(), as_json=as_json)


def forget_command(
    operating: Operating,
    named: JobId = "",
    *,
    job: Annotated[str, typer.Option("--job", metavar="JOB", help="One job.")] = "",
    user: Annotated[str, typer.Option("--user", metavar="ID", help="All jobs of a user, by platform id.")] = "",
    workspace: Annotated[str, tenant_option(help="All of local, discord:<guild> or slack:<team>.")] = "",
    is_sure: _Sure = False,
    as_json: AsJson = False,
) -> Coroutine[None, None, Exit]:
    """Asks before anything runs, where an interrupt ends it at once."""
    whose = _whose(named.strip(), job.strip(), user.strip(), workspace.strip())
    if not is_sure and not as_json and sys.stdin.isatty():
        ask_whether(said("Remove everything of {what}? This cannot be undone.", what=_named(whose)))
    return _forget(operating, whose, as_json=as_json)


async def link_command(
    operating: Operating,
    job: JobId,
    *,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take back every link that was given so far.")] = False,
    as_json: AsJson = False,
) -> Exit:
    async with operating.open_kept() as kept:
        found, links = await kept.jobs.get(job.strip()), kept.links()
        if revoke:
            await kept.revocations.revoke(found, links.clock())
    url = None if revoke else links.link(found)
    if as_json:
        print_json({"job_id": found.id, "url": url})
    elif not is_private(found):
        sys.stdout.write(f"{url or said('The page of this job is open to all who know its id.')}\n")
    else:
        taken = said("Taken back: no link that was given so far opens the page any more.")
        sys.stdout.write(f"{url or taken}\n")
    return Exit.ANSWERED


def _report(findings: Sequence[Finding], *, as_json: bool) -> Exit:
    if as_json:
        print_json(findings_json(findings))
    else:
        print_findings(Console(highlight=False), findings)
    return Exit.ANSWERED if is_healthy(findings) else Exit.FAILED


async def _try_models(operating: Operating, *, as_json: bool) -> Exit:
    console, found = Console(highlight=False), list[Trial]()
    async with operating.open_trials() as trials:
        say(trials.announcement)
        async for trial in trials.run():
            found.append(trial)
            if not as_json:
                print_trial(console, trial)
    if as_json:
        print_json(trials_json(found))
    else:
        print_changes(console, found)
    return Exit.ANSWERED if all(trial.is_usable for trial in found) else Exit.FAILED


async def _forget(operating: Operating, whose: Whose, *, as_json: bool) -> Exit:
    async with operating.open_kept() as kept:
        gone = await kept.forget(whose)
    if as_json:
        print_json({"jobs": gone.jobs, "entries": gone.entries, "failures": dict(gone.failures)})
    else:
        _print_forgotten(whose, gone)
    for archive, why in gone.failures.items():
        say(f"{archive}: {why}")
    return Exit.FAILED if gone.failures else Exit.ANSWERED


def _print_forgotten(whose: Whose, gone: Forgotten) -> None:
    if gone.entries:
        jobs = say_many("{number} job", "{number} jobs", gone.jobs)
        entries = say_many("{number} entry", "{number} entries", gone.entries)
        sys.stdout.write(said("Forgotten: {what}, {jobs}, {entries}.", what=_named(whose), jobs=jobs, entries=entries))
        sys.stdout.write("\n")
    elif not gone.failures:
        sys.stdout.write(said("Nothing is kept of {what}.", what=_named(whose)) + "\n")


def _whose(named: str, job: str, user: str, workspace: str) -> Whose:
    """Raises `InvalidQuery` unless it is a job, a user (perhaps of one workspace), or a workspace; `named` is a job."""
    if bool(named) + bool(job) + bool(user or workspace) != 1 or not (named or "job_").startswith("job_"):
        raise InvalidQuery(
            said("Say what to forget: --job, or --user and perhaps --workspace, or --workspace."), rule="what"
        )
    return Whose(job_id=named or job, user_id=user, tenant=workspace)


def _named(whose: Whose) -> str:
    if whose.user_id and whose.tenant:
        return said("user {user} in workspace {workspace}", user=whose.user_id, workspace=whose.tenant)
    if whose.user_id:
        return said("user {user}", user=whose.user_id)
    return whose.job_id or said("workspace {workspace}", workspace=whose.tenant)


# What `doctor` found: a line for each part, or for each endpoint what it can do


_SIGNS: dict[State, str] = {"ok": "ok", "warning": "look", "failed": "FAIL", "off": "off"}
_STYLES: dict[State, str] = {"ok": "green", "warning": "yellow", "failed": "bold red", "off": "dim"}


MOST_COLUMNS, LEAST_COLUMNS = 100, 24  # of a line, which is hard to read when longer; of a column of words


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    width = max((len(finding.part) for finding in findings), default=0)
    for finding in findings:
        line = Text.assemble(_sign(finding.state), f"{finding.part:<{width}}  ", one_line(finding.says))
        console.print(line, soft_wrap=True)


def _sign(state: State) -> tuple[str, str]:
    width = max(len(said(sign)) for sign in _SIGNS.values()) + 1
    return f"{said(_SIGNS[state]):<{width}}", _STYLES[state]


def findings_json(findings: Sequence[Finding]) -> dict[str, Json]:
    return {
        "healthy": is_healthy(findings),
        "parts": [{"part": found.part, "state": found.state, "says": found.says} for found in findings],
    }


def print_trial(console: Console, trial: Trial) -> None:
    """One endpoint; wrapped on a terminal alone, so that a line stays a line in a pipe."""
    console.print(Text(one_line(trial.title), "bold"), soft_wrap=True)
    width = max((len(finding.part) for finding in trial.findings), default=0)
    for finding in trial.findings:
        head = Text.assemble("  ", _sign(finding.state), f"{finding.part:<{width}}  ")
        for line in _wrapped(console, finding.says, indent=len(head)):
            console.print(head + Text(line), soft_wrap=True)
            head = Text(" " * len(head))
        for line in _wrapped(console, f"→ {finding.instead}" if finding.instead else "", indent=len(head)):
            console.print(head + Text(line, "dim"), soft_wrap=True)
            head = Text(" " * len(head))
    console.print()


def _wrapped(console: Console, text: str, *, indent: int) -> list[str]:
    """Without an indent where there is none of it to see: a pipe, or a terminal too narrow for columns."""
    plain = one_line(text)
    width = min(console.width, MOST_COLUMNS) - indent
    is_wide = console.is_terminal and width >= LEAST_COLUMNS
    return textwrap.wrap(plain, width) if is_wide else [plain] * bool(plain)


def print_changes(console: Console, trials: Sequence[Trial]) -> None:
    """The lines for `.env`, each once, and whether gorkd can work with what is there."""
    changes = dict.fromkeys(line for trial in trials for finding in trial.findings for line in finding.change)
    if changes:
        console.print(Text(said("For .env:")))
        for line in changes:
            console.print(Text(f"  {one_line(line)}", "yellow"), soft_wrap=True)
        console.print()
    ill = [trial.title for trial in trials if not trial.is_usable]
    good = said("Usable; the lines above make it better.") if changes else said("Usable as it is.")
    bad = said("Not usable as it is: {parts}.", parts="; ".join(ill))
    if any(finding.state != "off" for trial in trials for finding in trial.findings):
        console.print(Text(bad if ill else good), soft_wrap=True)


def trials_json(trials: Sequence[Trial]) -> dict[str, Json]:
    told = ("part", "state", "says", "instead", "change")
    endpoints: list[Json] = [
        {"title": trial.title, "findings": [{name: getattr(found, name) for name in told} for found in trial.findings]}
        for trial in trials
    ]
    return {"usable": all(trial.is_usable for trial in trials), "endpoints": endpoints}


# `gorkd cache`: what may be given again, and letting go of it. Jobs and their answers stay; `forget` removes those


QUESTION_CHARS = 70  # of a question in the list


async def _list(operating: Operating, *, workspace: OneTenant = "", as_json: AsJson = False) -> Exit:
    """List the answers that may be given again."""
    async with operating.open_kept() as kept:
        entries = await kept.cache.kept(tenant=workspace.strip())
        questions = [await _question(kept, entry.job_id) for entry in entries]
    if as_json:
        rows: list[Json] = [_entry_json(*row) for row in zip(entries, questions, strict=True)]
        print_json({"answers": rows})
        return Exit.ANSWERED
    now = datetime.now(UTC)
    for entry, question in zip(entries, questions, strict=True):
        age = wording.age((now - entry.created_at).total_seconds())
        place = one_line(f"{entry.scope.tenant} {entry.scope.visibility}")
        sys.stdout.write(f"{entry.job_id}  {place}  {age}  {cut(one_line(question), QUESTION_CHARS)}\n")
    say(say_many("{number} answer may be given again", "{number} answers may be given again", len(entries)))
    return Exit.ANSWERED


async def _show(operating: Operating, job: JobId, *, as_json: AsJson = False) -> Exit:
    """Show one of them, where it is valid, and until when."""
    job_id = job.strip()
    async with operating.open_kept() as kept:
        entry = next((entry for entry in await kept.cache.kept() if entry.job_id == job_id), None)
        question, result = await _question(kept, job_id), await kept.jobs.result(job_id) if entry else None
    if entry is None:
        raise _not_cached(job_id)
    summary = result.answer.summary if result and result.answer else ""
    if as_json:
        print_json({**_entry_json(entry, question), "summary": summary})
        return Exit.ANSWERED
    lines = [
        question,
        "",
        summary,
        "",
        said("Valid in   {place}", place=f"{entry.scope.tenant}, {entry.scope.visibility}"),
        said("Answered   {moment}", moment=iso_utc(entry.created_at)),
        said("Given till {moment}", moment=iso_utc(entry.expires_at)),
    ]
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return Exit.ANSWERED


async def _let_go(operating: Operating, job: JobId, *, as_json: AsJson = False) -> Exit:
    """Let go of one at once; the job and its answer stay."""
    async with operating.open_kept() as kept:
        gone = await kept.cache.drop([job.strip()])
    if not gone:
        raise _not_cached(job.strip())
    return _told(gone, 0, as_json=as_json)


def _not_cached(job_id: str) -> InvalidQuery:
    return InvalidQuery(said("{job} is not among the answers that may be given again.", job=job_id), rule="what")


def _purge(
    operating: Operating, *, workspace: OneTenant = "", is_sure: _Sure = False, as_json: AsJson = False
) -> Coroutine[None, None, Exit]:
    """Let go of all of them; without a workspace also of the pages and search results that jobs reuse."""
    if not is_sure and not as_json and sys.stdin.isatty():
        question = said("Let go of everything cached?")
        if workspace.strip():
            question = said("Let go of everything cached of {workspace}?", workspace=workspace.strip())
        ask_whether(question)
    return _purged(operating, workspace.strip(), as_json=as_json)


async def _purged(operating: Operating, workspace: str, *, as_json: bool) -> Exit:
    """Of one workspace its answers; without one also the pages and search results, which are nobody's."""
    async with operating.open_kept() as kept:
        entries = await kept.cache.kept(tenant=workspace)
        gone = await kept.cache.drop([entry.job_id for entry in entries])
        return _told(gone, 0 if workspace else await kept.reuse.clear(), as_json=as_json)


cache_command = {"list": _list, "show": _show, "forget": _let_go, "purge": _purge}


def _told(answers: int, pages: int, *, as_json: bool) -> Exit:
    if as_json:
        print_json({"answers": answers, "reused": pages})
    else:
        gone = say_many("Let go of {number} answer.", "Let go of {number} answers.", answers)
        if pages:
            gone = say_many(
                "Let go of {answers} and {number} page or search results.",
                "Let go of {answers} and {number} pages or search results.",
                pages,
                answers=say_many("{number} answer", "{number} answers", answers),
            )
        sys.stdout.write(gone + "\n")
    return Exit.ANSWERED


async def _question(kept: Kept, job_id: str) -> str:
    try:
        return (await kept.jobs.get(job_id)).query
    except JobNotFound:
        return said("(forgotten)")


def _entry_json(entry: KeptAnswer, question: str) -> dict[str, Json]:
    return {
        "job_id": entry.job_id,
        "tenant": entry.scope.tenant,
        "visibility": entry.scope.visibility,
        "question": question,
        "created_at": iso_utc(entry.created_at),
        "expires_at": iso_utc(entry.expires_at),
    }


# What a job did, step by step, as a table for people or as JSON


NO_TRACE = "Nothing was recorded for this job, or its trace is older than 30 days."


def print_trace(
    console: Console,
    job: ResearchJob,
    entries: Sequence[TraceEntry],
    *,
    with_prompts: bool,
    tool_trace: ToolTrace | None = None,
) -> None:
    """Everything in the order in which it began, then the sums; with their prompts also the model calls in full.

    `tool_trace` is what a job that researches in rounds has written of its plan.
    """
    console.print(Text(f"{job.id} · {job.status.value} · {one_line(job.query)}"), soft_wrap=True)
    for line in trace_lines(tool_trace) if tool_trace else []:
        console.print(Text(line), soft_wrap=True)
    if not entries:
        console.print(Text(said(NO_TRACE)))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", expand=True)
    for heading in (said("Start"), said("Took")):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(said("Step"), no_wrap=True)
    table.add_column(said("What"), ratio=3, overflow="fold", min_width=20)
    for heading in (said("Tokens"), said("Cost")):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(said("Outcome"), ratio=2, overflow="fold")
    rows = [(entry, _cells(job, entry, times)) for entry, times in without_repeats(in_order(entries))]
    kept = [place for place in range(len(table.columns)) if any(cells[place] for _, cells in rows)]
    table.columns = [table.columns[place] for place in kept]  # without those that say nothing
    for entry, cells in rows:
        table.add_row(*(cells[place] for place in kept), style="bold" if entry.kind == "stage" else "")
    console.print(table)
    paper = StringIO()
    Console(file=paper, width=console.width).print(table)
    for entry, cells in rows:
        if "://" in (what := what_was_done(entry)) and what not in paper.getvalue():
            console.print(Text(f"{cells[0]}  {one_line(what)}"), soft_wrap=True)  # whole, to be copied
    console.print(Text(totals_line(totals_of(entries))), soft_wrap=True)
    if with_prompts:
        for entry in in_order(entries):
            _print_exchange(console, entry)


def trace_json(
    job: ResearchJob, entries: Sequence[TraceEntry], *, with_prompts: bool, tool_trace: ToolTrace | None = None
) -> dict[str, Json]:
    totals = asdict(totals_of(entries))
    return {
        "job_id": job.id,
        "status": job.status.value,
        "question": job.query,
        "totals": {"models_without_price": totals.pop("unpriced"), **totals},
        "tool_trace": tool_trace_json(tool_trace) if tool_trace else None,
        "entries": [_trace_entry_json(entry, with_prompts=with_prompts) for entry in in_order(entries)],
    }


def _cells(job: ResearchJob, entry: TraceEntry, times: int) -> tuple[Text, ...]:
    began = (entry.at - job.created_at).total_seconds() - entry.seconds
    tokens = f"{entry.prompt_tokens}+{entry.completion_tokens}{'~' if entry.is_estimated else ''}"
    repeated = " " + say_many("({number} time)", "({number} times)", times) if times > 1 else ""
    cells = (
        f"{max(began, 0.0):.2f} s",
        f"{entry.seconds:.2f} s" if entry.kind != "mark" else "",
        entry.name if entry.kind in ("stage", "mark", "page") else f"{entry.kind} {entry.name}",
        what_was_done(entry),
        tokens if entry.kind == "model" else "",
        dollars(entry.cost_usd) if entry.cost_usd is not None else "",
        f"{entry.outcome if entry.outcome != 'done' else ''}{repeated}",
    )
    return tuple(
        Text(one_line(cell), no_wrap="://" in cell, overflow="ellipsis" if "://" in cell else "fold") for cell in cells
    )


def _print_exchange(console: Console, entry: TraceEntry) -> None:
    said = entry.exchange
    if not (said.system or said.user or said.answer):
        return
    for heading, text in (("system", said.system), ("user", said.user), ("answer", said.answer)):
        console.print(Text(f"\n── {one_line(entry.name)}: {heading} ──", style="bold"))
        for line in text.splitlines():
            console.print(Text(one_line(line)), soft_wrap=True)


def _trace_entry_json(entry: TraceEntry, *, with_prompts: bool) -> dict[str, Json]:
    row: dict[str, Json] = {
        "kind": entry.kind, "name": entry.name, "at": iso_utc(entry.at), "seconds": round(entry.seconds, 4),
        "outcome": entry.outcome, "detail": entry.detail,
    }  # fmt: skip
    if entry.kind in ("search", "page"):
        row["results"] = entry.results
    if entry.kind == "model":
        figures = ("prompt_tokens", "completion_tokens", "is_estimated", "cost_usd")
        row |= {name: getattr(entry, name) for name in figures}
        if with_prompts:
            row["exchange"] = asdict(entry.exchange)
    return row
