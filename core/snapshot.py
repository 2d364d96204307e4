"""How far a running job is, folded from its events: what a live block, a page or a chat message shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from core.events import Event
from core.job import JobStatus
from core.render import one_line
from core.wording import STATUS_MESSAGES


@dataclass(frozen=True)
class Snapshot:
    """`sources` are lines `domain – title`; `sentences` maps a sentence's id to its text, in order of appearance.

    All text is on one line and safe to print.
    """

    stage: str = JobStatus.PENDING.value
    message: str = STATUS_MESSAGES[JobStatus.PENDING]
    progress: float = 0.0
    attempt: int = 0
    sources: tuple[str, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, event: Event) -> Snapshot:
        """With one more event. A newer attempt starts over; an older one is not listened to."""
        if event.attempt < self.attempt:
            return self
        base = self if event.attempt == self.attempt else Snapshot(attempt=event.attempt)
        if event.type == "status":
            return base._with_status(event)
        if event.type == "source":
            line = source_line(event)
            return base if line in base.sources else replace(base, sources=(*base.sources, line))
        return base._with_sentence(event) if event.type == "answer" else base

    def _with_status(self, event: Event) -> Snapshot:
        progress = event.data.get("progress")
        return replace(
            self,
            stage=_word(event, "stage") or self.stage,
            message=_word(event, "message") or self.message,
            progress=float(progress) if isinstance(progress, int | float) else self.progress,
        )

    def _with_sentence(self, event: Event) -> Snapshot:
        sentences = dict(self.sentences)
        if event.data.get("text") is None:
            sentences.pop(_word(event, "id"), None)
        else:
            sentences[_word(event, "id")] = _word(event, "text")
        return replace(self, sentences=sentences)


def source_line(event: Event) -> str:
    """`domain – title` of a `source` event; the address when it has no title."""
    place, title = _word(event, "domain"), _word(event, "title") or _word(event, "url")
    return f"{place} – {title}" if place else title


def _word(event: Event, key: str) -> str:
    return one_line(str(event.data.get(key) or ""))
