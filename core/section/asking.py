"""Asking for a section of a paper: what can be chosen, which messages ask for one, and what is wrong with a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import regex

from core.model.attachments import Attachment
from core.model.errors import InvalidQuery
from core.model.job import ResearchRequest
from core.section.brief import is_brief, read_brief
from core.section.sections import PLANS, Section, possible_sections, sections_in

NO_BRIEF = (
    "A section needs a context: attach a YAML or JSON file with `concept:` and `description:`, "
    "or ask in a thread in which I have answered questions."
)
WHOLE_PAPER = "paper"
CHOICES: Mapping[str, str] = MappingProxyType(
    {
        **{section.value: PLANS[section].title for section in Section},
        Section.INTRODUCTION.value: "Introduction, with related work",
        WHOLE_PAPER: "Whole paper: every section there is material for",
    }
)  # by the word that names it, as people choose it

_WRITE = regex.compile(r"^\W*(?:please\s+)?(?:write|draft)\b", regex.IGNORECASE)
_FROM_THREAD = regex.compile(r"\bfrom\s+(?:this|the)\s+(?:thread|conversation)\b", regex.IGNORECASE)


def read_section_request(request: ResearchRequest, attachments: Sequence[Attachment]) -> ResearchRequest:
    """In the mode `section` where it asks for one, and checked then; else as it is. Raises `InvalidQuery`."""
    if request.modes == ("quick",) and asks_for_section(request.query, attachments):
        request = replace(request, modes=("section",))
    if "section" in request.modes:
        check_request(request.query, attachments, is_in_thread=bool(request.thread))
    return request


def asks_for_section(text: str, attachments: Sequence[Attachment]) -> bool:
    """`write the introduction` with a file that has a `concept`, or `write related work from this thread`."""
    if not is_order(text):
        return False
    if _FROM_THREAD.search(text):
        return True
    return any(is_brief(entry.name) and _holds_concept(entry) for entry in attachments)


def is_order(text: str) -> bool:
    """Whether it says to write a section, from whatever: a question of a thread that is no question."""
    return bool(_WRITE.search(text)) and _names_section(text)


def words_for(choice: str) -> str:
    """What somebody asks who has picked one of `CHOICES`."""
    return f"Write the {choice}"


def check_request(text: str, attachments: Sequence[Attachment], *, is_in_thread: bool) -> None:
    """Whether a section can be begun from this. Raises `InvalidQuery` that names the file and the field.

    Whether the thread has anything to say is found out by whoever writes.
    """
    sections = sections_in(text)
    files = [(entry.name, entry.text) for entry in attachments if is_brief(entry.name)]
    if files:
        possible_sections(sections, read_brief(files))
    elif not is_in_thread:
        raise InvalidQuery(NO_BRIEF, rule="brief")


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
