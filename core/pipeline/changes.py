"""What changed between two answers to one question: claims added, dropped, contradicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.evidence.differences import find_difference
from core.evidence.rules.vetoes import says_same
from core.model.answer import ResearchAnswer

MIN_SAID = 20  # characters; a shorter sentence is not compared by meaning


@dataclass(frozen=True)
class ChangedClaim:
    """What the earlier answer said, and what is said instead."""

    before: str
    now: str


@dataclass(frozen=True)
class AnswerChanges:
    """Sentences without markers, in the order of their answers. All empty: both say the same."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    contradicted: tuple[ChangedClaim, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.added or self.dropped or self.contradicted)


def compare_answers(before: ResearchAnswer, now: ResearchAnswer) -> AnswerChanges:
    """A sentence of the one is found in the other when that says it, in nearly the same words."""
    old, new = _sentences(before), _sentences(now)
    contradicted = [
        ChangedClaim(earlier, later)
        for later in new
        for earlier in old
        if later not in old and find_difference(earlier, later) is not None
    ]
    settled_before = {pair.before for pair in contradicted}
    settled_now = {pair.now for pair in contradicted}
    return AnswerChanges(
        added=tuple(text for text in new if text not in settled_now and not _is_said(text, old)),
        dropped=tuple(text for text in old if text not in settled_before and not _is_said(text, new)),
        contradicted=tuple(contradicted),
    )


def _sentences(answer: ResearchAnswer) -> list[str]:
    """The answer's claims, each once; detail often repeats the summary."""
    return list(dict.fromkeys(" ".join(claim.text.split()) for claim in answer.claims if claim.text.strip()))


def _is_said(text: str, others: Sequence[str]) -> bool:
    if text.casefold().rstrip(".") in {other.casefold().rstrip(".") for other in others}:
        return True
    return len(text) >= MIN_SAID and any(says_same(text, other) for other in others if len(other) >= MIN_SAID)
