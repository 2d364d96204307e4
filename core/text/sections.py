"""The sections of a full text: headings on lines of their own, and under which of them a character stands."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def heading(title: str, depth: int) -> str:
    """The line of a heading; `depth` counts from 1.

    >>> heading("Results", 1)
    '## Results'
    """
    return f"{'#' * min(depth + 1, 6)} {' '.join(title.split())}"


def section_at(text: str, offset: int) -> str:
    """The title of the section that the character at `offset` stands in, "" above the first heading."""
    titles = _HEADING.findall(text, 0, max(offset, 0))
    return titles[-1] if titles else ""
