"""Meaning as cosine similarity, where an embedding model is at hand."""

from __future__ import annotations

from collections.abc import Sequence

from core.ports import EmbeddingModel


async def similarities_to(embedder: EmbeddingModel, query: str, texts: Sequence[str]) -> list[float]:
    """Cosine (−1…1) of each text with `query`, in one call. Raises `ModelError`."""
    query_vector, *vectors = await embedder.embed([query, *texts])
    return [float(query_vector @ vector) for vector in vectors]
