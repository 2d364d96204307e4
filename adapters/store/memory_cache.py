"""The caches in memory, for tests and for runs that leave nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from adapters.store.mirror import AnswerMirror, LoggedAnswer, LogTail, Place
from adapters.store.sql import digest
from core.job import Scope
from core.ports import Clock, KeptAnswer, SimilarAnswer, Vector


class MemoryAnswerCache:
    """An `AnswerCache` and its `CacheKeeping`. Each put drops what has expired and the oldest over `max_rows`."""

    def __init__(self, *, clock: Clock, max_rows: int = 10_000) -> None:
        self._clock = clock
        self._max_rows = max_rows
        self._number = 0
        self._answers: dict[tuple[Scope, str], tuple[bytes, LoggedAnswer]] = {}
        self._mirror = AnswerMirror(self._read_log, max_entries=max_rows)

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        _, answer = self._answers.get((scope, key), (b"", None))
        return (answer.job_id, answer.created_at) if answer and answer.expires_at > self._clock() else None

    async def put(
        self, scope: Scope, key: str, job_id: str, *, ttl: timedelta, group: str = "", vector: Vector | None = None
    ) -> None:
        now = self._clock()
        self._number += 1
        self._answers.pop((scope, key), None)
        kept = vector if vector is not None else np.empty(0, dtype=np.float32)
        answer = LoggedAnswer(str(self._number), job_id, now, now + ttl, kept)
        self._answers[scope, key] = (digest(group), answer)
        fresh = [(place, entry) for place, entry in self._answers.items() if entry[1].expires_at > now]
        self._answers = dict(fresh[-self._max_rows :])

    async def similar(
        self, scope: Scope, group: str, vector: Vector, *, limit: int, at_least: float
    ) -> list[SimilarAnswer]:
        place = Place(scope, digest(group))
        return await self._mirror.similar(place, vector, now=self._clock(), limit=limit, at_least=at_least)

    async def kept(self, *, tenant: str = "") -> list[KeptAnswer]:
        found = [
            KeptAnswer(answer.job_id, scope, answer.created_at, answer.expires_at)
            for (scope, _), (_, answer) in self._answers.items()
            if answer.expires_at > self._clock() and tenant in ("", scope.tenant)
        ]
        return found[::-1]

    async def drop(self, job_ids: Sequence[str]) -> int:
        before = len(self._answers)
        self._answers = {place: entry for place, entry in self._answers.items() if entry[1].job_id not in job_ids}
        return before - len(self._answers)

    async def _read_log(self, place: Place, after: str) -> LogTail:
        here = [
            answer
            for (scope, _), (group, answer) in self._answers.items()
            if scope == place.scope and group == place.group and answer.vector.size
        ]
        return LogTail([answer for answer in here if int(answer.number) > int(after or 0)], len(here))


class MemoryReuseStore:
    """A `ReuseStore`."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[str, datetime]] = {}

    async def get(self, key: str) -> str | None:
        text, expires_at = self._kept.get(key, ("", self._clock()))
        return text if expires_at > self._clock() else None

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None:
        self._kept[key] = (text, self._clock() + ttl)

    async def clear(self) -> int:
        count = len(self._kept)
        self._kept.clear()
        return count
