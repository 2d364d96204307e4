"""Why a PDF was not read, in a few words for the person who handed it over; what a parser says is never shown."""

from __future__ import annotations

from adapters.pages.extraction import EMPTY_PAGES, NO_PAGES, NO_TEXT_LAYER
from core.errors import FetchError, PageTimeout

BROKE_READER = "the reader died of it"
TOO_MUCH_MEMORY = "needs too much memory"
_PLAIN = (
    (NO_TEXT_LAYER, "it is a scan: its pages are images without text"),
    (EMPTY_PAGES, "its pages are empty"),
    (NO_PAGES, "it is damaged: none of its pages can be opened"),
    ("assword", "it is protected by a password"),
    ("ncrypt", "it is protected by a password"),
    (TOO_MUCH_MEMORY, "reading it takes too much memory"),
    (BROKE_READER, "the reader broke on it, so it is damaged or made to do harm"),
)


def plain_reason(fault: FetchError) -> str:
    """`it is …`, to stand behind a colon."""
    if isinstance(fault, PageTimeout):
        return "reading it took too long"
    said = str(fault).removeprefix(f"{fault.url}: ")  # the name in it may say anything
    return next((words for mark, words in _PLAIN if mark in said), "it is damaged")
