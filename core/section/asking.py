"""Whether a message asks for a section of a paper: a brief is attached, or a thread is to be the brief."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from core.attachments import Attachment
from core.errors import InvalidQuery
from core.section.brief import is_brief, read_brief
from core.section.sections import sections_in

_WRITE = regex.compile(r"^\W*(?:please\s+)?(?:write|draft)\b", regex.IGNORECASE)
_FROM_THREAD = regex.compile(r"\bfrom\s+(?:this|the)\s+(?:thread|conversation)\b", regex.IGNORECASE)


def asks_for_section(text: str, attachments: Sequence[Attachment]) -> bool:
    """`write the introduction` with a file that has a `concept`, or `write related work from this thread`."""
    if not _WRITE.search(text) or not _names_section(text):
        return False
    if _FROM_THREAD.search(text):
        return True
    return any(is_brief(entry.name) and _holds_concept(entry) for entry in attachments)


def _names_section(text: str) -> bool:
    try:
        return bool(sections_in(text))
    except InvalidQuery:
        return False


def _holds_concept(attachment: Attachment) -> bool:
    """Also one with a fault in it, which the section's own error then names."""
    try:
        read_brief([(attachment.name, attachment.text)])
    except InvalidQuery:
        return "concept" in attachment.text
    return True
