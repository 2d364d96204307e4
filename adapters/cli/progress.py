"""Live progress on stderr: one calm block on a terminal, plain short lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from core.model.events import Event
from core.pipeline.snapshot import Snapshot
from core.presentation import wording

SHOWN_SOURCES = 3  # the latest ones; all stand under the answer
SHOWN_LINES = 8  # of the answer as it grows, so that the block fits a small terminal


class ProgressDisplay(Protocol):
    def show(self, event: Event) -> None: ...


@contextmanager
def open_progress(stream: TextIO) -> Iterator[ProgressDisplay]:
    """Shows a job's events until the block is left; the terminal is then as clean as before."""
    console = Console(file=stream, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainProgress(stream)
        return
    progress = LiveProgress()
    with Live(progress, console=console, transient=True, refresh_per_second=10, redirect_stdout=False):
        yield progress


class PlainProgress:
    """A line whenever something new happens."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._snapshot = Snapshot()

    def show(self, event: Event) -> None:
        before, self._snapshot = self._snapshot, self._snapshot.after(event)
        if event.type == "status" and self._snapshot.line != before.line:
            self._write(self._snapshot.line)
        if self._snapshot.card is not None and before.card is None:
            self._write(self._snapshot.card.duration)
        if len(self._snapshot.sources) > len(before.sources):
            self._write(f"  {self._snapshot.sources[-1]}")

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveProgress:
    """What is being done and for how long, the latest sources, and the answer as far as it is checked."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._spinner = Spinner("dots")
        self._snapshot = Snapshot()

    def show(self, event: Event) -> None:
        self._snapshot = self._snapshot.after(event)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        snapshot = self._snapshot
        elapsed = wording.duration(time.monotonic() - self._started)
        found = f" · {wording.counted(len(snapshot.sources), 'source')}" if snapshot.sources else ""
        self._spinner.update(text=Text.assemble(snapshot.message, (f"  {elapsed}{found}", "dim")))
        yield self._spinner
        if len(snapshot.parts) > 1:
            for line in snapshot.parts:
                yield Text(f"  {line}", no_wrap=True, overflow="ellipsis")
        if snapshot.sentences:
            text = Text(" ".join(snapshot.sentences.values()))
            yield Text("\n").join(text.wrap(console, max(options.max_width - 2, 20))[-SHOWN_LINES:])
        elif snapshot.card is not None:
            yield Text(f"  {snapshot.card.headline}", style="dim", no_wrap=True, overflow="ellipsis")
            for item in snapshot.card.items:
                yield Text(f"  {item.line}", no_wrap=True, overflow="ellipsis")
        else:
            for line in snapshot.sources[-SHOWN_SOURCES:]:
                yield Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis")
