"""Finished answers in Redis, shared by several machines: by exact key, and a stream of vectors for each place.

A cache that cannot be reached is a cache miss: it is logged and counted, and costs at most
`timeout_s`; nobody's answer waits for it or fails by it.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from redis.typing import EncodableT, FieldT

from adapters.store.mirror import MAX_ENTRIES, AnswerMirror, LoggedAnswer, LogTail, Place
from adapters.store.redis_client import TIMEOUT_S, TROUBLE, away, deadline, open_redis
from adapters.store.sql import digest
from core.codec import decode, encode
from core.errors import StoreError
from core.job import Scope
from core.ports import Clock, KeptAnswer, Recorder, SimilarAnswer, Vector
from core.telemetry import Measurement

logger = logging.getLogger(__name__)

CHUNK = 200  # entries of a stream, or keys, by one command: 1.6 MB at most, well within a command's time


@dataclass(frozen=True)
class CachedAnswer:
    """What a key holds. The scope is repeated because tenant and visibility may contain the key's colons.

    `stream` and `number` say where its vector is, "" where it has none.
    """

    job_id: str
    scope: Scope
    created_at: datetime
    expires_at: datetime
    stream: str = ""
    number: str = ""


class RedisAnswerCache:
    """An `AnswerCache` and its `CacheKeeping`. Close it with `aclose`."""

    def __init__(self, url: str, *, clock: Clock, recorder: Recorder, timeout_s: float = TIMEOUT_S) -> None:
        """Connects at the first call. Raises `SetupError` when `url` is not an address of a Redis."""
        self._redis = open_redis(url, timeout_s=timeout_s)
        self._clock = clock
        self._recorder = recorder
        self._timeout_s = timeout_s
        self._mirror = AnswerMirror(self._read_log)

    async def get(self, scope: Scope, key: str) -> tuple[str, datetime] | None:
        """None also when Redis does not answer or holds something unreadable."""
        answer: CachedAnswer | None = None
        async with self._failing_open("looked up"):
            text = await self._redis.get(_name(scope, key))
            answer = decode(str(text), CachedAnswer) if text else None
        if answer is None or answer.scope != scope or answer.expires_at <= self._clock():
            return None
        return answer.job_id, answer.created_at

    async def put(
        self, scope: Scope, key: str, job_id: str, *, ttl: timedelta, group: str = "", vector: Vector | None = None
    ) -> None:
        """Never raises: an answer that could not be cached is an answer all the same."""
        lifetime_ms = ttl // timedelta(milliseconds=1)
        if lifetime_ms <= 0:
            return
        now = self._clock()
        answer = CachedAnswer(job_id, scope, created_at=now, expires_at=now + ttl)
        async with self._failing_open("kept"):
            if vector is not None:
                stream = _stream(Place(scope, digest(group)))
                number = await self._log(stream, answer, vector, lifetime_ms)
                answer = replace(answer, stream=stream, number=number)
            before = await self._redis.set(_name(scope, key), encode(answer), px=lifetime_ms, get=True)
            if before:
                await self._drop_vector(decode(str(before), CachedAnswer))

    async def similar(
        self, scope: Scope, group: str, vector: Vector, *, limit: int, at_least: float
    ) -> list[SimilarAnswer]:
        """None found also when Redis does not answer."""
        place = Place(scope, digest(group))
        async with self._failing_open("compared"):
            return await self._mirror.similar(place, vector, now=self._clock(), limit=limit, at_least=at_least)
        return []

    async def kept(self, *, tenant: str = "") -> list[KeptAnswer]:
        try:
            answers = [answer async for _, answer in self._all(tenant)]
        except TROUBLE as exc:
            raise away(exc) from exc
        newest_first = sorted(answers, key=lambda answer: answer.created_at, reverse=True)
        return [KeptAnswer(one.job_id, one.scope, one.created_at, one.expires_at) for one in newest_first]

    async def drop(self, job_ids: Sequence[str]) -> int:
        try:
            doomed = [(key, answer) async for key, answer in self._all("") if answer.job_id in job_ids]
            for key, answer in doomed:
                await self._drop_vector(answer)
                await self._redis.unlink(key)
        except TROUBLE as exc:
            raise away(exc) from exc
        return len(doomed)

    async def aclose(self) -> None:
        await self._redis.aclose()

    @asynccontextmanager
    async def _failing_open(self, deed: str) -> AsyncIterator[None]:
        try:
            async with deadline(self._timeout_s):
                yield
        except (*TROUBLE, StoreError) as exc:
            logger.warning("answer could not be %s in Redis: %s", deed, exc or type(exc).__name__)
            self._recorder.record(Measurement("errors", 1, f"cache:{type(exc).__name__}"))

    async def _log(self, stream: str, answer: CachedAnswer, vector: Vector, lifetime_ms: int) -> str:
        fields: dict[FieldT, EncodableT] = {
            "job": answer.job_id,
            "created": answer.created_at.isoformat(),
            "expires": answer.expires_at.isoformat(),
            "vector": base64.b64encode(vector.astype("<f4").tobytes()),
        }
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.xadd(stream, fields, maxlen=MAX_ENTRIES, approximate=False)
            pipeline.pexpire(stream, lifetime_ms, nx=True)
            pipeline.pexpire(stream, lifetime_ms, gt=True)
            number, *_ = await pipeline.execute()
        return str(number)

    async def _read_log(self, place: Place, after: str) -> LogTail:
        stream = _stream(place)
        async with deadline(self._timeout_s), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.xrange(stream, min=f"({after}" if after else "-", max="+", count=CHUNK)
            pipeline.xlen(stream)
            entries, total = await pipeline.execute()
        return LogTail([_entry(*entry) for entry in entries], total)

    async def _drop_vector(self, answer: CachedAnswer) -> None:
        if answer.stream:
            await self._redis.xdel(answer.stream, answer.number)

    async def _all(self, tenant: str) -> AsyncIterator[tuple[str, CachedAnswer]]:
        """What is readable of all answers; of one tenant's when it is named."""
        async for key in self._redis.scan_iter(match="gorkd:answer:*", count=CHUNK):
            text = await self._redis.get(key)
            try:
                answer = decode(str(text), CachedAnswer) if text else None
            except StoreError:
                continue
            if answer and tenant in ("", answer.scope.tenant) and answer.expires_at > self._clock():
                yield str(key), answer


def _name(scope: Scope, key: str) -> str:
    return f"gorkd:answer:{scope.tenant}:{scope.visibility}:{digest(key).hex()}"


def _stream(place: Place) -> str:
    return f"gorkd:near:{place.scope.tenant}:{place.scope.visibility}:{place.group.hex()}"


def _entry(number: str, fields: Mapping[str, str]) -> LoggedAnswer:
    created_at, expires_at = (datetime.fromisoformat(fields[name]) for name in ("created", "expires"))
    vector = np.frombuffer(base64.b64decode(fields["vector"]), dtype="<f4")
    return LoggedAnswer(number, fields["job"], created_at, expires_at, vector)
