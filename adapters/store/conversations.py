"""Conversations with a library in SQLite, one a thread."""

from __future__ import annotations

from datetime import datetime

from adapters.store.sqlite import Database
from core.codec import decode, encode
from core.job import Scope
from core.library.states import Conversation

_GET = "SELECT conversation FROM conversations WHERE (tenant, visibility, thread) = (?, ?, ?)"
_PUT = """
    INSERT INTO conversations AS kept (tenant, visibility, thread, asker, job_id, put_at, conversation)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, visibility, thread) DO UPDATE SET
        asker = CASE WHEN instr(char(10) || kept.asker || char(10), char(10) || excluded.asker || char(10))
            THEN kept.asker ELSE kept.asker || char(10) || excluded.asker END,
        job_id = excluded.job_id, put_at = excluded.put_at, conversation = excluded.conversation
"""  # `asker` is everybody who has spoken there, a line each


class SqliteConversations:
    """`Conversations`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, scope: Scope, thread: str) -> Conversation | None:
        place = (scope.tenant, scope.visibility, thread)
        rows = await self._database.rows(_GET, place)
        return decode(rows[0][0], Conversation) if rows else None

    async def put(self, scope: Scope, thread: str, conversation: Conversation, *, asker: str, at: datetime) -> None:
        place = (scope.tenant, scope.visibility, thread)
        await self._database.execute(_PUT, (*place, asker, conversation.job_id, at, encode(conversation)))
