"""gorkd from Python: answers whose citations were checked, from the web and from your own papers.

>>> from gorkd import Library, Researcher
>>> Researcher({}).research("How do I stream tokens?", mode="idea", top_k=0)
Traceback (most recent call last):
    ...
ValueError: top_k is 0; it must be a whole number from 1 to 20
"""

from bots.research import FindingsResearcher as Researcher
from bots.research import Library, QueryResult
from core.findings.opening import parse_research_result
from core.findings.results import (
    IdeaResult,
    ImplementationResult,
    ResearchFindings,
    ResearchMode,
    ResearchModeInput,
    ResearchReport,
    ResearchSource,
)
from core.library.paper import Paper, PaperChunk, SearchResult

__all__ = [
    "IdeaResult",
    "ImplementationResult",
    "Library",
    "Paper",
    "PaperChunk",
    "QueryResult",
    "ResearchFindings",
    "ResearchMode",
    "ResearchModeInput",
    "ResearchReport",
    "ResearchSource",
    "Researcher",
    "SearchResult",
    "parse_research_result",
]
