"""`gorkd library`: a shelf of papers at the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from adapters.cli.running import Exit, Operating, print_json, read_file, say, write_file
from adapters.cli.settings import AsJson, tenant_option
from core.library import wording as library_wording
from core.library.desk import SUFFIXES, LibraryDesk, ListedPaper, is_reading_list, read_list
from core.library.ingest import MAX_PAPER_BYTES, Ingested
from core.library.paper import Paper, format_reference, in_order, shelves_of
from core.model.answer import JobResult
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import Json, ResearchJob, Scope
from core.modes.library import papers_view
from core.presentation.render import one_line, printable
from core.section.prose import exported
from core.text.saying import say as said
from core.text.saying import say_day, say_many

_Found = tuple[ResearchJob, JobResult | None]
_Listed = tuple[ListedPaper, Path | None]  # with the file beside the list
_Thing = Path | str | _Listed | GorkdError
_LISTS = SUFFIXES - {".json"}  # in a folder; a JSON there may be anything
_SUFFIXES = frozenset({".pdf", ".md", ".markdown"}) | _LISTS
_Workspace = Annotated[str, tenant_option(help="Whose library: local, discord:<guild> or slack:<team>.")]
_Channel = Annotated[str, typer.Option("--channel", metavar="ID", help="The library of one channel of it.")]
_What = Annotated[
    list[str] | None, typer.Argument(help="Files, folders, reading lists, arXiv ids, DOIs, URLs.", metavar="WHAT")
]
_Jobs = Annotated[list[str] | None, typer.Option("--job", metavar="JOB", help="Findings of a job; may be repeated.")]
_Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; printed without it.")]
_Paper = Annotated[str, typer.Argument(help="The paper's id.", metavar="ID", show_default=False)]


def _shelf(workspace: str, channel: str) -> Scope:
    return Scope(workspace.strip() or "local", f"channel:{channel.strip()}" if channel.strip() else "workspace")


async def _add(
    operating: Operating,
    what: _What = None,
    *,
    jobs: _Jobs = None,
    workspace: _Workspace = "local",
    channel: _Channel = "",
) -> Exit:
    """Add papers, folders of them, arXiv ids, DOIs, URLs, or reading lists: BibTeX, RIS, CSL JSON, ids one a line.

    What is there already is left as it is, so the same command goes on where it was stopped.
    """
    failed, added, shelf = 0, 0, _shelf(workspace, channel)
    if not what and not jobs:
        raise InvalidQuery(
            said("Say what to add: files, folders, arXiv ids, DOIs, URLs, or --job JOB."), rule="nothing"
        )
    found: list[_Found] = []
    if jobs:
        async with operating.open_kept() as kept:
            found = [(await kept.jobs.get(job_id), await kept.jobs.result(job_id)) for job_id in jobs]
    async with operating.open_library() as desk:
        things = [*_things(what or []), *found]
        for at, thing in enumerate(things, start=1):
            head = f"[{at}/{len(things)}] "
            try:
                done = await _add_one(desk, shelf, thing)
            except GorkdError as error:
                failed += 1
                say(f"{head}{error.operator_message}")
                continue
            added += done.is_new
            state = said("added") if done.is_new else said("is there already")
            sys.stdout.write(f"{head}{done.paper.id}  {one_line(done.paper.title)}  {state}\n")
            sys.stdout.flush()
            for remark in done.remarks:
                say(remark)
    say(
        say_many(
            "{number} paper added, {known} there already, {failed} not readable",
            "{number} papers added, {known} there already, {failed} not readable",
            added,
            known=len(things) - added - failed,
            failed=failed,
        )
    )
    return Exit.INVALID_INPUT if failed else Exit.ANSWERED


def _things(what: list[str]) -> Iterator[_Thing]:
    """Files one by one, those of folders too, by name; papers of lists, which come first since they say what the files
    are; a list that cannot be read as why; everything else as it was said.
    """
    for thing in what:
        path = Path(os.path.expanduser(thing))  # Path's raises for ~ of nobody
        if os.path.isdir(path):
            try:
                for file in files_in(path):
                    yield from _in_list(file) if file.suffix.lower() in _LISTS else (file,)
            except InvalidQuery as error:
                yield error
        elif _is_file(path):
            yield from _in_list(path)
        else:
            yield thing


def files_in(folder: Path) -> list[Path]:
    """By name, lists first. Raises `InvalidQuery` where there are none."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in _SUFFIXES and _is_in(folder, file))
    if not files:
        told = said("{folder} holds no PDF, no Markdown file and no reading list.", folder=folder)
        raise InvalidQuery(told, rule="file")
    return sorted(files, key=lambda file: file.suffix.lower() not in _LISTS)


def _is_file(path: Path) -> bool:
    """Also for a name that is too long, for which Path's own raises."""
    return os.path.isfile(path)


def _is_in(folder: Path, file: Path) -> bool:
    """Not for a link that leads out of it: who packed the folder chose where to."""
    return _is_file(file) and file.resolve().is_relative_to(folder.resolve())


def _in_list(path: Path) -> Iterator[_Thing]:
    """The file itself where it is none."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES | {".txt"}:
        yield path
        return
    try:
        content = read_file(path, MAX_PAPER_BYTES + 1)
        if suffix == ".txt" and not is_reading_list(path.name, content):
            yield path
            return
        found = read_list(path.name, content)
    except GorkdError as error:
        yield error
        return
    for listed in found:
        file = path.parent / listed.file
        yield listed, file if listed.file and _is_in(path.parent, file) else None


async def _add_one(desk: LibraryDesk, shelf: Scope, thing: _Thing | _Found) -> Ingested:
    if isinstance(thing, GorkdError):
        raise thing
    if isinstance(thing, str):
        return await desk.add_reference(shelf, thing)
    if isinstance(thing, Path):
        return await desk.add_file(shelf, thing.name, read_file(thing, MAX_PAPER_BYTES + 1))
    first, second = thing
    if isinstance(first, ListedPaper):
        return await desk.add_listed(
            shelf, first, read_file(second, MAX_PAPER_BYTES + 1) if isinstance(second, Path) else b""
        )
    return await desk.add_findings(shelf, first, second if isinstance(second, JobResult) else None)


async def _export(
    operating: Operating, *, file: _Output = None, workspace: _Workspace = "local", channel: _Channel = ""
) -> Exit:
    """Give the papers as BibTeX, with the keys that sections cite them by; as RIS into a file named `….ris`."""
    async with operating.open_library() as desk:
        papers = await desk.library.papers(shelves_of(_shelf(workspace, channel)))
    text = exported(papers, "ris" if file and file.suffix.lower() == ".ris" else "bib")
    if file is None:
        sys.stdout.write(text)
    else:
        write_file(file, text)
    say(say_many("{number} paper exported", "{number} papers exported", len(papers)))
    return Exit.ANSWERED


async def _list(
    operating: Operating, *, workspace: _Workspace = "local", channel: _Channel = "", as_json: AsJson = False
) -> Exit:
    """List the papers by id."""
    async with operating.open_library() as desk:
        papers = in_order(await desk.library.papers([_shelf(workspace, channel)]))
    if as_json:
        rows: list[Json] = [papers_view(paper) for paper in papers]
        print_json({"papers": rows})
        return Exit.ANSWERED
    for number, paper in enumerate(papers, start=1):
        sys.stdout.write(f"{printable(format_reference(number, paper))}\n")
    say(say_many("{number} paper in the library", "{number} papers in the library", len(papers)))
    return Exit.ANSWERED


async def _show(
    operating: Operating,
    paper: _Paper,
    *,
    workspace: _Workspace = "local",
    channel: _Channel = "",
    as_json: AsJson = False,
) -> Exit:
    """Show what is known of a paper, with its summary."""
    async with operating.open_library() as desk:
        found = await desk.find([_shelf(workspace, channel)], paper)
    if as_json:
        more: dict[str, Json] = {"pages": found.pages, "doi": found.doi, "url": found.url, "summary": found.summary}
        print_json({**papers_view(found), **more})
        return Exit.ANSWERED
    sys.stdout.write(printable(_card(found)))
    return Exit.ANSWERED


def _card(paper: Paper) -> str:
    rows = {
        "Id": paper.id,
        said("Title"): paper.title,
        said("Authors"): ", ".join(paper.authors),
        said("Published"): paper.published,
        said("Pages"): str(paper.pages or ""),
        "DOI": paper.doi,
        said("From"): paper.url,
        said("Added"): say_day(paper.added_at),
        said("Missing"): paper.gap,
        said("Summary"): said(library_wording.IMPROVED) if paper.improved else "",
    }
    width = max(10, *map(len, rows))
    lines = [f"{name:{width}} {one_line(value)}" for name, value in rows.items() if value]
    return "\n".join(
        [*lines, "", paper.summary or said("No summary."), *(["", paper.notes] if paper.notes else []), ""]
    )


async def _remove(
    operating: Operating, paper: _Paper, *, workspace: _Workspace = "local", channel: _Channel = ""
) -> Exit:
    """Remove a paper with its text, file and index."""
    async with operating.open_library() as desk:
        found = await desk.remove(_shelf(workspace, channel), paper)
    say(said("removed {paper}, {title}", paper=found.id, title=found.title))
    return Exit.ANSWERED


async def _reindex(
    operating: Operating,
    paper: Annotated[str, typer.Argument(help="The paper's id; every paper without one.", metavar="ID")] = "",
    *,
    workspace: _Workspace = "local",
    channel: _Channel = "",
) -> Exit:
    """Read papers anew: text, summary, chunks and embeddings."""
    code, shelf = Exit.ANSWERED, _shelf(workspace, channel)
    async with operating.open_library() as desk:
        if paper:
            say(said("read anew: {paper}", paper=(await desk.reindex(shelf, paper)).id))
            return code
        async for done in desk.rebuild(shelf):
            if isinstance(done, Paper):
                say(said("read anew: {paper}", paper=done.id))
            else:
                say(done.operator_message)
                code = Exit.FAILED
    return code


async def _separate(
    operating: Operating, paper: _Paper, *, workspace: _Workspace = "local", channel: _Channel = ""
) -> Exit:
    """Make a work of its own of a paper that was taken for a version of another."""
    async with operating.open_library() as desk:
        found = await desk.separate(_shelf(workspace, channel), paper)
    say(said("{paper}, {title}, is a work of its own now", paper=found.id, title=found.title))
    return Exit.ANSWERED


async def _validate(operating: Operating, *, workspace: _Workspace = "local", channel: _Channel = "") -> Exit:
    """Say which papers cannot be found or cited as they should be."""
    shelf = _shelf(workspace, channel)
    async with operating.open_library() as desk:
        findings = await desk.validate(shelf, "gorkd library reindex")
        count = len(await desk.library.papers([shelf]))
    for finding in findings:
        sys.stdout.write(f"{finding.paper.id}: {finding.fault}\n")
    looked = say_many("{number} paper looked at", "{number} papers looked at", count)
    say(f"{looked}, {say_many('{number} fault found', '{number} faults found', len(findings))}")
    return Exit.FAILED if findings else Exit.ANSWERED


library_command = {
    "add": _add, "list": _list, "show": _show, "remove": _remove, "reindex": _reindex, "export": _export,
    "validate": _validate, "separate": _separate,
}  # fmt: skip
