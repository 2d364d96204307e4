"""Meaning as cosine similarity, where an embedding model is at hand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256

from core.model.ports import EmbeddingModel, Vector, warm_up

MAX_REMEMBERED = 4096  # vectors; 25 MB at 1,536 numbers


class RememberingEmbeddings:
    """An `EmbeddingModel` that asks `model` for no text twice while it is remembered. It keeps digests, no texts."""

    def __init__(self, model: EmbeddingModel, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self._model = model
        self._max_remembered = max_remembered
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()

    @property
    def name(self) -> str:
        return self._model.name

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
