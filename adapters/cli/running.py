"""A command of the terminal from its coroutine to its exit code, and a job from its first event to its last."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from core.library.desk import LibraryDesk
from core.library.session import LibraryTalks
from core.model.errors import GorkdError, InvalidQuery, JobNotFound
from core.model.job import TERMINAL_STATUSES, Event, JobStatus, Json, ResearchJob
from core.model.ports import AnswerCache, JobStore, PageFetcher, ReuseStore, SourceStore
from core.pipeline.checkup import Finding, FoundServer, Trials
from core.pipeline.deps import Deps
from core.pipeline.tool_traces import TraceStore
from core.presentation import wording
from core.presentation.card import said_so_far, without_signs
from core.presentation.page_links import PageLinks, Revocations
from core.presentation.render import one_line
from core.presentation.snapshot import Snapshot
from core.receipts.container import Receipts
from core.tenancy.forgetting import Forgotten, Whose
from core.tenancy.settings_desk import SettingsDesk
from core.tenancy.usage import CountUsage, EvaluationStore
from core.text.saying import say as said
from core.text.saying import speaking, spoken

if TYPE_CHECKING:
    from core.pipeline.researcher import Researcher


OpenResearcher = Callable[[], "AbstractAsyncContextManager[Researcher]"]

_log = logging.getLogger(__name__)


Command = Callable[..., Coroutine[None, None, "Exit"]]  # its first argument is what it works with


def bound(command: Command, given: object) -> Callable[..., None]:
    """The command as Typer takes it: without its first argument, which is `given`, and carried to its exit code."""

    def run(**options: Any) -> None:
        run_command(partial(command, given, **options), as_json=options.get("as_json", False))

    _, *parameters = inspect.signature(command, eval_str=True).parameters.values()
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what `inspect` looks for
    return run


def run_command(command: Callable[[], Coroutine[None, None, Exit]], *, as_json: bool = False) -> None:
    """Carry a command to its exit code; whatever goes wrong becomes a sentence."""
    for stream in (sys.stdout, sys.stderr):  # what a terminal cannot show becomes a question mark, not a traceback
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    try:
        code = asyncio.run(command())
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except GorkdError as error:
        code = report(error, as_json=as_json)
    except (typer.Abort, BrokenPipeError):  # typer ends quietly when whoever read along has seen enough (`| head`)
        raise
    except Exception as error:  # noqa: BLE001 -- the process boundary: a person gets a sentence, the log the rest
        _log.debug("command failed", exc_info=True)
        say(f"{said(wording.SOMETHING_BROKE)} ({type(error).__name__}; {said('GORKD_LOG_LEVEL=debug shows more')})")
        code = Exit.FAILED
    raise typer.Exit(code)


def serve(process: Callable[[], None]) -> None:
    """A process until it is told to end. A bug keeps its traceback: whoever watches a service reads it there."""
    try:
        process()
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None
    except GorkdError as error:
        raise typer.Exit(report(error, as_json=False)) from error


async def follow(researcher: Researcher, job_id: str) -> ResearchJob:
    """Show the job's progress until it has ended; an interrupt cancels it, unless another process researches it."""
    try:
        with open_progress(sys.stderr) as progress:
            async for event in researcher.follow(job_id):
                progress.show(event)
    except asyncio.CancelledError:
        await researcher.cancel(job_id)
        status = (await researcher.job(job_id)).status
        if status is JobStatus.CANCELLED:
            say(said("Interrupted; {job} is cancelled.", job=job_id))
        elif status not in TERMINAL_STATUSES:
            say(said("Interrupted; {job} goes on elsewhere.", job=job_id))
        raise
    return await researcher.job(job_id)


def say_failure(job: ResearchJob) -> Exit:
    """Why there is no answer, and how to exit."""
    say(f"{wording.failure_cause(job)} ({job.id})")
    return Exit.INTERRUPTED if job.status is JobStatus.CANCELLED else code_of(job.error.code if job.error else "")


# How commands speak: JSON and answers on stdout, one sentence on stderr, and an exit code


class Exit(IntEnum):
    ANSWERED = 0
    INVALID_INPUT = 2
    INSUFFICIENT = 3
    FAILED = 4
    INTERRUPTED = 130


def report(error: GorkdError, *, as_json: bool) -> Exit:
    """For errors before there is a job."""
    if as_json:
        print_json({"error": {"code": error.code, "message": error.user_message, "details": {}}})
    say(error.operator_message)
    return code_of(error.code)


def code_of(error_code: str) -> Exit:
    return Exit.INVALID_INPUT if error_code in (InvalidQuery.code, JobNotFound.code) else Exit.FAILED


def print_json(document: dict[str, Json]) -> None:
    """JSON that is safe to look at: what JSON leaves raw although a terminal acts on it is escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    sys.stdout.write(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def say(sentence: str) -> None:
    sys.stderr.write(f"gorkd: {one_line(sentence)}\n")


def is_wanted(question: str, *, err: bool = False) -> bool:
    """No, unless yes is said: by its first letter or whole, in the language spoken or in English."""
    yes, no = {said("yes"), "yes"}, {said("no"), "no", ""}
    shown = f"{question} [{said('yes')[0]}/{said('no')[0].upper()}]"
    while True:
        told = typer.prompt(shown, default="", show_default=False, err=err).strip().casefold()
        if told in {*yes, *(word[0] for word in yes)}:
            return True
        if told in {*no, *(word[:1] for word in no)}:
            return False


def ask_whether(question: str) -> None:
    """Raises `typer.Abort` unless yes is said."""
    if not is_wanted(question, err=True):
        raise typer.Abort


def read_file(path: Path, most: int = -1) -> bytes:
    """At most so many bytes. Raises `InvalidQuery` with the reason, as `write_file`."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as exc:
        raise InvalidQuery(said("{file} cannot be read: {why}.", file=path, why=exc.strerror), rule="file") from exc


def write_file(path: Path, content: bytes | str) -> None:
    try:
        path.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    except OSError as exc:
        raise InvalidQuery(said("{file} cannot be written: {why}.", file=path, why=exc.strerror), rule="file") from exc


# Live progress on stderr: one calm block on a terminal, plain short lines elsewhere


SHOWN_SOURCES = 3  # the latest ones; all stand under the answer
SHOWN_LINES = 8  # of the answer as it grows, so that the block fits a small terminal


@contextmanager
def open_progress(stream: TextIO) -> Iterator[PlainProgress | LiveProgress]:
    """Shows a job's events until the block is left; the terminal is then as clean as before."""
    console = Console(file=stream, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainProgress(stream)
        return
    progress = LiveProgress()
    with Live(progress, console=console, transient=True, refresh_per_second=10, redirect_stdout=False):
        yield progress


class PlainProgress:
    """A line whenever something new begins; the sources stand below the answer."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._snapshot = Snapshot()

    def show(self, event: Event) -> None:
        before, self._snapshot = self._snapshot, self._snapshot.after(event)
        if event.type == "status" and self._snapshot.line != before.line:
            self._write(self._snapshot.line)
        if self._snapshot.card is not None and before.card is None:
            self._write(self._snapshot.card.duration)

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveProgress:
    """What is being done and for how long, the latest sources, and the answer as far as it is checked."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._spinner = Spinner("dots")
        self._snapshot = Snapshot()
        self._language = spoken()

    def show(self, event: Event) -> None:
        self._snapshot = self._snapshot.after(event)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with speaking(self._language):  # rich draws in a thread of its own, which knows of none
            drawn = list(self._drawn(console, options))
        yield from drawn

    def _drawn(self, console: Console, options: ConsoleOptions) -> RenderResult:
        snapshot = self._snapshot
        elapsed = wording.duration(time.monotonic() - self._started)
        found = f" · {wording.sources_counted(len(snapshot.sources))}" if snapshot.sources else ""
        self._spinner.update(text=Text.assemble(snapshot.message, (f"  {elapsed}{found}", "dim")))
        yield self._spinner
        if len(snapshot.parts) > 1:
            for line in snapshot.parts:
                yield Text(f"  {line}", no_wrap=True, overflow="ellipsis")
        if snapshot.sentences:
            parts = ("".join(text for _, text in said_so_far(snapshot, part)) for part in ("summary", "detail"))
            text = Text(without_signs("\n\n".join(filter(None, parts))))
            yield Text("\n").join(text.wrap(console, max(options.max_width - 2, 20))[-SHOWN_LINES:])
        elif snapshot.card is not None:
            yield Text(f"  {snapshot.card.headline}", style="dim", no_wrap=True, overflow="ellipsis")
            for item in snapshot.card.items:
                yield Text(f"  {item.line}", no_wrap=True, overflow="ellipsis")
        else:
            for line in snapshot.sources[-SHOWN_SOURCES:]:
                yield Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis")


# What the operator's commands work on, handed in by whoever builds the command line


@dataclass(frozen=True)
class Chatting:
    """`folder` keeps results and opened papers; `viewer` is the program that shows a PDF here, "" for none."""

    talks: LibraryTalks
    folder: Path
    viewer: str = ""


OpenChatting = Callable[[], AbstractAsyncContextManager[Chatting]]


@dataclass(frozen=True)
class Kept:
    """What is kept of jobs and to be given again, and how to let go of it."""

    jobs: JobStore
    traces: TraceStore
    forget: Callable[[Whose], Awaitable[Forgotten]]
    cache: AnswerCache
    reuse: ReuseStore
    links: Callable[[], PageLinks]
    revocations: Revocations
    usage: CountUsage
    sources: SourceStore
    receipts: Callable[[], Receipts]
    evaluations: EvaluationStore


@dataclass(frozen=True)
class Setup:
    """What `gorkd init` works on: `kept` stands in `file` or in the environment already, `keep` adds lines to the file.

    `variables` are all settings there are, `manifest` the text that makes a Slack app. `examine` tries the installation
    as it would be with more settings; only the parts whose name begins with its second argument, "" for all.
    """

    file: Path
    kept: Mapping[str, str]
    variables: frozenset[str]
    keep: Callable[[Mapping[str, str]], None]
    examine: Callable[[Mapping[str, str], str], Awaitable[list[Finding]]]
    find_servers: Callable[[], Awaitable[list[FoundServer]]]
    manifest: str


@dataclass(frozen=True)
class Operating:
    """`open_kept` opens the stores for one command, `open_library` the papers, `open_settings` what tenants have set;
    `open_chatting` all that a conversation with the library needs; `examine` looks at every part, `open_trials` at what
    the model endpoints can do, and `foresee` at what a start of this version would change. `setup` is for `gorkd init`.
    `open_pages` reads pages as they are now, `open_laboratory` gives what a question needs, with settings changed and
    records of its own; `fetch_key` gives what a server publishes of its key, and raises `InvalidQuery`.
    """

    open_kept: Callable[[], AbstractAsyncContextManager[Kept]]
    examine: Callable[[], Awaitable[list[Finding]]]
    open_library: Callable[[], AbstractAsyncContextManager[LibraryDesk]]
    open_settings: Callable[[], AbstractAsyncContextManager[SettingsDesk]]
    open_chatting: OpenChatting
    open_trials: Callable[[], AbstractAsyncContextManager[Trials]]
    foresee: Callable[[], Awaitable[list[Finding]]]
    setup: Callable[[], Setup]
    open_laboratory: Callable[[Mapping[str, str]], AbstractAsyncContextManager[Deps]]
    open_pages: Callable[[], AbstractAsyncContextManager[PageFetcher]]
    fetch_key: Callable[[str], Awaitable[str]]
