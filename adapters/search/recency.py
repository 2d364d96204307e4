"""How many days back a query's recency reaches."""

from __future__ import annotations

from datetime import timedelta

from core.source import Recency

_DAYS: dict[Recency, int] = {"day": 1, "week": 7, "month": 31, "year": 366}


def reach(recency: Recency) -> timedelta | None:
    """None when any age will do."""
    days = _DAYS.get(recency)
    return None if days is None else timedelta(days=days)
