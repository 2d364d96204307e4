"""Jobs, results and sources for the store tests, earlier files, and a clock that stands until it is moved."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.records.schema import steps
from adapters.records.sql import digest, place_token
from adapters.records.sqlite import FILE_NAME
from core.model.answer import Citation, Claim, Confidence, Evidence, JobResult, ResearchAnswer, Verdict
from core.model.job import JobStatus, QueryIntent, QuestionType, ResearchJob, ResearchRequest, Scope
from core.model.ports import Measurement
from core.model.source import Source, SourceKind, SourceMetadata, SourceScores

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CHANNEL = Scope("discord:1", "channel:2")
RESULT = JobResult(
    answer=ResearchAnswer(
        summary="Water boils at 100 °C [1].",
        detail="",
        confidence=Confidence.MEDIUM,
        citations=(Citation("Water boils at 100 °C.", "src_1", quote="boils at 100 °C"),),
        claims=(
            Claim(
                "summary-0",
                "Water boils at 100 °C.",
                Verdict.SUPPORTED,
                evidence=(Evidence("src_1", "boils at 100 °C", 6, 21, Verdict.SUPPORTED),),
            ),
        ),
    ),
    source_ids=("src_1",),
    queries=("boiling point of water",),
    details={"view": "table"},
)


class StandingClock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, step: timedelta) -> None:
        self.now += step


class Notes:
    """Keeps what it is given to record."""

    def __init__(self) -> None:
        self.taken: list[Measurement] = []

    def __call__(self, measurement: Measurement) -> None:
        self.taken.append(measurement)


def make_job(
    number: int = 1, *, scope: Scope = CHANNEL, status: JobStatus = JobStatus.PENDING, attempt: int = 1
) -> ResearchJob:
    """Job `number`, asked that many minutes after noon."""
    return ResearchJob(
        id=f"job_{number}",
        request=ResearchRequest(f"question {number}?", scope=scope, modes=("quick", "deep")),
        intent=QueryIntent(QuestionType.FACTUAL, entities=("water",)),
        status=status,
        created_at=NOON + timedelta(minutes=number),
        attempt=attempt,
    )


def finished(job: ResearchJob) -> ResearchJob:
    return replace(job, status=JobStatus.COMPLETED, completed_at=NOON + timedelta(hours=1))


def make_source(number: int, *, content: str = "Water boils at 100 °C.") -> Source:
    return Source(
        id=f"src_{number}",
        url=f"https://example.org/{number}",
        title=f"Page {number}",
        content=content,
        content_hash="0" * 64,
        read_at=NOON,
        metadata=SourceMetadata("example.org", 5, "wikipedia", SourceKind.REFERENCE, published_at=NOON),
        scores=SourceScores(relevance=0.5, total=0.4),
    )


def version_before(words: str) -> int:
    """The last one before the version whose steps say this."""
    return next(number for number, statements in enumerate(steps("sqlite")) if words in str(statements))


@contextmanager
def older_file(folder: Path, version: int = 1) -> Iterator[sqlite3.Connection]:
    """A file as the gorkd made it whose tables were of this version."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.create_function("place_token", -1, place_token, deterministic=True)
        connection.create_function("digest", 1, digest, deterministic=True)
        connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at REAL)")
        connection.execute("INSERT INTO schema_version VALUES (?, 0)", (version,))
        for statement in [statement for one in steps("sqlite")[:version] for statement in one]:
            connection.execute(statement)
        yield connection
