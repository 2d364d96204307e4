"""The journal's own log lines, and its reasons."""

from __future__ import annotations

import logging

import pytest

from adapters.durable.journal import quiet_logs, reason_of


def test_a_database_that_is_away_is_not_told_by_every_thread_each_second(caplog: pytest.LogCaptureFixture):
    """The stores say when it goes and when it is back; nothing else is held back."""
    quiet_logs()
    lost = "Exception listing queues: (psycopg.OperationalError) connection failed: Connection refused"
    news = "Exception listing queues: no such table"

    for message in (lost, news, lost):
        logging.getLogger("dbos").warning(message)

    assert [record.getMessage() for record in caplog.records] == [news]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("connection failed: FATAL:  sorry, too many clients already", "the database has too many connections"),
        (
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "the database has too many connections",
        ),
        ("database or disk is full", "the disk is full"),
        ("[Errno 28] No space left on device: '/data/dbos.sqlite'", "the disk is full"),
        ("no such table: x\n[SQL: SELECT secret]", "no such table: x"),
        ("", "Exception"),
    ],
)
def test_causes_are_named(said: str, reason: str):
    assert reason_of(Exception(said)) == reason
