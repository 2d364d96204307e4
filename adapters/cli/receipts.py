"""`gorkd export`: an answer as a file, or with all that it takes to check it elsewhere; `gorkd verify` does that."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from adapters.cli.running import Exit, Operating, print_json, run_command, say
from core.model.errors import FetchError, InvalidQuery, JobNotFound
from core.model.job import Json
from core.model.ports import PageFetcher
from core.presentation.bibliography import answer_markdown, findings_markdown
from core.presentation.render import one_line
from core.receipts.container import keys_in
from core.receipts.verify import Check, State, Verification, cited_sources, compare_live, verify_receipt
from core.text.saying import say as said

_SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "told": ("note", "yellow"),
    "failed": ("FAIL", "bold red"),
}


def export_command(operating: Operating) -> Callable[..., None]:
    def export(
        job: Annotated[str, typer.Argument(help="The job's id, job_….", metavar="JOB", show_default=False)],
        *,
        receipt: Annotated[
            bool, typer.Option("--receipt", help="A zip that others can check without this server.")
        ] = False,
        out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to write it.")] = "",
        unsigned: Annotated[bool, typer.Option("--unsigned", help="Without this server's signature.")] = False,
    ) -> None:
        if receipt:
            run_command(lambda: _give(operating, job.strip(), out, is_signed=not unsigned))
        else:
            run_command(lambda: _write(operating, job.strip(), out))

    return export


def verify_command(operating: Operating) -> Callable[..., None]:
    def verify(
        file: Annotated[str, typer.Argument(help="The receipt.", metavar="FILE", show_default=False)],
        *,
        key: Annotated[
            str, typer.Option("--key", metavar="KEY", help="The public key that must have signed, or a file with it.")
        ] = "",
        live: Annotated[bool, typer.Option("--live", help="Also read what the cited pages say today.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    ) -> None:
        run_command(lambda: _verify(operating, file, key, is_live=live, as_json=as_json), as_json=as_json)

    return verify


async def _write(operating: Operating, job_id: str, out: str) -> Exit:
    async with operating.open_kept() as kept:
        job, result = await kept.jobs.get(job_id), await kept.jobs.result(job_id)
        sources = await kept.sources.sources(job_id)
    if result is None:
        raise JobNotFound(job_id)
    text = findings_markdown(job, result, sources) or answer_markdown(job, result, sources)
    if out:
        _save(Path(out), text.encode("utf-8", "replace"))
    else:
        sys.stdout.write(text)
    return Exit.ANSWERED


async def _give(operating: Operating, job_id: str, out: str, *, is_signed: bool) -> Exit:
    async with operating.open_kept() as kept:
        content = await kept.receipts().give(job_id, is_signed=is_signed)
    path = Path(out or f"{job_id}.receipt.zip")
    _save(path, content)
    say(said("written to {file}; check it anywhere with: gorkd verify {file}", file=path))
    return Exit.ANSWERED


async def _verify(operating: Operating, file: str, key: str, *, is_live: bool, as_json: bool) -> Exit:
    found = verify_receipt(_read(Path(file)), keys=_keys(key))
    checks = list(found.checks)
    if is_live and found.receipt is not None:
        async with operating.open_pages() as pages:
            checks += [await _live(pages, found, place) for place in range(len(cited_sources(found.receipt)))]
    found = Verification(found.receipt, tuple(checks))
    if as_json:
        parts: list[Json] = [{"name": one.name, "state": one.state, "says": one.says} for one in checks]
        print_json({"sound": found.is_sound, "checks": parts})
    else:
        print_verification(Console(highlight=False), found)
    return Exit.ANSWERED if found.is_sound else Exit.FAILED


def print_verification(console: Console, found: Verification) -> None:
    """A line a check, and in the last one whether it may be relied on."""
    receipt = found.receipt
    if receipt is not None:
        console.print(Text(one_line(receipt.question), "bold"), soft_wrap=True)
        answered = re.sub(r"\.\d+", "", receipt.answered_at or "")  # nobody reads microseconds
        console.print(
            Text(
                said(
                    "{level} confidence, answered {moment}, {job}",
                    level=receipt.confidence,
                    moment=answered,
                    job=receipt.job_id,
                )
            ),
            soft_wrap=True,
        )
    width = max(len(check.name) for check in found.checks)
    for check in found.checks:
        sign, style = _SIGNS[check.state]
        line = Text.assemble((f"{sign:<5}", style), f"{check.name:<{width}}  ", one_line(check.says))
        console.print(line, soft_wrap=True)
    words = said("Sound: nothing in it was changed.") if found.is_sound else said("Do not rely on it.")
    console.print(Text(words, "bold green" if found.is_sound else "bold red"), soft_wrap=True)


async def _live(pages: PageFetcher, found: Verification, place: int) -> Check:
    assert found.receipt is not None  # noqa: S101  # its only caller has looked
    source = cited_sources(found.receipt)[place]
    try:
        return compare_live(found.receipt, source, await pages.fetch(source.url))
    except FetchError as error:
        return compare_live(found.receipt, source, None, error.reason)


def _keys(key: str) -> tuple[str, ...]:
    """Raises `InvalidQuery` for a file that cannot be read, or in which there is none."""
    if not key:
        return ()
    path = Path(key)
    is_file = len(key) < 200 and path.is_file()  # a key has 44 characters
    found = keys_in(_read(path).decode("utf-8", "replace") if is_file else key)
    if not found:
        raise InvalidQuery(said("There is no key in {place}.", place=path if is_file else "--key"), rule="key")
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise InvalidQuery(said("{file} cannot be read: {why}.", file=path, why=exc.strerror), rule="file") from exc


def _save(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as exc:
        raise InvalidQuery(said("{file} cannot be written: {why}.", file=path, why=exc.strerror), rule="file") from exc
