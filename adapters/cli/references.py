"""`gorkd refs`: the references of a file, each looked up; a table here, CSV and corrected BibTeX as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adapters.cli.running import Exit, OpenResearcher, follow, print_json, run_command, say, say_failure
from core.model.answer import Confidence, JobResult
from core.model.errors import InvalidQuery
from core.model.job import MAX_ATTACHMENT_BYTES, JobStatus, ResearchRequest, rows
from core.presentation.render import cut, job_json, one_line, printable
from core.references.showing import reference_files, reference_rows

_STYLES = {"✓": "green", "◐": "yellow", "✗": "red"}
_NAME_CHARS = 100
_USE_CHARS = 200


def refs_command(open_researcher: OpenResearcher) -> Callable[..., None]:
    def refs(
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
    ) -> None:
        run_command(lambda: _check(open_researcher, files, output, as_json=as_json), as_json=as_json)

    return refs


async def _check(open_researcher: OpenResearcher, files: Sequence[Path], output: Path | None, *, as_json: bool) -> Exit:
    contents = [(file.name, _content(file)) for file in files]
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
        _save(output, result)
    if not as_json:
        _print(Console(highlight=False), result)
    for note in result.answer.limitations:
        say(note)
    return Exit.INSUFFICIENT if result.answer.confidence is Confidence.INSUFFICIENT else Exit.ANSWERED


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_ATTACHMENT_BYTES + 1)
    except OSError as exc:
        raise InvalidQuery(f"{file} cannot be opened: {exc.strerror}.", rule="file") from exc


def _print(console: Console, result: JobResult) -> None:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for row in reference_rows(result):
        sign, said = str(row.get("sign") or ""), printable(str(row.get("said") or ""))
        text = Text(cut(one_line(str(row.get("reference") or "")), _NAME_CHARS), style="bold")
        text.append(f"\n{said}", style="none")
        if row.get("open_copy"):
            text.append(f"\nfree to read: {one_line(str(row['open_copy']))}", style="none")
        for use in rows(row.get("cited_for")):
            if use.get("verdict") != "not judged":
                said = f"{use.get('verdict')} ({use.get('read')}): {one_line(str(use.get('sentence')))}"
                text.append(f"\n{cut(said, _USE_CHARS)}", style="none")
        table.add_row(Text(sign, style=_STYLES.get(sign, "none")), str(row.get("number")), text)
    console.print(table)
    console.print()
    console.print(Text(result.answer.summary.partition("\n")[0] if result.answer else "", style="bold"))


def _save(output: Path, result: JobResult) -> None:
    for file in reference_files(result):
        path = output.with_suffix(f".{file.kind}")
        try:
            path.write_text(file.text, encoding="utf-8")
        except OSError as exc:
            raise InvalidQuery(f"{path} cannot be written: {exc.strerror}.", rule="file") from exc
        say(f"wrote {path}")
