"""What each phase of a section cost in tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.model.answer import ModelUsage
from core.model.job import Json


class Phase(StrEnum):
    """Each is the `purpose` of its model calls."""

    SUMMARIES = "summaries"
    SCORES = "scores"
    AGENT = "agent"
    PROSE = "section"
    REPHRASE = "rephrase"
    CHECK = "check"


@dataclass(frozen=True)
class PhaseUsage:
    """One call of a phase."""

    phase: Phase
    usage: ModelUsage


def usage_by_phase(calls: Iterable[PhaseUsage]) -> dict[str, Json]:
    """Calls and tokens of each phase that had any."""
    rows: dict[str, Json] = {}
    known = list(calls)
    for phase in Phase:
        own = [call.usage for call in known if call.phase is phase]
        if own:
            rows[phase.value] = {
                "calls": len(own),
                "prompt_tokens": sum(usage.prompt_tokens for usage in own),
                "completion_tokens": sum(usage.completion_tokens for usage in own),
            }
    return rows
