"""What the first step of the three modes leaves to the second: each mode's text, and what was searched for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.answer import ModelUsage
from core.findings.results import ResearchMode
from core.ports import FoundPage
from core.source import SearchMetadata


@dataclass(frozen=True)
class Draft:
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

    drafts: tuple[Draft, ...]
    metadata: SearchMetadata = field(default_factory=SearchMetadata)
    considered: int = 0
