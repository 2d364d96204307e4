"""The answer and what holds it up: evidence, claims, citations, confidence.

A claim is one sentence of the answer. It is bound to evidence: a span of a source's text as read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from core.model.job import Json, QuestionType

Section = Literal["summary", "opening", "detail"]  # `opening`: a detail's beginning, while its rest is another call's


class Verdict(StrEnum):
    """What checking a claim against its source found. `MOVED`: another source supports it instead."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"
    MOVED = "moved"
    UNCHECKED = "unchecked"

    @property
    def carries(self) -> bool:
        """Whether the evidence holds the claim up, at least in part."""
        return self in (Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED)


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INSUFFICIENT = "insufficient"


SAID_TOGETHER = "the cited sources say it together"  # none of them carries the claim without the others


@dataclass(frozen=True)
class Evidence:
    """A span of a source: `quote == source.content[start:end]`, half-open character offsets.

    `page` counts from 1 and is None where the source has no pages. `verdict` is how well this
    span carries the claim it belongs to; `reasons` are the rules that decided, in a few words.
    """

    source_id: str
    quote: str
    start: int
    end: int
    verdict: Verdict = Verdict.UNCHECKED
    page: int | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One sentence of the answer with its citation markers taken out, and the evidence for it.

    `id` is `summary-0`, `detail-3`, …: the sentence's place, and the id of its `answer` events.
    `text` carries no markers; `evidence` keeps the order of the markers. `strength` is how strongly
    independent sources carry it, 0…1 (core/evidence/confidence.py), None where that was not computed.
    """

    id: str
    text: str
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()
    reasons: tuple[str, ...] = ()
    strength: float | None = None


@dataclass(frozen=True)
class Citation:
    """One claim bound to one source: S003's citation with where its quote stands."""

    claim: str
    source_id: str
    quote: str | None = None
    verdict: Verdict = Verdict.UNCHECKED
    start: int | None = None
    end: int | None = None
    page: int | None = None


@dataclass(frozen=True)
class ConflictPosition:
    """One side of a conflict: what is said, by whom, when (ISO date or ""), in which words."""

    position: str
    source_id: str
    date: str
    quote: str


@dataclass(frozen=True)
class Conflict:
    """Sources that say different things of the same `subject`; those that say the same share their `position`.

    The first position is that of the answer; `claim_ids` are the claims that are spoken against.
    """

    subject: str
    positions: tuple[ConflictPosition, ...]
    claim_ids: tuple[str, ...] = ()

    @property
    def sides(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the sources that take each position, in order."""
        said = dict.fromkeys(side.position for side in self.positions)
        return {one: tuple(side.source_id for side in self.positions if side.position == one) for one in said}


@dataclass(frozen=True)
class RemovedSentence:
    """A sentence that was cut because nothing that was read says it."""

    text: str
    reason: str


@dataclass(frozen=True)
class ConfidencePart:
    """One line of the sum: `value` is a share or a score 0…1, `note` says in words where it comes from."""

    name: str
    value: float
    note: str


@dataclass(frozen=True)
class SynthesisMetadata:
    """`model` is "" for an extractive answer. `tokens_used` is prompt and completion of all calls."""

    model: str = ""
    tokens_used: int = 0
    synthesis_duration_s: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True)
class ResearchAnswer:
    """A cited answer. `summary` and `detail` carry markers `[1]` that name `src_1`, …

    `confidence_sum` is how the level was computed, line by line; empty where nothing was. `corroborating` is how many
    independent sources bear one another out, 0 where the central claim rests on one.
    `notice` is a line that must be shown with the answer, e.g. that it is quoted and no model
    wrote it; "" when there is none. `stopped_because` says why the job ended early, else "".
    `follow_ups` are the writer's own questions to ask next, past core/presentation/follow_ups.py.
    """

    summary: str
    detail: str
    confidence: Confidence
    confidence_reasons: tuple[str, ...] = ()
    confidence_sum: tuple[ConfidencePart, ...] = ()
    corroborating: int = 0
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    limitations: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    removed: tuple[RemovedSentence, ...] = ()
    notice: str = ""
    stopped_because: str = ""
    follow_ups: tuple[str, ...] = ()
    metadata: SynthesisMetadata = SynthesisMetadata()


@dataclass(frozen=True)
class ModelUsage:
    """Tokens of one model call, and how often it searched the web by itself, which costs apart.

    `is_estimated` when the endpoint reported no tokens; `model` is "" for the job's own model.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False
    searches: int = 0
    model: str = ""


@dataclass(frozen=True)
class JobResult:
    """All that a finished job leaves behind, as stored and as rendered (core/presentation/render.py).

    `question_type` is what planning made of it, None where nothing was planned; `understood` is the question
    that was answered where it is not the one that was asked, "" else. An answer that was given before says when
    (`cached_at`), as which job and to which question. `details` is the mode's own view of the
    result (D16).
    """

    answer: ResearchAnswer | None
    source_ids: tuple[str, ...] = ()
    duration_s: float = 0.0
    sources_considered: int = 0
    queries: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    cached_at: str | None = None
    question_type: QuestionType | None = None
    details: Mapping[str, Json] = field(default_factory=dict)
    understood: str = ""
    cached_job: str = ""
    cached_question: str = ""


# Files that belong to an answer: a chat attaches them to it, the page offers them for download


@dataclass(frozen=True)
class AnswerFile:
    """`name` ends in its kind, as in `introduction.tex`; no two of one answer have the same."""

    name: str
    media_type: str
    text: str

    @property
    def kind(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def content(self) -> bytes:
        return self.text.encode("utf-8", "replace")


# What people think of an answer: one vote each, kept with the job


MAX_REASON_CHARS = 1000


@dataclass(frozen=True)
class Rating:
    """`reason` is what went wrong, in the asker's words; "" when nothing was said."""

    asker: str
    is_good: bool
    reason: str
    at: datetime
