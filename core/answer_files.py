"""Files that belong to an answer: a chat attaches them to it, the page offers them for download.

Which files an answer has, its mode says (`Mode.files`); nothing else decides that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AnswerFile:
    """`name` ends in its kind, as in `introduction.tex`; no two of one answer have the same."""

    name: str
    media_type: str
    text: str

    @property
    def kind(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def content(self) -> bytes:
        return self.text.encode("utf-8", "replace")
