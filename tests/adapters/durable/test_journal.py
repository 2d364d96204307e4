"""The journal's own log lines."""

from __future__ import annotations

import logging

from adapters.durable.journal import LOST_AGAIN_S, Sparing


def test_a_database_that_is_away_is_not_told_by_every_thread_each_second():
    """Once a minute is enough, as other lines say when it goes and when it is back; and nothing else is held back."""
    sparing = Sparing()
    lost = "Exception listing queues: (psycopg.OperationalError) connection failed: Connection refused"
    said = [(second, lost) for second in range(100)] + [(50.5, "Exception listing queues: no such table")]

    told = [
        (second, message)
        for second, message in sorted(said)
        if sparing.filter(logging.makeLogRecord({"msg": message, "created": second}))
    ]

    assert told == [(0, lost), (50.5, "Exception listing queues: no such table"), (LOST_AGAIN_S, lost)]
