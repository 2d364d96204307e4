"""Papers that somebody adds in a chat: files handed over or named, and what is told of each in the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from core.errors import GorkdError, StoreError
from core.library import wording
from core.library.ingest import Ingested
from core.library.paper import Paper
from core.presentation.render import one_line
from core.presentation.wording import counted


@dataclass(frozen=True)
class Incoming:
    """A file that somebody hands over, of `size` bytes; `load` fetches it, or raises a `GorkdError`."""

    name: str
    size: int
    load: Callable[[], Awaitable[bytes]]


@dataclass
class Added:
    """What became of papers that were to be added."""

    papers: list[Paper] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    new: int = 0
    failed: int = 0

    async def take(self, work: Awaitable[Ingested]) -> None:
        """Raises `StoreError`; any other failure is a line."""
        try:
            done = await work
        except StoreError:
            raise
        except GorkdError as error:
            self.failed += 1
            self.lines.append(error.user_message)
            return
        words = wording.ADDED if done.is_new else wording.THERE_ALREADY
        pages = f" ({counted(done.paper.pages, 'page')})" if done.paper.pages else ""
        self.new += done.is_new
        self.papers.append(done.paper)
        line = words.format(id=done.paper.id, title=one_line(done.paper.title), pages=pages)
        remarks = (wording.not_whole(done.paper.gap), wording.without_vectors(done.without_vectors))
        self.lines.append(" ".join(filter(None, (line, *remarks))))

    @property
    def sentence(self) -> str:
        """What was done; a line each below it where there were several."""
        if len(self.lines) == 1:
            return self.lines[0]
        known = len(self.papers) - self.new
        parts = [f"{counted(self.new, 'paper')} added"]
        parts += [f"{known} there already"] if known else []
        parts += [f"{self.failed} not readable"] if self.failed else []
        return "\n".join([f"{', '.join(parts)}.", "", *(f"- {line}" for line in self.lines)])
