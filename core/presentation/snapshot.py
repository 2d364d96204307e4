"""How far a running job is, folded from its events: what a live block, a page or a chat message shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from core.deep.viewing import ChecklistCard, read_card
from core.model.job import Event, JobStatus, Json
from core.presentation.render import one_line, printable
from core.presentation.wording import STATUS_MESSAGES


@dataclass(frozen=True)
class Snapshot:
    """`sources` are lines `domain – title`; `sentences` maps a sentence's id to its text, in order of appearance.

    `marks` are the sentences' verdict marks, `own_marks` those of citations that have another one, by their number,
    `leads` what stands before them, `queries` what is searched for and
    `providers` where, `understood` what a follow-up was taken to ask, `earlier` the question of the earlier answer that
    is shown while it is being confirmed, `seq` the last event's number. `started_at` is when the job's first event was
    told; `position` how many jobs must begin before this one, None once it has begun or where that is not known. `card`
    is the plan of a job that researches in rounds and how far it is; `parts` are what runs at once, a line each;
    `line` is the message as it stands in a terminal, with its indent. Sentences and what leads to
    them may have several lines, all other text has one; all is safe to print.
    """

    stage: str = JobStatus.PENDING.value
    message: str = STATUS_MESSAGES[JobStatus.PENDING]
    progress: float = 0.0
    attempt: int = 0
    sources: tuple[str, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    marks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_marks: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    leads: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    queries: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    understood: str = ""
    earlier: str = ""
    started_at: datetime | None = None
    position: int | None = None
    card: ChecklistCard | None = None
    parts: tuple[str, ...] = ()
    line: str = ""
    seq: int = 0

    def after(self, event: Event) -> Snapshot:
        """With one more event. A newer attempt starts over; an older one is not listened to."""
        if event.attempt < self.attempt:
            return self
        begun = self if event.attempt == self.attempt else Snapshot(attempt=event.attempt, started_at=self.started_at)
        base = replace(begun, seq=event.seq, started_at=self.started_at or event.at, position=None)
        if event.type == "status":
            return base._with_status(event)
        if event.type == "source":
            line = source_line(event)
            return base if line in base.sources else replace(base, sources=(*base.sources, line))
        return base._with_sentence(event) if event.type == "answer" else base

    def _with_status(self, event: Event) -> Snapshot:
        if _word(event, "stage") == JobStatus.PENDING.value != self.stage:
            return self  # its place in the queue, told when it had begun already
        progress = event.data.get("progress")
        return replace(
            self,
            stage=_word(event, "stage") or self.stage,
            message=_word(event, "message") or self.message,
            progress=float(progress) if isinstance(progress, int | float) else self.progress,
            queries=_told(event, "queries") or self.queries,
            providers=_told(event, "providers") or self.providers,
            understood=" ".join(_told(event, "understood")) or self.understood,
            earlier=_earlier(event, self.earlier),
            position=ahead if isinstance(ahead := _details(event).get("ahead"), int) else None,
            card=read_card(event.data.get("data")) or self.card,
            parts=_told(event, "parts") or self.parts,
            line=_line(event),
        )

    def _with_sentence(self, event: Event) -> Snapshot:
        sentences, marks, leads = dict(self.sentences), dict(self.marks), dict(self.leads)
        own_marks, own = dict(self.own_marks), event.data.get("marks")
        sentence_id = _word(event, "id")
        if event.data.get("text") is None:
            for told in (sentences, marks, own_marks, leads):
                told.pop(sentence_id, None)
        else:
            sentences[sentence_id] = printable(str(event.data["text"]))
            marks[sentence_id] = _word(event, "mark")
            own_marks[sentence_id] = (
                {str(key): one_line(str(mark)) for key, mark in own.items()} if isinstance(own, dict) else {}
            )
            leads[sentence_id] = printable(str(event.data.get("before", " ")))
        return replace(self, sentences=sentences, marks=marks, own_marks=own_marks, leads=leads)


def source_line(event: Event) -> str:
    """`domain – title` of a `source` event; the address when it has no title."""
    place, title = _word(event, "domain"), _word(event, "title") or _word(event, "url")
    return f"{place} – {title}" if place else title


def _line(event: Event) -> str:
    """The message with its own indent, where the job gives one."""
    line = _details(event).get("line")
    text = line if isinstance(line, str) else str(event.data.get("message") or "")
    return " " * (len(text) - len(text.lstrip(" "))) + one_line(text)


def _told(event: Event, key: str) -> tuple[str, ...]:
    """The lines under `key` of a status event's data; a single string counts as one line."""
    lines = _details(event).get(key)
    lines = [lines] if isinstance(lines, str) else lines
    return tuple(one_line(str(line)) for line in lines) if isinstance(lines, list) else ()


def _earlier(event: Event, before: str) -> str:
    """Told once when it is shown and once, as null, when it is taken back."""
    details = _details(event)
    if "earlier" not in details:
        return before
    earlier = details["earlier"]
    return one_line(str(earlier.get("question") or "")) if isinstance(earlier, dict) else ""


def _details(event: Event) -> Mapping[str, Json]:
    """What a status event says besides its message."""
    data = event.data.get("data")
    return data if isinstance(data, dict) else {}


def _word(event: Event, key: str) -> str:
    return one_line(str(event.data.get(key) or ""))
