"""The commands of who looks after an installation: `trace`, `doctor`, `forget`, `cache`, `link`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from adapters.cli.cache import CacheAction, run_cache
from adapters.cli.operating import Operating
from adapters.cli.running import Exit, print_json, run_command, say
from adapters.cli.settings import known_tenant
from adapters.cli.trace import print_trace, trace_json
from core.model.errors import InvalidQuery
from core.model.events import Json
from core.pipeline.checkup import Finding, State, Trial, is_healthy
from core.pipeline.trace import trace_id_of
from core.presentation import wording
from core.presentation.page_links import is_private
from core.presentation.render import one_line
from core.tenancy.forgetting import Forgotten, Whose

_Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def trace_command(operating: Operating) -> Callable[..., None]:
    def trace(
        job: Annotated[str, typer.Argument(help="The job's id, job_….", metavar="JOB", show_default=False)],
        *,
        prompts: Annotated[bool, typer.Option("--prompts", help="Also what the model was sent and said.")] = False,
        as_json: _Json = False,
    ) -> None:
        run_command(lambda: _trace(operating, job.strip(), with_prompts=prompts, as_json=as_json), as_json=as_json)

    return trace


def doctor_command(operating: Operating) -> Callable[..., None]:
    def doctor(
        *,
        tries_models: Annotated[
            bool, typer.Option("--model", help="Try what the model endpoints can do, and which settings suit them.")
        ] = False,
        as_json: _Json = False,
    ) -> None:
        examine = _try_models if tries_models else _examine
        run_command(lambda: examine(operating, as_json=as_json), as_json=as_json)

    return doctor


def forget_command(operating: Operating) -> Callable[..., None]:
    def forget(
        *,
        job: Annotated[str, typer.Option("--job", metavar="JOB", help="One job.")] = "",
        user: Annotated[str, typer.Option("--user", metavar="ID", help="All jobs of a user, by platform id.")] = "",
        workspace: Annotated[
            str,
            typer.Option(
                "--tenant",
                "--workspace",
                metavar="TENANT",
                help="All of local, discord:<guild> or slack:<team>.",
                callback=known_tenant,
            ),
        ] = "",
        is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask whether I am sure.")] = False,
        as_json: _Json = False,
    ) -> None:
        def run() -> Coroutine[None, None, Exit]:
            whose = _whose(job.strip(), user.strip(), workspace.strip())
            if not is_sure and not as_json and sys.stdin.isatty():
                typer.confirm(f"Remove everything of {_named(whose)}? This cannot be undone.", abort=True, err=True)
            return _forget(operating, whose, as_json=as_json)

        run_command(run, as_json=as_json)

    return forget


def cache_command(operating: Operating) -> Callable[..., None]:
    def cache(
        action: Annotated[CacheAction, typer.Argument(help="What to do.", metavar="ACTION", show_default=False)],
        job: Annotated[str, typer.Argument(help="The job's id, for show and forget.", metavar="JOB")] = "",
        *,
        workspace: Annotated[
            str,
            typer.Option(
                "--tenant",
                "--workspace",
                metavar="TENANT",
                help="Only local, discord:<guild> or slack:<team>.",
                callback=known_tenant,
            ),
        ] = "",
        is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask whether I am sure.")] = False,
        as_json: _Json = False,
    ) -> None:
        place = workspace.strip()
        command = partial(run_cache, operating, action, job.strip(), workspace=place, is_sure=is_sure, as_json=as_json)
        run_command(command, as_json=as_json)

    return cache


def link_command(operating: Operating) -> Callable[..., None]:
    def link(
        job: Annotated[str, typer.Argument(help="The job's id, job_….", metavar="JOB", show_default=False)],
        *,
        revoke: Annotated[bool, typer.Option("--revoke", help="Take back every link that was given so far.")] = False,
        as_json: _Json = False,
    ) -> None:
        run_command(lambda: _link(operating, job.strip(), is_revoking=revoke, as_json=as_json), as_json=as_json)

    return link


async def _trace(operating: Operating, job_id: str, *, with_prompts: bool, as_json: bool) -> Exit:
    async with operating.open_kept() as kept:
        job, entries = await kept.jobs.get(job_id), await kept.traces.read(job_id)
        tool_trace = await kept.tool_traces.get(trace_id_of(job_id))
    if as_json:
        print_json(trace_json(job, entries, with_prompts=with_prompts, tool_trace=tool_trace))
    else:
        print_trace(Console(highlight=False), job, entries, with_prompts=with_prompts, tool_trace=tool_trace)
    return Exit.ANSWERED


async def _link(operating: Operating, job_id: str, *, is_revoking: bool, as_json: bool) -> Exit:
    async with operating.open_kept() as kept:
        job, links = await kept.jobs.get(job_id), kept.links()
        if is_revoking:
            await kept.revocations.revoke(job, links.clock())
    url = None if is_revoking else links.link(job)
    if as_json:
        print_json({"job_id": job.id, "url": url})
    elif not is_private(job):
        sys.stdout.write(f"{url}\n" if url else "The page of this job is open to all who know its id.\n")
    else:
        sys.stdout.write(f"{url}\n" if url else "Taken back: no link that was given so far opens the page any more.\n")
    return Exit.ANSWERED


async def _examine(operating: Operating, *, as_json: bool) -> Exit:
    findings = await operating.examine()
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
    jobs, entries = wording.counted(gone.jobs, "job"), "entry" if gone.entries == 1 else "entries"
    if gone.entries:
        sys.stdout.write(f"Forgotten: {_named(whose)}, {jobs}, {gone.entries} {entries}.\n")
    elif not gone.failures:
        sys.stdout.write(f"Nothing is kept of {_named(whose)}.\n")


def _whose(job: str, user: str, workspace: str) -> Whose:
    """Raises `InvalidQuery` unless it is a job, a user (perhaps of one workspace), or a workspace."""
    if bool(job) + bool(user or workspace) != 1:
        raise InvalidQuery("Say what to forget: --job, or --user and perhaps --workspace, or --workspace.", rule="what")
    return Whose(job_id=job, user_id=user, tenant=workspace)


def _named(whose: Whose) -> str:
    parts: Sequence[tuple[str, str]] = (
        ("", whose.job_id),
        ("user ", whose.user_id),
        ("workspace ", whose.tenant),
    )
    return " in ".join(f"{word}{value}" for word, value in parts if value)


# What `doctor` found: a line for each part, or for each endpoint what it can do


_SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warning": ("look", "yellow"),
    "failed": ("FAIL", "bold red"),
    "off": ("off", "dim"),
}


MOST_COLUMNS, LEAST_COLUMNS = 100, 24  # of a line, which is hard to read when longer; of a column of words


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    width = max((len(finding.part) for finding in findings), default=0)
    for finding in findings:
        sign, style = _SIGNS[finding.state]
        line = Text.assemble((f"{sign:<5}", style), f"{finding.part:<{width}}  ", one_line(finding.says))
        console.print(line, soft_wrap=True)


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
        sign, style = _SIGNS[finding.state]
        head = Text.assemble("  ", (f"{sign:<5}", style), f"{finding.part:<{width}}  ")
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
        console.print(Text("For .env:"))
        for line in changes:
            console.print(Text(f"  {one_line(line)}", "yellow"), soft_wrap=True)
        console.print()
    ill = [trial.title for trial in trials if not trial.is_usable]
    good = "Usable; the lines above make it better." if changes else "Usable as it is."
    console.print(Text(f"Not usable as it is: {'; '.join(ill)}." if ill else good), soft_wrap=True)


def trials_json(trials: Sequence[Trial]) -> dict[str, Json]:
    return {
        "usable": all(trial.is_usable for trial in trials),
        "endpoints": [
            {
                "title": trial.title,
                "findings": [
                    {
                        "part": found.part,
                        "state": found.state,
                        "says": found.says,
                        "instead": found.instead,
                        "change": list(found.change),
                    }
                    for found in trial.findings
                ],
            }
            for trial in trials
        ],
    }
