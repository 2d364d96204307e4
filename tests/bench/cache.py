"""The answer cache by itself: a look-up among ten thousand answers of one place, without the embedding."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from adapters.records.cache import SqlAnswerCache
from adapters.records.jobs import SqlJobStore
from adapters.records.sql import digest
from adapters.records.sqlite import Database
from core.evidence.same_question import strict_veto, veto
from core.model.job import LOCAL, JobStatus, ResearchJob, ResearchRequest
from core.model.ports import Vector
from core.stages.intake import parse_intent
from tests.bench.conditions import Conditions
from tests.bench.timing import times_ms
from tests.figures import Goal, Row, format_table

DIMENSIONS = (384, 1536)  # a small local model, and the usual hosted one
QUESTION = "What are the long-term side effects of metformin in adults with type 2 diabetes?"
SEED = 3
_PLACE = (LOCAL.tenant, LOCAL.visibility)
_INSERT = """
    INSERT INTO answers (tenant, visibility, key, grouping, job_id, created_at, expires_at, vector)
    VALUES (?, ?, ?, ?, 'job_1', ?, ?, ?)
"""


def measure_cache(conditions: Conditions) -> str:
    """The table, as text."""
    measured = [asyncio.run(_measure(dimension, conditions)) for dimension in DIMENSIONS]
    loaded, near, exact = zip(*measured, strict=True)
    rows = [
        Row("first look-up, which reads the log", loaded, "ms", 0),
        Row("near questions, median", [float(np.median(times)) for times in near], "ms", 2, Goal(2)),
        Row("near questions, 95 %", [float(np.percentile(times, 95)) for times in near], "ms", 2),
        Row("exact key, median", [float(np.median(times)) for times in exact], "ms", 2, Goal(2)),
        Row("guard, a candidate", [_guard_ms(), None], "ms", 2),
    ]
    title = f"cache: {conditions.cached_answers} answers in one place, SQLite"
    return format_table(title, tuple(f"{dimension} numbers" for dimension in DIMENSIONS), rows)


async def _measure(dimension: int, conditions: Conditions) -> tuple[float, list[float], list[float]]:
    rng = np.random.default_rng(SEED)
    vectors = rng.standard_normal((conditions.cached_answers, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with TemporaryDirectory() as folder:
        database = await Database.open(Path(folder))
        try:
            await _fill(database, vectors)
            cache = SqlAnswerCache(database, clock=lambda: datetime.now(UTC))

            async def near() -> None:
                place = int(rng.integers(len(vectors)))
                await cache.similar(LOCAL, "group", vectors[place], limit=3, at_least=0.8)

            async def exact() -> None:
                await cache.get(LOCAL, "key 7")

            (loaded,) = await times_ms(near, 1)
            return loaded, await times_ms(near, 200), await times_ms(exact, 200)
        finally:
            await database.aclose()


async def _fill(database: Database, vectors: Vector) -> None:
    now = datetime.now(UTC)
    request = ResearchRequest("Why?")
    await SqlJobStore(database).save(ResearchJob("job_1", request, parse_intent("Why?"), JobStatus.PENDING, now))
    rows = [
        (*_PLACE, digest(f"key {number}"), digest("group"), now.timestamp(), now.timestamp() + 86_400, vector.tobytes())
        for number, vector in enumerate(vectors)
    ]
    await database.write(lambda sql: sql.execute_all(_INSERT, rows))


def _guard_ms() -> float:
    """Of questions that were not read before: what was read is remembered, and a second measure finds it."""
    began = time.perf_counter()
    for number in range(100):
        other = f"Which adverse effects does metformin have in {number + 20} adults with type 2 diabetes?"
        veto(QUESTION, other)
        strict_veto(QUESTION, other)
    return 10 * (time.perf_counter() - began)
