"""Files that come with a question: sources of that question and of no other.

Their texts are kept by job and go with it; answers from them are never cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.model.errors import GorkdError
from core.model.job import ResearchJob

MAX_ATTACHMENTS = 5  # a question; more than that is a library
MAX_ATTACHMENT_BYTES = 10_000_000  # what Discord takes from members without a subscription


@dataclass(frozen=True)
class Attachment:
    """A file as read. Form feeds part the pages of `text`; `cut` says what was left out, "" when nothing was."""

    name: str
    media_type: str
    title: str
    text: str
    cut: str = ""


class AttachmentUnreadable(GorkdError):
    """A file that gives no text; the message names it and says why."""

    code = "INVALID_QUERY"


class AttachmentReader(Protocol):
    async def read(self, name: str, media_type: str, content: bytes) -> Attachment:
        """Raises `AttachmentUnreadable`."""
        ...


class Attachments(Protocol):
    """The attachments of jobs, durable. Each method raises `StoreError`."""

    async def put(self, job: ResearchJob, attachments: Sequence[Attachment]) -> None:
        """All attachments of a stored job, at once; again replaces them."""
        ...

    async def of(self, job_id: str) -> list[Attachment]:
        """In the order given."""
        ...
