"""Whether what is kept can still be used: a row is written, as every question does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from adapters.store.tables import Tables
from core.errors import StoreError
from core.ports import Clock

_TRY = "INSERT INTO tries (name, at) VALUES ('ready', ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at"


async def try_out(tables: Tables, clock: Clock, damage: Callable[[], str] = str) -> None:
    """`damage` says what is wrong with the database itself, "" for nothing. Raises `StoreError`."""
    if reason := await asyncio.to_thread(damage):
        raise StoreError(
            f"the records are not sound: {reason}",
            user_message=f"gorkd cannot use its records ({reason}); whoever runs it should look at them.",
        )
    await tables.execute(_TRY, (clock(),))
