"""Where conversations with a library are kept between two messages: one a thread, valid in its scope."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from core.job import Scope
from core.library.states import Conversation


class Conversations(Protocol):
    """Each method raises `StoreError`."""

    async def get(self, scope: Scope, thread: str) -> Conversation | None:
        """None for a thread that has none."""
        ...

    async def put(self, scope: Scope, thread: str, conversation: Conversation, *, asker: str, at: datetime) -> None:
        """Add or replace. It is forgotten with the job whose answer it shows, and with everybody who spoke in it."""
        ...
