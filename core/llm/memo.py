"""What is paid for once: a job's steps, kept by key so that one that runs again after a crash does not pay twice, and
embeddings.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from hashlib import sha256
from typing import TypeVar

from core.llm.ask_model import Heard, complete
from core.model.codec import decode, encode
from core.model.errors import StoreError
from core.model.ports import ChatDelta, ChatModel, ChatRequest, EmbeddingModel, JobMemo, Vector, warm_up
from core.text.growing_json import read_object

log = logging.getLogger(__name__)
MAX_REMEMBERED = 4096  # vectors; 25 MB at 1,536 numbers
T = TypeVar("T")


async def remembered(memo: JobMemo, job_id: str, key: str, kind: type[T], pay: Callable[[], Awaitable[T]]) -> T:
    """What is kept under `key`, else what `pay` gives, kept. A memo that fails costs a repetition, never the step."""
    kept = await recalled(memo, job_id, key, kind)
    return kept if kept is not None else await kept_anew(memo, job_id, key, await pay())


async def kept_anew(memo: JobMemo, job_id: str, key: str, value: T) -> T:
    """`value`, from now on what is kept under `key`, unless the memo fails."""
    try:
        await memo.put(job_id, key, encode(value))
    except StoreError as exc:
        log.warning("memo not kept", extra={"entry": _entry(key), "error": str(exc)})
    return value


async def recalled(memo: JobMemo, job_id: str, key: str, kind: type[T]) -> T | None:
    """What is kept under `key`; None also where the memo fails, or has what another version wrote."""
    try:
        text = await memo.get(job_id, key)
        return None if text is None else decode(text, kind)
    except StoreError as exc:
        log.warning("memo not read", extra={"entry": _entry(key), "error": str(exc)})
        return None


class RememberingModel:
    """A model whose accepted answers are kept for the job; what was interrupted or of no use is asked for again."""

    def __init__(self, model: ChatModel, memo: JobMemo, job_id: str) -> None:
        self._model, self.name = model, model.name
        self._memo, self._job_id = memo, job_id

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        key = f"model:{request.purpose}:{_digest(request)}"
        kept = await recalled(self._memo, self._job_id, key, Heard)
        if kept is not None:
            yield kept.delta
            return
        deltas: asyncio.Queue[ChatDelta | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(request, key, deltas))
        try:
            come = Heard()  # tokens that were read in one go are passed on in one piece
            while (delta := await deltas.get()) is not None:
                come.take(delta)
                if deltas.empty():
                    yield come.delta
                    come = Heard()
            if come != Heard():
                yield come.delta
            await reading
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, request: ChatRequest, key: str, deltas: asyncio.Queue[ChatDelta | None]) -> None:
        """To its end, and keep it: whoever judges the sentences meanwhile is slower than the model."""
        heard = Heard()
        try:
            await complete(self._model, request, heard=heard, hear=deltas.put_nowait)
            if _is_accepted(request, heard):
                await kept_anew(self._memo, self._job_id, key, heard)
        finally:
            deltas.put_nowait(None)


def _is_accepted(request: ChatRequest, heard: Heard) -> bool:
    """As whoever asked says; else an object where one was asked for, and anything at all where none was."""
    if request.accepts is not None:
        return request.accepts(heard.text)
    if request.schema and not request.tools:
        return read_object(heard.text, request.schema) is not None
    return bool(heard.text.strip() or heard.calls)


def _entry(key: str) -> str:
    """`search`, `page`, `model`: what a key says more is what somebody asked."""
    return key.partition(":")[0]


def _digest(request: ChatRequest) -> str:
    said = [text for turn in request.turns for text in (*(call.arguments for call in turn.calls), *turn.results)]
    asked = (request.system, request.user, request.schema_name, str(request.max_tokens), str(request.in_words))
    parts = (*asked, *said)
    return sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()


# Meaning as cosine similarity, where an embedding model is at hand


class RememberingEmbeddings:
    """An `EmbeddingModel` that asks `model` for no text twice while it is remembered. It keeps digests, no texts."""

    def __init__(self, model: EmbeddingModel, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self._model, self.name = model, model.name
        self._max_remembered = max_remembered
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()

    async def warm_up(self) -> None:
        await warm_up(self._model)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        found = dict(zip(missing, await self._model.embed(list(missing.values())), strict=True)) if missing else {}
        vectors = [found[key] if key in found else self._vectors[key] for key in keys]
        for key, vector in zip(keys, vectors, strict=True):
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._max_remembered:
            self._vectors.popitem(last=False)
        return vectors


async def similarities_to(embedder: EmbeddingModel, query: str, texts: Sequence[str]) -> list[float]:
    """Cosine (−1…1) of each text with `query`, in one call. Raises `ModelError`."""
    query_vector, *vectors = await embedder.embed([query, *texts])
    return [float(query_vector @ vector) for vector in vectors]
