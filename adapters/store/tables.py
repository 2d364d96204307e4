"""What stores of simple rows need of a database: one statement at a time, the same on SQLite and on PostgreSQL.

Marks are `?`. A moment is given as `datetime` and comes back as the database keeps it; `moment` reads either.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

Row = tuple[Any, ...]


class Tables(Protocol):
    async def rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        """Run one statement that returns rows, on its own. Raises `StoreError`."""
        ...

    async def execute(self, query: str, values: Sequence[object] = ()) -> int:
        """Run one statement on its own; how many rows it changed. Raises `StoreError`."""
        ...


def moment(kept: datetime | float) -> datetime:
    """SQLite keeps seconds since 1970."""
    return kept if isinstance(kept, datetime) else datetime.fromtimestamp(kept, UTC)
