"""An answer of a model as it grows, and as a draft. Pure.

The one invariant: text that has been streamed is never lost, however the answer ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.llm.ask_model import Heard
from core.model.answer import Section
from core.model.job import Json
from core.model.ports import ChatDelta
from core.text.growing_json import PartialJson, named

SECTIONS: tuple[Section, ...] = ("summary", "detail")


@dataclass(frozen=True)
class SectionUpdate:
    """A section as far as it is written. `is_final` once the model has gone on to something else."""

    section: Section
    text: str
    is_final: bool


@dataclass(frozen=True)
class DraftCitation:
    """A citation as the model gave it, unchecked; `source_id` may be `1`, `src_1` or invented."""

    claim: str
    source_id: str
    quote: str


@dataclass(frozen=True)
class DraftAnswer:
    """An answer as the model wrote it. `is_complete` is False when it was cut off or could not be read to its end."""

    summary: str
    detail: str
    citations: tuple[DraftCitation, ...] = ()
    is_complete: bool = True
    follow_ups: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.summary, self.detail) if part)


class AnswerStream:
    """Turns the deltas of a structured answer into its sections as they grow, and finally into a draft."""

    def __init__(self) -> None:
        self.heard = Heard()
        self._json = PartialJson()
        self._shown: dict[Section, SectionUpdate] = {}
        self.is_asking_on = False  # all that makes the answer has been written

    def feed(self, delta: ChatDelta) -> list[SectionUpdate]:
        """The sections that changed, with all of their text so far."""
        self.heard.take(delta)
        if not self._json.feed(delta.text):
            return []
        fields = _answer_fields(self._json.value)
        last = next(reversed(fields), None)
        self.is_asking_on = last == "follow_ups" and "summary" in fields
        updates = [
            SectionUpdate(section, _text_of(fields[section]), is_final=section != last)
            for section in SECTIONS
            if section in fields
        ]
        changed = [update for update in updates if update != self._shown.get(update.section)]
        self._shown.update({update.section: update for update in changed})
        return changed

    def finish(self) -> DraftAnswer:
        """The best that can be made of all that came; empty when nothing could be read."""
        streamed = _answer_fields(self._json.value)
        is_complete = self._json.finish()
        fields = _answer_fields(self._json.value)
        if not any(section in fields for section in SECTIONS):
            fields, is_complete = streamed, False
        return DraftAnswer(
            summary=_text_of(fields.get("summary")),
            detail=_text_of(fields.get("detail")),
            citations=_citations_of(fields.get("citations")),
            is_complete=is_complete,
            follow_ups=_questions_of(fields.get("follow_ups")),
        )


def _answer_fields(value: dict[str, Json]) -> dict[str, Json]:
    """The object with the sections: some models wrap it, as in `{"answer": {…}}`, or name the text as they like."""
    for candidate in (value, *value.values()):
        fields = named(candidate, _FIELDS) if isinstance(candidate, dict) else {}
        if any(section in fields for section in SECTIONS):
            return fields
    texts = [name for name in _OTHER_NAMES if isinstance(value.get(name), str)]
    return {**value, "summary": value[texts[0]]} if texts else value


_FIELDS = (*SECTIONS, "citations", "follow_ups")
_OTHER_NAMES = ("answer", "response", "text", "content")  # of a lone text, as small models call it


def _text_of(value: Json) -> str:
    """Text from whatever stands where a string belongs; lists and objects by their texts, one a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text_of, value)))
    if isinstance(value, dict):
        return "\n".join(text for text in value.values() if isinstance(text, str) and text)
    return "" if value is None or isinstance(value, bool) else str(value)


def _citations_of(value: Json) -> tuple[DraftCitation, ...]:
    entries = value if isinstance(value, list) else [value]
    return tuple(
        DraftCitation(*(_text_of(entry.get(key)).strip() for key in ("claim", "source_id", "quote")))
        for entry in entries
        if isinstance(entry, dict)
    )


def _questions_of(value: Json) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def read_answer(text: str) -> DraftAnswer:
    """The best that can be made of a finished text, as `AnswerStream` reads it."""
    stream = AnswerStream()
    stream.feed(ChatDelta(text))
    return stream.finish()


def is_answer(text: str) -> bool:
    """Whether a finished text can be shown as an answer: a structured one, also cut off, or prose."""
    draft = read_answer(text)
    return draft.is_complete or bool(draft.summary) or read_prose(text) is not None


def read_prose(text: str) -> DraftAnswer | None:
    """An answer in plain prose, its first paragraph as the summary; None for what is rather broken JSON, or nothing."""
    plain = _FENCE_LINE.sub("", text).strip()
    if plain.startswith(("{", "[{")) or plain.count('":') > 2 or len(plain.split()) < MIN_PROSE_WORDS:
        return None
    paragraphs = [_LABEL.sub("", part).strip() for part in re.split(r"\n\s*\n", plain)]
    summary, *rest = [part for part in paragraphs if part] or [""]
    return DraftAnswer(summary, "\n\n".join(rest)) if summary else None


MIN_PROSE_WORDS = 4  # "I cannot answer." says nothing that can be checked
_FENCE_LINE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_LABEL = re.compile(r"\A(?:#+\s*|\*\*)?(?:summary|details?|answer)\b(?:\*\*)?\s*(?::(?:\*\*)?|\n|\Z)\s*", re.IGNORECASE)
