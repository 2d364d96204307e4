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

from core import wording
from core.events import Event
from core.render import one_line

SHOWN_SOURCES = 3  # the latest ones; all stand under the answer
SHOWN_LINES = 8  # of the answer as it grows, so that the block fits a small terminal


class Progress(Protocol):
    def show(self, event: Event) -> None: ...


@contextmanager
def open_progress(stream: TextIO) -> Iterator[Progress]:
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
        self._last = ""

    def show(self, event: Event) -> None:
        line = _line(event)
        if line and line != self._last:
            self._last = line
            self._stream.write(line + "\n")
            self._stream.flush()


class LiveProgress:
    """What is being done and for how long, the latest sources, and the answer as far as it is checked."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._spinner = Spinner("dots")
        self._message = "Starting"
        self._attempt = 0
        self._sources: list[str] = []
        self._sentences: dict[str, str] = {}

    def show(self, event: Event) -> None:
        if event.attempt > self._attempt:  # what an older attempt showed is void
            self._attempt = event.attempt
            self._sources.clear()
            self._sentences.clear()
        if event.type == "status":
            self._message = _word(event, "message") or self._message
        elif event.type == "source":
            self._sources.append(_source_line(event))
        elif event.type == "answer":
            self._put_sentence(event)

    def _put_sentence(self, event: Event) -> None:
        identity, text = str(event.data.get("id")), event.data.get("text")
        if text is None:
            self._sentences.pop(identity, None)
        else:
            self._sentences[identity] = one_line(str(text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        elapsed = wording.duration(time.monotonic() - self._started)
        found = f" · {wording.counted(len(self._sources), 'source')}" if self._sources else ""
        self._spinner.update(text=Text.assemble(self._message, (f"  {elapsed}{found}", "dim")))
        yield self._spinner
        if self._sentences:
            text = Text(" ".join(self._sentences.values()))
            yield Text("\n").join(text.wrap(console, max(options.max_width - 2, 20))[-SHOWN_LINES:])
        else:
            for line in self._sources[-SHOWN_SOURCES:]:
                yield Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis")


def _line(event: Event) -> str:
    if event.type == "status":
        return _word(event, "message")
    return f"  {_source_line(event)}" if event.type == "source" else ""


def _source_line(event: Event) -> str:
    place, title = _word(event, "domain"), _word(event, "title") or _word(event, "url")
    return f"{place} – {title}" if place else title


def _word(event: Event, key: str) -> str:
    return one_line(str(event.data.get(key) or ""))
