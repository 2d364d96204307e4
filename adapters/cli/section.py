"""`gorkd section` and `gorkd paper`, prose from the library; and `gorkd refs`, the references of a file looked up."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adapters.cli.running import Exit, OpenResearcher, follow, print_json, read_file, say, say_failure, write_file
from core.model.answer import Confidence, JobResult
from core.model.errors import InvalidQuery
from core.model.job import MAX_ATTACHMENT_BYTES, Attachment, JobStatus, Json, ResearchRequest, rows
from core.presentation.render import cut, job_json, one_line, printable
from core.section.prose import with_labels
from core.section.sections import is_brief, read_brief, sections_in
from core.section.writing import is_doubted
from core.text.saying import say as said
from core.text.saying import say_again
from core.works.showing import reference_files, reference_rows, verdict_words

_Context = Annotated[
    Path, typer.Option("--context", metavar="FILE", help="What the paper is about: YAML or JSON with `concept:`.")
]
_Experiment = Annotated[
    Path | None, typer.Option("--experiment", metavar="FILE", help="What was done and found: YAML or JSON.")
]
_Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE.md", help="Write FILE.md, FILE.tex and FILE.bib.")
]
_AuthorYears = Annotated[
    bool, typer.Option("--author-years", help="Cite as [Smith et al., 2024] in the Markdown, not by key.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the job as JSON, with the evidence table.")]


async def section_command(
    open_researcher: OpenResearcher,
    name: Annotated[str, typer.Argument(help="introduction, methods, results, …", metavar="SECTION")],
    *,
    context: _Context,
    experiment: _Experiment = None,
    output: _Output = None,
    author_years: _AuthorYears = False,
    as_json: _Json = False,
) -> Exit:
    query = f"Write the section: {name}"
    return await _write(open_researcher, query, context, experiment, output, author_years=author_years, as_json=as_json)


async def paper_command(
    open_researcher: OpenResearcher,
    *,
    context: _Context,
    experiment: _Experiment = None,
    output: _Output = None,
    author_years: _AuthorYears = False,
    as_json: _Json = False,
) -> Exit:
    query = "Write the whole paper"
    return await _write(open_researcher, query, context, experiment, output, author_years=author_years, as_json=as_json)


async def _write(
    open_researcher: OpenResearcher, query: str, context: Path, experiment: Path | None, output: Path | None,
    *, author_years: bool, as_json: bool,
) -> Exit:  # fmt: skip
    sections_in(query)
    _check_folder(output)
    attachments = [_attachment(file) for file in (context, experiment) if file is not None]
    read_brief([(entry.name, entry.text) for entry in attachments])  # what is wrong with it is said before anything
    async with open_researcher() as researcher:
        job = await researcher.submit(ResearchRequest(query, modes=("section",)), attachments=attachments)
        job = await follow(researcher, job.id)
        result = await researcher.result(job.id)
        if as_json:
            print_json(job_json(job, result, await researcher.sources(job.id)))
    if job.status is not JobStatus.COMPLETED or result is None or result.answer is None:
        return say_failure(job)
    markdown = _text(result, "markdown")
    if author_years:
        labels = result.details.get("labels")
        named = {key: str(label) for key, label in labels.items()} if isinstance(labels, dict) else {}
        markdown = with_labels(markdown, named)
    if output is not None:
        _save(output, {"md": markdown, "tex": _text(result, "latex"), "bib": _text(result, "bibtex")})
    elif not as_json:
        sys.stdout.write(printable(markdown))
    _tell(job.id, result)
    return Exit.ANSWERED


def _attachment(file: Path) -> Attachment:
    if not is_brief(file.name):
        told = "{file}: the name of such a file ends in .yaml, .yml or .json."
        raise InvalidQuery(said(told, file=file), rule="brief")
    try:
        text = read_file(file, MAX_ATTACHMENT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidQuery(said("{file} is not text in UTF-8.", file=file), rule="brief") from exc
    return Attachment(file.name, "application/yaml", file.name, text)


def _check_folder(output: Path | None) -> None:
    """Before anything is paid for. Raises `InvalidQuery`."""
    if output is not None and not os.access(output.parent, os.W_OK):
        why = os.strerror(errno.EACCES if output.parent.exists() else errno.ENOENT)
        raise InvalidQuery(said("{file} cannot be written: {why}.", file=output, why=why), rule="file")


def _save(output: Path, texts: Mapping[str, str]) -> None:
    """`texts` by what their files end in."""
    for kind, text in texts.items():
        file = output.with_suffix(f".{kind}")
        write_file(file, text)
        say(said("wrote {file}", file=file))


def _tell(job_id: str, result: JobResult) -> None:
    """What was written, what was left out, and what it cost."""
    answer = result.answer
    if answer is None:
        return
    say(f"{answer.summary} ({job_id})")
    for note in answer.limitations:
        say(note)
    for entry in answer.removed:
        why = one_line(say_again(entry.reason))
        say(said("removed: {sentence} ({why})", sentence=one_line(entry.text), why=why))
    for claim in filter(is_doubted, answer.claims):
        why = one_line("; ".join(map(say_again, claim.reasons)))
        say(said("not confirmed: {sentence} ({why})", sentence=one_line(claim.text), why=why))
    usage = result.details.get("usage")
    if isinstance(usage, dict) and usage:
        say("tokens: " + ", ".join(f"{phase} {_tokens(row):,}" for phase, row in usage.items()))


def _tokens(row: Json) -> int:
    counts = (row.get("prompt_tokens"), row.get("completion_tokens")) if isinstance(row, dict) else ()
    return sum(count for count in counts if isinstance(count, int))


def _text(result: JobResult, field: str) -> str:
    text = result.details.get(field)
    return text if isinstance(text, str) else ""


# `gorkd refs`: the references of a file, each looked up; a table here, CSV and corrected BibTeX as files


_STYLES = {"✓": "green", "◐": "yellow", "✗": "red"}
_NAME_CHARS = 100
_USE_CHARS = 200


async def refs_command(
    open_researcher: OpenResearcher,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="BibTeX, RIS, Markdown, PDF or Word; a text beside its list, too.",
            metavar="FILE...",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write FILE.csv and FILE.bib.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the job as JSON.")] = False,
) -> Exit:
    _check_folder(output)
    contents = [(file.name, read_file(file, MAX_ATTACHMENT_BYTES + 1)) for file in files]
    request = ResearchRequest(
        f"Check the references of {', '.join(name for name, _ in contents)}", modes=("references",)
    )
    async with open_researcher() as researcher:
        attachments = [await researcher.read_attachment(name, "", content) for name, content in contents]
        job = await researcher.submit(request, attachments=attachments)
        job = await follow(researcher, job.id)
        result = await researcher.result(job.id)
    if as_json:
        print_json(job_json(job, result, []))
    if job.status is not JobStatus.COMPLETED or result is None or result.answer is None:
        return say_failure(job)
    if output is not None:
        _save(output, {file.kind: file.text for file in reference_files(result)})
    if not as_json:
        _print(Console(highlight=False), result)
    for note in result.answer.limitations:
        say(note)
    return Exit.INSUFFICIENT if result.answer.confidence is Confidence.INSUFFICIENT else Exit.ANSWERED


def _print(console: Console, result: JobResult) -> None:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for row in reference_rows(result):
        sign, stands = str(row.get("sign") or ""), printable(str(row.get("said") or ""))
        text = Text(cut(one_line(str(row.get("reference") or "")), _NAME_CHARS), style="bold")
        text.append(f"\n{stands}", style="none")
        if row.get("open_copy"):
            free = said("free to read: {url}", url=one_line(str(row["open_copy"])))
            text.append(f"\n{free}", style="none")
        for use in rows(row.get("cited_for")):
            if use.get("verdict") != "not judged":
                verdict = verdict_words(str(use.get("verdict")))
                read = say_again(str(use.get("read")))
                judged = f"{verdict} ({read}): {one_line(str(use.get('sentence')))}"
                text.append(f"\n{cut(judged, _USE_CHARS)}", style="none")
        table.add_row(Text(sign, style=_STYLES.get(sign, "none")), str(row.get("number")), text)
    console.print(table)
    console.print()
    console.print(Text(result.answer.summary.partition("\n")[0] if result.answer else "", style="bold"))
