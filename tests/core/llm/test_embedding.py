"""Embeddings that are remembered: one call a text, and no text in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.llm.ask_model import RememberingEmbeddings
from core.model.ports import Vector


class Counting:
    """Embeds a text as its length, and keeps what it was asked."""

    name = "lengths"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return [np.array([len(text)], dtype=np.float32) for text in texts]


async def test_no_text_is_embedded_twice_while_it_is_remembered() -> None:
    """S002-23: what was paid for is kept; each text has its own vector, in the order asked."""
    model = Counting()
    remembering = RememberingEmbeddings(model)

    first = await remembering.embed(["a", "bb", "a"])
    second = await remembering.embed(["bb", "ccc"])

    assert [float(vector[0]) for vector in [*first, *second]] == [1, 2, 1, 2, 3]
    assert model.asked == ["a", "bb", "ccc"]


async def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    """Memory has a bound, also within one call."""
    model = Counting()
    remembering = RememberingEmbeddings(model, max_remembered=2)

    await remembering.embed(["a", "bb"])
    await remembering.embed(["a"])
    together = await remembering.embed(["ccc", "dddd", "eeeee"])
    await remembering.embed(["a"])

    assert [float(vector[0]) for vector in together] == [3, 4, 5]
    assert model.asked == ["a", "bb", "ccc", "dddd", "eeeee", "a"]
