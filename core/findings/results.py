"""What three modes find (S004): ideas, implementations, a report, and the object that holds what was asked for.

Also the drafts that they begin with, and how far each mode is while they run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from core.findings.code import dependencies_of, first_code, prose_of
from core.model.answer import ModelUsage
from core.model.job import JobStatus, Json, furthest_behind, rows
from core.model.ports import FoundPage
from core.model.source import SearchMetadata
from core.pipeline.progress import Progress

ResearchMode = Literal["idea", "implementation", "freeform"]
ResearchModeInput = ResearchMode | Sequence[ResearchMode]
ALL_MODES: tuple[ResearchMode, ...] = ("idea", "implementation", "freeform")
DEFAULT_TOP_K = 5
TITLES: dict[ResearchMode, str] = {"idea": "Ideas", "implementation": "Implementations", "freeform": "Report"}


@dataclass(frozen=True)
class IdeaResult:
    """One idea or approach, and the address where it was found."""

    source: str
    content: str

    @property
    def description(self) -> str:
        return self.content

    def to_dict(self) -> dict[str, Json]:
        return {"source": self.source, "content": self.content}

    def to_context_string(self) -> str:
        return f"- {self.content} ({self.source})"


@dataclass(frozen=True)
class ImplementationResult:
    """One implementation: `content` is its description, its code in a fence, and its `Dependencies:` line."""

    source: str
    content: str

    @property
    def description(self) -> str:
        """`content` without its code and its dependencies."""
        return prose_of(self.content)

    @property
    def code_snippet(self) -> str:
        """The first block of code, "" when there is none."""
        found = first_code(self.content)
        return found.text if found else ""

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Package names as stated; empty for "none"."""
        return dependencies_of(self.content) or ()

    def to_dict(self) -> dict[str, Json]:
        return {"source": self.source, "content": self.content}

    def to_context_string(self) -> str:
        return f"**Source:** {self.source}\n\n{self.content}"


@dataclass(frozen=True)
class ResearchReport:
    """A report in Markdown, all sections."""

    content: str

    def to_dict(self) -> dict[str, Json]:
        return {"content": self.content}

    def to_context_string(self) -> str:
        return self.content


@dataclass(frozen=True)
class ResearchSource:
    """Findings as one document that a library takes in: `content` is Markdown."""

    query: str
    modes: tuple[ResearchMode, ...]
    content: str

    @property
    def title(self) -> str:
        return f"Research: {' '.join(self.query.split())}"[:200]


@dataclass(frozen=True)
class ResearchFindings:
    """What one call found. `modes` are those that ran, in the order asked for; what was not asked for is empty."""

    query: str
    modes: list[ResearchMode]
    top_k: int = DEFAULT_TOP_K
    ideas: list[IdeaResult] = field(default_factory=list)
    implementations: list[ImplementationResult] = field(default_factory=list)
    report: ResearchReport | None = None

    def to_dict(self) -> dict[str, Json]:
        return {
            "query": self.query,
            "modes": [*self.modes],
            "top_k": self.top_k,
            "ideas": [idea.to_dict() for idea in self.ideas],
            "implementations": [entry.to_dict() for entry in self.implementations],
            "report": self.report.to_dict() if self.report else None,
        }

    def to_context_string(self) -> str:
        """Everything that was found, in the order asked for."""
        parts = {
            "idea": "\n".join(idea.to_context_string() for idea in self.ideas),
            "implementation": "\n\n".join(entry.to_context_string() for entry in self.implementations),
            "freeform": self.report.to_context_string() if self.report else "",
        }
        return "\n\n".join(parts[mode] for mode in self.modes if parts[mode])

    def to_source(self) -> ResearchSource:
        """For a library (core/library)."""
        return ResearchSource(self.query, tuple(self.modes), f"# Research: {self.query}\n\n{self.to_context_string()}")


def normalise_modes(mode: ResearchModeInput | None) -> tuple[ResearchMode, ...]:
    """A tuple without repetitions; all three when nothing is named. Raises `ValueError` for another name."""
    named = [mode] if isinstance(mode, str) else list(mode or ALL_MODES)
    for name in named:
        if name not in ALL_MODES:
            raise ValueError(f"{name!r} is none of {', '.join(ALL_MODES)}")
    return tuple(dict.fromkeys(named))


def read_findings(value: Json) -> ResearchFindings | None:
    """What `ResearchFindings.to_dict` wrote; None for anything else."""
    if not isinstance(value, dict):
        return None
    modes, query, top_k = value.get("modes"), value.get("query"), value.get("top_k")
    report = value.get("report")
    content = report.get("content") if isinstance(report, dict) else None
    return ResearchFindings(
        query=query if isinstance(query, str) else "",
        modes=[mode for name in modes for mode in ALL_MODES if mode == name] if isinstance(modes, list) else [],
        top_k=top_k if isinstance(top_k, int) else DEFAULT_TOP_K,
        ideas=[IdeaResult(*pair) for pair in _pairs(value.get("ideas"))],
        implementations=[ImplementationResult(*pair) for pair in _pairs(value.get("implementations"))],
        report=ResearchReport(content) if isinstance(content, str) else None,
    )


def _pairs(value: Json) -> list[tuple[str, str]]:
    return [(str(row.get("source") or ""), str(row.get("content") or "")) for row in rows(value)]


@dataclass(frozen=True)
class ModeDraft:
    """What the model wrote for one mode. `pages` are what its own search gave; `failure` says why there is no text."""

    mode: ResearchMode
    text: str = ""
    pages: tuple[FoundPage, ...] = ()
    queries: tuple[str, ...] = ()
    usage: tuple[ModelUsage, ...] = ()
    by_web_search: bool = False
    failure: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drafts:
    """All drafts in the order asked for, and what our own search did; its sources are in the source store."""

    drafts: tuple[ModeDraft, ...]
    metadata: SearchMetadata = field(default_factory=SearchMetadata)
    considered: int = 0


class Telling:
    """The job's status is that of the mode that is furthest behind."""

    def __init__(self, progress: Progress, modes: Sequence[ResearchMode]) -> None:
        self._progress = progress
        self._doing: dict[ResearchMode, tuple[str, JobStatus]] = dict.fromkeys(modes, ("starting", JobStatus.SEARCHING))

    async def doing(self, mode: ResearchMode, what: str, status: JobStatus) -> None:
        """One mode has come further; the others' lines are told again."""
        self._doing[mode] = (what, status)
        stage = furthest_behind(status for _, status in self._doing.values())
        parts: list[Json] = [f"{TITLES[name]}: {said}" for name, (said, _) in self._doing.items()]
        line = f"{TITLES[mode]}: {what}"
        await self._progress.status(stage, message=line, data={"line": line, "parts": parts, "mode": mode})
