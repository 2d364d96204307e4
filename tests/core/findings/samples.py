"""A finished job with findings, made of any items, for what renders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.findings.results import (
    IdeaResult,
    ImplementationResult,
    Remark,
    ResearchFindings,
    ResearchMode,
    ResearchReport,
)
from core.findings.viewing import FoundItem, findings_json
from core.model.answer import JobResult
from core.model.job import ResearchJob
from tests.golden import samples

SECTIONS = ("Abstract", "Introduction", "Literature Review", "Methodology", "Implementations")
MODES: tuple[ResearchMode, ...] = ("idea", "implementation", "freeform")


def idea(number: int, text: str = "The tower is 49 metres tall [1].") -> FoundItem:
    return FoundItem(
        "idea", number, samples.SOURCES[0].url, "src_1", text.replace(" [1]", ""), "official documentation",
        (Remark("single source", "doubt"),), text=text,
    )  # fmt: skip


def implementation(number: int, code: str, language: str = "python") -> FoundItem:
    return FoundItem(
        "implementation", number, samples.SOURCES[1].url, "src_2", "It measures the tower.", "other site",
        (Remark("parses"), Remark("imports: requests")), code=code, language=language, dependencies="requests",
        text="It measures the tower [2].",
    )  # fmt: skip


def found(items: Sequence[FoundItem], *, sections: Sequence[tuple[str, str]] = ()) -> tuple[ResearchJob, JobResult]:
    """A completed job of all three modes with these items and sections."""
    modes = list(MODES)
    findings = ResearchFindings(
        samples.QUESTION, modes, 5,
        [IdeaResult(item.url, item.content) for item in items if item.mode == "idea" and item.is_verified],
        [ImplementationResult(item.url, item.content) for item in items if item.mode == "implementation"],
        ResearchReport("\n\n".join(f"## {title}\n\n{text}" for title, text in sections)) if sections else None,
    )  # fmt: skip
    details = findings_json(findings, items, notes=(), searched="tavily", sections=sections)
    request = replace(samples.COMPLETED.request, modes=tuple(modes))
    return replace(samples.COMPLETED, request=request), replace(samples.RESULT, details=details)
